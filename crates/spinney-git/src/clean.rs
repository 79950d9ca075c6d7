//! A quick proof that a tree is its index and nothing else, without git and without opening a tracked file.
//!
//! It is never a guess: whatever is unusual, unreadable or unknown gives no proof, and the caller asks git. What it does
//! not look at: HEAD, a merge or rebase in progress, commits.

use crate::index::{Index, ObjectFormat, ObjectId};
use crate::worktree::Worktree;

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

impl Worktree {
    /// Proves which tree object the files are, if that can be done quickly and for certain.
    #[must_use]
    pub fn prove_clean(&self, format: ObjectFormat) -> Option<Proof> {
        // Somebody may have replaced the `.git` file since.
        let now = Self::open(self.repository(), self.path()).ok()?;
        if now.admin_dir() != self.admin_dir() || self.admin_dir().join("index.lock").symlink_metadata().is_ok() {
            return None;
        }
        let index = Index::load(&self.admin_dir().join("index"), format).ok()?;
        if index.version() == 4 || !index.entries().iter().all(|entry| entry.is_plain() && index.is_settled(entry)) {
            return None;
        }
        let tree = index.root_tree()?;
        let holds = files::are_exactly(self.path(), self.admin_dir(), &index);
        holds.then_some(Proof { tree, files: index.entries().len() })
    }
}

#[cfg(target_os = "linux")]
mod files {
    use std::ffi::OsStr;
    use std::mem::MaybeUninit;
    use std::os::fd::OwnedFd;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;
    use std::sync::atomic::{AtomicBool, Ordering};

    use rustix::fs::{AtFlags, Mode, OFlags, RawDir, ResolveFlags};

    use crate::index::{Index, IndexDirectory, IndexEntry};

    /// File systems of this machine, whose times come from its own clock: ext2 to ext4, XFS, btrfs, tmpfs, F2FS,
    /// overlayfs, ZFS, bcachefs.
    const LOCAL: [u32; 8] =
        [0x0000_ef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0xf2f5_2010, 0x794c_7630, 0x2fc1_2fc1, 0xca45_1a4e];
    /// As few files as one thread looks at in the time that starting another takes.
    const WORTH_A_THREAD: usize = 1000;

    /// Whether the directory holds the files of the index as the index knows them, and nothing else but `.git`.
    pub(super) fn are_exactly(root: &Path, admin_dir: &Path, index: &Index) -> bool {
        // Times of a file system with another clock can't be compared with the index's.
        if !is_local(root) || !is_local(admin_dir) {
            return false;
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Ok(root) = rustix::fs::open(root, flags, Mode::empty()) else { return false };
        let directories = index.directories();
        let differs = AtomicBool::new(false);
        let look = |directories: &[IndexDirectory<'_>]| {
            for directory in directories {
                if differs.load(Ordering::Relaxed) {
                    return;
                }
                if !is_exact(&root, directory) {
                    differs.store(true, Ordering::Relaxed);
                }
            }
        };
        if index.entries().len() < WORTH_A_THREAD {
            look(&directories);
            return !differs.into_inner();
        }
        let (first, second) = IndexDirectory::halves(&directories);
        let ended = std::thread::scope(|scope| {
            let other = scope.spawn(|| look(second));
            look(first);
            other.join().is_ok()
        });
        ended && !differs.into_inner()
    }

    fn is_local(path: &Path) -> bool {
        rustix::fs::statfs(path).is_ok_and(|stat| LOCAL.iter().any(|magic| magic.cast_signed() == stat.f_type as i32))
    }

    /// Whether each file looks as its entry says, and the directory has no more names than the index. Of the names in
    /// it each is looked at, directories when their own turn comes: so as many names are the same names.
    fn is_exact(root: &OwnedFd, directory: &IndexDirectory<'_>) -> bool {
        let is_root = directory.path.is_empty();
        let path = if is_root { b"." } else { directory.path };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
        let opened = rustix::fs::openat2(root, OsStr::from_bytes(path), flags, Mode::empty(), resolve);
        let Ok(opened) = opened else { return false };
        count_names(&opened, is_root) == Some(directory.files.len() + directory.directories)
            && directory.files.iter().all(|entry| is_unchanged(&opened, entry))
    }

    fn is_unchanged(directory: &OwnedFd, entry: &IndexEntry) -> bool {
        let found = rustix::fs::statat(directory, entry.name(), AtFlags::SYMLINK_NOFOLLOW);
        found.is_ok_and(|found| entry.matches_stat(&found))
    }

    /// How many names a directory has, without those of itself, its parent and, at the root, `.git`.
    fn count_names(directory: &OwnedFd, is_root: bool) -> Option<usize> {
        let mut buffer = [const { MaybeUninit::uninit() }; 16 << 10];
        let mut names = RawDir::new(directory, &mut buffer);
        let mut count = 0;
        while let Some(name) = names.next() {
            let name = name.ok()?;
            let name = name.file_name().to_bytes();
            if !(matches!(name, b"." | b"..") || (is_root && name == b".git")) {
                count += 1;
            }
        }
        Some(count)
    }
}

#[cfg(not(target_os = "linux"))]
mod files {
    /// Looking into directories without a way out of the tree needs Linux.
    pub(super) fn are_exactly(_: &std::path::Path, _: &std::path::Path, _: &crate::index::Index) -> bool {
        false
    }
}
