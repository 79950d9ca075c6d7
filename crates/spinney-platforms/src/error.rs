//! What goes wrong between a message and its answer.

use spinney_engine::Error as EngineError;
use spinney_jobs::Error as JobsError;
use spinney_store::Error as StoreError;

use crate::SendError;

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Engine(#[from] spinney_engine::Error),
    #[error(transparent)]
    Jobs(#[from] spinney_jobs::Error),
    #[error(transparent)]
    App(spinney_app::Error),
    #[error(transparent)]
    Store(#[from] spinney_store::Error),
    #[error(transparent)]
    Send(#[from] SendError),
    /// Each waiting job is a process: what comes in masses waits here.
    #[error("{jobs} jobs are before it")]
    Crowded { jobs: usize },
    #[error("an internal error interrupted it")]
    Broken,
    /// It was written down by another version.
    #[error("what was written down of a delivery can't be read")]
    Unreadable(#[source] serde_json::Error),
    #[error("{0} is not set up here")]
    NoAdapter(spinney_core::Platform),
}

impl From<spinney_app::Error> for Error {
    fn from(error: spinney_app::Error) -> Self {
        match error {
            spinney_app::Error::Engine(error) => Self::Engine(error),
            spinney_app::Error::Jobs(error) => Self::Jobs(error),
            error => Self::App(error),
        }
    }
}

impl Error {
    /// Whether it passes by itself, for all that is known.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        let of_store = |error: &StoreError| {
            matches!(error, StoreError::Busy { .. } | StoreError::Unreachable { .. } | StoreError::Full { .. })
        };
        match self {
            Self::Send(error) => error.is_temporary(),
            Self::Store(error)
            | Self::Engine(EngineError::Store(error))
            | Self::Jobs(JobsError::Engine(EngineError::Store(error))) => of_store(error),
            // It may be set up again when the daemon starts next.
            Self::Crowded { .. } | Self::NoAdapter(_) => true,
            _ => false,
        }
    }
}
