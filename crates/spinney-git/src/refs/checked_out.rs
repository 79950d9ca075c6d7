//! Whether a branch is checked out or worked on: asked of the files that git keeps for each worktree, which are quicker to
//! read than git is to list a thousand worktrees.

use std::path::{Path, PathBuf};

use spinney_core::BranchName;

use crate::Result;
use crate::disk::regular::read_regular_text;
use crate::refs::head::NOT_IN_A_FILE;
use crate::repository::opened::Repository;
use crate::worktree::linked::read_pointer;

/// More than the refs of a rebase take.
const STATE_BYTES: u64 = 1 << 20;

impl Repository {
    /// Whether any worktree or the main checkout is on a branch, or in the middle of rebasing or bisecting it.
    pub async fn is_checked_out(&self, branch: &BranchName) -> Result<bool> {
        let wanted = branch.local_ref();
        let places = self.git_dirs();
        if places.iter().flatten().any(|place| held_refs(place).contains(&wanted)) {
            return Ok(true);
        }
        if let Some(refs) = places.as_deref().and_then(checked_out_refs) {
            return Ok(refs.contains(&wanted));
        }
        let entries = self.load_worktrees().await?;
        Ok(entries.iter().any(|entry| entry.branch_ref.as_deref() == Some(wanted.as_str())))
    }

    /// The git dirs of the main checkout and of each worktree; none where they can't be listed.
    fn git_dirs(&self) -> Option<Vec<PathBuf>> {
        let mut places: Vec<PathBuf> = Vec::new();
        if !self.is_bare() {
            places.push(self.common_dir().to_owned());
        }
        match std::fs::read_dir(self.common_dir().join("worktrees")) {
            Ok(entries) => {
                for entry in entries {
                    places.push(entry.ok()?.path());
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(_) => return None,
        }
        Some(places)
    }
}

/// The refs that HEADs lead to; none where only git can tell, as while a worktree is being made.
fn checked_out_refs(places: &[PathBuf]) -> Option<Vec<String>> {
    let refs: Option<Vec<Option<String>>> = places.iter().map(|place| checked_out_ref(place)).collect();
    Some(refs?.into_iter().flatten().collect())
}

/// The branches that an operation in progress comes back to or will move: a bisection, a rebase with `--update-refs`.
fn held_refs(git_dir: &Path) -> Vec<String> {
    let read = |name: &str| read_regular_text(&git_dir.join(name), STATE_BYTES).unwrap_or_default();
    let bisected = read("BISECT_START");
    let bisected = Some(bisected.trim()).filter(|name| !name.is_empty());
    // Each ref has a line of its own, before two with commits.
    let moved = read("rebase-merge/update-refs");
    let moved = moved.lines().filter(|line| line.starts_with("refs/")).map(str::to_owned);
    moved.chain(bisected.map(|name| format!("refs/heads/{name}"))).collect()
}

/// The ref that one HEAD leads to, or that a rebase will lead it back to; `None` within where it is on none.
fn checked_out_ref(git_dir: &Path) -> Option<Option<String>> {
    let head = git_dir.join("HEAD");
    // Long ago HEAD was a link.
    let head = read_pointer(&head).filter(|_| !head.is_symlink())?;
    match head.strip_prefix("ref:").map(str::trim) {
        Some(NOT_IN_A_FILE) => None,
        Some(name) => Some(Some(name.to_owned())),
        None => {
            let state = ["rebase-merge", "rebase-apply"].map(|name| git_dir.join(name).join("head-name"));
            Some(state.iter().find_map(|path| read_pointer(path)))
        }
    }
}
