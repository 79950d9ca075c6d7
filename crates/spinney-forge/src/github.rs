//! GitHub's REST API, on github.com and on Enterprise.

use serde::Deserialize;
use serde_json::{Value, json};
use spinney_core::forge::{Access, Comment, Issue, IssueState, NewPullRequest, Person, PullRequest, PullRequestState};
use spinney_core::{BranchName, Secret, Timestamp};

use crate::dialect::{Call, Dialect, Tracker, Which, commit, read};
use crate::kind::{Kind, section};
use crate::url::{Url, encode};

/// Who can set labels is one of these, or an app.
const INSIDERS: [&str; 3] = ["OWNER", "MEMBER", "COLLABORATOR"];

/// GitHub's row.
pub static GITHUB: Kind = Kind {
    name: "github",
    title: "GitHub",
    section: section(
        "forge.github",
        "\
# GitHub, or an Enterprise server: https://HOST/api/v3. Empty: none.
api_url = \"https://api.github.com\"

# The variable with the token. Empty: none.
token_env = \"GITHUB_TOKEN\"
",
    ),
    public_api_url: "https://api.github.com",
    token_variables: &["GITHUB_TOKEN", "GH_TOKEN"],
    other_secrets: &["GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"],
    scope: "repo",
    is_known_to_gh: true,
    has_apps: true,
    has_subgroups: false,
    serves,
    dialect: |owner, name| Box::new(Github::new(owner, name)),
};

/// An API may have a host of its own, as `api.github.com`; `ssh.github.com` takes git's ssh on the port of HTTPS.
fn serves(api: &Url, host: &str) -> bool {
    let host = if host == "ssh.github.com" { "github.com" } else { host };
    api.host == host || api.host.strip_prefix("api.") == Some(host)
}

#[derive(Debug)]
pub(crate) struct Github {
    owner: String,
    path: String,
}

impl Github {
    pub fn new(owner: &str, name: &str) -> Self {
        Self { owner: owner.to_owned(), path: format!("/repos/{}/{}", encode(owner), encode(name)) }
    }
}

#[derive(Deserialize)]
struct Pull {
    number: u64,
    html_url: String,
    title: String,
    body: Option<String>,
    state: String,
    merged_at: Option<String>,
    merge_commit_sha: Option<String>,
    head: End,
    base: End,
}

#[derive(Deserialize)]
struct End {
    #[serde(rename = "ref")]
    branch: String,
    sha: String,
    /// None when the fork is gone.
    repo: Option<Repository>,
}

#[derive(Deserialize)]
struct Repository {
    id: u64,
}

#[derive(Deserialize)]
struct RawIssue {
    number: u64,
    html_url: String,
    title: String,
    body: Option<String>,
    state: String,
    pull_request: Option<Value>,
    #[serde(default)]
    labels: Vec<Label>,
}

/// GitHub's description allows a bare text too.
#[derive(Deserialize)]
#[serde(untagged)]
enum Label {
    Named { name: Option<String> },
    Bare(String),
}

#[derive(Deserialize)]
struct RawComment {
    id: u64,
    /// None when the account is gone.
    user: Option<User>,
    body: Option<String>,
    author_association: String,
}

#[derive(Deserialize)]
struct Permission {
    /// The role without its refinements: `admin`, `write`, `read`, `none`.
    permission: String,
    /// None when the account is gone.
    user: Option<Named>,
}

#[derive(Deserialize)]
struct Named {
    id: u64,
}

#[derive(Deserialize)]
struct User {
    login: String,
    #[serde(rename = "type")]
    kind: String,
}

impl Label {
    fn name(self) -> Option<String> {
        match self {
            Self::Named { name } => name,
            Self::Bare(name) => Some(name),
        }
    }
}

impl Dialect for Github {
    fn authorization(&self, token: &Secret) -> String {
        format!("Bearer {}", token.expose())
    }

    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[("accept", "application/vnd.github+json"), ("x-github-api-version", "2022-11-28")]
    }

    fn repository(&self) -> Call {
        Call::get(self.path.clone())
    }

    fn read_access(&self, repository: &Value) -> Access {
        // Without a token there are no permissions in the answer.
        if repository["permissions"]["push"] == true { Access::Write } else { Access::Read }
    }

    fn pull_requests(&self, head: &BranchName, which: Which) -> Call {
        let state = if which == Which::Open { "open" } else { "closed" };
        Call::get(format!("{}/pulls", self.path))
            .query("state", state)
            .query("head", format!("{}:{head}", self.owner))
            .query("sort", "created")
            .query("direction", "desc")
            .query("per_page", "100")
    }

    fn pull_request(&self, number: u64) -> Call {
        Call::get(format!("{}/pulls/{number}", self.path))
    }

    fn read_pull_request(&self, value: Value) -> Result<PullRequest, serde_json::Error> {
        let pull: Pull = read(value)?;
        let merged = pull.merged_at.is_some();
        let state = match pull.state.as_str() {
            _ if merged => PullRequestState::Merged,
            "open" => PullRequestState::Open,
            _ => PullRequestState::Closed,
        };
        let id = |end: &End| end.repo.as_ref().map(|repository| repository.id);
        Ok(PullRequest {
            number: pull.number,
            url: pull.html_url,
            title: pull.title,
            body: pull.body.unwrap_or_default(),
            state,
            from_fork: id(&pull.head).is_none() || id(&pull.head) != id(&pull.base),
            head_branch: pull.head.branch.parse().ok(),
            head_commit: commit(Some(pull.head.sha)),
            base_branch: pull.base.branch.parse().ok(),
            // Before the merge it is a commit made to try it.
            merge_commit: commit(pull.merge_commit_sha).filter(|_| merged),
        })
    }

    fn new_pull_request(&self, new: &NewPullRequest) -> Call {
        let mut body = json!({ "title": new.title, "head": new.head, "base": new.base, "body": new.body });
        if new.draft {
            body["draft"] = true.into();
        }
        Call::post(format!("{}/pulls", self.path), body)
    }

    fn issue(&self, number: u64) -> Call {
        Call::get(format!("{}/issues/{number}", self.path))
    }

    fn read_issue(&self, value: Value) -> Result<Option<Issue>, serde_json::Error> {
        read_issue(value)
    }

    fn tracker(&self) -> Option<&dyn Tracker> {
        Some(self)
    }
}

impl Tracker for Github {
    fn issues_labelled(&self, label: &str) -> Call {
        Call::get(format!("{}/issues", self.path))
            .query("state", "open")
            .query("labels", label)
            .query("sort", "created")
            .query("direction", "asc")
            .query("per_page", "100")
    }

    fn add_label(&self, issue: u64, label: &str) -> Call {
        Call::post(format!("{}/issues/{issue}/labels", self.path), json!({ "labels": [label] }))
    }

    fn remove_label(&self, issue: u64, label: &str) -> Call {
        Call::delete(format!("{}/issues/{issue}/labels/{}", self.path, encode(label)))
    }

    fn comments(&self, issue: u64) -> Call {
        Call::get(format!("{}/issues/{issue}/comments", self.path)).query("per_page", "100")
    }

    fn comments_since(&self, issue: u64, since: Timestamp) -> Call {
        self.comments(issue).query("since", since.to_string())
    }

    fn add_comment(&self, issue: u64, body: &str) -> Call {
        Call::post(format!("{}/issues/{issue}/comments", self.path), json!({ "body": body }))
    }

    fn edit_comment(&self, comment: u64, body: &str) -> Call {
        Call::patch(format!("{}/issues/comments/{comment}", self.path), json!({ "body": body }))
    }

    fn delete_comment(&self, comment: u64) -> Call {
        Call::delete(format!("{}/issues/comments/{comment}", self.path))
    }

    fn read_comment(&self, value: Value) -> Result<Comment, serde_json::Error> {
        let comment: RawComment = read(value)?;
        // An app comments where the repository's owners installed it, and nowhere else.
        let is_app = comment.user.as_ref().is_some_and(|user| user.kind == "Bot");
        Ok(Comment {
            id: comment.id,
            from_inside: is_app || INSIDERS.contains(&comment.author_association.as_str()),
            author: comment.user.map(|user| user.login).unwrap_or_default(),
            body: comment.body.unwrap_or_default(),
        })
    }

    fn permission(&self, login: &str) -> Call {
        Call::get(format!("{}/collaborators/{}/permission", self.path, encode(login)))
    }

    fn read_permission(&self, value: Value) -> Result<Option<Person>, serde_json::Error> {
        let found: Permission = read(value)?;
        let access = match found.permission.as_str() {
            "admin" | "maintain" | "write" => Some(Access::Write),
            "triage" | "read" => Some(Access::Read),
            _ => None,
        };
        Ok(found.user.map(|user| Person { id: user.id, access }))
    }
}

/// Reads an issue, unless it is a pull request; Forgejo answers in the same way.
pub(crate) fn read_issue(value: Value) -> Result<Option<Issue>, serde_json::Error> {
    let issue: RawIssue = read(value)?;
    if issue.pull_request.is_some() {
        return Ok(None);
    }
    Ok(Some(Issue {
        number: issue.number,
        url: issue.html_url,
        title: issue.title,
        body: issue.body.unwrap_or_default(),
        state: if issue.state == "open" { IssueState::Open } else { IssueState::Closed },
        labels: issue.labels.into_iter().filter_map(Label::name).collect(),
    }))
}
