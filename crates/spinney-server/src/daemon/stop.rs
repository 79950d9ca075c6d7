//! The one signal that ends all: connections, streams, loops.

use tokio::sync::watch;

/// Asks everything that has a [`Stop`] to end.
#[derive(Debug)]
pub struct Stopper(watch::Sender<bool>);

/// Tells when to end. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Stop(watch::Receiver<bool>);

impl Stopper {
    #[must_use]
    pub fn new() -> (Self, Stop) {
        let (sender, receiver) = watch::channel(false);
        (Self(sender), Stop(receiver))
    }

    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

impl Stop {
    /// Waits until everything is to end; at once when it was said before, or when nobody is left to say it.
    pub async fn asked(&self) {
        let _ = self.0.clone().wait_for(|is_asked| *is_asked).await;
    }

    /// For who waits by itself.
    #[must_use]
    pub(crate) fn receiver(&self) -> watch::Receiver<bool> {
        self.0.clone()
    }

    #[must_use]
    pub fn is_asked(&self) -> bool {
        *self.0.borrow()
    }
}
