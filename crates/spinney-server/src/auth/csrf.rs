//! The token that shows that a write comes from a page of ours: it follows from the session's secret, which no other page
//! can read, and does not tell it.

use std::fmt;

use sha2::{Digest, Sha256};
use spinney_core::{Timestamp, TokenSecret};
use subtle::ConstantTimeEq;

/// How long a page tells what was just done.
const SEALED_FOR_MS: i64 = 60_000;
const MARK_BYTES: usize = 12;

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

    /// A code for what was just done, which nobody but this session's server can have written.
    pub(crate) fn seal(&self, code: &str, now: Timestamp) -> String {
        let at = now.as_millisecond();
        format!("{code}.{at}.{}", self.mark(code, at))
    }

    /// The code that was sealed a moment ago; none where it was not.
    pub(crate) fn open<'a>(&self, sealed: &'a str, now: Timestamp) -> Option<&'a str> {
        let (code, rest) = sealed.split_once('.')?;
        let (at, mark) = rest.split_once('.')?;
        let at: i64 = at.parse().ok()?;
        let age = now.as_millisecond().checked_sub(at)?;
        let is_ours: bool = self.mark(code, at).as_bytes().ct_eq(mark.as_bytes()).into();
        (is_ours && (0..=SEALED_FOR_MS).contains(&age)).then_some(code)
    }

    fn mark(&self, code: &str, at: i64) -> String {
        let hash = Sha256::new().chain_update("spinney did\0").chain_update(&self.0);
        let hash = hash.chain_update(format!("\0{code}\0{at}")).finalize();
        hash.iter().take(MARK_BYTES).map(|byte| format!("{byte:02x}")).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_done_is_told_to_its_own_session_and_for_a_moment() {
        let (own, other) = (Csrf::of(&TokenSecret::generate()), Csrf::of(&TokenSecret::generate()));
        let at = |ms| Timestamp::from_millisecond(1_700_000_000_000 + ms);
        let sealed = own.seal("removed", at(0));
        assert_eq!(own.open(&sealed, at(1000)), Some("removed"));
        assert_eq!(other.open(&sealed, at(1000)), None);
        assert_eq!(own.open(&sealed, at(SEALED_FOR_MS + 1)), None);
        assert_eq!(own.open(&sealed.replace("removed", "purged"), at(0)), None);
        for text in ["", "removed", "removed.", "removed.1", "removed.1700000000000.", "removed.x.y", "..", "a.-1.b"] {
            assert_eq!(own.open(text, at(0)), None, "{text}");
        }
    }
}
