//! What is told as it happens: the audit log and the logs of jobs, each as a stream that goes on where its reader stopped.
//!
//! A stream is read, never pushed: it takes no more memory for a reader who is slow, and costs nothing when nobody reads.
//! Each ends when the server stops, which a `watch` tells by turning `true`.

mod broadcast;
pub mod log;
mod sse;
mod subscription;

pub use broadcast::Broadcaster;
pub use sse::stream;
pub use subscription::Subscription;

use std::time::Duration;

use tokio::sync::watch;

/// How long a reader who was cut off waits before it comes back.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// How often a silent stream says that it is alive: proxies cut off what is silent for longer.
const KEEP_ALIVE_EVERY: Duration = Duration::from_secs(15);

/// Waits until the server stops; one that is gone has stopped.
async fn stopped(stopping: &mut watch::Receiver<bool>) {
    let _ = stopping.wait_for(|stops| *stops).await;
}
