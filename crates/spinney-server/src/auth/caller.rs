//! Who asks.

use axum::extract::{FromRequestParts, OptionalFromRequestParts};
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use spinney_core::{AccountName, Actor, Scope, Timestamp, Token, TokenId, TokenKind, TokenName, TokenSecret};

use super::{Csrf, read_session};
use crate::app::App;
use crate::error::{ApiError, Result};
use crate::listen::Peer;

/// Who asks, and what they may.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub account: AccountName,
    pub scope: Scope,
    pub via: Via,
    /// Where the request came from, over the network.
    pub address: Option<String>,
}

/// How they showed it.
#[derive(Debug, Clone)]
pub(crate) enum Via {
    /// At the Unix socket, where only the owner of the home gets in.
    Socket,
    Token {
        id: TokenId,
        name: TokenName,
    },
    /// A browser. What it sends by itself is no proof that a person meant it: writes need the CSRF token, too.
    Session {
        id: TokenId,
        name: TokenName,
        csrf: Csrf,
    },
}

impl Caller {
    /// Finds out who asks; none when nothing was shown.
    pub(crate) async fn find(app: &App, peer: Peer, headers: &HeaderMap) -> Result<Option<Self>> {
        if headers.contains_key(AUTHORIZATION) {
            return Self::of_bearer(app, peer, headers).await.map(Some);
        }
        if let Some(secret) = read_session(headers) {
            let Some(token) = live(app, &secret, TokenKind::Session).await? else { return Ok(None) };
            let via = Via::Session { id: token.id.clone(), name: token.name.clone(), csrf: Csrf::of(&secret) };
            return Ok(Some(Self::of_token(token, via, peer)));
        }
        let owner = || Self { account: AccountName::local(), scope: Scope::Admin, via: Via::Socket, address: None };
        Ok((peer == Peer::Owner).then(owner))
    }

    async fn of_bearer(app: &App, peer: Peer, headers: &HeaderMap) -> Result<Self> {
        let refused = || ApiError::unauthorized("this token is unknown, expired or revoked");
        let mut values = headers.get_all(AUTHORIZATION).iter();
        let (Some(value), None) = (values.next(), values.next()) else { return Err(refused()) };
        let (scheme, secret) = value.to_str().ok().and_then(|text| text.split_once(' ')).ok_or_else(refused)?;
        let secret: TokenSecret = secret.trim().parse().map_err(|_| refused())?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(refused());
        }
        let token = live(app, &secret, TokenKind::Api).await?.ok_or_else(refused)?;
        let via = Via::Token { id: token.id.clone(), name: token.name.clone() };
        Ok(Self::of_token(token, via, peer))
    }

    fn of_token(token: Token, via: Via, peer: Peer) -> Self {
        Self { account: token.account, scope: token.scope, via, address: peer.address() }
    }

    /// What shows that something comes from a page of this session; none where there is no session.
    pub(crate) fn csrf(&self) -> Option<&Csrf> {
        match &self.via {
            Via::Session { csrf, .. } => Some(csrf),
            Via::Socket | Via::Token { .. } => None,
        }
    }

    /// As the audit log names them.
    pub(crate) fn actor(&self) -> Actor {
        let address = self.address.clone();
        match &self.via {
            Via::Socket => Actor::Owner,
            Via::Token { id, name } => Actor::Token { id: id.clone(), name: name.clone(), address },
            Via::Session { id, name, .. } => Actor::Session { id: id.clone(), name: name.clone(), address },
        }
    }

    /// Refuses who may not do what needs this scope.
    pub(crate) fn require(&self, needed: Scope) -> Result<()> {
        if self.scope >= needed {
            return Ok(());
        }
        Err(ApiError::forbidden(format!("this needs the scope `{needed}`, and yours is `{}`", self.scope)))
    }
}

/// Loads the token that a secret belongs to, if it counts still, and notes its use.
async fn live(app: &App, secret: &TokenSecret, kind: TokenKind) -> Result<Option<Token>> {
    let now = Timestamp::now();
    let mut db = app.engine().store().read().await?;
    let found = db.token_by_hash(&secret.hash(), kind, now).await?;
    if let Some(token) = &found {
        // What can't be noted now is noted with the next use.
        let _ = db.touch_token(token, now).await;
    }
    Ok(found)
}

impl FromRequestParts<App> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self> {
        parts.extensions.get().cloned().ok_or_else(|| ApiError::unauthorized("the caller is unknown"))
    }
}

impl OptionalFromRequestParts<App> for Caller {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Option<Self>, Self::Rejection> {
        Ok(parts.extensions.get().cloned())
    }
}
