//! What is written on an issue about the job that has it.

use spinney_core::{Outcome, Push};
use spinney_jobs::sources::Ticket;
use spinney_jobs::told::{Comment, GivenBack};

pub(super) fn comment(ticket: &Ticket, comment: &Comment<'_>) -> String {
    let who = who(ticket);
    match comment {
        Comment::Claimed => {
            format!("{who} is at work on this. Delete this comment to let somebody else take it.")
        }
        Comment::GivenBack(why) => format!("{who} gave this back: {}.", given_back(*why)),
        Comment::Done(outcome) => format!("{who} is done: {}.", came_to(outcome)),
    }
}

fn who(ticket: &Ticket) -> String {
    let job = match &ticket.link {
        Some(link) => format!("[job {}]({link})", ticket.job),
        None => format!("job {}", ticket.job),
    };
    format!("Spinney's agent `{}` (schedule `{}`, {job})", ticket.agent, ticket.schedule)
}

fn given_back(why: GivenBack) -> &'static str {
    match why {
        GivenBack::Cancelled => "its job was cancelled",
        GivenBack::TimedOut => "its job took too long",
        GivenBack::Interrupted => "its job was interrupted",
        GivenBack::Failed => "its job failed",
        GivenBack::NeverBegan => "its job never began",
    }
}

fn came_to(outcome: &Outcome) -> String {
    match (&outcome.pull_request, outcome.push, &outcome.branch) {
        (Some(url), _, _) => format!("its work is in {url}"),
        (None, Some(Push::Nothing), _) => "there was nothing to change".to_owned(),
        (None, Some(Push::Pushed), Some(branch)) => format!("its work is on the branch `{branch}`"),
        (None, _, _) => "its work was not pushed".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use spinney_core::JobId;

    use super::*;

    fn ticket(link: Option<&str>) -> Ticket {
        Ticket {
            job: JobId::generate(),
            agent: "coder".parse().unwrap(),
            schedule: "issues".parse().unwrap(),
            link: link.map(ToOwned::to_owned),
        }
    }

    #[test]
    fn a_comment_says_who_and_leads_to_the_job() {
        let ticket = ticket(Some("https://spinney.example/jobs/x"));
        let job = &ticket.job;
        let who = format!("Spinney's agent `coder` (schedule `issues`, [job {job}](https://spinney.example/jobs/x))");
        let claimed = format!("{who} is at work on this. Delete this comment to let somebody else take it.");
        assert_eq!(comment(&ticket, &Comment::Claimed), claimed);
        let given_back = comment(&ticket, &Comment::GivenBack(GivenBack::Failed));
        assert_eq!(given_back, format!("{who} gave this back: its job failed."));
    }

    #[test]
    fn a_comment_says_where_the_work_is() {
        let done = |outcome: &Outcome| comment(&ticket(None), &Comment::Done(outcome));
        let mut outcome = Outcome::default();
        assert!(done(&outcome).ends_with(") is done: its work was not pushed."));
        outcome.push = Some(Push::Nothing);
        assert!(done(&outcome).ends_with(") is done: there was nothing to change."));
        (outcome.push, outcome.branch) = (Some(Push::Pushed), Some("fix".to_owned()));
        assert!(done(&outcome).ends_with(") is done: its work is on the branch `fix`."));
        outcome.pull_request = Some("https://forge.example/1".to_owned());
        assert!(done(&outcome).ends_with(") is done: its work is in https://forge.example/1."));
    }
}
