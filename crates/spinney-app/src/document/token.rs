//! Accounts and their tokens. A secret is in the one document that answers its making, and in no other.

use std::fmt;

use serde::Serialize;
use spinney_core::TokenSecret;
use utoipa::ToSchema;

use super::{Scope, Timestamp};

/// An account.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Account {
    pub name: String,
    pub created_at: Timestamp,
}

impl Account {
    #[must_use]
    pub fn of(account: &spinney_core::Account) -> Self {
        Self { name: account.name.to_string(), created_at: account.created_at.into() }
    }
}

/// A token, without its secret.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Token {
    pub id: String,
    pub name: String,
    pub account: String,
    pub scope: Scope,
    pub created_at: Timestamp,
    /// None: never.
    #[schema(required)]
    pub expires_at: Option<Timestamp>,
    /// To the minute; none: it was not used yet.
    #[schema(required)]
    pub last_used_at: Option<Timestamp>,
}

impl Token {
    #[must_use]
    pub fn of(token: &spinney_core::Token) -> Self {
        Self {
            id: token.id.to_string(),
            name: token.name.to_string(),
            account: token.account.to_string(),
            scope: token.scope.into(),
            created_at: token.created_at.into(),
            expires_at: token.expires_at.map(Into::into),
            last_used_at: token.last_used_at.map(Into::into),
        }
    }
}

/// A token that was just made. Its secret is shown this once.
#[derive(Clone, Serialize, ToSchema)]
pub struct CreatedToken {
    /// The secret.
    pub token: String,
    pub id: String,
    pub name: String,
    pub account: String,
    pub scope: Scope,
    pub created_at: Timestamp,
    /// None: never.
    #[schema(required)]
    pub expires_at: Option<Timestamp>,
}

impl CreatedToken {
    #[must_use]
    pub fn of(token: &spinney_core::Token, secret: &TokenSecret) -> Self {
        Self {
            token: secret.expose().to_owned(),
            id: token.id.to_string(),
            name: token.name.to_string(),
            account: token.account.to_string(),
            scope: token.scope.into(),
            created_at: token.created_at.into(),
            expires_at: token.expires_at.map(Into::into),
        }
    }
}

/// Without the secret.
impl fmt::Debug for CreatedToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CreatedToken").field("id", &self.id).finish_non_exhaustive()
    }
}

/// A link that logs a browser in, once.
#[derive(Clone, Serialize, ToSchema)]
pub struct LoginLink {
    pub url: String,
    pub account: String,
    pub scope: Scope,
    #[schema(required)]
    pub expires_at: Option<Timestamp>,
}

impl LoginLink {
    /// A link to the daemon at a URL without a slash at its end.
    #[must_use]
    pub fn of(base_url: &str, token: &spinney_core::Token, secret: &TokenSecret) -> Self {
        Self {
            url: format!("{base_url}/login?key={}", secret.expose()),
            account: token.account.to_string(),
            scope: token.scope.into(),
            expires_at: token.expires_at.map(Into::into),
        }
    }
}

/// Without the URL, in which the secret is.
impl fmt::Debug for LoginLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoginLink").field("account", &self.account).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use spinney_core::{AccountName, TokenKind};

    use super::*;
    use crate::document::described::{assert_described, sample};

    fn token(time: Option<Duration>) -> spinney_core::Token {
        let scope = spinney_core::Scope::Write;
        spinney_core::Token::new(AccountName::local(), TokenKind::Api, "ci".parse().unwrap(), scope, time)
    }

    #[test]
    fn accounts_and_tokens_are_what_their_schemas_say() {
        let account = Account::of(&spinney_core::Account { name: AccountName::local(), created_at: sample::at(1) });
        assert_described(&account, &account);
        let (full, bare) = (token(Some(Duration::from_secs(60))), token(None));
        let used = spinney_core::Token { last_used_at: Some(sample::at(2)), ..full.clone() };
        assert_described(&Token::of(&used), &Token::of(&bare));
        let secret = TokenSecret::generate();
        assert_described(&CreatedToken::of(&full, &secret), &CreatedToken::of(&bare, &secret));
        let printed = format!("{:?} {:?}", CreatedToken::of(&full, &secret), LoginLink::of("http://a", &full, &secret));
        assert!(!printed.contains(secret.expose()), "{printed}");
        assert_described(&LoginLink::of("http://a", &full, &secret), &LoginLink::of("http://a", &bare, &secret));
    }
}
