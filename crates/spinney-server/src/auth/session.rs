//! Sessions of browsers: begun with the key of a link or with a token, ended by logging out. The audit log tells of both,
//! and of who was refused.

use spinney_core::{AccountName, Actor, Event, Timestamp, Token, TokenKind, TokenSecret};
use spinney_store::Subject;

use super::{Caller, SESSION_FOR, Via};
use crate::app::App;
use crate::error::{ApiError, Result};
use crate::listen::Peer;

/// Begins a session with the key of a link, or with a token.
pub(crate) async fn begin_session(app: &App, peer: Peer, key: &str) -> Result<TokenSecret> {
    app.attempts().check(peer)?;
    let now = Timestamp::now();
    let somebody = Actor::Stranger { address: peer.address() };
    let mut db = app.engine().store().acting_as(somebody).write().await?;
    let shown = match key.trim().parse::<TokenSecret>() {
        Ok(secret) => match db.take_login(&secret.hash(), now).await? {
            Some(login) => Some(login),
            None => db.token_by_hash(&secret.hash(), TokenKind::Api, now).await?,
        },
        Err(_) => None,
    };
    let Some(shown) = shown else {
        if app.attempts().failed(peer) {
            // Nobody knows whose it was to be: it is told to the owner of the home.
            db.record(Subject::account(AccountName::local().as_str()), Event::LoginFailed { from: peer.address() })?;
            db.commit().await?;
        }
        return Err(ApiError::unauthorized("this link or token is unknown, expired or used up"));
    };
    let secret = TokenSecret::generate();
    // No longer than the token that it was begun with.
    let mut session = Token::new(shown.account, TokenKind::Session, shown.name, shown.scope, Some(SESSION_FOR));
    if shown.kind == TokenKind::Api && shown.expires_at.is_some_and(|ends| Some(ends) < session.expires_at) {
        session.expires_at = shown.expires_at;
    }
    db.insert_token(&session, &secret.hash()).await?;
    let Token { id, name, scope, account, .. } = session;
    db.act_as(Actor::Session { id: id.clone(), name: name.clone(), address: peer.address() });
    db.record(Subject::account(account.as_str()), Event::SessionBegun { id, name, scope, from: peer.address() })?;
    db.commit().await?;
    Ok(secret)
}

/// Ends the session of a browser that asks with one.
pub(crate) async fn end_session(app: &App, caller: &Caller) -> Result<()> {
    let Via::Session { id, .. } = &caller.via else { return Ok(()) };
    let mut db = app.engine_of(caller).store().write().await?;
    if db.delete_token(&caller.account, id).await? {
        db.record(Subject::account(caller.account.as_str()), Event::SessionEnded { id: id.clone() })?;
    }
    Ok(db.commit().await?)
}
