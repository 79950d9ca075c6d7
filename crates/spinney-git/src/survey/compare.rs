//! Whether git can give back the bytes of a file: they are those of its blob, or what a checkout of the blob writes.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use super::lfs;
use crate::Result;
use crate::disk::scratch;
use crate::index::{BlobHasher, Index, IndexEntry, IndexMode};
use crate::settings::executing::Runs;
use crate::worktree::checkout::with_lfs;
use crate::worktree::linked::Worktree;

/// How many bytes are checked out at a time to be compared.
const BATCH_BYTES: u64 = 64 << 20;
const BATCH_FILES: usize = 2000;

/// How a file differs from what git gives back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Difference {
    Content,
    /// The content is the same, but not whether it may be run.
    Mode,
}

/// What a look at a file and its entry says.
enum Look {
    Same,
    /// Its blob is the pointer of git-lfs to its very content.
    Large,
    Differs(Difference),
    /// It is not the blob; a conversion may make it of the blob.
    Unequal {
        bytes: u64,
    },
}

impl Worktree {
    /// Compares files with what git has of them; tells those that differ, and those whose content git-lfs has, by their
    /// position in the index.
    pub(super) async fn compare(
        &self,
        index: &Index,
        positions: &[usize],
    ) -> Result<(Vec<(usize, Difference)>, Vec<usize>)> {
        let (tree, objects) = (self.path().to_owned(), lfs::objects_of(self.repository().common_dir()));
        let entries: Vec<(usize, IndexEntry)> =
            positions.iter().map(|position| (*position, index.entries()[*position].clone())).collect();
        let looked = tokio::task::spawn_blocking(move || look_at_all(&tree, objects.as_deref(), &entries));
        let looked = looked.await.unwrap_or_else(|_| positions.iter().map(|position| (*position, unknown())).collect());
        let (mut differing, mut large) = (Vec::new(), Vec::new());
        let (mut batch, mut batch_bytes) = (Vec::new(), 0);
        for (position, look) in looked {
            match look {
                Look::Same => {}
                Look::Large => large.push(position),
                Look::Differs(difference) => differing.push((position, difference)),
                Look::Unequal { bytes } => {
                    if batch.len() == BATCH_FILES || batch_bytes + bytes > BATCH_BYTES {
                        self.compare_checked_out(index, &std::mem::take(&mut batch), &mut differing).await;
                        batch_bytes = 0;
                    }
                    batch_bytes += bytes;
                    batch.push(position);
                }
            }
        }
        self.compare_checked_out(index, &batch, &mut differing).await;
        differing.sort_by_key(|(position, _)| *position);
        Ok((differing, large))
    }

    /// Compares files with what a checkout writes. Where git writes nothing, they differ.
    async fn compare_checked_out(&self, index: &Index, batch: &[usize], differing: &mut Vec<(usize, Difference)>) {
        if batch.is_empty() {
            return;
        }
        let same: BTreeSet<usize> = match self.check_out_aside(index, batch).await {
            Ok(aside) => batch
                .iter()
                .filter(|position| {
                    let path = index.entries()[**position].path();
                    is_same_content(&self.path().join(path), &aside.path().join(path)).unwrap_or(false)
                })
                .copied()
                .collect(),
            Err(_) => BTreeSet::new(),
        };
        let rest = batch.iter().filter(|position| !same.contains(position));
        differing.extend(rest.map(|position| (*position, Difference::Content)));
    }

    async fn check_out_aside(&self, index: &Index, batch: &[usize]) -> Result<tempfile::TempDir> {
        let aside = scratch::directory(&self.repository().require_state_dir()?, scratch::INDEX)?;
        let paths = batch.iter().flat_map(|position| [&index.entries()[*position].path, b"\0".as_slice()].concat());
        let prefix = [b"--prefix=", aside.path().as_os_str().as_bytes(), b"/"].concat();
        let command =
            with_lfs(self.command(), false).running(Runs::FILES).args(["checkout-index", "--quiet", "--force"]);
        let command = command.arg(std::ffi::OsStr::from_bytes(&prefix)).args(["-z", "--stdin"]);
        // A file that it can't write does not keep it from the others.
        command.stdin_bytes(paths.collect()).accept(&[0, 1, 128]).run().await?;
        Ok(aside)
    }
}

fn unknown() -> Look {
    Look::Differs(Difference::Content)
}

fn look_at_all(tree: &Path, objects: Option<&Path>, entries: &[(usize, IndexEntry)]) -> Vec<(usize, Look)> {
    // What can't be read is not known to be the same.
    let look = |entry: &IndexEntry| look_at(tree, objects, entry).unwrap_or_else(|_| unknown());
    entries.iter().map(|(position, entry)| (*position, look(entry))).collect()
}

fn look_at(tree: &Path, objects: Option<&Path>, entry: &IndexEntry) -> io::Result<Look> {
    let path = tree.join(entry.path());
    let found = fs::symlink_metadata(&path)?;
    if entry.stage != 0 || entry.intent_to_add {
        return Ok(unknown());
    }
    if found.is_symlink() {
        let mut hasher = BlobHasher::new(entry.id.format(), found.len());
        let target = fs::read_link(&path)?;
        hasher.update(target.as_os_str().as_bytes());
        let same = entry.mode == IndexMode::Link && hasher.finish() == entry.id;
        return Ok(if same { Look::Same } else { unknown() });
    }
    if !found.is_file() || entry.mode == IndexMode::Link {
        return Ok(unknown());
    }
    let executable = found.mode() & 0o100 != 0;
    let is_blob = is_blob(&path, found.len(), entry)?;
    if !is_blob && !lfs::is_kept(&path, found.len(), entry, objects)? {
        return Ok(Look::Unequal { bytes: found.len() });
    }
    let same_mode = executable == (entry.mode == IndexMode::Executable);
    Ok(match (same_mode, is_blob) {
        (false, _) => Look::Differs(Difference::Mode),
        (true, true) => Look::Same,
        (true, false) => Look::Large,
    })
}

fn is_blob(path: &Path, bytes: u64, entry: &IndexEntry) -> io::Result<bool> {
    let mut hasher = BlobHasher::new(entry.id.format(), bytes);
    let mut left = bytes;
    each_piece(&mut open(path)?, |piece| {
        hasher.update(piece);
        left = left.wrapping_sub(piece.len() as u64);
        Ok(())
    })?;
    Ok(left == 0 && hasher.finish() == entry.id)
}

/// Opens a regular file that may have become something else meanwhile.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOFOLLOW;
    let file = File::options().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is no file")) }
}

/// Reads to the end, piece by piece.
pub(super) fn each_piece(from: &mut impl Read, mut each: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let mut buffer = vec![0; 128 << 10];
    loop {
        match from.read(&mut buffer)? {
            0 => return Ok(()),
            count => each(&buffer[..count])?,
        }
    }
}

fn is_same_content(a: &Path, b: &Path) -> io::Result<bool> {
    let (a, b) = (open(a)?, open(b)?);
    if a.metadata()?.len() != b.metadata()?.len() {
        return Ok(false);
    }
    let mut b = io::BufReader::new(b);
    let mut same = true;
    each_piece(&mut io::BufReader::new(a), |piece| {
        let mut other = vec![0; piece.len()];
        same &= b.read_exact(&mut other).is_ok() && other == piece;
        Ok(())
    })?;
    Ok(same)
}
