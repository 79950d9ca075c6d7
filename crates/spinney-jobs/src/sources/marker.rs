//! The comments by which daemons tell each other, and people, who works on an issue.
//!
//! Labels can be set by two at once, and neither notices. Comments have an order that all see alike: the oldest claim
//! that stands is the one that counts. The first line of a comment is a marker, which pages do not show
//! where they know comments of HTML.

use spinney_core::JobId;

use super::Ticket;
use super::board::BoardComment;
use crate::told::{Comment, Words};

const CLAIM: &str = "spinney:claim";
const RELEASED: &str = "spinney:released";
/// Done, and a pull request is open: the issue stays in progress.
const DELIVERED: &str = "spinney:delivered";
const DONE: &str = "spinney:done";

/// How a marker is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A comment of HTML.
    Hidden,
    Code,
}

impl Form {
    const ALL: [Self; 2] = [Self::Hidden, Self::Code];

    /// What stands around a marker.
    fn around(self) -> (&'static str, &'static str) {
        match self {
            Self::Hidden => ("<!-- ", " -->"),
            Self::Code => ("`", "`"),
        }
    }
}

/// The jobs whose claims stand, oldest first. Anybody can write a comment: only those count whose author can set labels too,
/// and those of `me`.
pub(super) fn standing(comments: &[BoardComment], me: &str) -> Vec<JobId> {
    marks(comments, me).filter(|(kind, _)| *kind == CLAIM).map(|(_, job)| job).collect()
}

/// A job's own claim, as long as it stands.
pub(super) fn own<'a>(comments: &'a [BoardComment], job: &JobId) -> Option<&'a BoardComment> {
    comments.iter().find(|comment| mark(&comment.body).is_some_and(|(kind, of)| kind == CLAIM && of == *job))
}

/// Whether an issue is in progress for another job than this one: the last mark says that it is at it, or delivered.
pub(super) fn is_anothers(comments: &[BoardComment], me: &str, job: &JobId) -> bool {
    let last = marks(comments, me).rfind(|(_, of)| of != job);
    last.is_some_and(|(kind, _)| kind == CLAIM || kind == DELIVERED)
}

/// The marks of those who count.
fn marks(comments: &[BoardComment], me: &str) -> impl DoubleEndedIterator<Item = (&'static str, JobId)> {
    let counts = move |comment: &&BoardComment| comment.from_inside || comment.author == me;
    comments.iter().filter(counts).filter_map(|comment| mark(&comment.body))
}

fn mark(body: &str) -> Option<(&'static str, JobId)> {
    let first = body.lines().next()?.trim_end();
    let inside = |form: Form| first.strip_prefix(form.around().0)?.strip_suffix(form.around().1);
    let (word, job) = Form::ALL.into_iter().find_map(inside)?.split_once(' ')?;
    let kind = [CLAIM, RELEASED, DELIVERED, DONE].into_iter().find(|kind| *kind == word)?;
    Some((kind, job.parse().ok()?))
}

/// A comment, with its marker in the first line.
pub(super) fn write(ticket: &Ticket, comment: &Comment<'_>, form: Form, words: &dyn Words) -> String {
    let kind = match comment {
        Comment::Claimed => CLAIM,
        Comment::GivenBack(_) => RELEASED,
        Comment::Done(outcome) if outcome.pull_request.is_some() => DELIVERED,
        Comment::Done(_) => DONE,
    };
    let (before, after) = form.around();
    format!("{before}{kind} {}{after}\n{}\n", ticket.job, words.comment(ticket, comment))
}

#[cfg(test)]
mod tests {
    use spinney_core::Outcome;

    use super::*;
    use crate::told::{Facts, GivenBack};

    const FAILED: Comment<'_> = Comment::GivenBack(GivenBack::Failed);

    fn claimed(ticket: &Ticket) -> String {
        write(ticket, &Comment::Claimed, Form::Hidden, &Facts)
    }

    fn ticket() -> Ticket {
        Ticket {
            job: JobId::generate(),
            agent: "coder".parse().unwrap(),
            schedule: "issues".parse().unwrap(),
            link: Some("https://spinney.example/jobs/x".to_owned()),
        }
    }

    fn comment(id: u64, author: &str, from_inside: bool, body: String) -> BoardComment {
        BoardComment { id: id.to_string(), author: author.to_owned(), from_inside, body }
    }

    #[test]
    fn a_claim_stands_until_it_is_given_back_or_done() {
        let ticket = ticket();
        let comments = |body: String| [comment(1, "bot", true, body)];
        let claim = comments(claimed(&ticket));
        assert_eq!(own(&claim, &ticket.job).map(|comment| comment.id.as_str()), Some("1"));
        assert_eq!(own(&claim, &JobId::generate()), None);
        assert_eq!(standing(&claim, "bot").len(), 1);
        assert!(claim[0].body.contains("https://spinney.example/jobs/x"));
        let released = comments(write(&ticket, &FAILED, Form::Hidden, &Facts));
        assert!(standing(&released, "bot").is_empty() && own(&released, &ticket.job).is_none());
    }

    #[test]
    fn every_form_is_read() {
        for form in Form::ALL {
            let ticket = ticket();
            let claim = write(&ticket, &Comment::Claimed, form, &Facts);
            assert_eq!(mark(&claim), Some((CLAIM, ticket.job.clone())));
            assert_eq!(mark(&write(&ticket, &FAILED, form, &Facts)), Some((RELEASED, ticket.job.clone())));
            let mut outcome = Outcome::default();
            assert_eq!(mark(&write(&ticket, &Comment::Done(&outcome), form, &Facts)), Some((DONE, ticket.job.clone())));
            outcome.pull_request = Some("https://forge.example/1".to_owned());
            let delivered = write(&ticket, &Comment::Done(&outcome), form, &Facts);
            assert_eq!(mark(&delivered), Some((DELIVERED, ticket.job.clone())));
            assert_eq!(mark(&format!(" {claim}")), None);
            assert_eq!(mark(&format!("see {claim}")), None);
        }
    }

    #[test]
    fn strangers_and_quotes_claim_nothing() {
        let (a, b, c) = (ticket(), ticket(), ticket());
        let comments = [
            comment(1, "stranger", false, claimed(&a)),
            comment(2, "member", true, format!("> {}", claimed(&b))),
            comment(3, "member", true, "<!-- spinney:claim ../../x -->".to_owned()),
            comment(4, "me", false, claimed(&b)),
            comment(5, "member", true, claimed(&c)),
        ];
        assert_eq!(standing(&comments, "me"), [b.job, c.job]);
    }

    #[test]
    fn an_issue_is_anothers_while_the_last_of_them_is_at_it_or_has_a_pull_request() {
        let (a, b) = (ticket(), ticket());
        let delivered = format!("<!-- {DELIVERED} {} -->", a.job);
        for (bodies, expected) in [
            (vec![], false),
            (vec![claimed(&b)], false),
            (vec![claimed(&a)], true),
            (vec![claimed(&a), claimed(&b)], true),
            (vec![delivered.clone(), claimed(&b)], true),
            (vec![write(&a, &FAILED, Form::Hidden, &Facts), claimed(&b)], false),
            (vec![delivered, format!("<!-- {DONE} {} -->", JobId::generate())], false),
        ] {
            let comments: Vec<_> = (1..).zip(bodies).map(|(id, body)| comment(id, "bot", true, body)).collect();
            assert_eq!(is_anothers(&comments, "", &b.job), expected, "{comments:#?}");
            let strangers: Vec<_> =
                comments.into_iter().map(|one| BoardComment { from_inside: false, ..one }).collect();
            assert!(!is_anothers(&strangers, "me", &b.job));
        }
    }
}
