//! Tokens: what a caller shows to act for an account. The secret is told once; only its hash is kept.

use std::fmt;
use std::fmt::Write as _;
use std::str::FromStr;
use std::time::Duration;

use crate::names::content_hash;
use crate::values::checked_text::checked_text;
use crate::workspace::words;
use crate::{AccountName, Secret, Timestamp, TokenId};

words!(
    /// What a token may do; each may all that those before it may.
    Scope {
        Read = "read",
        Write = "write",
        /// Tokens, accounts' settings, what can't be undone.
        Admin = "admin",
    }
);

words!(
    /// How a token is carried.
    TokenKind {
        /// In a header, by a program.
        Api = "api",
        /// In a browser's cookie.
        Session = "session",
        /// In a link that logs a browser in, once.
        Login = "login",
    }
);

const MAX_NAME_CHARS: usize = 60;

checked_text!(
    /// What a person calls a token, as `ci`.
    TokenName,
    is_token_name,
    /// A text that can't name a token.
    InvalidTokenName: "`{}` is not a token's name: 1 to 60 characters, none of them invisible, no space at either end"
);

fn is_token_name(text: &str) -> bool {
    let hides = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
    };
    (1..=MAX_NAME_CHARS).contains(&text.chars().count()) && text.trim() == text && !text.contains(hides)
}

/// The name of a token that no person named.
impl From<TokenKind> for TokenName {
    fn from(kind: TokenKind) -> Self {
        Self(kind.as_str().to_owned())
    }
}

/// One row of the store. The secret is not a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    pub id: TokenId,
    pub account: AccountName,
    pub kind: TokenKind,
    pub name: TokenName,
    pub scope: Scope,
    pub created_at: Timestamp,
    /// None: never.
    pub expires_at: Option<Timestamp>,
    /// To the minute.
    pub last_used_at: Option<Timestamp>,
}

impl Token {
    /// A new one, good for a time from now on; without one, for ever.
    #[must_use]
    pub fn new(account: AccountName, kind: TokenKind, name: TokenName, scope: Scope, time: Option<Duration>) -> Self {
        let created_at = Timestamp::now();
        let expires_at = time.map(|time| created_at.plus(time));
        Self { id: TokenId::generate(), account, kind, name, scope, created_at, expires_at, last_used_at: None }
    }

    /// Whether it counts no more.
    #[must_use]
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|expires_at| expires_at <= now)
    }
}

/// How every secret begins, so that those who search for leaked ones know it.
const PREFIX: &str = "spn_";
const SECRET_BYTES: usize = 32;

/// The secret of a token: `spn_` and 64 hex digits, from the operating system's randomness.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenSecret(Secret);

/// A text that is no secret of ours. It is not repeated: it may be somebody else's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is not a token of the form `spn_…`")]
pub struct InvalidTokenSecret;

impl TokenSecret {
    #[must_use]
    pub fn generate() -> Self {
        let mut bytes = [0u8; SECRET_BYTES];
        getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
        let text = bytes.iter().fold(PREFIX.to_owned(), |mut text, byte| {
            // Writing to a text does not fail.
            let _ = write!(text, "{byte:02x}");
            text
        });
        Self(Secret::new(text))
    }

    /// The text itself, to be shown once.
    #[must_use]
    pub fn expose(&self) -> &str {
        self.0.expose()
    }

    /// The hash that the store knows it by. The secret is too long to be guessed, so that one plain hash is enough.
    #[must_use]
    pub fn hash(&self) -> String {
        content_hash(self.expose().as_bytes())
    }
}

impl FromStr for TokenSecret {
    type Err = InvalidTokenSecret;

    fn from_str(text: &str) -> Result<Self, InvalidTokenSecret> {
        let digits = text.strip_prefix(PREFIX).ok_or(InvalidTokenSecret)?;
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let right = digits.len() == 2 * SECRET_BYTES && digits.bytes().all(is_digit);
        if right { Ok(Self(Secret::new(text))) } else { Err(InvalidTokenSecret) }
    }
}

impl fmt::Display for TokenSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_contain_each_other() {
        assert!(Scope::Read < Scope::Write && Scope::Write < Scope::Admin);
        assert_eq!("write".parse(), Ok(Scope::Write));
        assert!("Write".parse::<Scope>().is_err() && "".parse::<Scope>().is_err());
    }

    #[test]
    fn names_are_what_a_person_can_read() {
        let long = "ö".repeat(MAX_NAME_CHARS);
        for name in ["ci", "Größe 7", "a/b", "k3v9q2m7ta", &long] {
            assert!(name.parse::<TokenName>().is_ok(), "{name}");
        }
        let long = "ö".repeat(MAX_NAME_CHARS + 1);
        for name in ["", " ", " ci", "ci ", "a\nb", "a\u{1b}[31m", "a\u{202e}b", "a\u{200b}b", &long] {
            assert!(name.parse::<TokenName>().is_err(), "{name}");
        }
        for kind in TokenKind::ALL {
            assert_eq!(TokenName::from(*kind).as_str().parse(), Ok(TokenName::from(*kind)));
        }
    }

    #[test]
    fn a_token_ends_at_its_time() {
        let new = |time| Token::new(AccountName::local(), TokenKind::Api, TokenKind::Api.into(), Scope::Read, time);
        let token = new(Some(Duration::from_secs(60)));
        assert!(!token.is_expired(token.created_at));
        assert!(token.is_expired(token.created_at.plus(Duration::from_secs(60))));
        let lasting = new(None);
        assert!(!lasting.is_expired(Timestamp::from_millisecond(i64::MAX)));
    }

    #[test]
    fn secrets_are_long_and_shown_to_nobody() {
        let secret = TokenSecret::generate();
        assert_ne!(secret, TokenSecret::generate());
        assert_eq!(secret.expose().parse(), Ok(secret.clone()));
        assert_eq!(secret.expose().len(), 68);
        assert_eq!(format!("{secret} {secret:?}"), "*** TokenSecret(Secret(***))");
        assert!(!secret.hash().contains(&secret.expose()[4..]));
    }

    #[test]
    fn other_texts_are_no_secrets_and_are_not_repeated() {
        let (short, upper) = (format!("spn_{}", "a".repeat(63)), format!("spn_{}", "A".repeat(64)));
        let long = format!("spn_{}", "a".repeat(1 << 20));
        for text in ["", "spn_", "ghp_0123456789", &short, &upper, &long] {
            assert_eq!(text.parse::<TokenSecret>(), Err(InvalidTokenSecret), "{}", text.len());
        }
    }

    #[test]
    fn the_hash_is_the_plain_sha_256_of_the_text() {
        let secret: TokenSecret = format!("spn_{}", "0".repeat(64)).parse().unwrap();
        assert_eq!(secret.hash(), "d5551b3db07bdd6a784ae99530964e2fead45fe7c8385a20d0f6e00139ce104c");
    }
}
