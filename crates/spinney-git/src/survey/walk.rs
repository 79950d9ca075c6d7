//! Every path of a tree matched with the index, by exact name: which tracked files are proved to be as git knows them
//! by their `lstat` alone, which are not, which are gone, and what else is there.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use super::directory::{Kind, Root, is_local};
use super::path_of;
use crate::index::{Index, IndexDirectory, IndexEntry, IndexMode};

/// As few files as one thread looks at in the time that starting another takes.
const WORTH_A_THREAD: usize = 1000;

/// What a walk found. Tracked paths are positions in the index.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    /// There, and not proved to be what git knows.
    pub unproved: Vec<usize>,
    /// Not there; those that a sparse checkout leaves out are not among them.
    pub missing: Vec<usize>,
    /// Directories that the index knows as other repositories.
    pub gitlinks: Vec<usize>,
    /// What the index does not have. A directory stands for all that is in it.
    pub others: Vec<Other>,
}

/// A path that the index does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Other {
    pub path: PathBuf,
    pub kind: Kind,
}

/// How much a walk tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    /// Everything.
    End,
    /// Nothing after the first path that is not as the index has it.
    FirstDifference,
}

impl Walk {
    /// Whether every file is proved, and nothing else is there.
    pub fn is_exact(&self) -> bool {
        self.unproved.is_empty() && self.missing.is_empty() && self.gitlinks.is_empty() && self.others.is_empty()
    }

    fn append(&mut self, other: Self) {
        self.unproved.extend(other.unproved);
        self.missing.extend(other.missing);
        self.gitlinks.extend(other.gitlinks);
        self.others.extend(other.others);
    }
}

/// Walks a tree.
pub(crate) fn walk(tree: &Path, admin_dir: &Path, index: &Index, until: Until) -> io::Result<Walk> {
    let walker = Walker {
        root: Root::open(tree)?,
        index,
        // Times of a file system with another clock can't be compared with the index's.
        clock: is_local(tree) && is_local(admin_dir),
        until,
        ended: AtomicBool::new(false),
    };
    let directories = index.directories();
    if index.entries().len() < WORTH_A_THREAD {
        return walker.visit_all(&directories);
    }
    let (first, second) = IndexDirectory::halves(&directories);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| walker.visit_all(second));
        let mut found = walker.visit_all(first)?;
        found.append(other.join().map_err(|_| io::Error::other("a thread panicked"))??);
        Ok(found)
    })
}

struct Walker<'a> {
    root: Root,
    index: &'a Index,
    clock: bool,
    until: Until,
    ended: AtomicBool,
}

impl Walker<'_> {
    fn visit_all(&self, directories: &[IndexDirectory<'_>]) -> io::Result<Walk> {
        let mut found = Walk::default();
        for directory in directories {
            if self.ended.load(Ordering::Relaxed) {
                break;
            }
            self.visit(directory, &mut found)?;
            if self.until == Until::FirstDifference && !found.is_exact() {
                self.ended.store(true, Ordering::Relaxed);
            }
        }
        Ok(found)
    }

    fn visit(&self, directory: &IndexDirectory<'_>, found: &mut Walk) -> io::Result<()> {
        let (files, is_root) = (&directory.files, directory.path.is_empty());
        let Some(opened) = self.root.directory(directory.path)? else {
            for entry in files {
                self.missing(entry, found);
            }
            return Ok(());
        };
        let has_directory = |name: &[u8]| directory.directories.binary_search(&name).is_ok();
        let mut is_empty = true;
        opened.each_name(|name, kind| {
            is_empty = false;
            let tracked = files.binary_search_by(|entry| name_of(entry).cmp(name)).is_ok();
            let entered = kind == Kind::Directory && has_directory(name);
            if !(tracked || entered || (is_root && name == b".git")) {
                found.others.push(Other { path: path_of(directory.path).join(path_of(name)), kind });
            }
            Ok(())
        })?;
        // Git would not make a directory for files that are gone.
        if is_empty && !is_root {
            found.others.push(Other { path: path_of(directory.path).to_owned(), kind: Kind::Directory });
        }
        let mut last: Option<&[u8]> = None;
        for entry in files {
            // One path has up to three entries while there is a conflict.
            if last.replace(&entry.path) == Some(&entry.path) {
                continue;
            }
            let Some(looks) = opened.stat(name_of(entry))? else {
                self.missing(entry, found);
                continue;
            };
            if looks.kind == Kind::Directory {
                if entry.mode == IndexMode::Submodule {
                    found.gitlinks.push(self.index.position(entry));
                } else {
                    self.missing(entry, found);
                    if !has_directory(name_of(entry)) {
                        found.others.push(Other { path: entry.path().to_owned(), kind: looks.kind });
                    }
                }
            } else if entry.mode == IndexMode::Submodule {
                found.others.push(Other { path: entry.path().to_owned(), kind: looks.kind });
            } else {
                let same = looks.stat.is_some_and(|stat| entry.looks_like(looks.mode, &stat));
                if !(self.clock && entry.is_plain() && self.index.is_settled(entry) && same) {
                    found.unproved.push(self.index.position(entry));
                }
            }
        }
        Ok(())
    }

    /// Notes a tracked path that is not there, unless nobody expects it to be.
    fn missing(&self, entry: &IndexEntry, found: &mut Walk) {
        if !entry.skip_worktree && entry.mode != IndexMode::Submodule {
            found.missing.push(self.index.position(entry));
        }
    }
}

fn name_of(entry: &IndexEntry) -> &[u8] {
    use std::os::unix::ffi::OsStrExt;
    entry.name().as_bytes()
}
