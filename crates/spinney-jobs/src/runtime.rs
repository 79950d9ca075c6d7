//! A runtime: how an agent is executed. One trait, one file each in [`crate::runtimes`].
//!
//! A runtime knows one program's command line and output. It starts no process itself and reads nothing of the
//! environment: it says what is to be started ([`Program`]) and understands what comes out ([`Reader`]); a runtime
//! that must talk back while it runs (ACP) does so over the same pipes ([`Dialogue`]).

use std::ffi::{OsStr, OsString};
use std::path::Path;

use spinney_core::Usage;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::Sink;
use crate::runtimes::mcp_server::McpServer;
use crate::told::{Refusal, TurnFailure};

/// How one kind of agent is executed.
pub trait Runtime: Send + Sync + std::fmt::Debug {
    /// The word in the configuration.
    fn name(&self) -> &'static str;

    /// Says what of an agent's configuration this runtime can't honour: the first such key, and why.
    fn check(&self, settings: &Settings) -> Result<(), Unsupported>;

    /// What installs its program, as a command line; none where it has none of its own.
    fn install(&self) -> Option<&'static str> {
        None
    }

    /// The permission mode in which it changes nothing; none where it has no modes.
    fn reading_mode(&self) -> Option<&'static str> {
        Some("plan")
    }

    /// The variables of the caller's environment that it needs, such as its own API key. A name that ends with `*`
    /// stands for all that begin so.
    fn variables(&self) -> &'static [&'static str];

    /// Whether a conversation can be gone on with, and how the first one gets its name.
    fn resuming(&self) -> Resuming;

    /// How much of a context window a conversation fills before the program makes room by itself, with a summary of its own.
    fn usable(&self, window: u64) -> u64 {
        window
    }

    /// What is to be started for one turn.
    fn program(&self, turn: &Turn<'_>) -> Program;

    /// How its output is understood.
    fn protocol(&self, turn: &Turn<'_>) -> Protocol;
}

/// What an agent's configuration asks of its runtime.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// The program and its first arguments; empty: the runtime's own program.
    pub command: Vec<String>,
    pub model: Option<String>,
    /// None where the runtime has no modes; one that has takes none for the default of the configuration, `acceptEdits`.
    pub permission_mode: Option<String>,
    pub allowed_tools: Vec<String>,
    pub disallowed_tools: Vec<String>,
    pub system_prompt: Option<String>,
    /// Whether it is given MCP servers.
    pub has_mcp_servers: bool,
    /// Whether a hand-off is wanted, in so many words, at some share of the context. Where nothing is said there is one
    /// with the runtimes that can, and no error with the others.
    pub hands_off: bool,
}

/// A key of an agent's configuration that its runtime can't honour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsupported {
    /// As in the configuration: `disallowed_tools`.
    pub key: &'static str,
    /// A fragment: "runtime `gemini` can't be told which tools are forbidden".
    pub message: String,
}

/// Says that a runtime can't honour a key: what completes "runtime `x` …".
pub(crate) fn unsupported(runtime: &dyn Runtime, key: &'static str, what: &str) -> Unsupported {
    Unsupported { key, message: format!("runtime `{}` {what}", runtime.name()) }
}

/// How a runtime's conversations are named and gone on with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resuming {
    Never,
    /// It takes a name (a UUID) that we give it.
    ByOurName,
    /// It tells the name that it chose.
    ByItsName,
}

/// One prompt to an agent, and where it is answered.
#[derive(Debug, Clone, Copy)]
pub struct Turn<'a> {
    pub settings: &'a Settings,
    /// The workspace.
    pub directory: &'a Path,
    /// Where git keeps what belongs to the workspace; none where the agent is not to commit.
    pub git: Option<GitDirectories<'a>>,
    pub prompt: &'a str,
    /// The same prompt in a file, for programs that want one.
    pub prompt_file: &'a Path,
    /// The MCP servers that the agent is given.
    pub mcp_servers: &'a [McpServer],
    /// Where a program that wants them in a file finds [`Program::mcp`].
    pub mcp_file: &'a Path,
    /// The agent's own system prompt and the section on its workspace.
    pub system_prompt: &'a str,
    pub conversation: Conversation<'a>,
    /// What the earlier turns of a resumed conversation took together, for runtimes that only tell the sum.
    pub spent: Usage,
    /// The environment that the agent gets, where its program's own files are found by.
    pub environment: &'a [(OsString, OsString)],
}

impl<'a> Turn<'a> {
    /// A turn with nothing to say yet.
    #[must_use]
    pub fn new(settings: &'a Settings, directory: &'a Path, conversation: Conversation<'a>) -> Self {
        Self {
            settings,
            directory,
            git: None,
            prompt: "",
            prompt_file: Path::new(""),
            mcp_servers: &[],
            mcp_file: Path::new(""),
            system_prompt: "",
            conversation,
            spent: Usage::default(),
            environment: &[],
        }
    }

    /// Whether an existing conversation is gone on with.
    #[must_use]
    pub fn is_resumed(&self) -> bool {
        matches!(self.conversation, Conversation::Resumed(_))
    }

    /// The prompt of a runtime that takes no system prompt: the first of a conversation begins with it.
    pub(crate) fn whole_prompt(&self) -> String {
        if self.is_resumed() || self.system_prompt.trim().is_empty() {
            return self.prompt.to_owned();
        }
        format!("{}\n\n{}", self.system_prompt.trim_end(), self.prompt)
    }

    /// A variable of the agent's environment that is set and not empty.
    pub(crate) fn variable(&self, name: &str) -> Option<&'a OsStr> {
        let found = self.environment.iter().rfind(|(key, _)| key == name)?;
        Some(found.1.as_os_str()).filter(|value| !value.is_empty())
    }
}

/// Where git keeps what belongs to a linked worktree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GitDirectories<'a> {
    /// Its own: the index, `HEAD`.
    pub own: &'a Path,
    /// The repository's: objects, branches.
    pub common: &'a Path,
}

/// The conversation that a turn belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conversation<'a> {
    /// A new one; with the name to give it where the runtime takes one.
    New(Option<&'a str>),
    /// One that exists, by its name.
    Resumed(&'a str),
}

/// An agent's program and what it is started with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Program {
    /// Its path, or a name that is looked for in `PATH`.
    pub file: OsString,
    pub arguments: Vec<OsString>,
    /// Set beside the agent's environment.
    pub variables: Vec<(OsString, OsString)>,
    /// What [`Turn::mcp_file`] has in it, for a program that wants that.
    pub mcp: Option<Vec<u8>>,
    /// What it reads from its standard input, for a runtime whose output is read by a [`Reader`].
    pub stdin: Vec<u8>,
}

impl Program {
    /// The program of an agent's settings with its first arguments, or else the runtime's own.
    pub(crate) fn of(settings: &Settings, own: &str) -> Self {
        let mut words = settings.command.iter().map(OsString::from);
        let file = words.next().unwrap_or_else(|| own.into());
        Self { file, arguments: words.collect(), ..Self::default() }
    }

    pub(crate) fn arguments<S: AsRef<OsStr>>(&mut self, arguments: impl IntoIterator<Item = S>) {
        self.arguments.extend(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
    }
}

/// How a session's output is understood.
#[derive(Debug)]
pub enum Protocol {
    /// Line by line.
    Lines(Box<dyn Reader>),
    /// In both directions.
    Dialogue(Box<dyn Dialogue>),
}

/// Understands a program's output line by line.
pub trait Reader: Send + std::fmt::Debug {
    /// Reads a line of standard output. A line that is nothing of its protocol is given out as
    /// [`spinney_core::JobEvent::Output`]; an event of a kind that it does not know is left out.
    fn line(&mut self, line: &[u8], sink: &mut dyn Sink);

    /// Says how the turn ended, once the program has: with the tail of its standard error.
    fn end(self: Box<Self>, exit: &Exit) -> TurnEnd;
}

/// Talks with a program over its standard input and output until the turn is over.
pub trait Dialogue: Send + std::fmt::Debug {
    fn hold<'a>(
        self: Box<Self>,
        stdin: Box<dyn AsyncWrite + Send + Unpin>,
        stdout: Box<dyn AsyncRead + Send + Unpin>,
        sink: &'a mut dyn Sink,
    ) -> std::pin::Pin<Box<dyn Future<Output = TurnEnd> + Send + 'a>>;
}

/// How a program ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exit {
    /// None when a signal ended it.
    pub status: Option<i32>,
    pub signal: Option<i32>,
    /// The last lines of its standard error.
    pub stderr: String,
    /// The last line of its standard output that was not empty.
    pub last_line: String,
}

/// How a turn ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TurnEnd {
    /// The last thing that the agent said.
    pub summary: Option<String>,
    /// Why it failed; none when it did not.
    pub error: Option<TurnFailure>,
    /// What this turn alone took, where the runtime tells.
    pub usage: Usage,
    /// Whether the program itself says that the turn ended in words. Where it says nothing of the kind, the order of its
    /// events tells.
    pub ends_in_words: bool,
}

impl TurnEnd {
    /// One that seemed well, after the last word of which the agent was refused something: it stopped half way, and what it
    /// has done is not what it was asked for.
    #[must_use]
    pub fn after_refusal(self, refused: Option<Refusal>) -> Self {
        match refused {
            Some(refused) if self.error.is_none() && !self.ends_in_words => {
                Self { summary: None, error: Some(TurnFailure::SilentAfter(refused)), ..self }
            }
            _ => self,
        }
    }
}
