//! `claude`: the Claude Code command line, headless, with a JSON object a line.

use serde_json::{Map, Value, json};
use spinney_core::{JobEvent, Usage};

use super::json::{self, items, number, one_line, some_text, text};
use super::recent::Recent;
use crate::Sink;
use crate::runtime::{
    Conversation, Exit, Program, Protocol, Reader, Resuming, Runtime, Settings, Turn, TurnEnd, Unsupported, unsupported,
};
use crate::runtimes::mcp_server::{McpServer, Reached};
use crate::told::{Retry, TurnFailure};

/// In which a person who could be asked is not needed.
const PERMISSION_MODE: &str = "acceptEdits";

const PERMISSION_MODES: &[&str] = &[PERMISSION_MODE, "auto", "bypassPermissions", "default", "dontAsk", "plan"];

/// How many denials are remembered, so that none is told twice.
const DENIALS: usize = 1000;

#[derive(Debug)]
pub(super) struct Claude;

impl Runtime for Claude {
    fn name(&self) -> &'static str {
        "claude"
    }

    fn check(&self, settings: &Settings) -> Result<(), Unsupported> {
        super::check_permission_mode(self, settings, PERMISSION_MODES)?;
        for (key, tools) in
            [("allowed_tools", &settings.allowed_tools), ("disallowed_tools", &settings.disallowed_tools)]
        {
            if tools.iter().any(|tool| tool.trim().is_empty()) {
                return Err(unsupported(self, key, "has no tool without a name"));
            }
        }
        super::check_system_prompt(self, settings)
    }

    fn variables(&self) -> &'static [&'static str] {
        variables![
            "ANTHROPIC_*",
            "CLAUDE_CODE_*",
            "CLAUDE_CONFIG_DIR",
            "DISABLE_AUTOUPDATER",
            "DISABLE_TELEMETRY",
            "DISABLE_ERROR_REPORTING",
            "API_TIMEOUT_MS",
            "MAX_THINKING_TOKENS",
            // Where the keychain is asked for its login.
            "USER",
            // Without it, root may not use `bypassPermissions`.
            "IS_SANDBOX",
            // Amazon Bedrock.
            "AWS_REGION",
            "AWS_PROFILE",
            "AWS_ACCESS_KEY_ID",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_SESSION_TOKEN",
            "AWS_BEARER_TOKEN_BEDROCK",
            // Google Vertex AI.
            "CLOUD_ML_REGION",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "GOOGLE_CLOUD_PROJECT",
            "VERTEX_REGION_*",
        ]
    }

    fn resuming(&self) -> Resuming {
        Resuming::ByOurName
    }

    fn install(&self) -> Option<&'static str> {
        Some("npm install -g @anthropic-ai/claude-code")
    }

    fn program(&self, turn: &Turn<'_>) -> Program {
        let settings = turn.settings;
        let mut program = Program::of(settings, "claude");
        // Each value hangs on its option, so that none is ever taken for an option itself.
        program.arguments(["-p", "--output-format=stream-json", "--verbose"]);
        let mode = settings.permission_mode.as_deref().unwrap_or(PERMISSION_MODE);
        program.arguments([format!("--permission-mode={mode}")]);
        match turn.conversation {
            Conversation::New(None) => {}
            Conversation::New(Some(name)) => program.arguments([format!("--session-id={name}")]),
            Conversation::Resumed(name) => program.arguments([format!("--resume={name}")]),
        }
        if !turn.system_prompt.trim().is_empty() {
            program.arguments([format!("--append-system-prompt={}", turn.system_prompt)]);
        }
        program.arguments(settings.model.iter().map(|model| format!("--model={model}")));
        program.arguments(settings.allowed_tools.iter().map(|tool| format!("--allowedTools={tool}")));
        program.arguments(settings.disallowed_tools.iter().map(|tool| format!("--disallowedTools={tool}")));
        if !turn.mcp_servers.is_empty() {
            // Not as an argument: everybody can see those, and there are secrets in it.
            program.arguments([format!("--mcp-config={}", turn.mcp_file.display())]);
            program.mcp = Some(mcp_config(turn.mcp_servers).to_string().into());
        }
        program.stdin = turn.prompt.into();
        program
    }

    fn protocol(&self, turn: &Turn<'_>) -> Protocol {
        Protocol::Lines(Box::new(Stream { resumed: turn.is_resumed(), ..Stream::default() }))
    }
}

/// MCP servers as its own configuration names them.
fn mcp_config(servers: &[McpServer]) -> Value {
    let server = |server: &McpServer| match &server.reached {
        Reached::Program { command, arguments, variables } => {
            json!({ "type": "stdio", "command": command, "args": arguments, "env": object(variables) })
        }
        Reached::Address { url, headers } => json!({ "type": "http", "url": url, "headers": object(headers) }),
    };
    let servers: Map<_, _> = servers.iter().map(|one| (one.name.clone(), server(one))).collect();
    json!({ "mcpServers": servers })
}

fn object(pairs: &[(String, String)]) -> Value {
    pairs.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str()))).collect::<Map<_, _>>().into()
}

/// The window of a model, until the result tells it: the older generations have a small one.
fn window(model: &str) -> u64 {
    let small = ["claude-2", "claude-3", "-4-0", "-4-1", "-4-2", "-4-5", "-4-6"];
    if !model.contains("[1m]") && small.iter().any(|part| model.contains(part)) { 200_000 } else { 1_000_000 }
}

#[derive(Debug, Default)]
struct Stream {
    resumed: bool,
    is_started: bool,
    window: Option<u64>,
    context: Option<u64>,
    /// Of messages that are complete.
    counted: Usage,
    /// The message that is being told, a content block a line, each time with its usage.
    message: (String, Usage),
    denied: Vec<String>,
    /// What the tools were used with.
    recent: Recent<String>,
    is_gone: bool,
    result: Option<Told>,
    /// What the results so far said that they took.
    told: Usage,
}

/// What a result says.
#[derive(Debug)]
struct Told {
    summary: Option<String>,
    error: Option<TurnFailure>,
}

impl Reader for Stream {
    fn line(&mut self, line: &[u8], sink: &mut dyn Sink) {
        let Some(event) = json::object(line, sink) else { return };
        match text(&event, "type") {
            "system" => self.system(&event, sink),
            "assistant" => self.assistant(&event, sink),
            "user" => Self::user(&event, sink),
            "result" => self.result(&event, sink),
            "" => json::output(line, sink),
            _ => {}
        }
    }

    fn end(self: Box<Self>, exit: &Exit) -> TurnEnd {
        let usage = if self.result.is_some() { self.told } else { self.taken() };
        if self.is_gone || exit.stderr.contains("No conversation found") {
            return TurnEnd { error: Some(TurnFailure::ConversationGone), usage, ..TurnEnd::default() };
        }
        let (summary, error) = match self.result {
            Some(told) => (told.summary, told.error),
            None if exit.is_success() => (None, Some(TurnFailure::NoResult)),
            None => (None, Some(exit.failure_of_stream())),
        };
        // The result is the last message's text. What was denied may be told only with it.
        let ends_in_words = summary.as_ref().is_some_and(|said: &String| !said.trim().is_empty());
        TurnEnd { summary, error, usage, ends_in_words }
    }
}

impl Stream {
    fn system(&mut self, event: &Value, sink: &mut dyn Sink) {
        match text(event, "subtype") {
            // Said again before each answer of a run with several; hooks may have spoken before the first.
            "init" if !self.is_started => {
                self.is_started = true;
                let model = some_text(event, "model");
                self.window = model.as_deref().map(window);
                let conversation = some_text(event, "session_id");
                sink.emit(JobEvent::SessionStarted { conversation, model, resumed: self.resumed });
            }
            "api_retry" => {
                let retry = Retry {
                    error: event["error"].as_str().map(one_line),
                    status: event["error_status"].as_u64(),
                    attempt: number(event, "attempt"),
                    most: number(event, "max_retries"),
                };
                let reason = sink.words().retry(&retry);
                sink.emit(JobEvent::Retry { reason });
            }
            "permission_denied" => {
                let id = text(event, "tool_use_id");
                let with = self.recent.find(id).cloned();
                let detail = with.unwrap_or_else(|| one_line(text(event, "message")));
                self.deny(id, text(event, "tool_name"), detail, sink);
            }
            _ => {}
        }
    }

    fn assistant(&mut self, event: &Value, sink: &mut dyn Sink) {
        let message = &event["message"];
        for block in items(message, "content") {
            match text(block, "type") {
                "text" => {
                    if let Some(text) = some_text(block, "text") {
                        sink.emit(JobEvent::Text { text });
                    }
                }
                "tool_use" => {
                    let detail = json::detail(&block["input"]);
                    self.recent.insert(text(block, "id"), detail.clone());
                    let tool = one_line(text(block, "name"));
                    sink.emit(JobEvent::ToolUse { id: some_text(block, "id"), tool, detail });
                }
                _ => {}
            }
        }
        // Messages that the program makes up itself, such as those of API failures, took nothing.
        let usage = tokens(&message["usage"]);
        if usage == Usage::default() {
            return;
        }
        if self.message.0 != text(message, "id") {
            self.counted = self.taken();
            self.message.0 = text(message, "id").to_owned();
        }
        self.message.1 = usage;
        // A subagent has a context of its own.
        if event["parent_tool_use_id"].is_null() {
            self.context = Some(usage.tokens());
        }
        self.tell(self.taken(), sink);
    }

    fn user(event: &Value, sink: &mut dyn Sink) {
        for block in items(&event["message"], "content") {
            if text(block, "type") == "tool_result" {
                sink.emit(JobEvent::ToolResult {
                    id: some_text(block, "tool_use_id"),
                    is_error: block["is_error"].as_bool().unwrap_or_default(),
                    text: block_text(&block["content"]),
                });
            }
        }
    }

    fn result(&mut self, event: &Value, sink: &mut dyn Sink) {
        for denial in items(event, "permission_denials") {
            let detail = json::detail(&denial["tool_input"]);
            self.deny(text(denial, "tool_use_id"), text(denial, "tool_name"), detail, sink);
        }
        let errors = items(event, "errors").iter().filter_map(Value::as_str).collect::<Vec<_>>().join("; ");
        self.is_gone |= errors.contains("No conversation found");
        let said = some_text(event, "result");
        let subtype = text(event, "subtype");
        let is_error = event["is_error"].as_bool().unwrap_or_default() || subtype != "success";
        self.result = Some(if is_error {
            let error = if errors.is_empty() { said } else { Some(errors) };
            let ended = || TurnFailure::EndedWith(one_line(subtype));
            Told { summary: None, error: Some(error.map_or_else(ended, TurnFailure::Other)) }
        } else {
            Told { summary: said, error: None }
        });
        self.told = self.result_usage(event);
        let windows = event["modelUsage"].as_object().into_iter().flat_map(Map::values);
        // Helpers of smaller models may be among them.
        self.window = windows.map(|model| number(model, "contextWindow")).filter(|n| *n > 0).max().or(self.window);
        self.tell(self.told, sink);
    }

    /// What the turn took. After a resume the sums by model and the cost go on from the conversation's earlier turns,
    /// but for the field that says otherwise.
    fn result_usage(&self, event: &Value) -> Usage {
        let Some(models) = event["model_usage_since_last_result"].as_object() else {
            return Usage { cost_micros: json::micros(&event["total_cost_usd"]), ..tokens(&event["usage"]) };
        };
        models.values().fold(self.told, |sum, model| {
            let usage = Usage {
                input_tokens: number(model, "inputTokens"),
                output_tokens: number(model, "outputTokens"),
                cache_read_tokens: number(model, "cacheReadInputTokens"),
                cache_write_tokens: number(model, "cacheCreationInputTokens"),
                cost_micros: json::micros(&model["costUSD"]),
            };
            json::sum(sum, usage)
        })
    }

    /// Tells a denial once: it comes when it happens, and again with the result.
    fn deny(&mut self, id: &str, tool: &str, detail: String, sink: &mut dyn Sink) {
        if !id.is_empty() && self.denied.iter().any(|denied| denied == id) {
            return;
        }
        if self.denied.len() < DENIALS {
            self.denied.push(id.to_owned());
        }
        sink.emit(JobEvent::PermissionDenied { tool: one_line(tool), detail });
    }

    fn taken(&self) -> Usage {
        json::sum(self.counted, self.message.1)
    }

    fn tell(&self, usage: Usage, sink: &mut dyn Sink) {
        sink.emit(JobEvent::Usage { usage, context_tokens: self.context, context_window: self.window });
    }
}

/// A message's usage.
fn tokens(usage: &Value) -> Usage {
    Usage {
        input_tokens: number(usage, "input_tokens"),
        output_tokens: number(usage, "output_tokens"),
        cache_read_tokens: number(usage, "cache_read_input_tokens"),
        cache_write_tokens: number(usage, "cache_creation_input_tokens"),
        cost_micros: None,
    }
}

/// The text of a content that is a string or a list of blocks.
fn block_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_of_older_models_is_small() {
        assert_eq!(window("claude-sonnet-4-5-20250929"), 200_000);
        assert_eq!(window("us.anthropic.claude-sonnet-4-6-v1:0"), 200_000);
        assert_eq!(window("claude-sonnet-4-5[1m]"), 1_000_000);
        assert_eq!(window("claude-opus-4-8"), 1_000_000);
        assert_eq!(window("claude-haiku-5-5"), 1_000_000);
    }
}
