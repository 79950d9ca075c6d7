//! What of a tree git would not give back, decided from a walk of every path on disk.
//!
//! Git's own answers are not enough to let a tree go: it does not look below a gitlink without `.git`, into a `.git`
//! beside tracked files, at a name that differs in case only, or behind a filter that loses something. So every path is
//! matched with the index by exact name, and a tracked file counts as git's only where git is proved to give back the same
//! bytes: it looks as it did when git last read it and no conversion applies, or it was compared.

mod compare;
mod conversion;
mod directory;
mod lfs;
mod unknown;
mod walk;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use conversion::Conversion;
use walk::{Until, walk};

pub use compare::Difference;
pub use directory::Kind;
pub use unknown::Unknown;
pub use walk::Other;

use crate::index::{Index, IndexEntry, IndexMode, ObjectFormat, ObjectId};
use crate::worktree::hidden::{copy_index, copy_with_time};
use crate::worktree::linked::Worktree;
use crate::{Error, Result};

/// The files of a tree are exactly those of an object: none changed, none missing, none more, not even an ignored one
/// or an empty directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Proof {
    tree: ObjectId,
    files: usize,
}

impl Proof {
    /// The tree object that the files are. Clean is the worktree only if this is `HEAD^{tree}`.
    #[must_use]
    pub fn tree(&self) -> ObjectId {
        self.tree
    }

    #[must_use]
    pub fn files(&self) -> usize {
        self.files
    }
}

/// A tracked file whose bytes git would not give back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Differing {
    pub path: PathBuf,
    pub difference: Difference,
    /// Whether git was told not to look at it (assume-unchanged, skip-worktree).
    pub hidden: bool,
    /// Whether a conversion applies to it, so that git may take other bytes for the same.
    pub convertible: bool,
}

/// What a tree holds beside what git would give back.
#[derive(Debug, Default)]
pub struct Survey {
    pub differing: Vec<Differing>,
    /// Tracked files that are not there.
    pub missing: Vec<PathBuf>,
    /// Tracked files whose content git-lfs has; a checkout may write their pointers only.
    pub large: Vec<PathBuf>,
    /// Directories that the index knows as other repositories, with a `.git` in them.
    pub submodules: Vec<PathBuf>,
    /// What the index does not have; a directory stands for all that is in it.
    others: Vec<Other>,
    tree: PathBuf,
}

impl Survey {
    /// Lists what the index does not have, path by path. Of a directory that `is_left_out`, only the repositories in it
    /// are told. Reads directories, so it may take a while.
    pub fn load_unknown(&self, is_left_out: &dyn Fn(&Path) -> bool) -> Result<Unknown> {
        unknown::list(&self.tree, &self.others, is_left_out)
    }
}

impl Worktree {
    /// Proves which tree object the files are, if that can be done quickly and for certain: no file is opened, and no git
    /// runs inside the tree.
    ///
    /// It is never a guess: whatever is unusual, unreadable or unknown gives no proof. What it does not look at: HEAD, a
    /// merge or rebase in progress, commits.
    pub async fn prove_clean(&self, format: ObjectFormat) -> Option<Proof> {
        // Somebody may have replaced the `.git` file since.
        let now = Self::open(self.repository(), self.path()).ok()?;
        if now.admin_dir() != self.admin_dir() || self.admin_dir().join("index.lock").symlink_metadata().is_ok() {
            return None;
        }
        let index = Arc::new(Index::load(&self.admin_dir().join("index"), format).ok()?);
        let tree = index.root_tree().filter(|_| index.version() < 4)?;
        // What a sparse checkout leaves out is nowhere on disk.
        if !index.entries().iter().all(IndexEntry::is_plain) {
            return None;
        }
        let found = self.walk(&index, Until::FirstDifference);
        let (found, settings) = tokio::join!(found, self.load_settings());
        let (found, settings) = (found.ok()?, settings.ok()?);
        // Git would have to be asked inside the tree.
        if !found.is_exact() || self.needs_git_for_attributes(&index, &settings) {
            return None;
        }
        let conversions = self.load_conversions(&index, &found.others, &settings).await.ok()?;
        if !self.load_unequal(&index, &conversions).await.ok()?.is_empty() {
            return None;
        }
        Some(Proof { tree, files: index.entries().len() })
    }

    /// Compares every path on disk with the index and, where that is no proof, with what git has.
    pub async fn survey(&self, format: ObjectFormat) -> Result<Survey> {
        let index = Arc::new(self.load_index(format).await?);
        let (found, settings) = tokio::join!(self.walk(&index, Until::End), self.load_settings());
        let (mut found, settings) = (found?, settings?);
        found.missing.sort_unstable();
        let conversions = self.load_conversions(&index, &found.others, &settings).await?;
        let unequal = self.load_unequal(&index, &conversions).await?;
        let there = unequal.into_iter().filter(|position| found.missing.binary_search(position).is_err());
        found.unproved.extend(there);
        found.unproved.sort_unstable();
        found.unproved.dedup();
        let (differing, large) = self.compare(&index, &found.unproved).await?;
        let path = |position: usize| index.entries()[position].path().to_owned();
        let mut survey = Survey { tree: self.path().to_owned(), others: found.others, ..Survey::default() };
        for (position, difference) in differing {
            let entry = &index.entries()[position];
            let hidden = entry.assume_valid || entry.skip_worktree;
            let convertible = conversions.contains_key(&position);
            survey.differing.push(Differing { path: path(position), difference, hidden, convertible });
        }
        survey.large = large.into_iter().map(path).collect();
        survey.missing = found.missing.into_iter().map(path).collect();
        survey.missing.dedup();
        for gitlink in found.gitlinks.into_iter().map(path) {
            if self.path().join(&gitlink).join(".git").symlink_metadata().is_ok() {
                survey.submodules.push(gitlink);
            } else if !unknown::is_empty(self.path(), &gitlink)? {
                // Nothing in it is git's to know.
                survey.others.push(Other { path: gitlink, kind: Kind::Directory });
            }
        }
        survey.submodules.sort();
        Ok(survey)
    }

    async fn walk(&self, index: &Arc<Index>, until: Until) -> Result<walk::Walk> {
        let (tree, admin_dir, index) = (self.path().to_owned(), self.admin_dir().to_owned(), Arc::clone(index));
        let walked = tokio::task::spawn_blocking(move || walk(&tree, &admin_dir, &index, until)).await;
        let walked = walked.unwrap_or_else(|error| Err(std::io::Error::other(error)));
        walked.map_err(|source| Error::io("look into", self.path(), source))
    }

    /// Lists the files that a conversion may hide: a filter or an encoding applies, or they are not as long as their
    /// blobs.
    async fn load_unequal(&self, index: &Index, conversions: &BTreeMap<usize, Conversion>) -> Result<Vec<usize>> {
        let (any, shrinking): (Vec<_>, Vec<_>) =
            conversions.iter().partition(|(_, conversion)| **conversion == Conversion::Any);
        let mut unequal: Vec<usize> = any.into_iter().map(|(position, _)| *position).collect();
        if shrinking.is_empty() {
            return Ok(unequal);
        }
        let positions: Vec<usize> = shrinking.into_iter().map(|(position, _)| *position).collect();
        let names = positions.iter().map(|position| format!("{}\n", index.entries()[*position].id));
        let command = self.command_outside().args(["cat-file", "--batch-check=%(objectsize)", "--buffer"]);
        let answer = command.stdin_bytes(names.collect::<String>().into_bytes()).run().await?.text();
        let mut sizes = answer.lines();
        for position in positions {
            // `<name> missing` is no size.
            let size = sizes.next().and_then(|size| size.parse::<u64>().ok());
            let noted = u64::from(index.entries()[position].stat.size);
            if size != Some(noted) {
                unequal.push(position);
            }
        }
        Ok(unequal)
    }

    /// Reads the index; one in a form that only git reads, from a copy that git writes plainly.
    async fn load_index(&self, format: ObjectFormat) -> Result<Index> {
        let path = self.admin_dir().join("index");
        match Index::load(&path, format) {
            Err(Error::InvalidIndex { .. }) => {}
            Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Index::empty(format));
            }
            loaded => return loaded,
        }
        let copy = copy_index(self.admin_dir(), &self.repository().require_state_dir()?)?;
        let (plain, original) = (copy.path().join("index"), copy.path().join("original"));
        copy_with_time(&plain, &original).map_err(|source| Error::io("copy", &plain, source))?;
        self.write_plain_index_to(&plain).await?;
        let modified = Index::load_time(&original)?;
        // What was young for the one that was read is young still.
        Ok(Index::load(&plain, format)?.written_at(modified))
    }
}

/// Finds the repositories at and below a directory of a tree; follows no link.
pub fn find_repositories(tree: &Path, directory: &Path) -> Result<Vec<PathBuf>> {
    let below = Other { path: directory.to_owned(), kind: Kind::Directory };
    Ok(unknown::list(tree, &[below], &|_| true)?.repositories)
}

pub(crate) fn path_of(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

impl IndexEntry {
    /// Whether git wants a file there whose content it may convert.
    fn is_regular(&self) -> bool {
        self.stage == 0 && matches!(self.mode, IndexMode::File | IndexMode::Executable)
    }
}
