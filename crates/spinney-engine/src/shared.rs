//! A checkout of base that several readers share: brought up to date when nobody reads in it.

use spinney_core::config::Lfs;
use spinney_core::{JobId, Work, Workspace};
use spinney_git::{StatusOptions, Worktree};

use crate::context::Context;
use crate::notice::Observer;
use crate::{Engine, Result};

impl Engine {
    /// The work that stands for the shared checkout of a repository's base.
    #[must_use]
    pub fn shared_work(context: &Context) -> Work {
        let base = context.config().workspace.base.as_ref();
        let key = base.map_or_else(|| "shared-checkout".to_owned(), |base| format!("shared-checkout-{base}"));
        // A branch's name can hold what a key can't; the plain words always can be one.
        Work::task(&key).unwrap_or(Work { kind: spinney_core::WorkKind::Task, key: "shared-checkout".to_owned() })
    }

    /// Moves a shared checkout to base's newest commit, unless another job reads in it or somebody changed it.
    pub async fn freshen(
        &self,
        context: Context,
        workspace: &Workspace,
        own: &JobId,
        observer: Observer<'_>,
    ) -> Result<Context> {
        let reader = self.store.read().await?.running_job_in(&workspace.id).await?;
        if reader.is_some_and(|job| job.id != *own) {
            return Ok(context);
        }
        let (context, base) = self.fresh_base(context, observer).await?;
        let worktree = Worktree::open(&context.git, &workspace.path)?;
        if worktree.load_head().await?.commit() == Some(&base.tip) {
            return Ok(context);
        }
        let status = worktree.load_status(&StatusOptions { untracked: true, ignored: false }).await?;
        if status.is_clean() {
            worktree.move_to(&base.tip, context.config().workspace.lfs == Lfs::Pull).await?;
        }
        Ok(context)
    }
}
