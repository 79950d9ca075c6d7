//! What git says about workspaces: changes, distance from base, state. Asked of many trees at once.

use std::path::{Path, PathBuf};

use async_recursion::async_recursion as boxed;
use spinney_core::{Merge, STATE_FILE, Work, Workspace, WorkspaceStatus};
use spinney_git::StatusOptions;
use spinney_store::Port;

use crate::home::links;
use crate::repositories::context::Context;
use crate::tree::{self, Opened, check_not_moved, open};
use crate::{Engine, Result};

/// What a look into one tree found; `None` where git gave no answer.
#[derive(Debug, Clone, Default)]
pub struct Details {
    /// Why the tree can't be used, if it can't.
    pub fault: Option<String>,
    pub changed: Option<usize>,
    pub untracked: Option<usize>,
    /// Commits ahead of and behind base.
    pub distance: Option<(u64, u64)>,
    pub merged: bool,
    pub stale: bool,
    /// Whether the directory is gone.
    pub lost: bool,
    /// Whether its branch was pushed, as far as is known by now.
    pub pushed: bool,
    /// The branch that HEAD is on now, when it is not the recorded one.
    pub head: Option<String>,
}

impl Details {
    /// One word for the state, the most telling first.
    #[must_use]
    pub fn state(&self, workspace: &Workspace) -> &'static str {
        match workspace.status {
            WorkspaceStatus::Active if self.lost => "lost",
            WorkspaceStatus::Active if self.fault.is_some() => "broken",
            WorkspaceStatus::Active if self.merged => "merged",
            WorkspaceStatus::Active if self.stale => "stale",
            WorkspaceStatus::Active => "idle",
            status => status.as_str(),
        }
    }
}

/// One workspace with all that belongs to it.
#[derive(Debug)]
pub struct Shown {
    pub details: Details,
    pub works: Vec<Work>,
    pub ports: Vec<Port>,
    pub link: Option<PathBuf>,
}

impl Engine {
    /// Asks git about one workspace.
    #[boxed]
    pub async fn inspect(&self, context: &Context, workspace: &Workspace) -> Details {
        let stale_after = context.config().cleanup.stale_after.0;
        let stale = !stale_after.is_zero() && workspace.last_activity_at.elapsed() > stale_after;
        let pushed = self.learn_pushed(context, workspace).await;
        let mut details = Details { stale, pushed, ..Details::default() };
        let worktree = match open(context, workspace) {
            Opened::Whole(worktree) => worktree,
            Opened::Missing => {
                return match check_not_moved(context, workspace) {
                    Err(error) => Details { fault: Some(error.to_string()), ..details },
                    Ok(()) => Details { fault: Some("its directory is gone".to_owned()), lost: true, ..details },
                };
            }
            Opened::RootMissing => return Details { fault: Some("its disk is not mounted".to_owned()), ..details },
            Opened::Damaged(error) | Opened::Hidden(error) => {
                return Details { fault: Some(error.to_string()), ..details };
            }
        };
        match worktree.load_status(&StatusOptions { untracked: true, ignored: false }).await {
            Ok(status) => {
                details.changed = Some(status.changes.len());
                details.fault = status.opaque.first().map(|opaque| format!("{opaque}; git is not run there"));
                let counted = status.untracked.iter().filter(|entry| entry.path != Path::new(STATE_FILE));
                details.untracked = Some(counted.count());
            }
            Err(error) => details.fault = Some(error.to_string()),
        }
        if let Ok(head) = worktree.load_head().await {
            details.head = match head.branch() {
                Some(branch) if *branch == workspace.branch => None,
                Some(branch) => Some(branch.to_string()),
                None => Some("detached".to_owned()),
            };
            if let (Some(tip), Some(base)) = (head.commit(), self.base_tip(context, workspace).await)
                && tree::bring_in(context, workspace).await.is_ok()
            {
                details.distance = context.load_ahead_behind(tip, &base).await.ok();
                let merge = context.load_merge(tip, &base, &workspace.base_commit).await;
                details.merged = matches!(merge, Ok(Merge::Merged(_)));
            }
        }
        details
    }

    /// Everything that `show` tells of one workspace.
    #[boxed]
    pub async fn show(&self, context: &Context, workspace: &Workspace) -> Result<Shown> {
        let details =
            if workspace.status.is_live() { self.inspect(context, workspace).await } else { Details::default() };
        let mut db = self.store.read().await?;
        Ok(Shown {
            details,
            works: db.works_of(&workspace.id).await?,
            ports: db.ports_of(&workspace.id).await?,
            link: self.link_of(workspace),
        })
    }

    /// The readable link to a workspace. It is made where it is missing: whoever makes a workspace makes it visible first, and its
    /// link after that.
    #[must_use]
    pub fn require_link(&self, workspace: &Workspace) -> Option<PathBuf> {
        links::mend(&self.home, workspace);
        self.link_of(workspace)
    }

    /// The readable link to a workspace, if it is there.
    #[must_use]
    pub fn link_of(&self, workspace: &Workspace) -> Option<PathBuf> {
        let link = self.home.link(&workspace.account, &workspace.repository, &workspace.name);
        std::fs::read_link(&link).is_ok_and(|target| target == workspace.path).then_some(link)
    }

    /// Free bytes where a repository's workspaces are.
    pub fn free_disk(&self) -> Option<u64> {
        crate::home::disk::free_bytes(self.home.root()).ok()
    }
}
