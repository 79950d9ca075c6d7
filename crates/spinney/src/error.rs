//! The one error type of the command line: a kind that decides the exit status, a cause, and what helps.

use std::error::Error as StdError;

use spinney_app::{Front, InvalidRequest, advise_all, document};
use spinney_core::config::nearest;
use spinney_core::names::{cut_for_message, for_message, visible_line};
use spinney_engine::{Check, ErrorKind, Mark};

use crate::environment::Environment;
use crate::ui::repeat::repeated;
use crate::ui::style;

/// Enough for a sentence about an argument, too little for a flood.
const MAX_USAGE_CHARACTERS: usize = 200;

/// How the libraries, which do not read the environment, name the person's own configuration file.
const OWN_FILE: &str = "$XDG_CONFIG_HOME/spinney/config.toml";

pub type Result<T, E = CliError> = std::result::Result<T, E>;

#[derive(Debug)]
pub struct CliError {
    kind: ErrorKind,
    message: String,
    hints: Vec<String>,
    reasons: Vec<document::Reason>,
    /// A table or list for people, below the message.
    explanation: Option<String>,
    /// An exit status that the kind does not decide (`exec`, an interrupt).
    status: Option<u8>,
}

impl CliError {
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Usage, message)
    }

    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Failed, message)
    }

    pub fn held(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Held, message).hinted("wait for it, and run the same command again")
    }

    /// Somebody holds it, and waiting does not help.
    pub fn stuck(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Held, message)
    }

    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }

    pub fn interrupted() -> Self {
        Self::new(ErrorKind::Failed, "interrupted; what was half done is undone").with_status(130)
    }

    pub fn terminated() -> Self {
        Self::new(ErrorKind::Failed, "ended by a signal; the next command finishes or undoes what was half done")
            .with_status(143)
    }

    fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hints: Vec::new(), reasons: Vec::new(), explanation: None, status: None }
    }

    fn told(kind: ErrorKind, error: document::Error) -> Self {
        let document::Error { message, hints, reasons, .. } = error;
        let hints = hints.iter().map(|hint| with_own_file(hint)).collect();
        Self { hints, reasons, ..Self::new(kind, message) }
    }

    pub fn hinted(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(with_own_file(&hint.into()));
        self
    }

    pub fn explained(mut self, explanation: String) -> Self {
        self.explanation = Some(explanation);
        self
    }

    pub fn with_status(mut self, status: u8) -> Self {
        self.status = Some(status);
        self
    }

    pub fn exit_status(&self) -> u8 {
        self.status.unwrap_or(match self.kind {
            ErrorKind::Failed => 1,
            ErrorKind::Usage => 2,
            ErrorKind::Blocked => 3,
            ErrorKind::NotFound => 4,
            ErrorKind::Held => 5,
        })
    }

    pub fn message(&self) -> &str {
        &self.message
    }

    /// The error as a line of `doctor`.
    pub fn as_check(&self, name: &'static str) -> Check {
        let fix = self.hints.first().map(|hint| repeated(hint).into_owned());
        Check { mark: Mark::Bad, name, fact: self.message.clone(), fix, advice: Vec::new() }
    }

    fn document(&self) -> document::Error {
        let Self { kind, message, hints, reasons, .. } = self;
        document::Error {
            kind: (*kind).into(),
            message: message.clone(),
            hints: hints.iter().map(|hint| repeated(hint).into_owned()).collect(),
            reasons: reasons.clone(),
        }
    }

    /// The error as that of one of several things that were asked for.
    pub fn as_failure(&self, name: &str) -> document::Failure {
        document::Failure { name: name.to_owned(), error: self.document() }
    }

    /// Prints it to stderr: as the last line in JSON, or for a person.
    pub fn print(&self, json: bool) {
        if json {
            let document = document::ErrorDocument::from(self.document());
            anstream::eprintln!("{}", serde_json::to_string(&document).unwrap_or_default());
            return;
        }
        anstream::eprintln!("{}error{}: {}", style::ERROR, style::RESET, visible_line(self.message.trim_end()));
        if let Some(explanation) = &self.explanation {
            anstream::eprintln!("{}", style::visible(&repeated(explanation)));
        }
        if !self.hints.is_empty() {
            anstream::eprintln!();
        }
        for hint in self.hints.iter().map(|hint| visible_line(&repeated(hint)).into_owned()) {
            // Below an explanation the lines say themselves what each is for.
            match self.explanation {
                Some(_) => anstream::eprintln!("{hint}"),
                None => anstream::eprintln!("{}hint{}: {hint}", style::HINT, style::RESET),
            }
        }
    }
}

impl From<spinney_engine::Error> for CliError {
    fn from(error: spinney_engine::Error) -> Self {
        Self::told(error.kind(), document::Error::of_engine(&error, Front::CommandLine))
    }
}

impl From<spinney_jobs::Error> for CliError {
    fn from(error: spinney_jobs::Error) -> Self {
        Self::told(error.kind(), document::Error::of_jobs(&error, Front::CommandLine))
    }
}

impl From<spinney_app::Error> for CliError {
    fn from(error: spinney_app::Error) -> Self {
        match error {
            spinney_app::Error::Engine(error) => error.into(),
            spinney_app::Error::Jobs(error) => error.into(),
            spinney_app::Error::Request(invalid) => invalid.into(),
            error @ spinney_app::Error::SweepUnderWay => Self::held(error.to_string()),
            error => advise_all(&error.advice(), Front::CommandLine)
                .into_iter()
                .fold(Self::new(error.kind(), error.to_string()), Self::hinted),
        }
    }
}

impl From<InvalidRequest> for CliError {
    /// Says what makes no sense in the words of the flags.
    fn from(invalid: InvalidRequest) -> Self {
        let (message, hint) = match &invalid {
            InvalidRequest::NoWork => (
                invalid.to_string(),
                "`spinney new \"Add dark mode\"`, `spinney new --issue 42`, or `--help` for other kinds",
            ),
            InvalidRequest::CommitWithoutPullRequest => {
                ("`--sha` goes with `--pr` or `--review`".to_owned(), "`spinney new --review 99 --sha SHA`")
            }
            InvalidRequest::HeadWithoutPullRequest => {
                ("`--head` and `--fork` go with `--pr`".to_owned(), "`spinney new --pr 99 --head BRANCH`")
            }
            InvalidRequest::EmptyPrompt => (
                invalid.to_string(),
                "say what to do: `spinney run --issue 42 \"fix the login bug\"`; `-` reads it from stdin",
            ),
            InvalidRequest::NoPullRequestToDescribe => {
                ("`--title`, `--body` and `--draft` do not go with `--no-pr`".to_owned(), "leave out one or the other")
            }
            InvalidRequest::ZeroByteInPrompt
            | InvalidRequest::ZeroByteInText
            | InvalidRequest::EmptyText
            | InvalidRequest::Limit { .. }
            | InvalidRequest::Cursor => {
                return Self::usage(invalid.to_string());
            }
            InvalidRequest::Key(_)
            | InvalidRequest::BranchOfOtherWork
            | InvalidRequest::JobsOwnWork
            | InvalidRequest::HalfNamed => {
                (invalid.to_string(), "`spinney new --help` shows each kind of work with an example")
            }
        };
        Self::usage(message).hinted(hint)
    }
}

impl From<spinney_store::Error> for CliError {
    fn from(error: spinney_store::Error) -> Self {
        spinney_engine::Error::from(error).into()
    }
}

impl From<spinney_core::config::ConfigError> for CliError {
    fn from(error: spinney_core::config::ConfigError) -> Self {
        spinney_engine::Error::from(error).into()
    }
}

impl From<spinney_git::Error> for CliError {
    fn from(error: spinney_git::Error) -> Self {
        spinney_engine::Error::from(error).into()
    }
}

impl From<clap::Error> for CliError {
    /// Tells wrong usage in our own form: one line, the value in backticks however long or odd it is.
    fn from(error: clap::Error) -> Self {
        use clap::error::{ContextKind, ContextValue};
        let context = |kind| match error.get(kind) {
            Some(ContextValue::String(text)) => Some(text.clone()),
            Some(ContextValue::Strings(texts)) => texts.first().cloned(),
            _ => None,
        };
        let argument = context(ContextKind::InvalidArg);
        let values = match error.get(ContextKind::ValidValue) {
            Some(ContextValue::Strings(values)) => values.join("`, `"),
            _ => String::new(),
        };
        let value = context(ContextKind::InvalidValue).map(|value| for_message(&value)).unwrap_or_default();
        let message = match (error.source(), &argument) {
            (None, Some(argument)) if !values.is_empty() => format!("{argument}: `{value}` is not one of its values"),
            (None, Some(argument)) if error.kind() == clap::error::ErrorKind::UnknownArgument => {
                format!("unexpected argument `{}`", for_message(argument))
            }
            (Some(cause), Some(argument)) => format!("{argument}: {cause}"),
            (Some(cause), None) => cause.to_string(),
            (None, _) => {
                let text = error.to_string();
                let first = text.split("\n\n").next().unwrap_or_default();
                let line = first.lines().map(str::trim).collect::<Vec<_>>().join(" ");
                cut_for_message(line.trim_start_matches("error: "), MAX_USAGE_CHARACTERS).replace('\'', "`")
            }
        };
        let usage = Self::usage(message);
        // Those of the very command that was asked for one of its own.
        let suggested = match error.get(ContextKind::SuggestedSubcommand) {
            Some(ContextValue::String(name)) => vec![name.clone()],
            Some(ContextValue::Strings(names)) => names.clone(),
            _ => Vec::new(),
        };
        let suggestion = match context(ContextKind::InvalidSubcommand) {
            Some(wrong) => close(&wrong, &suggested),
            None => {
                let near = context(ContextKind::SuggestedArg).or_else(|| context(ContextKind::SuggestedValue));
                let wrong = argument.filter(|_| values.is_empty()).unwrap_or(value);
                near.filter(|near| close(&wrong, std::slice::from_ref(near)).is_some())
            }
        };
        match suggestion {
            Some(suggestion) => usage.hinted(format!("did you mean `{suggestion}`?")),
            None if !values.is_empty() => usage.hinted(format!("use one of `{values}`")),
            None if error.kind() == clap::error::ErrorKind::InvalidSubcommand => {
                usage.hinted("`--help` lists the commands")
            }
            None => usage.hinted("`--help` shows how it is used, with an example"),
        }
    }
}

/// A hint with the place of the person's own configuration file, where it names that by its variable.
fn with_own_file(hint: &str) -> String {
    match Environment::load().config() {
        Some((path, _)) => hint.replace(OWN_FILE, &path.display().to_string()),
        None => hint.to_owned(),
    }
}

/// The name that somebody who mistyped it meant; what is only a little like it would be a wild guess.
fn close(wrong: &str, names: &[String]) -> Option<String> {
    nearest(wrong, names.iter().map(String::as_str)).map(str::to_owned)
}
