//! How Linear's answers read.

use serde::Deserialize;
use serde_json::Value;

/// The types of states whose issues nobody works on any more.
pub(super) const CLOSED: [&str; 3] = ["completed", "canceled", "duplicate"];

/// An issue of the team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinearIssue {
    pub(super) id: String,
    pub number: u64,
    pub title: String,
    /// Written by anybody: hostile.
    pub body: String,
    pub is_open: bool,
    /// Id and name of each.
    labels: Vec<(String, String)>,
}

impl LinearIssue {
    pub fn labels(&self) -> impl Iterator<Item = &str> {
        self.labels.iter().map(|(_, name)| name.as_str())
    }

    /// The id of a label that it has, in whatever case.
    pub(super) fn label_id(&self, label: &str) -> Option<&str> {
        let (id, _) = self.labels.iter().find(|(_, name)| name.to_lowercase() == label.to_lowercase())?;
        Some(id)
    }
}

/// A comment on an issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinearComment {
    pub id: String,
    /// Linear's id of who wrote it.
    pub author: String,
    /// Whether its author is a member of the workspace: no guest, and nobody whose words came from elsewhere.
    pub from_inside: bool,
    /// Written by anybody: hostile.
    pub body: String,
    pub(super) created_at: String,
}

#[derive(Deserialize)]
struct RawIssue {
    id: String,
    /// Linear's numbers are floats.
    number: f64,
    title: String,
    description: Option<String>,
    state: State,
    labels: Nodes,
}

#[derive(Deserialize)]
struct State {
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
struct Nodes {
    nodes: Vec<Label>,
}

#[derive(Deserialize)]
struct Label {
    id: String,
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawComment {
    id: String,
    body: String,
    created_at: String,
    user: Option<User>,
    bot_actor: Option<Actor>,
    external_user: Option<Actor>,
}

#[derive(Deserialize)]
struct User {
    id: String,
    guest: bool,
}

#[derive(Deserialize)]
struct Actor {
    id: Option<String>,
}

pub(super) fn issue(value: Value) -> Result<LinearIssue, serde_json::Error> {
    let issue: RawIssue = serde_json::from_value(value)?;
    let number = format!("{:.0}", issue.number).parse().map_err(serde::de::Error::custom)?;
    Ok(LinearIssue {
        id: issue.id,
        number,
        title: issue.title,
        body: issue.description.unwrap_or_default(),
        is_open: !CLOSED.contains(&issue.state.kind.as_str()),
        labels: issue.labels.nodes.into_iter().map(|label| (label.id, label.name)).collect(),
    })
}

pub(super) fn comment(value: Value) -> Result<LinearComment, serde_json::Error> {
    let comment: RawComment = serde_json::from_value(value)?;
    let actor = [comment.external_user.as_ref(), comment.bot_actor.as_ref()].into_iter().flatten();
    let actor = actor.filter_map(|actor| actor.id.clone()).next();
    Ok(LinearComment {
        from_inside: comment.external_user.is_none() && comment.user.as_ref().is_some_and(|user| !user.guest),
        author: comment.user.map(|user| user.id).or(actor).unwrap_or_default(),
        id: comment.id,
        body: comment.body,
        created_at: comment.created_at,
    })
}
