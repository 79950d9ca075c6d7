//! Whether a branch is checked out: asked of the files that git keeps for each worktree, which are quicker to read than
//! git is to list a thousand worktrees.

use std::path::{Path, PathBuf};

use spinney_core::BranchName;

use crate::Result;
use crate::head::NOT_IN_A_FILE;
use crate::repository::Repository;
use crate::worktree::read_pointer;

impl Repository {
    /// Whether any worktree or the main checkout is on a branch, or in the middle of rebasing it.
    pub async fn is_checked_out(&self, branch: &BranchName) -> Result<bool> {
        let wanted = branch.local_ref();
        if let Some(refs) = self.checked_out_refs() {
            return Ok(refs.contains(&wanted));
        }
        let entries = self.load_worktrees().await?;
        Ok(entries.iter().any(|entry| entry.branch_ref.as_deref() == Some(wanted.as_str())))
    }

    /// The refs that HEADs lead to; none where only git can tell, as while a worktree is being made.
    fn checked_out_refs(&self) -> Option<Vec<String>> {
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
        let refs: Option<Vec<Option<String>>> = places.iter().map(|place| checked_out_ref(place)).collect();
        Some(refs?.into_iter().flatten().collect())
    }
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
