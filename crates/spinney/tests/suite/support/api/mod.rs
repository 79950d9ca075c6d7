//! A daemon over a workshop, and what tests ask it.

use serde_json::{Value, json};
use spinney_testkit::{Daemon, HttpClient, Reply, wait_until};

use crate::support::job::{LONG, Workshop};

/// A daemon over a workshop, and somebody who may do everything in it.
pub struct Served {
    pub daemon: Daemon,
    pub client: HttpClient,
    pub repository: Value,
    pub workshop: Workshop,
}

impl Served {
    /// With these settings of its agent; `REPOSITORY` in them is the path of the repository.
    pub fn new(settings: &str) -> Self {
        let workshop = Workshop::new("");
        let path = workshop.story.repository.path().to_str().unwrap().to_owned();
        workshop.configure(&settings.replace("REPOSITORY", &path));
        let token = create_token(&workshop, "admin", &[]);
        let daemon = Daemon::start(&workshop.cli);
        let client = daemon.client().with_token(&token);
        let path = workshop.story.repository.path();
        let repository = client.post("/api/v1/repositories", &json!({ "path": path })).expects(201).json();
        Self { daemon, client, repository, workshop }
    }

    pub fn repository(&self) -> &str {
        self.repository["name"].as_str().unwrap()
    }

    /// Somebody of another account, who may do everything in that.
    pub fn stranger(&self) -> HttpClient {
        self.client.post("/api/v1/accounts", &json!({ "name": "acme" })).expects(201);
        let token = create_token(&self.workshop, "admin", &["--account", "acme"]);
        self.daemon.client().with_token(&token)
    }

    #[track_caller]
    pub fn get(&self, target: &str) -> Value {
        self.client.get(target).expects(200).json()
    }

    /// A workspace for an issue.
    #[track_caller]
    pub fn issue(&self, number: u64) -> Value {
        let body = json!({ "repository": self.repository(), "kind": "issue", "key": number.to_string() });
        self.client.post("/api/v1/workspaces", &body).expects(201).json()
    }

    #[track_caller]
    pub fn wait_for(&self, id: &str, status: &str) -> Value {
        let target = format!("/api/v1/jobs/{id}");
        wait_until(|| self.get(&target)["status"] == status, LONG);
        self.get(&target)
    }
}

pub fn create_token(workshop: &Workshop, scope: &str, more: &[&str]) -> String {
    let arguments = [&["token", "create", "--name", scope, "--scope", scope, "--json"], more].concat();
    workshop.cli.run(&arguments).ok().json()["token"].as_str().unwrap().to_owned()
}

/// Asserts that something is refused so, in the one form of an error.
#[track_caller]
pub fn refused(reply: &Reply, status: u16, kind: &str) -> Value {
    assert_eq!(reply.status, status, "{}", reply.told());
    let error = reply.json()["error"].clone();
    assert_eq!(error["kind"], kind, "{error}");
    assert!(!error["message"].as_str().unwrap().is_empty() && error["hints"].is_array(), "{error}");
    // Who asks over HTTP has no command line.
    assert!(!error["hints"].to_string().contains("spinney "), "{error}");
    error
}

pub fn names(page: &Value, list: &str) -> Vec<String> {
    page[list].as_array().unwrap().iter().map(|entry| text(entry, "name")).collect()
}

#[track_caller]
pub fn text(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_else(|| panic!("no text `{key}` in {value:#}")).to_owned()
}
