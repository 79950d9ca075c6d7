//! Everything that can go wrong with a use case.

use spinney_core::{Advice, WorkspaceName, WorkspaceStatus};
use spinney_engine::ErrorKind;

use crate::InvalidRequest;

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Engine(#[from] spinney_engine::Error),
    #[error(transparent)]
    Jobs(spinney_jobs::Error),
    #[error(transparent)]
    Request(#[from] InvalidRequest),
    #[error("another sweep is under way")]
    SweepUnderWay,
    #[error("{name} is {status}, not somebody's")]
    NobodysWorkspace { name: WorkspaceName, status: WorkspaceStatus },
}

impl Error {
    /// What the failure means to whoever asked.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Engine(error) => error.kind(),
            Self::Jobs(error) => error.kind(),
            Self::Request(_) => ErrorKind::Usage,
            Self::SweepUnderWay => ErrorKind::Held,
            Self::NobodysWorkspace { .. } => ErrorKind::Blocked,
        }
    }

    /// What helps.
    #[must_use]
    pub fn advice(&self) -> Vec<Advice> {
        match self {
            Self::Engine(error) => error.advice(),
            Self::Jobs(error) => error.advice(),
            Self::SweepUnderWay => vec![Advice::WaitAndRepeat],
            Self::Request(_) | Self::NobodysWorkspace { .. } => Vec::new(),
        }
    }
}

impl From<spinney_jobs::Error> for Error {
    fn from(error: spinney_jobs::Error) -> Self {
        match error {
            spinney_jobs::Error::Engine(error) => Self::Engine(error),
            error => Self::Jobs(error),
        }
    }
}

impl From<spinney_store::Error> for Error {
    fn from(error: spinney_store::Error) -> Self {
        Self::Engine(error.into())
    }
}
