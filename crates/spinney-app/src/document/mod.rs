//! The JSON documents: the same words and shapes wherever a thing is told of, by the API and by `--json` alike.
//!
//! A document is what is sent, not what is kept: ids, names and paths are texts in it, and a path that is no UTF-8 is
//! shown as near to it as can be. Its schema comes from the same declaration; a field that may be `null` is there
//! nevertheless, and one that may be missing is not required.

mod actor;
mod agent;
mod cleanup;
mod conflicts;
mod context;
mod delivery;
#[cfg(test)]
mod described;
mod details;
mod diff;
mod error;
mod event;
pub mod fit;
mod import;
mod inbox;
mod job;
mod listed;
mod lists;
mod metadata;
mod operation;
mod origin;
mod page;
mod pool;
mod repository;
mod schedule;
mod several;
mod status;
mod token;
mod trash;
mod trust;
mod verdict;
mod word;
mod workspace;

pub use actor::Actor;
pub use agent::{Agent, AgentLimits};
pub use cleanup::{CleanedCaches, Cleanup, CleanupFailure, ErasedArchive, Finding, Forgotten, Kept, Swept};
pub use conflicts::{Conflict, Conflicts, Uncommitted, Unjudged};
pub use context::{Context, OwnJob};
pub use delivery::{Delivery, DeliveryPush};
pub use details::{Details, WorkspaceDetails, WorkspaceState};
pub use diff::Diff;
pub use error::{Error, ErrorDocument, ErrorKind, Failure};
pub use event::Event;
pub use import::{Conversation, FoundWorktree, Import, LeftWorktree};
pub use inbox::{InboxMessage, InboxPage};
pub use job::{Job, JobInBrief, Session, Usage};
pub use listed::{ListedDetails, ListedWorkspace, ShownWorkspace};
pub use lists::{Accounts, Agents, Erase, Node, Nodes, Pools, Purge, Repositories, Tokens, Trash};
pub use metadata::{Erased, Metadata, Warm};
pub use operation::Operation;
pub use origin::{Dropped, DroppedCommit, Held, HeldFile, LeftOut};
pub use page::{EventPage, JobPage, ListedSession, SessionPage, WorkspacePage};
pub use pool::{Drained, Filled, MemberState, Pool, PoolMember};
pub use repository::{FetchedRepository, Repository};
pub use schedule::{Schedule, ScheduleProblem, Schedules};
pub use several::{Jobs, Listed, ListedRow, RestoredWorkspace, Workspaces};
pub use status::{Archives, Counts, RepositoryStatus, Sizes, Status};
pub use token::{Account, CreatedToken, LoginLink, Token};
pub use trash::{ErasableWorkspace, ErasedWorkspace, LostCommit, PurgedWorkspace, TrashedWorkspace};
pub use trust::{Trusted, TrustedCommit, TrustedSetting};
pub use verdict::{Evidence, Reason, Verdict};
pub use word::{
    Cancel, DeliveryStatus, EvidenceKind, JobStatus, LeftOutReason, LongOperationStatus, Method, Platform, Populate,
    Provider, Push, ReasonCode, Scope, SessionStatus, Timestamp, WorkKind, WorkspaceStatus,
};
pub use workspace::{ResolvedWorkspace, Work, Workspace};

use std::path::Path;

fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Texts of things that have one.
fn texts<T: ToString>(things: &[T]) -> Vec<String> {
    things.iter().map(ToString::to_string).collect()
}
