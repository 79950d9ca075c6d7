//! A database server that goes away for a while, as one that is started again.
//!
//! A job's process waits for it before a statement is sent ([`STORE_PATIENCE`], by the store). A transaction that was cut
//! off in the middle is nobody's but the caller's to do again: nobody knows whether its commit arrived. [`through`] does so
//! for steps that find done what they did.

use std::time::Duration;

use crate::Error;

/// How long a job's process waits for the database before it fails.
pub const STORE_PATIENCE: Duration = Duration::from_secs(5 * 60);

/// A server that is started again cuts a step off once, or a few times while it comes and goes.
const TIMES: usize = 20;

/// An error that may be the server's going away in the middle of a step.
pub(crate) trait Cut {
    fn is_cut_off(&self) -> bool;
}

impl Cut for Error {
    fn is_cut_off(&self) -> bool {
        matches!(self, Self::Engine(error) if error.is_cut_off())
    }
}

impl Cut for spinney_engine::Error {
    fn is_cut_off(&self) -> bool {
        self.is_cut_off()
    }
}

/// Does a step again that was cut off. Done twice it must be as good as done once.
pub(crate) async fn through<T, E: Cut>(mut step: impl AsyncFnMut() -> Result<T, E>) -> Result<T, E> {
    for _ in 1..TIMES {
        match step().await {
            Err(error) if error.is_cut_off() => {}
            done => return done,
        }
    }
    step().await
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether it was cut off.
    impl Cut for bool {
        fn is_cut_off(&self) -> bool {
            *self
        }
    }

    #[tokio::test]
    async fn only_what_was_cut_off_is_done_again() {
        let mut done = 0;
        let ended = through(async || {
            done += 1;
            if done < 3 { Err(true) } else { Ok(done) }
        });
        assert_eq!(ended.await, Ok(3));
        let mut done = 0;
        assert_eq!(
            through(async || {
                done += 1;
                Err::<(), _>(false)
            })
            .await,
            Err(false)
        );
        assert_eq!(done, 1);
        let mut done = 0;
        assert_eq!(
            through(async || {
                done += 1;
                Err::<(), _>(true)
            })
            .await,
            Err(true)
        );
        assert_eq!(done, TIMES, "it is not for ever");
    }
}
