//! What a page's handler takes and gives: as in the API, but a person reads what went wrong.

use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::StatusCode;
use axum::http::header::LOCATION;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use serde::de::DeserializeOwned;
use spinney_core::Timestamp;

use super::error_page;
use crate::api::extract;
use crate::app::App;
use crate::auth::Caller;
use crate::error::ApiError;
use crate::operations::Begun;

/// An error that is shown as a page.
#[derive(Debug)]
pub(crate) struct PageError(pub ApiError);

pub(crate) type Result<T = Response> = std::result::Result<T, PageError>;

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        error_page(&self.0)
    }
}

macro_rules! shown_as_page {
    ($($error:ty),+) => {
        $(impl From<$error> for PageError {
            fn from(error: $error) -> Self {
                Self(error.into())
            }
        })+
    };
}
shown_as_page!(
    ApiError,
    spinney_app::Error,
    spinney_app::InvalidRequest,
    spinney_engine::Error,
    spinney_jobs::Error,
    spinney_store::Error
);

impl From<spinney_git::Error> for PageError {
    fn from(error: spinney_git::Error) -> Self {
        spinney_engine::Error::from(error).into()
    }
}

/// The id in a path, of a thing of this type. What can't be an id is nothing's.
#[derive(Debug)]
pub(crate) struct Id<T>(pub T);

impl<T: std::str::FromStr> FromRequestParts<App> for Id<T> {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self> {
        let extract::Path(text) = extract::Path::<String>::from_request_parts(parts, app).await?;
        text.parse().map(Self).map_err(|_| ApiError::not_found("there is nothing of that name").into())
    }
}

/// What stands behind `?`; what makes no sense counts as nothing.
#[derive(Debug)]
pub(crate) struct Asked<T>(pub T);

impl<T: DeserializeOwned + Default> FromRequestParts<App> for Asked<T> {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> std::result::Result<Self, Self::Rejection> {
        let asked = extract::Query::<T>::from_request_parts(parts, app).await;
        Ok(Self(asked.map(|extract::Query(asked)| asked).unwrap_or_default()))
    }
}

/// A form that was sent.
#[derive(Debug)]
pub(crate) struct Form<T>(pub T);

impl<T: DeserializeOwned> FromRequest<App> for Form<T> {
    type Rejection = PageError;

    async fn from_request(request: Request, app: &App) -> Result<Self> {
        let sent = axum::extract::Form::<T>::from_request(request, app).await;
        let axum::extract::Form(form) = sent.map_err(|rejection| ApiError::usage(rejection.body_text()))?;
        Ok(Self(form))
    }
}

/// Leads to a page, which tells the session what was done.
pub(crate) fn lead(caller: &Caller, path: &str, code: &'static str) -> Result {
    let place = match caller.csrf() {
        Some(csrf) => format!("{path}?did={}", csrf.seal(code, Timestamp::now())),
        None => path.to_owned(),
    };
    Ok((StatusCode::SEE_OTHER, [(LOCATION, place)]).into_response())
}

/// A field of a form that was left empty is none.
pub(crate) fn filled(text: &str) -> Option<&str> {
    Some(text.trim()).filter(|text| !text.is_empty())
}

/// Parses a field, if it was filled in.
pub(crate) fn parsed<T>(text: &str) -> Result<Option<T>>
where
    T: std::str::FromStr<Err: std::fmt::Display>,
{
    let value = filled(text).map(str::parse::<T>).transpose();
    value.map_err(|error| ApiError::usage(error.to_string()).into())
}

/// Does something that goes on whatever becomes of the request; none when it takes longer than a person waits. What asks
/// git is done so: it is not to hold up who asks for little.
pub(crate) async fn within<T, F>(app: &App, work: impl FnOnce() -> F + Send + 'static) -> Result<Option<T>>
where
    T: Send + 'static,
    F: Future<Output = Result<T>>,
{
    Begun::new(app, work).soon().await
}

/// The same for what a page can't be without.
pub(crate) async fn patiently<T, F>(app: &App, work: impl FnOnce() -> F + Send + 'static) -> Result<T>
where
    T: Send + 'static,
    F: Future<Output = Result<T>>,
{
    let slow = || ApiError::unavailable("git has not answered within the time limit").hinted("try it again");
    Ok(within(app, work).await?.ok_or_else(slow)?)
}
