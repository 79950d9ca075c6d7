//! Every process that an agent started, however it detached.
//!
//! A job's process adopts the orphans among its descendants (it is their subreaper), and each process of a job carries
//! the job's id in its environment. What cleared its environment is still a descendant; what outlived the job's process
//! still has the environment.
//!
//! Two are spared, with all that descends from them: what this process itself started to go on beside the job, and the
//! process of a job that the agent started in its turn, which is recorded, seen and cancelled like any other.

use std::fs;
use std::process::Child;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use spinney_core::JobId;

use crate::{Launcher, lock};

/// In the environment of everything that runs for a job.
pub(crate) const JOB_VARIABLE: &str = "SPINNEY_JOB_ID";

/// How long a killed process may take to end: one that waits for a disk ends when the disk answers.
const LAST_BREATH: Duration = Duration::from_secs(2);

/// What this process started that is no part of its job. Nobody waits for them, so that none of their ids is given to a
/// process of the agent while this one lives.
static BESIDE: Mutex<Vec<Child>> = Mutex::new(Vec::new());

/// Lets a child of this process go on when the job is over.
pub(crate) fn spare(child: Child) {
    BESIDE.lock().unwrap_or_else(PoisonError::into_inner).push(child);
}

/// Makes this process the one that adopts orphaned descendants, and hides its environment from them.
pub(crate) fn become_head() {
    // Elsewhere there is neither this nor a `/proc` to look through: an agent's own process group is all that is ended.
    #[cfg(target_os = "linux")]
    {
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
    }
}

/// Whom a process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    /// What is left of a job whose process died: who carries its id, and who is in a process group with one that does.
    /// This process may well have children that have nothing to do with it.
    Left,
    /// These and all descendants of this process, which runs the job.
    Own,
}

/// Ends all processes of a job, and waits until they are gone.
pub(crate) fn end_all(job: &JobId, family: Family, launcher: &dyn Launcher) {
    let deadline = Instant::now() + LAST_BREATH;
    loop {
        let found = members(job, family, launcher);
        if found.is_empty() || Instant::now() > deadline {
            return;
        }
        for pid in found {
            let _ = kill_process(pid, Signal::KILL);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// What one look through `/proc` tells of a process.
struct Process {
    pid: i32,
    parent: i32,
    group: i32,
    is_zombie: bool,
}

/// The living processes of a family.
fn members(job: &JobId, family: Family, launcher: &dyn Launcher) -> Vec<Pid> {
    let wanted = format!("{JOB_VARIABLE}={job}");
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let processes: Vec<Process> = pids.filter_map(look).filter(|process| !process.is_zombie).collect();
    // Read like the others': inside a container it is none, when whoever started this process is outside.
    let own_group = processes.iter().find(|process| process.pid == own).map(|process| process.group);
    let mut found: Vec<i32> = match family {
        Family::Own => descendants(&processes, vec![own]),
        Family::Left => Vec::new(),
    };
    let carriers: Vec<&Process> = processes.iter().filter(|process| carries(process.pid, &wanted)).collect();
    let is_beside = |process: &&Process| {
        Some(process.group) != own_group && carriers.iter().any(|carrier| carrier.group == process.group)
    };
    found.extend(processes.iter().filter(is_beside).map(|process| process.pid));
    let heads = beside().into_iter().chain(found.iter().copied().filter(|pid| runs_another_job(*pid, job, launcher)));
    let spared = descendants(&processes, heads.collect());
    found.retain(|pid| !spared.contains(pid));
    found.extend(carriers.iter().map(|process| process.pid));
    found.into_iter().filter(|pid| *pid != own).filter_map(Pid::from_raw).collect()
}

/// Processes and all that descend from them.
fn descendants(processes: &[Process], of: Vec<i32>) -> Vec<i32> {
    let mut found = of;
    let mut looked = 0;
    while let Some(parent) = found.get(looked).copied() {
        found.extend(processes.iter().filter(|process| process.parent == parent).map(|process| process.pid));
        looked += 1;
    }
    found
}

fn beside() -> Vec<i32> {
    let beside = BESIDE.lock().unwrap_or_else(PoisonError::into_inner);
    beside.iter().map(|child| child.id().cast_signed()).collect()
}

/// Whether a process runs another job: it was started as such a one is, and that job's lock is held.
fn runs_another_job(pid: i32, job: &JobId, launcher: &dyn Launcher) -> bool {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words: Vec<&[u8]> = line.strip_suffix(b"\0").unwrap_or(&line).split(|byte| *byte == 0).collect();
    let other = launcher.job_of(&words).filter(|other| other.id != *job);
    other.is_some_and(|other| !lock::is_free(&lock::place(&other.home, &other.id)))
}

fn look(pid: i32) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may hold anything.
    let mut fields = stat.get(stat.rfind(')')? + 1..)?.split_whitespace();
    let state = fields.next()?;
    let (parent, group) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some(Process { pid, parent, group, is_zombie: matches!(state, "Z" | "X") })
}

fn carries(pid: i32, wanted: &str) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
}
