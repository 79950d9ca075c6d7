//! Escape detection: what changed in the main checkout, and in what all of the repository's worktrees share, while the
//! agent worked elsewhere.

use std::time::SystemTime;

use spinney_engine::{CheckoutPrint, SettingsPrint};
use tokio::task::JoinHandle;

use super::Run;
use crate::told::{Cause, Warning};

/// A look that goes on beside the agent, but for the settings: they are few.
pub(super) struct Look {
    settings: SettingsPrint,
    checkout: JoinHandle<spinney_engine::Result<Option<CheckoutPrint>>>,
}

/// What was seen before the agent had done anything.
pub(super) struct Seen {
    settings: SettingsPrint,
    checkout: Option<CheckoutPrint>,
}

/// What the second look found, by path.
pub(super) type Escapes = JoinHandle<spinney_engine::Result<Vec<String>>>;

impl Run<'_> {
    /// Begins to look at the main checkout. It does not hold the agent up: what changes from now on is found by its time.
    pub(super) fn look_at_checkout(&self) -> Option<Look> {
        // A directory as it is may well be the main checkout.
        if self.agent.is_static() {
            return None;
        }
        let checkout = self.context.main_checkout();
        let (settings, since) = (SettingsPrint::read(&checkout), SystemTime::now());
        let looking = tokio::spawn(async move { CheckoutPrint::look(&checkout, since).await });
        Some(Look { settings, checkout: looking })
    }

    /// Waits for the end of that look.
    pub(super) async fn seen(&mut self, look: Option<Look>) -> Option<Seen> {
        let Look { settings, checkout } = look?;
        let fault: Cause = match checkout.await {
            Ok(Ok(checkout)) => return Some(Seen { settings, checkout }),
            Ok(Err(error)) => error.into(),
            Err(error) => error.into(),
        };
        self.warn(&Warning::CheckoutUnwatched(fault));
        Some(Seen { settings, checkout: None })
    }

    /// Begins to look again, beside the delivery.
    pub(super) fn look_again(&mut self, before: Option<Seen>) {
        let Some(before) = before else { return };
        let checkout = self.context.main_checkout();
        let settings = SettingsPrint::read(&checkout);
        self.escapes = Some(tokio::spawn(async move {
            let mut told = before.settings.compare(&checkout, &settings).await;
            if let Some(before) = before.checkout
                && let Some(after) = CheckoutPrint::look(&checkout, SystemTime::now()).await?
            {
                told.extend(before.compare(&after));
            }
            Ok(told)
        }));
    }

    /// Reports by path what changed between the two looks. Dropped half way, it can be asked again.
    pub(super) async fn note_escapes(&mut self) {
        let Some(escapes) = &mut self.escapes else { return };
        let escaped = escapes.await;
        self.escapes = None;
        match escaped {
            Ok(Ok(escaped)) => self.job.outcome.escaped = escaped,
            Ok(Err(error)) => return self.warn(&Warning::CheckoutUnwatched(error.into())),
            Err(error) => return self.warn(&Warning::CheckoutUnwatched(error.into())),
        }
        if !self.job.outcome.escaped.is_empty() {
            let paths = self.job.outcome.escaped.clone();
            self.warn(&Warning::CheckoutChanged { paths });
        }
    }
}
