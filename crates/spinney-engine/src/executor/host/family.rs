//! Every process that was started with a tag, however it detached.
//!
//! All of them carry the tag in their environment. Of a job more is found: its process adopts the orphans among its
//! descendants (it is their subreaper), so that what cleared its environment is still a descendant; what outlived the
//! job's process still has the environment, and whoever is in a process group with one that has it belongs to it, unless somebody
//! without it leads that group.
//!
//! Two are spared, with all that descends from them: what this process itself started to go on beside the job, and what
//! the caller spares: the process of a job that the agent started in its turn, which is recorded, seen and cancelled like
//! any other.

use std::fs;
use std::process::Child;
use std::sync::{Mutex, OnceLock, PoisonError};

use rustix::process::Pid;
use spinney_core::JobId;

use super::inside::processes_inside;
use crate::executor::{Tag, Tagged};

/// What this process started that is no part of its job. Nobody waits for them, so that none of their ids is given to a
/// process of the agent while this one lives.
static BESIDE: Mutex<Vec<Child>> = Mutex::new(Vec::new());

/// The job that this process runs.
static OWN_JOB: OnceLock<JobId> = OnceLock::new();

/// Lets a child of this process go on when the job is over.
pub fn spare(child: Child) {
    BESIDE.lock().unwrap_or_else(PoisonError::into_inner).push(child);
}

/// Makes this process the one that adopts orphaned descendants, and hides its environment from them. For the process of
/// one job: all that descends from it belongs to that job from then on.
pub fn become_head(job: &JobId) {
    let _ = OWN_JOB.set(job.clone());
    // Elsewhere there is neither this nor a `/proc` to look through: an agent's own process group is all that is ended.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    hide();
}

/// Hides the environment and the memory of this process from others of the same user, where the system can.
pub fn hide() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
}

/// The living processes that are meant.
pub(super) fn members(tagged: &Tagged<'_>) -> Vec<Pid> {
    let found = match tagged.tag {
        Tag::Job(job) => members_of_job(job, tagged),
        Tag::Operation(_) | Tag::Rebuilding(_) => carriers(tagged.tag),
    };
    match tagged.directory {
        Some(directory) if !found.is_empty() => {
            let inside = processes_inside(directory);
            found.into_iter().filter(|pid| inside.contains(&pid.as_raw_nonzero().get().cast_unsigned())).collect()
        }
        _ => found,
    }
}

/// What one look through `/proc` tells of a process.
struct Process {
    pid: i32,
    parent: i32,
    group: i32,
    is_zombie: bool,
}

/// Who carries a tag. A process that has ended has no environment any more.
fn carriers(tag: &Tag) -> Vec<Pid> {
    let wanted = wanted(tag);
    pids().filter(|pid| carries(*pid, &wanted)).filter_map(Pid::from_raw).collect()
}

/// Who carries the job's tag, and who is in a process group of such ones; in the job's own process all of its
/// descendants, too. Any other process may well have children that have nothing to do with the job.
fn members_of_job(job: &JobId, tagged: &Tagged<'_>) -> Vec<Pid> {
    let wanted = wanted(tagged.tag);
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let processes: Vec<Process> = pids().filter_map(look).filter(|process| !process.is_zombie).collect();
    // Read like the others': inside a container it is none, when whoever started this process is outside.
    let own_group = processes.iter().find(|process| process.pid == own).map(|process| process.group);
    let mut found: Vec<i32> = match OWN_JOB.get() {
        Some(own_job) if own_job == job => descendants(&processes, vec![own]),
        _ => Vec::new(),
    };
    let carriers: Vec<&Process> = processes.iter().filter(|process| carries(process.pid, &wanted)).collect();
    // A group that somebody else leads is not the job's, whoever joined it: a person's shell, say, that has the tag in one of
    // its commands.
    let is_led_by_another = |group: i32| {
        processes.iter().any(|process| process.pid == group) && carriers.iter().all(|carrier| carrier.pid != group)
    };
    let is_beside = |process: &&Process| {
        Some(process.group) != own_group
            && carriers.iter().any(|carrier| carrier.group == process.group)
            && !is_led_by_another(process.group)
    };
    found.extend(processes.iter().filter(is_beside).map(|process| process.pid));
    let heads = beside().into_iter().chain(found.iter().copied().filter(|pid| is_spared(*pid, tagged)));
    let spared = descendants(&processes, heads.collect());
    found.retain(|pid| !spared.contains(pid));
    found.extend(carriers.iter().map(|process| process.pid));
    found.into_iter().filter(|pid| *pid != own).filter_map(Pid::from_raw).collect()
}

fn wanted(tag: &Tag) -> String {
    format!("{}={}", tag.variable(), tag.value())
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

fn is_spared(pid: i32, tagged: &Tagged<'_>) -> bool {
    let Some(spares) = tagged.spares else { return false };
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words: Vec<&[u8]> = line.strip_suffix(b"\0").unwrap_or(&line).split(|byte| *byte == 0).collect();
    spares(&words)
}

fn pids() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
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
