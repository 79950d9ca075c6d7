//! What GitHub sends, as far as it is read. Whatever else is in there is passed over.

use serde::Deserialize;

/// What happened; looked at before the rest, whose shape depends on it.
#[derive(Debug, Deserialize)]
pub(super) struct Acted {
    #[serde(default)]
    pub action: Option<String>,
}

/// What it is about, as far as it can be told of any.
#[derive(Debug, Default, Deserialize)]
pub(super) struct About {
    pub repository: Option<AboutRepository>,
    pub sender: Option<AboutSender>,
    pub issue: Option<AboutTopic>,
    pub pull_request: Option<AboutTopic>,
}

#[derive(Debug, Deserialize)]
pub(super) struct AboutRepository {
    pub full_name: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct AboutSender {
    pub id: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct AboutTopic {
    pub number: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct Payload {
    pub repository: Repository,
    pub sender: User,
    pub issue: Option<Issue>,
    pub pull_request: Option<PullRequest>,
    pub comment: Option<Text>,
    pub review: Option<Text>,
    pub changes: Option<Changes>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Repository {
    pub id: u64,
    pub full_name: String,
    pub html_url: String,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct User {
    pub id: u64,
    pub login: String,
    #[serde(rename = "type", default)]
    pub kind: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Issue {
    pub id: u64,
    pub number: u64,
    pub title: String,
    pub body: Option<String>,
    /// None when the account is gone; likewise below.
    pub user: Option<User>,
    /// There where it is a pull request in truth.
    pub pull_request: Option<serde::de::IgnoredAny>,
}

#[derive(Debug, Deserialize)]
pub(super) struct PullRequest {
    pub id: u64,
    pub number: u64,
    pub title: String,
    pub body: Option<String>,
    pub user: Option<User>,
    pub head: End,
    pub merged_at: Option<String>,
    #[serde(default)]
    pub state: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct End {
    #[serde(rename = "ref")]
    pub branch: String,
    pub sha: String,
    /// None when the fork is gone.
    pub repo: Option<EndRepository>,
}

#[derive(Debug, Deserialize)]
pub(super) struct EndRepository {
    pub id: u64,
}

/// A comment or a review.
#[derive(Debug, Deserialize)]
pub(super) struct Text {
    pub id: u64,
    pub body: Option<String>,
    pub user: Option<User>,
    /// The file that a comment of a review is about, and what it shows of it.
    pub path: Option<String>,
    pub diff_hunk: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Changes {
    pub body: Option<Before>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Before {
    #[serde(default)]
    pub from: Option<String>,
}
