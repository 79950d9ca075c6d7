//! Discord's signature: Ed25519 over time and the raw body.

use http::HeaderMap;
use ring::signature::{ED25519, UnparsedPublicKey};
use spinney_core::Timestamp;

use crate::Refusal;
use crate::http::{header, hex};

/// Between Discord's clock and ours, either way.
const WINDOW_MS: u64 = 5 * 60 * 1000;

#[derive(Debug, Clone)]
pub(super) struct Verifier(UnparsedPublicKey<[u8; 32]>);

impl Verifier {
    /// None for what is no key.
    pub fn new(public_key: &str) -> Option<Self> {
        hex::decode(public_key).map(|key| Self(UnparsedPublicKey::new(&ED25519, key)))
    }

    /// Refuses what Discord did not sign, and what it signed at another time.
    pub fn verify(&self, headers: &HeaderMap, body: &[u8], now: Timestamp) -> Result<(), Refusal> {
        let time = header::only(headers, "x-signature-timestamp").ok_or(Refusal::Unsigned)?;
        let signature = header::only(headers, "x-signature-ed25519").and_then(hex::decode::<64>);
        let signature = signature.ok_or(Refusal::Unsigned)?;
        let signed = [time.as_bytes(), body].concat();
        self.0.verify(&signed, &signature).map_err(|_| Refusal::Unsigned)?;
        let time = header::seconds(time).ok_or(Refusal::Malformed)?;
        let apart = now.as_millisecond().abs_diff(time.saturating_mul(1000));
        if apart > WINDOW_MS { Err(Refusal::Stale) } else { Ok(()) }
    }
}
