//! A job around its agent: what it takes beside the agent's own time, while it waits, and of memory.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::Bench;
use super::measure::time;
use super::pool;
use super::process::Process;
use super::site::{Site, output};
use super::table::{Goal, MIB, Row, Unit, finish};

/// How long the agent takes: long enough for what goes on beside it.
const AGENT_SECONDS: &str = "0.5";
/// How long a process is watched that has nothing to do.
const WATCHED: Duration = Duration::from_secs(10);
const OUTPUT_BYTES: u64 = 1_000_000_000;
const MEMORY: f64 = 64.0 * MIB;
const START_WITHIN: Duration = Duration::from_secs(60);

/// The whole of `spinney run`, less the time between the first and the last thing that its agent does.
pub fn overhead(bench: &Bench) -> Vec<Row> {
    let row = |what: &str| Row::new(format!("`run` around its agent, {what}"), Unit::Millis);
    let mut task = row("nothing changed").goal(Goal::Under(200.0));
    let mut edit = row("one file to commit").goal(Goal::Under(200.0));
    let mut own = row("and its workspace goes");
    finish(measure_overhead(bench, &mut task, &mut edit, &mut own), [task, edit, own])
}

fn measure_overhead(bench: &Bench, task: &mut Row, edit: &mut Row, own: &mut Row) -> Result<()> {
    let mut site = site(bench)?;
    site.set(pool::SIZE, "3");
    let times = site.path().join("times");
    let stamp = format!("date +%s%N >>{}", times.display());
    let agent = |work: &str| format!("{stamp}; sleep {AGENT_SECONDS}; {work}; {stamp}");
    configure(&mut site, &[("idle", &agent("true")), ("editor", &agent("echo more >made.txt"))])?;
    for round in 0..=bench.rounds.fast {
        site.fill()?;
        site.settle()?;
        for (row, agent, flags) in
            [(&mut *task, "idle", true), (&mut *edit, "editor", true), (&mut *own, "idle", false)]
        {
            let name = format!("{agent} {round}");
            let work: &[&str] = if flags { &["--task", &name] } else { &[] };
            let _ = fs::remove_file(&times);
            let arguments = [&["run", "--json", "--agent", agent], work, &["go"]].concat();
            let (took, said) = time(|| site.spinney(&arguments))?;
            site.settle()?;
            check_warm(&site, &said.stdout)?;
            // The first round only warms up.
            if round > 0 {
                row.push(None, took - lasted(&times)?);
            }
        }
        site.clear()?;
    }
    Ok(())
}

/// Milliseconds between the stamps that an agent wrote.
fn lasted(times: &Path) -> Result<f64> {
    let text = fs::read_to_string(times).context("the agent did not run")?;
    let stamps: Vec<f64> = text.lines().map(str::parse).collect::<Result<_, _>>()?;
    match stamps.as_slice() {
        [start, end] => Ok((end - start) / 1e6),
        _ => bail!("the agent ran {} times", stamps.len() / 2),
    }
}

fn check_warm(site: &Site, said: &[u8]) -> Result<()> {
    let job: Value = serde_json::from_slice(said)?;
    let log = fs::read_to_string(log_of(site, &job))?;
    if !log.contains(", warm") {
        bail!("the pool was filled, and the job's workspace was cold");
    }
    Ok(())
}

fn log_of(site: &Site, job: &Value) -> PathBuf {
    site.home().join("logs").join(format!("{}.jsonl", job["id"].as_str().unwrap_or_default()))
}

/// Processor time in a second, of what starts a job that waits for its turn and of a job's process whose agent sleeps.
pub fn idle(bench: &Bench) -> Vec<Row> {
    let row = |what: &str| Row::new(format!("processor time a second, {what}"), Unit::Millis).goal(Goal::Under(5.0));
    let (mut waiting, mut sleeping) = (row("a job that waits for a worker"), row("a job whose agent sleeps"));
    finish(measure_idle(bench, &mut waiting, &mut sleeping), [waiting, sleeping])
}

fn measure_idle(bench: &Bench, waiting: &mut Row, sleeping: &mut Row) -> Result<()> {
    let mut site = site(bench)?;
    site.set("SPINNEY_LIMITS__MAX_WORKERS", "1");
    configure(&mut site, &[("sleeper", "exec sleep 1000")])?;
    let detached = |task: &str| -> Result<String> {
        let said = site.spinney(&["run", "--detach", "--agent", "sleeper", "--task", task, "go"])?;
        Ok(String::from_utf8_lossy(&said.stdout).trim().to_owned())
    };
    let (first, second) = (Runner::find(&detached("first")?)?, detached("second")?);
    // The one that waits has none of its own.
    let supervisor = find_process(&format!("{}\0job-queue\0", site.home().display()))?;
    let started = Instant::now();
    while !fs::read_to_string(site.home().join("logs").join(format!("{}.jsonl", first.job)))?.contains("\"session\"") {
        if started.elapsed() > START_WITHIN {
            bail!("the agent does not start");
        }
        thread::sleep(Duration::from_millis(100));
    }
    for _ in 0..bench.rounds.slow {
        let before = (first.process.processor_millis()?, supervisor.processor_millis()?);
        thread::sleep(WATCHED);
        let after = (first.process.processor_millis()?, supervisor.processor_millis()?);
        sleeping.push(None, (after.0 - before.0) / WATCHED.as_secs_f64());
        waiting.push(None, (after.1 - before.1) / WATCHED.as_secs_f64());
    }
    site.spinney(&["cancel", "--now", &second, &first.job])?;
    site.settle()
}

/// Peak memory of a job's process while its agent prints a gigabyte.
pub fn memory(bench: &Bench) -> Vec<Row> {
    let mut row = Row::new("peak memory of a job, 1 GB of output", Unit::Bytes).goal(Goal::Under(MEMORY));
    finish(measure_memory(bench, &mut row), [row])
}

fn measure_memory(bench: &Bench, row: &mut Row) -> Result<()> {
    let mut site = site(bench)?;
    let line = "x".repeat(99);
    configure(&mut site, &[("printer", &format!("yes {line} | head --bytes {OUTPUT_BYTES}"))])?;
    for round in 0..bench.rounds.slow.min(2) {
        let task = format!("print {round}");
        let said = site.spinney(&["run", "--detach", "--agent", "printer", "--task", &task, "go"])?;
        let runner = Runner::find(String::from_utf8_lossy(&said.stdout).trim())?;
        let mut peak = None;
        while let Some(more) = runner.process.peak_bytes() {
            peak = Some(more);
            thread::sleep(Duration::from_millis(20));
        }
        row.push(None, peak.context("it ended before it was seen")?);
        let log = site.home().join("logs").join(format!("{}.jsonl", runner.job));
        let written = fs::metadata(&log)?.len();
        if written < OUTPUT_BYTES {
            bail!("the log has only {written} bytes");
        }
        fs::remove_file(log)?;
        site.settle()?;
    }
    Ok(())
}

/// A clone without a remote: what a push takes is the remote's matter.
fn site(bench: &Bench) -> Result<Site> {
    let mut site = bench.site()?;
    let branch = site.git(&["branch", "--show-current"])?.stdout;
    site.git(&["remote", "remove", "origin"])?;
    site.set("SPINNEY_WORKSPACE__BASE", String::from_utf8_lossy(&branch).trim());
    Ok(site)
}

/// Gives the site agents: shell lines by name.
pub fn configure(site: &mut Site, agents: &[(&str, &str)]) -> Result<()> {
    let mut text = String::new();
    for (name, line) in agents {
        text.push_str(&format!("[agents.{name}]\nruntime = \"command\"\ncommand = [\"sh\", \"-c\", {line:?}]\n"));
    }
    let path = site.path().join("agents.toml");
    fs::write(&path, text)?;
    site.set("SPINNEY_CONFIG", &path.display().to_string());
    output(site.command(site.spinney_program()).args(["config", "validate"])).map(drop)
}

/// The process of a job.
#[derive(Debug)]
struct Runner {
    job: String,
    process: Process,
}

impl Runner {
    fn find(job: &str) -> Result<Self> {
        Ok(Self { job: job.to_owned(), process: find_process(&format!("job-run\0{job}\0"))? })
    }
}

/// Waits for a process by the end of its command line.
fn find_process(ending: &str) -> Result<Process> {
    let started = Instant::now();
    loop {
        let processes = fs::read_dir("/proc")?.flatten().map(|entry| entry.path());
        let is_meant = |process: &PathBuf| {
            let line = fs::read(process.join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).ends_with(ending)
        };
        if let Some(process) = processes.into_iter().find(is_meant) {
            return Ok(Process::new(process));
        }
        if started.elapsed() > START_WITHIN {
            bail!("no process of `{}`", ending.replace('\0', " "));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_lasts_from_its_first_stamp_to_its_last() {
        let directory = tempfile::tempdir().unwrap();
        let times = directory.path().join("times");
        assert!(lasted(&times).is_err());
        fs::write(&times, "1700000000000000000\n1700000000500000000\n").unwrap();
        assert!((lasted(&times).unwrap() - 500.0).abs() < 1.0);
    }
}
