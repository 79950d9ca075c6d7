//! Forgejo's REST API, which Gitea speaks too.
//!
//! Its list of pull requests knows no filter by branch, so it is read page by page. What it tells as the head's commit
//! is the branch's tip of today, even when the pull request was merged long ago; what was merged is under
//! `refs/pull/N/head`.

use serde::Deserialize;
use serde_json::{Value, json};
use spinney_core::forge::{Access, Issue, NewPullRequest, PullRequest, PullRequestState};
use spinney_core::{BranchName, CommitId, Secret};

use crate::dialect::{Call, Dialect, Which, commit, read};
use crate::github;
use crate::kind::{Kind, same_host, section};
use crate::url::encode;

/// Forgejo's row.
pub static FORGEJO: Kind = Kind {
    name: "forgejo",
    title: "Forgejo",
    section: section(
        "forge.forgejo",
        "\
# Forgejo or Gitea: https://HOST/api/v1. Empty: none.
api_url = \"\"

# The variable with the token. Empty: none.
token_env = \"FORGEJO_TOKEN\"
",
    ),
    public_api_url: "https://codeberg.org/api/v1",
    token_variables: &["FORGEJO_TOKEN", "GITEA_TOKEN"],
    other_secrets: &[],
    scope: "write:repository",
    is_known_to_gh: false,
    has_apps: false,
    has_subgroups: false,
    serves: same_host,
    dialect: |owner, name| Box::new(Forgejo::new(owner, name)),
};

#[derive(Debug)]
pub(crate) struct Forgejo {
    path: String,
}

impl Forgejo {
    pub fn new(owner: &str, name: &str) -> Self {
        Self { path: format!("/repos/{}/{}", encode(owner), encode(name)) }
    }
}

#[derive(Deserialize)]
struct Pull {
    number: u64,
    html_url: String,
    title: String,
    body: Option<String>,
    state: String,
    merged: bool,
    merge_commit_sha: Option<String>,
    head: End,
    base: End,
}

#[derive(Deserialize)]
struct End {
    /// The branch's name. `ref` is another one once the branch is gone.
    label: String,
    sha: String,
    /// `-1` when the fork is gone.
    repo_id: i64,
}

#[derive(Deserialize)]
struct Reference {
    #[serde(rename = "ref")]
    name: String,
    object: Object,
}

#[derive(Deserialize)]
struct Object {
    sha: String,
}

impl Dialect for Forgejo {
    fn authorization(&self, token: &Secret) -> String {
        format!("token {}", token.expose())
    }

    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[("accept", "application/json")]
    }

    fn repository(&self) -> Call {
        Call::get(self.path.clone())
    }

    fn read_access(&self, repository: &Value) -> Access {
        if repository["permissions"]["push"] == true { Access::Write } else { Access::Read }
    }

    fn pull_requests(&self, _head: &BranchName, which: Which) -> Call {
        let state = if which == Which::Open { "open" } else { "closed" };
        Call::get(format!("{}/pulls", self.path)).query("state", state).query("limit", "50")
    }

    fn pull_request(&self, number: u64) -> Call {
        Call::get(format!("{}/pulls/{number}", self.path))
    }

    fn read_pull_request(&self, value: Value) -> Result<PullRequest, serde_json::Error> {
        let pull: Pull = read(value)?;
        let state = match pull.state.as_str() {
            _ if pull.merged => PullRequestState::Merged,
            "open" => PullRequestState::Open,
            _ => PullRequestState::Closed,
        };
        Ok(PullRequest {
            number: pull.number,
            url: pull.html_url,
            title: pull.title,
            body: pull.body.unwrap_or_default(),
            state,
            from_fork: pull.head.repo_id != pull.base.repo_id,
            head_branch: pull.head.label.parse().ok(),
            head_commit: commit(Some(pull.head.sha)),
            base_branch: pull.base.label.parse().ok(),
            merge_commit: commit(pull.merge_commit_sha).filter(|_| pull.merged),
        })
    }

    fn merged_head(&self, number: u64) -> Option<Call> {
        Some(Call::get(format!("{}/git/refs/pull/{number}/head", self.path)))
    }

    fn read_merged_head(&self, number: u64, value: Value) -> Option<CommitId> {
        // It lists every ref that begins so; an old Gitea gives a single one outside a list.
        let references: Vec<Reference> = read(if value.is_array() { value } else { json!([value]) }).ok()?;
        let name = format!("refs/pull/{number}/head");
        let reference = references.into_iter().find(|reference| reference.name == name)?;
        commit(Some(reference.object.sha))
    }

    fn new_pull_request(&self, new: &NewPullRequest) -> Call {
        // A draft is told by its title.
        let title = if new.draft { format!("WIP: {}", new.title) } else { new.title.clone() };
        let body = json!({ "title": title, "head": new.head, "base": new.base, "body": new.body });
        Call::post(format!("{}/pulls", self.path), body)
    }

    fn issue(&self, number: u64) -> Call {
        Call::get(format!("{}/issues/{number}", self.path))
    }

    fn read_issue(&self, value: Value) -> Result<Option<Issue>, serde_json::Error> {
        github::read_issue(value)
    }
}
