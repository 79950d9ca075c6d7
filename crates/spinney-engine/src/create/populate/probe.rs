//! What a file system can do, found out by trying it, and remembered.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::snapshot::{BTRFS_MAGIC, Btrfs, file_system_type, is_subvolume};
use crate::home::layout::Home;

/// Some blocks, and a part of one.
const TRIED_BYTES: usize = 100 * 1024 + 17;
/// More than the memory of all file systems that one machine ever had.
const MAX_MEMORY: u64 = 256 << 10;

/// How files can be had without copying them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Capability {
    /// A whole tree at once, and single files.
    Snapshot,
    /// File by file.
    Reflink,
    None,
}

/// Tries it out in a directory of its own inside the given one, and removes that again.
pub(crate) fn probe(directory: &Path, btrfs: Option<&Btrfs>) -> io::Result<Capability> {
    let scratch = Scratch::make(directory)?;
    if !shares_files(&scratch.0)? {
        return Ok(Capability::None);
    }
    let snapshots = btrfs.filter(|_| file_system_type(directory) == Some(BTRFS_MAGIC));
    Ok(match snapshots {
        Some(btrfs) if makes_snapshots(&scratch.0, btrfs) => Capability::Snapshot,
        _ => Capability::Reflink,
    })
}

/// Shares a file, then writes to the copy: each must have its own content afterwards.
fn shares_files(scratch: &Path) -> io::Result<bool> {
    let (original, copy) = (scratch.join("original"), scratch.join("copy"));
    let content: Vec<u8> = (0..TRIED_BYTES).map(|at| (at % 251) as u8).collect();
    let mut source = File::create_new(&original)?;
    source.write_all(&content)?;
    let target = File::options().read(true).write(true).create_new(true).open(&copy)?;
    let shared = rustix::fs::ioctl_ficlone(&target, &source).is_ok() && fs::read(&copy)? == content && {
        target.write_all_at(b"another", 5000)?;
        let mut changed = content.clone();
        changed[5000..5007].copy_from_slice(b"another");
        fs::read(&original)? == content && fs::read(&copy)? == changed
    };
    fs::remove_file(&original)?;
    fs::remove_file(&copy)?;
    Ok(shared)
}

/// Makes a subvolume and a snapshot of it, and deletes both; whatever goes wrong, snapshots are not to be used.
fn makes_snapshots(scratch: &Path, btrfs: &Btrfs) -> bool {
    let (original, copy) = (scratch.join("subvolume"), scratch.join("snapshot"));
    let tried = || -> Option<()> {
        btrfs.create(&original).ok()?;
        fs::write(original.join("file"), "content").ok()?;
        btrfs.snapshot(&original, &copy).ok()?;
        fs::write(copy.join("file"), "another").ok()?;
        let as_expected = fs::read(original.join("file")).ok()? == b"content" && is_subvolume(&copy);
        as_expected.then_some(())
    };
    let worked = tried().is_some();
    let mut deleted = true;
    for path in [&copy, &original] {
        if path.exists() {
            deleted &= btrfs.delete(path).is_ok();
        }
    }
    worked && deleted
}

/// A directory that goes when it is dropped; what is in it is known by name and goes before.
struct Scratch(PathBuf);

impl Scratch {
    fn make(directory: &Path) -> io::Result<Self> {
        let made = |number: u32| {
            let path = directory.join(format!(".spinney-probe-{}-{number}", std::process::id()));
            DirBuilder::new().mode(0o700).create(&path).map(|()| Self(path))
        };
        let taken =
            |made: &io::Result<Self>| made.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::AlreadyExists);
        (0..100).map(made).find(|made| !taken(made)).unwrap_or_else(|| Err(io::ErrorKind::AlreadyExists.into()))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Only what a failure in the middle leaves behind.
        for name in ["original", "copy"] {
            let _ = fs::remove_file(self.0.join(name));
        }
        if let Err(error) = fs::remove_dir(&self.0) {
            tracing::debug!(%error, path = %self.0.display(), "scratch of a probe stays behind");
        }
    }
}

/// What is known of the file systems of this machine, in a small file in Spinney's home.
#[derive(Debug)]
pub(crate) struct Capabilities {
    file: PathBuf,
    btrfs: Option<Btrfs>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Known {
    device: u64,
    /// The number of its kind: a device's number may go to another file system after a restart.
    kind: u32,
    /// Whether the program for snapshots was there.
    program: bool,
    capability: Capability,
}

impl Capabilities {
    pub(crate) fn new(home: &Home, btrfs: Option<Btrfs>) -> Self {
        Self { file: home.root().join("file-systems.json"), btrfs }
    }

    /// What the file system of a directory can do: as remembered, else as tried. Nothing where it can't be tried.
    pub(crate) fn load_or_probe(&self, directory: &Path) -> Capability {
        let Some((device, kind)) = place(directory) else { return Capability::None };
        let mut known = self.load();
        let is_this = |known: &&Known| known.device == device && known.kind == kind;
        if let Some(known) = known.iter().find(is_this)
            && known.program == self.btrfs.is_some()
        {
            return known.capability;
        }
        match probe(directory, self.btrfs.as_ref()) {
            Ok(capability) => {
                known.retain(|known| !is_this(&known));
                known.push(Known { device, kind, program: self.btrfs.is_some(), capability });
                self.save(&known);
                capability
            }
            Err(error) => {
                tracing::debug!(%error, path = %directory.display(), "can't try what the file system can do");
                Capability::None
            }
        }
    }

    /// Forgets what turned out to be wrong, so that it is tried again.
    pub(crate) fn forget(&self, directory: &Path) {
        let Some((device, kind)) = place(directory) else { return };
        let mut known = self.load();
        known.retain(|known| known.device != device || known.kind != kind);
        self.save(&known);
    }

    /// An unreadable memory is an empty one.
    fn load(&self) -> Vec<Known> {
        let text = spinney_git::read_regular(&self.file, MAX_MEMORY).ok();
        text.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
    }

    /// Of several processes that write at once one wins; what the others found is found again.
    fn save(&self, known: &[Known]) {
        let aside = self.file.with_extension(format!("{}.new", std::process::id()));
        let text = serde_json::to_vec(known).unwrap_or_default();
        if let Err(error) = fs::write(&aside, text).and_then(|()| fs::rename(&aside, &self.file)) {
            tracing::debug!(%error, "can't remember what a file system can do");
        }
    }
}

fn place(directory: &Path) -> Option<(u64, u32)> {
    Some((fs::metadata(directory).ok()?.dev(), file_system_type(directory)?))
}
