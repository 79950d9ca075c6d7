//! Waiting out what passes by itself, for no longer than was agreed.

use std::time::{Duration, Instant};

use spinney_core::forge::Outage;
use spinney_core::{ForgeError, Timestamp};

const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(20);
/// Those who were told the same time to come back do not come all at once.
const SPREAD: Duration = Duration::from_millis(250);

/// How long a forge is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// All tries of one question together.
    pub total: Duration,
    /// One answer, from the connection to its last byte.
    pub answer: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { total: Duration::from_secs(120), answer: Duration::from_secs(30) }
    }
}

/// Why a question is asked again later.
#[derive(Debug)]
pub enum Later {
    /// The server wants fewer requests, and told how long to wait.
    RateLimited(Duration),
    /// The server, or the way to it, is down.
    Outage { detail: String, after: Option<Duration> },
}

/// The tries of one question.
#[derive(Debug)]
pub(crate) struct Waits<'a> {
    forge: &'a str,
    patience: Patience,
    start: Instant,
    tries: u32,
}

impl<'a> Waits<'a> {
    pub fn new(forge: &'a str, patience: Patience) -> Self {
        Self { forge, patience, start: Instant::now(), tries: 0 }
    }

    /// How long the next answer may take.
    pub fn answer_timeout(&self) -> Duration {
        self.left().min(self.patience.answer).max(Duration::from_millis(100))
    }

    fn left(&self) -> Duration {
        self.patience.total.saturating_sub(self.start.elapsed())
    }

    /// Sleeps until the next try; an error where that would take longer than there is patience.
    pub async fn wait(&mut self, later: Later) -> Result<(), ForgeError> {
        self.tries += 1;
        let pause = match &later {
            Later::RateLimited(after) | Later::Outage { after: Some(after), .. } => *after + spread(SPREAD),
            Later::Outage { after: None, .. } => backoff(self.tries),
        };
        if pause >= self.left() {
            let forge = self.forge.to_owned();
            return Err(match later {
                Later::RateLimited(after) => ForgeError::RateLimited { forge, until: Timestamp::now().plus(after) },
                Later::Outage { detail, .. } => {
                    ForgeError::Unreachable { forge, tries: self.tries, source: Outage::new(&detail) }
                }
            });
        }
        tracing::debug!(forge = self.forge, tries = self.tries, ?later, ?pause, "trying again");
        tokio::time::sleep(pause).await;
        Ok(())
    }
}

/// A pause that doubles and is never the same for two who wait together.
fn backoff(tries: u32) -> Duration {
    let longest = FIRST_PAUSE.saturating_mul(1 << tries.saturating_sub(1).min(10)).min(LONGEST_PAUSE);
    longest / 2 + spread(longest / 2)
}

fn spread(most: Duration) -> Duration {
    let mut bytes = [0u8; 2];
    // Without random bytes all wait alike, which is only slower.
    let _ = getrandom::fill(&mut bytes);
    most.mul_f64(f64::from(u16::from_le_bytes(bytes)) / f64::from(u16::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_bound() {
        for tries in 1..40 {
            let longest = FIRST_PAUSE.saturating_mul(1 << (tries - 1).min(10)).min(LONGEST_PAUSE);
            let pause = backoff(tries);
            assert!(pause >= longest / 2 && pause <= longest, "{tries}: {pause:?}");
        }
    }

    #[tokio::test]
    async fn a_wait_longer_than_the_patience_is_refused_at_once_and_says_until_when() {
        let patience = Patience { total: Duration::from_secs(60), ..Patience::default() };
        let start = Instant::now();
        let error =
            Waits::new("GitHub", patience).wait(Later::RateLimited(Duration::from_secs(600))).await.unwrap_err();
        assert!(start.elapsed() < Duration::from_secs(30));
        let ForgeError::RateLimited { until, .. } = error else { panic!("{error}") };
        let ahead = until.as_millisecond() - Timestamp::now().as_millisecond();
        assert!((590_000..=600_000).contains(&ahead), "{ahead}");
    }
}
