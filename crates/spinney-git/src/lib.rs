//! The only code that runs git: `Git` → `Repository` → `Worktree`.
//!
//! Every process goes through [`Command`]: a clean environment, hardened flags, no prompts, a timeout, its own process
//! group. What git answers is read by pure functions, what it refuses is classified in one place. Nothing here prints
//! or reads the process environment; nothing writes the user's `.git/config`, and refs change only by their old value.

mod add;
mod added;
mod changed_paths;
mod changes;
mod checked_out;
mod checkout;
mod checkout_files;
mod classify;
mod clone;
mod command;
mod commit_files;
mod config_text;
mod conflict;
mod contents;
mod credential;
mod diff;
mod environment;
mod error;
mod executing;
mod fetch;
mod file_lock;
mod files;
mod git;
mod guard;
mod head;
mod hidden;
mod history;
#[cfg(test)]
mod hostile;
mod ignored;
mod ignored_path;
mod index;
mod index_tree;
mod lock;
mod merge;
mod move_files;
mod nested;
mod network;
mod own_config;
mod pin;
mod pin_sources;
mod process;
mod progress;
mod push;
mod push_parse;
mod reachable;
mod record;
mod redact;
mod ref_files;
mod refs;
mod regular;
mod remote;
mod remote_cache;
mod repository;
mod retry;
mod scratch;
mod secrets;
mod silence;
mod stale_lock;
mod stamp;
mod stash;
mod status;
mod status_parse;
mod submodule;
mod survey;
mod switch;
mod symbolic;
mod worktree;
mod worktree_list;

pub use add::{AddWorktree, Start};
pub use added::Added;
pub use changed_paths::ChangedPaths;
pub use changes::Changes;
pub use checkout_files::CheckoutFile;
pub use command::{Command, Output};
pub use commit_files::Identity;
pub use conflict::MergeAttempt;
pub use credential::Credential;
pub use diff::Patch;
pub use error::{Error, REMOTE_HAS_MOVED_ON};
pub use executing::Executing;
pub use fetch::{Known, Wanted};
pub use files::Files;
pub use git::{Git, GitOptions, GitVersion};
pub use guard::{OwnSettings, SettingsGuard};
pub use head::Head;
pub use hidden::copy_with_time;
pub use history::Unpushed;
pub use index::{
    FileStat, FileTime, Index, IndexDirectory, IndexEntry, IndexMode, InvalidIndex, ObjectFormat, ObjectId,
};
pub use lock::{Holder, OnWait, RepositoryLock};
pub use nested::Opaque;
pub use push::{Lease, Pushed};
pub use redact::{redact_url, without_credentials};
pub use regular::{POINTER_BYTES, SETTINGS_BYTES, open_regular, open_regular_beneath, read_regular, read_regular_text};
pub use remote::Remote;
pub use repository::Repository;
pub use scratch::is_abandoned_scratch;
pub use stash::Stash;
pub use status::{Change, Entry, Status, StatusOptions, SubmoduleChange};
pub use survey::{Difference, Differing, Kind, Other, Proof, Survey, Unknown, find_repositories};
pub use worktree::Worktree;
pub use worktree_list::WorktreeEntry;

pub type Result<T, E = Error> = std::result::Result<T, E>;
