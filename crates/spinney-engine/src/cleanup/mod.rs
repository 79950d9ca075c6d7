//! Sweeps: what is merged, stale, orphaned or regenerable goes by itself, within the verdict.
//!
//! One sweeper at a time in a home. Each repository is fetched once, so that merges are judged against a fresh base. One
//! failure does not stop the sweep; the report says what was removed, what was kept and why, and what failed.

mod activity;
mod branches;
mod caches;
mod closed;
mod forge_asked;
mod leftovers;
mod rescues;
mod sweep;

use async_recursion::async_recursion as boxed;
use spinney_core::{Event, Finding, Reason, Workspace};
use spinney_store::{Ownable, Owned};

pub use self::activity::Caches;
pub use self::branches::DroppedBranch;
pub use self::caches::CleanedCaches;
pub(crate) use self::caches::{CACHE, is_cache};
pub use self::closed::ClosedWork;
pub(crate) use self::forge_asked::ForgeAsked;
pub use self::leftovers::old_files;
use crate::journal::events;
use crate::{Engine, Error, Result};

/// What to sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct What {
    pub merged: bool,
    pub stale: bool,
    pub orphans: bool,
    pub caches: bool,
    /// With the merged ones, those whose pull request was closed without being merged.
    pub closed: bool,
}

impl What {
    pub const MERGED: Self = Self { merged: true, ..Self::NOTHING };
    pub const STALE: Self = Self { stale: true, ..Self::NOTHING };
    pub const ORPHANS: Self = Self { orphans: true, ..Self::NOTHING };
    pub const CACHES: Self = Self { caches: true, ..Self::NOTHING };
    /// All but caches, which cost time to make again and free nothing that a removal would not.
    pub const ALL: Self = Self { merged: true, stale: true, orphans: true, ..Self::NOTHING };

    /// Whether it asks neither the store nor git about anything but files.
    fn is_only_caches(self) -> bool {
        !(self.merged || self.stale || self.orphans)
    }

    const NOTHING: Self = Self { merged: false, stale: false, orphans: false, caches: false, closed: false };
}

/// A workspace that a sweep looked at and left.
#[derive(Debug, Clone)]
pub struct Kept {
    pub workspace: Workspace,
    pub reasons: Vec<Reason>,
}

#[derive(Debug, Default)]
pub struct Report {
    /// What went to the trash, and why it could; with a dry run, what would.
    pub removed: Vec<(Workspace, String)>,
    pub kept: Vec<Kept>,
    /// Branches that went, of workspaces that had gone before; with a dry run, what would go.
    pub branches: Vec<DroppedBranch>,
    pub failed: Vec<(String, String)>,
    /// What the orphan sweep saw and did.
    pub findings: Vec<Finding>,
    pub caches: Vec<CleanedCaches>,
    /// Bytes of the removed trees, with a dry run only: a removal frees nothing before its purge.
    pub bytes: u64,
}

/// The right to sweep; given up on drop.
#[derive(Debug)]
pub struct Sweeper {
    _owned: Owned,
}

impl Engine {
    /// Becomes the one sweeper of this home; `None` while there is another.
    pub fn become_sweeper(&self) -> Result<Option<Sweeper>> {
        let owned = self.ownership.take(Ownable::Sweep)?;
        Ok(owned.map(|owned| Sweeper { _owned: owned }))
    }

    /// Keeps a workspace from sweeps, or no longer.
    #[boxed]
    pub async fn set_pinned(&self, workspace: Workspace, pinned: bool) -> Result<Workspace> {
        let is_news = workspace.pinned != pinned;
        let workspace = Workspace { pinned, ..workspace };
        let mut db = self.store.write().await?;
        if !db.update_workspace(&workspace, &[workspace.status]).await? {
            return Err(Error::Busy { name: workspace.name });
        }
        if is_news {
            events::record(
                &mut db,
                &workspace,
                if pinned { Event::WorkspacePinned } else { Event::WorkspaceUnpinned },
            )?;
        }
        db.commit().await?;
        Ok(workspace)
    }
}
