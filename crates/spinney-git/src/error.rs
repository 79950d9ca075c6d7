//! What can go wrong with git, told apart. `classify` decides which of these a failed process is.
//!
//! No message and no field carries a credential: commands and output are redacted before they get here.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use spinney_core::BranchName;

use crate::disk::presence::owner_on_the_way;
use crate::import::refusal::Refusal;
use crate::jail::answer::Unverifiable;
use crate::repository::lock::Holder;
use crate::settings::executing::Executing;
use crate::settings::nested::Opaque;

/// How a branch that somebody else pushed to is told, for who has only the text.
pub const REMOTE_HAS_MOVED_ON: &str = "has moved on: it has commits that are not here";

#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("`{}` can't be run: git is not installed, or not on the path", .program.display())]
    GitMissing { program: PathBuf },
    #[error("git {found} is too old: at least {needed} is needed")]
    GitTooOld { found: String, needed: String },
    #[error("`{}` is not in a git repository", .path.display())]
    NotARepository { path: PathBuf },
    /// Git refuses a directory that belongs to somebody else.
    #[error("`{}` belongs to another user, so git refuses it", .path.display())]
    UnsafeOwnership { path: PathBuf },

    #[error("a branch named `{branch}` exists already")]
    BranchExists { branch: String },
    #[error("the branch `{branch}` is checked out at `{}`", .path.display())]
    BranchInUse { branch: String, path: PathBuf },
    #[error("`{}` exists already", .path.display())]
    PathExists { path: PathBuf },
    /// The path is that of a worktree whose directory is missing.
    #[error("`{}` is registered as a worktree, but missing", .path.display())]
    PathRegistered { path: PathBuf },
    /// A ref with this name can't exist beside the other one.
    #[error("the ref `{name}` can't exist beside `{existing}`")]
    RefConflict { name: String, existing: String },
    /// A ref was not at the value it had to be at.
    #[error("the ref `{name}` was changed by somebody else")]
    RefMoved { name: String },
    #[error("there is no commit `{name}`")]
    MissingRef { name: String },

    /// What should be kept is not there any more.
    #[error("{} missing in the repository: {}", if .objects.len() == 1 { "an object is" } else { "objects are" }, some(.objects))]
    MissingObjects { objects: Vec<String> },

    /// Another git process was in the way for a moment.
    #[error("another git process holds `{what}`")]
    LockContention { what: String },
    #[error("waited {}s for the lock of this repository{}", .waited.as_secs(), held_by(.holder.as_ref()))]
    LockTimeout { holder: Option<Holder>, waited: Duration },

    /// Git's own configuration forbids the way to a remote or submodule.
    #[error("git does not allow the transport `{transport}` of a remote or submodule")]
    TransportNotAllowed { transport: String },
    #[error("the remote has no `{name}`")]
    MissingRemoteRef { name: String },
    #[error("the remote repository was not found: {detail}")]
    RemoteNotFound { detail: String },
    #[error("the remote can't be reached: {detail}")]
    Network { detail: String },
    /// It may be there; it said nothing for so long.
    #[error("the remote sent nothing for {}", seconds(*.after))]
    NoAnswer { after: Duration },
    #[error("the remote refused the credentials, or there are none: {detail}")]
    Auth { detail: String },

    /// The branch at the remote has what was not pushed from here.
    #[error("the remote's `{}` {REMOTE_HAS_MOVED_ON}", short(.branch))]
    PushRejected { branch: String, detail: String },
    /// The remote itself said no: a hook, a protected branch, a quota.
    #[error("the remote refused the push: {detail}")]
    PushRefused { detail: String },

    #[error("no space is left on the disk: {detail}")]
    NoSpace { detail: String },
    #[error("permission denied: {detail}")]
    PermissionDenied { detail: String },
    #[error("the file system is mounted read-only: {detail}")]
    ReadOnly { detail: String },
    #[error("`{command}` did not end within {}", seconds(*.after))]
    Timeout { command: String, after: Duration },

    #[error("there is no directory `{}`", .path.display())]
    WorktreeMissing { path: PathBuf },
    #[error("the worktree `{}` is damaged: {reason}", .path.display())]
    DamagedWorktree { path: PathBuf, reason: String },
    #[error("the index of `{}` is damaged ({detail})", .path.display())]
    DamagedIndex { path: PathBuf, detail: String },
    #[error("the index `{}` can't be used", .path.display())]
    InvalidIndex { path: PathBuf, source: crate::InvalidIndex },
    #[error("`{}` is not a worktree of this repository", .path.display())]
    ForeignWorktree { path: PathBuf },
    #[error("`{}` is the main checkout", .path.display())]
    MainCheckout { path: PathBuf },
    /// Somebody began a merge, rebase or the like, and has not ended it.
    #[error("a {operation} is in progress in `{}`", .path.display())]
    OperationInProgress { path: PathBuf, operation: &'static str },
    #[error("`{}` has conflicts", .path.display())]
    Conflicted { path: PathBuf },
    #[error("a submodule could not be checked out: {detail}")]
    Submodule { detail: String },
    /// The repository's own configuration runs something that nobody agreed to.
    #[error("in the repository's own git configuration {}; this is not trusted yet", listed(.settings))]
    NotTrusted { settings: Vec<Executing> },
    /// What a repository inside of the tree is asked runs something that its own configuration names.
    #[error("{0}, so that git is not run there")]
    Opaque(Box<Opaque>),
    #[error("git-lfs is not installed")]
    LfsMissing,

    /// What an agent in a box wrote gives no answer.
    #[error("{question} can't be told")]
    Unverifiable {
        question: &'static str,
        #[source]
        why: Box<Unverifiable>,
    },
    #[error("what the box made can't be imported")]
    ImportRefused(#[source] Box<Refusal>),

    /// A name that git could take for something else.
    #[error("`{}` can't be used as {what}", spinney_core::names::for_message(.name))]
    Refused { what: &'static str, name: String },
    #[error("`{command}` wrote more than {limit} bytes")]
    OutputTooLarge { command: String, limit: usize },
    #[error("`{command}` answered with something unexpected: {detail}")]
    Unexpected { command: String, detail: String },
    #[error("`{command}` failed with status {status}: {}", last_line(.stderr))]
    Failed { command: String, status: i32, stderr: String },
    #[error("can't {action} `{}`", .path.display())]
    Io { action: &'static str, path: PathBuf, source: io::Error },
}

impl Error {
    /// Whether the same call may well succeed in a moment.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::LockContention { .. })
    }

    /// Whether the same call may well succeed in a while, without anybody's doing.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        self.is_transient()
            || matches!(
                self,
                Self::Network { .. } | Self::NoAnswer { .. } | Self::Timeout { .. } | Self::LockTimeout { .. }
            )
    }

    /// Whether the remote could not be used, for whatever reason; what is known locally still stands.
    #[must_use]
    pub fn is_remote(&self) -> bool {
        matches!(self, Self::Network { .. } | Self::NoAnswer { .. } | Self::Auth { .. } | Self::RemoteNotFound { .. })
    }

    /// Wraps an error of the file system, telling a full disk and a refused access apart.
    #[must_use]
    pub fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        let detail = || format!("can't {action} `{}`", path.display());
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::NoSpace { detail: detail() },
            io::ErrorKind::PermissionDenied => {
                let owner = owner_on_the_way(path).map(|owner| format!(", where the way belongs to `{owner}`"));
                Self::PermissionDenied { detail: detail() + &owner.unwrap_or_default() }
            }
            io::ErrorKind::ReadOnlyFilesystem => Self::ReadOnly { detail: detail() },
            _ => Self::Io { action, path: path.to_owned(), source },
        }
    }

    /// Whether this user may not look at what is meant: that says nothing about it.
    #[must_use]
    pub fn is_denied(&self) -> bool {
        matches!(self, Self::PermissionDenied { .. } | Self::UnsafeOwnership { .. })
    }

    /// The branch in the way, where one is.
    #[must_use]
    pub fn branch(&self) -> Option<BranchName> {
        match self {
            Self::BranchExists { branch } | Self::BranchInUse { branch, .. } => branch.parse().ok(),
            _ => None,
        }
    }
}

/// The first few of a list.
fn some(objects: &[String]) -> String {
    const SHOWN: usize = 3;
    let shown: Vec<String> = objects.iter().take(SHOWN).map(|object| format!("`{object}`")).collect();
    let more = objects.len().saturating_sub(SHOWN);
    if more > 0 { format!("{} and {more} more", shown.join(", ")) } else { shown.join(", ") }
}

fn seconds(duration: Duration) -> String {
    if duration.as_secs() == 0 { format!("{}ms", duration.as_millis()) } else { format!("{}s", duration.as_secs()) }
}

fn short(name: &str) -> &str {
    name.strip_prefix("refs/heads/").unwrap_or(name)
}

fn listed(settings: &[Executing]) -> String {
    settings.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn held_by(holder: Option<&Holder>) -> String {
    holder.map(|holder| format!(", held by {holder}")).unwrap_or_default()
}

/// The line that says most: the last `fatal:` or `error:`, else the last one.
pub(crate) fn last_line(stderr: &str) -> &str {
    let lines = || stderr.lines().map(str::trim).filter(|line| !line.is_empty());
    lines()
        .rfind(|line| line.starts_with("fatal:") || line.starts_with("error:"))
        .or_else(|| lines().next_back())
        .unwrap_or("no message")
}
