//! Spinney's words as types: ids, names, work, states, verdict, evidence, configuration.
//!
//! Nothing here does I/O. Every other crate speaks in these types, so a word that is wrong here is wrong everywhere.
//!
//! ```
//! use spinney_core::{BranchName, Work};
//!
//! let work = Work::task("Add dark mode")?;
//! assert_eq!(work.workspace_name().to_string(), "task-add-dark-mode");
//! assert!("feature/.hidden".parse::<BranchName>().is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod accounts;
pub mod advice;
pub mod config;
pub mod event;
mod jobs;
mod repositories;
mod requests;
mod values;
mod workspaces;

pub use accounts::account::{Account, AccountName};
pub use accounts::actor::Actor;
pub use accounts::token::{Scope, Token, TokenKind, TokenName, TokenSecret};
pub use accounts::{account, actor, token};
pub use advice::Advice;
pub use event::{Event, Finding, Recorded};
pub use jobs::agent::{AgentName, RuntimeName};
pub use jobs::job::{
    Cancel, Dropped, DroppedCommit, Held, HeldFile, Job, JobRequest, JobStatus, LeftOut, LeftOutReason, Outcome, Push,
    Session, SessionStatus, TriedRoom, Usage,
};
pub use jobs::job_event::{JobEvent, JobPhase, LogEntry, Stream};
pub use jobs::schedule::{Claim, Schedule, ScheduleKey, ScheduleName};
pub use jobs::waits_for::{NoRoom, WaitsFor};
pub use jobs::{agent, job, job_event, schedule, waits_for};
pub use repositories::forge::{Forge, ForgeError};
pub use repositories::repository::{Repository, canonical_remote, remote_slug};
pub use repositories::{forge, repository};
pub use requests::delivery::{Delivery, DeliveryStatus};
pub use requests::ignored::IgnoreReason;
pub use requests::long_operation::{LongOperation, LongOperationStatus};
pub use requests::platform::{Platform, PlatformName};
pub use requests::{delivery, ignored, long_operation, platform, work_address};
pub use values::branch::{BranchName, InvalidBranchName};
pub use values::commit::CommitId;
pub use values::id::{CloneId, JobId, NodeId, OperationId, RepositoryId, SessionId, TokenId, WorkspaceId};
pub use values::in_full::in_full;
pub use values::names::{RepositoryName, WorkspaceName};
pub use values::secret::Secret;
pub use values::time::Timestamp;
pub use values::{branch, commit, id, names, quantity, secret, time};
pub use workspaces::evidence::{Evidence, EvidenceKind, Merge};
pub use workspaces::operation::{
    ClaimStep, CreateStep, DeliverStep, EraseStep, Operation, OperationKind, OperationStatus, PurgeStep, RemoveStep,
    RestoreStep, Step, WarmStep,
};
pub use workspaces::origin::{Began, Brought, Identities, Left, path_text, text_path};
pub use workspaces::verdict::{Consent, Reason, ReasonCode, Remover, Sweep, Verdict};
pub use workspaces::work::{Work, WorkKind};
pub use workspaces::workspace::{
    Erased, MergedPull, Method, Populate, Provider, STATE_FILE, Size, Warm, Workspace, WorkspaceStatus,
};
pub use workspaces::{evidence, operation, origin, variables, verdict, work, workspace};
