//! Accounts and their tokens. A secret is told once, to whoever asked for it.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use spinney_app::{accounts, document};
use spinney_core::quantity::Span;
use spinney_core::{AccountName, Scope, TokenName};
use utoipa::ToSchema;

use super::extract::{Body, Path};
use crate::app::App;
use crate::auth::Caller;
use crate::error::{ApiError, Result};
use crate::idempotency;

/// All accounts for the owner of the home; for others, their own.
pub(crate) async fn list(State(app): State<App>, caller: Caller) -> Result<Json<document::Accounts>> {
    let engine = app.engine_of(&caller);
    let known = accounts::list(&engine, &caller.account).await?;
    Ok(Json(document::Accounts { accounts: known.iter().map(document::Account::of).collect() }))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewAccount {
    /// At most 39 lowercase letters, digits and `-`.
    #[schema(value_type = String)]
    name: AccountName,
}

pub(crate) async fn create(
    State(app): State<App>,
    caller: Caller,
    Body(new): Body<NewAccount>,
) -> Result<(StatusCode, Json<document::Account>)> {
    if caller.account != AccountName::local() {
        return Err(ApiError::forbidden("accounts are made by the account `local` alone"));
    }
    let account = accounts::add(&app.engine_of(&caller), new.name).await?;
    Ok((StatusCode::CREATED, Json(document::Account::of(&account))))
}

pub(crate) async fn tokens(State(app): State<App>, caller: Caller) -> Result<Json<document::Tokens>> {
    let tokens = accounts::tokens(&app.engine_of(&caller)).await?;
    Ok(Json(document::Tokens { tokens: tokens.iter().map(document::Token::of).collect() }))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AskForToken {
    /// What a person calls it; each of an account has its own.
    #[schema(value_type = String, min_length = 1, max_length = 60)]
    name: TokenName,
    /// No more than the caller's own.
    #[schema(value_type = document::Scope)]
    scope: Scope,
    /// After this time it counts no more, as `12h` or `30d`; without: never.
    #[schema(value_type = Option<String>)]
    expires: Option<Span>,
}

pub(crate) async fn create_token(
    State(app): State<App>,
    caller: Caller,
    Body(asked): Body<AskForToken>,
) -> Result<Response> {
    caller.require(asked.scope)?;
    let engine = app.engine_of(&caller);
    let (token, secret) = accounts::create_token(&engine, asked.name, asked.scope, asked.expires).await?;
    let mut response = (StatusCode::CREATED, Json(document::CreatedToken::of(&token, &secret))).into_response();
    response.extensions_mut().insert(idempotency::Unrecorded);
    Ok(response)
}

pub(crate) async fn revoke_token(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<document::Token>> {
    let revoked = accounts::revoke_token_by_id(&app.engine_of(&caller), &id).await?;
    Ok(Json(document::Token::of(&revoked)))
}
