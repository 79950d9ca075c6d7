//! What a member holds beside the files of its commit, as one hash: taken when its preparation ends, compared before
//! anything of it may be deleted. No clock is asked: a file that was written, moved in or staged since makes another hash.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use spinney_core::Workspace;
use spinney_core::names::content_hash;
use spinney_git::{Index, ObjectFormat};

use crate::Engine;
use crate::repositories::context::Context;
use crate::tree::Tree;
use crate::verdict::holdings::{Holdings, Stands};

/// What the list of a member, and the names that wait to be listed, may take; a member that takes more counts as touched.
const MOST_BYTES: usize = 1 << 30;
const MOST_WAITING: usize = 2_000_000;

/// The hash of a tree in which nothing is but what its commit has.
pub(super) const NOTHING: &str = "";

impl Engine {
    /// Lists what is not as the commit has it: every path that git would not give back but for caches, and what the index
    /// holds. None where git or the disk gives no answer.
    pub(super) async fn list_member(&self, context: &Context, member: &Workspace, tree: &Tree) -> Option<String> {
        let format = ObjectFormat::of(&member.base_commit);
        let held = Holdings::load(context.config(), tree, format, Stands::InItsPlace).await.ok()?;
        if held.hidden || !held.opaque.is_empty() {
            return None;
        }
        let mut listed: Vec<PathBuf> = held.kept();
        listed.extend(held.dirty);
        listed.extend(held.missing);
        if listed.is_empty() {
            return Some(NOTHING.to_owned());
        }
        listed.sort();
        listed.dedup();
        let mut text = index_of(tree, member)?;
        for path in listed {
            list(&member.path.join(&path), &mut text).ok()?;
        }
        Some(content_hash(&text))
    }
}

/// What is staged: contents and flags, not the times by which git remembers files.
fn index_of(tree: &Tree, member: &Workspace) -> Option<Vec<u8>> {
    let index = Index::load(&tree.admin_dir().join("index"), ObjectFormat::of(&member.base_commit)).ok()?;
    let mut text = Vec::new();
    for entry in index.entries() {
        text.extend_from_slice(entry.path().as_os_str().as_bytes());
        text.extend_from_slice(entry.id.as_bytes());
        let flags = (entry.mode, entry.stage, entry.assume_valid, entry.skip_worktree, entry.intent_to_add);
        text.extend_from_slice(format!("\0{flags:?}\0").as_bytes());
    }
    Some(text)
}

/// Adds a file, or a directory and all in it, in the order of their names; one that is gone is that.
fn list(path: &Path, text: &mut Vec<u8>) -> io::Result<()> {
    let mut waiting = vec![path.to_owned()];
    while let Some(path) = waiting.pop() {
        if text.len() > MOST_BYTES || waiting.len() > MOST_WAITING {
            return Err(io::Error::other("it holds more than can be listed"));
        }
        text.extend_from_slice(path.as_os_str().as_bytes());
        let found = match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                text.extend_from_slice(b"\0gone\0");
                continue;
            }
            found => found?,
        };
        let (inode, size, mode) = (found.ino(), found.size(), found.mode());
        let stamp = format!("\0{inode} {size} {mode} {}.{}\0", found.ctime(), found.ctime_nsec());
        text.extend_from_slice(stamp.as_bytes());
        if found.is_dir() {
            let inside = fs::read_dir(&path)?.take(MOST_WAITING + 1).map(|entry| Ok(entry?.path()));
            let mut inside = inside.collect::<io::Result<Vec<_>>>()?;
            inside.sort();
            waiting.extend(inside.into_iter().rev());
        }
    }
    Ok(())
}
