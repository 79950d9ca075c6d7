//! An issue becomes a branch and a pull request, and both are over one day.

use std::fs;

use crate::platforms::office::Office;
use crate::support::job::LONG;
use spinney_testkit::wait_until;

#[test]
fn an_issue_becomes_a_pull_request_that_shares_its_workspace_until_it_is_merged() {
    let office = Office::new("");
    let workshop = &office.workshop;
    let issue = office.ask("Login fails", "write fix.txt fixed\nprint It was the cookie.");
    let answer = office.hears(issue, 1, &["✓ Done in ", "It was the cookie.", "Pull request #2"]);
    let job = office.jobs().remove(0);
    assert_eq!((job.text("workspace"), job.text("branch")), ("issue-1", "agent/coder/issue-1"));
    assert!(answer.contains("**issue-1** is ready: branch `agent/coder/issue-1`."), "{answer}");
    assert!(workshop.pushed().contains(&"agent/coder/issue-1".to_owned()));
    let pull = office.forge.pull_requests().remove(0);
    assert_eq!((pull.number, pull.head.as_str(), pull.state), (2, "agent/coder/issue-1", "open"));
    assert!(pull.body.contains("Fixes #1"), "{}", pull.body);

    // The issue goes on where it was.
    office.comment(issue, "@Spinney and the test\nscript:\nwrite test.txt tested\nprint Tested.");
    let answer = office.hears(issue, 2, &["✓ Done", "Tested.", "Pull request #2"]);
    assert!(answer.contains("**issue-1** goes on: branch `agent/coder/issue-1`."), "{answer}");
    assert_eq!(office.forge.pull_requests().len(), 1);

    // So does its pull request, in the same workspace.
    let opened = office.pull("opened", pull.number);
    assert_eq!(office.wait_for_delivery(&opened), "done");
    office.comment(pull.number, "@spinney once more\nscript:\nwrite more.txt more\nprint More.");
    let answer = office.hears(pull.number, 1, &["✓ Done", "More."]);
    assert!(answer.contains("**issue-1** goes on: branch `agent/coder/issue-1`, shared with #1"), "{answer}");
    let jobs = office.jobs();
    assert_eq!(jobs.iter().map(|job| job.text("workspace_id")).collect::<Vec<_>>(), [job.text("workspace_id"); 3]);
    assert_eq!(office.live(), ["issue-1"]);
    let shown = workshop.story.show("issue-1").0;
    assert_eq!(shown["metadata"]["related_prs"], serde_json::json!([2]), "{shown:#}");

    let closed = office.close(issue);
    assert_eq!(office.wait_for_delivery(&closed), "done");
    assert_eq!(office.live(), ["issue-1"], "its pull request is open");

    let merge = workshop.story.remote().merge("agent/coder/issue-1");
    office.forge.merge(pull.number, &merge);
    let merged = office.pull("closed", pull.number);
    assert_eq!(office.wait_for_delivery(&merged), "done");
    assert_eq!(office.live(), [""; 0]);
    assert_eq!((office.said_on(issue).len(), office.said_on(pull.number).len()), (2, 1), "nothing more is said");
    workshop.cli.run(&["restore", "issue-1"]).ok();
    assert!(job.path().join("more.txt").is_file());
}

#[test]
fn what_would_be_lost_is_kept_and_said_with_what_to_type() {
    let office = Office::new("");
    let issue = office.ask("Login fails", "write fix.txt fixed");
    office.hears(issue, 1, &["✓ Done"]);
    let tree = office.jobs()[0].path();
    fs::write(tree.join("notes.txt"), "mine").unwrap();
    office.close(issue);
    let said = office.hears(issue, 2, &["#1 is closed. I kept its workspace `issue-1`"]);
    assert!(said.contains("untracked") && said.contains("`notes.txt`"), "{said}");
    assert!(said.contains("`/worktree remove issue-1 --force`"), "{said}");
    assert_eq!(office.live(), ["issue-1"]);
    // What it says does what it says.
    office.comment(issue, "/worktree remove issue-1 --force");
    office.hears(issue, 3, &["is in the trash", "/worktree restore issue-1"]);
    assert_eq!(office.live(), [""; 0]);
    office.comment(issue, "/worktree restore issue-1");
    office.hears(issue, 4, &["**issue-1** is back on `agent/coder/issue-1`"]);
    assert_eq!(fs::read_to_string(tree.join("notes.txt")).unwrap(), "mine");
}

#[test]
fn an_issue_that_is_closed_without_work_takes_its_workspace_with_it() {
    let office = Office::new("");
    let issue = office.ask("A question", "print There is nothing to do.");
    office.hears(issue, 1, &["✓ Done", "There is nothing to do."]);
    let closed = office.close(issue);
    assert_eq!(office.wait_for_delivery(&closed), "done");
    assert_eq!(office.live(), [""; 0]);
    assert_eq!(office.said_on(issue).len(), 1);
}

#[test]
fn progress_is_told_in_the_message_that_is_the_answer_at_last() {
    let office = Office::new("");
    let held = office.workshop.hold("one");
    let issue = office.ask("Login fails", &format!("{held}\nwrite fix.txt fixed"));
    let first = office.hears(issue, 1, &["Working on it"]);
    assert!(first.contains("**issue-1** is ready"), "{first}");
    office.workshop.let_go("one");
    office.hears(issue, 1, &["✓ Done"]);
}

#[test]
fn a_job_that_fails_says_so_and_where_its_work_is() {
    let office = Office::new("");
    let issue = office.ask("Login fails", "write half.txt half\nerror no more\nexit 3");
    let said = office.hears(issue, 1, &["✗"]);
    assert!(said.contains("Its work is in `issue-1`") && said.contains("/jobs/"), "{said}");
    // Who writes again goes on.
    office.comment(issue, "@spinney go on\nscript:\nwrite whole.txt whole");
    office.hears(issue, 2, &["**issue-1** goes on", "✓ Done"]);
    wait_until(|| office.jobs().len() == 2, LONG);
}

#[test]
fn an_issue_and_its_pull_request_are_worked_on_one_after_the_other() {
    let office = Office::new("");
    let issue = office.ask("Login fails", "write fix.txt fixed");
    office.hears(issue, 1, &["✓ Done"]);
    let opened = office.pull("opened", 2);
    assert_eq!(office.wait_for_delivery(&opened), "done");
    let held = office.workshop.hold("held");
    office.comment(issue, &format!("@spinney more\nscript:\n{held}\nwrite order.txt first"));
    office.workshop.wait_for_agent("held");
    office.comment(2, "@spinney more\nscript:\nappend order.txt second");
    office.hears(2, 1, &["waits for"]);
    office.workshop.let_go("held");
    office.hears(2, 1, &["✓ Done"]);
    office.hears(issue, 2, &["✓ Done"]);
    let order = fs::read_to_string(office.workshop.story.show("issue-1").path().join("order.txt")).unwrap();
    assert_eq!(order, "first\nsecond\n");
}

#[test]
fn an_issue_that_is_opened_again_goes_on_where_it_was() {
    let office = Office::new("");
    let issue = office.ask("Login fails", "write fix.txt fixed");
    office.hears(issue, 1, &["✓ Done"]);
    let opened = office.pull("opened", 2);
    assert_eq!(office.wait_for_delivery(&opened), "done");
    let closed = office.close(issue);
    assert_eq!(office.wait_for_delivery(&closed), "done");
    office.comment(issue, "@spinney not yet\nscript:\nwrite more.txt more");
    office.hears(issue, 2, &["**issue-1** goes on", "shared with #2", "✓ Done"]);
    // The pull request is closed without being merged; the issue is not.
    office.forge.close(2);
    let closed = office.pull("closed", 2);
    assert_eq!(office.wait_for_delivery(&closed), "done");
    assert_eq!(office.live(), ["issue-1"]);
}

#[test]
fn an_issue_that_is_closed_while_its_agent_works_keeps_its_workspace() {
    let office = Office::new("");
    let held = office.workshop.hold("held");
    let issue = office.ask("Login fails", &format!("{held}\nwrite fix.txt fixed"));
    office.hears(issue, 1, &["Working on it"]);
    office.workshop.wait_for_agent("held");
    office.close(issue);
    let said = office.hears(issue, 2, &["#1 is closed. I kept its workspace `issue-1`"]);
    assert!(said.contains("of coder (in\\_use)") && !said.contains("--force"), "{said}");
    office.workshop.let_go("held");
    wait_until(|| office.said_on(issue)[0].contains("✓ Done"), LONG);
    assert_eq!(office.live(), ["issue-1"]);
}

#[test]
fn a_pull_request_that_changes_does_not_move_its_conversation() {
    let office = Office::new("");
    let issue = office.ask("Login fails", "write fix.txt fixed");
    office.hears(issue, 1, &["✓ Done"]);
    assert_eq!(office.wait_for_delivery(&office.pull("opened", 2)), "done");
    office.comment(2, "/worktree create other");
    office.hears(2, 1, &["**task-other**"]);
    assert_eq!(office.wait_for_delivery(&office.pull("synchronize", 2)), "done");
    office.comment(2, "@spinney more\nscript:\nprint Here.");
    office.hears(2, 2, &["**task-other** goes on", "Here."]);
}

/// The branch of the agent, in the repository here.
fn has_branch(office: &Office) -> bool {
    office.workshop.story.branches().contains(&"agent/coder/issue-1".to_owned())
}

/// The pull request was merged with its content changed by hand, so that only the forge knows.
fn merge_otherwise(office: &Office, pull: u64) {
    let tip = office.workshop.story.remote().tip("agent/coder/issue-1");
    office.forge.push("agent/coder/issue-1", &tip);
    let commit = office.workshop.story.remote().advance("fix.txt");
    office.forge.merge(pull, &commit);
}

#[test]
fn what_the_forge_reports_as_merged_leaves_no_branch_whatever_is_closed_first() {
    for issue_first in [true, false] {
        let office = Office::new("");
        let issue = office.ask("Login fails", "write fix.txt fixed");
        office.hears(issue, 1, &["✓ Done"]);
        assert_eq!(office.wait_for_delivery(&office.pull("opened", 2)), "done");
        merge_otherwise(&office, 2);
        for closes_issue in [issue_first, !issue_first] {
            assert!(has_branch(&office));
            let told = if closes_issue { office.close(issue) } else { office.pull("closed", 2) };
            assert_eq!(office.wait_for_delivery(&told), "done");
        }
        assert_eq!(office.live(), [""; 0]);
        assert!(!has_branch(&office), "issue first: {issue_first}");
        let shown = office.workshop.story.show("issue-1").0;
        assert_eq!(shown["metadata"]["merged"]["number"], 2, "{shown:#}");
        office.workshop.cli.run(&["restore", "issue-1"]).ok();
        assert!(office.jobs()[0].path().join("fix.txt").is_file() && has_branch(&office));
    }
}

#[test]
fn a_merge_that_is_reported_when_the_workspace_is_gone_takes_its_branch() {
    let office = Office::new("");
    let issue = office.ask("Login fails", "write fix.txt fixed");
    office.hears(issue, 1, &["✓ Done"]);
    office.workshop.cli.run(&["rm", "issue-1"]).ok();
    assert!(has_branch(&office), "nobody knows of a merge");
    merge_otherwise(&office, 2);
    let merged = office.pull("closed", 2);
    assert_eq!(office.wait_for_delivery(&merged), "done");
    assert!(!has_branch(&office));
}
