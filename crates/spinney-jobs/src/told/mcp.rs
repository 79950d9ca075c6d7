//! Why an agent can't be given one of its MCP servers.

/// Why an agent can't be given an MCP server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum McpFault {
    /// Its program was not found.
    ProgramMissing { program: String },
    /// The variable that one of its values names is not set where Spinney runs.
    VariableUnset { variable: String },
    /// The variable holds a secret of Spinney's own.
    VariableOfSpinney { variable: String },
}
