//! Everything that can go wrong with a use case.

use spinney_core::names::for_message;
use spinney_core::{Advice, CommitId, Reason, WorkspaceName, WorkspaceStatus};
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
    #[error("another cleanup or purge is running")]
    SweepUnderWay,
    #[error("{name} is {status}: it belongs to no work")]
    NobodysWorkspace { name: WorkspaceName, status: WorkspaceStatus },
    #[error("there is no {what} `{}`", for_message(.name))]
    Unknown { what: &'static str, name: String },
    #[error("the commit `{commit}` is not in the repository any more")]
    CommitGone { commit: CommitId },
    #[error("the token's lifetime must be longer than zero")]
    UselessToken,
}

impl Error {
    pub(crate) fn unknown(what: &'static str, name: &str) -> Self {
        Self::Unknown { what, name: name.to_owned() }
    }

    /// What the failure means to whoever asked.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Engine(error) => error.kind(),
            Self::Jobs(error) => error.kind(),
            Self::Request(_) | Self::UselessToken => ErrorKind::Usage,
            Self::Unknown { .. } | Self::CommitGone { .. } => ErrorKind::NotFound,
            Self::SweepUnderWay => ErrorKind::Held,
            Self::NobodysWorkspace { .. } => ErrorKind::Blocked,
        }
    }

    /// What stands in the way of a removal; nothing for any other failure.
    #[must_use]
    pub fn reasons(&self) -> &[Reason] {
        match self {
            Self::Engine(error) => error.reasons(),
            _ => &[],
        }
    }

    /// What helps.
    #[must_use]
    pub fn advice(&self) -> Vec<Advice> {
        match self {
            Self::Engine(error) => error.advice(),
            Self::Jobs(error) => error.advice(),
            Self::SweepUnderWay => vec![Advice::WaitAndRepeat],
            Self::Request(InvalidRequest::Cursor) => vec![Advice::BeginAtNewest],
            Self::UselessToken => vec![Advice::LeaveExpiryOut],
            Self::Request(_) | Self::NobodysWorkspace { .. } | Self::Unknown { .. } | Self::CommitGone { .. } => {
                Vec::new()
            }
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
