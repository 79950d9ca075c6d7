//! Tokens of an account: made, listed, revoked. A secret is told once, to whoever made it.

use std::time::Duration;

use spinney_core::{Scope, Timestamp, Token, TokenKind, TokenName, TokenSecret};

use crate::{Engine, Error, Result, events};

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
        events::record_token(&mut db, &token, "token.created")?;
        db.commit().await?;
        Ok((token, secret))
    }

    /// Loads this account's tokens for programs, oldest first.
    pub async fn tokens(&self) -> Result<Vec<Token>> {
        Ok(self.store.read().await?.tokens(&self.account_name()?, TokenKind::Api).await?)
    }

    /// Finds the token of a secret, if it counts still, and notes its use. It tells the account that is meant.
    pub async fn authenticate(&self, secret: &TokenSecret, kind: TokenKind) -> Result<Option<Token>> {
        let now = Timestamp::now();
        let mut db = self.store.read().await?;
        let token = db.token_by_hash(&secret.hash(), kind, now).await?;
        if let Some(token) = &token {
            // What can't be noted now is noted with the next use.
            let _ = db.touch_token(token, now).await;
        }
        Ok(token)
    }

    /// Takes the token of a one-time link, for whoever comes first.
    pub async fn take_login(&self, secret: &TokenSecret) -> Result<Option<Token>> {
        Ok(self.store.read().await?.take_login(&secret.hash(), Timestamp::now()).await?)
    }

    /// Revokes a token of this account by its id, else by its name.
    pub async fn revoke_token(&self, text: &str) -> Result<Token> {
        let account = self.account_name()?;
        let mut db = self.store.write().await?;
        let tokens = db.tokens(&account, TokenKind::Api).await?;
        let by_id = tokens.iter().find(|token| token.id.as_str() == text);
        let found = by_id.or_else(|| tokens.iter().find(|token| token.name.as_str() == text)).cloned();
        let Some(token) = found else { return Err(Error::UnknownToken { account, name: text.to_owned() }) };
        db.delete_token(&account, &token.id).await?;
        events::record_token(&mut db, &token, "token.revoked")?;
        db.commit().await?;
        Ok(token)
    }
}
