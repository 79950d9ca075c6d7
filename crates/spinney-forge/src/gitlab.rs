//! GitLab's REST API, on gitlab.com and self-managed. A merge request is a pull request, its `iid` the number.

use serde::Deserialize;
use serde_json::{Value, json};
use spinney_core::forge::{Access, Issue, IssueState, NewPullRequest, PullRequest, PullRequestState};
use spinney_core::{BranchName, Secret};

use crate::dialect::{Call, Dialect, Which, commit, read};
use crate::kind::{Kind, same_host, section};
use crate::url::encode;

/// The role from which on one may push (Developer).
const MAY_PUSH: u64 = 30;

/// GitLab's row.
pub static GITLAB: Kind = Kind {
    name: "gitlab",
    title: "GitLab",
    section: section(
        "forge.gitlab",
        "\
# GitLab, or a server of one's own: https://HOST/api/v4. Empty: none.
api_url = \"https://gitlab.com/api/v4\"

# The variable with the token. Empty: none.
token_env = \"GITLAB_TOKEN\"
",
    ),
    public_api_url: "https://gitlab.com/api/v4",
    token_variables: &["GITLAB_TOKEN"],
    other_secrets: &["CI_JOB_TOKEN", "GITLAB_ACCESS_TOKEN"],
    scope: "api",
    is_known_to_gh: false,
    has_apps: false,
    has_subgroups: true,
    serves: same_host,
    dialect: |owner, name| Box::new(Gitlab::new(owner, name)),
};

#[derive(Debug)]
pub(crate) struct Gitlab {
    path: String,
}

impl Gitlab {
    pub fn new(owner: &str, name: &str) -> Self {
        Self { path: format!("/projects/{}", encode(&format!("{owner}/{name}"))) }
    }
}

#[derive(Deserialize)]
struct MergeRequest {
    iid: u64,
    web_url: String,
    title: String,
    description: Option<String>,
    state: String,
    source_branch: String,
    target_branch: String,
    /// None when the fork is gone.
    source_project_id: Option<u64>,
    target_project_id: u64,
    sha: Option<String>,
    merge_commit_sha: Option<String>,
    squash_commit_sha: Option<String>,
}

#[derive(Deserialize)]
struct RawIssue {
    iid: u64,
    web_url: String,
    title: String,
    description: Option<String>,
    state: String,
    #[serde(default)]
    labels: Vec<String>,
}

impl Dialect for Gitlab {
    fn authorization(&self, token: &Secret) -> String {
        format!("Bearer {}", token.expose())
    }

    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[("accept", "application/json")]
    }

    fn repository(&self) -> Call {
        Call::get(self.path.clone())
    }

    fn read_access(&self, repository: &Value) -> Access {
        let may_push = ["project_access", "group_access"].iter().any(|access| {
            repository["permissions"][access]["access_level"].as_u64().is_some_and(|level| level >= MAY_PUSH)
        });
        if may_push { Access::Write } else { Access::Read }
    }

    fn pull_requests(&self, head: &BranchName, which: Which) -> Call {
        let state = if which == Which::Open { "opened" } else { "all" };
        Call::get(format!("{}/merge_requests", self.path))
            .query("state", state)
            .query("source_branch", head.as_str())
            .query("order_by", "created_at")
            .query("sort", "desc")
            .query("per_page", "100")
    }

    fn pull_request(&self, number: u64) -> Call {
        Call::get(format!("{}/merge_requests/{number}", self.path))
    }

    fn read_pull_request(&self, value: Value) -> Result<PullRequest, serde_json::Error> {
        let request: MergeRequest = read(value)?;
        let state = match request.state.as_str() {
            "merged" => PullRequestState::Merged,
            "closed" => PullRequestState::Closed,
            // `locked` is one that is just being merged.
            _ => PullRequestState::Open,
        };
        Ok(PullRequest {
            number: request.iid,
            url: request.web_url,
            title: request.title,
            body: request.description.unwrap_or_default(),
            state,
            from_fork: request.source_project_id != Some(request.target_project_id),
            head_branch: request.source_branch.parse().ok(),
            head_commit: commit(request.sha),
            base_branch: request.target_branch.parse().ok(),
            merge_commit: commit(request.merge_commit_sha.or(request.squash_commit_sha))
                .filter(|_| state == PullRequestState::Merged),
        })
    }

    fn new_pull_request(&self, new: &NewPullRequest) -> Call {
        // A draft is told by its title.
        let title = if new.draft { format!("Draft: {}", new.title) } else { new.title.clone() };
        let body = json!({
            "source_branch": new.head,
            "target_branch": new.base,
            "title": title,
            "description": new.body,
        });
        Call::post(format!("{}/merge_requests", self.path), body)
    }

    fn issue(&self, number: u64) -> Call {
        Call::get(format!("{}/issues/{number}", self.path))
    }

    fn read_issue(&self, value: Value) -> Result<Option<Issue>, serde_json::Error> {
        let issue: RawIssue = read(value)?;
        Ok(Some(Issue {
            number: issue.iid,
            url: issue.web_url,
            title: issue.title,
            body: issue.description.unwrap_or_default(),
            state: if issue.state == "opened" { IssueState::Open } else { IssueState::Closed },
            labels: issue.labels,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_is_just_being_merged_is_still_open() {
        let read = |state: &str, squash: Option<&str>| {
            let value = json!({
                "iid": 1, "web_url": "", "title": "", "state": state, "source_branch": "a", "target_branch": "main",
                "source_project_id": 1, "target_project_id": 1, "sha": null,
                "merge_commit_sha": null, "squash_commit_sha": squash,
            });
            Gitlab::new("acme", "app").read_pull_request(value).unwrap()
        };
        assert_eq!(read("locked", None).state, PullRequestState::Open);
        let commit = "c".repeat(40);
        assert_eq!(read("opened", Some(&commit)).merge_commit, None);
        assert_eq!(read("merged", Some(&commit)).merge_commit.unwrap().as_str(), commit);
    }

    #[test]
    fn the_role_in_project_or_group_decides() {
        let access = |permissions: Value| Gitlab::new("a", "b").read_access(&json!({ "permissions": permissions }));
        let level = |level: u64| json!({ "access_level": level });
        assert_eq!(access(json!({ "project_access": level(30), "group_access": null })), Access::Write);
        assert_eq!(access(json!({ "project_access": null, "group_access": level(40) })), Access::Write);
        assert_eq!(access(json!({ "project_access": level(20), "group_access": level(10) })), Access::Read);
        assert_eq!(access(Value::Null), Access::Read);
    }
}
