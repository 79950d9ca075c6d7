//! A daemon over an owner's things.

use std::time::Duration;

use spinney_testkit::{Cli, Daemon, HttpClient, Sandbox};

use crate::support::common::Story;
use crate::support::job::Workshop;

pub const LONG: Duration = Duration::from_secs(60);

/// A person's repository, workspace, job and schedule, and a daemon over them.
pub struct Place {
    pub workshop: Workshop,
    pub daemon: Daemon,
}

impl Place {
    pub fn new() -> Self {
        let story = Story::of(Sandbox::new().repository("owners-app").with_remote());
        // The schedule is due in the far future.
        let schedule =
            "[agents.coder.schedules.owners-schedule]\ntype = \"cron\"\ncron = \"0 0 29 2 *\"\nprompt = \"print x\"\n";
        let workshop = Workshop::of(story, schedule);
        workshop.cli.run(&["new", "--branch", "owners-branch"]).ok();
        workshop.cli.run(&["run", "--agent", "coder", "--branch", "owners-branch", "--", "print owners-words"]).ok();
        let daemon = Daemon::start(&workshop.cli);
        Self { workshop, daemon }
    }

    pub fn cli(&self) -> &Cli {
        &self.workshop.cli
    }

    pub fn client(&self) -> HttpClient {
        self.daemon.client()
    }

    /// A token that the program makes with these arguments: its id and its secret.
    #[track_caller]
    pub fn token(&self, name: &str, scope: &str, more: &[&str]) -> (String, String) {
        let arguments = [&["token", "create", "--json", "--name", name, "--scope", scope], more].concat();
        let made = self.cli().run(&arguments).ok().json();
        let text = |key: &str| made[key].as_str().unwrap_or_else(|| panic!("no `{key}` in {made}")).to_owned();
        (text("id"), text("token"))
    }

    /// Logs a browser in with a token; gives the value of its cookie.
    #[track_caller]
    pub fn session(&self, token: &str) -> String {
        let reply = self.client().post_form("/login", &[("key", token)]).expects(303);
        let (name, value) = reply.cookies().next().expect("a session has a cookie");
        format!("{name}={value}")
    }
}
