//! What is to be done on a platform itself.

use spinney_core::Platform;

/// One thing to tick or fill in there.
pub(super) struct Step {
    pub what: &'static str,
    pub values: &'static [&'static str],
}

/// Where it is done, and what.
pub(super) fn guide(platform: Platform) -> (&'static str, &'static [Step]) {
    match platform {
        Platform::Github => (
            "the repository's settings, *Webhooks*; or a GitHub App",
            &[
                Step { what: "content type", values: &["application/json"] },
                Step {
                    what: "permissions",
                    values: &["contents: read", "issues: write", "metadata: read", "pull requests: write"],
                },
                Step {
                    what: "events",
                    values: &[
                        "issues",
                        "issue_comment",
                        "pull_request",
                        "pull_request_review",
                        "pull_request_review_comment",
                    ],
                },
            ],
        ),
        Platform::Slack => (
            "https://api.slack.com/apps",
            &[
                Step {
                    what: "bot scopes",
                    values: &[
                        "app_mentions:read",
                        "chat:write",
                        "channels:history",
                        "groups:history",
                        "im:history",
                        "commands",
                    ],
                },
                Step { what: "events", values: &["app_mention", "message.im"] },
                Step { what: "slash commands", values: &["/spinney", "/worktree"] },
            ],
        ),
        Platform::Discord => (
            "https://discord.com/developers/applications",
            &[
                Step { what: "scopes", values: &["bot", "applications.commands"] },
                Step {
                    what: "permissions",
                    values: &[
                        "View Channels",
                        "Send Messages",
                        "Send Messages in Threads",
                        "Create Public Threads",
                        "Read Message History",
                    ],
                },
            ],
        ),
        _ => (
            "@BotFather",
            &[
                Step { what: "privacy mode", values: &["on: in groups the bot sees what calls it"] },
                Step { what: "updates", values: &["message", "edited_message"] },
            ],
        ),
    }
}
