//! Processes that have their working directory or open files inside a workspace.
//!
//! A process that may not be inspected is no reason to keep a workspace: an ordinary user can't look into the
//! processes of others, nor into their own ssh-agent.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProcessInside {
    pub pid: u32,
    pub command: String,
    pub path: PathBuf,
}

/// Lists the processes inside a directory, this one aside; none where the system has no `/proc`.
pub(crate) fn processes_inside(directory: &Path) -> Vec<ProcessInside> {
    // The kernel names real paths.
    let directory = &crate::disk::resolved(directory);
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let own = std::process::id();
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| *pid != own).filter_map(|pid| inspect(pid, directory)).collect()
}

/// How long a killed process may take to end: one that waits for a disk ends when the disk answers.
const LAST_BREATH: Duration = Duration::from_secs(2);

/// Ends every process that has this variable with this value in its environment: what we started, however it detached.
pub(crate) fn end_started_with(variable: &str, value: &str) {
    let wanted = format!("{variable}={value}");
    let deadline = Instant::now() + LAST_BREATH;
    // Killed and gone are two things, and what is not gone may still write.
    loop {
        let found = started_with(&wanted);
        if found.is_empty() || Instant::now() > deadline {
            return;
        }
        for pid in found {
            let _ = kill_process(pid, Signal::KILL);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A process that has ended has no environment any more.
fn started_with(wanted: &str) -> Vec<Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let process = |entry: fs::DirEntry| {
        let pid = entry.file_name().to_str()?.parse().ok().and_then(Pid::from_raw)?;
        let environment = fs::read(entry.path().join("environ")).ok()?;
        environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes()).then_some(pid)
    };
    entries.into_iter().filter_map(process).collect()
}

fn inspect(pid: u32, directory: &Path) -> Option<ProcessInside> {
    let process = PathBuf::from(format!("/proc/{pid}"));
    let inside = |link: PathBuf| fs::read_link(link).ok().filter(|target| target.starts_with(directory));
    let open_file = || {
        let descriptors = fs::read_dir(process.join("fd")).ok()?;
        descriptors.flatten().find_map(|descriptor| inside(descriptor.path()))
    };
    let path = inside(process.join("cwd")).or_else(open_file)?;
    let command = fs::read_to_string(process.join("comm")).unwrap_or_default().trim().to_owned();
    Some(ProcessInside { pid, command, path })
}
