//! Who did something.

use std::fmt;

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

/// `token ci from 10.0.0.7`; nothing where nobody knows.
impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = match self {
            Self::CommandLine { user: Some(user) } => return write!(f, "{user}, command line"),
            Self::CommandLine { user: None } => return f.write_str("command line"),
            Self::Owner => return f.write_str("owner, daemon's socket"),
            Self::PlatformUser { platform, user } => return write!(f, "{user} on {platform}"),
            Self::Schedule { agent: Some(agent), name } => return write!(f, "schedule {name} of {agent}"),
            Self::Schedule { agent: None, name } => return write!(f, "chore {name}"),
            Self::Job { id } => return write!(f, "job {id}"),
            Self::Daemon => return f.write_str("daemon"),
            Self::Unknown => return Ok(()),
            Self::Token { name, address, .. } => {
                write!(f, "token {name}")?;
                address
            }
            Self::Session { name, address, .. } => {
                write!(f, "browser, {name}")?;
                address
            }
            Self::Stranger { address } => {
                f.write_str("stranger")?;
                address
            }
        };
        match address {
            Some(address) => write!(f, " from {address}"),
            None => Ok(()),
        }
    }
}
