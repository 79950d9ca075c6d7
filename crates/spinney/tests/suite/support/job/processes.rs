//! The processes of jobs and their agents, and signals to them.

use std::fs;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use spinney_testkit::wait_until;

use super::LONG;

/// What `/proc` tells of a process.
#[derive(Debug)]
pub struct Process {
    pub id: u32,
    pub line: String,
    pub environment: String,
}

impl Process {
    pub fn is_of_a_job(&self) -> bool {
        self.environment.contains("SPINNEY_JOB_ID=")
            || self.line.contains("\0job-run\0")
            || self.line.ends_with("\0job-queue\0")
    }
}

/// The living processes that are meant.
pub fn processes(is_meant: impl Fn(&Process) -> bool) -> Vec<Process> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let text = |id: u32, name: &str| {
        let bytes = fs::read(format!("/proc/{id}/{name}")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    ids.map(|id| Process { id, line: text(id, "cmdline"), environment: text(id, "environ") }).filter(is_meant).collect()
}

/// The process that runs a job.
pub fn runner_of(job: &str) -> Option<u32> {
    let wanted = format!("\0job-run\0{job}\0");
    processes(|process| process.line.contains(&wanted)).first().map(|process| process.id)
}

/// Whether a process lives; one that only waits to be reaped does not.
pub fn is_alive(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// Sends a signal to a process.
#[track_caller]
pub fn signal(process: u32, signal: Signal) {
    kill_process(pid(process), signal).unwrap();
}

/// Sends a signal to a process group, as a terminal does.
#[track_caller]
pub fn signal_group(group: u32, signal: Signal) {
    kill_process_group(pid(group), signal).unwrap();
}

/// Kills a process that may be gone already.
pub fn kill_if_alive(process: u32) {
    let _ = kill_process(pid(process), Signal::KILL);
}

fn pid(process: u32) -> Pid {
    Pid::from_raw(process.cast_signed()).unwrap()
}

/// A process's group and session.
#[track_caller]
pub fn group_and_session(process: u32) -> (u32, u32) {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let fields: Vec<_> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    (fields[2].parse().unwrap(), fields[3].parse().unwrap())
}

/// Waits for a file that holds a process's id. Who writes it by a shell's `>` has made it before anything is in it.
#[track_caller]
pub fn read_pid(path: &Path) -> u32 {
    let read = || fs::read_to_string(path).ok()?.trim().parse().ok();
    wait_until(|| read().is_some(), LONG);
    read().unwrap()
}
