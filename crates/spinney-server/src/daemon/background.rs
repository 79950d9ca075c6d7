//! Work that need not keep whoever asked waiting.

use std::sync::Arc;

use spinney_app::housekeeping;
use spinney_core::in_full;
use spinney_engine::{Context, Engine};

use crate::app::App;

/// Fills a repository's pool up, if it wants filling and nobody is at it.
pub(crate) fn fill_pool(app: &App, engine: Arc<Engine>, context: Context) {
    let own = app.clone();
    app.tasks().spawn(async move {
        let filling = move || async move {
            let repository = context.repository.name.clone();
            if let Err(error) = housekeeping::refill_pool(&engine, context).await {
                tracing::warn!(%repository, error = in_full(&error), "its pool could not be filled");
            }
        };
        if own.on_thread(filling).await.is_err() {
            tracing::error!("an internal error interrupted the filling of a pool");
        }
    });
}
