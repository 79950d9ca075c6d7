//! Workspaces: resolve, admit, create, judge, remove, restore.
//!
//! The way of a request, one direction only: request → resolve → admit → create → hand over. The laws that hold here:
//! no work is lost (removal moves), the main checkout is never touched, unknown is never clean, intent is durable before
//! the side effect.
//!
//! ```
//! use spinney_core::{Consent, Work};
//! use spinney_engine::{Engine, EngineOptions, Request};
//! # use spinney_testkit::Sandbox;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let sandbox = Sandbox::new();
//! # let checkout = sandbox.repository("app");
//! # let (home, environment) = (sandbox.spinney_home(), sandbox.environment());
//! # let path = checkout.path().to_str().unwrap();
//! let options = EngineOptions { environment, ..EngineOptions::of(home) };
//! let engine = Engine::open(options).await?;
//! let repository = engine.repository(path).await?;
//!
//! let (workspace, _) = repository.resolve(&Request::new(Work::issue(42))).await?;
//! std::fs::write(workspace.path().join("notes.md"), "# Notes")?;
//!
//! let refused = repository.workspace("issue-42").await?.remove(&Consent::None).await;
//! assert!(refused.is_err(), "an untracked file would be lost");
//! workspace.remove(&Consent::Force).await?;
//! let back = repository.removed_workspace("issue-42").await?.restore().await?;
//! assert!(back.path().join("notes.md").is_file());
//! # Ok(())
//! # }
//! ```

mod cleanup;
mod create;
mod deliver;
mod engine;
mod error;
pub mod executor;
mod face;
mod home;
mod import;
mod inspect;
mod journal;
mod pool;
mod reconcile;
mod repositories;
mod resolve;
mod trash;
mod tree;
mod verdict;

pub use cleanup::{Caches, CleanedCaches, ClosedWork, DroppedBranch, Kept, Report, What, old_files};
pub use deliver::{Delivery, UnderDelivery};

pub use create::prepare::{Copies, Foreseen};
pub use engine::notice;
pub use engine::open::{Engine, EngineOptions};
pub use engine::threads::EngineThreads;
pub use error::{Census, Error, ErrorKind, Result, size};
pub use face::{Repository, Workspace};
pub use home::layout::Home;
pub use home::tokens::NewToken;
pub use import::{Found, Import, ImportSource, Imports, Left};
pub use inspect::conflicts::{Conflict, Conflicts, Opponent};
pub use inspect::crowd::ask_all;
pub use inspect::details::{Details, Shown};
pub use inspect::doctor::{Check, Mark};
pub use inspect::sizes::{Measurer, Sizes, has_tree, stands};
pub use journal::fail;
pub use pool::{Drained, Filled, MemberState, Patience, PoolMember, PoolStatus, PoolStatuses, Reading};
pub use repositories::context::{Context, REPOSITORY_FILE};
pub use repositories::escape::{CheckoutPrint, MainCheckout, escapes_in_words};
pub use repositories::forge::schema;
pub use repositories::known::AddRepository;
pub use repositories::settings_print::SettingsPrint;
pub use resolve::lookup::Among;
pub use resolve::remote_name::work_meant;
pub use resolve::request::{Continued, Request, Resolution, Within};
pub use resolve::room::Standing;
pub use spinney_forge::{GITHUB, Linear, LinearComment, LinearIssue, Located};
pub use spinney_git::{expect_patience, share_thread};
pub use trash::remove::Removed;
pub use trash::{Erasable, Erasure, ExpiredArchive, Expiry, Purged, Trashed};
pub use tree::{OwnBranch, Tree, tip_ref};
pub use verdict::{ForgeWord, plural};
