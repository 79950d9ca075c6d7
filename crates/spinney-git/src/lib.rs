//! The only code that runs git: `Git` → `Repository` → `Worktree`.
//!
//! Every process goes through [`Command`]: a clean environment, hardened flags, no prompts, a timeout, its own process
//! group. What git answers is read by pure functions, what it refuses is classified in one place. Nothing here prints
//! or reads the process environment; nothing writes the user's `.git/config`, and refs change only by their old value.
//!
//! ```
//! use spinney_git::{Git, GitOptions, Repository};
//! # use spinney_testkit::Sandbox;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let sandbox = Sandbox::new();
//! # let (checkout, environment) = (sandbox.repository("app"), sandbox.environment());
//! let git = Git::open(GitOptions::new(environment)).await?;
//! let repository = Repository::discover(&git, checkout.path()).await?;
//! let head = repository.load_commit("HEAD").await?;
//! assert_eq!(head.unwrap().to_string(), checkout.head());
//! # Ok(())
//! # }
//! ```

mod boxed;
mod disk;
mod error;
mod evidence;
mod git;
#[cfg(test)]
mod hostile;
mod import;
mod index;
mod jail;
mod pin;
mod process;
mod refs;
mod repository;
mod settings;
mod survey;
mod transfer;
mod worktree;

pub use boxed::left_over::BoxedCommit;
pub use boxed::left_over_parse::BoxedLeftOver;
pub use boxed::mirror::BaseMirror;
pub use boxed::places::BoxPlaces;
pub use boxed::tree::BoxedTree;
pub use disk::presence::{Presence, owner_on_the_way};
pub use disk::regular::{
    POINTER_BYTES, SETTINGS_BYTES, open_regular, open_regular_beneath, read_persons_text, read_regular,
    read_regular_text,
};
pub use disk::scratch::is_abandoned_scratch;
pub use error::{Error, REMOTE_HAS_MOVED_ON};
pub use evidence::added::Added;
pub use evidence::changed_paths::ChangedPaths;
pub use evidence::changes::Changes;
pub use evidence::conflict::MergeAttempt;
pub use evidence::diff::Patch;
pub use evidence::history::Unpushed;
pub use evidence::reachable::Elsewhere;
pub use evidence::rescue::{NamedRef, OnlyHere};
pub use git::{Git, GitOptions, GitVersion};
pub use import::finding::{Finding, ImportLimits, Imported, Leads};
pub use import::refusal::Refusal;
pub use import::run::Import;
pub use index::{
    FileStat, FileTime, Index, IndexDirectory, IndexEntry, IndexMode, InvalidIndex, ObjectFormat, ObjectId,
};
pub use jail::answer::Unverifiable;
pub use jail::limits::JailLimits;
pub use jail::probe::{Jail, JailUnavailable};
pub use pin::bundle::BUNDLE;
pub use pin::keep::{KEPT_ALIVE, VANISHED};
pub use pin::stamp::PinStamp;
pub use pin::whole::Pinned;
pub use process::command::{Command, Output};
pub use process::redact::{redact_url, without_credentials};
pub use process::threads::{LentThread, expect_patience, lend_thread, share_thread};
pub use refs::broken_refs::BrokenRef;
pub use refs::head::Head;
pub use repository::checkout_files::CheckoutFile;
pub use repository::lock::{Holder, OnWait, RepositoryLock};
pub use repository::opened::Repository;
pub use repository::stash::Stash;
pub use settings::executing::Executing;
pub use settings::guard::{OwnSettings, SettingsGuard};
pub use settings::nested::Opaque;
pub use survey::{Difference, Differing, Kind, Other, Proof, Survey, Unknown, find_repositories};
pub use transfer::credential::Credential;
pub use transfer::fetch::{Known, Wanted};
pub use transfer::push::{Lease, Pushed};
pub use transfer::remote::Remote;
pub use worktree::add::{AddWorktree, Start};
pub use worktree::commit_files::{Committed, Identity};
pub use worktree::files::Files;
pub use worktree::hidden::copy_with_time;
pub use worktree::linked::Worktree;
pub use worktree::list::WorktreeEntry;
pub use worktree::signature::Unsigned;
pub use worktree::status::{Change, Entry, Status, StatusOptions, SubmoduleChange};

pub type Result<T, E = Error> = std::result::Result<T, E>;
