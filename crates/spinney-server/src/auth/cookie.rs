//! The cookie of a browser's session.

use std::time::Duration;

use axum::http::header::COOKIE;
use axum::http::{HeaderMap, HeaderValue};
use spinney_core::TokenSecret;

/// How long a browser stays logged in.
pub(crate) const SESSION_FOR: Duration = Duration::from_secs(14 * 24 * 60 * 60);

const NAME: &str = "spinney_session";

/// The secret of a session that a browser sent.
pub(crate) fn read_session(headers: &HeaderMap) -> Option<TokenSecret> {
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == NAME).and_then(|(_, value)| value.parse().ok())
}

/// Lets a browser send a session with every request to here, and with none that another site caused.
pub(crate) fn remember_session(secret: &TokenSecret, secure: bool) -> HeaderValue {
    cookie(secret.expose(), SESSION_FOR.as_secs(), secure)
}

pub(crate) fn forget_session(secure: bool) -> HeaderValue {
    cookie("", 0, secure)
}

fn cookie(value: &str, seconds: u64, secure: bool) -> HeaderValue {
    let secure = if secure { "; Secure" } else { "" };
    let text = format!("{NAME}={value}; HttpOnly; SameSite=Strict; Path=/; Max-Age={seconds}{secure}");
    let mut value = HeaderValue::try_from(text).unwrap_or_else(|_| HeaderValue::from_static(""));
    value.set_sensitive(true);
    value
}
