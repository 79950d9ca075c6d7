//! Logging a browser in, by a one-time link or a token; and out.

use askama::Template;
use axum::Extension;
use axum::extract::rejection::FormRejection;
use axum::extract::{Form, State};
use axum::http::header::{LOCATION, SET_COOKIE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use super::{error_page, render};
use crate::api::extract::Query;
use crate::app::App;
use crate::auth::{Caller, begin_session, end_session, forget_session, remember_session};
use crate::error::Result;
use crate::listen::Peer;

#[derive(Debug, Default, Deserialize)]
pub(crate) struct LoginQuery {
    /// The secret of a one-time link.
    #[serde(default)]
    key: String,
    /// Where to go then.
    #[serde(default)]
    next: String,
}

#[derive(Template)]
#[template(path = "login.html")]
struct LoginPage<'a> {
    key: &'a str,
    next: &'a str,
    problem: Option<&'a str>,
}

/// The page to log in at. A link is not used up by looking at it, as programs do that preview links.
pub(crate) async fn show(query: Result<Query<LoginQuery>>) -> Response {
    let Query(query) = query.unwrap_or(Query(LoginQuery::default()));
    render(&LoginPage { key: &query.key, next: own_path(&query.next), problem: None })
}

#[derive(Deserialize)]
pub(crate) struct LoginForm {
    key: String,
    #[serde(default)]
    next: String,
}

/// Begins a session with the key of a link, or with a token.
pub(crate) async fn log_in(
    State(app): State<App>,
    peer: Option<Extension<Peer>>,
    form: std::result::Result<Form<LoginForm>, FormRejection>,
) -> Response {
    let form = match form {
        Ok(Form(form)) => form,
        Err(rejection) => {
            return say(rejection.status(), "/", "the log-in form was not filled in correctly: send it again");
        }
    };
    let peer = peer.map_or(Peer::Network(([0, 0, 0, 0], 0).into()), |Extension(peer)| peer);
    match begin_session(&app, peer, &form.key).await {
        Ok(secret) => {
            let cookie = remember_session(&secret, app.is_secure());
            to(own_path(&form.next), cookie)
        }
        Err(error) if error.status.is_client_error() => {
            let mut response = say(error.status, own_path(&form.next), &error.message);
            error.say_when(&mut response);
            response
        }
        Err(error) => error_page(&error),
    }
}

/// The page to log in at, with what went wrong.
fn say(status: StatusCode, next: &str, problem: &str) -> Response {
    (status, render(&LoginPage { key: "", next, problem: Some(problem) })).into_response()
}

/// Ends the session.
pub(crate) async fn log_out(State(app): State<App>, caller: Caller) -> Response {
    match end_session(&app, &caller).await {
        Ok(()) => to("/login", forget_session(app.is_secure())),
        Err(error) => error_page(&error),
    }
}

fn to(path: &str, cookie: HeaderValue) -> Response {
    let place = HeaderValue::try_from(path).unwrap_or_else(|_| HeaderValue::from_static("/"));
    (StatusCode::SEE_OTHER, [(LOCATION, place), (SET_COOKIE, cookie)]).into_response()
}

/// A path on this very server; anything else is its beginning.
fn own_path(next: &str) -> &str {
    // Browsers take `\` for `/`, and leave control characters out.
    let is_plain = !next.contains(|letter: char| letter == '\\' || letter.is_control());
    let is_own = next.starts_with('/') && !next.starts_with("//") && is_plain;
    if is_own { next } else { "/" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_sent_elsewhere() {
        assert_eq!(own_path("/jobs/7f3k2a9qxe"), "/jobs/7f3k2a9qxe");
        for next in
            ["", "//evil.example", "https://evil.example", "/\\evil.example", "/\t/evil.example", "/a\r\nb", "jobs"]
        {
            assert_eq!(own_path(next), "/");
        }
    }
}
