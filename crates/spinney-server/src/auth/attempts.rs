//! Failed log-ins, so that nobody guesses for long.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::error::{ApiError, Result};
use crate::listen::Peer;

/// How many may fail, from one address, within [`WINDOW`].
const MAX_FAILURES: u32 = 10;
const WINDOW: Duration = Duration::from_secs(60);
/// How many addresses are remembered; when they are more, all are forgotten that are over.
const MAX_ADDRESSES: usize = 10_000;

/// How many are told in the audit log within [`WINDOW`], from wherever: it is no place to fill.
const MAX_TOLD: u32 = 30;

/// Who failed how often, and since when.
#[derive(Debug, Default)]
pub(crate) struct Attempts(Mutex<Failures>);

#[derive(Debug, Default)]
struct Failures {
    by_address: HashMap<IpAddr, Count>,
    told: Option<Count>,
}

/// How many there were, since when.
type Count = (u32, Instant);

impl Attempts {
    /// Refuses an address that failed too often lately.
    pub(crate) fn check(&self, peer: Peer) -> Result<()> {
        let Peer::Network(address) = peer else { return Ok(()) };
        let attempts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((failures, since)) = attempts.by_address.get(&address.ip()) else { return Ok(()) };
        let left = WINDOW.saturating_sub(since.elapsed());
        if *failures < MAX_FAILURES || left.is_zero() {
            return Ok(());
        }
        Err(ApiError::too_many("too many attempts failed from this address", left.as_secs().max(1)))
    }

    /// Counts one that failed; tells whether the audit log is to have it.
    pub(crate) fn failed(&self, peer: Peer) -> bool {
        let mut attempts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Peer::Network(address) = peer {
            if attempts.by_address.len() >= MAX_ADDRESSES {
                attempts.by_address.retain(|_, (_, since)| since.elapsed() < WINDOW);
            }
            count(attempts.by_address.entry(address.ip()).or_insert((0, Instant::now())));
        }
        count(attempts.told.get_or_insert((0, Instant::now()))) <= MAX_TOLD
    }
}

/// Counts one more, from the beginning when the last window is over.
fn count((failures, since): &mut Count) -> u32 {
    if since.elapsed() >= WINDOW {
        (*failures, *since) = (0, Instant::now());
    }
    *failures += 1;
    *failures
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_fails_too_often_waits_and_others_do_not() {
        let attempts = Attempts::default();
        let peer = |last| Peer::Network(([10, 0, 0, last], 4000).into());
        for _ in 0..MAX_FAILURES {
            assert!(attempts.check(peer(1)).is_ok());
            attempts.failed(peer(1));
        }
        assert_eq!(attempts.check(peer(1)).unwrap_err().status, 429);
        assert!(attempts.check(peer(2)).is_ok());
        assert!(attempts.check(Peer::Owner).is_ok());
    }

    #[test]
    fn whoever_guesses_does_not_fill_the_audit_log() {
        let attempts = Attempts::default();
        let told = (0..200).filter(|last| attempts.failed(Peer::Network(([10, 0, 0, *last], 1).into()))).count();
        assert_eq!(told, MAX_TOLD as usize);
    }
}
