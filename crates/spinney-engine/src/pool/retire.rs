//! Takes members out of the pool. One that nobody touched is deleted, renamed aside first; one that holds what somebody
//! may have put there goes to the trash, from where it can be restored.

use async_recursion::async_recursion as boxed;
use serde::Serialize;
use spinney_core::{Consent, Operation, Remover, Verdict, Workspace, WorkspaceName};
use spinney_git::Head;

use super::fill::Patience;
use super::listing::NOTHING;
use super::member::{RETIRING, WarmData};
use super::survey::is_template;
use crate::home::disk;
use crate::notice::Observer;
use crate::repositories::context::Context;
use crate::resolve::lookup::Among;
use crate::tree::marker::Marker;
use crate::tree::{self, Opened, Tree};
use crate::{Engine, Error, Result, fail};

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

/// What may become of a member.
enum Fate {
    Delete,
    /// Somebody put something there.
    Trash(Verdict),
    Keep(String),
}

pub(super) const TOUCHED: &str = "it contains changes";
pub(super) const HANDED_OUT: &str = "it was handed out; a sweep for orphans mends its row";

impl Engine {
    /// Takes every member out of a repository's pool.
    #[boxed]
    pub async fn drain_pool(&self, context: &Context, observer: &dyn Observer) -> Result<Drained> {
        let _lock = self.lock_pool(&context.repository.id, observer).await?;
        let alone = self.try_own_template(&context.repository.id)?;
        let mut drained = Drained::default();
        for member in self.workspaces(Some(&context.repository.id), Among::Warm).await? {
            if alone.is_none() && is_template(&member) {
                drained.kept.push((member.name, "somebody copies from it now".to_owned()));
                continue;
            }
            self.retire_member(context, &member, Patience::Person, &mut drained, observer).await?;
        }
        Ok(drained)
    }

    /// Takes one member out. What can't be judged, or is in use, is kept and told; what somebody touched goes to the trash
    /// only when a person asked.
    pub(super) async fn retire_member(
        &self,
        context: &Context,
        member: &Workspace,
        patience: Patience,
        drained: &mut Drained,
        observer: &dyn Observer,
    ) -> Result<()> {
        match self.judge_member(context, member).await? {
            Fate::Keep(reason) => drained.kept.push((member.name.clone(), reason)),
            Fate::Trash(_) if patience == Patience::Background => {
                drained.kept.push((member.name.clone(), TOUCHED.to_owned()));
            }
            Fate::Trash(verdict) => {
                self.unseal(member);
                match self.remove_judged(context, member, &verdict, Remover::Person, None, observer).await {
                    Ok(removed) => drained.trashed.push(removed.workspace.name),
                    Err(error) => drained.kept.push((member.name.clone(), error.in_full())),
                }
            }
            Fate::Delete => {
                let data = WarmData { commit: member.base_commit.clone() };
                let Some(running) = self.begin_on_member(member, RETIRING, &data).await? else { return Ok(()) };
                fail::point("retire.recorded")?;
                self.finish_retiring(context, &running.operation, member, &data).await?;
                running.lock.discard();
                drained.deleted += 1;
            }
        }
        Ok(())
    }

    /// Finishes what a filler or a drain left that died, unless somebody put something there meanwhile.
    pub(super) async fn recover_retiring(
        &self,
        context: &Context,
        operation: &Operation,
        member: &Workspace,
        data: &WarmData,
    ) -> Result<&'static str> {
        match self.judge_member(context, member).await? {
            Fate::Delete => {
                self.finish_retiring(context, operation, member, data).await?;
                Ok("finished")
            }
            Fate::Trash(_) => self.keep_member(operation, member, TOUCHED).await.map(|()| "undone"),
            Fate::Keep(reason) => self.keep_member(operation, member, &reason).await.map(|()| "undone"),
        }
    }

    /// Decides what may become of a member.
    async fn judge_member(&self, context: &Context, member: &Workspace) -> Result<Fate> {
        let verdict = self.judge_forced(context, member).await?;
        let blockers: Vec<String> =
            verdict.blockers(&Consent::Force).map(|reason| format!("{}: {}", reason.code, reason.detail())).collect();
        if !blockers.is_empty() {
            return Ok(Fate::Keep(blockers.join(", ")));
        }
        let touched = match tree::open(context, member) {
            Opened::Whole(tree) if is_handed_out(&tree) => return Ok(Fate::Keep(HANDED_OUT.to_owned())),
            Opened::Whole(tree) => self.is_touched(context, member, &tree).await?,
            Opened::Missing => match is_touched_in_git(context, member).await {
                Err(error @ Error::MovedAway { .. }) => return Ok(Fate::Keep(error.to_string())),
                touched => touched?,
            },
            Opened::RootMissing => {
                return Ok(Fate::Keep("its directory is out of reach: is its disk mounted?".to_owned()));
            }
            Opened::Damaged(error) | Opened::Hidden(error) => return Ok(Fate::Keep(error.to_string())),
        };
        Ok(if touched { Fate::Trash(verdict) } else { Fate::Delete })
    }

    /// Renames aside, deletes, forgets. Idempotent.
    pub(super) async fn finish_retiring(
        &self,
        context: &Context,
        operation: &Operation,
        member: &Workspace,
        data: &WarmData,
    ) -> Result<()> {
        self.unseal(member);
        let moved = tree::discard(context, &self.home, &operation.id, member, &data.commit, None).await?;
        let Some(moved) = moved else { return self.keep_member(operation, member, TOUCHED).await };
        fail::point("retire.moved")?;
        for place in moved {
            disk::delete_moved_aside(&place).map_err(Error::files(&place, "deleted"))?;
        }
        let mut db = self.store.write().await?;
        db.delete_workspace(&member.id).await?;
        db.commit().await?;
        fail::point("retire.forgotten")
    }

    /// Whether a member may hold what somebody put there: it stands elsewhere, or something beside the files of its commit
    /// is not as it was when its preparation ended. What can't be asked counts as touched.
    pub(super) async fn is_touched(&self, context: &Context, member: &Workspace, tree: &Tree) -> Result<bool> {
        if is_moved_on(member, tree).await {
            return Ok(true);
        }
        let before = member.metadata.warm.as_ref().and_then(|warm| warm.listing.clone());
        let now = self.list_member(context, member, tree).await;
        Ok(now.is_none_or(|now| now != before.as_deref().unwrap_or(NOTHING)))
    }
}

/// Whether a member stands elsewhere than it was put, is in the middle of something, or names commits that are nowhere
/// else. What can't be asked counts.
async fn is_moved_on(member: &Workspace, tree: &Tree) -> bool {
    let at_base = match tree.load_head().await {
        Ok(Head::Detached { commit, rebasing: None }) => commit == member.base_commit,
        _ => false,
    };
    !at_base
        || tree.load_operation_in_progress().is_some()
        || tree.has_own_commits(&member.base_commit).await.unwrap_or(true)
        || !tree.load_unpushed_submodules().await.is_ok_and(|unpushed| unpushed.is_empty())
}

/// Whether git has something of a member whose directory is gone that somebody put there.
async fn is_touched_in_git(context: &Context, member: &Workspace) -> Result<bool> {
    let Some(admin_dir) = tree::find_admin_dir(context, member)? else { return Ok(false) };
    let tree = tree::moved(context, member, &member.path, &admin_dir);
    let staged = tree.count_staged("HEAD").await;
    Ok(is_moved_on(member, &tree).await || !staged.is_ok_and(|count| count == 0))
}

/// Whether a member's own marker says that it is somebody's: the store is older than the disk.
pub(super) fn is_handed_out(tree: &Tree) -> bool {
    Marker::load(tree.admin_dir()).is_some_and(|marker| marker.ready)
}
