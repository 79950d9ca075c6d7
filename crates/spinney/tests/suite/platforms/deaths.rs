//! The daemon dies between a webhook and its answer: there is one job, and one answer.

use spinney_testkit::Trouble;

use crate::platforms::hooks::{delivery, issue};
use crate::platforms::office::Office;

const SCRIPT: &str = "write fix.txt fixed\nprint It was the cookie.";

/// Asserts that one job ran once, and that one answer tells it.
#[track_caller]
fn assert_answered_once(office: &Office, issue: u64, when: &str) {
    office.hears(issue, 1, &["✓ Done", "It was the cookie.", "Pull request #"]);
    let jobs: Vec<_> = office.jobs();
    assert_eq!((jobs.len(), &jobs[0].0["attempt"]), (1, &1.into()), "{when}");
    assert_eq!(office.forge.pull_requests().len(), 1, "{when}");
    // All that came is dealt with: what comes next is answered next.
    office.comment(issue, "/status");
    office.hears(issue, 2, &["workspaces"]);
    let ids: Vec<_> = office.forge.comments(issue).into_iter().map(|comment| comment.id).collect();
    assert_eq!(ids, [9001, 9002, 9003], "{when}: none was made and deleted");
}

#[test]
fn it_is_answered_once_wherever_the_daemon_dies() {
    for point in ["delivery.numbered", "delivery.submitted", "answer.posting", "answer.posted", "answer.said"] {
        let office = Office::closed("", "");
        office.open_until(point);
        let number = office.ask("Login fails", SCRIPT);
        office.wait_for_death();
        office.open(&office.workshop.cli);
        assert_answered_once(&office, number, point);
    }
}

#[test]
fn so_it_is_in_slack() {
    for point in ["delivery.submitted", "answer.posted"] {
        let office = Office::closed("", "repository = \"acme/app\"\n");
        office.open_until(point);
        let thread = office.say(None, &format!("look\nscript:\n{SCRIPT}"));
        office.wait_for_death();
        office.open(&office.workshop.cli);
        office.hears_in_slack(1, &["✓ Done", "It was the cookie."]);
        office.say(Some(&thread), "/status");
        office.hears_in_slack(2, &["workspaces"]);
        assert_eq!(office.jobs().len(), 1, "{point}");
    }
}

#[test]
fn a_daemon_that_is_killed_while_the_agent_works_answers_when_it_is_back() {
    let office = Office::new("");
    let held = office.workshop.hold("one");
    let number = office.ask("Login fails", &format!("{held}\n{SCRIPT}"));
    office.hears(number, 1, &["Working on it"]);
    office.kill();
    office.workshop.let_go("one");
    let id = office.jobs().remove(0).id().to_owned();
    office.workshop.wait_for(&id, "completed");
    office.open(&office.workshop.cli);
    office.hears(number, 1, &["✓ Done", "It was the cookie."]);
    assert_eq!(office.jobs().len(), 1);
}

#[test]
fn what_was_accepted_when_it_was_killed_is_done_and_what_was_not_comes_again() {
    let office = Office::new("");
    let number = office.ask("Login fails", SCRIPT);
    office.kill();
    office.open(&office.workshop.cli);
    // GitHub does not know whether it arrived, and sends it again.
    let body = format!("@spinney please\nscript:\n{SCRIPT}");
    let payload = issue("opened", number, "Login fails", &body);
    office.send("issues", &delivery(1), &payload);
    assert_answered_once(&office, number, "kill -9");
}

#[test]
fn what_github_did_not_hear_is_said_again_and_what_it_did_is_not() {
    let office = Office::new("");
    let number = office.forge.add_issue("Login fails", "It says no.");
    for (count, trouble) in [Trouble::AnswerLost, Trouble::Dropped, Trouble::Status(502)].into_iter().enumerate() {
        office.forge.trouble_at_post(trouble);
        office.comment(number, "/status");
        office.hears(number, count + 1, &["workspaces"]);
        office.forge.calm();
    }
    office.comment(number, "/help");
    office.hears(number, 4, &["/worktree list"]);
}

#[test]
fn a_command_is_carried_out_once_wherever_the_daemon_dies() {
    for point in ["answer.posting", "answer.posted", "answer.said"] {
        let office = Office::new("");
        let number = office.ask("Login fails", SCRIPT);
        office.hears(number, 1, &["✓ Done"]);
        // It is said before it is written down that it was.
        assert_eq!(office.wait_for_delivery(&delivery(1)), "done");
        office.kill();
        office.open_until(point);
        office.comment(number, "/worktree remove issue-1");
        office.wait_for_death();
        office.open(&office.workshop.cli);
        office.hears(number, 2, &["is in the trash until", "/worktree restore issue-1"]);
        office.comment(number, "/status");
        office.hears(number, 3, &["workspaces    0 of 25", "in the trash  1"]);
    }
}
