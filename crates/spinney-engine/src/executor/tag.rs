//! What a program was started for, and the search for all that was.

use std::fmt;
use std::path::Path;

use spinney_core::{JobId, OperationId, WorkspaceId};

use crate::create::prepare::SETUP_VARIABLE;

/// What a program is started for. It carries the tag in its environment, and so does all that it starts, unless that
/// clears its environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tag {
    /// A job: its agent and hooks.
    Job(JobId),
    /// An operation that makes a tree: its checkouts and set-up commands.
    Operation(OperationId),
    /// The rebuilding of a purged workspace.
    Rebuilding(WorkspaceId),
}

impl Tag {
    /// The variable that carries it.
    #[must_use]
    pub fn variable(&self) -> &'static str {
        match self {
            Self::Job(_) => "SPINNEY_JOB_ID",
            Self::Operation(_) | Self::Rebuilding(_) => SETUP_VARIABLE,
        }
    }

    /// The variable's value.
    #[must_use]
    pub fn value(&self) -> &str {
        match self {
            Self::Job(id) => id.as_str(),
            Self::Operation(id) => id.as_str(),
            Self::Rebuilding(id) => id.as_str(),
        }
    }
}

/// Whether a process whose command line this is goes on, with all that descends from it.
type Spares<'a> = &'a (dyn Fn(&[&[u8]]) -> bool + 'a);

/// Which of the processes of a tag are meant.
#[derive(Clone, Copy)]
pub struct Tagged<'a> {
    pub tag: &'a Tag,
    pub(super) directory: Option<&'a Path>,
    pub(super) spares: Option<Spares<'a>>,
}

impl<'a> Tagged<'a> {
    /// All of them.
    #[must_use]
    pub fn all(tag: &'a Tag) -> Self {
        Self { tag, directory: None, spares: None }
    }

    /// Only those inside a directory: a compiler's server, say, that serves others too goes on.
    #[must_use]
    pub fn within(self, directory: &'a Path) -> Self {
        Self { directory: Some(directory), ..self }
    }

    /// Not those that do not carry the tag themselves and that are to go on, judged by their command lines.
    #[must_use]
    pub fn sparing(self, spares: Spares<'a>) -> Self {
        Self { spares: Some(spares), ..self }
    }
}

impl fmt::Debug for Tagged<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Tagged").field("tag", &self.tag).field("directory", &self.directory).finish()
    }
}

/// A process that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    pub pid: u32,
    /// The short name of its program.
    pub command: String,
}

impl fmt::Display for Member {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} (pid {})", self.command, self.pid)
    }
}
