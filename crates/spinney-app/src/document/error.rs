//! What went wrong, and what helps.

use serde::Serialize;
use spinney_core::in_full;
use spinney_core::names::cut_for_message;
use utoipa::ToSchema;

use super::Reason;
use crate::{Front, advise_all};

/// What git or a path says may be longer than anybody reads.
const MAX_CHARACTERS: usize = 600;

/// The one envelope of an error.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ErrorDocument {
    pub error: Error,
}

/// What went wrong, and what helps.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Error {
    pub kind: ErrorKind,
    /// On one line, with its causes.
    pub message: String,
    pub hints: Vec<String>,
    /// What stands against a removal that was refused.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<Reason>,
}

/// What a failure means to whoever asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    Failed,
    Usage,
    /// Something stands against it.
    Blocked,
    NotFound,
    /// Somebody else holds it.
    Held,
    /// The request has no valid token or session.
    Unauthorized,
    /// The caller's scope or account does not allow it.
    Forbidden,
}

impl From<spinney_engine::ErrorKind> for ErrorKind {
    fn from(kind: spinney_engine::ErrorKind) -> Self {
        match kind {
            spinney_engine::ErrorKind::Failed => Self::Failed,
            spinney_engine::ErrorKind::Usage => Self::Usage,
            spinney_engine::ErrorKind::Blocked => Self::Blocked,
            spinney_engine::ErrorKind::NotFound => Self::NotFound,
            spinney_engine::ErrorKind::Held => Self::Held,
        }
    }
}

impl Error {
    #[must_use]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hints: Vec::new(), reasons: Vec::new() }
    }

    /// An error of a use case, with what helps in the terms of a front.
    #[must_use]
    pub fn of(error: &crate::Error, front: Front) -> Self {
        match error {
            crate::Error::Engine(error) => Self::of_engine(error, front),
            crate::Error::Jobs(error) => Self::of_jobs(error, front),
            crate::Error::Request(invalid) => {
                Self { hints: advise_all(&error.advice(), front), ..Self::new(ErrorKind::Usage, invalid.in_fields()) }
            }
            error => Self {
                hints: advise_all(&error.advice(), front),
                ..Self::new(error.kind().into(), Self::message_of(error))
            },
        }
    }

    /// An error of the engine, with what helps in the terms of a front.
    #[must_use]
    pub fn of_engine(error: &spinney_engine::Error, front: Front) -> Self {
        Self {
            kind: error.kind().into(),
            message: Self::message_of(error),
            hints: advise_all(&error.advice(), front),
            reasons: Reason::all(error.reasons()),
        }
    }

    /// The same for an error of jobs.
    #[must_use]
    pub fn of_jobs(error: &spinney_jobs::Error, front: Front) -> Self {
        match error {
            spinney_jobs::Error::Engine(error) => Self::of_engine(error, front),
            error => Self {
                hints: advise_all(&error.advice(), front),
                ..Self::new(error.kind().into(), Self::message_of(error))
            },
        }
    }

    /// The message of an error with its causes, on one line that somebody reads.
    #[must_use]
    pub fn message_of(error: &dyn std::error::Error) -> String {
        let message = in_full(error);
        let line = message.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ");
        cut_for_message(&line, MAX_CHARACTERS)
    }
}

impl From<Error> for ErrorDocument {
    fn from(error: Error) -> Self {
        Self { error }
    }
}

/// One of several things that were asked for, which failed.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Failure {
    pub name: String,
    pub error: Error,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::described::{assert_described, sample};

    #[test]
    fn an_error_is_what_its_schema_says() {
        let refused = spinney_engine::Error::Refused {
            name: spinney_core::WorkspaceName::new("issue-42"),
            reasons: vec![sample::full_reason()],
        };
        let full = Error::of_engine(&refused, Front::Api);
        let bare = Error::new(ErrorKind::Unauthorized, "no token");
        assert_eq!((full.kind, full.reasons.len()), (ErrorKind::Blocked, 1));
        assert_described(&full, &bare);
        assert_described(&ErrorDocument::from(full.clone()), &ErrorDocument::from(bare));
        let failure = Failure { name: "issue-42".to_owned(), error: full };
        assert_described(&failure, &failure);
    }

    #[test]
    fn a_kind_is_the_engines_word() {
        use spinney_engine::ErrorKind::{Blocked, Failed, Held, NotFound, Usage};
        for kind in [Blocked, Failed, Held, NotFound, Usage] {
            assert_eq!(serde_json::to_value(ErrorKind::from(kind)).unwrap(), kind.as_str());
        }
    }

    #[test]
    fn a_job_s_error_from_below_keeps_its_reasons() {
        let name = spinney_core::WorkspaceName::new("issue-42");
        let refused = spinney_engine::Error::Refused { name, reasons: vec![sample::bare_reason()] };
        assert_eq!(Error::of_jobs(&spinney_jobs::Error::Engine(refused), Front::Api).reasons.len(), 1);
        let unknown = spinney_jobs::Error::UnknownJob { name: "x".to_owned() };
        let told = Error::of_jobs(&unknown, Front::CommandLine);
        assert_eq!((told.kind, told.hints.len()), (ErrorKind::NotFound, 1));
    }
}
