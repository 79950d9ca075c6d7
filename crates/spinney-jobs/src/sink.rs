//! Where events go.

use spinney_core::JobEvent;

/// Takes what happens in a session.
pub trait Sink: Send {
    fn emit(&mut self, event: JobEvent);
}

impl Sink for Vec<JobEvent> {
    fn emit(&mut self, event: JobEvent) {
        self.push(event);
    }
}
