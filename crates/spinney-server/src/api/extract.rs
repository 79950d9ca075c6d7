//! What handlers take from a request: parsed, or refused in the API's own words.

use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;
use spinney_core::names::cut_for_message;

use crate::app::App;
use crate::error::ApiError;

/// Enough for a sentence about a field.
const MAX_COMPLAINT: usize = 300;

/// A body of JSON.
#[derive(Debug)]
pub(crate) struct Body<T>(pub T);

impl<T: DeserializeOwned> FromRequest<App> for Body<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<Self, ApiError> {
        let parsed = axum::Json::<T>::from_request(request, app).await;
        parsed.map(|axum::Json(body)| Self(body)).map_err(|rejection| {
            let status = match rejection.status() {
                StatusCode::UNSUPPORTED_MEDIA_TYPE => StatusCode::UNSUPPORTED_MEDIA_TYPE,
                _ => StatusCode::BAD_REQUEST,
            };
            ApiError::usage(plain(&rejection.body_text())).with_status(status)
        })
    }
}

/// A body of JSON that may be left out.
#[derive(Debug)]
pub(crate) struct OptionalBody<T>(pub T);

impl<T: DeserializeOwned + Default> FromRequest<App> for OptionalBody<T> {
    type Rejection = ApiError;

    async fn from_request(mut request: Request, app: &App) -> Result<Self, ApiError> {
        // The gate has read it, within its limit.
        let sent = axum::body::to_bytes(std::mem::take(request.body_mut()), usize::MAX).await;
        let sent = sent.map_err(|_| ApiError::usage("the body ended early"))?;
        if sent.is_empty() {
            return Ok(Self(T::default()));
        }
        *request.body_mut() = sent.into();
        Body::from_request(request, app).await.map(|Body(body)| Self(body))
    }
}

/// The part of the address behind `?`.
#[derive(Debug)]
pub(crate) struct Query<T>(pub T);

impl<T: DeserializeOwned> FromRequestParts<App> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let parsed = axum::extract::Query::<T>::from_request_parts(parts, app).await;
        let refused = |text: String| ApiError::usage(plain(&text));
        parsed.map(|axum::extract::Query(query)| Self(query)).map_err(|rejection| refused(rejection.body_text()))
    }
}

/// Placeholders of the path. What can't be one is nothing's name: not found.
#[derive(Debug)]
pub(crate) struct Path<T>(pub T);

impl<T: DeserializeOwned + Send> FromRequestParts<App> for Path<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let parsed = axum::extract::Path::<T>::from_request_parts(parts, app).await;
        let unknown = |_| ApiError::not_found("there is nothing of that name");
        parsed.map(|axum::extract::Path(path)| Self(path)).map_err(unknown)
    }
}

/// A parser's complaint, on one line, without what it says each time.
fn plain(text: &str) -> String {
    let prefixes = [
        "Failed to deserialize the JSON body into the target type: ",
        "Failed to parse the request body as JSON: ",
        "Failed to deserialize query string: ",
    ];
    let complaint = prefixes.iter().find_map(|prefix| text.strip_prefix(prefix)).unwrap_or(text);
    cut_for_message(&complaint.replace('\n', " "), MAX_COMPLAINT)
}
