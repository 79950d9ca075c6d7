//! Who did something.

use serde::{Deserialize, Serialize};

use crate::{AgentName, JobId, Platform, ScheduleName, TokenId, TokenName};

/// Who did something that the audit log tells of. An address is where a request came from, over the network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Actor {
    /// A person at the command line, by the name of the operating system's user.
    CommandLine {
        user: Option<String>,
    },
    /// The owner of the home, at the daemon's own socket.
    Owner,
    Token {
        id: TokenId,
        name: TokenName,
        address: Option<String>,
    },
    /// A browser.
    Session {
        id: TokenId,
        name: TokenName,
        address: Option<String>,
    },
    /// A request that showed nothing that is known.
    Stranger {
        address: Option<String>,
    },
    /// Somebody on a platform, by the platform's own id.
    PlatformUser {
        platform: Platform,
        user: String,
    },
    /// A schedule of an agent; a chore of the daemon has none.
    Schedule {
        agent: Option<AgentName>,
        name: ScheduleName,
    },
    /// The process of a job. Who asked for the job is told where the job was asked for.
    Job {
        id: JobId,
    },
    /// What the daemon does unasked.
    Daemon,
    /// Nobody wrote it down: the log of an older version, or a program that uses the engine and does not say.
    #[serde(other)]
    Unknown,
}

impl Actor {
    /// The word for what it is.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::CommandLine { .. } => "command_line",
            Self::Owner => "owner",
            Self::Token { .. } => "token",
            Self::Session { .. } => "session",
            Self::Stranger { .. } => "stranger",
            Self::PlatformUser { .. } => "platform_user",
            Self::Schedule { .. } => "schedule",
            Self::Job { .. } => "job",
            Self::Daemon => "daemon",
            Self::Unknown => "unknown",
        }
    }
}
