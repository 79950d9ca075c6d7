//! The signatures of webhooks, made apart from the product.

use std::fmt::Write;

use sha2::{Digest, Sha256};

const BLOCK_BYTES: usize = 64;

/// HMAC-SHA-256 in hexadecimal, for a key of at most a block.
pub(crate) fn hmac(key: &str, text: &[u8]) -> String {
    let pad = |with: u8| {
        let mut block = [with; BLOCK_BYTES];
        block.iter_mut().zip(key.as_bytes()).for_each(|(byte, key)| *byte ^= key);
        block
    };
    let inner = Sha256::new().chain_update(pad(0x36)).chain_update(text).finalize();
    let outer = Sha256::new().chain_update(pad(0x5c)).chain_update(inner).finalize();
    outer.iter().fold(String::new(), |mut digits, byte| {
        write!(digits, "{byte:02x}").expect("a string takes it");
        digits
    })
}

/// What GitHub sends as `X-Hub-Signature-256` with a body.
#[must_use]
pub fn github_signature(secret: &str, body: &[u8]) -> String {
    format!("sha256={}", hmac(secret, body))
}
