//! The comments by which daemons tell each other, and people, who works on an issue.
//!
//! Labels can be set by two at once, and neither notices. Comments have an order that all see alike: the oldest claim
//! that stands is the one that counts. The first line of a comment is a marker, which pages do not show
//! where they know comments of HTML.

use spinney_core::{Job, JobId, Push};

use super::Ticket;
use super::board::BoardComment;

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

pub(super) fn claimed(ticket: &Ticket, form: Form) -> String {
    let text = "is at work on this. Delete this comment to let somebody else take it.";
    comment(CLAIM, form, ticket, &format!("{} {text}", who(ticket)))
}

pub(super) fn released(ticket: &Ticket, why: &str, form: Form) -> String {
    comment(RELEASED, form, ticket, &format!("{} gave this back: {why}.", who(ticket)))
}

pub(super) fn ended(ticket: &Ticket, job: &Job, form: Form) -> String {
    let outcome = &job.outcome;
    let kind = if outcome.pull_request.is_some() { DELIVERED } else { DONE };
    let came_to = match (&outcome.pull_request, outcome.push, &outcome.branch) {
        (Some(url), _, _) => format!("its work is in {url}"),
        (None, Some(Push::Nothing), _) => "there was nothing to change".to_owned(),
        (None, Some(Push::Pushed), Some(branch)) => format!("its work is on the branch `{branch}`"),
        (None, _, _) => "its work was not pushed".to_owned(),
    };
    comment(kind, form, ticket, &format!("{} is done: {came_to}.", who(ticket)))
}

fn who(ticket: &Ticket) -> String {
    let job = match &ticket.link {
        Some(link) => format!("[job {}]({link})", ticket.job),
        None => format!("job {}", ticket.job),
    };
    format!("Spinney's agent `{}` (schedule `{}`, {job})", ticket.agent, ticket.schedule)
}

fn comment(kind: &str, form: Form, ticket: &Ticket, text: &str) -> String {
    let (before, after) = form.around();
    format!(
        "{before}{kind} {}{after}
{text}
",
        ticket.job
    )
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let claim = comments(claimed(&ticket, Form::Hidden));
        assert_eq!(own(&claim, &ticket.job).map(|comment| comment.id.as_str()), Some("1"));
        assert_eq!(own(&claim, &JobId::generate()), None);
        assert_eq!(standing(&claim, "bot").len(), 1);
        assert!(claim[0].body.contains("[job ") && claim[0].body.contains("https://spinney.example/jobs/x"));
        let released = comments(released(&ticket, "its job failed", Form::Hidden));
        assert!(standing(&released, "bot").is_empty() && own(&released, &ticket.job).is_none());
    }

    #[test]
    fn every_form_is_read() {
        for form in Form::ALL {
            let ticket = ticket();
            assert_eq!(mark(&claimed(&ticket, form)), Some((CLAIM, ticket.job.clone())));
            assert_eq!(mark(&released(&ticket, "x", form)), Some((RELEASED, ticket.job.clone())));
            assert_eq!(mark(&format!(" {}", claimed(&ticket, form))), None);
            assert_eq!(mark(&format!("see {}", claimed(&ticket, form))), None);
        }
    }

    #[test]
    fn strangers_and_quotes_claim_nothing() {
        let (a, b, c) = (ticket(), ticket(), ticket());
        let comments = [
            comment(1, "stranger", false, claimed(&a, Form::Hidden)),
            comment(2, "member", true, format!("> {}", claimed(&b, Form::Hidden))),
            comment(3, "member", true, "<!-- spinney:claim ../../x -->".to_owned()),
            comment(4, "me", false, claimed(&b, Form::Hidden)),
            comment(5, "member", true, claimed(&c, Form::Hidden)),
        ];
        assert_eq!(standing(&comments, "me"), [b.job, c.job]);
    }

    #[test]
    fn an_issue_is_anothers_while_the_last_of_them_is_at_it_or_has_a_pull_request() {
        let (a, b) = (ticket(), ticket());
        let delivered = format!("<!-- {DELIVERED} {} -->", a.job);
        for (bodies, expected) in [
            (vec![], false),
            (vec![claimed(&b, Form::Hidden)], false),
            (vec![claimed(&a, Form::Hidden)], true),
            (vec![claimed(&a, Form::Hidden), claimed(&b, Form::Hidden)], true),
            (vec![delivered.clone(), claimed(&b, Form::Hidden)], true),
            (vec![released(&a, "x", Form::Hidden), claimed(&b, Form::Hidden)], false),
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
