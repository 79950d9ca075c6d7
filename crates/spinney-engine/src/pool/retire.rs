//! Takes members out of the pool. One that nobody touched is deleted, renamed aside first; one that holds what somebody
//! may have put there goes to the trash, from where it can be restored.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde::Serialize;
use spinney_core::{Consent, Operation, Remover, Workspace, WorkspaceName};
use spinney_git::{Head, StatusOptions, Worktree};

use super::member::{RETIRING, WarmData};
use super::survey::is_template;
use crate::cleanup::is_cache;
use crate::context::Context;
use crate::lookup::Among;
use crate::notice::Observer;
use crate::provider::marker::Marker;
use crate::provider::worktree::{self, Tree};
use crate::{Engine, Error, Result, disk, fail};

/// What became of members that were taken out.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Drained {
    /// Deleted: nobody had touched them.
    pub deleted: usize,
    /// In the trash: somebody had.
    pub trashed: Vec<WorkspaceName>,
    /// Still there, each with the reason.
    pub kept: Vec<(WorkspaceName, String)>,
}

impl Engine {
    /// Takes every member out of a repository's pool.
    pub async fn drain_pool(&self, context: &Context, observer: Observer<'_>) -> Result<Drained> {
        let _lock = self.lock_pool(&context.repository.id).await?;
        let alone = self.try_own_template(&context.repository.id)?;
        let mut drained = Drained::default();
        for member in self.workspaces(Some(&context.repository.id), Among::Warm).await? {
            if alone.is_none() && is_template(&member) {
                drained.kept.push((member.name, "somebody copies from it now".to_owned()));
                continue;
            }
            self.retire_member(context, &member, &mut drained, observer).await?;
        }
        Ok(drained)
    }

    /// Takes one member out. What can't be judged, or is in use, is kept and told.
    pub(super) async fn retire_member(
        &self,
        context: &Context,
        member: &Workspace,
        drained: &mut Drained,
        observer: Observer<'_>,
    ) -> Result<()> {
        let verdict = self.judge_forced(context, member);
        let blockers: Vec<String> =
            verdict.blockers(&Consent::Force).map(|reason| format!("{}: {}", reason.code, reason.detail)).collect();
        if !blockers.is_empty() {
            drained.kept.push((member.name.clone(), blockers.join(", ")));
            return Ok(());
        }
        let touched = match worktree::open(context, &member.path) {
            Tree::Whole(tree) if Marker::load(tree.admin_dir()).is_some_and(|marker| marker.ready) => {
                drained.kept.push((
                    member.name.clone(),
                    "it was handed out; `spinney cleanup orphans` mends its row".to_owned(),
                ));
                return Ok(());
            }
            Tree::Whole(tree) => self.is_touched(context, member, &tree).await?,
            Tree::Missing => false,
            Tree::RootMissing => {
                drained
                    .kept
                    .push((member.name.clone(), "its directory is out of reach: is its disk mounted?".to_owned()));
                return Ok(());
            }
            Tree::Damaged(error) => {
                drained.kept.push((member.name.clone(), error.to_string()));
                return Ok(());
            }
        };
        if touched {
            self.seal(&member.path, false);
            match self.remove_judged(context, member, &verdict, Remover::Person, observer).await {
                Ok(removed) => drained.trashed.push(removed.workspace.name),
                Err(error) => drained.kept.push((member.name.clone(), error.in_full())),
            }
            return Ok(());
        }
        let data = WarmData { commit: member.base_commit.clone() };
        let Some(running) = self.begin_on_member(member, RETIRING, &data).await? else { return Ok(()) };
        fail::point("retire.recorded")?;
        self.finish_retiring(context, &running.operation, member, &data).await?;
        running.lock.discard();
        drained.deleted += 1;
        Ok(())
    }

    /// Renames aside, deletes, forgets. Idempotent.
    pub(super) async fn finish_retiring(
        &self,
        context: &Context,
        operation: &Operation,
        member: &Workspace,
        data: &WarmData,
    ) -> Result<()> {
        self.seal(&member.path, false);
        let moved = worktree::discard(context, &self.home, &operation.id, member, &data.commit, None).await?;
        let Some(moved) = moved else { return self.keep_member(operation, member).await };
        fail::point("retire.moved")?;
        for place in moved {
            disk::delete_moved_aside(&place).map_err(Error::files(&place, "deleted"))?;
        }
        let mut db = self.store.write().await?;
        db.delete_workspace(&member.id).await?;
        db.commit().await?;
        fail::point("retire.forgotten")
    }

    /// Whether a member may hold what somebody put there: it stands elsewhere, or files that are no caches changed since
    /// its preparation ended. What can't be asked counts as touched.
    pub(super) async fn is_touched(&self, context: &Context, member: &Workspace, tree: &Worktree) -> Result<bool> {
        let at_base = match tree.load_head().await {
            Ok(Head::Detached { commit, rebasing: None }) => commit == member.base_commit,
            _ => false,
        };
        if !at_base || tree.load_operation_in_progress().is_some() {
            return Ok(true);
        }
        let Ok(status) = tree.load_status(&StatusOptions { untracked: true, ignored: true }).await else {
            return Ok(true);
        };
        if !tree.load_hidden_edits().await.is_ok_and(|hidden| hidden.is_empty()) {
            return Ok(true);
        }
        let settled = member.metadata.warm.as_ref().and_then(|warm| warm.settled_at_ms);
        let changed = status.changes.into_iter().map(|change| change.path);
        let others = status.untracked.into_iter().chain(status.ignored).map(|entry| entry.path);
        let mut counted = changed.chain(others.filter(|path| !is_cache(context.config(), &member.path, path)));
        Ok(counted.any(|path| changed_since(&member.path.join(path), settled).unwrap_or(true)))
    }
}

/// Whether a file, or anything in a directory, changed after a moment; any change counts where the moment is unknown. A
/// file that is gone is a change of its directory.
fn changed_since(path: &Path, settled: Option<i64>) -> io::Result<bool> {
    let found = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => match path.parent() {
            Some(parent) => fs::symlink_metadata(parent)?,
            None => return Ok(true),
        },
        found => found?,
    };
    let changed = found.ctime().saturating_mul(1000).saturating_add(found.ctime_nsec() / 1_000_000);
    if settled.is_none_or(|settled| changed > settled) {
        return Ok(true);
    }
    if found.is_dir() && path.is_dir() {
        for entry in fs::read_dir(path)? {
            if changed_since(&entry?.path(), settled)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}
