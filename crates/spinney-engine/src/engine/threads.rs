//! The door to the engine for those who serve many at once.
//!
//! The engine blocks: it walks trees, waits for locks and for processes. A daemon calls it on these threads and on no other.
//! Of them there are only so many; whoever comes when all are at work waits for one without holding up anybody else.

use std::sync::Arc;

use async_recursion::async_recursion as boxed;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::JoinError;

/// A bounded number of threads that may wait. Cheap to clone; all clones share them.
#[derive(Debug, Clone)]
pub struct EngineThreads(Arc<Semaphore>);

impl EngineThreads {
    /// At most so many at work at once. The runtime has more blocking threads than that, for what such work itself hands on.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self(Arc::new(Semaphore::new(most)))
    }

    /// Does some work on one of them, once there is one for it. It goes on though nobody waits for it any more. An error
    /// means that it panicked.
    #[boxed]
    pub async fn run<T, F>(&self, work: impl FnOnce() -> F + Send + 'static) -> Result<T, JoinError>
    where
        T: Send + 'static,
        F: Future<Output = T>,
    {
        // Nobody closes it.
        let permit = Arc::clone(&self.0).acquire_owned().await;
        let handle = Handle::current();
        let working = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            let _lent = spinney_git::lend_thread();
            handle.block_on(work())
        });
        working.await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    #[test]
    fn no_more_than_so_many_work_at_once_and_the_workers_stay_free() {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .on_thread_start(spinney_git::share_thread)
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let threads = EngineThreads::new(2);
            let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            let work = (0..8).map(|_| {
                let (threads, now, most) = (threads.clone(), Arc::clone(&now), Arc::clone(&most));
                tokio::spawn(async move {
                    threads
                        .run(move || async move {
                            spinney_git::expect_patience("this");
                            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                            std::thread::sleep(Duration::from_millis(20));
                            now.fetch_sub(1, Ordering::SeqCst);
                        })
                        .await
                })
            });
            let work: Vec<_> = work.collect();
            // The one worker is not at it.
            let answered = tokio::spawn(async { tokio::task::yield_now().await });
            tokio::time::timeout(Duration::from_secs(10), answered).await.unwrap().unwrap();
            for ended in work {
                ended.await.unwrap().unwrap();
            }
            assert_eq!(most.load(Ordering::SeqCst), 2);
            let refused = tokio::spawn(async { spinney_git::expect_patience("this") });
            assert!(refused.await.is_err(), "a worker does not wait");
        });
    }
}
