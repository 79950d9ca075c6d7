//! Processes that have their working directory or open files inside a workspace.
//!
//! A process that may not be inspected is no reason to keep a workspace: an ordinary user can't look into the
//! processes of others, nor into their own ssh-agent.

use std::ffi::{CStr, CString, OsStr};
use std::mem::MaybeUninit;
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{Mode, OFlags, RawDir};

/// As few processes as one thread looks at in the time that starting another takes.
const WORTH_A_THREAD: usize = 32;
const MOST_THREADS: usize = 4;
/// How many milliseconds a child has to be started, on a machine that is busy.
const STARTS_WITHIN: u32 = 200;

/// Lists the processes inside a directory, this one aside; none where the system has no `/proc`.
pub(super) fn processes_inside(directory: &Path) -> Vec<u32> {
    // The kernel names real paths.
    let directory = &crate::home::disk::resolved(directory);
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
        found.retain(|pid| match parent(*pid) {
            Some(parent) if parent == std::process::id() => stays(proc, *pid, directory),
            Some(_) => true,
            // It has ended since.
            None => false,
        });
        found
    })
}

/// Who started a process; none where it is there no more.
fn parent(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(1)?.parse().ok()
}

/// Whether a child stays inside. While it is being started it stands where this process does, and has its files: until it
/// runs its own program in the place that it was sent to.
fn stays(proc: &OwnedFd, pid: u32, directory: &Path) -> bool {
    let Ok(name) = CString::new(pid.to_string()) else { return true };
    let program = |process: &str| std::fs::read_link(format!("/proc/{process}/exe")).ok();
    for _ in 0..STARTS_WITHIN {
        let is_started = program(&pid.to_string()) != program("self");
        if inspect(proc, &name, directory).is_none() {
            return false;
        }
        if is_started {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    true
}

/// Looks at one process by its own directory, and gives its id if it is inside: that is a third of the work of naming
/// each of its files from the root.
fn inspect(proc: &OwnedFd, pid: &CStr, directory: &Path) -> Option<u32> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let process = rustix::fs::openat(proc, pid, OFlags::PATH | flags, Mode::empty()).ok()?;
    let inside = |place: &OwnedFd, link: &CStr| {
        let Ok(target) = rustix::fs::readlinkat(place, link, Vec::new()) else { return false };
        let target = Path::new(OsStr::from_bytes(target.as_bytes()));
        target.starts_with(directory)
    };
    let has_open_file = || {
        let Ok(descriptors) = rustix::fs::openat(&process, c"fd", flags, Mode::empty()) else { return false };
        let mut found = false;
        for_each_number(&descriptors, |descriptor| found = found || inside(&descriptors, descriptor));
        found
    };
    if inside(&process, c"cwd") || has_open_file() { pid.to_str().ok()?.parse().ok() } else { None }
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
