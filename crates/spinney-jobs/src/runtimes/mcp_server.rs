//! An MCP server that an agent is given, with its secrets filled in.

use std::fmt;

/// An MCP server as a runtime hands it to its agent.
#[derive(Clone, PartialEq, Eq)]
pub struct McpServer {
    pub name: String,
    pub reached: Reached,
}

/// How an agent gets to an MCP server.
#[derive(Clone, PartialEq, Eq)]
pub enum Reached {
    /// It starts a program, which is named by its absolute path, and talks to it over its standard input and output.
    Program { command: String, arguments: Vec<String>, variables: Vec<(String, String)> },
    /// It calls it over HTTP.
    Address { url: String, headers: Vec<(String, String)> },
}

impl McpServer {
    /// Whether it is called over HTTP.
    pub(crate) fn is_called(&self) -> bool {
        matches!(self.reached, Reached::Address { .. })
    }
}

/// Values may be secrets, and arguments may hold what people put there.
impl fmt::Debug for McpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpServer").field("name", &self.name).field("reached", &self.reached).finish()
    }
}

impl fmt::Debug for Reached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Program { .. } => "Program",
            Self::Address { .. } => "Address",
        })
    }
}
