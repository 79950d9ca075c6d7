//! What a job leaves to be done beside it: the pool that it took a workspace from, and the trash that it put one into.

use spinney_engine::Context;

use crate::launch::Chore;
use crate::{Jobs, Result};

impl Jobs<'_> {
    /// Starts filling a repository's pool, if it wants filling and nobody is at it.
    pub(crate) async fn refill_pool(&self, context: &Context) -> Result<()> {
        if self.engine.pool_wants_filling(context).await? {
            self.launch_beside(Chore::FillPool { repository: &context.repository.name })?;
        }
        Ok(())
    }

    /// Starts a purge of what is due in the trash, if anything may be.
    pub(crate) async fn purge_trash(&self) -> Result<()> {
        if self.engine.trash_wants_purging().await? {
            self.launch_beside(Chore::PurgeTrash)?;
        }
        Ok(())
    }
}
