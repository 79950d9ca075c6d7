//! A forge on loopback, and a client that speaks to it.

use std::time::Duration;

use spinney_core::forge::{Forge, NewPullRequest, PullRequest};
use spinney_core::{BranchName, Secret};
use spinney_forge::{FORGES, ForgeKind, ForgeOptions, GITLAB, KindOptions, Patience, locate, open};
use spinney_testkit::TestForge;

/// Long enough for what passes by itself in these tests.
pub const PATIENT: Patience = Patience { total: Duration::from_secs(60), answer: Duration::from_secs(20) };

#[derive(Debug)]
pub struct Story {
    pub kind: ForgeKind,
    pub server: TestForge,
    pub forge: Box<dyn Forge>,
}

impl Story {
    /// One of each kind.
    pub fn all() -> Vec<Self> {
        FORGES.iter().map(|kind| Self::new(kind, PATIENT)).collect()
    }

    pub fn new(kind: ForgeKind, patience: Patience) -> Self {
        let server = match kind.name {
            "github" => TestForge::github("acme/app"),
            "gitlab" => TestForge::gitlab("acme/group/app"),
            "forgejo" => TestForge::forgejo("acme/app"),
            other => panic!("there is no {other} to try with"),
        };
        let forge = client(kind, &server, patience, Some(server.token()));
        Self { kind, server, forge }
    }

    /// The branch's pull request.
    pub async fn of(&self, branch_name: &str) -> Option<PullRequest> {
        self.forge.fetch_pull_request_of(&branch(branch_name)).await.unwrap()
    }

    /// How many requests of this method came.
    pub fn count(&self, method: &str) -> usize {
        self.server.exchanges().iter().filter(|exchange| exchange.method == method).count()
    }
}

/// Speaks to a server's repository, found by the URL of a remote.
pub fn client(kind: ForgeKind, server: &TestForge, patience: Patience, token: Option<&str>) -> Box<dyn Forge> {
    let options = options(kind, &server.api_url(), patience, token);
    let path = if kind == &GITLAB { "acme/group/app" } else { "acme/app" };
    let located = locate(&format!("ssh://git@127.0.0.1:2222/{path}.git"), &options).unwrap();
    assert_eq!(located.kind, kind);
    open(&located, &options).unwrap()
}

pub fn options(kind: ForgeKind, api_url: &str, patience: Patience, token: Option<&str>) -> ForgeOptions {
    let configured = KindOptions { api_url: api_url.to_owned(), token: token.map(Secret::new), app: None };
    ForgeOptions { patience, ..ForgeOptions::default() }.with(kind, configured)
}

pub fn branch(name: &str) -> BranchName {
    name.parse().unwrap()
}

pub fn new_pull_request(head: &str) -> NewPullRequest {
    NewPullRequest {
        head: branch(head),
        base: branch("main"),
        title: "Fix it".into(),
        body: "Fixes #1".into(),
        draft: false,
    }
}

/// A commit id of one digit.
pub fn commit(digit: char) -> String {
    digit.to_string().repeat(40)
}
