//! GitHub, GitLab and Forgejo/Gitea over their REST APIs: pull requests and issues of one repository;
//! on GitHub also the labels and comments by which work on issues is told, and the same on Linear over GraphQL.
//!
//! [`locate`] tells from a remote's URL which configured forge holds the repository; [`open`] gives it as a
//! [`spinney_core::Forge`]. What differs between forges is one file each, a `Dialect` without any I/O; asking,
//! waiting and looking before a second try are the same for all (`rest.rs`).
//!
//! A token is a [`spinney_core::Secret`]. It travels in one header, encrypted or to this machine itself, and to no
//! other host than that of the configured API.
//!
//! ```
//! use spinney_forge::{ForgeOptions, locate};
//!
//! let found = locate("git@github.com:acme/app.git", &ForgeOptions::default()).unwrap();
//! assert_eq!((found.owner.as_str(), found.name.as_str()), ("acme", "app"));
//! assert_eq!(found.api_url, "https://api.github.com");
//! assert!(locate("/srv/git/app.git", &ForgeOptions::default()).is_none());
//! ```

mod answer;
mod app;
mod client;
mod credentials;
mod dialect;
mod forgejo;
mod github;
mod gitlab;
pub mod http;
mod kind;
mod linear;
mod locate;
mod options;
mod patience;
mod rest;
mod threads;
pub mod token;
mod tracking;
mod url;

pub use app::{App, AppKeyError};
pub use forgejo::FORGEJO;
pub use github::GITHUB;
pub use gitlab::GITLAB;
pub use kind::{FORGES, ForgeKind, Kind, sections};
pub use linear::{Linear, LinearComment, LinearIssue, LinearOptions};
pub use locate::{Located, locate};
pub use options::{ForgeOptions, KindOptions};
pub use patience::Patience;
pub use rest::{OpenError, open};
