//! The secret that Telegram sends with every update, as it was told with `setWebhook`.

use http::HeaderMap;
use ring::hmac;
use spinney_core::Secret;

use crate::Refusal;
use crate::http::header;

/// Of a secret, by Telegram's own bounds.
const MAX_CHARS: usize = 256;

#[derive(Debug, Clone)]
pub(super) struct Verifier {
    key: hmac::Key,
    expected: hmac::Tag,
}

impl Verifier {
    /// None where Telegram would not take the secret.
    pub fn new(secret: &Secret) -> Option<Self> {
        let secret = secret.expose();
        let is_right = (1..=MAX_CHARS).contains(&secret.len())
            && secret.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
        let expected = hmac::sign(&key, secret.as_bytes());
        is_right.then_some(Self { key, expected })
    }

    /// Refuses what does not come with the secret. Hashes are compared, so that the time tells nothing of it.
    pub fn verify(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let given = header::only(headers, "x-telegram-bot-api-secret-token").ok_or(Refusal::Unsigned)?;
        hmac::verify(&self.key, given.as_bytes(), self.expected.as_ref()).map_err(|_| Refusal::Unsigned)
    }
}
