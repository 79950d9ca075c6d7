//! Every process that an agent started, however it detached.
//!
//! A job's process adopts the orphans among its descendants (it is their subreaper), and each process of a job carries
//! the job's id in its environment. What cleared its environment is still a descendant; what outlived the job's process
//! still has the environment.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use spinney_core::JobId;

/// In the environment of everything that runs for a job.
pub(crate) const JOB_VARIABLE: &str = "SPINNEY_JOB_ID";

/// How long a killed process may take to end: one that waits for a disk ends when the disk answers.
const LAST_BREATH: Duration = Duration::from_secs(2);

/// Makes this process the one that adopts orphaned descendants, and hides its environment from them.
pub(crate) fn become_head() {
    // Where the system has no such thing, processes are still found by their environment.
    #[cfg(target_os = "linux")]
    {
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
    }
}

/// Whose processes are meant beside those that carry the job's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Descendants {
    /// This process runs the job: all that descend from it are the job's.
    Ours,
    /// This process only found a job that died. What descends from it may be other jobs.
    NotOurs,
}

/// Ends all processes of a job, and waits until they are gone.
pub(crate) fn end_all(job: &JobId, descendants: Descendants) {
    let wanted = format!("{JOB_VARIABLE}={job}");
    let deadline = Instant::now() + LAST_BREATH;
    loop {
        let found = members(&wanted, descendants);
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
    is_zombie: bool,
}

/// The living processes that carry the variable or, where those are the job's, descend from this one.
fn members(wanted: &str, whose: Descendants) -> Vec<Pid> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let processes: Vec<Process> = pids.filter_map(look).collect();
    let mut descendants = vec![own];
    loop {
        let more: Vec<i32> = processes
            .iter()
            .filter(|process| descendants.contains(&process.parent) && !descendants.contains(&process.pid))
            .map(|process| process.pid)
            .collect();
        if more.is_empty() {
            break;
        }
        descendants.extend(more);
    }
    let is_member = |process: &&Process| {
        process.pid != own
            && !process.is_zombie
            && (whose == Descendants::Ours && descendants.contains(&process.pid) || carries(process.pid, wanted))
    };
    processes.iter().filter(is_member).filter_map(|process| Pid::from_raw(process.pid)).collect()
}

fn look(pid: i32) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may hold anything.
    let mut fields = stat.get(stat.rfind(')')? + 1..)?.split_whitespace();
    let state = fields.next()?;
    Some(Process { pid, parent: fields.next()?.parse().ok()?, is_zombie: matches!(state, "Z" | "X") })
}

fn carries(pid: i32, wanted: &str) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
}
