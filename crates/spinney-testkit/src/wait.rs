//! Waiting on a condition instead of sleeping for luck.

use std::thread;
use std::time::{Duration, Instant};

const PAUSE: Duration = Duration::from_millis(10);

/// Waits until the condition holds; panics when it does not within `timeout`.
#[track_caller]
pub fn wait_until(mut condition: impl FnMut() -> bool, timeout: Duration) {
    let deadline = Instant::now() + timeout;
    while !condition() {
        assert!(Instant::now() < deadline, "the condition did not hold within {timeout:?}");
        thread::sleep(PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_for_the_condition() {
        let mut rounds = 0;
        wait_until(
            || {
                rounds += 1;
                rounds == 3
            },
            Duration::from_secs(10),
        );
        assert_eq!(rounds, 3);
    }

    #[test]
    #[should_panic(expected = "did not hold within 30ms")]
    fn gives_up() {
        wait_until(|| false, Duration::from_millis(30));
    }
}
