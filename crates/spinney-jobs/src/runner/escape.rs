//! Escape detection: what changed in the main checkout while the agent worked elsewhere.

use std::time::SystemTime;

use spinney_engine::CheckoutPrint;
use tokio::task::JoinHandle;

use super::Run;

/// A look that goes on beside the agent.
pub(super) type Look = JoinHandle<spinney_engine::Result<Option<CheckoutPrint>>>;

impl Run<'_> {
    /// Begins to look at the main checkout. It does not hold the agent up: what changes from now on is found by its time.
    pub(super) fn look_at_checkout(&self) -> Option<Look> {
        // A directory as it is may well be the main checkout.
        if self.agent.is_static() {
            return None;
        }
        let git = self.context.git.clone();
        let since = SystemTime::now();
        Some(tokio::spawn(async move { CheckoutPrint::look(&git, since).await }))
    }

    /// Waits for the end of that look.
    pub(super) async fn seen(&mut self, look: Option<Look>) -> Option<CheckoutPrint> {
        let fault = match look?.await {
            Ok(Ok(print)) => return print,
            Ok(Err(error)) => error.in_full(),
            Err(error) => error.to_string(),
        };
        self.warn(format!("the main checkout could not be watched: {fault}"));
        None
    }

    /// Looks again, and reports by path what changed since.
    pub(super) async fn note_escapes(&mut self, before: Option<CheckoutPrint>) {
        let Some(before) = before else { return };
        match CheckoutPrint::look(&self.context.git, SystemTime::now()).await {
            Ok(Some(after)) => self.job.outcome.escaped = before.compare(&after),
            Ok(None) => {}
            Err(error) => self.warn(format!("the main checkout could not be watched: {}", error.in_full())),
        }
        if !self.job.outcome.escaped.is_empty() {
            let paths = self.job.outcome.escaped.join(", ");
            self.warn(format!("the main checkout changed meanwhile: {paths}"));
        }
    }
}
