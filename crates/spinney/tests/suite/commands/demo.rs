//! `spinney demo`: eight agents to pushed branches, and nothing is left of it, however it ends.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use spinney_testkit::{Cli, Sandbox, wait_until};

use crate::support::common::{BINARY, files_below};

const SOON: Duration = Duration::from_secs(60);

/// A sandbox whose temporary files lie in a directory of their own.
fn demo() -> (Sandbox, Cli, PathBuf) {
    let sandbox = Sandbox::new();
    let temporary = sandbox.path().join("temporary");
    fs::create_dir(&temporary).unwrap();
    // What a person has configured is none of the demo's business.
    let cli = sandbox.cli(BINARY).with_variable("TMPDIR", &temporary).with_variable("SPINNEY_LIMITS__MAX_WORKERS", "1");
    (sandbox, cli, temporary)
}

/// Whether any process has a path in its command line or its environment.
fn is_in_use(directory: &Path) -> bool {
    let wanted = directory.to_str().unwrap().as_bytes();
    let has = |file: PathBuf| fs::read(file).is_ok_and(|text| text.windows(wanted.len()).any(|part| part == wanted));
    let processes = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let mut processes = processes.filter(|path| path.join("cmdline").exists());
    processes.any(|path| has(path.join("cmdline")) || has(path.join("environ")))
}

#[test]
fn eight_agents_run_to_pushed_branches() {
    let (sandbox, cli, temporary) = demo();
    let document = cli.run(&["demo", "--json", "--keep"]).ok().json();
    let directory = PathBuf::from(document["directory"].as_str().unwrap());
    assert_eq!(document["kept"], true);
    let jobs = document["jobs"].as_array().unwrap();
    assert_eq!(jobs.len(), 8);
    let time = |job: &serde_json::Value, key: &str| job[key].as_str().unwrap().to_owned();
    let last_start = jobs.iter().map(|job| time(job, "started_at")).max().unwrap();
    let first_end = jobs.iter().map(|job| time(job, "ended_at")).min().unwrap();
    assert!(last_start <= first_end, "not all at once: {last_start}, {first_end}");
    let pushed: BTreeSet<_> = jobs.iter().map(|job| time(job, "branch")).collect();
    let squashed = "agent/coder/task-add-dark-mode";
    assert!(pushed.contains(squashed) && pushed.len() == 8, "{pushed:?}");
    let heads = sandbox.git(directory.join("acme/app.git"), &["for-each-ref", "--format=%(refname:lstrip=2)"]);
    let heads: BTreeSet<_> = heads.lines().map(str::to_owned).collect();
    let expected = pushed.into_iter().filter(|branch| branch != squashed).chain(["main".to_owned()]);
    assert_eq!(heads, expected.collect());
    let (home, config) = (directory.join("home"), directory.join("config.toml"));
    let look = ["--home", home.to_str().unwrap(), "--config", config.to_str().unwrap(), "jobs", "--json"];
    assert_eq!(cli.run(&look).ok().json()["jobs"].as_array().unwrap().len(), 8);
    assert_eq!(files_below(&temporary, 0), [directory]);
    wait_until(|| !is_in_use(&temporary.join("spinney-demo-")), SOON);
}

#[test]
fn nothing_is_left_and_the_person_s_own_home_is_not_made() {
    let (sandbox, cli, temporary) = demo();
    let told = cli.run(&["demo"]).ok();
    for text in ["8  ✓  task-test-date-parser", "untracked", "is back", "removed task-add-dark-mode", "never moved"] {
        assert!(told.stdout.contains(text), "no `{text}`: {}", told.told());
    }
    assert_eq!(told.stderr, "");
    assert_eq!(files_below(&temporary, 0), Vec::<PathBuf>::new());
    assert!(!sandbox.spinney_home().exists(), "the demo has a home of its own");
    wait_until(|| !is_in_use(&temporary.join("spinney-demo-")), SOON);
}

#[test]
fn an_interrupt_ends_the_agents_and_clears_the_stage() {
    for (signal, status) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let (_sandbox, cli, temporary) = demo();
        let running = cli.spawn(&["demo"]);
        let agent = || files_below(&temporary, 0).first().map(|directory| directory.join("agent.sh"));
        wait_until(|| agent().is_some_and(|agent| is_in_use(&agent)), SOON);
        let agent = agent().unwrap();
        kill_process(Pid::from_raw(running.id().cast_signed()).unwrap(), signal).unwrap();
        running.wait().exits(status);
        assert!(!is_in_use(&agent), "an agent goes on");
        assert_eq!(files_below(&temporary, 0), Vec::<PathBuf>::new());
        wait_until(|| !is_in_use(&temporary.join("spinney-demo-")), SOON);
    }
}
