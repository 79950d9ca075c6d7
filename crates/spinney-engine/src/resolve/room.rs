//! Room for one workspace more: at the limit, the oldest one that a sweep may take goes to the trash.
//!
//! 1. What is merged, by what is known of base.
//! 2. What has no commit of its own, or whose commits are all pushed, and that has no open pull request: once nothing
//!    happened in it for `cleanup.idle_after`, or when who asks says that it is done.
//!
//! Store and refs are asked first. A tree is walked only where it would go, and the whole verdict is asked before it moves.

use async_recursion::async_recursion as boxed;
use spinney_core::{Consent, Merge, Remover, Sweep, Timestamp, Workspace, WorkspaceId, WorkspaceStatus};
use spinney_store::WorkspaceFilter;

use crate::cleanup::{Caches, ForgeAsked};
use crate::create::make::COUNTED;
use crate::error::Census;
use crate::inspect::crowd::ask_all;
use crate::notice::{Notice, Observer, Phase, Warning};
use crate::repositories::context::Context;
use crate::resolve::lookup::Among;
use crate::{Engine, Error, Result};

const MAKE_ROOM: Remover = Remover::Sweep(Sweep::MakeRoom);

/// What could make room, as far as it is known.
#[derive(Debug, Default)]
struct Looked {
    judged: Vec<(Workspace, Merge)>,
    /// When one more may go, if nothing happens in it until then.
    again_at: Option<Timestamp>,
}

impl Engine {
    /// Moves one workspace to the trash that may go; blocked with the counts when there is none. Those in `done` need not
    /// be idle for a while first.
    pub(crate) async fn make_room(
        &self,
        context: &Context,
        done: &[WorkspaceId],
        observer: &dyn Observer,
    ) -> Result<()> {
        observer(Notice::Phase(Phase::MakingRoom));
        let filter = WorkspaceFilter {
            account: self.account.clone(),
            node: Some(self.home.node().clone()),
            repository: Some(context.repository.id.clone()),
            statuses: COUNTED.to_vec(),
        };
        let mut workspaces = self.store.read().await?.workspaces(&filter).await?;
        let max_workspaces = usize::try_from(context.config().limits.max_workspaces).unwrap_or(usize::MAX);
        if workspaces.len() < max_workspaces {
            return Ok(());
        }
        // Above the limit, as after it was lowered, one that goes makes no room yet.
        let is_enough = workspaces.len() == max_workspaces;
        workspaces.retain(|workspace| workspace.status == WorkspaceStatus::Active);
        workspaces.sort_by_key(|workspace| workspace.last_activity_at);

        context.load_remembered().await;
        let mut looked = Looked::default();
        for workspace in workspaces {
            let merge = self.merge_of(context, &workspace).await;
            if let Merge::Merged(evidence) = &merge
                && self.may_be_asked_for_room(context, &workspace).await?
            {
                let why = evidence.detail.clone();
                if self.let_go_for_room(context, &workspace, Merge::is_merged, None, why, observer).await? {
                    return Ok(());
                }
            }
            looked.judged.push((workspace, merge));
        }
        if is_enough && self.make_room_of_idle(context, &mut looked, done, observer).await? {
            return Ok(());
        }
        Err(Error::Limit {
            repository: context.repository.name.clone(),
            census: Box::new(self.census(context, looked.judged, looked.again_at).await?),
        })
    }

    /// Lets the oldest idle workspace go that nobody needs; `false` when there is none.
    async fn make_room_of_idle(
        &self,
        context: &Context,
        looked: &mut Looked,
        done: &[WorkspaceId],
        observer: &dyn Observer,
    ) -> Result<bool> {
        let idle_after = self.config.cleanup.idle_after;
        let mut forge = ForgeAsked::unopened();
        for (workspace, merge) in &looked.judged {
            let is_done = done.contains(&workspace.id);
            if merge.is_merged()
                || (idle_after.0.is_zero() && !is_done)
                || !self.may_be_asked_for_room(context, workspace).await?
            {
                continue;
            }
            let now = Timestamp::now();
            if !is_done {
                let since = now.minus(idle_after.0);
                if let Some(active_at) = self.activity_since(context, workspace, since, Caches::Count)? {
                    let idle_at = active_at.plus(idle_after.0);
                    looked.again_at = Some(looked.again_at.map_or(idle_at, |at| at.min(idle_at)));
                    continue;
                }
            }
            // A branch that somebody pushed by hand has a pull request as easily as one that Spinney pushed.
            let asked = Workspace { pushed: workspace.pushed || !merge.is_unstarted(), ..workspace.clone() };
            let word = forge.ask(self, context, &asked, observer).await;
            let pushed = || match is_done {
                true => "its job is done, and its commits are pushed".to_owned(),
                false => format!("its commits are pushed, and nothing happened in it for {idle_after}"),
            };
            let why = match (merge, is_done) {
                (Merge::Unstarted, true) => "its job is done, and it has no commit of its own".to_owned(),
                (Merge::Unstarted, false) => {
                    format!("it has no commit of its own, and nothing happened in it for {idle_after}")
                }
                _ => pushed(),
            };
            if self.let_go_for_room(context, workspace, |_| true, word.as_ref(), why, observer).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// When one of a repository's workspaces may make room, by what the store knows, that could not at a time when somebody
    /// tried: it will have been idle for long enough by then.
    #[boxed]
    pub async fn next_idle(&self, context: &Context, tried_at: Timestamp) -> Result<Option<Timestamp>> {
        let idle_after = self.config.cleanup.idle_after.0;
        let mut next: Option<Timestamp> = None;
        for workspace in self.workspaces(Some(&context.repository.id), Among::Live).await? {
            let is_meant = workspace.status == WorkspaceStatus::Active && !idle_after.is_zero();
            if !is_meant || !self.may_be_asked_for_room(context, &workspace).await? {
                continue;
            }
            let last_job = self.store.read().await?.jobs_in(&workspace.id, 1).await?.pop();
            let ended_at = last_job.and_then(|job| job.ended_at);
            let idle_at = ended_at.map_or(workspace.last_activity_at, |at| at.max(workspace.last_activity_at));
            let idle_at = idle_at.plus(idle_after);
            if idle_at > tried_at && next.is_none_or(|next| idle_at < next) {
                next = Some(idle_at);
            }
        }
        Ok(next)
    }

    /// Whether nothing that the store knows keeps a workspace where it is. It saves the look at its files.
    async fn may_be_asked_for_room(&self, context: &Context, workspace: &Workspace) -> Result<bool> {
        let is_lasting = context.config().cleanup.persistent_platforms.contains(&workspace.platform);
        if workspace.pinned || workspace.adopted_from.is_some() || is_lasting {
            return Ok(false);
        }
        let mut db = self.store.read().await?;
        if db.works_of(&workspace.id).await?.len() > 1 {
            return Ok(false);
        }
        // A job that waits for its turn has it as good as in use.
        let place = Some(workspace.id.to_string());
        let unfinished = db.unfinished_jobs(self.home.node()).await?;
        Ok(!unfinished.iter().any(|job| job.place == place || job.own_workspace_id() == Some(&workspace.id)))
    }

    /// Moves a workspace to the trash if the whole verdict lets it go, and the branch still stands as it is to.
    async fn let_go_for_room(
        &self,
        context: &Context,
        workspace: &Workspace,
        is_as_meant: impl Fn(&Merge) -> bool,
        word: Option<&crate::verdict::ForgeWord>,
        why: String,
        observer: &dyn Observer,
    ) -> Result<bool> {
        let verdict = self.judge_told(context, workspace, MAKE_ROOM, word).await?;
        if !is_as_meant(&verdict.merge) || !verdict.removable(&Consent::None) {
            return Ok(false);
        }
        match self.remove_judged(context, workspace, &verdict, MAKE_ROOM, None, observer).await {
            Ok(_) => {
                let name = workspace.name.to_string();
                observer(Notice::Warning(Warning::MadeRoom { name, evidence: why }));
                Ok(true)
            }
            Err(error) => {
                let what = format!("{} could not be removed: {error}", workspace.name);
                observer(Notice::Warning(Warning::Minor { what }));
                Ok(false)
            }
        }
    }

    async fn census(
        &self,
        context: &Context,
        judged: Vec<(Workspace, Merge)>,
        again_at: Option<Timestamp>,
    ) -> Result<Census> {
        let config = context.config();
        let total =
            self.store.read().await?.count_workspaces(&context.repository.id, self.home.node(), &COUNTED).await?;
        let (merged, rest): (Vec<_>, Vec<_>) = judged.into_iter().partition(|(_, merge)| merge.is_merged());
        let stale_after = config.cleanup.stale_after;
        let is_stale = |workspace: &Workspace| is_stale(context, workspace);
        let names =
            |list: Vec<(Workspace, Merge)>| list.into_iter().map(|(workspace, _)| workspace.name).collect::<Vec<_>>();
        let merged = names(merged);
        let stale = names(rest.into_iter().filter(|(workspace, _)| is_stale(workspace)).collect());
        let active = usize::try_from(total).unwrap_or(usize::MAX).saturating_sub(merged.len() + stale.len());
        Ok(Census {
            limit: u64::from(config.limits.max_workspaces),
            merged,
            stale,
            active,
            stale_after: stale_after.to_string(),
            again_at,
        })
    }
}

/// Whether nobody asked for a workspace for as long as makes it stale, by what the store knows.
fn is_stale(context: &Context, workspace: &Workspace) -> bool {
    let stale_after = context.config().cleanup.stale_after.0;
    !stale_after.is_zero() && workspace.last_activity_at.elapsed() > stale_after
}

/// How many of a repository's workspaces a sweep might take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Standing {
    pub merged: usize,
    /// Of those that are not merged.
    pub stale: usize,
}

impl Engine {
    /// Counts what is merged, by what is known of base, and what is stale, by what the store knows.
    #[boxed]
    pub async fn standing(&self, context: &Context) -> Result<Standing> {
        let live = self.workspaces(Some(&context.repository.id), Among::Live).await?;
        context.load_remembered().await;
        let active: Vec<_> = live.into_iter().filter(|row| row.status == WorkspaceStatus::Active).collect();
        let merges = ask_all(active.iter().map(|workspace| self.merge_of(context, workspace))).await;
        let mut standing = Standing::default();
        for (workspace, merge) in active.iter().zip(merges) {
            if merge.is_merged() {
                standing.merged += 1;
            } else if is_stale(context, workspace) {
                standing.stale += 1;
            }
        }
        Ok(standing)
    }
}
