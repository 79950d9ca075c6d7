//! The dashboard: pages made here, with a little script of their own. Everything that comes from elsewhere is escaped by
//! the templates.

pub(crate) mod login;

use askama::Template;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};

use crate::error::ApiError;

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage<'a> {
    message: &'a str,
    hints: &'a [String],
}

/// What a person sees instead of a page.
pub(crate) fn error_page(error: &ApiError) -> Response {
    if error.status.is_server_error() {
        tracing::error!(kind = error.kind, message = %error.message, "page failed");
    }
    (error.status, render(&ErrorPage { message: &error.message, hints: &error.hints })).into_response()
}

/// A template as a page.
pub(crate) fn render(page: &impl Template) -> Response {
    match page.render() {
        Ok(text) => Html(text).into_response(),
        Err(error) => {
            tracing::error!(%error, "a page could not be made");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
