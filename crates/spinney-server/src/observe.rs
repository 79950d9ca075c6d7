//! Around every request: its id, its line in the log, its time, the headers of every answer, and what is refused before
//! anybody asks who it is.

use std::panic::AssertUnwindSafe;
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use futures_util::FutureExt;
use tracing::Instrument;

use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;
use crate::listen::Peer;
use crate::pages;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Nothing from elsewhere, no script or style in a page, no frame around it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                      form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

pub(crate) async fn observe(State(app): State<App>, request: Request, next: Next) -> Response {
    let id = spinney_core::OperationId::generate().to_string();
    let (method, started) = (request.method().clone(), Instant::now());
    // The table's path, not the one that was asked for: a query may hold a secret.
    let path = request.extensions().get::<MatchedPath>().map_or("unknown", MatchedPath::as_str).to_owned();
    let span = tracing::info_span!("request", id, %method, path);
    let mut response = answer(&app, request, next).instrument(span.clone()).await;
    let (status, took) = (response.status(), started.elapsed());
    span.in_scope(|| tracing::info!(status = status.as_u16(), took_us = took.as_micros() as u64, "answered"));
    app.metrics().answered(&method, &path, status, took);
    let headers = response.headers_mut();
    if let Ok(id) = HeaderValue::try_from(id) {
        headers.insert(REQUEST_ID, id);
    }
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // With none at all, browsers hide the origin of our own forms, too.
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

async fn answer(app: &App, request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    if let Err(error) = app.hosts().check(request.headers()) {
        return pages::refuse(&path, error);
    }
    let peer = request.extensions().get::<Peer>().copied();
    let headers = pages::is_for_people(&path).then(|| request.headers().clone());
    let response = match AssertUnwindSafe(next.run(request)).catch_unwind().await {
        Ok(response) => response,
        Err(_) => pages::refuse(&path, ApiError::failed("an internal error interrupted this request")),
    };
    // What went wrong is told within what whoever asked has around every page.
    if let (Some(headers), Some(peer), true) = (headers, peer, pages::is_failure(&response))
        && let Ok(Some(caller)) = Caller::find(app, peer, &headers).await
    {
        return pages::framed(response, &caller);
    }
    response
}
