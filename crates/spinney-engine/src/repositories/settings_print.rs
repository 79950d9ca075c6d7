//! What a repository tells every git in it: its configuration, hooks, attributes and excludes. They are one for all its
//! worktrees, so that an agent that changes them changes them for everybody.
//!
//! Told are other contents, not other times: git writes its configuration anew for little. What git itself notes there for
//! a branch that is pushed or followed, for a submodule, and for LFS is no change.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use async_recursion::async_recursion as boxed;
use spinney_core::names::cut_for_message;
use spinney_git::Repository;

use crate::repositories::escape::{CHANGED, DELETED, MOST_PATH_CHARACTERS, MainCheckout, NEW};

const CONFIG: &str = "config";
const HOOKS: &str = "hooks";
const OTHERS: [&str; 3] = ["config.worktree", "info/attributes", "info/exclude"];
/// What is read of one file; one that is longer differs by its size, too.
const MOST_BYTES: u64 = 1 << 20;
/// How many hooks are looked at.
const MOST_HOOKS: usize = 1000;

/// The settings at one moment, by path in git's own directory.
#[derive(Debug)]
pub struct SettingsPrint(BTreeMap<PathBuf, Setting>);

#[derive(Debug, PartialEq, Eq)]
struct Setting {
    mode: u32,
    size: u64,
    content: Vec<u8>,
}

impl SettingsPrint {
    /// Reads them; a few small files.
    #[must_use]
    pub fn read(checkout: &MainCheckout) -> Self {
        let directory = checkout.git().common_dir();
        let hooks = fs::read_dir(directory.join(HOOKS)).into_iter().flatten().flatten();
        let hooks = hooks.take(MOST_HOOKS).map(|entry| Path::new(HOOKS).join(entry.file_name()));
        let paths = OTHERS.iter().map(PathBuf::from).chain([CONFIG.into()]).chain(hooks);
        Self(paths.filter_map(|path| read(&directory.join(&path)).map(|setting| (path, setting))).collect())
    }

    /// What differs in a later print, by path: `.git/config (changed)`.
    #[boxed]
    pub async fn compare(&self, checkout: &MainCheckout, later: &Self) -> Vec<String> {
        let git = checkout.git();
        let mut told = Vec::new();
        let paths: BTreeSet<_> = self.0.keys().chain(later.0.keys()).collect();
        for path in paths {
            let what = match (self.0.get(path), later.0.get(path)) {
                (Some(old), Some(new)) if old == new => continue,
                (Some(old), Some(new)) if path.as_os_str() == CONFIG && means_the_same(git, old, new).await => continue,
                (Some(_), None) => DELETED,
                (None, _) => NEW,
                (Some(_), Some(_)) => CHANGED,
            };
            let whole = git.common_dir().join(path);
            let shown = git.root().and_then(|root| whole.strip_prefix(root).ok()).unwrap_or(&whole);
            told.push(format!("{} ({what})", cut_for_message(&shown.to_string_lossy(), MOST_PATH_CHARACTERS)));
        }
        told
    }
}

fn read(path: &Path) -> Option<Setting> {
    let metadata = fs::metadata(path).ok()?;
    let mut content = Vec::new();
    // What is no file, a pipe among them, has no content that could be read.
    if metadata.is_file() {
        fs::File::open(path).ok()?.take(MOST_BYTES).read_to_end(&mut content).ok()?;
    }
    Some(Setting { mode: metadata.mode(), size: metadata.size(), content })
}

/// Whether two configurations differ in nothing but git's own notes. What git can't read is another one.
async fn means_the_same(git: &Repository, old: &Setting, new: &Setting) -> bool {
    if old.mode != new.mode || old.size.max(new.size) > MOST_BYTES {
        return false;
    }
    let parsed = (git.parse_config(old.content.clone()).await, git.parse_config(new.content.clone()).await);
    let (Ok(mut old), Ok(mut new)) = parsed else { return false };
    for settings in [&mut old, &mut new] {
        settings.retain(|(key, _)| !is_note(key));
    }
    old == new
}

/// Whether git notes a key by itself. It gives the first and the last part of one in small letters.
fn is_note(key: &str) -> bool {
    let (section, rest) = key.split_once('.').unwrap_or((key, ""));
    let name = rest.rsplit_once('.').map_or(rest, |(_, name)| name);
    match section {
        "branch" => true,
        "submodule" => matches!(name, "active" | "url"),
        "lfs" => matches!(name, "access" | "repositoryformatversion"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_notes_is_no_setting() {
        for key in
            ["branch.a.b.merge", "submodule.lib.url", "lfs.https://host/a.git.access", "lfs.repositoryformatversion"]
        {
            assert!(is_note(key), "{key}");
        }
        for key in ["core.hookspath", "submodule.lib.update", "submodule.recurse", "lfs.url", "remote.origin.url", "x"]
        {
            assert!(!is_note(key), "{key}");
        }
    }
}
