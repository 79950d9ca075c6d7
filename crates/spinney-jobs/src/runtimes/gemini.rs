//! `gemini`: the Gemini command line, headless, with a JSON object a line.

use std::path::{Path, PathBuf};

use serde_json::Value;
use spinney_core::{JobEvent, Usage};

use super::json::{self, number, one_line, some_text, text};
use super::recent::Recent;
use super::transcript::Transcript;
use crate::Sink;
use crate::runtime::{
    Conversation, Exit, Program, Protocol, Reader, Resuming, Runtime, Settings, Turn, TurnEnd, Unsupported,
};
use crate::told::TurnFailure;

/// Spinney's words for how much an agent may do.
const PERMISSION_MODES: &[&str] = &["acceptEdits", "bypassPermissions", "default", "plan"];

/// The window of every model that it offers.
const WINDOW: u64 = 1_048_576;

/// How much of a text is held back at most, until it is whole.
const TEXT_BYTES: usize = 64 * 1024;

#[derive(Debug)]
pub(super) struct Gemini;

impl Runtime for Gemini {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn check(&self, settings: &Settings) -> Result<(), Unsupported> {
        super::check_permission_mode(self, settings, PERMISSION_MODES)?;
        super::check_no_mcp_servers(self, settings)?;
        super::check_no_tools(self, "disallowed_tools", &settings.disallowed_tools, "forbidden")
    }

    fn variables(&self) -> &'static [&'static str] {
        variables![
            "GEMINI_*",
            "GOOGLE_API_KEY",
            "GOOGLE_GEMINI_BASE_URL",
            "GOOGLE_VERTEX_BASE_URL",
            "GOOGLE_GENAI_USE_VERTEXAI",
            "GOOGLE_GENAI_USE_GCA",
            "GOOGLE_CLOUD_PROJECT",
            "GOOGLE_CLOUD_LOCATION",
            "GOOGLE_APPLICATION_CREDENTIALS"
        ]
    }

    fn resuming(&self) -> Resuming {
        Resuming::ByItsName
    }

    fn usable(&self, window: u64) -> u64 {
        window / 2
    }

    fn install(&self) -> Option<&'static str> {
        Some("npm install -g @google/gemini-cli")
    }

    fn program(&self, turn: &Turn<'_>) -> Program {
        let settings = turn.settings;
        let mut program = Program::of(settings, "gemini");
        let mode = match settings.permission_mode.as_deref() {
            Some("bypassPermissions") => "yolo",
            Some("plan") => "plan",
            Some("default") => "default",
            _ => "auto_edit",
        };
        program.arguments(["--output-format=stream-json", &format!("--approval-mode={mode}")]);
        program.arguments(settings.model.iter().map(|model| format!("--model={model}")));
        program.arguments(settings.allowed_tools.iter().map(|tool| format!("--allowed-tools={tool}")));
        if let Conversation::Resumed(name) = turn.conversation {
            program.arguments([format!("--resume={name}")]);
        }
        // In a directory that nobody has called trusted it asks, or does less.
        program.variables.push(("GEMINI_CLI_TRUST_WORKSPACE".into(), "true".into()));
        program.stdin = turn.whole_prompt().into();
        program
    }

    fn protocol(&self, turn: &Turn<'_>) -> Protocol {
        let home = turn.variable("GEMINI_CLI_HOME").or_else(|| turn.variable("HOME"));
        let records: Option<PathBuf> = home.map(|home| Path::new(home).join(".gemini/tmp"));
        Protocol::Lines(Box::new(Stream {
            resumed: turn.is_resumed(),
            conversation: String::new(),
            transcript: Transcript::below(records, 2),
            recent: Recent::default(),
            context: None,
            answer: String::new(),
            usage: Usage::default(),
            piece: String::new(),
            said: None,
            complained: None,
            ended: None,
        }))
    }
}

#[derive(Debug)]
struct Stream {
    resumed: bool,
    conversation: String,
    transcript: Transcript,
    /// Tools, and what they were used with.
    recent: Recent<(String, String)>,
    context: Option<u64>,
    /// The answer of the record that was counted last.
    answer: String,
    /// Of the answers that were seen in the record, until the result tells all.
    usage: Usage,
    /// What it is saying, piece by piece.
    piece: String,
    said: Option<String>,
    /// The error that it told last.
    complained: Option<String>,
    ended: Option<Result<(), TurnFailure>>,
}

impl Reader for Stream {
    fn line(&mut self, line: &[u8], sink: &mut dyn Sink) {
        let Some(event) = json::object(line, sink) else { return };
        let kind = text(&event, "type");
        if kind == "message" && text(&event, "role") == "assistant" {
            if !event["delta"].as_bool().unwrap_or_default() || self.piece.len() > TEXT_BYTES {
                self.say(sink);
            }
            self.piece.push_str(text(&event, "content"));
            return;
        }
        self.say(sink);
        match kind {
            "init" => {
                self.conversation = text(&event, "session_id").to_owned();
                let (conversation, model) = (some_text(&event, "session_id"), some_text(&event, "model"));
                sink.emit(JobEvent::SessionStarted { conversation, model, resumed: self.resumed });
                if self.resumed {
                    // What the earlier turns took is not this one's.
                    self.read_context();
                    self.usage = Usage::default();
                }
            }
            "tool_use" => {
                let (tool, detail) = (one_line(text(&event, "tool_name")), json::detail(&event["parameters"]));
                self.recent.insert(text(&event, "tool_id"), (tool.clone(), detail.clone()));
                sink.emit(JobEvent::ToolUse { id: some_text(&event, "tool_id"), tool, detail });
                self.tell_context(sink);
            }
            "tool_result" => self.tool_result(&event, sink),
            "error" => {
                if text(&event, "severity") != "warning" {
                    self.complained = some_text(&event, "message");
                }
                sink.emit(JobEvent::warning(one_line(text(&event, "message"))));
            }
            "result" => self.result(&event, sink),
            "" => json::output(line, sink),
            _ => {}
        }
    }

    fn end(self: Box<Self>, exit: &Exit) -> TurnEnd {
        let mut stream = *self;
        if stream.ended.is_none() {
            // One that was ended may have recorded more than it came to tell.
            stream.read_context();
        }
        let said = if stream.piece.is_empty() { stream.said } else { Some(stream.piece) };
        let error = match stream.ended {
            Some(Ok(())) => None,
            Some(Err(failure)) => Some(failure),
            None if exit.stderr.contains("Invalid session identifier") => Some(TurnFailure::ConversationGone),
            None if exit.stderr.contains("No previous sessions found") => Some(TurnFailure::ConversationGone),
            None if exit.is_success() => Some(TurnFailure::NoResult),
            None => Some(stream.complained.map_or_else(|| exit.failure_of_stream(), TurnFailure::Other)),
        };
        let summary = if error.is_none() { said } else { None };
        TurnEnd { summary, error, usage: stream.usage, ..TurnEnd::default() }
    }
}

impl Stream {
    fn say(&mut self, sink: &mut dyn Sink) {
        if !self.piece.trim().is_empty() {
            let text = std::mem::take(&mut self.piece);
            self.said = Some(text.clone());
            sink.emit(JobEvent::Text { text });
        }
    }

    fn tool_result(&mut self, event: &Value, sink: &mut dyn Sink) {
        let said = text(event, "output");
        // What would have to be asked for is refused by its policy, or not there at all.
        let is_denied = matches!(text(&event["error"], "type"), "policy_violation" | "tool_not_registered");
        if let Some((tool, detail)) = self.recent.remove(text(event, "tool_id"))
            && is_denied
        {
            sink.emit(JobEvent::PermissionDenied { tool, detail });
        }
        sink.emit(JobEvent::ToolResult {
            id: some_text(event, "tool_id"),
            is_error: text(event, "status") == "error",
            text: said.to_owned(),
        });
        self.tell_context(sink);
    }

    fn result(&mut self, event: &Value, sink: &mut dyn Sink) {
        self.read_context();
        let stats = &event["stats"];
        let [input, output, total] = ["input_tokens", "output_tokens", "total_tokens"].map(|name| number(stats, name));
        self.usage = tokens(input, output, total, number(stats, "cached"));
        self.ended = Some(if text(event, "status") == "success" {
            Ok(())
        } else {
            let message = some_text(&event["error"], "message");
            let ended = || TurnFailure::EndedWith(one_line(text(event, "status")));
            Err(message.map_or_else(ended, TurnFailure::Other))
        });
        self.tell(sink);
    }

    fn tell_context(&mut self, sink: &mut dyn Sink) {
        if self.read_context() {
            self.tell(sink);
        }
    }

    /// Reads how full the context is, if the program's record says something new.
    fn read_context(&mut self) -> bool {
        let Some(short) = self.conversation.get(..8) else { return false };
        let counted = self.transcript.last(&format!("-{short}.jsonl"), |record| {
            let [input, output, total, cached] =
                ["input", "output", "total", "cached"].map(|name| number(&record["tokens"], name));
            let is_answer = text(record, "type") == "gemini" && total > 0;
            is_answer.then(|| (text(record, "id").to_owned(), tokens(input, output, total, cached), total))
        });
        let Some((answer, usage, context)) = counted else { return false };
        self.context = Some(context);
        // It is recorded again with what its tools gave.
        if answer != self.answer {
            self.answer = answer;
            self.usage = json::sum(self.usage, usage);
        }
        true
    }

    fn tell(&self, sink: &mut dyn Sink) {
        sink.emit(JobEvent::Usage {
            usage: self.usage,
            context_tokens: self.context,
            context_window: self.context.map(|_| WINDOW),
        });
    }
}

/// What is counted: the input with what came from the cache, thoughts in the total alone.
fn tokens(input: u64, output: u64, total: u64, cached: u64) -> Usage {
    Usage {
        input_tokens: input.saturating_sub(cached),
        output_tokens: total.saturating_sub(input).max(output),
        cache_read_tokens: cached,
        ..Usage::default()
    }
}
