//! Sessions of browsers: begun with the key of a link or with a token, ended by logging out. The audit log tells of both,
//! and of who was refused.

use serde_json::{Value, json};
use spinney_core::{AccountName, Timestamp, Token, TokenKind, TokenSecret};
use spinney_store::{Connection, Event};

use super::{Caller, SESSION_FOR, Via};
use crate::app::App;
use crate::error::{ApiError, Result};
use crate::listen::Peer;

/// Begins a session with the key of a link, or with a token.
pub(crate) async fn begin_session(app: &App, peer: Peer, key: &str) -> Result<TokenSecret> {
    app.attempts().check(peer)?;
    let now = Timestamp::now();
    let mut db = app.engine().store().write().await?;
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
            record(&mut db, &AccountName::local(), "login.failed", json!({ "from": told(peer) }))?;
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
    let detail = json!({ "id": session.id, "name": session.name, "scope": session.scope, "from": told(peer) });
    record(&mut db, &session.account, "session.begun", detail)?;
    db.commit().await?;
    Ok(secret)
}

/// Ends the session of a browser that asks with one.
pub(crate) async fn end_session(app: &App, caller: &Caller) -> Result<()> {
    let Via::Session { id, .. } = &caller.via else { return Ok(()) };
    let mut db = app.engine().store().write().await?;
    if db.delete_token(&caller.account, id).await? {
        record(&mut db, &caller.account, "session.ended", json!({ "id": id }))?;
    }
    Ok(db.commit().await?)
}

fn told(peer: Peer) -> Option<String> {
    match peer {
        Peer::Network(address) => Some(address.ip().to_string()),
        Peer::Owner => None,
    }
}

fn record(db: &mut Connection, account: &AccountName, kind: &str, detail: Value) -> Result<()> {
    db.record_event(Event {
        account: account.to_string(),
        kind: kind.to_owned(),
        workspace_id: None,
        repository_id: None,
        job_id: None,
        detail,
        at: Timestamp::now(),
    })?;
    Ok(())
}
