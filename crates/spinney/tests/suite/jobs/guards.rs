//! What must not be delivered, not be taken for done, and not be waited for.

use std::fs;
use std::time::{Duration, Instant};

use crate::support::job::Workshop;
use spinney_testkit::write_program;

const BRANCH: &str = "agent/coder/issue-7";
const ISSUE: [&str; 2] = ["--issue", "7"];

/// Far less than it takes to read what such an agent prints in a minute.
const SOON: Duration = Duration::from_secs(45);

/// An agent that is a line of shell.
fn shell(workshop: &Workshop, settings: &str, line: &str) {
    let config = format!("[agents.coder]\nruntime = \"command\"\ncommand = [\"sh\", \"-c\", {line:?}]\n{settings}");
    workshop.story.sandbox().write_config(&config);
}

#[test]
fn an_agent_that_prints_for_ever_has_its_time_like_any_other() {
    let workshop = Workshop::new("");
    shell(&workshop, "timeout = \"1s\"\n", "trap '' TERM; exec yes");
    let started = Instant::now();
    let job = workshop.run(6, &ISSUE, "go");
    assert_eq!(job.text("status"), "timed_out");
    assert!(started.elapsed() < SOON, "{:?}", started.elapsed());
    workshop.assert_nothing_runs();
}

#[test]
fn what_is_left_printing_for_ever_does_not_keep_a_job_from_its_end() {
    let workshop = Workshop::new("");
    shell(&workshop, "", "yes & echo x > a.txt; exit 0");
    let started = Instant::now();
    workshop.complete(&ISSUE, "go");
    assert!(started.elapsed() < SOON, "{:?}", started.elapsed());
    workshop.assert_nothing_runs();
}

#[test]
fn what_was_finished_in_a_workspace_that_is_gone_is_done_again() {
    let workshop = Workshop::new("");
    let hook = workshop.story.remote().path().join("hooks/pre-receive");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    write_program(&hook, "#!/bin/sh\nexit 1\n");
    let failed = workshop.run(1, &ISSUE, "write a.txt a");
    workshop.cli.run(&["rm", "issue-7", "--force"]).ok();
    fs::remove_file(&hook).unwrap();
    let again = workshop.retry(0, failed.id());
    assert_eq!((&again.0["push"], &again.0["files"]), (&"pushed".into(), &1.into()));
    let branch = again.text("branch");
    assert_eq!(workshop.story.remote().tip(branch), again.text("commit"));
}

#[test]
fn a_branch_that_the_remote_has_already_is_not_written_to() {
    let workshop = Workshop::new("");
    let theirs = workshop.story.remote().advance_branch("release", "theirs.txt");
    workshop.story.repository.git(&["fetch", "--quiet", "origin"]);
    let prompt = "git switch --quiet --no-track -c release origin/release\nwrite a.txt a\ncommit mine";
    let job = workshop.run(1, &ISSUE, prompt);
    job.says(&["`release`", "nothing is committed or pushed there"]);
    assert_eq!(workshop.story.remote().tip("release"), theirs);
    assert_eq!(workshop.git(job.path(), &["log", "-1", "--format=%s"]), "mine");
}

#[test]
fn a_head_on_no_branch_that_lacks_commits_is_no_delivery() {
    let workshop = Workshop::new("");
    let prompt = "write a.txt a\ncommit one\nwrite b.txt b\ncommit two\ngit checkout --quiet --detach HEAD~1";
    let job = workshop.run(1, &ISSUE, prompt);
    job.says(&["lacks commits", BRANCH]);
    assert!(workshop.pushed().iter().all(|branch| branch != BRANCH));
}
