//! Sessions that are ended: by a person, by the clock, by the death of the job's process.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use spinney_testkit::wait_until;

use crate::real_agents::stage::{Job, Stage, processes};

const PATIENCE: Duration = Duration::from_secs(30);
/// Says that it has begun, and goes on until it may.
const WAITS: &str =
    "STUB:WRITE a.txt one\nSTUB:BASH touch begun; until [ -e go ]; do sleep 0.05; done\nSTUB:WRITE b.txt two";

/// Waits until the job's agent is in the middle of its work.
fn wait_for_agent(stage: &Stage) -> Job {
    wait_until(
        || {
            let job = stage.cli.run(&["jobs", "--json", "-n", "1"]).ok().json();
            let path = job["jobs"][0]["path"].as_str().map(PathBuf::from);
            path.is_some_and(|path| path.join("begun").exists())
        },
        PATIENCE,
    );
    let job = stage.newest();
    assert!(processes(job.text("id")).iter().any(|(_, line)| line.contains("--session-id=")), "the program runs");
    job
}

#[test]
fn a_cancel_ends_the_program_and_the_work_stays() {
    let Some(stage) = Stage::claude("allowed_tools = [\"Bash\"]") else { return };
    let running = stage.spawn(&["--issue", "42", WAITS]);
    let job = wait_for_agent(&stage);
    stage.cli.run(&["cancel", job.text("id")]).ok();
    assert_eq!(processes(job.text("id")), []);
    let job = Job(running.wait().exits(6).json());
    assert_eq!((job.status(), job.session_states()), ("cancelled", vec![("ended", false)]));
    assert_eq!(job.file("a.txt"), "one\n");

    // It goes on in the same session.
    fs::write(job.path().join("go"), "").unwrap();
    let again = Job(stage.cli.run(&["--json", "retry", job.text("id")]).ok().json());
    assert_eq!(again.session_states(), [("ended", false), ("finished", true)]);
    assert_eq!((again.conversation(), again.file("b.txt").as_str()), (job.conversation(), "two\n"));
}

#[test]
fn a_session_that_takes_too_long_is_ended() {
    let Some(stage) = Stage::claude("allowed_tools = [\"Bash\"]\ntimeout = \"3s\"") else { return };
    let job = stage.run(6, &["--issue", "42", WAITS]);
    assert_eq!((job.status(), job.session_states()), ("timed_out", vec![("ended", false)]));
    assert_eq!((job.text("error"), processes(job.text("id"))), ("it reached its timeout", vec![]));
    assert!(job.0["duration_ms"].as_u64().unwrap() >= 3000);
}

#[test]
fn a_job_whose_process_was_killed_goes_on_in_the_same_session() {
    let Some(stage) = Stage::claude("allowed_tools = [\"Bash\"]") else { return };
    let running = stage.spawn(&["--issue", "42", WAITS]);
    let job = wait_for_agent(&stage);
    let (runner, _) = processes(job.text("id")).into_iter().find(|(_, line)| line.contains("job-run")).unwrap();
    kill_process(Pid::from_raw(runner).unwrap(), Signal::KILL).unwrap();
    let interrupted = Job(running.wait().exits(6).json());
    assert_eq!((interrupted.status(), interrupted.session_states()), ("interrupted", vec![("ended", false)]));
    assert_eq!(processes(job.text("id")), [], "what was left of its agent is ended");

    fs::write(job.path().join("go"), "").unwrap();
    let job = Job(stage.cli.run(&["--json", "retry", job.text("id")]).ok().json());
    assert_eq!(job.session_states(), [("ended", false), ("finished", true)]);
    assert_eq!((job.conversation(), job.text("push")), (interrupted.conversation(), "pushed"));
    assert!(stage.was_told(&["You were interrupted."]));
    assert_eq!((job.file("a.txt").as_str(), job.file("b.txt").as_str()), ("one\n", "two\n"));
}
