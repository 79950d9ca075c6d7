//! A team with a repository on a GitHub, a Slack, and a daemon that is called from both.

use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use spinney_core::{Delivery, Platform};
use spinney_store::{Store, StoreUrl};
use spinney_testkit::{Cli, Daemon, HttpClient, HttpRemote, Sandbox, TestForge, TestSlack, scripted_agent, wait_until};

use crate::support::common::Story;
use crate::support::job::{Job, LONG, Workshop};

pub const SECRET: &str = "it's a secret of hooks";
/// What of a prompt the agent does: the instructions behind the last such line. All else is for it to read.
const SCRIPT: &str =
    "awk '/^script:$/ { text = \"\"; on = 1; next } on { text = text $0 \"\\n\" } END { printf \"%s\", text }'";

/// Ends the daemon first, and the platforms last.
pub struct Office {
    pub daemon: RefCell<Option<Daemon>>,
    pub workshop: Workshop,
    pub forge: TestForge,
    pub slack: TestSlack,
    _http: HttpRemote,
    /// How many webhooks were sent.
    pub sent: Cell<u64>,
    /// The daemon is about to die: perhaps before it answers a webhook that it has taken.
    pub is_dying: Cell<bool>,
}

impl Office {
    /// With further sections of the configuration.
    pub fn new(settings: &str) -> Self {
        let office = Self::closed("", settings);
        office.open(&office.workshop.cli);
        office
    }

    /// With further keys of GitHub's section.
    pub fn with_github(keys: &str) -> Self {
        let office = Self::closed(keys, "");
        office.open(&office.workshop.cli);
        office
    }

    /// Without a daemon yet.
    pub fn closed(github: &str, settings: &str) -> Self {
        let mut workshop = Workshop::of(Story::of(Sandbox::new().repository("app").with_remote()), "");
        let sandbox = workshop.story.sandbox();
        let http = HttpRemote::open(sandbox);
        let (forge, slack) = (TestForge::github("acme/app"), TestSlack::start());
        for (login, id, permission) in [("mona", 7, "write"), ("rita", 8, "read"), ("eve", 9, "write")] {
            forge.person(login, id, permission);
        }
        workshop.story.remote().git(&["config", "http.receivepack", "true"]);
        workshop.story.change(|repository| repository.git(&["remote", "set-url", "origin", &http.url("acme/app.git")]));
        let command = Value::from(format!("{SCRIPT} | {}", scripted_agent().display()));
        sandbox.write_config(&format!(
            "[agents.coder]\nruntime = \"command\"\ncommand = [\"/bin/sh\", \"-c\", {command}]\n\
             [agents.coder.workspace]\ncreate_pr = true\n\
             [forge.github]\napi_url = \"{}\"\n\
             [platforms.github]\nallowed_users = [7, 8]\n{github}\n\
             [platforms.slack]\napi_url = \"{}\"\nallowed_users = [\"U0MONA\"]\n{settings}\n",
            forge.api_url(),
            slack.api_url(),
        ));
        let cli = workshop.cli.with_variable("GITHUB_TOKEN", forge.token());
        let cli = cli.with_variable("SPINNEY_GITHUB_WEBHOOK_SECRET", SECRET);
        let cli = cli.with_variable("SLACK_BOT_TOKEN", slack.token());
        workshop.cli = cli.with_variable("SLACK_SIGNING_SECRET", slack.signing_secret());
        workshop.cli.run(&["status"]).ok();
        Self {
            daemon: RefCell::default(),
            workshop,
            forge,
            slack,
            _http: http,
            sent: Cell::new(0),
            is_dying: Cell::default(),
        }
    }

    /// Starts the daemon.
    #[track_caller]
    pub fn open(&self, cli: &Cli) {
        assert!(self.daemon.borrow().is_none(), "it runs");
        self.daemon.replace(Some(Daemon::start(cli)));
    }

    /// Starts a daemon that dies at this point.
    #[track_caller]
    pub fn open_until(&self, point: &str) {
        self.open(&self.workshop.cli.with_variable("SPINNEY_FAIL", point));
        self.is_dying.set(true);
    }

    /// Kills the daemon; one that died already is only buried.
    pub fn kill(&self) {
        self.daemon.borrow_mut().take().expect("there is one").kill();
    }

    /// Waits until the daemon has died by itself.
    #[track_caller]
    pub fn wait_for_death(&self) {
        let process =
            PathBuf::from(format!("/proc/{}/stat", self.daemon.borrow().as_ref().expect("there is one").id()));
        let is_dead = || {
            let stat = std::fs::read_to_string(&process).unwrap_or_default();
            stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with(['Z', 'X']))
        };
        wait_until(is_dead, LONG);
        self.daemon.borrow_mut().take();
        self.is_dying.set(false);
    }

    pub fn client(&self) -> HttpClient {
        self.daemon.borrow().as_ref().expect("there is one").client()
    }

    pub fn jobs(&self) -> Vec<Job> {
        self.workshop.jobs()
    }

    /// The live workspaces' names, sorted.
    #[track_caller]
    pub fn live(&self) -> Vec<String> {
        let listed = self.workshop.cli.run(&["ls", "--json"]).ok().json();
        let rows = listed["workspaces"].as_array().unwrap();
        let mut names: Vec<_> = rows.iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect();
        names.sort();
        names
    }

    /// Waits until a comment on an issue, the `count`th of ours and the last, tells all of this.
    #[track_caller]
    pub fn hears(&self, issue: u64, count: usize, texts: &[&str]) -> String {
        self.waits(|| self.said_on(issue), count, texts)
    }

    /// The same of the messages in Slack.
    #[track_caller]
    pub fn hears_in_slack(&self, count: usize, texts: &[&str]) -> String {
        self.waits(|| self.slack.said().into_iter().map(|message| message.text).collect(), count, texts)
    }

    #[track_caller]
    fn waits(&self, said: impl Fn() -> Vec<String>, count: usize, texts: &[&str]) -> String {
        let deadline = Instant::now() + LONG;
        loop {
            let said = said();
            if said.len() == count && texts.iter().all(|text| said[count - 1].contains(text)) {
                // Who writes in a conversation has no command line.
                assert!(said.iter().all(|said| !said.contains("`spinney ")), "{said:#?}");
                return said[count - 1].clone();
            }
            let daemon = self.daemon.borrow().as_ref().map(Daemon::said).unwrap_or_default();
            assert!(Instant::now() < deadline, "{count} with {texts:?} are not {said:#?}\n{daemon}");
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// What we said on an issue or pull request.
    pub fn said_on(&self, issue: u64) -> Vec<String> {
        let ours = self.forge.comments(issue).into_iter().filter(|comment| comment.author == "acme");
        ours.map(|comment| comment.body).collect()
    }

    /// What became of webhooks, in the store.
    pub fn deliveries(&self, platform: Platform, ids: &[String]) -> Vec<Option<Delivery>> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let store =
                Store::open(&StoreUrl::parse(&self.workshop.story.sandbox().store_url()).unwrap()).await.unwrap();
            let mut db = store.read().await.unwrap();
            let mut found = Vec::new();
            for id in ids {
                found.push(db.delivery(platform, id).await.unwrap());
            }
            drop(db);
            store.close().await.unwrap();
            found
        })
    }

    /// Waits until a webhook of GitHub's is done with; gives what became of it.
    #[track_caller]
    pub fn wait_for_delivery(&self, id: &str) -> String {
        let ids = [id.to_owned()];
        let status =
            || self.deliveries(Platform::on("github"), &ids).remove(0).filter(|found| found.ended_at.is_some());
        wait_until(|| status().is_some(), LONG);
        status().unwrap().status.to_string()
    }
}
