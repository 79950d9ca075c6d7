//! File systems that can share the blocks of copied files, each in a file of its own.

use std::env;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

use crate::programs::process::start;

/// Where `mkfs` and its kind are, often off an ordinary user's `PATH`.
const SYSTEM_PROGRAMS: [&str; 2] = ["/usr/sbin", "/sbin"];

/// A mounted file system. Unmounted and deleted when dropped, after a panic too.
#[derive(Debug)]
pub struct LoopImage {
    directory: TempDir,
}

impl LoopImage {
    /// An XFS with reflinks. None, with a line on stderr, where that can't be had.
    #[must_use]
    pub fn xfs(bytes: u64) -> Option<Self> {
        Self::make("xfs", &["mkfs.xfs", "-q", "-m", "reflink=1"], bytes)
    }

    /// A btrfs. None, with a line on stderr, where that can't be had.
    #[must_use]
    pub fn btrfs(bytes: u64) -> Option<Self> {
        Self::make("btrfs", &["mkfs.btrfs", "-q"], bytes)
    }

    fn make(kind: &str, mkfs: &[&str], bytes: u64) -> Option<Self> {
        Self::try_make(kind, mkfs, bytes).map_err(|reason| eprintln!("left out, no {kind} to test on: {reason}")).ok()
    }

    fn try_make(kind: &str, mkfs: &[&str], bytes: u64) -> Result<Self, String> {
        let directory = tempfile::Builder::new().prefix("spinney-image-").tempdir().expect("a temporary directory");
        // A directory that we just made is ours.
        if directory.path().metadata().expect("it was just made").uid() != 0 {
            return Err("only root can mount one".to_owned());
        }
        let image = directory.path().join("image");
        let made = File::create(&image).and_then(|file| file.set_len(bytes));
        made.expect("a file with a hole takes no space");
        fs::create_dir(directory.path().join("mounted")).expect("it was just made");
        run(Command::new(find(mkfs[0])?).args(&mkfs[1..]).arg(&image))?;
        let mounted = Self { directory };
        run(Command::new(find("mount")?).args(["-t", kind, "-o", "loop"]).arg(&image).arg(mounted.path()))?;
        Ok(mounted)
    }

    /// Where it is mounted.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.directory.path().join("mounted")
    }
}

impl Drop for LoopImage {
    fn drop(&mut self) {
        let Ok(umount) = find("umount") else { return };
        // A process that still ends holds a file open for a moment; then the kernel unmounts it when that is over.
        if start(Command::new(&umount).arg(self.path())).wait().status != 0 {
            start(Command::new(&umount).arg("--lazy").arg(self.path())).wait();
        }
    }
}

fn find(name: &str) -> Result<PathBuf, String> {
    let path = env::var_os("PATH").unwrap_or_default();
    let places = env::split_paths(&path).chain(SYSTEM_PROGRAMS.map(PathBuf::from));
    let found = places.map(|directory| directory.join(name)).find(|program| program.is_file());
    found.ok_or_else(|| format!("`{name}` is not installed"))
}

fn run(command: &mut Command) -> Result<(), String> {
    let ran = start(command).wait();
    if ran.status == 0 { Ok(()) } else { Err(ran.stderr.trim_end().to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_goes_with_its_guard_also_in_a_panic() {
        for make in [LoopImage::xfs, LoopImage::btrfs] {
            let Some(image) = make(512 << 20) else { continue };
            let mounts = || fs::read_to_string("/proc/self/mountinfo").expect("Linux has it");
            let path = image.path();
            fs::write(path.join("file"), "x").unwrap();
            assert!(mounts().contains(path.to_str().unwrap()));
            let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
                let _image = image;
                panic!("on purpose");
            }));
            assert!(panicked.is_err() && !path.exists() && !mounts().contains(path.to_str().unwrap()));
        }
    }

    #[test]
    fn what_is_not_there_is_said() {
        assert!(LoopImage::try_make("none", &["mkfs.no-such-file-system"], 1 << 20).is_err());
    }
}
