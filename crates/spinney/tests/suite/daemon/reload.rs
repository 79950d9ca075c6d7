//! The configuration is read again while the daemon runs.

use std::fs;

use crate::support::job::terminal::Terminal;
use crate::support::job::{LONG, Workshop, signal};
use rustix::process::Signal;
use serde_json::{Value, json};
use spinney_testkit::{Daemon, HttpClient, wait_until};

const BROKEN: &str = "[limits]\nmax_workspace = 3\n";

/// A daemon over a repository, asked by the owner of the home.
struct Place {
    workshop: Workshop,
    daemon: Daemon,
    client: HttpClient,
    before: String,
}

impl Place {
    fn new(settings: &str) -> Self {
        let workshop = Workshop::new(settings);
        workshop.cli.run(&["status"]).ok();
        let daemon = Daemon::start(&workshop.cli);
        let client = HttpClient::unix(workshop.story.sandbox().spinney_home().join("serve.socket"));
        let before = fs::read_to_string(workshop.story.sandbox().config_file()).unwrap();
        Self { workshop, daemon, client, before }
    }

    /// Writes the configuration of before and this.
    fn add(&self, text: &str) {
        fs::write(self.workshop.story.sandbox().config_file(), format!("{}\n{text}", self.before)).unwrap();
    }

    /// Another agent with a schedule of its own.
    fn second(&self) -> String {
        let root = self.workshop.story.repository.path();
        format!(
            "[agents.second]\nruntime = \"command\"\ncommand = [\"true\"]\nworking_directory = {root:?}\n\
             [agents.second.schedules.late]\ntype = \"cron\"\ncron = \"0 0 29 2 *\"\nprompt = \"x\"\n"
        )
    }

    /// How often the daemon said something.
    fn said(&self, what: &str) -> usize {
        self.daemon.said().matches(what).count()
    }

    fn home(&self) -> String {
        self.client.get("/").expects(200).text()
    }

    /// What `doctor` says of the daemon.
    fn checked(&self) -> Option<Value> {
        let checks = self.workshop.cli.run(&["doctor", "--json"]).json();
        checks["checks"].as_array().unwrap().iter().find(|check| check["name"] == "daemon").cloned()
    }

    fn has_schedule(&self, name: &str) -> bool {
        let listed = self.client.get("/api/v1/schedules").expects(200).json();
        listed["schedules"].as_array().unwrap().iter().any(|schedule| schedule["name"] == name)
    }

    fn ask(&self, agent: &str) -> u16 {
        let asked =
            json!({ "repository": "local/app", "agent": agent, "kind": "issue", "key": "1", "prompt": "print x" });
        let status = self.client.post("/api/v1/jobs", &asked).status;
        wait_until(|| !self.has_open_jobs(), LONG);
        status
    }

    fn has_open_jobs(&self) -> bool {
        self.workshop.jobs().iter().any(|job| matches!(job.text("status"), "pending" | "running"))
    }
}

#[test]
fn a_pipe_in_the_place_of_the_file_is_refused_and_holds_nothing_up() {
    let place = Place::new("");
    let file = place.workshop.story.sandbox().config_file();
    fs::remove_file(&file).unwrap();
    place.workshop.story.sandbox().cli("mkfifo").run(&[file.to_str().unwrap()]).ok();
    wait_until(|| place.said("configuration not reloaded") > 0, LONG);
    assert!(place.daemon.said().contains("it is a pipe"), "{}", place.daemon.said());
    fs::remove_file(&file).unwrap();
    place.add(&place.second());
    wait_until(|| place.has_schedule("late"), LONG);
    place.daemon.terminate();
}

#[test]
fn what_is_added_counts_without_a_restart() {
    let place = Place::new("");
    assert!(place.ask("second") >= 400 && !place.has_schedule("late"));
    place.add(&place.second());
    wait_until(|| place.has_schedule("late"), LONG);
    assert_eq!(place.ask("second"), 202);
    place.add("");
    wait_until(|| place.said("configuration reloaded") == 2, LONG);
    assert!(place.ask("second") >= 400);
    place.daemon.terminate();
}

#[test]
fn a_file_that_is_not_valid_changes_nothing_and_that_is_said() {
    let place = Place::new("");
    assert_eq!(place.checked(), None);
    place.add(&format!("{}{BROKEN}", place.second()));
    wait_until(|| place.home().contains("max_workspace"), LONG);
    assert!(!place.has_schedule("late"), "it counts as a whole or not at all");
    assert_eq!(place.said("configuration not reloaded"), 1, "{}", place.daemon.said());
    let check = place.checked().expect("doctor tells it");
    assert_eq!(check["mark"], "bad", "{check}");
    assert!(check["fact"].as_str().unwrap().contains("max_workspace"), "{check}");
    place.add(&place.second());
    wait_until(|| place.has_schedule("late"), LONG);
    assert!(!place.home().contains("max_workspace"));
    assert_eq!(place.checked(), None);
    assert_eq!(place.said("configuration not reloaded"), 1, "the same file is read once");
    place.daemon.terminate();
}

#[test]
fn sighup_reads_the_configuration_and_ends_nothing() {
    let place = Place::new("");
    signal(place.daemon.id(), Signal::HUP);
    wait_until(|| place.said("configuration reloaded") == 1, LONG);
    assert_eq!(place.ask("coder"), 202);
    place.daemon.terminate();
}

#[test]
fn what_can_not_change_while_it_runs_is_named() {
    let place = Place::new("");
    // The command line says where this one listens.
    place.add("[server]\nlisten = \"127.0.0.1:7499\"\nsocket = \"/tmp/other.socket\"\n");
    wait_until(|| place.home().contains("server.socket"), LONG);
    assert!(place.said("server.socket") == 1 && place.said("server.listen") == 0, "{}", place.daemon.said());
    let check = place.checked().unwrap();
    assert_eq!(check["mark"], "notice", "{check}");
    place.add("");
    wait_until(|| !place.home().contains("server.socket"), LONG);
    assert_eq!(place.checked(), None);
    place.daemon.terminate();
}

#[test]
fn it_ends_with_the_terminal_that_it_was_started_in() {
    let workshop = Workshop::new("");
    let terminal = Terminal::open(&workshop, &["serve", "--listen", "127.0.0.1:0"]);
    terminal.shows("listening on");
    let home = workshop.story.sandbox().spinney_home();
    assert!(spinney_server::running_url(&home).is_some());
    terminal.close();
    wait_until(|| spinney_server::running_url(&home).is_none(), LONG);
}
