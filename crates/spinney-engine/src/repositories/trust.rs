//! Trust: what a repository's own file may run counts only after a person saw it. Remembered by content.

use async_recursion::async_recursion as boxed;
use spinney_core::config::TrustRequest;

use crate::repositories::context::Context;
use crate::{Engine, Result};

impl Engine {
    /// Remembers that a person agreed to this very content.
    #[boxed]
    pub async fn trust(&self, context: &Context, request: &TrustRequest) -> Result<()> {
        let mut db = self.store.write().await?;
        db.trust(&context.repository.id, &request.hash).await?;
        Ok(db.commit().await?)
    }
}
