//! What can be asked about accounts and their tokens: each a function that every front calls.

use std::time::Duration;

use async_recursion::async_recursion as boxed;
use spinney_core::quantity::Span;
use spinney_core::{Account, AccountName, Scope, Token, TokenId, TokenKind, TokenName, TokenSecret};
use spinney_engine::{Engine, NewToken};

use crate::{Error, Result};

/// How long a link logs a browser in.
const LINK_FOR: Duration = Duration::from_secs(10 * 60);

/// The accounts that somebody may see: all for the owner of the home; for others, their own.
///
/// # Errors
///
/// If the store can't tell.
#[boxed]
pub async fn list(engine: &Engine, seen_by: &AccountName) -> Result<Vec<Account>> {
    Ok(match seen_by.is_local() {
        true => engine.accounts().await?,
        false => vec![engine.require_account(seen_by).await?],
    })
}

/// Adds an account.
///
/// # Errors
///
/// If its name is taken.
#[boxed]
pub async fn add(engine: &Engine, name: AccountName) -> Result<Account> {
    Ok(engine.add_account(name).await?)
}

/// The account's tokens for programs, oldest first.
///
/// # Errors
///
/// If the store can't tell.
#[boxed]
pub async fn tokens(engine: &Engine) -> Result<Vec<Token>> {
    Ok(engine.tokens().await?)
}

/// Makes a token for a program; its secret is told this once.
///
/// # Errors
///
/// If its name is taken, or it would expire at once.
#[boxed]
pub async fn create_token(
    engine: &Engine,
    name: TokenName,
    scope: Scope,
    expires: Option<Span>,
) -> Result<(Token, TokenSecret)> {
    if expires.is_some_and(|expires| expires.0.is_zero()) {
        return Err(Error::UselessToken);
    }
    let time = expires.map(|expires| expires.0);
    Ok(engine.create_token(NewToken { kind: TokenKind::Api, name, scope, time }).await?)
}

/// Revokes a token by its id or name, and logs the browsers out that came with it.
///
/// # Errors
///
/// If the account has none such.
#[boxed]
pub async fn revoke_token(engine: &Engine, text: &str) -> Result<Token> {
    Ok(engine.revoke_token(text).await?)
}

/// Revokes a token by its id alone.
///
/// # Errors
///
/// If the account has none such.
#[boxed]
pub async fn revoke_token_by_id(engine: &Engine, text: &str) -> Result<Token> {
    let unknown = || Error::unknown("token", text);
    let id: TokenId = text.parse().map_err(|_| unknown())?;
    if engine.tokens().await?.iter().all(|token| token.id != id) {
        return Err(unknown());
    }
    revoke_token(engine, id.as_str()).await
}

/// Makes what logs a browser in, once, within ten minutes.
///
/// # Errors
///
/// If the store can't be written.
#[boxed]
pub async fn make_login(engine: &Engine, scope: Scope) -> Result<(Token, TokenSecret)> {
    let kind = TokenKind::Login;
    Ok(engine.create_token(NewToken { kind, name: kind.into(), scope, time: Some(LINK_FOR) }).await?)
}
