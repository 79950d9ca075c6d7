//! What can be typed, on GitHub and in Slack.

use std::fs;
use std::time::{Duration, Instant};

use crate::platforms::office::Office;
use crate::support::job::LONG;
use spinney_testkit::wait_until;

const MANY: usize = 30;
/// Much less than if each waited for the next look at what is open.
const SOON: Duration = Duration::from_secs(10);

/// Where somebody types, and what they are answered.
trait Desk {
    fn types(&mut self, text: &str, texts: &[&str]) -> String;
}

struct Issue<'a>(&'a Office, u64, usize);

impl Desk for Issue<'_> {
    #[track_caller]
    fn types(&mut self, text: &str, texts: &[&str]) -> String {
        self.2 += 1;
        self.0.comment(self.1, text);
        self.0.hears(self.1, self.2, texts)
    }
}

struct Thread<'a>(&'a Office, String, usize);

impl Desk for Thread<'_> {
    #[track_caller]
    fn types(&mut self, text: &str, texts: &[&str]) -> String {
        self.2 += 1;
        self.0.say(Some(&self.1), text.trim_start_matches("@spinney "));
        self.0.hears_in_slack(self.2, texts)
    }
}

fn all_of_them(office: &Office, desk: &mut dyn Desk) {
    desk.types("/help", &["/worktree create", "/cancel"]);
    desk.types("/status", &["acme/app", "workspaces    0 of 25"]);
    desk.types("/worktree list", &["0 of 25 workspaces"]);
    desk.types("/worktree create feature/x", &["task-feature-x", "new on `feature/x`", "works in it from now on"]);
    desk.types("/worktree list", &["1 of 25 workspaces", "task-feature-x", "feature/x", "active"]);
    let asked = "@spinney write\nscript:\nwrite x.txt x\nprint Written.";
    desk.types(asked, &["task-feature-x", " goes on: branch `feature/x`.", "✓ Done", "Written."]);
    assert_eq!(office.jobs()[0].text("workspace"), "task-feature-x", "the conversation moved there");
    desk.types("/worktree why task-feature-x", &["may go", "all its commits are pushed", "/worktree remove"]);
    fs::write(office.jobs()[0].path().join("notes.txt"), "mine").unwrap();
    desk.types("/worktree why task-feature-x", &["would not be removed", "untracked", "notes.txt"]);
    desk.types("/worktree remove", &["stays", "/worktree remove task-feature-x --force"]);
    assert_eq!(office.live(), ["task-feature-x"]);
    desk.types(
        "/worktree remove task-feature-x --force",
        &["is in the trash until", "/worktree restore task-feature-x"],
    );
    assert_eq!(office.live(), [""; 0]);
    desk.types("/worktree remove", &["This conversation has no workspace."]);
    desk.types("/worktree restore task-feature-x", &["is back on `feature/x`"]);
    assert_eq!(office.live(), ["task-feature-x"]);
    desk.types("/worktree orphans", &["Nothing to do."]);
    desk.types("/worktree cleanup merged", &["kept task-feature-x"]);
    desk.types("/worktree cleanup stale", &["Nothing to do."]);
    desk.types("/worktree cleanup all", &["does not take", "/help"]);
    desk.types("/worktree destroy", &["There is no", "/help"]);
    desk.types("/worktree why nothing-like-it", &["The command failed", "nothing-like-it"]);
    desk.types("/worktree restore", &["needs a name"]);
    desk.types("/worktree create a..b", &["The command failed"]);
    desk.types("/cancel", &["There is nothing to cancel in this conversation."]);
}

#[test]
fn every_command_is_answered_on_an_issue() {
    let office = Office::new("");
    let number = office.forge.add_issue("Login fails", "It says no.");
    let mut issue = Issue(&office, number, 0);
    all_of_them(&office, &mut issue);
    issue.types("/repo", &["This is about `acme/app`."]);
    issue.types(
        "/repo acme/other",
        &["/repo has no effect here: an issue or pull request always uses its own repository."],
    );
    issue.types("/run /status is what?\nscript:\nprint Run.", &["✓ Done", "Run."]);
}

#[test]
fn every_command_is_answered_in_a_thread() {
    let office = Office::new("repository = \"acme/app\"\n");
    let thread = office.say(None, "/help");
    office.hears_in_slack(1, &["/worktree create"]);
    all_of_them(&office, &mut Thread(&office, thread, 1));
}

#[test]
fn what_runs_is_cancelled_by_its_own_conversation() {
    let office = Office::new("");
    let held = office.workshop.hold("held");
    let number = office.ask("Login fails", &format!("write half.txt half\n{held}"));
    let other = office.forge.add_issue("Logout fails", "It says no.");
    office.workshop.wait_for_agent("held");
    office.hears(number, 1, &["Working on it"]);
    office.comment(other, "/cancel");
    office.hears(other, 1, &["There is nothing to cancel"]);
    office.comment(number, "/cancel");
    wait_until(|| office.said_on(number)[0].contains("– Cancelled."), LONG);
    assert!(office.said_on(number)[1].contains("Cancelling **issue-1**; its work stays."));
    assert_eq!(office.jobs()[0].text("status"), "cancelled");
    assert_eq!(office.live(), ["issue-1"]);
}

#[test]
fn many_messages_of_one_conversation_are_answered_one_after_the_other_and_soon() {
    let office = Office::new("");
    let number = office.forge.add_issue("Login fails", "It says no.");
    for index in 0..MANY {
        office.comment(number, &format!("/worktree why nothing-{index}."));
    }
    let last = Instant::now();
    office.hears(number, MANY, &[]);
    assert!(last.elapsed() < SOON, "{:?}", last.elapsed());
    for (index, said) in office.said_on(number).iter().enumerate() {
        assert!(said.contains(&format!("nothing-{index}.")), "{index}: {said}");
    }
}

#[test]
fn status_counts_what_is_merged_and_what_is_stale() {
    let office = Office::new("[cleanup]\non_startup = false\n");
    let issue = office.ask("Login fails", "write fix.txt fixed");
    office.hears(issue, 1, &["✓ Done"]);
    office.comment(issue, "/status");
    office.hears(issue, 2, &["workspaces    1 of 25", "merged        0", "stale         0"]);
    office.workshop.story.remote().merge("agent/coder/issue-1");
    office.workshop.cli.run(&["repo", "sync"]).ok();
    office.comment(issue, "/status");
    office.hears(issue, 3, &["merged        1", "stale         0"]);
}
