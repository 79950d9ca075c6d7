//! What a long queue costs while it waits, and how soon a job starts at its turn.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use crate::support::job::{Job, LONG, Process, Workshop, processes};
use spinney_testkit::wait_until;

/// How many jobs wait; `SPINNEY_TEST_QUEUE` says another number, such as 1000.
const WAITING: usize = 120;
const WATCHED: Duration = Duration::from_secs(10);
/// What people are promised is less; a build for tests on a busy machine takes its time.
const MOST_KILOBYTES: u64 = 150_000;
const MOST_PERCENT: f64 = 5.0;
const STARTS_WITHIN: Duration = Duration::from_secs(3);

#[expect(clippy::disallowed_methods, reason = "the variable is for tests")]
fn wanted() -> usize {
    std::env::var("SPINNEY_TEST_QUEUE").map_or(WAITING, |count| count.parse().expect("a number of jobs"))
}

/// The processes that are there for what waits.
fn supervisors(workshop: &Workshop) -> Vec<Process> {
    let home = workshop.story.sandbox().path().to_str().unwrap().to_owned();
    processes(|process| process.line.ends_with("\0job-queue\0") && process.line.contains(&home))
}

fn kilobytes(process: &Process) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", process.id)).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches("kB").trim().parse().unwrap()
}

/// How long it kept a processor busy, in hundredths of a second.
fn busy(process: &Process) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.id)).unwrap();
    let fields: Vec<f64> =
        stat.rsplit_once(") ").unwrap().1.split(' ').filter_map(|field| field.parse().ok()).collect();
    // The letter of its state is none of them.
    fields[10] + fields[11]
}

fn milliseconds(event: &serde_json::Value) -> i64 {
    event["at_ms"].as_i64().unwrap()
}

#[test]
fn a_long_queue_costs_one_small_process_and_no_turn_is_late() {
    let count = wanted();
    let workshop = Workshop::new("[limits]\nmax_workers = 1\nmax_workspaces = 10000\n");
    let first = workshop.detach(&["--issue", "1"], &workshop.hold("first"));
    workshop.wait_for_agent("first");
    // The last that is to run holds the others up until they are cancelled.
    let turns = 10.min(count);
    let gate = workshop.beside("gate");
    let prompt = |number| match number == turns {
        true => format!("wait-for {}", gate.display()),
        false => format!("print {number}"),
    };
    let prompts: Vec<_> = (1..=count).map(prompt).collect();
    let began = Instant::now();
    let ran = workshop.run_with_input(&["run", "--json", "--detach", "--each", "-"], prompts.join("\n").as_bytes());
    let waiting: Vec<Job> = ran.ok().json()["jobs"].as_array().unwrap().iter().cloned().map(Job).collect();
    println!("{count} jobs were asked for in {:?}", began.elapsed());
    assert_eq!(waiting.len(), count);
    thread::sleep(Duration::from_secs(1));
    let found = supervisors(&workshop);
    let [supervisor] = found.as_slice() else { panic!("there is not one: {found:?}") };
    let before = busy(supervisor);
    thread::sleep(WATCHED);
    let percent = (busy(supervisor) - before) / WATCHED.as_secs_f64();
    let memory = kilobytes(supervisor);
    println!("{count} waiting jobs: {memory} kB, {percent:.2} % of a core");
    assert!(memory < MOST_KILOBYTES && percent < MOST_PERCENT, "{memory} kB, {percent} %");

    // The lock is given up with the last line of the log; the next one's process writes that it begins.
    workshop.let_go("first");
    wait_until(|| turned(&workshop, &waiting[turns - 1]), LONG * 3);
    let rest: Vec<_> = waiting[turns..].iter().map(|job| job.id()).collect();
    for some in rest.chunks(200) {
        workshop.cli.run(&[&["cancel"], some].concat()).ok();
    }
    fs::write(&gate, "").unwrap();
    let ids: Vec<_> = std::iter::once(first.as_str()).chain(waiting[..turns].iter().map(Job::id)).collect();
    let mut gaps = Vec::new();
    for pair in ids.windows(2) {
        wait_until(|| pair.iter().all(|id| workshop.log(id).last().unwrap()["type"] == "finished"), LONG);
        let ended = milliseconds(workshop.log(pair[0]).last().unwrap());
        let log = workshop.log(pair[1]);
        let started = log.iter().find(|event| event["phase"] == "set_up").unwrap();
        gaps.push(milliseconds(started) - ended);
    }
    gaps.sort_unstable();
    println!("from one's end to the next one's start: {gaps:?} ms");
    let median = u64::try_from(gaps[gaps.len() / 2]).unwrap();
    assert!(Duration::from_millis(median) < STARTS_WITHIN, "{gaps:?}");
}

fn turned(workshop: &Workshop, job: &Job) -> bool {
    workshop.log(job.id()).iter().any(|event| event["phase"] == "set_up")
}
