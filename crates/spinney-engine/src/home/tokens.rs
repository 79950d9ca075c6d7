//! Tokens of an account: made, listed, revoked. A secret is told once, to whoever made it.

use std::time::Duration;

use async_recursion::async_recursion as boxed;
use spinney_core::{Event, Scope, Token, TokenKind, TokenName, TokenSecret};

use crate::journal::events;
use crate::{Engine, Error, Result};

/// What somebody wants a token for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewToken {
    pub kind: TokenKind,
    pub name: TokenName,
    pub scope: Scope,
    /// How long it counts; none: until it is revoked.
    pub time: Option<Duration>,
}

impl Engine {
    /// Makes a token of this account. The secret is nowhere but in the answer.
    #[boxed]
    pub async fn create_token(&self, new: NewToken) -> Result<(Token, TokenSecret)> {
        let NewToken { kind, name, scope, time } = new;
        let token = Token::new(self.account_name()?, kind, name, scope, time);
        let secret = TokenSecret::generate();
        self.require_account(&token.account).await?;
        let mut db = self.store.write().await?;
        // The name of one that has expired is free.
        db.delete_expired_tokens(token.created_at).await?;
        if !db.insert_token(&token, &secret.hash()).await? {
            return Err(Error::TokenTaken { account: token.account, name: token.name });
        }
        events::record_token(&mut db, &token, Event::TokenCreated)?;
        db.commit().await?;
        Ok((token, secret))
    }

    /// Loads this account's tokens for programs, oldest first.
    #[boxed]
    pub async fn tokens(&self) -> Result<Vec<Token>> {
        Ok(self.store.read().await?.tokens(&self.account_name()?, TokenKind::Api).await?)
    }

    /// Revokes a token of this account by its id, else by its name.
    #[boxed]
    pub async fn revoke_token(&self, text: &str) -> Result<Token> {
        let account = self.account_name()?;
        let mut db = self.store.write().await?;
        let tokens = db.tokens(&account, TokenKind::Api).await?;
        let by_id = tokens.iter().find(|token| token.id.as_str() == text);
        let found = by_id.or_else(|| tokens.iter().find(|token| token.name.as_str() == text)).cloned();
        let Some(token) = found else { return Err(Error::UnknownToken { account, name: text.to_owned() }) };
        db.delete_token(&account, &token.id).await?;
        // A browser that was logged in with it is logged out.
        db.delete_sessions_named(&account, &token.name).await?;
        events::record_token(&mut db, &token, Event::TokenRevoked)?;
        db.commit().await?;
        Ok(token)
    }
}
