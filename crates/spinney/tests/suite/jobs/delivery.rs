//! What becomes of a completed job's work: pushed by name, never over somebody else's, offered as one pull request.

use std::fs;
use std::time::Duration;

use crate::support::job::{Offered, Workshop};
use serde_json::Value;
use spinney_testkit::{HttpRemote, Trouble, write_program};

const BRANCH: &str = "agent/coder/issue-7";
const ISSUE: [&str; 2] = ["--issue", "7"];

fn policy(lines: &str) -> String {
    format!("[agents.coder.workspace]\n{lines}\n")
}

#[test]
fn a_push_writes_nothing_into_the_configuration() {
    let workshop = Workshop::new("");
    let config = workshop.story.repository.path().join(".git/config");
    let before = fs::read(&config).unwrap();
    workshop.complete(&ISSUE, "write a.txt a");
    let job = workshop.complete(&ISSUE, "write b.txt b");
    assert_eq!(fs::read(&config).unwrap(), before);
    assert!(!workshop.story.repository.path().join(".git/config.worktree").exists());
    assert_eq!(workshop.story.remote().tip(BRANCH), job.text("commit"));
    assert_eq!(workshop.story.repository.git(&["rev-parse", &format!("origin/{BRANCH}")]), job.text("commit"));
    assert_eq!(workshop.story.show("issue-7").0["pushed"], true);
}

#[test]
fn what_we_pushed_before_may_be_replaced() {
    let workshop = Workshop::new("");
    let first = workshop.complete(&ISSUE, "write a.txt a\ncommit first");
    let second = workshop.complete(&ISSUE, "write a.txt b\ngit commit --quiet --all --amend --message second");
    assert_ne!(first.text("commit"), second.text("commit"));
    assert_eq!((second.0["pushed"].clone(), &second.0["commits"]), (true.into(), &1.into()));
    assert_eq!(workshop.story.remote().tip(BRANCH), second.text("commit"));
}

#[test]
fn what_somebody_else_pushed_meanwhile_is_never_overwritten() {
    let workshop = Workshop::new("");
    workshop.complete(&ISSUE, "write a.txt a\ncommit first");
    let theirs = workshop.story.remote().advance_branch(BRANCH, "theirs.txt");
    let amended = workshop.run(1, &ISSUE, "write a.txt b\ngit commit --quiet --all --amend --message second");
    amended.says(&[BRANCH]);
    assert_eq!((&amended.0["push"], &amended.0["pushed"]), (&"refused".into(), &false.into()));
    assert_eq!(workshop.story.remote().tip(BRANCH), theirs);
    // Its work is whole, in its workspace.
    assert_eq!(workshop.git(amended.path(), &["log", "-1", "--format=%s"]), "second");
    // Never pushed from here, the same holds.
    let theirs = workshop.story.remote().advance_branch("agent/coder/issue-8", "theirs.txt");
    let go = workshop.beside_text("go");
    fs::write(&go, "").unwrap();
    let other = workshop.run(
        1,
        &["--branch", "feature"],
        &format!("write a.txt a\ngit branch -m agent/coder/issue-8\nwait-for {go}"),
    );
    other.says(&["agent/coder/issue-8"]);
    assert_eq!(workshop.story.remote().tip("agent/coder/issue-8"), theirs);
}

/// A remote whose hook declines every push.
fn decline(workshop: &Workshop) {
    let hook = workshop.story.remote().path().join("hooks/pre-receive");
    write_program(&hook, "#!/bin/sh\necho not on a Friday >&2\nexit 1\n");
}

#[test]
fn a_push_that_is_declined_fails_the_job_at_once() {
    for on_failure in ["fail", "retry"] {
        let workshop = Workshop::new(&policy(&format!("on_push_failure = \"{on_failure}\"")));
        decline(&workshop);
        let job = workshop.run(1, &ISSUE, "write a.txt a");
        job.says(&["not on a Friday"]);
        assert_eq!((job.text("status"), &job.0["push"], &job.0["commits"]), ("failed", &"refused".into(), &1.into()));
        let log = format!("{:?}", workshop.log(job.id()));
        assert!(!log.contains("tried again"), "{log}");
        // What was done is delivered later, and the agent is not asked again.
        fs::remove_file(workshop.story.remote().path().join("hooks/pre-receive")).unwrap();
        let retried = workshop.retry(0, job.id());
        assert_eq!((&retried.0["pushed"], retried.0["sessions"].as_array().unwrap().len()), (&true.into(), 1));
        assert_eq!((&retried.0["error"], retried.text("commit")), (&Value::Null, job.text("commit")));
    }
}

#[test]
fn a_push_that_fails_may_be_a_warning() {
    let workshop = Workshop::new(&policy("on_push_failure = \"warn\""));
    decline(&workshop);
    let job = workshop.complete(&[], "write a.txt a");
    assert_eq!((&job.0["push"], &job.0["pushed"]), (&"refused".into(), &false.into()));
    workshop.assert_logged(job.id(), "not on a Friday");
    assert!(job.path().join("a.txt").exists(), "it is not delivered: the workspace stays");
}

#[test]
fn an_outage_of_the_remote_is_waited_out() {
    let workshop = Workshop::new(&policy("on_push_failure = \"retry\""));
    let http = HttpRemote::open(workshop.story.sandbox());
    workshop.story.remote().git(&["config", "http.receivepack", "true"]);
    workshop.story.change(|repository| repository.git(&["remote", "set-url", "origin", &http.url("acme/app.git")]));
    http.refuse_pushes(2);
    let job = workshop.complete(&ISSUE, "write a.txt a");
    assert_eq!(job.0["pushed"], true);
    let told: Vec<_> = workshop.log(job.id()).into_iter().filter(|event| event["type"] == "warning").collect();
    assert_eq!(told.len(), 2, "{told:#?}");
    assert!(told[0]["text"].as_str().unwrap().contains("tried again in 1 s"), "{told:#?}");
    assert_eq!(workshop.story.remote().tip(BRANCH), job.text("commit"));
    // Who does not want to wait, does not.
    workshop.configure(&policy("on_push_failure = \"fail\""));
    http.refuse_pushes(1);
    let failed = workshop.run(1, &ISSUE, "write b.txt b");
    assert_eq!(failed.0["push"], "refused");
    assert_eq!(workshop.retry(0, failed.id()).0["pushed"], true);
}

#[test]
fn who_wants_no_push_gets_none() {
    let workshop = Workshop::new(&policy("push_on_success = false\ncreate_pr = true"));
    let job = workshop.complete(&ISSUE, "write a.txt a");
    assert_eq!((&job.0["push"], &job.0["commits"]), (&"off".into(), &1.into()));
    assert_eq!(workshop.pushed(), ["main"]);
}

#[test]
fn one_pull_request_is_opened_and_found_again() {
    let offered =
        Offered::new("pr_title = \"[{agent}] {title}\"\npr_body = \"{summary}\\n\\n{closes}\\n{workItem} {branch}\"");
    let Offered { workshop, forge, .. } = &offered;
    let job = workshop.complete(&["--issue", "7", "--title", "Login breaks"], "write a.txt a\nprint fixed the login");
    let opened = forge.pull_requests();
    assert_eq!(opened.len(), 1);
    assert_eq!((opened[0].head.as_str(), opened[0].base.as_str()), (BRANCH, "main"));
    assert_eq!(opened[0].title, "[coder] Login breaks");
    assert_eq!(opened[0].body, format!("fixed the login\n\nFixes #7\nissue-7 {BRANCH}"));
    assert!(job.text("pull_request").ends_with("/pull/1"), "{}", job.0);
    assert_eq!(workshop.story.show("issue-7").0["pull_request"], job.0["pull_request"]);
    let second = workshop.complete(&ISSUE, "write b.txt b");
    assert_eq!((forge.pull_requests().len(), &second.0["pull_request"]), (1, &job.0["pull_request"]));
    // What is no issue closes nothing; a title comes from the prompt where there is no other.
    workshop.complete(&["--task", "Add dark mode"], "write c.txt c");
    assert_eq!(forge.pull_requests()[1].title, "[coder] Add dark mode");
    assert!(!forge.pull_requests()[1].body.contains("Fixes"));
    // Once it is closed, the next job offers its work anew.
    forge.close(1);
    let third = workshop.complete(&ISSUE, "write d.txt d");
    assert_eq!((forge.pull_requests().len(), third.text("pull_request").ends_with("/pull/3")), (3, true));
}

#[test]
fn a_branch_that_has_a_pull_request_keeps_it() {
    let Offered { workshop, forge, .. } = &Offered::new("");
    let number = forge.open(BRANCH, "main", None);
    let job = workshop.complete(&ISSUE, "write a.txt a");
    assert_eq!(forge.pull_requests().len(), 1);
    assert!(job.text("pull_request").ends_with(&format!("/pull/{number}")));
}

#[test]
fn an_issues_title_is_asked_of_the_forge() {
    let Offered { workshop, forge, .. } = &Offered::new("");
    let issue = forge.add_issue("The login breaks", "");
    let job = workshop.complete(&["--issue", &issue.to_string()], "write a.txt a");
    assert_eq!(forge.pull_requests()[0].title, "[Agent] The login breaks");
    assert_eq!(job.0["pushed"], true);
}

#[test]
fn a_forges_troubles_make_no_second_pull_request() {
    let offered = Offered::new("");
    let Offered { workshop, forge, .. } = &offered;
    let troubles = [
        vec![Trouble::AnswerLost],
        vec![Trouble::Status(502), Trouble::Status(503)],
        vec![Trouble::RetryAfter(429, 1)],
        vec![Trouble::LimitReached(Duration::from_secs(1))],
        vec![Trouble::Dropped],
        vec![Trouble::Rival],
    ];
    for (number, troubles) in troubles.into_iter().enumerate() {
        println!("{troubles:?}");
        troubles.into_iter().for_each(|trouble| forge.trouble_at_post(trouble));
        let issue = number.to_string();
        let job = workshop.complete(&["--issue", &format!("10{issue}"), "--title", "t"], "write a.txt a");
        let branch = format!("agent/coder/issue-10{issue}");
        assert_eq!(offered.heads().iter().filter(|head| **head == branch).count(), 1);
        assert!(job.text("pull_request").starts_with("http"), "{}", job.0);
    }
}

#[test]
fn a_forge_that_refuses_fails_the_job_and_a_retry_offers_the_same_work() {
    let Offered { workshop, forge, .. } = &Offered::new("");
    forge.trouble_at_post(Trouble::Forbidden("Resource not accessible by personal access token".to_owned()));
    let job = workshop.run(1, &ISSUE, "write a.txt a");
    job.says(&["Resource not accessible"]);
    assert_eq!((&job.0["pushed"], &job.0["pull_request"]), (&true.into(), &Value::Null));
    let retried = workshop.retry(0, job.id());
    assert_eq!((forge.pull_requests().len(), retried.text("commit")), (1, job.text("commit")));
    let everything = format!("{:?}{}", workshop.log(job.id()), workshop.cli.run(&["jobs", "--json"]).ok().stdout);
    assert!(!everything.contains(forge.token()));
}

#[test]
fn a_pull_request_needs_a_forge() {
    let workshop = Workshop::new(&policy("create_pr = true"));
    let job = workshop.run(1, &ISSUE, "write a.txt a");
    job.says(&["no configured forge has this remote"]);
    // That is known before anything is done.
    assert_eq!((&job.0["pushed"], &job.0["commits"]), (&false.into(), &0.into()));
}

#[test]
fn a_pull_requests_own_branch_is_updated() {
    let workshop = Workshop::new("");
    let head = workshop.story.remote().advance_branch("feature/auth", "auth.txt");
    workshop.story.remote().pull_request(99, "feature/auth");
    let job = workshop.complete(&["--pr", "99", "--head", "feature/auth"], "write a.txt a");
    assert_eq!((job.text("branch"), &job.0["pushed"]), ("feature/auth", &true.into()));
    assert_eq!(workshop.story.remote().tip("feature/auth"), job.text("commit"));
    assert_eq!(workshop.story.remote().git(&["rev-parse", "feature/auth^"]), head);
}
