//! `codex`: the Codex command line, headless, in its own sandbox.

use std::path::Path;

use serde_json::{Value, json};
use spinney_core::{JobEvent, Usage};

use super::json::{self, items, number, one_line, some_text, text};
use super::recent::Recent;
use super::transcript::Transcript;
use crate::Sink;
use crate::runtime::{
    Conversation, Exit, GitDirectories, Program, Protocol, Reader, Resuming, Runtime, Settings, Turn, TurnEnd,
    Unsupported,
};
use crate::told::{TurnFailure, Warning};

/// Spinney's words for how much an agent may do, and Codex's.
const PERMISSION_MODES: &[&str] = &["acceptEdits", "bypassPermissions", "default", "plan"];

#[derive(Debug)]
pub(super) struct Codex;

impl Runtime for Codex {
    fn name(&self) -> &'static str {
        "codex"
    }

    fn check(&self, settings: &Settings) -> Result<(), Unsupported> {
        super::check_permission_mode(self, settings, PERMISSION_MODES)?;
        super::check_no_mcp_servers(self, settings)?;
        super::check_no_tools(self, "allowed_tools", &settings.allowed_tools, "allowed")?;
        super::check_no_tools(self, "disallowed_tools", &settings.disallowed_tools, "forbidden")?;
        super::check_system_prompt(self, settings)
    }

    fn variables(&self) -> &'static [&'static str] {
        variables!["OPENAI_API_KEY", "OPENAI_BASE_URL", "AZURE_OPENAI_API_KEY", "CODEX_*"]
    }

    fn resuming(&self) -> Resuming {
        Resuming::ByItsName
    }

    /// It tells 95 of 100 parts of its model's window, and goes up to 90.
    fn usable(&self, window: u64) -> u64 {
        window / 95 * 90
    }

    fn install(&self) -> Option<&'static str> {
        Some("npm install -g @openai/codex")
    }

    fn program(&self, turn: &Turn<'_>) -> Program {
        let mut program = Program::of(turn.settings, "codex");
        program.arguments(["exec", "--json", "--skip-git-repo-check"]);
        program.arguments([match turn.settings.permission_mode.as_deref() {
            Some("bypassPermissions") => "--dangerously-bypass-approvals-and-sandbox",
            // Without a person to ask, what would be asked for is not done.
            Some("default" | "plan") => "--sandbox=read-only",
            _ => "--sandbox=workspace-write",
        }]);
        if let Some(git) = turn.git {
            program.arguments(["-c", &format!("sandbox_workspace_write.writable_roots={}", writable_roots(&git))]);
        }
        if !turn.system_prompt.trim().is_empty() {
            program.arguments(["-c", &format!("developer_instructions={}", toml_text(turn.system_prompt))]);
        }
        program.arguments(turn.settings.model.iter().map(|model| format!("--model={model}")));
        match turn.conversation {
            Conversation::New(_) => program.arguments(["-"]),
            Conversation::Resumed(name) => program.arguments(["resume", "--", name, "-"]),
        }
        program.stdin = turn.prompt.into();
        program
    }

    fn protocol(&self, turn: &Turn<'_>) -> Protocol {
        let home = turn.variable("CODEX_HOME").map(Into::into);
        let home = home.or_else(|| turn.variable("HOME").map(|home| Path::new(home).join(".codex")));
        Protocol::Lines(Box::new(Stream {
            resumed: turn.is_resumed(),
            spent: turn.spent,
            conversation: String::new(),
            transcript: Transcript::below(home.map(|home| home.join("sessions")), 3),
            open_items: Recent::default(),
            usage: Usage::default(),
            said: None,
            error: None,
            complained: None,
            is_finished: false,
        }))
    }
}

/// What of git's directories a commit in a linked worktree writes to. Codex keeps all of them read-only otherwise, as it
/// goes on to do with the repository's configuration and hooks.
fn writable_roots(git: &GitDirectories<'_>) -> String {
    let shared = ["objects", "refs", "logs"].map(|name| git.common.join(name));
    let roots = std::iter::once(git.own.to_path_buf()).chain(shared);
    let roots: Vec<_> = roots.map(|root| toml_text(&root.to_string_lossy())).collect();
    format!("[{}]", roots.join(","))
}

/// A text as TOML writes it: as JSON does, but for one character.
fn toml_text(text: &str) -> String {
    json!(text).to_string().replace('\u{7f}', "\\u007f")
}

#[derive(Debug)]
struct Stream {
    resumed: bool,
    /// What the conversation's earlier turns took: the stream tells the sum.
    spent: Usage,
    conversation: String,
    transcript: Transcript,
    /// Uses of tools that are under way.
    open_items: Recent<()>,
    usage: Usage,
    said: Option<String>,
    error: Option<TurnFailure>,
    /// What it said last that failed, whether or not it tried that again.
    complained: Option<TurnFailure>,
    is_finished: bool,
}

impl Reader for Stream {
    fn line(&mut self, line: &[u8], sink: &mut dyn Sink) {
        let Some(event) = json::object(line, sink) else { return };
        match text(&event, "type") {
            "thread.started" => {
                self.conversation = text(&event, "thread_id").to_owned();
                let conversation = some_text(&event, "thread_id");
                sink.emit(JobEvent::SessionStarted { conversation, model: None, resumed: self.resumed });
            }
            "item.started" => {
                // Whether there is room for it is known by now.
                self.tell_context(sink);
                self.item_started(&event["item"], sink);
            }
            "item.completed" => {
                self.item_completed(&event["item"], sink);
                self.tell_context(sink);
            }
            "turn.completed" => {
                self.is_finished = true;
                self.usage = json::difference(tokens(&event["usage"]), self.spent);
                if !self.tell_context(sink) {
                    sink.emit(JobEvent::Usage { usage: self.usage, context_tokens: None, context_window: None });
                }
            }
            "turn.failed" => self.error = Some(failure(&event["error"])),
            // Also said of what it tries again; what is final comes again with the turn's failure.
            "error" => {
                let failure = failure(&event);
                let reason = one_line(&sink.words().turn_failure(&failure));
                self.complained = Some(failure);
                sink.emit(JobEvent::Retry { reason });
            }
            "" => json::output(line, sink),
            _ => {}
        }
    }

    fn end(mut self: Box<Self>, exit: &Exit) -> TurnEnd {
        // One that was ended may have recorded more than it came to tell.
        self.read_context();
        let error = match self.error {
            Some(error) => Some(error),
            None if self.is_finished => None,
            None if exit.stderr.contains("no rollout found") => Some(TurnFailure::ConversationGone),
            None if exit.is_success() => Some(TurnFailure::Unfinished),
            None => Some(self.complained.unwrap_or_else(|| exit.failure_of_stream())),
        };
        let summary = if error.is_none() { self.said } else { None };
        TurnEnd { summary, error, usage: self.usage, ..TurnEnd::default() }
    }
}

impl Stream {
    fn item_started(&mut self, item: &Value, sink: &mut dyn Sink) {
        let Some((tool, detail)) = tool_use(item) else { return };
        self.open_items.insert(text(item, "id"), ());
        sink.emit(JobEvent::ToolUse { id: some_text(item, "id"), tool, detail });
    }

    fn item_completed(&mut self, item: &Value, sink: &mut dyn Sink) {
        match text(item, "type") {
            "agent_message" => {
                if let Some(text) = some_text(item, "text") {
                    self.said = Some(text.clone());
                    sink.emit(JobEvent::Text { text });
                }
            }
            "error" => {
                let text = sink.words().warning(&Warning::Turn(failure(item)));
                sink.emit(JobEvent::warning(text));
            }
            _ => {
                let Some((tool, detail)) = tool_use(item) else { return };
                // Some kinds are told only when they are over.
                if self.open_items.remove(text(item, "id")).is_none() {
                    let (tool, detail) = (tool.clone(), detail.clone());
                    sink.emit(JobEvent::ToolUse { id: some_text(item, "id"), tool, detail });
                }
                let is_declined = text(item, "status") == "declined";
                if is_declined {
                    sink.emit(JobEvent::PermissionDenied { tool, detail });
                }
                sink.emit(JobEvent::ToolResult {
                    id: some_text(item, "id"),
                    is_error: is_declined || text(item, "status") == "failed",
                    text: text(item, "aggregated_output").to_owned(),
                });
            }
        }
    }

    /// Tells how full the context is, if the program's record says something new.
    fn tell_context(&mut self, sink: &mut dyn Sink) -> bool {
        let Some((context, window)) = self.read_context() else { return false };
        sink.emit(JobEvent::Usage {
            usage: self.usage,
            context_tokens: Some(context).filter(|tokens| *tokens > 0),
            context_window: Some(window).filter(|tokens| *tokens > 0),
        });
        true
    }

    /// Reads what the turn took so far, if the program's record says something new; with how full the context is, and how
    /// large.
    fn read_context(&mut self) -> Option<(u64, u64)> {
        if self.conversation.is_empty() {
            return None;
        }
        let name_ends = format!("-{}.jsonl", self.conversation);
        let counted = self.transcript.last(&name_ends, |record| {
            let info = &record["payload"]["info"];
            let is_count = text(&record["payload"], "type") == "token_count" && info.is_object();
            is_count.then(|| {
                let context = number(&info["last_token_usage"], "total_tokens");
                (tokens(&info["total_token_usage"]), context, number(info, "model_context_window"))
            })
        });
        let (total, context, window) = counted?;
        if !self.is_finished {
            self.usage = json::difference(total, self.spent);
        }
        Some((context, window))
    }
}

/// The tool that an item stands for, and what it is used with.
fn tool_use(item: &Value) -> Option<(String, String)> {
    let tool = text(item, "type");
    match tool {
        "command_execution" => Some(("command".into(), one_line(command(text(item, "command"))))),
        "file_change" => {
            let paths: Vec<_> = items(item, "changes").iter().map(|change| text(change, "path")).collect();
            Some(("edit".into(), one_line(&paths.join(" "))))
        }
        "mcp_tool_call" => {
            let tool = format!("{}.{}", text(item, "server"), text(item, "tool"));
            Some((one_line(&tool), json::detail(&item["arguments"])))
        }
        "web_search" => Some(("web_search".into(), one_line(text(item, "query")))),
        _ => None,
    }
}

/// A command without the shell that it is given to, where that is plain to see.
fn command(whole: &str) -> &str {
    let inner = whole.split_once(" -lc ").map_or(whole, |(_, inner)| inner);
    inner.strip_prefix('\'').and_then(|inner| inner.strip_suffix('\'')).unwrap_or(inner)
}

fn failure(error: &Value) -> TurnFailure {
    let message = text(error, "message");
    // An API's answer comes as it was.
    let api: Option<Value> = serde_json::from_str(message).ok();
    let inner = api.as_ref().and_then(|api| some_text(&api["error"], "message"));
    match inner {
        Some(inner) => TurnFailure::Other(inner),
        None if message.is_empty() => TurnFailure::Unexplained,
        None => TurnFailure::Other(message.to_owned()),
    }
}

/// Codex counts what came from the cache among its input.
fn tokens(usage: &Value) -> Usage {
    let (input, cached) = (number(usage, "input_tokens"), number(usage, "cached_input_tokens"));
    Usage {
        input_tokens: input.saturating_sub(cached),
        output_tokens: number(usage, "output_tokens"),
        cache_read_tokens: cached,
        cache_write_tokens: number(usage, "cache_write_input_tokens"),
        cost_micros: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_toml_ends_where_it_should() {
        assert_eq!(toml_text("a\"b\\\n\u{7f}é"), "\"a\\\"b\\\\\\n\\u007fé\"");
    }

    #[test]
    fn a_command_is_told_without_its_shell() {
        assert_eq!(command("/bin/bash -lc 'git status'"), "git status");
        assert_eq!(command("/bin/bash -lc \"a 'b'\""), "\"a 'b'\"");
        assert_eq!(command("ls"), "ls");
    }
}
