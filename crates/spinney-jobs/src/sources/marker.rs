//! The comments by which daemons tell each other, and people, who works on an issue.
//!
//! Labels can be set by two at once, and neither notices. Comments have an order that all see alike: the oldest claim
//! that stands is the one that counts. The first line of a comment is a marker that pages do not show.

use spinney_core::forge::Comment;
use spinney_core::{Job, JobId, Push};

use super::Ticket;

const CLAIM: &str = "<!-- spinney:claim ";
const RELEASED: &str = "<!-- spinney:released ";
const DONE: &str = "<!-- spinney:done ";
const END: &str = " -->";

/// A claim that stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Standing {
    pub comment: u64,
    pub author: String,
    pub job: JobId,
}

/// The claims that stand, oldest first. Anybody can write a comment: only those count whose author can set labels too, and
/// those of `me`.
pub(super) fn standing(comments: &[Comment], me: &str) -> Vec<Standing> {
    let counts = |comment: &&Comment| comment.from_inside || comment.author == me;
    let claims = comments.iter().filter(counts).filter_map(|comment| {
        let job = job_in(&comment.body)?;
        Some(Standing { comment: comment.id, author: comment.author.clone(), job })
    });
    claims.collect()
}

/// A job's own claim, as long as it stands.
pub(super) fn own<'a>(comments: &'a [Comment], job: &JobId) -> Option<&'a Comment> {
    comments.iter().find(|comment| job_in(&comment.body).as_ref() == Some(job))
}

fn job_in(body: &str) -> Option<JobId> {
    body.strip_prefix(CLAIM)?.split_once(END)?.0.parse().ok()
}

pub(super) fn claimed(ticket: &Ticket) -> String {
    let text = "is at work on this. Delete this comment to let somebody else take it.";
    comment(CLAIM, ticket, &format!("{} {text}", who(ticket)))
}

pub(super) fn released(ticket: &Ticket, why: &str) -> String {
    comment(RELEASED, ticket, &format!("{} gave this back: {why}.", who(ticket)))
}

pub(super) fn done(ticket: &Ticket, job: &Job) -> String {
    let outcome = &job.outcome;
    let came_to = match (&outcome.pull_request, outcome.push, &outcome.branch) {
        (Some(url), _, _) => format!("its work is in {url}"),
        (None, Some(Push::Nothing), _) => "there was nothing to change".to_owned(),
        (None, Some(Push::Pushed), Some(branch)) => format!("its work is on the branch `{branch}`"),
        (None, _, _) => "its work was not pushed".to_owned(),
    };
    comment(DONE, ticket, &format!("{} is done: {came_to}.", who(ticket)))
}

fn who(ticket: &Ticket) -> String {
    let job = match &ticket.link {
        Some(link) => format!("[job {}]({link})", ticket.job),
        None => format!("job {}", ticket.job),
    };
    format!("Spinney's agent `{}` (schedule `{}`, {job})", ticket.agent, ticket.schedule)
}

fn comment(marker: &str, ticket: &Ticket, text: &str) -> String {
    format!("{marker}{}{END}\n{text}\n", ticket.job)
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

    fn comment(id: u64, author: &str, from_inside: bool, body: String) -> Comment {
        Comment { id, author: author.to_owned(), from_inside, body }
    }

    #[test]
    fn a_claim_stands_until_it_is_given_back_or_done() {
        let ticket = ticket();
        let comments = |body: String| [comment(1, "bot", true, body)];
        let claim = comments(claimed(&ticket));
        assert_eq!(own(&claim, &ticket.job).map(|comment| comment.id), Some(1));
        assert_eq!(own(&claim, &JobId::generate()), None);
        assert_eq!(standing(&claim, "bot").len(), 1);
        assert!(claim[0].body.contains("[job ") && claim[0].body.contains("https://spinney.example/jobs/x"));
        let released = comments(released(&ticket, "its job failed"));
        assert!(standing(&released, "bot").is_empty() && own(&released, &ticket.job).is_none());
    }

    #[test]
    fn strangers_and_quotes_claim_nothing() {
        let (a, b, c) = (ticket(), ticket(), ticket());
        let comments = [
            comment(1, "stranger", false, claimed(&a)),
            comment(2, "member", true, format!("> {}", claimed(&b))),
            comment(3, "member", true, format!("{CLAIM}../../x{END}")),
            comment(4, "me", false, claimed(&b)),
            comment(5, "member", true, claimed(&c)),
        ];
        let jobs: Vec<_> = standing(&comments, "me").into_iter().map(|standing| standing.job).collect();
        assert_eq!(jobs, [b.job, c.job]);
    }
}
