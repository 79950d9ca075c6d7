//! Which conversation a job goes on with.

use std::fs;

use crate::real_agents::stage::Stage;
use crate::support::common::files_below;

#[test]
fn the_next_job_on_the_same_work_goes_on_and_other_work_starts_fresh() {
    let Some(stage) = Stage::claude("") else { return };
    let first = stage.run(0, &["--issue", "42", "STUB:WRITE a.txt one"]);
    let second = stage.run(0, &["--issue", "42", "STUB:WRITE b.txt two"]);
    assert_eq!(
        (first.session_states(), second.session_states()),
        (vec![("finished", false)], vec![("finished", true)])
    );
    assert_eq!(first.conversation(), second.conversation());
    assert!(second.seen() > first.seen(), "{} after {}", second.seen(), first.seen());
    // Each job has what it took itself, although the program tells the conversation's sum.
    assert_eq!(first.0["usage"], second.0["usage"]);
    assert_eq!(stage.pushed("agent/coder/issue-42").len(), 2);

    let other = stage.run(0, &["--issue", "43", "STUB:WRITE a.txt one"]);
    assert_eq!((other.session_states(), other.seen()), (vec![("finished", false)], first.seen()));
    assert_ne!(other.conversation(), first.conversation());
}

#[test]
fn a_workspace_that_was_made_again_starts_fresh() {
    let Some(stage) = Stage::claude("") else { return };
    let first = stage.run(0, &["--issue", "42", "STUB:WRITE a.txt one"]);
    stage.cli.run(&["rm", "issue-42"]).ok();
    let again = stage.run(0, &["--issue", "42", "STUB:WRITE b.txt two"]);
    assert_ne!(again.path(), first.path());
    assert_eq!((again.session_states(), again.seen()), (vec![("finished", false)], first.seen()));
    assert_eq!(again.events("warning").len(), 0);
}

#[test]
fn a_transcript_that_is_gone_starts_fresh_and_says_so() {
    let Some(stage) = Stage::claude("") else { return };
    let first = stage.run(0, &["--issue", "42", "STUB:WRITE a.txt one"]);
    let projects = stage.home(".claude/projects");
    assert!(files_below(&projects, 1).iter().any(|path| path.ends_with(format!("{}.jsonl", first.conversation()))));
    fs::rename(projects, stage.home("elsewhere")).unwrap();

    let job = stage.run(0, &["--issue", "42", "STUB:WRITE b.txt two"]);
    assert_eq!((job.session_states(), job.seen()), (vec![("failed", true), ("finished", false)], first.seen()));
    assert_ne!(job.conversation(), first.conversation());
    let warnings = job.events("warning");
    assert!(warnings[0]["text"].as_str().unwrap().contains("starts fresh"), "{warnings:?}");
    assert_eq!(job.text("push"), "pushed");

    // The one after goes on with that.
    let next = stage.run(0, &["--issue", "42", "STUB:WRITE c.txt three"]);
    assert_eq!((next.conversation(), next.session_states()), (job.conversation(), vec![("finished", true)]));
}
