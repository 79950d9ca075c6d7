//! Slack's signature: HMAC-SHA-256 over version, time and the raw body.

use http::HeaderMap;
use ring::hmac;
use spinney_core::{Secret, Timestamp};

use crate::Refusal;
use crate::http::{header, hex};

const VERSION: &str = "v0";
/// Between Slack's clock and ours, either way.
const WINDOW_MS: u64 = 5 * 60 * 1000;

#[derive(Debug, Clone)]
pub(super) struct Verifier(hmac::Key);

impl Verifier {
    pub fn new(secret: &Secret) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, secret.expose().as_bytes()))
    }

    /// Refuses what Slack did not sign, and what it signed at another time.
    pub fn verify(&self, headers: &HeaderMap, body: &[u8], now: Timestamp) -> Result<(), Refusal> {
        let time = header::only(headers, "x-slack-request-timestamp").ok_or(Refusal::Unsigned)?;
        let signature = header::only(headers, "x-slack-signature").and_then(|value| value.strip_prefix("v0="));
        let signature = signature.and_then(hex::decode::<32>).ok_or(Refusal::Unsigned)?;
        let signed = [VERSION.as_bytes(), b":", time.as_bytes(), b":", body].concat();
        hmac::verify(&self.0, &signed, &signature).map_err(|_| Refusal::Unsigned)?;
        let time = header::seconds(time).ok_or(Refusal::Malformed)?;
        let apart = now.as_millisecond().abs_diff(time.saturating_mul(1000));
        if apart > WINDOW_MS { Err(Refusal::Stale) } else { Ok(()) }
    }
}
