//! Why a schedule's run has no job although nothing is wrong.

use spinney_core::JobId;

/// Why a run has no job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Idle {
    /// The job of the last run is not over.
    StillAtIt(JobId),
    NothingReady,
    /// So many items were asked for in vain; the next run looks behind them.
    HeldByOthers {
        items: usize,
    },
    AllHeld,
}
