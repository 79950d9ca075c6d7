//! Processes that have their working directory or open files inside a workspace.
//!
//! A process that may not be inspected is no reason to keep a workspace: an ordinary user can't look into the
//! processes of others, nor into their own ssh-agent.

use std::ffi::{CStr, CString, OsStr};
use std::fs;
use std::mem::MaybeUninit;
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, RawDir};
use rustix::process::{Pid, Signal, kill_process};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProcessInside {
    pub pid: u32,
    pub command: String,
    pub path: PathBuf,
}

/// As few processes as one thread looks at in the time that starting another takes.
const WORTH_A_THREAD: usize = 32;
const MOST_THREADS: usize = 4;

/// Lists the processes inside a directory, this one aside; none where the system has no `/proc`.
pub(crate) fn processes_inside(directory: &Path) -> Vec<ProcessInside> {
    // The kernel names real paths.
    let directory = &crate::disk::resolved(directory);
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(proc) = &rustix::fs::open("/proc", flags, Mode::empty()) else { return Vec::new() };
    let own = std::process::id().to_string();
    let mut pids: Vec<CString> = Vec::new();
    for_each_number(proc, |pid| pids.extend((pid.to_bytes() != own.as_bytes()).then(|| pid.to_owned())));
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get).min(MOST_THREADS);
    let share = pids.len().div_ceil(threads).max(WORTH_A_THREAD);
    let look = |pids: &[CString]| pids.iter().filter_map(|pid| inspect(proc, pid, directory)).collect::<Vec<_>>();
    std::thread::scope(|scope| {
        let (ours, others) = pids.split_at(share.min(pids.len()));
        let others: Vec<_> = others.chunks(share).map(|pids| scope.spawn(move || look(pids))).collect();
        let mut found = look(ours);
        for other in others {
            match other.join() {
                Ok(more) => found.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        found
    })
}

/// How long a killed process may take to end: one that waits for a disk ends when the disk answers.
const LAST_BREATH: Duration = Duration::from_secs(2);

/// Ends every process that has this variable with this value in its environment: what we started, however it detached.
pub(crate) fn end_started_with(variable: &str, value: &str) {
    let wanted = format!("{variable}={value}");
    end_all(|| started_with(&wanted));
}

/// The same, of those inside a directory: a compiler's server, say, that serves others too goes on.
pub(crate) fn end_inside(directory: &Path, variable: &str, value: &str) {
    let wanted = format!("{variable}={value}");
    end_all(|| {
        let ours = started_with(&wanted);
        let inside = if ours.is_empty() { Vec::new() } else { processes_inside(directory) };
        let is_inside = |pid: &Pid| inside.iter().any(|found| found.pid.cast_signed() == pid.as_raw_nonzero().get());
        ours.into_iter().filter(is_inside).collect()
    });
}

fn end_all(find: impl Fn() -> Vec<Pid>) {
    let deadline = Instant::now() + LAST_BREATH;
    // Killed and gone are two things, and what is not gone may still write.
    loop {
        let found = find();
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

/// Looks at one process by its own directory: that is a third of the work of naming each of its files from the root.
fn inspect(proc: &OwnedFd, pid: &CStr, directory: &Path) -> Option<ProcessInside> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let process = rustix::fs::openat(proc, pid, OFlags::PATH | flags, Mode::empty()).ok()?;
    let inside = |place: &OwnedFd, link: &CStr| {
        let target = rustix::fs::readlinkat(place, link, Vec::new()).ok()?;
        let target = Path::new(OsStr::from_bytes(target.as_bytes()));
        target.starts_with(directory).then(|| target.to_owned())
    };
    let open_file = || {
        let descriptors = rustix::fs::openat(&process, c"fd", flags, Mode::empty()).ok()?;
        let mut found = None;
        for_each_number(&descriptors, |descriptor| {
            if found.is_none() {
                found = inside(&descriptors, descriptor);
            }
        });
        found
    };
    let path = inside(&process, c"cwd").or_else(open_file)?;
    let pid = pid.to_str().ok()?.parse().ok()?;
    let command = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim().to_owned();
    Some(ProcessInside { pid, command, path })
}

/// Goes through the names of a directory of `/proc` that are numbers; what ends meanwhile is no error.
fn for_each_number(directory: &OwnedFd, mut see: impl FnMut(&CStr)) {
    let mut buffer = [const { MaybeUninit::uninit() }; 8 << 10];
    let mut names = RawDir::new(directory, &mut buffer);
    while let Some(Ok(name)) = names.next() {
        if name.file_name().to_bytes().iter().all(u8::is_ascii_digit) {
            see(name.file_name());
        }
    }
}
