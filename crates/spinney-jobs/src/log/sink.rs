//! Where events go.

use std::sync::Arc;

use spinney_core::JobEvent;

use crate::told::{Facts, Words};

/// Takes what happens in a session.
pub trait Sink: Send {
    fn emit(&mut self, event: JobEvent);

    /// The words for what a runtime has to tell itself.
    fn words(&self) -> Arc<dyn Words>;
}

impl Sink for Vec<JobEvent> {
    fn emit(&mut self, event: JobEvent) {
        self.push(event);
    }

    fn words(&self) -> Arc<dyn Words> {
        Arc::new(Facts)
    }
}
