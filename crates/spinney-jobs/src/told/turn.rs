//! Why a turn of an agent failed, and why its runtime tries again.

/// Why a turn failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnFailure {
    /// The conversation that was to be gone on with is gone: a new one may do.
    ConversationGone,
    /// As the program, or the API behind it, said.
    Other(String),
    /// The program says that the turn failed, and not why.
    Unexplained,
    /// The program says that it failed itself, and not why.
    ProgramFailed,
    /// The program ended, and not well.
    Exit(Ended),
    /// A program that is talked with ended in the middle of the turn.
    ExitInTurn(Ended),
    /// It ended well, and the result is missing.
    NoResult,
    /// It ended well, and the turn had not.
    Unfinished,
    /// It ended well, and said nothing.
    NoAnswer,
    /// It broke the connection off.
    ClosedEarly,
    /// It ended with a word that stands for no success.
    EndedWith(String),
    /// Its last step stopped with a word that stands for no success.
    StoppedWith(String),
    /// It stopped when it was refused a tool.
    StoppedWhenRefused {
        tool: String,
    },
    /// It ended when it was refused something, without a word after that.
    SilentAfter(Refusal),
    /// The agent takes no MCP server that is called over HTTP.
    NoMcpOverHttp {
        server: String,
    },
    MostTokens,
    MostRequests,
    /// The agent refused to go on.
    RefusedToGoOn,
    Cancelled,
    /// For a reason that a newer protocol knows.
    UnknownReason,
    ContextFull,
    /// It was started without a standard input or output.
    NoPipes,
}

/// How a program ended, with the last that it said about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    pub status: Option<i32>,
    pub signal: Option<i32>,
    pub said: Option<String>,
}

/// A tool that an agent was refused, and what it was to be used with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub tool: String,
    pub detail: String,
}

/// An API failed, and the program asks it again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retry {
    pub error: Option<String>,
    /// Of HTTP.
    pub status: Option<u64>,
    pub attempt: u64,
    pub most: u64,
}
