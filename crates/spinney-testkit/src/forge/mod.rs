//! A small forge on loopback: pull requests and issues of one repository, over the REST API of GitHub, GitLab or Forgejo.
//!
//! It answers in the shapes of the real ones, keeps everything in memory, records every exchange, and gets into any
//! [`Trouble`] that a test asks for. It takes one token, and refuses any other.
//!
//! ```ignore
//! let forge = TestForge::github("acme/app");
//! forge.trouble(Trouble::Status(503));
//! // … a client with `forge.api_url()` and `forge.token()` opens a pull request …
//! assert_eq!(forge.pull_requests().len(), 1);
//! ```

mod description;
mod forgejo;
mod github;
mod github_shapes;
mod gitlab;
mod server;
mod state;
mod trouble;

pub use description::{github_description, github_recordings, github_signatures};
pub use server::{Exchange, Gate, TestForge};
pub use state::{Fork, TestComment, TestPullRequest};
pub use trouble::Trouble;
