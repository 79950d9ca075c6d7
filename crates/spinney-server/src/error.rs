//! The one error of the API: a status, and the envelope that the command line has, too.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use spinney_app::{Front, InvalidRequest, advise_all};
use spinney_core::{Reason, in_full};
use spinney_engine::ErrorKind;

pub type Result<T, E = ApiError> = std::result::Result<T, E>;

/// What went wrong with a request, in the words of the command line.
#[derive(Debug, Clone)]
pub struct ApiError {
    pub status: StatusCode,
    pub kind: &'static str,
    pub message: String,
    pub hints: Vec<String>,
    pub reasons: Vec<Reason>,
    /// Seconds after which trying again makes sense.
    pub retry_after: Option<u64>,
}

impl ApiError {
    fn new(status: StatusCode, kind: &'static str, message: impl Into<String>) -> Self {
        let (hints, reasons) = (Vec::new(), Vec::new());
        Self { status, kind, message: message.into(), hints, reasons, retry_after: None }
    }

    /// What was asked makes no sense.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, ErrorKind::Usage.as_str(), message)
    }

    /// It is not there, or it is another account's.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, ErrorKind::NotFound.as_str(), message)
    }

    /// Somebody else holds it.
    pub fn held(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, ErrorKind::Held.as_str(), message)
    }

    /// Something stands against it.
    pub fn blocked(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, ErrorKind::Blocked.as_str(), message)
    }

    /// Nobody knows who asks.
    pub fn unauthorized(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", message)
    }

    /// Whoever asks may not do this.
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", message)
    }

    /// Too often within a short time.
    pub fn too_many(message: impl Into<String>, retry_after: u64) -> Self {
        let error = Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many", message);
        Self { retry_after: Some(retry_after), ..error }
    }

    /// This process can't now.
    pub fn unavailable(message: impl Into<String>) -> Self {
        let error = Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message);
        Self { retry_after: Some(1), ..error }
    }

    /// It failed, and whoever asked is not to blame.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, ErrorKind::Failed.as_str(), message)
    }

    #[must_use]
    pub fn with_status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    #[must_use]
    pub fn hinted(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    fn of(kind: ErrorKind, error: &dyn std::error::Error) -> Self {
        let status = match kind {
            ErrorKind::Failed => StatusCode::INTERNAL_SERVER_ERROR,
            ErrorKind::Usage => StatusCode::BAD_REQUEST,
            ErrorKind::Blocked | ErrorKind::Held => StatusCode::CONFLICT,
            ErrorKind::NotFound => StatusCode::NOT_FOUND,
        };
        Self::new(status, kind.as_str(), in_full(error))
    }

    /// Says in an answer when trying again makes sense.
    pub(crate) fn say_when(&self, response: &mut Response) {
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        }
    }

    /// The envelope.
    #[must_use]
    pub fn document(&self) -> serde_json::Value {
        let mut error = json!({ "kind": self.kind, "message": self.message, "hints": self.hints });
        if !self.reasons.is_empty() {
            error["reasons"] = json!(spinney_app::document::Reason::all(&self.reasons));
        }
        json!({ "error": error })
    }
}

/// Whether what failed is in the state of what was asked for, or of a place that a request or a repository names: nothing
/// is wrong with this server.
fn is_of_the_place(error: &spinney_engine::Error) -> bool {
    use spinney_engine::Error;
    use spinney_git::Error as Git;
    let of_the_repository = |error: &Git| {
        error.is_remote()
            // Its directory was moved away.
            || matches!(error, Git::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound)
            || matches!(
                error,
                Git::BranchExists { .. }
                    | Git::PathExists { .. }
                    | Git::PathRegistered { .. }
                    | Git::RefConflict { .. }
                    | Git::RefMoved { .. }
                    | Git::MissingRef { .. }
                    | Git::MissingRemoteRef { .. }
                    | Git::UnsafeOwnership { .. }
                    | Git::WorktreeMissing { .. }
                    | Git::DamagedWorktree { .. }
                    | Git::DamagedIndex { .. }
                    | Git::InvalidIndex { .. }
                    | Git::ForeignWorktree { .. }
                    | Git::MainCheckout { .. }
                    | Git::OperationInProgress { .. }
                    | Git::Conflicted { .. }
                    | Git::Submodule { .. }
                    | Git::LfsMissing
                    | Git::Refused { .. }
            )
    };
    match error {
        Error::Git(source) => error.kind() == ErrorKind::Failed && of_the_repository(source),
        Error::Clone { .. } => error.kind() == ErrorKind::Failed,
        Error::Fetch { .. }
        | Error::CopyChanged { .. }
        | Error::Unshareable { .. }
        | Error::WrongStatus { .. }
        | Error::TreeMissing { .. }
        | Error::MovedAway { .. }
        | Error::RepositoryAway { .. }
        | Error::TreeRootMissing { .. }
        | Error::PathTaken { .. }
        | Error::NotRestorable { .. }
        | Error::MountInside { .. }
        | Error::ForeignBranch { .. }
        | Error::Forge { .. }
        | Error::Setup { .. }
        | Error::NoFreePort { .. } => true,
        _ => false,
    }
}

impl From<spinney_engine::Error> for ApiError {
    fn from(error: spinney_engine::Error) -> Self {
        let (hints, reasons) = (advise_all(&error.advice(), Front::Api), error.reasons().to_vec());
        if let spinney_engine::Error::Store(spinney_store::Error::Unreachable { .. }) = &error {
            return Self { hints, ..Self::unavailable(in_full(&error)) };
        }
        let told = Self { hints, reasons, ..Self::of(error.kind(), &error) };
        if is_of_the_place(&error) { told.with_status(StatusCode::CONFLICT) } else { told }
    }
}

impl From<spinney_jobs::Error> for ApiError {
    fn from(error: spinney_jobs::Error) -> Self {
        match error {
            spinney_jobs::Error::Engine(error) => error.into(),
            error => Self { hints: advise_all(&error.advice(), Front::Api), ..Self::of(error.kind(), &error) },
        }
    }
}

impl From<spinney_app::Error> for ApiError {
    fn from(error: spinney_app::Error) -> Self {
        match error {
            spinney_app::Error::Engine(error) => error.into(),
            spinney_app::Error::Jobs(error) => error.into(),
            spinney_app::Error::Request(invalid) => invalid.into(),
            spinney_app::Error::UselessToken => Self::usage(format!("`expires`: {error}")),
            error => Self { hints: advise_all(&error.advice(), Front::Api), ..Self::of(error.kind(), &error) },
        }
    }
}

impl From<InvalidRequest> for ApiError {
    /// Says what makes no sense in the words of the fields.
    fn from(invalid: InvalidRequest) -> Self {
        let hints = advise_all(&spinney_app::Error::from(invalid.clone()).advice(), Front::Api);
        Self { hints, ..Self::usage(invalid.in_fields()) }
    }
}

impl From<spinney_store::Error> for ApiError {
    fn from(error: spinney_store::Error) -> Self {
        spinney_engine::Error::from(error).into()
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        if self.status.is_server_error() {
            tracing::error!(kind = self.kind, cause = %self.message, "request failed");
        }
        let mut response = (self.status, Json(self.document())).into_response();
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        self.say_when(&mut response);
        response
    }
}
