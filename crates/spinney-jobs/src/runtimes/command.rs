//! `command`: any program. It gets the prompt on its standard input and, as a file, in `SPINNEY_PROMPT_FILE`; what it
//! writes is what it says, and its last line is the summary.

use super::json;
use crate::Sink;
use crate::runtime::{
    Exit, Program, Protocol, Reader, Resuming, Runtime, Settings, Turn, TurnEnd, Unsupported, unsupported,
};

/// Where the program finds the prompt as a file.
const PROMPT_FILE: &str = "SPINNEY_PROMPT_FILE";

#[derive(Debug)]
pub(super) struct Command;

impl Runtime for Command {
    fn name(&self) -> &'static str {
        "command"
    }

    fn check(&self, settings: &Settings) -> Result<(), Unsupported> {
        let has_no = |key, what| Err(unsupported(self, key, &format!("has no {what}: give it to the program itself")));
        if settings.command.is_empty() {
            return Err(unsupported(self, "command", "needs a program to run"));
        }
        if settings.model.is_some() {
            return has_no("model", "model");
        }
        if settings.permission_mode.is_some() {
            return has_no("permission_mode", "permission modes");
        }
        if !settings.allowed_tools.is_empty() {
            return has_no("allowed_tools", "tools to allow");
        }
        if !settings.disallowed_tools.is_empty() {
            return has_no("disallowed_tools", "tools to forbid");
        }
        if settings.system_prompt.is_some() {
            return has_no("system_prompt", "system prompt");
        }
        super::check_no_mcp_servers(self, settings)?;
        if settings.hands_off {
            return Err(unsupported(self, "handoff_at", "does not tell how full its context is"));
        }
        Ok(())
    }

    fn reading_mode(&self) -> Option<&'static str> {
        None
    }

    fn variables(&self) -> &'static [&'static str] {
        &[]
    }

    fn resuming(&self) -> Resuming {
        Resuming::Never
    }

    fn program(&self, turn: &Turn<'_>) -> Program {
        let mut program = Program::of(turn.settings, "");
        program.variables.push((PROMPT_FILE.into(), turn.prompt_file.into()));
        program.stdin = turn.prompt.into();
        program
    }

    fn protocol(&self, _turn: &Turn<'_>) -> Protocol {
        Protocol::Lines(Box::new(Lines))
    }
}

#[derive(Debug)]
struct Lines;

impl Reader for Lines {
    fn line(&mut self, line: &[u8], sink: &mut dyn Sink) {
        json::output(line, sink);
    }

    fn end(self: Box<Self>, exit: &Exit) -> TurnEnd {
        let said = exit.last_line.trim();
        TurnEnd {
            summary: (!said.is_empty()).then(|| said.to_owned()),
            error: (!exit.is_success()).then(|| exit.failure()),
            ..TurnEnd::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use spinney_core::{JobEvent, Stream};

    use super::*;
    use crate::runtime::Conversation;
    use crate::told::{Ended, TurnFailure};

    fn settings() -> Settings {
        Settings { command: vec!["agent".into(), "--fast".into()], ..Settings::default() }
    }

    #[test]
    fn the_prompt_is_on_stdin_and_in_a_file() {
        let settings = settings();
        let program = Command.program(&Turn {
            prompt: "--do it",
            prompt_file: Path::new("/p"),
            ..Turn::new(&settings, Path::new("/w"), Conversation::New(None))
        });
        assert_eq!(program.file, "agent");
        assert_eq!(program.arguments, ["--fast"]);
        assert_eq!(program.stdin, b"--do it");
        assert_eq!(program.variables, [("SPINNEY_PROMPT_FILE".into(), "/p".into())]);
    }

    #[test]
    fn the_last_line_is_the_summary_and_the_status_the_end() {
        let mut events = Vec::new();
        let mut reader = Lines;
        reader.line(b"one\r\n", &mut events);
        reader.line(b"  \n", &mut events);
        reader.line(b"t\xffwo", &mut events);
        let output = |text: &str| JobEvent::Output { stream: Stream::Stdout, text: text.into(), cut_bytes: 0 };
        assert_eq!(events, [output("one"), output("t\u{fffd}wo")]);
        let ended = |status, stderr: &str| {
            let exit = Exit { status, stderr: stderr.into(), last_line: " two\n".into(), ..Exit::default() };
            Box::new(Lines).end(&exit)
        };
        assert_eq!(ended(Some(0), "noise").error, None);
        assert_eq!(ended(Some(0), "").summary.as_deref(), Some("two"));
        let failed = Ended { status: Some(3), signal: None, said: Some("b".into()) };
        assert_eq!(ended(Some(3), "a\nb\n").error, Some(TurnFailure::Exit(failed)));
    }

    #[test]
    fn what_a_program_has_not_is_an_error() {
        assert_eq!(Command.check(&settings()), Ok(()));
        let key = |settings: Settings| Command.check(&settings).unwrap_err().key;
        assert_eq!(key(Settings::default()), "command");
        assert_eq!(key(Settings { model: Some("m".into()), ..settings() }), "model");
        assert_eq!(key(Settings { permission_mode: Some("plan".into()), ..settings() }), "permission_mode");
        assert_eq!(key(Settings { allowed_tools: vec!["x".into()], ..settings() }), "allowed_tools");
        assert_eq!(key(Settings { disallowed_tools: vec!["x".into()], ..settings() }), "disallowed_tools");
        assert_eq!(key(Settings { system_prompt: Some("x".into()), ..settings() }), "system_prompt");
        assert_eq!(key(Settings { has_mcp_servers: true, ..settings() }), "mcp_servers");
        assert_eq!(key(Settings { hands_off: true, ..settings() }), "handoff_at");
    }
}
