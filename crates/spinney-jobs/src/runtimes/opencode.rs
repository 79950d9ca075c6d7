//! `opencode`: the opencode command line, headless, with a JSON object a line.

use serde_json::{Map, Value, json};
use spinney_core::{JobEvent, Usage};

use super::json::{self, number, one_line, some_text, text};
use crate::Sink;
use crate::runtime::{
    Conversation, Exit, Program, Protocol, Reader, Resuming, Runtime, Settings, Turn, TurnEnd, Unsupported, unsupported,
};
use crate::told::TurnFailure;

/// Spinney's words for how much an agent may do.
const PERMISSION_MODES: &[&str] = &["acceptEdits", "bypassPermissions", "default", "plan"];

/// Tools that are forbidden under another name, together.
const EDITING_TOOLS: &[&str] = &["write", "patch", "apply_patch", "multiedit"];

#[derive(Debug)]
pub(super) struct Opencode;

impl Runtime for Opencode {
    fn name(&self) -> &'static str {
        "opencode"
    }

    fn check(&self, settings: &Settings) -> Result<(), Unsupported> {
        super::check_permission_mode(self, settings, PERMISSION_MODES)?;
        super::check_no_mcp_servers(self, settings)?;
        super::check_no_tools(self, "allowed_tools", &settings.allowed_tools, "allowed")?;
        if let Some(tool) = settings.disallowed_tools.iter().find(|tool| EDITING_TOOLS.contains(&tool.as_str())) {
            return Err(unsupported(self, "disallowed_tools", &format!("forbids `{tool}` only with all of `edit`")));
        }
        if settings.hands_off && settings.model.is_none() {
            return Err(unsupported(self, "handoff_at", "does not tell its model's context window: name the `model`"));
        }
        Ok(())
    }

    fn variables(&self) -> &'static [&'static str] {
        variables![
            "OPENCODE_*",
            "XDG_CONFIG_HOME",
            "XDG_DATA_HOME",
            "XDG_STATE_HOME",
            "XDG_CACHE_HOME",
            "ANTHROPIC_API_KEY",
            "OPENAI_API_KEY",
            "GEMINI_API_KEY",
            "GOOGLE_GENERATIVE_AI_API_KEY",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "GOOGLE_CLOUD_PROJECT",
            "VERTEX_LOCATION",
            "OPENROUTER_API_KEY",
            "GROQ_API_KEY",
            "DEEPSEEK_API_KEY",
            "MISTRAL_API_KEY",
            "XAI_API_KEY",
            "AZURE_API_KEY",
            "AZURE_RESOURCE_NAME",
            "AWS_REGION",
            "AWS_PROFILE",
            "AWS_ACCESS_KEY_ID",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_SESSION_TOKEN",
            "AWS_BEARER_TOKEN_BEDROCK",
        ]
    }

    fn resuming(&self) -> Resuming {
        Resuming::ByItsName
    }

    /// Room for the longest answer that it asks for.
    fn usable(&self, window: u64) -> u64 {
        window.saturating_sub(32_000)
    }

    fn install(&self) -> Option<&'static str> {
        Some("npm install -g opencode-ai")
    }

    fn program(&self, turn: &Turn<'_>) -> Program {
        let mut program = Program::of(turn.settings, "opencode");
        program.arguments(["run", "--format=json"]);
        if turn.settings.permission_mode.as_deref() == Some("bypassPermissions") {
            program.arguments(["--auto"]);
        }
        program.arguments(turn.settings.model.iter().map(|model| format!("--model={model}")));
        if let Conversation::Resumed(name) = turn.conversation {
            program.arguments([format!("--session={name}")]);
        }
        let permissions = permissions(turn.settings);
        if !permissions.is_empty() {
            let permissions = Value::from(permissions).to_string();
            program.variables.push(("OPENCODE_PERMISSION".into(), permissions.into()));
        }
        program.stdin = turn.whole_prompt().into();
        program
    }

    fn protocol(&self, turn: &Turn<'_>) -> Protocol {
        Protocol::Lines(Box::new(Stream {
            resumed: turn.is_resumed(),
            window: turn.settings.model.as_deref().map(window),
            ..Stream::default()
        }))
    }
}

/// What is forbidden. Nothing is left to be asked for: with nobody to answer, the first question ends the run.
fn permissions(settings: &Settings) -> Map<String, Value> {
    let forbidden: &[&str] = match settings.permission_mode.as_deref() {
        Some("bypassPermissions") => &[],
        Some("default" | "plan") => &["bash", "edit"],
        _ => &["bash"],
    };
    let tools = settings.disallowed_tools.iter().map(String::as_str);
    forbidden.iter().copied().chain(tools).map(|tool| (tool.to_owned(), json!("deny"))).collect()
}

/// The window of a model, which the stream does not tell; a cautious one for those that are not known.
fn window(model: &str) -> u64 {
    const WINDOWS: &[(&str, u64)] =
        &[("claude", 200_000), ("gemini", 1_048_576), ("gpt-5", 272_000), ("gpt-4.1", 1_047_576)];
    WINDOWS.iter().find(|(part, _)| model.contains(part)).map_or(128_000, |(_, window)| *window)
}

#[derive(Debug, Default)]
struct Stream {
    resumed: bool,
    window: Option<u64>,
    is_started: bool,
    usage: Usage,
    said: Option<String>,
    /// Why the last step was over.
    reason: Option<String>,
    /// The tool that it was refused last.
    denied: Option<String>,
    error: Option<TurnFailure>,
}

impl Reader for Stream {
    fn line(&mut self, line: &[u8], sink: &mut dyn Sink) {
        let Some(event) = json::object(line, sink) else { return };
        let part = &event["part"];
        if !self.is_started && !text(&event, "sessionID").is_empty() {
            self.is_started = true;
            let conversation = some_text(&event, "sessionID");
            sink.emit(JobEvent::SessionStarted { conversation, model: None, resumed: self.resumed });
        }
        match text(&event, "type") {
            "text" => {
                if let Some(text) = some_text(part, "text") {
                    self.said = Some(text.clone());
                    sink.emit(JobEvent::Text { text });
                }
            }
            "tool_use" => self.tool_use(part, sink),
            "step_finish" => self.step_finish(part, sink),
            "error" => {
                let error = &event["error"];
                let message = some_text(&error["data"], "message").or_else(|| some_text(error, "name"));
                self.error = Some(message.map_or(TurnFailure::ProgramFailed, TurnFailure::Other));
            }
            "" => json::output(line, sink),
            _ => {}
        }
    }

    fn end(self: Box<Self>, exit: &Exit) -> TurnEnd {
        let error = match (self.error, self.reason.as_deref()) {
            (Some(error), _) => Some(error),
            (None, _) if exit.stderr.contains("Session not found") => Some(TurnFailure::ConversationGone),
            (None, _) if !exit.is_success() => Some(exit.failure_of_stream()),
            (None, Some("stop")) => None,
            // Where a question is refused it ends as if all were well.
            (None, reason) => Some(match (self.denied, reason) {
                (Some(tool), _) => TurnFailure::StoppedWhenRefused { tool },
                (None, Some(reason)) => TurnFailure::StoppedWith(one_line(reason)),
                (None, None) => TurnFailure::NoAnswer,
            }),
        };
        let summary = if error.is_none() { self.said } else { None };
        TurnEnd { summary, error, usage: self.usage, ..TurnEnd::default() }
    }
}

impl Stream {
    /// A tool's use is told in one piece, when it is over.
    fn tool_use(&mut self, part: &Value, sink: &mut dyn Sink) {
        let state = &part["state"];
        let id = some_text(part, "callID");
        let (tool, detail) = (one_line(text(part, "tool")), json::detail(&state["input"]));
        let is_error = text(state, "status") == "error";
        let said = if is_error { text(state, "error") } else { text(state, "output") };
        sink.emit(JobEvent::ToolUse { id: id.clone(), tool: tool.clone(), detail: detail.clone() });
        if is_error && said.contains("rejected permission") {
            self.denied = Some(tool.clone());
            sink.emit(JobEvent::PermissionDenied { tool, detail });
        } else if tool == "invalid" {
            // A tool that is forbidden is not offered; the model that asks for it anyway gets this one.
            let input = &state["input"];
            let (tool, detail) = (one_line(text(input, "tool")), one_line(text(input, "error")));
            if detail.contains("unavailable tool") {
                sink.emit(JobEvent::PermissionDenied { tool, detail });
            }
        }
        sink.emit(JobEvent::ToolResult { id, is_error, text: said.to_owned() });
    }

    fn step_finish(&mut self, part: &Value, sink: &mut dyn Sink) {
        self.reason = Some(text(part, "reason").to_owned());
        let tokens = &part["tokens"];
        let step = Usage {
            input_tokens: number(tokens, "input"),
            output_tokens: number(tokens, "output").saturating_add(number(tokens, "reasoning")),
            cache_read_tokens: number(&tokens["cache"], "read"),
            cache_write_tokens: number(&tokens["cache"], "write"),
            cost_micros: json::micros(&part["cost"]),
        };
        self.usage = json::sum(self.usage, step);
        let context = Some(step.tokens()).filter(|tokens| *tokens > 0);
        sink.emit(JobEvent::Usage { usage: self.usage, context_tokens: context, context_window: self.window });
    }
}
