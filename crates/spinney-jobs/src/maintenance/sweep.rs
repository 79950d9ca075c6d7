//! A sweep with all that belongs to it.

use async_recursion::async_recursion as boxed;
use spinney_core::Repository;
use spinney_engine::notice::Observer;
use spinney_engine::{Report, What};

use crate::{Jobs, Result};

impl Jobs<'_> {
    /// Sweeps repositories: workspaces first, then what jobs left; notes what came of it. The caller is the one sweeper.
    #[boxed]
    pub async fn sweep(
        &self,
        repositories: &[Repository],
        what: What,
        dry_run: bool,
        observer: &dyn Observer,
    ) -> Result<Report> {
        let mut report = self.engine.sweep(repositories.to_vec(), what, dry_run, observer).await?;
        if what.orphans || what.stale {
            self.sweep_left(repositories, what, dry_run, &mut report, observer).await?;
        }
        if !dry_run {
            self.engine.record_sweep(what, &report).await?;
        }
        Ok(report)
    }
}
