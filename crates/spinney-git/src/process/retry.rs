//! Trying again when somebody else was in the way for a moment.

use std::time::Duration;

use crate::Result;

const ATTEMPTS: u32 = 12;
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(250);

/// Counts the attempts of one call. A loop instead of a closure, because a future must be able to change threads.
#[derive(Debug, Default)]
pub(crate) struct Retry {
    attempts: u32,
}

impl Retry {
    /// Pauses and says `true` when the result is one to try again after, and it was not tried often enough yet.
    pub(crate) async fn again<T>(&mut self, result: &Result<T>) -> bool {
        self.attempts += 1;
        match result {
            Err(error) if error.is_transient() && self.attempts < ATTEMPTS => {
                tracing::debug!(attempt = self.attempts, %error, "trying again");
            }
            _ => return false,
        }
        tokio::time::sleep(pause(self.attempts)).await;
        true
    }
}

/// A pause that doubles and is never the same for two who wait together.
fn pause(attempt: u32) -> Duration {
    let longest = FIRST_PAUSE.saturating_mul(1 << attempt.min(10)).min(LONGEST_PAUSE);
    longest.mul_f64(0.25 + 0.75 * random_fraction())
}

fn random_fraction() -> f64 {
    let mut bytes = [0u8; 2];
    // Without random bytes all wait alike, which is only slower.
    let _ = getrandom::fill(&mut bytes);
    f64::from(u16::from_le_bytes(bytes)) / f64::from(u16::MAX)
}
