//! What people are told of jobs: by which names they are found, and what helps where one went another way.

use std::fs;

use crate::support::common::refused;
use crate::support::job::{Workshop, read_pid};

#[test]
fn a_job_without_a_workspace_of_its_own_is_found_by_its_work() {
    let workshop = Workshop::new("requires_isolation = false\n");
    let prompt = format!("pid {}\nwait-for {}", workshop.beside_text("agent"), workshop.beside_text("go"));
    let id = workshop.detach(&["--issue", "21"], &prompt);
    read_pid(&workshop.beside("agent"));
    let told = workshop.cli.run(&["logs", "issue-21"]).ok().stderr;
    assert!(told.contains(&format!("job {id}: coder on issue-21, running, started ")), "{told}");
    workshop.cli.run(&["cancel", "issue-21"]).ok();
    let told = workshop.cli.run(&["logs", "issue-21"]).ok().stderr;
    assert!(
        told.contains("on issue-21, cancelled ") && told.contains(" ago\n") || told.contains("just now\n"),
        "{told}"
    );
    fs::write(workshop.beside("go"), "").unwrap();
    workshop.cli.run(&["retry", "issue-21"]).ok();
    // The newest of them is meant.
    let newest = workshop.complete(&["--issue", "21"], "print newest");
    assert!(workshop.cli.run(&["logs", "issue-21"]).ok().stderr.contains(newest.id()));
    refused(&workshop.cli, 4, &["logs", "issue-22"]).says(&["no job is called `issue-22`"]);
}

#[test]
fn one_branch_is_not_shared_by_several_tries() {
    let workshop = Workshop::new("");
    let refusal = refused(&workshop.cli, 2, &["run", "--branch", "feat", "--count", "2", "print x"]);
    refusal.says(&["`--branch feat` is one branch, and 2 jobs can't share it"]).hints(&["--task TEXT --base BRANCH"]);
    assert!(workshop.jobs().is_empty());
}

#[test]
fn work_is_said_to_be_only_where_it_is() {
    let workshop = Workshop::new("");
    let run = |issue: &str, prompt: &str| {
        let line = ["run", "--agent", "coder", "--issue", issue, "--", prompt];
        workshop.cli.run(&line).exits(1).stderr
    };
    let told = run("1", "write a.txt x\ncommit one\ndelete-own-directory\nexit 3");
    assert!(!told.contains("its work is in") && !told.contains("spinney path"), "{told}");
    assert!(told.contains("its directory is gone; what was committed is on `agent/coder/issue-1`"), "{told}");
    let told = run("2", "write a.txt x\ngit -c alias.gone='!rm .git' gone\nexit 3");
    let repair = format!("git -C {} worktree repair", workshop.story.repository.path().display());
    assert!(told.contains("its work is in issue-2") && told.contains(&repair), "{told}");
    // Doing what it says helps.
    let root = workshop.story.repository.path();
    workshop.git(root, &["worktree", "repair"]);
    workshop.git(workshop.story.show("issue-2").path(), &["status"]);
    workshop.cli.run(&["rm", "issue-1", "--force"]).ok();
}

#[test]
fn a_workspace_in_which_nothing_was_done_has_no_work() {
    let workshop = Workshop::new("[agents.coder.workspace]\nsetup = [\"echo made > made.txt\"]\n");
    let run = |issue: &str, prompt: &str| {
        let line = ["run", "--agent", "coder", "--issue", issue, "--", prompt];
        workshop.cli.run(&line).exits(1).stderr
    };
    for prompt in ["exit 3", "error warning: old\nexit 3"] {
        let told = run("1", prompt);
        assert!(!told.contains("its work is in") && told.contains("again: spinney retry "), "{told}");
    }
    // Each of these is work, whoever did it.
    let done = ["write a.txt x\nexit 3", "write a.txt x\ncommit one\nexit 3", "write made.txt other\nexit 3"];
    for (number, prompt) in done.iter().enumerate() {
        let issue = (number + 2).to_string();
        let told = run(&issue, prompt);
        assert!(told.contains(&format!("its work is in issue-{issue}")), "{told}");
        assert!(run(&issue, "exit 3").contains("its work is in"), "what an earlier job did is work too");
    }
}

#[test]
fn an_error_names_the_cause_and_not_the_last_line() {
    let workshop = Workshop::new("");
    let prompt = "error Error: no API key\nerror (node:7) DeprecationWarning: old\nexit 3";
    let job = workshop.run(1, &["--issue", "1"], prompt);
    assert_eq!(job.text("error"), "exit status 3: Error: no API key");
}

#[test]
fn what_moved_on_at_the_remote_is_taken_in_first() {
    let workshop = Workshop::new("");
    workshop.complete(&["--issue", "1"], "write a.txt x\nprint one");
    let branch = "agent/coder/issue-1";
    let other = workshop.beside("other");
    let remote = workshop.story.remote().path().to_str().unwrap().to_owned();
    workshop.git(workshop.story.sandbox().path(), &["clone", "--quiet", "--branch", branch, &remote, "other"]);
    fs::write(other.join("theirs.txt"), "theirs").unwrap();
    workshop.git(&other, &["add", "theirs.txt"]);
    workshop.git(&other, &["commit", "--quiet", "--message", "theirs"]);
    workshop.git(&other, &["push", "--quiet"]);
    let line = ["run", "--agent", "coder", "--issue", "1", "--", "write b.txt y\nprint two"];
    let told = workshop.cli.run(&line).exits(1).stderr;
    let helps = format!("  first: spinney exec issue-1 -- git pull --rebase origin {branch}\n  again: spinney retry ");
    assert!(told.contains(&format!("the remote's `{branch}` has moved on")) && told.contains(&helps), "{told}");
    assert!(!told.contains("stale info") && !told.contains("non-fast-forward"), "{told}");
    // Doing what it says helps.
    workshop.cli.run(&["exec", "issue-1", "--", "git", "pull", "--quiet", "--rebase", "origin", branch]).ok();
    workshop.cli.run(&["retry", "issue-1"]).ok();
    let files = workshop.story.remote().git(&["ls-tree", "--name-only", branch]);
    assert!(files.contains("theirs.txt") && files.contains("b.txt"), "{files}");
}

#[test]
fn what_moved_in_the_main_checkout_is_counted_and_named() {
    let workshop = Workshop::new("");
    let root = workshop.story.repository.path().display().to_string();
    let prompt = format!(
        "write-outside {root}/one.txt x\nwrite-outside {root}/two.txt x\ngit -C {root} switch --quiet -c elsewhere\nprint done"
    );
    let line = ["run", "--agent", "coder", "--issue", "1", "--", &prompt];
    let told = workshop.story.change(|_| workshop.cli.run(&line).ok().stderr);
    let expected =
        "! the main checkout changed meanwhile: 2 files: HEAD (main → elsewhere), one.txt (new), two.txt (new)";
    assert!(told.contains(expected), "{told}");
}
