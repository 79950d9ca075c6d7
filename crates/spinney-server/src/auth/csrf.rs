//! The token that shows that a write comes from a page of ours: it follows from the session's secret, which no other page
//! can read, and does not tell it.

use std::fmt;

use sha2::{Digest, Sha256};
use spinney_core::TokenSecret;
use subtle::ConstantTimeEq;

#[derive(Clone)]
pub(crate) struct Csrf(String);

impl Csrf {
    pub(crate) fn of(secret: &TokenSecret) -> Self {
        let hash = Sha256::new().chain_update("spinney csrf\0").chain_update(secret.expose()).finalize();
        Self(hash.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    pub(crate) fn matches(&self, shown: &str) -> bool {
        self.0.as_bytes().ct_eq(shown.as_bytes()).into()
    }

    /// The text that goes into a form.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Csrf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Csrf(***)")
    }
}
