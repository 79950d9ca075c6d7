//! Texts that must not be seen.

use std::fmt;

/// A token or password. What prints it prints stars; only [`Secret::expose`] gives it away.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// A text without this secret in it.
    #[must_use]
    pub fn redact(&self, text: &str) -> String {
        if self.0.is_empty() { text.to_owned() } else { text.replace(&self.0, "***") }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_prints_shows_it() {
        let secret = Secret::new("s3cret");
        assert_eq!(format!("{secret} {secret:?}"), "*** Secret(***)");
        assert_eq!(secret.redact("a s3cret and s3cret"), "a *** and ***");
        assert_eq!(Secret::new("").redact("a"), "a");
    }
}
