//! Spinney's words as types: ids, names, work, states, verdict, evidence, configuration.
//!
//! Nothing here does I/O. Every other crate speaks in these types, so a word that is wrong here is wrong everywhere.

pub mod account;
pub mod actor;
pub mod advice;
pub mod agent;
pub mod branch;
mod checked_text;
pub mod commit;
pub mod config;
pub mod delivery;
pub mod event;
pub mod evidence;
pub mod forge;
pub mod id;
mod in_full;
pub mod job;
pub mod job_event;
pub mod long_operation;
pub mod names;
pub mod operation;
pub mod origin;
pub mod platform;
pub mod quantity;
pub mod repository;
pub mod schedule;
pub mod secret;
pub mod time;
pub mod token;
pub mod variables;
pub mod verdict;
pub mod waits_for;
pub mod work;
pub mod workspace;

pub use account::{Account, AccountName};
pub use actor::Actor;
pub use advice::Advice;
pub use agent::{AgentName, RuntimeName};
pub use branch::{BranchName, InvalidBranchName};
pub use commit::CommitId;
pub use delivery::{Delivery, DeliveryStatus};
pub use event::{Event, Finding, Recorded};
pub use evidence::{Evidence, EvidenceKind, Merge};
pub use forge::{Forge, ForgeError};
pub use id::{CloneId, JobId, NodeId, OperationId, RepositoryId, SessionId, TokenId, WorkspaceId};
pub use in_full::in_full;
pub use job::{
    Cancel, Dropped, DroppedCommit, Held, HeldFile, Job, JobRequest, JobStatus, LeftOut, LeftOutReason, Outcome, Push,
    Session, SessionStatus, Usage,
};
pub use job_event::{JobEvent, JobPhase, LogEntry, Stream};
pub use long_operation::{LongOperation, LongOperationStatus};
pub use names::{RepositoryName, WorkspaceName};
pub use operation::{
    ClaimStep, CreateStep, Operation, OperationKind, OperationStatus, PurgeStep, RemoveStep, RestoreStep, Step,
    WarmStep,
};
pub use origin::{Began, Brought, Identities, Left, path_text, text_path};
pub use platform::{Platform, PlatformName};
pub use repository::{Repository, canonical_remote, remote_slug};
pub use schedule::{Claim, Schedule, ScheduleKey, ScheduleName};
pub use secret::Secret;
pub use time::Timestamp;
pub use token::{Scope, Token, TokenKind, TokenName, TokenSecret};
pub use verdict::{Consent, Reason, ReasonCode, Remover, Sweep, Verdict};
pub use waits_for::{NoRoom, WaitsFor};
pub use work::{Work, WorkKind};
pub use workspace::{Method, Populate, Provider, STATE_FILE, Size, Warm, Workspace, WorkspaceStatus};
