//! Why nothing was done about what a platform sent, in words.

use spinney_core::IgnoreReason;

/// A sentence without its end, names in backticks.
#[must_use]
pub fn ignored(reason: &IgnoreReason) -> String {
    match reason {
        IgnoreReason::PlatformCheck => "the platform tests its connection".to_owned(),
        IgnoreReason::OwnMessage => "the bot wrote it".to_owned(),
        IgnoreReason::Malformed { payload, field: Some(field), is_missing: true } => {
            format!("`{field}` is missing in the `{payload}` payload")
        }
        IgnoreReason::Malformed { payload, field: Some(field), is_missing: false } => {
            format!("`{field}` has a value in the `{payload}` payload that is not valid")
        }
        IgnoreReason::Malformed { payload, field: None, .. } => {
            format!("a field of the `{payload}` payload is missing or has a value that is not valid")
        }
        IgnoreReason::ContentType { given } => format!("its content type is `{given}`, which is not read"),
        IgnoreReason::EventKind { event } => format!("`{event}` events ask for nothing"),
        IgnoreReason::Action { event, action } => {
            format!("`{event}` events with the action `{action}` ask for nothing")
        }
        IgnoreReason::InvalidRepository { repository } => format!("`{repository}` is not a valid name of a repository"),
        IgnoreReason::UnknownRepository { repository, remote: None } => {
            format!("`{repository}` is not known here: no repository has it as its remote")
        }
        IgnoreReason::UnknownRepository { repository, remote: Some(remote) } => {
            format!("`{repository}` is not known here: its remote is `{remote}`")
        }
        IgnoreReason::NotListed { user, key } => format!("user {user} is not listed in `{key}`"),
        IgnoreReason::NoWriteAccess { user } => format!("user {user} has no write access to the repository"),
        IgnoreReason::Bot { user } => format!("user {user} is a bot"),
        IgnoreReason::OtherAuthor { user } => format!("user {user} moved or changed what somebody else wrote"),
        IgnoreReason::NoMention { mention: Some(mention) } => format!("the text does not mention `{mention}`"),
        IgnoreReason::NoMention { mention: None } => "the text does not mention the bot".to_owned(),
        IgnoreReason::SameText => "its text did not change".to_owned(),
        IgnoreReason::Begun => "it was changed after its work had begun".to_owned(),
        IgnoreReason::Withdrawn => "it was changed or deleted before its work began".to_owned(),
        IgnoreReason::PullRequestOver => "the pull request is closed".to_owned(),
        IgnoreReason::NoWorkspace => "no workspace belongs to the pull request".to_owned(),
        IgnoreReason::NoText => "it has no text".to_owned(),
        IgnoreReason::NoAuthor => "it has no author".to_owned(),
        IgnoreReason::PlaceKind { kind } => format!("messages in a `{kind}` are not read"),
        IgnoreReason::Unsupported { what } => format!("{what} are not supported"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_field_or_the_key_that_decided_is_named() {
        let malformed = |field: Option<&str>, is_missing| {
            ignored(&IgnoreReason::Malformed {
                payload: "issue_comment".to_owned(),
                field: field.map(ToOwned::to_owned),
                is_missing,
            })
        };
        assert_eq!(malformed(Some("issue.id"), true), "`issue.id` is missing in the `issue_comment` payload");
        assert!(malformed(None, false).starts_with("a field of the `issue_comment` payload"));
        let (user, key) = ("666".to_owned(), "platforms.github.allowed_users".to_owned());
        let listed = ignored(&IgnoreReason::NotListed { user, key });
        assert_eq!(listed, "user 666 is not listed in `platforms.github.allowed_users`");
    }
}
