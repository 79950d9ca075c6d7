//! Whether a job is to end early: somebody cancels it, its time is up, or its process is told to go.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use spinney_core::{Cancel, JobId};
use spinney_store::Store;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

/// How often the bell is looked at. It takes a few microseconds.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How often the store is asked although no bell rang: another machine has none to ring here.
const ASK_EVERY: Duration = Duration::from_secs(2);

/// Why a job is to end; what is more urgent compares as greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stop {
    No,
    TimedOut,
    /// The machine goes down, or somebody ended this process.
    Terminated,
    Cancelled,
    /// Cancelled, and nobody wants to wait.
    AtOnce,
}

impl Stop {
    /// What a person's wish means.
    pub(crate) fn of(cancel: Cancel) -> Self {
        match cancel {
            Cancel::No => Self::No,
            Cancel::Asked => Self::Cancelled,
            Cancel::AtOnce => Self::AtOnce,
        }
    }
}

/// What a job's process listens to.
#[derive(Debug, Clone)]
pub(crate) struct Control {
    sender: Arc<watch::Sender<Stop>>,
    receiver: watch::Receiver<Stop>,
    /// What is no more urgent than this is not heard.
    ignored: Stop,
}

impl Control {
    /// Starts to listen, until the control is dropped.
    pub(crate) fn listen(store: Store, job: JobId, bell: PathBuf) -> Self {
        let (sender, receiver) = watch::channel(Stop::No);
        let sender = Arc::new(sender);
        let weak = Arc::downgrade(&sender);
        tokio::spawn(async move {
            let mut bell = Bell::new(bell);
            while let Some(sender) = weak.upgrade() {
                if bell.rang() {
                    let row = match store.read().await {
                        Ok(mut db) => db.job(&job).await.ok().flatten(),
                        Err(_) => None,
                    };
                    if let Some(row) = row {
                        raise(&sender, Stop::of(row.cancel));
                    }
                }
                drop(sender);
                sleep(LOOK_EVERY).await;
            }
        });
        for kind in [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()] {
            let weak = Arc::downgrade(&sender);
            let Ok(mut signals) = signal(kind) else { continue };
            tokio::spawn(async move {
                while signals.recv().await.is_some() {
                    let Some(sender) = weak.upgrade() else { return };
                    raise(&sender, Stop::Terminated);
                }
            });
        }
        Self { sender, receiver, ignored: Stop::No }
    }

    /// The same, which hears only what is more urgent than this.
    pub(crate) fn beyond(&self, ignored: Stop) -> Self {
        Self { ignored, ..self.clone() }
    }

    /// Ends it after a time; zero means no limit.
    pub(crate) fn limit(&self, time: Duration) {
        if time.is_zero() {
            return;
        }
        let weak = Arc::downgrade(&self.sender);
        tokio::spawn(async move {
            sleep(time).await;
            if let Some(sender) = weak.upgrade() {
                raise(&sender, Stop::TimedOut);
            }
        });
    }

    /// Why it is to end by now.
    pub(crate) fn stop(&self) -> Stop {
        *self.receiver.borrow()
    }

    /// Waits until there is a more urgent reason to end than one that is known.
    pub(crate) async fn more_than(&self, known: Stop) -> Stop {
        let known = known.max(self.ignored);
        let mut receiver = self.receiver.clone();
        let stop = receiver.wait_for(|stop| *stop > known).await.map(|stop| *stop);
        match stop {
            Ok(stop) => stop,
            // The sender is ours: it does not go away.
            Err(_) => std::future::pending().await,
        }
    }
}

fn raise(sender: &watch::Sender<Stop>, stop: Stop) {
    sender.send_if_modified(|known| {
        let more = stop > *known;
        if more {
            *known = stop;
        }
        more
    });
}

/// Tells when it is worth asking the store again.
#[derive(Debug)]
pub(crate) struct Bell {
    path: PathBuf,
    heard: Option<SystemTime>,
    asked: Option<Instant>,
}

impl Bell {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, heard: None, asked: None }
    }

    /// Whether it rang since it was asked last, or that was long ago; the first time always.
    pub(crate) fn rang(&mut self) -> bool {
        let rung = modified(&self.path);
        let due = rung != self.heard || self.asked.is_none_or(|asked| asked.elapsed() >= ASK_EVERY);
        if due {
            self.heard = rung;
            self.asked = Some(Instant::now());
        }
        due
    }
}

fn modified(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).ok()?.modified().ok()
}
