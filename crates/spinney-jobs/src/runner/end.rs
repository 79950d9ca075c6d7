//! How a job ends when it does not complete.

use spinney_core::{Advice, JobStatus, NoRoom, Timestamp};
use spinney_engine::ErrorKind;

use crate::Error;
use crate::maintenance::outage::Cut;
use crate::runner::control::Stop;
use crate::told::{Failure, Words};

/// How a job ends when it does not complete.
#[derive(Debug)]
pub(super) enum End {
    Failed(Why),
    /// There was no room for its workspace; with the time when there may be some, where one is known.
    Blocked(NoRoom, Option<Timestamp>),
    /// It can't begin now, and went back to the queue.
    Queued,
    /// The database's server went away in the middle.
    CutOff(Why),
    Stopped(Stop),
}

/// Why a job does not complete, and what helps.
#[derive(Debug)]
pub(super) struct Why {
    pub failure: Box<Failure>,
    pub advice: Vec<Advice>,
}

impl Why {
    pub(super) fn new(failure: Failure, advice: Vec<Advice>) -> Self {
        Self { failure: Box::new(failure), advice }
    }

    /// The same in words, as it is kept and shown.
    pub(super) fn told(self, words: &dyn Words) -> (String, Vec<Advice>) {
        (words.failure(&self.failure), self.advice)
    }
}

impl From<Failure> for Why {
    fn from(failure: Failure) -> Self {
        Self::new(failure, Vec::new())
    }
}

impl Cut for End {
    fn is_cut_off(&self) -> bool {
        matches!(self, Self::CutOff(_))
    }
}

/// A part of a job's way.
pub(super) type Step<T> = Result<T, End>;

impl End {
    pub(super) fn status(&self) -> JobStatus {
        match self {
            Self::Queued => JobStatus::Pending,
            Self::Failed(_) | Self::Blocked(..) | Self::CutOff(_) | Self::Stopped(Stop::No) => JobStatus::Failed,
            Self::Stopped(Stop::TimedOut) => JobStatus::TimedOut,
            Self::Stopped(Stop::Terminated) => JobStatus::Interrupted,
            Self::Stopped(Stop::Cancelled | Stop::AtOnce) => JobStatus::Cancelled,
        }
    }

    /// A failure that nothing is known to help with.
    pub(super) fn failed(failure: Failure) -> Self {
        Self::Failed(failure.into())
    }

    pub(super) fn why(self) -> Why {
        match self {
            Self::Failed(why) | Self::CutOff(why) => why,
            Self::Blocked(NoRoom { why, advice, .. }, _) => Why::new(Failure::NoRoom(why), advice),
            Self::Queued => Failure::NotRunning.into(),
            Self::Stopped(Stop::TimedOut) => Failure::TimedOut.into(),
            Self::Stopped(Stop::Terminated) => Failure::Terminated.into(),
            Self::Stopped(_) => Failure::Cancelled.into(),
        }
    }
}

impl<E: Into<Error>> From<E> for End {
    fn from(error: E) -> Self {
        let error = error.into();
        let advice = error.advice();
        let (merged, stale, again_at) = match &error {
            Error::Engine(spinney_engine::Error::Limit { census, .. }) => {
                (census.merged.len(), census.stale.len(), census.again_at)
            }
            _ => (0, 0, None),
        };
        match error.kind() {
            _ if error.is_cut_off() => Self::CutOff(Why::new(Failure::Error(error), advice)),
            ErrorKind::Blocked => {
                Self::Blocked(NoRoom { why: spinney_core::in_full(&error), advice, merged, stale }, again_at)
            }
            _ => Self::Failed(Why::new(Failure::Error(error), advice)),
        }
    }
}
