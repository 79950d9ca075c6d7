//! The dashboard: pages made here, with a little script of their own. Everything that comes from elsewhere is escaped by
//! the templates.
//!
//! A page is whole without its script. What is marked `data-live` is taken over from a fresh copy of the page whenever
//! something happens. Lists are made from the store alone; git is asked about one workspace, on its page.

mod answer;
pub(crate) mod assets;
pub(crate) mod audit;
mod bar;
pub(crate) mod conflicts;
mod diff;
pub(crate) mod fleet;
mod frame;
pub(crate) mod home;
pub(crate) mod jobs;
#[expect(unused_qualifications, reason = "what a template of an enum becomes has some")]
mod log;
pub(crate) mod login;
mod mark;
pub(crate) mod reference;
pub(crate) mod repositories;
mod rows;
pub(crate) mod schedules;
mod ticked;
pub(crate) mod tokens;
pub(crate) mod trash;
pub(crate) mod workspaces;

use askama::Template;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use spinney_core::Reason;

use crate::error::ApiError;

pub(crate) use ticked::ticked;

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage<'a> {
    title: &'a str,
    message: &'a str,
    reasons: &'a [Reason],
    hints: &'a [String],
}

/// What a person sees instead of a page.
pub(crate) fn error_page(error: &ApiError) -> Response {
    if error.status.is_server_error() {
        tracing::error!(kind = error.kind, cause = %error.message, "page failed");
    }
    let title = match error.status {
        StatusCode::NOT_FOUND => "Not here",
        StatusCode::FORBIDDEN | StatusCode::UNAUTHORIZED => "Not allowed",
        status if status.is_server_error() => "Something broke",
        _ => "That can't be done",
    };
    let page = ErrorPage { title, message: &error.message, reasons: &error.reasons, hints: &error.hints };
    let mut response = (error.status, render(&page)).into_response();
    error.say_when(&mut response);
    response
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
