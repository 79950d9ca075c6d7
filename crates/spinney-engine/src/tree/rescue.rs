//! Keeps what a removal takes with it alive, and brings it back: the rescue ref, large files, and the bundle.
//!
//! 1. [`Rescue::begin`] stamps what the pin is made of, and pins. In a mirror clone, where others' `fetch --prune` deletes
//!    our refs, the admin dir gets a bundle of the pin beside it.
//! 2. The caller moves tree and admin dir.
//! 3. [`Rescue::finish`] stamps again. Where somebody worked in the tree meanwhile, it pins again from the moved admin dir,
//!    and the way back leads to where HEAD really is.
//!
//! All under one lock. After a death in between nobody knows the first stamp, and it is always pinned again.

use std::path::{Path, PathBuf};

use async_recursion::async_recursion as boxed;
use spinney_core::{BranchName, Workspace};
use spinney_git::{PinStamp, Repository, RepositoryLock};

use super::finding::{find_admin_dir, nested_admin_dirs};
use super::marker::Removal;
use super::moving::{rescue_ref, trashed_admin_dir};
use super::provider;
use crate::Result;
use crate::repositories::context::Context;

/// One removal's pin.
pub(crate) struct Rescue<'a> {
    context: &'a Context,
    workspace: &'a Workspace,
    lock: &'a RepositoryLock,
    /// Whether a person agreed to lose what is missing already.
    forced: bool,
    stamp: Option<PinStamp>,
    /// What was missing and could not be kept.
    pub missing: Vec<String>,
}

impl<'a> Rescue<'a> {
    /// Of a removal that died after it had begun to move.
    pub fn resumed(context: &'a Context, workspace: &'a Workspace, lock: &'a RepositoryLock) -> Self {
        Self { context, workspace, lock, forced: true, stamp: None, missing: Vec::new() }
    }

    /// Pins what a workspace names, before anything moves.
    #[boxed]
    pub async fn begin(
        context: &'a Context,
        workspace: &'a Workspace,
        lock: &'a RepositoryLock,
        removal: &Removal,
        forced: bool,
    ) -> Result<Self> {
        let mut rescue = Self { forced, ..Self::resumed(context, workspace, lock) };
        if let Some(admin_dir) = find_admin_dir(context, workspace)? {
            rescue.stamp = Some(rescue.stamp(&admin_dir, removal)?);
            let nested = nested_admin_dirs(context, &workspace.path)?;
            rescue.pin(&admin_dir, &nested, removal).await?;
        }
        Ok(rescue)
    }

    /// Pins again where anything changed, after all has moved; `removal` then tells where HEAD is.
    #[boxed]
    pub async fn finish(&mut self, removal: &mut Removal) -> Result<()> {
        let admin_dir = trashed_admin_dir(self.context, &self.workspace.id);
        if admin_dir.is_dir() && self.stamp != Some(self.stamp(&admin_dir, removal)?) {
            self.pin_again(&admin_dir, removal).await?;
        }
        provider::of(self.workspace).forget(self.context, self.lock, self.workspace).await
    }

    async fn pin_again(&mut self, admin_dir: &Path, removal: &mut Removal) -> Result<()> {
        // What is missing by now can't be helped: the tree has moved.
        self.forced = true;
        let found = self.load_removal(admin_dir, removal).await?;
        if found != *removal {
            found.write(admin_dir)?;
            *removal = found;
        }
        self.pin(admin_dir, &[], removal).await
    }

    fn stamp(&self, admin_dir: &Path, removal: &Removal) -> Result<PinStamp> {
        let branches: Vec<&BranchName> = removal.branch.iter().chain([&self.workspace.branch]).collect();
        Ok(self.git_of(admin_dir).pin_stamp(admin_dir, &branches)?)
    }

    /// Where HEAD is, by the admin dir's own word. A branch that somebody moved from elsewhere is not this worktree's
    /// doing: its own log does not name that commit.
    async fn load_removal(&self, admin_dir: &Path, known: &Removal) -> Result<Removal> {
        let tree = provider::of(self.workspace).moved(self.context, &self.workspace.path, admin_dir);
        let Ok(head) = tree.load_head().await else { return Ok(known.clone()) };
        let branch = head.branch().cloned();
        let tip = match &branch {
            Some(branch) => tree.repository().load_branch(branch).await?,
            None => None,
        };
        if branch == known.branch && tip.as_ref().is_some_and(|tip| !is_last_in_log(admin_dir, tip.as_str())) {
            return Ok(known.clone());
        }
        Ok(Removal { branch, tip, ..known.clone() })
    }

    async fn pin(&mut self, admin_dir: &Path, nested: &[PathBuf], removal: &Removal) -> Result<()> {
        // With a detached HEAD the recorded branch is still this workspace's.
        let own = &self.workspace.branch;
        let branch = removal.branch.as_ref().unwrap_or(own);
        let git = self.git_of(admin_dir);
        self.pin_one(&git, admin_dir, Some(branch)).await?;
        if branch != own {
            self.pin_one(&git, admin_dir, Some(own)).await?;
        }
        let name = rescue_ref(&self.workspace.id);
        provider::of(self.workspace).bring_pin(self.context, self.lock, self.workspace, admin_dir, &name).await?;
        // A worktree inside goes into the trash with the tree; what its own admin dir names stays alive too.
        for nested in nested {
            self.pin_one(self.context.git(), nested, None).await?;
        }
        let (git, name) = (self.context.git(), rescue_ref(&self.workspace.id));
        let Some(pin) = git.load_ref(&name).await? else { return Ok(()) };
        let mut known = vec![self.workspace.base_commit.clone()];
        if let Some(base) = &self.workspace.base_branch {
            for name in git.load_remotes().await?.into_iter().map(|remote| remote.name) {
                known.extend(git.load_remote_branch(&name, base).await?);
            }
        }
        git.keep_lfs_objects(&pin, &known, admin_dir).await?;
        if git.load_mirrored_remote().await?.is_some() {
            git.write_rescue_bundle(self.lock, admin_dir, &name, &self.workspace.base_commit).await?;
        }
        Ok(())
    }

    /// The repository that has what the workspace's admin dir names.
    fn git_of(&self, admin_dir: &Path) -> Repository {
        let tree = provider::of(self.workspace).moved(self.context, &self.workspace.path, admin_dir);
        tree.repository().clone()
    }

    async fn pin_one(&mut self, git: &Repository, admin_dir: &Path, branch: Option<&BranchName>) -> Result<()> {
        let name = rescue_ref(&self.workspace.id);
        let message = format!("{}: {}", self.workspace.name, spinney_git::KEPT_ALIVE);
        if self.forced {
            let pinned = git.pin_what_is_whole(self.lock, admin_dir, branch, &name, &message).await?;
            self.missing
                .extend(pinned.missing.into_iter().filter(|object| !self.missing.contains(object)).collect::<Vec<_>>());
        } else {
            git.pin(self.lock, admin_dir, branch, &name, &message).await?;
        }
        Ok(())
    }
}

/// Whether a commit is the last one that an admin dir's log of HEAD names, or there is no log.
fn is_last_in_log(admin_dir: &Path, commit: &str) -> bool {
    let log = std::fs::read_to_string(admin_dir.join("logs").join("HEAD")).unwrap_or_default();
    log.lines().next_back().is_none_or(|line| line.split(' ').nth(1) == Some(commit))
}

/// Gives git back what an admin dir in the trash keeps for it: large files, and the rescue ref where it is gone.
pub(crate) async fn bring_back(context: &Context, workspace: &Workspace, admin_dir: &Path) -> Result<()> {
    context.git().put_lfs_objects_back(admin_dir).await?;
    let lock = context.git().lock("restore").await?;
    context.git().restore_rescue_ref(&lock, admin_dir, &rescue_ref(&workspace.id)).await?;
    Ok(())
}

/// Gives git back a rescue ref that is gone, from the bundle beside an admin dir in the trash, where there is one.
pub(crate) async fn restore_ref(
    context: &Context,
    lock: &RepositoryLock,
    admin_dir: &Path,
    name: &str,
) -> Result<bool> {
    Ok(context.git().restore_rescue_ref(lock, admin_dir, name).await?)
}

/// Forgets what was kept, once the workspace is back.
pub(crate) fn forget(context: &Context, admin_dir: &Path) {
    context.git().drop_kept_lfs_objects(admin_dir);
    context.git().drop_rescue_bundle(admin_dir);
}
