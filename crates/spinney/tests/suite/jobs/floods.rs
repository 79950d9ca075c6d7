//! Whatever an agent prints, and however much of it, is handled in little memory and leaves a log that can be read.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::support::job::{Job, LONG, Workshop, read_pid, runner_of};
use spinney_testkit::{wait_until, write_program};

/// As much as a runner may need, at the most.
const MOST_MEMORY_KIB: u64 = 64 * 1024;
/// Names how many bytes are printed: memory must not depend on it, so that a tenth of a gigabyte is enough every day.
const FLOOD_VARIABLE: &str = "SPINNEY_TEST_FLOOD_BYTES";
/// What the agent prints again and again.
const LINE: &str = "the agent has much to say, and says it line by line, again and again\n";

/// The most memory that a process has had so far.
fn peak_kib(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

/// Runs a job whose agent prints, and gives the job with the most memory that its process had.
#[track_caller]
fn flood(workshop: &Workshop, instructions: &str) -> (Job, u64) {
    let (pid, go) = (workshop.beside("agent"), workshop.beside("go"));
    let prompt = format!("pid {}\n{instructions}\nprint all said\nwait-for {}", pid.display(), go.display());
    let id = workshop.detach(&["--issue", "7"], &prompt);
    read_pid(&pid);
    let runner = runner_of(&id).unwrap();
    let log = workshop.story.sandbox().spinney_home().join(format!("logs/{id}.jsonl"));
    // The end of the log tells when all has been read.
    let is_read = || tail(&log).contains("all said");
    wait_until(is_read, Duration::from_secs(600));
    let peak = peak_kib(runner).unwrap();
    fs::write(&go, "").unwrap();
    wait_until(|| runner_of(&id).is_none(), LONG);
    (workshop.job(&id), peak)
}

fn tail(path: &Path) -> String {
    let Ok(mut file) = File::open(path) else { return String::new() };
    let length = file.metadata().unwrap().len();
    file.seek(SeekFrom::Start(length.saturating_sub(2000))).unwrap();
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn a_flood_needs_little_memory() {
    let workshop = Workshop::new("");
    #[expect(clippy::disallowed_methods, reason = "how much a person has time for")]
    let wanted: usize = std::env::var(FLOOD_VARIABLE).map_or(100_000_000, |text| text.parse().unwrap());
    let lines = wanted / LINE.len();
    let bytes = lines * LINE.len();
    let (job, peak) = flood(&workshop, &format!("flood {bytes}"));
    println!("{bytes} bytes: {peak} KiB");
    assert!(peak < MOST_MEMORY_KIB, "{peak} KiB");
    assert_eq!((job.text("status"), job.text("summary")), ("completed", "all said"));
    // Every line of it is there.
    let log = BufReader::new(File::open(job.text("log")).unwrap());
    let told = log.lines().filter(|line| line.as_ref().unwrap().contains(LINE.trim_end()));
    assert_eq!(told.count(), lines);
}

#[test]
fn a_huge_line_does_not_break_the_log() {
    let workshop = Workshop::new("");
    let (job, peak) = flood(&workshop, "print before\nlong-line 100000000\nprint after");
    assert!(peak < MOST_MEMORY_KIB, "{peak} KiB");
    assert_eq!(job.text("status"), "completed");
    let log = workshop.log(job.id());
    let output: Vec<_> = log.iter().filter(|event| event["type"] == "output").collect();
    let texts: Vec<_> = output.iter().map(|event| event["text"].as_str().unwrap()).collect();
    assert_eq!((texts[0], texts[2], texts[3]), ("before", "after", "all said"));
    let told = texts[1].len() as u64 + output[1]["cut_bytes"].as_u64().unwrap();
    assert!(texts[1].starts_with("xxx") && told == 100_000_000, "{told}");
    let readable = workshop.cli.run(&["logs", job.id()]).ok().stdout;
    assert!(readable.contains("before") && readable.contains("after"));
}

/// A program that is run as the agent.
fn program(workshop: &Workshop, script: &str) {
    let path = workshop.beside("agent.sh");
    write_program(&path, format!("#!/bin/sh\ncat > /dev/null\n{script}\n"));
    let config = format!("[agents.coder]\nruntime = \"command\"\ncommand = [\"{}\"]\n", path.display());
    workshop.story.sandbox().write_config(&config);
}

#[test]
fn garbage_is_told_as_far_as_it_can_be() {
    let workshop = Workshop::new("");
    program(
        &workshop,
        "head -c 3000000 /dev/urandom; head -c 3000000 /dev/urandom >&2; echo a > a.txt; printf '\\nzero \\0 byte \\033[31mred \\377\\r\\n'",
    );
    let job = workshop.complete(&["--issue", "7"], "x");
    let summary = job.text("summary");
    assert!(summary.starts_with("zero ") && summary.contains("byte"), "{summary:?}");
    assert_eq!((&job.0["pushed"], workshop.log(job.id()).is_empty()), (&true.into(), false));
    let message = workshop.git(job.path(), &["log", "-1", "--format=%B"]);
    assert!(message.starts_with("agent: zero "), "{message:?}");
    // What a terminal would obey does not reach it.
    for readable in [workshop.cli.run(&["logs", job.id()]).ok().stdout, workshop.cli.run(&["jobs"]).ok().stdout] {
        assert!(!readable.contains('\x1b') && !readable.contains('\0'));
    }
}

/// Writes to a log, faster than anybody reads it, for as long as told to.
fn write_on(log: &Path, is_enough: &AtomicBool) {
    let entry = format!("{{\"at_ms\":1,\"type\":\"output\",\"stream\":\"stdout\",\"text\":\"{}\"}}\n", LINE.trim_end());
    let entries = entry.repeat(1000);
    let mut log = File::options().append(true).open(log).unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while !is_enough.load(Ordering::Relaxed) && Instant::now() < deadline {
        log.write_all(entries.as_bytes()).unwrap();
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn whoever_only_looks_is_not_held_by_a_log_that_grows() {
    let workshop = Workshop::new("");
    let (pid, go) = (workshop.beside("agent"), workshop.beside("go"));
    let prompt = format!("pid {}\nwait-for {}", pid.display(), go.display());
    let id = workshop.detach(&["--issue", "7"], &prompt);
    read_pid(&pid);
    let log = workshop.story.sandbox().spinney_home().join(format!("logs/{id}.jsonl"));
    let is_enough = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| write_on(&log, &is_enough));
        for arguments in [&["logs", &id][..], &["jobs"]] {
            let told = workshop.cli.run(arguments).ok().stdout;
            assert!(told.contains("the agent has much to say") && !writer.is_finished());
        }
        is_enough.store(true, Ordering::Relaxed);
    });
    fs::write(&go, "").unwrap();
    workshop.wait_for_end(&id);
}

#[test]
fn whoever_falls_far_behind_is_told_what_happens_now() {
    let workshop = Workshop::new("");
    let (pid, go) = (workshop.beside("agent"), workshop.beside("go"));
    let prompt = format!("pid {}\nwait-for {}\nprint all said", pid.display(), go.display());
    let follows = workshop.cli.spawn(&["run", "--agent", "coder", "--issue", "7", &prompt]);
    read_pid(&pid);
    let id = workshop.jobs()[0].id().to_owned();
    let log = workshop.story.sandbox().spinney_home().join(format!("logs/{id}.jsonl"));
    // At once, as if it had been written while nobody could follow.
    let entry = "{\"at_ms\":1,\"type\":\"output\",\"stream\":\"stdout\",\"text\":\"long ago\"}\n";
    File::options().append(true).open(&log).unwrap().write_all(entry.repeat(400_000).as_bytes()).unwrap();
    fs::write(&go, "").unwrap();
    let told = follows.wait().ok().stderr;
    let passed_over = format!(" MB passed over; `spinney logs {id}` has all of it\n");
    assert!(told.contains(&passed_over) && told.contains("\nall said\n"), "{} bytes", told.len());
    assert!(told.matches("long ago").count() < 200_000);
}

#[test]
fn an_output_without_an_end_of_line_is_told() {
    let workshop = Workshop::new("");
    program(&workshop, "printf 'half a line'; printf 'and one here' >&2");
    let job = workshop.complete(&["--issue", "7"], "x");
    assert_eq!(job.text("summary"), "half a line");
    workshop.assert_logged(job.id(), "and one here");
}

#[test]
fn a_prompt_that_nobody_reads_holds_nothing_up() {
    let workshop = Workshop::new("");
    program(&workshop, "exec true");
    write_program(workshop.beside("agent.sh"), "#!/bin/sh\nexec true\n");
    let job = workshop.complete(&["--issue", "7"], &"long ".repeat(20_000));
    assert_eq!(job.text("status"), "completed");
}
