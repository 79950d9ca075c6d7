//! Where the programs of a workspace run, and how what runs there is found and ended.
//!
//! Agents, hooks, `setup` and `exec` are started through an [`Executor`] and by no other way; what runs in a workspace,
//! or for a job or an operation, is found through it. [`Host`] is the first: plain processes of this machine. Another
//! one, such as a container, is a file beside it and a line in [`Engine::executor`].

mod host;
mod invocation;
mod started;
mod tag;
#[cfg(feature = "fail-points")]
mod trial;

use std::convert::Infallible;
use std::fmt::Debug;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use spinney_core::{Operation, Workspace};

pub use host::{Host, become_head, hide, spare};
pub use invocation::{Input, Invocation};
pub use started::{Group, Started};
pub use tag::{Member, Tag, Tagged};

use crate::Engine;

/// Runs programs for a workspace.
///
/// The calls block. Paths are this machine's, but where [`Executor::path_inside`] says otherwise.
pub trait Executor: Debug + Send + Sync {
    /// Starts a program with piped output, such that it can be ended with all that it starts.
    ///
    /// # Errors
    ///
    /// If it can't be started.
    fn start(&self, invocation: &Invocation) -> io::Result<Started>;

    /// Lets this very process become the program, at the caller's terminal. Comes back only with an error.
    ///
    /// # Errors
    ///
    /// If it can't be started.
    fn become_program(&self, invocation: &Invocation) -> io::Result<Infallible>;

    /// The living processes that were started with a tag, however they detached.
    fn members(&self, tagged: &Tagged<'_>) -> Vec<Member>;

    /// The living processes that have their working directory or an open file inside a directory, this one aside.
    fn inside(&self, directory: &Path) -> Vec<Member>;

    /// Ends all [`Executor::members`] at once, and waits until they are gone; for those that don't go, a few seconds.
    fn end(&self, tagged: &Tagged<'_>);

    /// How a path of this machine is named where programs run. What can't be reached from there keeps its name.
    fn path_inside(&self, path: &Path) -> PathBuf;
}

impl Engine {
    /// What runs the programs of a workspace, as its row says; without one, of a directory as it is.
    #[must_use]
    pub fn executor(&self, workspace: Option<&Workspace>) -> Arc<dyn Executor> {
        #[cfg(feature = "fail-points")]
        if let Some(trial) = trial::Trial::find(self, workspace) {
            return Arc::new(trial);
        }
        // All of today's workspaces are directories of this machine.
        let _ = workspace;
        Arc::new(Host)
    }

    /// Ends what was started for an operation on a workspace.
    pub(crate) fn end_started_for(&self, operation: &Operation, workspace: &Workspace) {
        self.executor(Some(workspace)).end(&Tagged::all(&Tag::Operation(operation.id.clone())));
    }
}
