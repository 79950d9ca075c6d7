//! Snapshots of btrfs subvolumes, by the program `btrfs`: making them is an `ioctl` that needs unsafe code otherwise.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal};

use super::CopyError;
use crate::home::disk;

type Result<T> = std::result::Result<T, CopyError>;

/// Where it may be besides `PATH`.
const SYSTEM_PROGRAMS: [&str; 5] = ["/usr/sbin", "/sbin", "/usr/local/sbin", "/usr/bin", "/bin"];
/// A snapshot takes milliseconds; a file system that is busy committing may take seconds.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The root of every subvolume has this inode.
const SUBVOLUME_INODE: u64 = 256;
pub(super) const BTRFS_MAGIC: u32 = 0x9123_683e;

/// The program `btrfs`.
#[derive(Debug, Clone)]
pub(crate) struct Btrfs {
    program: PathBuf,
}

/// How much of a tree's bytes is its own.
#[cfg(test)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shared {
    pub(crate) total: u64,
    pub(crate) exclusive: u64,
}

impl Btrfs {
    /// Looks for the program on a `PATH`.
    pub(crate) fn find(path: &OsStr) -> Option<Self> {
        let places = std::env::split_paths(path).chain(SYSTEM_PROGRAMS.map(PathBuf::from));
        let mut programs = places.filter(|place| place.is_absolute()).map(|place| place.join("btrfs"));
        programs.find(|program| program.is_file()).map(|program| Self { program })
    }

    /// Makes an empty subvolume at a path where nothing is.
    pub(crate) fn create(&self, path: &Path) -> Result<()> {
        self.run(&["subvolume", "create"], &[path]).map(drop)
    }

    /// Makes a writable snapshot of a subvolume at a path where nothing is.
    pub(crate) fn snapshot(&self, of: &Path, at: &Path) -> Result<()> {
        // It would make the snapshot inside a directory that is there already.
        if at.symlink_metadata().is_ok() {
            let source = io::ErrorKind::AlreadyExists.into();
            return Err(CopyError::Files { path: at.to_owned(), doing: "made", source });
        }
        self.run(&["subvolume", "snapshot"], &[of, at]).map(drop)
    }

    /// Lets nobody write in a subvolume any more, or lets its owner write again.
    pub(crate) fn set_read_only(&self, path: &Path, read_only: bool) -> Result<()> {
        let value = Path::new(if read_only { "true" } else { "false" });
        self.run(&["property", "set", "-ts"], &[path, Path::new("ro"), value]).map(drop)
    }

    /// Deletes a subvolume that was moved aside before, in the ordinary way where that needs rights that we lack.
    pub(crate) fn delete(&self, path: &Path) -> Result<()> {
        if !is_subvolume(path) {
            let source = io::Error::other("it is no subvolume");
            return Err(CopyError::Files { path: path.to_owned(), doing: "deleted", source });
        }
        // A read-only one refuses to lose its files; where it is not, this changes nothing.
        let _ = self.set_read_only(path, false);
        let failed = |source| CopyError::Files { path: path.to_owned(), doing: "deleted", source };
        disk::delete_moved_aside(path).map_err(failed)
    }

    /// Deletes a subvolume at once, where we may; what is inside of it goes with it.
    pub(crate) fn delete_whole(&self, path: &Path) -> bool {
        self.run(&["subvolume", "delete"], &[path]).is_ok()
    }

    /// How much of a tree's bytes no other tree has. It reads the whole tree's metadata.
    #[cfg(test)]
    pub(crate) fn shared_bytes(&self, path: &Path) -> Result<Shared> {
        let output = self.run(&["filesystem", "du", "-s", "--raw"], &[path])?;
        parse_du(&output).ok_or_else(|| CopyError::Program {
            command: "btrfs filesystem du".to_owned(),
            message: "its answer can't be read".to_owned(),
        })
    }

    /// Runs the program with nothing of our environment, and ends it when it takes too long.
    fn run(&self, words: &[&str], paths: &[&Path]) -> Result<String> {
        let failed = |message: String| CopyError::Program { command: format!("btrfs {}", words.join(" ")), message };
        #[expect(clippy::disallowed_methods, reason = "it is not git, and its arguments are paths of our own")]
        let mut command = Command::new(&self.program);
        command.args(words).args(paths).current_dir("/").env_clear().env("LC_ALL", "C").process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().map_err(|error| failed(error.to_string()))?;
        let Some(output) = wait(child) else {
            return Err(failed(format!("it did not end within {} s", TIMEOUT.as_secs())));
        };
        let output = output.map_err(|error| failed(error.to_string()))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(failed(said.lines().last().unwrap_or("it said nothing").to_owned()))
    }
}

/// Whether a path is the root of a subvolume.
pub(crate) fn is_subvolume(path: &Path) -> bool {
    let is_root = fs::symlink_metadata(path).is_ok_and(|found| found.is_dir() && found.ino() == SUBVOLUME_INODE);
    is_root && file_system_type(path) == Some(BTRFS_MAGIC)
}

/// The number by which the kernel knows a kind of file system.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is 32 bits in a wider field")]
pub(super) fn file_system_type(path: &Path) -> Option<u32> {
    rustix::fs::statfs(path).ok().map(|found| found.f_type as u32)
}

/// Waits for the program; none when it was ended because it took too long.
fn wait(child: Child) -> Option<io::Result<Output>> {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let (tell, told) = mpsc::channel();
    // A thread hears of the end at once; looking again and again would add a pause to each of a few milliseconds.
    thread::spawn(move || tell.send(child.wait_with_output()));
    let output = told.recv_timeout(TIMEOUT).ok();
    if output.is_none()
        && let Some(group) = group
    {
        let _ = rustix::process::kill_process_group(group, Signal::KILL);
        // It may be in the middle of making something.
        let _ = told.recv();
    }
    output
}

/// Reads the table of one line: total, exclusive, shared, name.
#[cfg(test)]
fn parse_du(output: &str) -> Option<Shared> {
    let mut words = output.lines().rfind(|line| !line.trim().is_empty())?.split_ascii_whitespace();
    Some(Shared { total: words.next()?.parse().ok()?, exclusive: words.next()?.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use spinney_testkit::write_program;

    use super::*;

    #[test]
    fn the_table_is_read() {
        let table = "     Total   Exclusive  Set shared  Filename\n   1052672        4096     1048576  a tree\n";
        assert_eq!(parse_du(table), Some(Shared { total: 1_052_672, exclusive: 4096 }));
        assert_eq!(parse_du("     Total   Exclusive  Set shared  Filename\n"), None);
        assert_eq!(parse_du(""), None);
    }

    #[test]
    fn an_ordinary_directory_is_no_subvolume() {
        let directory = tempfile::tempdir().unwrap();
        assert!(!is_subvolume(directory.path()) && !is_subvolume(&directory.path().join("none")));
        let btrfs = Btrfs { program: "/bin/true".into() };
        assert!(btrfs.delete(directory.path()).is_err() && directory.path().exists());
    }

    #[test]
    fn a_program_that_fails_is_told_with_what_it_said() {
        let directory = tempfile::tempdir().unwrap();
        let program = directory.path().join("btrfs");
        write_program(&program, "#!/bin/sh\necho one >&2\necho \"no: $HOME\" >&2\nexit 1\n");
        let btrfs = Btrfs::find(directory.path().as_os_str()).unwrap();
        let error = btrfs.create(&directory.path().join("new")).unwrap_err();
        assert_eq!(error.to_string(), "`btrfs subvolume create` failed: no: ");
        assert!(error.is_incapable());
    }
}
