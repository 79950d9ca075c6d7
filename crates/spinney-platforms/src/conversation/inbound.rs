//! What a platform sent, as every adapter tells it.

use serde::{Deserialize, Serialize};
use spinney_core::{BranchName, CommitId, IgnoreReason, Platform, RepositoryName, Work};

/// One thing that happened in a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inbound {
    pub platform: Platform,
    /// The platform's own id of this sending: what comes twice counts once.
    pub delivery: String,
    /// The place where people talk: `acme/app#42`, a channel and its thread, a chat.
    pub conversation: String,
    /// The message that it is about, by the platform's own id; none where it is about none.
    pub subject: Option<String>,
    pub author: Author,
    /// Where answers go.
    pub place: Place,
    pub repository: Where,
    pub event: Event,
}

/// What a platform sent and nothing is done about. Nothing of what was written is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ignored {
    pub platform: Platform,
    /// As of an [`Inbound`].
    pub delivery: String,
    /// Empty where it is not known; likewise the author.
    pub conversation: String,
    /// The platform's own id of who wrote it.
    pub author: String,
    pub reason: IgnoreReason,
}

/// What came: something to do, or why there is nothing.
pub type Heard = Result<Inbound, Ignored>;

/// Who wrote it. Both are the platform's; the name is hostile and only ever shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Author {
    pub id: String,
    pub name: String,
}

/// An address that the platform's own adapter understands, and nobody else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Place(pub serde_json::Value);

/// Which repository is meant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Where {
    /// As the forge names it: the one of ours whose remote is there.
    Forge(RepositoryName),
    /// What the conversation was told, else what is configured.
    Chat,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// Somebody asks for something.
    Asked(Request),
    /// The message that it is about was changed: what was asked with it, and has not begun, is asked anew. No request:
    /// the new text asks for nothing.
    Edited { request: Option<Request> },
    /// The message that it is about is gone: what was asked with it, and has not begun, is off.
    Deleted,
    /// A pull request came to be, or changed. Nobody asks for anything; it shares the workspace of its branch or of the
    /// issues that it closes.
    Linked(Pull),
    /// The work of this conversation is over: its issue or pull request was closed.
    Closed {
        work: Work,
        /// The pull request, where it was merged. Messages of older versions do not tell.
        #[serde(default)]
        merged: Option<Pull>,
    },
}

/// A request in words, and what is known about its work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// What was written, without the mention. Prompt data: never a command line, never configuration.
    pub text: String,
    pub work: Work,
    #[serde(default)]
    pub title: Option<String>,
    /// What the issue or pull request says, or the message that is answered, for the prompt.
    #[serde(default)]
    pub context: Option<String>,
    /// Issues and pull requests of this repository that it belongs to.
    #[serde(default)]
    pub links: Vec<Work>,
    #[serde(default)]
    pub pull: Option<Pull>,
}

/// A pull request as the forge tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pull {
    pub number: u64,
    pub title: String,
    /// None where its branch, or the fork that it was in, is gone.
    pub head: Option<BranchName>,
    pub sha: Option<CommitId>,
    pub is_fork: bool,
    /// The issues of this repository that it closes.
    pub closes: Vec<Work>,
}
