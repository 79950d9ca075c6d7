//! Tokens: made, listed, revoked. A secret is on one page, once.

use std::time::Duration;

use askama::Template;
use axum::extract::State;
use serde::Deserialize;
use spinney_app::{accounts, words};
use spinney_core::quantity::Span;
use spinney_core::{Scope, Timestamp, Token, TokenId};
use spinney_engine::Engine;

use super::answer::{Asked, Form, Id, Result, lead, parsed};
use super::frame::{Did, Frame};
use super::render;
use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Longer than anybody plans.
const MAX_DAYS: u32 = 3650;

#[derive(Template)]
#[template(path = "tokens.html")]
struct TokensPage {
    frame: Frame,
    rows: Vec<TokenRow>,
    /// The name and the secret of one that was just made.
    made: Option<(String, String)>,
}

struct TokenRow {
    id: String,
    name: String,
    scope: String,
    created: String,
    expires: String,
    is_expired: bool,
    used: String,
}

impl TokenRow {
    fn new(token: &Token) -> Self {
        Self {
            id: token.id.to_string(),
            name: token.name.to_string(),
            scope: token.scope.to_string(),
            created: words::ago(token.created_at),
            expires: token.expires_at.map_or_else(|| "never".to_owned(), words::date),
            is_expired: token.is_expired(Timestamp::now()),
            used: token.last_used_at.map_or_else(|| "never".to_owned(), words::ago),
        }
    }
}

pub(crate) async fn list(State(app): State<App>, caller: Caller, Asked(did): Asked<Did>) -> Result {
    page(&app.engine_of(&caller), &caller, &did, None).await
}

async fn page(engine: &Engine, caller: &Caller, did: &Did, made: Option<(String, String)>) -> Result {
    let rows = accounts::tokens(engine).await?.iter().map(TokenRow::new).collect();
    Ok(render(&TokensPage { frame: Frame::new(caller, "Tokens", did), rows, made }))
}

#[derive(Debug, Deserialize)]
pub(crate) struct TokenFields {
    #[serde(default)]
    name: String,
    scope: Scope,
    /// How many days it counts; empty: until it is revoked.
    #[serde(default)]
    days: String,
}

/// Makes a token, and shows its secret.
pub(crate) async fn create(State(app): State<App>, caller: Caller, Form(form): Form<TokenFields>) -> Result {
    let name = parsed(&form.name)?.ok_or_else(|| ApiError::usage("a token needs a name"))?;
    let days: Option<u32> = parsed(&form.days)?;
    if days.is_some_and(|days| days == 0 || days > MAX_DAYS) {
        return Err(ApiError::usage(format!("a token is valid for 1 to {MAX_DAYS} days")).into());
    }
    let engine = app.engine_of(&caller);
    let expires = days.map(|days| Span(DAY * days));
    let (token, secret) = accounts::create_token(&engine, name, form.scope, expires).await?;
    page(&engine, &caller, &Did::default(), Some((token.name.to_string(), secret.expose().to_owned()))).await
}

pub(crate) async fn revoke(State(app): State<App>, caller: Caller, Id(id): Id<TokenId>) -> Result {
    accounts::revoke_token(&app.engine_of(&caller), id.as_str()).await?;
    lead(&caller, "/tokens", "revoked")
}
