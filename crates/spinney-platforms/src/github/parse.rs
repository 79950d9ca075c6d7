//! What a webhook of GitHub means.

use serde_json::json;
use spinney_core::ignored::quoted;
use spinney_core::{IgnoreReason, RepositoryName, Timestamp, Work};

use super::PLATFORM;
use super::closing::{Home, closed_issues};
use super::marker::Marker;
use super::mention::Mention;
use super::payload::{About, Acted, Changes, Issue, Payload, PullRequest, Text, User};
use super::verify::Hook;
use crate::http::fault;
use crate::{Answer, Author, Event, Ignored, Inbound, Place, Pull, Received, Refusal, Request, Where};

/// More than GitHub lets anybody write.
const LONGEST_TEXT: usize = 100_000;
const LONGEST_NAME: usize = 200;
/// What a comment of a review shows of a file.
const LONGEST_HUNK: usize = 4_000;

/// What happened to a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deed {
    Written,
    Changed,
    Gone,
}

/// Why nothing comes of a webhook.
enum Nothing {
    Ignored(IgnoreReason),
    Refused(Refusal),
}

impl From<Refusal> for Nothing {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// The issue or pull request that a conversation is about.
struct Topic {
    work: Work,
    number: u64,
    title: String,
    body: String,
    /// The issues of this repository that it closes.
    closes: Vec<Work>,
    pull: Option<Pull>,
}

/// A text, and who wrote it.
struct CommentText<'a> {
    subject: String,
    user: Option<&'a User>,
    text: &'a str,
    /// What shall stand beside it in the prompt.
    context: Option<String>,
}

pub(super) struct Reader<'a> {
    pub mention: &'a Mention,
    pub marker: &'a Marker,
    pub now: Timestamp,
}

impl Reader<'_> {
    /// Reads a webhook that was verified.
    pub fn read(&self, hook: &Hook<'_>) -> Result<Received, Refusal> {
        let ignored = |reason| Ok(Received::ignored(about(hook, reason)));
        let event = || quoted(hook.event);
        if hook.event == "ping" {
            return ignored(IgnoreReason::PlatformCheck);
        }
        let is_known = matches!(
            hook.event,
            "issues" | "issue_comment" | "pull_request" | "pull_request_review" | "pull_request_review_comment"
        );
        if !is_known {
            return ignored(IgnoreReason::EventKind { event: event() });
        }
        let acted: Acted = serde_json::from_slice(&hook.payload).map_err(|_| Refusal::Malformed)?;
        let action = acted.action.unwrap_or_default();
        let is_known = match hook.event {
            "issues" => matches!(&*action, "opened" | "edited" | "closed" | "deleted" | "transferred"),
            "pull_request" => {
                matches!(&*action, "opened" | "edited" | "synchronize" | "reopened" | "ready_for_review" | "closed")
            }
            "pull_request_review" => matches!(&*action, "submitted" | "edited" | "dismissed"),
            _ => matches!(&*action, "created" | "edited" | "deleted"),
        };
        if !is_known {
            return ignored(IgnoreReason::Action { event: event(), action: quoted(&action) });
        }
        let payload: Payload = serde_json::from_slice(&hook.payload).map_err(|_| Refusal::Malformed)?;
        let Ok(repository) = payload.repository.full_name.parse::<RepositoryName>() else {
            return ignored(IgnoreReason::InvalidRepository { repository: quoted(&payload.repository.full_name) });
        };
        let topic = topic(hook.event, &payload)?;
        let events = match self.events(hook.event, &action, &payload, &topic) {
            Ok(events) => events,
            Err(Nothing::Ignored(reason)) => return ignored(reason),
            Err(Nothing::Refused(refusal)) => return Err(refusal),
        };
        let full_name = &payload.repository.full_name;
        let inbound = events.into_iter().enumerate().map(|(index, (subject, event))| Inbound {
            platform: PLATFORM,
            // Each has an id of its own.
            delivery: if index == 0 { hook.delivery.to_owned() } else { format!("{}:{index}", hook.delivery) },
            conversation: format!("{full_name}#{}", topic.number),
            subject,
            author: Author { id: payload.sender.id.to_string(), name: one_line(&payload.sender.login) },
            place: Place(json!({
                "repository": full_name,
                "number": topic.number,
                "since": self.now.as_millisecond(),
            })),
            repository: Where::Forge(repository.clone()),
            event,
        });
        Ok(Received { inbound: inbound.collect(), ignored: None, answer: Answer::Empty })
    }

    /// What happened, each with the message that it is about.
    fn events(
        &self,
        event: &str,
        action: &str,
        payload: &Payload,
        topic: &Topic,
    ) -> Result<Vec<(Option<String>, Event)>, Nothing> {
        let closed = |merged| (None, Event::Closed { work: topic.work.clone(), merged });
        let text = |kind: &str, text: &Option<Text>, deed| {
            let said = said_in(kind, text.as_ref().ok_or(Refusal::Malformed)?, topic);
            Ok(vec![self.said(deed, &said, payload, topic)?])
        };
        match (event, action) {
            ("issues", "closed") => Ok(vec![closed(None)]),
            ("issues", _) => {
                let issue = payload.issue.as_ref().ok_or(Refusal::Malformed)?;
                let said = CommentText {
                    subject: format!("issue:{}", issue.id),
                    user: issue.user.as_ref(),
                    text: issue.body.as_deref().unwrap_or_default(),
                    context: None,
                };
                match action {
                    "opened" => Ok(vec![self.said(Deed::Written, &said, payload, topic)?]),
                    "edited" => Ok(vec![self.said(Deed::Changed, &said, payload, topic)?]),
                    // What was asked with it is off, and what else goes on in its conversation has no place any more.
                    _ => {
                        let gone = self.said(Deed::Gone, &said, payload, topic).ok();
                        Ok(gone.into_iter().chain([closed(None)]).collect())
                    }
                }
            }
            ("pull_request", "closed") => {
                let is_merged = payload.pull_request.as_ref().is_some_and(|pull| pull.merged_at.is_some());
                Ok(vec![closed(topic.pull.clone().filter(|_| is_merged))])
            }
            ("pull_request", _) => {
                let found = payload.pull_request.as_ref().ok_or(Refusal::Malformed)?;
                let said = CommentText {
                    subject: format!("pull:{}", found.id),
                    user: found.user.as_ref(),
                    text: found.body.as_deref().unwrap_or_default(),
                    context: None,
                };
                let said = match action {
                    "opened" => self.said(Deed::Written, &said, payload, topic).ok(),
                    "edited" => self.said(Deed::Changed, &said, payload, topic).ok(),
                    _ => None,
                };
                // One that is over ties nothing any more.
                let is_open = found.state != "closed";
                let linked = topic.pull.clone().filter(|_| is_open).map(|pull| (None, Event::Linked(pull)));
                let events: Vec<_> = linked.into_iter().chain(said).collect();
                if events.is_empty() { Err(Nothing::Ignored(IgnoreReason::PullRequestOver)) } else { Ok(events) }
            }
            ("pull_request_review", "submitted") => text("review", &payload.review, Deed::Written),
            ("pull_request_review", "edited") => text("review", &payload.review, Deed::Changed),
            ("pull_request_review", _) => text("review", &payload.review, Deed::Gone),
            (_, action) => {
                let kind = if event == "issue_comment" { "comment" } else { "review_comment" };
                let deed = match action {
                    "created" => Deed::Written,
                    "edited" => Deed::Changed,
                    _ => Deed::Gone,
                };
                text(kind, &payload.comment, deed)
            }
        }
    }

    /// What becomes of a text that was written, changed or deleted; or why that is nothing to us.
    fn said(
        &self,
        deed: Deed,
        said: &CommentText<'_>,
        payload: &Payload,
        topic: &Topic,
    ) -> Result<(Option<String>, Event), Nothing> {
        let sender = &payload.sender;
        let conversation = format!("{}#{}", payload.repository.full_name, topic.number);
        if said.user.is_some_and(|user| self.is_own(user)) || self.marker.is_in(said.text, &conversation) {
            return Err(Nothing::Ignored(IgnoreReason::OwnMessage));
        }
        if let Some(bot) = said.user.filter(|user| is_bot(user)) {
            return Err(Nothing::Ignored(IgnoreReason::Bot { user: bot.id.to_string() }));
        }
        let no_mention = || Nothing::Ignored(IgnoreReason::NoMention { mention: Some(self.mention.to_string()) });
        // Somebody who moves or changes another's words does not make them their own.
        let is_own = said.user.is_some_and(|user| user.id == sender.id) && !self.is_own(sender) && !is_bot(sender);
        let request = self.request(said, topic);
        let event = match deed {
            Deed::Written if !is_own => {
                return Err(Nothing::Ignored(IgnoreReason::OtherAuthor { user: sender.id.to_string() }));
            }
            Deed::Written => Event::Asked(request.ok_or_else(no_mention)?),
            Deed::Changed => {
                let before = before(payload.changes.as_ref()).ok_or(Nothing::Ignored(IgnoreReason::SameText))?;
                let had_asked = self.mention.request(&bounded(before, LONGEST_TEXT)).is_some();
                let request = request.filter(|_| is_own);
                if request.is_none() && !had_asked {
                    return Err(no_mention());
                }
                Event::Edited { request }
            }
            Deed::Gone if request.is_none() => return Err(no_mention()),
            Deed::Gone => Event::Deleted,
        };
        Ok((Some(said.subject.clone()), event))
    }

    fn request(&self, said: &CommentText<'_>, topic: &Topic) -> Option<Request> {
        let text = self.mention.request(&bounded(said.text, LONGEST_TEXT))?;
        Some(Request {
            text,
            work: topic.work.clone(),
            title: (!topic.title.is_empty()).then(|| topic.title.clone()),
            context: said.context.clone(),
            links: topic.closes.clone(),
            pull: topic.pull.clone(),
        })
    }

    fn is_own(&self, user: &User) -> bool {
        self.mention.is_login(&user.login)
    }
}

fn is_bot(user: &User) -> bool {
    user.kind == "Bot"
}

/// What is known of a webhook that nothing is done about.
pub(super) fn about(hook: &Hook<'_>, reason: IgnoreReason) -> Ignored {
    let about: About = serde_json::from_slice(&hook.payload).unwrap_or_default();
    let number = about.issue.or(about.pull_request).map(|topic| topic.number);
    let conversation = match (about.repository, number) {
        (Some(repository), Some(number)) => format!("{}#{number}", quoted(&repository.full_name)),
        (Some(repository), None) => quoted(&repository.full_name),
        (None, _) => String::new(),
    };
    let author = about.sender.map(|sender| sender.id.to_string()).unwrap_or_default();
    Ignored { platform: PLATFORM, delivery: hook.delivery.to_owned(), conversation, author, reason }
}

/// What is wrong with a payload that was refused.
pub(super) fn fault(hook: &Hook<'_>) -> IgnoreReason {
    let payload = match fault::read::<Payload>(hook.event, &hook.payload) {
        Ok(payload) => payload,
        Err(reason) => return reason,
    };
    let is_issue = matches!(hook.event, "issues" | "issue_comment");
    let number = match is_issue {
        true => payload.issue.as_ref().map(|issue| issue.number),
        false => payload.pull_request.as_ref().map(|pull| pull.number),
    };
    let topic = if is_issue { "issue" } else { "pull_request" };
    match (number, hook.event) {
        (None, _) => fault::malformed(hook.event, Some(topic), true),
        (Some(0), _) => fault::malformed(hook.event, Some(&format!("{topic}.number")), false),
        (_, "pull_request_review") if payload.review.is_none() => fault::malformed(hook.event, Some("review"), true),
        (_, "issue_comment" | "pull_request_review_comment") if payload.comment.is_none() => {
            fault::malformed(hook.event, Some("comment"), true)
        }
        _ => fault::malformed(hook.event, None, false),
    }
}

/// What the conversation is about.
fn topic(event: &str, payload: &Payload) -> Result<Topic, Refusal> {
    let home = Home { full_name: &payload.repository.full_name, url: &payload.repository.html_url };
    let closes = |body: &Option<String>| -> Vec<Work> {
        let body = bounded(body.as_deref().unwrap_or_default(), LONGEST_TEXT);
        closed_issues(&body, home).into_iter().map(Work::issue).collect()
    };
    let topic = if matches!(event, "issues" | "issue_comment") {
        let Issue { number, title, body, pull_request, .. } = payload.issue.as_ref().ok_or(Refusal::Malformed)?;
        let is_pull = pull_request.is_some();
        Topic {
            work: if is_pull { Work::pr(*number) } else { Work::issue(*number) },
            number: *number,
            title: one_line(title),
            body: bounded(body.as_deref().unwrap_or_default(), LONGEST_TEXT),
            closes: if is_pull { closes(body) } else { Vec::new() },
            pull: None,
        }
    } else {
        let found = payload.pull_request.as_ref().ok_or(Refusal::Malformed)?;
        let closes = closes(&found.body);
        Topic {
            work: Work::pr(found.number),
            number: found.number,
            title: one_line(&found.title),
            body: bounded(found.body.as_deref().unwrap_or_default(), LONGEST_TEXT),
            pull: Some(pull(found, payload.repository.id, closes.clone())),
            closes,
        }
    };
    if topic.number == 0 { Err(Refusal::Malformed) } else { Ok(topic) }
}

/// A comment or review as a text.
fn said_in<'a>(kind: &str, text: &'a Text, topic: &Topic) -> CommentText<'a> {
    let mut context = topic.body.clone();
    if let (Some(path), Some(hunk)) = (&text.path, &text.diff_hunk) {
        let (path, hunk) = (one_line(path), bounded(hunk, LONGEST_HUNK));
        context = format!("{context}\n\n{path}:\n{hunk}");
    }
    let context = bounded(context.trim(), LONGEST_TEXT);
    CommentText {
        subject: format!("{kind}:{}", text.id),
        user: text.user.as_ref(),
        text: text.body.as_deref().unwrap_or_default(),
        context: (!context.is_empty()).then_some(context),
    }
}

/// The text before a change; none where the change was of something else.
fn before(changes: Option<&Changes>) -> Option<&str> {
    Some(changes?.body.as_ref()?.from.as_deref().unwrap_or_default())
}

/// A pull request as the orchestrator knows it.
fn pull(found: &PullRequest, repository: u64, closes: Vec<Work>) -> Pull {
    let head = &found.head;
    Pull {
        number: found.number,
        title: one_line(&found.title),
        head: head.repo.as_ref().and_then(|_| head.branch.parse().ok()),
        sha: head.sha.parse().ok(),
        is_fork: head.repo.as_ref().is_none_or(|repo| repo.id != repository),
        closes,
    }
}

/// A name or title: short, on one line, and nothing in it that steers a terminal.
pub(super) fn one_line(text: &str) -> String {
    let shown = text.chars().filter(|c| !is_hidden(*c)).take(LONGEST_NAME);
    shown.collect::<String>().trim().to_owned()
}

/// Whether a character shows nothing but changes what is shown: control characters, and those that turn the direction.
pub(super) fn is_hidden(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn bounded(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}
