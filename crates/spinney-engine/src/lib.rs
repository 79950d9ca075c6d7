//! Workspaces: resolve, admit, create, judge, remove, restore.
//!
//! The way of a request, one direction only: request → resolve → admit → create → hand over. The laws that hold here:
//! no work is lost (removal moves), the main checkout is never touched, unknown is never clean, intent is durable before
//! the side effect.

mod accounts;
mod admit;
mod adopt;
mod cleanup;
mod conflicts;
mod context;
mod create;
mod crowd;
mod deliver;
mod disk;
mod doctor;
mod engine;
mod error;
mod escape;
mod events;
pub mod fail;
mod forge;
mod free_branch;
mod holdings;
mod home;
mod import;
mod inspect;
mod journal;
mod links;
mod lookup;
pub mod notice;
mod plan;
mod pool;
mod populate;
mod prepare;
mod processes;
mod provider;
mod proxy;
mod reconcile;
mod recover;
mod remove;
mod repositories;
mod request;
mod resolve;
mod restore;
mod row;
mod secrets;
mod settings_print;
mod sizes;
mod tokens;
mod trash;
mod trust;
mod verdict;

pub use cleanup::{CleanedCaches, Kept, Report, What};
pub use conflicts::{Conflict, Conflicts, Opponent};
pub use context::{Context, REPOSITORY_FILE};
pub use crowd::ask_all;
pub use deliver::Delivery;
pub use doctor::{Check, Mark};
pub use engine::{Engine, EngineOptions};
pub use error::{Census, Error, ErrorKind, Result, size};
pub use escape::{CheckoutPrint, escapes_in_words};
pub use home::Home;
pub use import::{Found, Import, Imports, Left};
pub use inspect::{Details, Shown};
pub use lookup::Among;
pub use pool::{Drained, Filled, MemberState, Patience, PoolMember, PoolStatus, PoolStatuses, Reading};
pub use reconcile::Finding;
pub use remove::Removed;
pub use repositories::AddRepository;
pub use request::{Continued, Request, Resolution};
pub use settings_print::SettingsPrint;
pub use sizes::{Measurer, Sizes, has_tree, stands};
pub use spinney_forge::{Linear, LinearComment, LinearIssue, Located};
pub use tokens::NewToken;
pub use trash::{Purged, Trashed};
pub use verdict::{ForgeWord, plural};
