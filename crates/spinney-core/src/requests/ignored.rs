//! Why nothing was done about what a platform sent.

use serde::{Deserialize, Serialize};

use crate::names::visible_line;

/// How much of what a platform sent is repeated.
const MAX_CHARS: usize = 200;

/// What decided: a field of the payload, a key of the configuration, or a rule. Kept in the store, and said by each front in its
/// own words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum IgnoreReason {
    /// The platform tests its connection.
    PlatformCheck,
    /// The platform tells what the bot itself said.
    OwnMessage,
    /// A field is missing or has a wrong value. None: it is not said which one.
    Malformed {
        payload: String,
        field: Option<String>,
        is_missing: bool,
    },
    ContentType {
        given: String,
    },
    EventKind {
        event: String,
    },
    Action {
        event: String,
        action: String,
    },
    /// `owner/name` that no repository can have here.
    InvalidRepository {
        repository: String,
    },
    /// `remote`: that of the repository that has this name here.
    UnknownRepository {
        repository: String,
        remote: Option<String>,
    },
    /// `key`: the list of the configuration that would have to name the user.
    NotListed {
        user: String,
        key: String,
    },
    /// The platform does not let the user change the repository.
    NoWriteAccess {
        user: String,
    },
    Bot {
        user: String,
    },
    /// Somebody moved or changed what another wrote.
    OtherAuthor {
        user: String,
    },
    /// None: the platform knows the bot by an id.
    NoMention {
        mention: Option<String>,
    },
    SameText,
    /// The message was changed or deleted, and what it had asked for has begun.
    Begun,
    /// The message that asked was changed or deleted before it was begun.
    Withdrawn,
    PullRequestOver,
    /// A pull request whose branch and issues have no workspace.
    NoWorkspace,
    NoText,
    NoAuthor,
    /// A channel of announcements, as an example.
    PlaceKind {
        kind: String,
    },
    Unsupported {
        what: String,
    },
}

impl IgnoreReason {
    /// Whether it is worth keeping. What is not comes with each message of the bot, or with each look at its address.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        !matches!(self, Self::PlatformCheck | Self::OwnMessage)
    }

    /// The same word as in the store.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::PlatformCheck => "platform_check",
            Self::OwnMessage => "own_message",
            Self::Malformed { .. } => "malformed",
            Self::ContentType { .. } => "content_type",
            Self::EventKind { .. } => "event_kind",
            Self::Action { .. } => "action",
            Self::InvalidRepository { .. } => "invalid_repository",
            Self::UnknownRepository { .. } => "unknown_repository",
            Self::NotListed { .. } => "not_listed",
            Self::NoWriteAccess { .. } => "no_write_access",
            Self::Bot { .. } => "bot",
            Self::OtherAuthor { .. } => "other_author",
            Self::NoMention { .. } => "no_mention",
            Self::SameText => "same_text",
            Self::Begun => "begun",
            Self::Withdrawn => "withdrawn",
            Self::PullRequestOver => "pull_request_over",
            Self::NoWorkspace => "no_workspace",
            Self::NoText => "no_text",
            Self::NoAuthor => "no_author",
            Self::PlaceKind { .. } => "place_kind",
            Self::Unsupported { .. } => "unsupported",
        }
    }

    /// The field of the payload or the key of the configuration that decided.
    #[must_use]
    pub fn decided_by(&self) -> Option<&str> {
        match self {
            Self::Malformed { field, .. } => field.as_deref(),
            Self::ContentType { .. } => Some("content-type"),
            Self::Action { .. } => Some("action"),
            Self::InvalidRepository { .. } | Self::UnknownRepository { .. } => Some("repository.full_name"),
            Self::NotListed { key, .. } => Some(key),
            _ => None,
        }
    }
}

/// A part of what a platform sent, short and on one line.
#[must_use]
pub fn quoted(text: &str) -> String {
    visible_line(text).chars().take(MAX_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_kept_under_its_code() {
        let all = [
            IgnoreReason::PlatformCheck,
            IgnoreReason::OwnMessage,
            IgnoreReason::Malformed { payload: "issues".to_owned(), field: None, is_missing: false },
            IgnoreReason::ContentType { given: String::new() },
            IgnoreReason::EventKind { event: "star".to_owned() },
            IgnoreReason::Action { event: "issues".to_owned(), action: "pinned".to_owned() },
            IgnoreReason::InvalidRepository { repository: "a".to_owned() },
            IgnoreReason::UnknownRepository { repository: "a/b".to_owned(), remote: None },
            IgnoreReason::NotListed { user: "7".to_owned(), key: "platforms.github.allowed_users".to_owned() },
            IgnoreReason::NoWriteAccess { user: "7".to_owned() },
            IgnoreReason::Bot { user: "7".to_owned() },
            IgnoreReason::OtherAuthor { user: "7".to_owned() },
            IgnoreReason::NoMention { mention: None },
            IgnoreReason::SameText,
            IgnoreReason::Begun,
            IgnoreReason::Withdrawn,
            IgnoreReason::PullRequestOver,
            IgnoreReason::NoWorkspace,
            IgnoreReason::NoText,
            IgnoreReason::NoAuthor,
            IgnoreReason::PlaceKind { kind: "channel".to_owned() },
            IgnoreReason::Unsupported { what: "buttons".to_owned() },
        ];
        for reason in all {
            let kept = serde_json::to_value(&reason).unwrap();
            assert_eq!(kept["code"], reason.code());
            assert_eq!(serde_json::from_value::<IgnoreReason>(kept).unwrap(), reason);
        }
    }

    #[test]
    fn little_is_repeated_and_on_one_line() {
        assert_eq!(quoted("a\nb\u{1b}[31m").lines().count(), 1);
        assert_eq!(quoted(&"x".repeat(10_000)).chars().count(), MAX_CHARS);
    }
}
