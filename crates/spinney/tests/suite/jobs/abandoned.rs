//! What a job left behind that ended badly, and to which nobody came back.

use std::fs;
use std::path::PathBuf;

use crate::support::common::make;
use crate::support::job::{Job, LONG, Workshop, runner_of, signal};
use rustix::process::Signal;
use serde_json::Value;
use spinney_testkit::wait_until;

const LEAVES: &str = "write done.txt done\ncommit half\nwrite left.txt left";
const AT_ONCE: &str = "[cleanup]\nabandoned_after = \"1ms\"\n";

/// Ends a job in each way that is not completion, each with an unpushed commit and an untracked file.
fn ended_badly(workshop: &Workshop) -> Vec<(&'static str, PathBuf)> {
    let place = |job: &Job| job.path();
    let failed = place(&workshop.run(1, &["--issue", "1"], &format!("{LEAVES}\nexit 1")));
    let hold = |name: &str| format!("{LEAVES}\n{}", workshop.hold(name));
    let cancelled = workshop.detach(&["--issue", "2"], &hold("cancelled"));
    workshop.wait_for_agent("cancelled");
    workshop.cli.run(&["cancel", &cancelled]).ok();
    let cancelled = place(&workshop.wait_for_end(&cancelled));
    let killed = workshop.detach(&["--issue", "3"], &hold("killed"));
    workshop.wait_for_agent("killed");
    signal(runner_of(&killed).unwrap(), Signal::KILL);
    let killed = place(&workshop.wait_for(&killed, "interrupted"));
    vec![("issue-1", failed), ("issue-2", cancelled), ("issue-3", killed)]
}

#[track_caller]
fn sweep(workshop: &Workshop, arguments: &[&str]) -> Value {
    workshop.cli.run(&[&["cleanup", "--json"], arguments].concat()).ok().json()
}

#[track_caller]
fn removed(report: &Value) -> Vec<String> {
    let rows = report["removed"].as_array().unwrap().iter();
    let mut names: Vec<_> = rows.map(|row| row["name"].as_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

#[test]
fn it_goes_whole_to_the_trash_and_comes_back_whole() {
    let workshop = Workshop::new("");
    let left = ended_badly(&workshop);
    assert_eq!(removed(&sweep(&workshop, &["all"])), Vec::<String>::new(), "it is not a week old");
    workshop.configure("[cleanup]\nabandoned_after = \"0\"\nstale_after = \"1ms\"\n");
    assert_eq!(removed(&sweep(&workshop, &["all"])), Vec::<String>::new(), "turned off");
    workshop.configure(AT_ONCE);
    assert_eq!(removed(&sweep(&workshop, &["merged"])), Vec::<String>::new());
    assert_eq!(removed(&sweep(&workshop, &["stale", "--dry-run"])), ["issue-1", "issue-2", "issue-3"]);
    assert!(left.iter().all(|(_, path)| path.is_dir()));
    let report = sweep(&workshop, &["stale"]);
    assert_eq!(removed(&report), ["issue-1", "issue-2", "issue-3"]);
    let why: Vec<_> = report["removed"].as_array().unwrap().iter().map(|row| row["why"].to_string()).collect();
    for told in ["failed, and nothing happened", "was cancelled, and", "was interrupted, and"] {
        assert!(why.iter().any(|why| why.contains(told)), "{told}: {why:?}");
    }
    for (name, path) in left {
        workshop.cli.run(&["restore", name]).ok();
        assert_eq!(fs::read_to_string(path.join("left.txt")).unwrap(), "left\n");
        assert_eq!(workshop.git(&path, &["log", "-1", "--format=%s"]), "half");
        assert!(!workshop.pushed().contains(&format!("agent/coder/{name}")));
    }
}

#[test]
fn what_somebody_made_keeps_or_came_back_to_stays() {
    let workshop = Workshop::new("");
    let cli = &workshop.cli;
    make(cli, &["--issue", "1"]);
    let fail = |work: &[&str]| workshop.run(1, work, &format!("{LEAVES}\nexit 1"));
    // A person's own, a pinned one, a shared one, one that is used, one with a repository of its own in it.
    let _ = fail(&["--issue", "1"]);
    let _ = fail(&["--issue", "2"]);
    cli.run(&["pin", "issue-2"]).ok();
    let _ = fail(&["--issue", "3"]);
    make(cli, &["--pr", "7", "--links", "3"]);
    let used = fail(&["--issue", "4"]).path();
    let nested = fail(&["--issue", "5"]).path();
    fs::create_dir(nested.join("tool")).unwrap();
    workshop.git(nested.join("tool"), &["init", "--quiet"]);
    let touched = fail(&["--issue", "6"]).path();
    workshop
        .story
        .sandbox()
        .cli("/bin/touch")
        .run(&["--date", "1 hour", touched.join("left.txt").to_str().unwrap()])
        .ok();
    // A completed one with a file beside its commits is nobody's failure.
    let completed = workshop.complete(&["--issue", "8"], "write a.txt a");
    fs::write(completed.path().join("left.txt"), "left").unwrap();
    let process = workshop.story.sandbox().cli("/bin/sleep").in_directory(&used).spawn(&["1000"]);
    workshop.configure(AT_ONCE);
    let report = sweep(&workshop, &["all"]);
    assert_eq!(removed(&report), Vec::<String>::new(), "{report:#}");
    drop(process);
    assert_eq!(removed(&sweep(&workshop, &["orphans"])), ["issue-4"]);
}

/// The workspace of a job, if it is in the trash.
fn is_trashed(workshop: &Workshop, name: &str) -> bool {
    workshop.story.show(name).text("status") == "trashed"
}

#[test]
fn with_cleanup_on_failure_every_bad_end_takes_the_workspace_with_it() {
    let policy = "max_attempts = 1\n[agents.coder.workspace]\ncleanup_on_failure = true\n";
    let workshop = Workshop::new(&format!("timeout = \"2s\"\n{policy}"));
    let timed_out = workshop.run(6, &["--issue", "4"], &format!("{LEAVES}\n{}", workshop.hold("late")));
    assert_eq!(timed_out.text("status"), "timed_out");
    assert!(is_trashed(&workshop, "issue-4"));
    workshop.configure(policy);
    let workshop = &workshop;
    let _ = workshop.run(1, &["--issue", "1"], &format!("{LEAVES}\nexit 1"));
    assert!(is_trashed(workshop, "issue-1"));
    let cancelled = workshop.detach(&["--issue", "2"], &format!("{LEAVES}\n{}", workshop.hold("cancelled")));
    workshop.wait_for_agent("cancelled");
    workshop.cli.run(&["cancel", &cancelled]).ok();
    workshop.wait_for_end(&cancelled);
    assert!(is_trashed(workshop, "issue-2"));
    // Who died can't; a sweep does it, once no daemon takes the job up again.
    let killed = workshop.detach(&["--issue", "3"], &format!("{LEAVES}\n{}", workshop.hold("killed")));
    workshop.wait_for_agent("killed");
    signal(runner_of(&killed).unwrap(), Signal::KILL);
    workshop.wait_for(&killed, "interrupted");
    wait_until(|| removed(&sweep(workshop, &["orphans"])) == ["issue-3"], LONG);
    workshop.cli.run(&["restore", "issue-3"]).ok();
    assert!(workshop.story.show("issue-3").path().join("left.txt").is_file());
}

#[test]
fn what_a_daemon_would_take_up_again_stays_for_it() {
    let workshop = Workshop::new("max_attempts = 2\n[agents.coder.workspace]\ncleanup_on_failure = true\n");
    let killed = workshop.detach(&["--issue", "3"], &format!("{LEAVES}\n{}", workshop.hold("killed")));
    workshop.wait_for_agent("killed");
    signal(runner_of(&killed).unwrap(), Signal::KILL);
    let path = workshop.wait_for(&killed, "interrupted").path();
    assert_eq!(removed(&sweep(&workshop, &["orphans"])), Vec::<String>::new());
    assert!(path.join("left.txt").is_file());
}
