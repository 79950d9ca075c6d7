//! The API: one file a resource.

pub(crate) mod accounts;
pub(crate) mod diff;
pub(crate) mod extract;
pub(crate) mod health;
pub(crate) mod housekeeping;
pub(crate) mod jobs;
pub(crate) mod metrics;
pub(crate) mod named;
pub(crate) mod openapi;
pub(crate) mod operations;
pub(crate) mod overview;
mod page;
pub(crate) mod repositories;
pub(crate) mod schedules;
pub(crate) mod streams;
pub(crate) mod webhooks;
pub(crate) mod workspaces;

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use crate::error::ApiError;

/// Whatever is not in the table.
pub(crate) async fn unknown(request: Request) -> Response {
    refuse(&request, ApiError::not_found("there is nothing here"))
}

pub(crate) async fn wrong_method(request: Request) -> Response {
    refuse(&request, ApiError::usage("this can't be asked that way").with_status(StatusCode::METHOD_NOT_ALLOWED))
}

/// A program gets an error, a person a page.
fn refuse(request: &Request, error: ApiError) -> Response {
    if request.uri().path().starts_with("/api/") {
        return error.into_response();
    }
    crate::pages::error_page(&error)
}
