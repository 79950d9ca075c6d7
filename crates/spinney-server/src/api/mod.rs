//! The API: one file a resource.

pub(crate) mod accounts;
pub(crate) mod deliver;
pub(crate) mod diff;
pub(crate) mod extract;
pub(crate) mod health;
pub(crate) mod housekeeping;
pub(crate) mod jobs;
pub(crate) mod mcp;
pub(crate) mod metrics;
pub(crate) mod named;
pub(crate) mod openapi;
pub(crate) mod operations;
pub(crate) mod overview;
pub(crate) mod repositories;
pub(crate) mod schedules;
pub(crate) mod streams;
pub(crate) mod webhooks;
pub(crate) mod workspaces;

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response;

use crate::error::ApiError;
use crate::pages::refuse;

/// Whatever is not in the table.
pub(crate) async fn unknown(request: Request) -> Response {
    refuse(request.uri().path(), ApiError::not_found("there is nothing here"))
}

pub(crate) async fn wrong_method(request: Request) -> Response {
    let error = ApiError::usage("this method is not allowed here").with_status(StatusCode::METHOD_NOT_ALLOWED);
    refuse(request.uri().path(), error)
}
