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
pub(crate) mod inbox;
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
use spinney_core::names::visible;

use crate::auth::Caller;
use crate::error::ApiError;
use frame::Frame;

pub(crate) use ticked::ticked;

/// Where a program asks; what is elsewhere is for people.
const FOR_PROGRAMS: [&str; 6] = ["/api/", "/assets/", "/health", "/metrics", "/ready", "/mcp"];

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage<'a> {
    frame: Frame,
    title: &'a str,
    error: &'a ApiError,
}

/// What a page's answer tells of, until it is known who asked.
#[derive(Debug, Clone)]
struct Failed(ApiError);

/// Whether a person asks there.
pub(crate) fn is_for_people(path: &str) -> bool {
    !FOR_PROGRAMS.iter().any(|start| path.starts_with(start))
}

/// A program gets an error, a person a page.
pub(crate) fn refuse(path: &str, error: ApiError) -> Response {
    if is_for_people(path) { error_page(&error) } else { error.into_response() }
}

/// What a person sees instead of a page.
pub(crate) fn error_page(error: &ApiError) -> Response {
    if error.status.is_server_error() {
        tracing::error!(kind = error.kind, cause = %error.message, "page failed");
    }
    let mut response = page_of(error, Frame::of_nobody());
    response.extensions_mut().insert(Failed(error.clone()));
    response
}

/// Puts what whoever asked has around every page around one that tells of a failure, too.
pub(crate) fn framed(mut response: Response, caller: &Caller) -> Response {
    match response.extensions_mut().remove::<Failed>() {
        Some(Failed(error)) => page_of(&error, Frame::new(caller, "", &frame::Did::default())),
        None => response,
    }
}

/// Whether an answer tells of a failure.
pub(crate) fn is_failure(response: &Response) -> bool {
    response.extensions().get::<Failed>().is_some()
}

fn page_of(error: &ApiError, frame: Frame) -> Response {
    let title = match error.status {
        StatusCode::NOT_FOUND => "Not found",
        StatusCode::UNAUTHORIZED => "Please log in",
        StatusCode::FORBIDDEN => "Not allowed",
        StatusCode::SERVICE_UNAVAILABLE => "Temporarily unavailable",
        status if status.is_server_error() => "Internal error",
        _ => "That can't be done",
    };
    let mut response = (error.status, render(&ErrorPage { frame, title, error })).into_response();
    error.say_when(&mut response);
    response
}

/// A template as a page.
pub(crate) fn render(page: &impl Template) -> Response {
    match page.render() {
        // Names of files and texts of others are on every page.
        Ok(text) => Html(visible(&text.replace('\r', "")).into_owned()).into_response(),
        Err(error) => {
            tracing::error!(%error, "a page could not be made");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
