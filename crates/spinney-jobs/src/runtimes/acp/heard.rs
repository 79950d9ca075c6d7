//! What is heard of an agent while it works.

use std::path::PathBuf;

use agent_client_protocol::v1::schema::{
    ContentBlock, Cost, SessionUpdate, ToolCallContent, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, ToolKind,
    Usage as Tokens,
};
use spinney_core::{JobEvent, Usage};

use crate::Sink;
use crate::runtimes::json;
use crate::runtimes::recent::Recent;

/// How much of a text is held back at most, until it is whole.
const TEXT_BYTES: usize = 64 * 1024;

/// How many paths of a tool's use are remembered.
const PATHS: usize = 256;

/// How long a path may be.
const PATH_BYTES: usize = 4096;

/// Something heard, on its way to be told.
#[derive(Debug)]
pub(super) enum Heard {
    Update(Box<SessionUpdate>),
    Event(JobEvent),
}

/// What is known of a tool's use.
#[derive(Debug, Clone, Default)]
pub(super) struct Call {
    pub kind: ToolKind,
    pub title: String,
    pub paths: Vec<PathBuf>,
    /// Whether there are paths that were left out.
    pub is_immense: bool,
}

impl Call {
    /// Joins what is told later.
    fn update(&mut self, fields: &ToolCallUpdateFields) {
        if let Some(kind) = fields.kind {
            self.kind = kind;
        }
        if let Some(title) = &fields.title {
            self.title = json::one_line(title);
        }
        let located = fields.locations.iter().flatten().map(|location| &location.path);
        let changed = fields.content.iter().flatten().filter_map(|content| match content {
            ToolCallContent::Diff(diff) => Some(&diff.path),
            _ => None,
        });
        for path in located.chain(changed) {
            if self.paths.contains(path) {
                continue;
            }
            if self.paths.len() >= PATHS || path.as_os_str().len() > PATH_BYTES {
                self.is_immense = true;
                return;
            }
            self.paths.push(path.clone());
        }
    }

    fn tool(&self) -> String {
        match self.kind {
            ToolKind::Read => "read",
            ToolKind::Edit => "edit",
            ToolKind::Delete => "delete",
            ToolKind::Move => "move",
            ToolKind::Search => "search",
            ToolKind::Execute => "execute",
            ToolKind::Think => "think",
            ToolKind::Fetch => "fetch",
            _ => "other",
        }
        .to_owned()
    }

    pub(super) fn denied(&self) -> JobEvent {
        JobEvent::PermissionDenied { tool: self.tool(), detail: self.title.clone() }
    }
}

/// The uses of tools that were told last: a question for permission may name no more than the id.
#[derive(Debug, Default)]
pub(super) struct Calls {
    recent: Recent<Call>,
}

impl Calls {
    pub(super) fn note(&mut self, update: &SessionUpdate) {
        let update = match update {
            SessionUpdate::ToolCall(call) => ToolCallUpdate::from(call.clone()),
            SessionUpdate::ToolCallUpdate(update) => update.clone(),
            _ => return,
        };
        let call = self.with(&update);
        self.recent.remove(&update.tool_call_id.to_string());
        self.recent.insert(&update.tool_call_id.to_string(), call);
    }

    /// What is known of a use, with what is told now.
    pub(super) fn with(&self, update: &ToolCallUpdate) -> Call {
        let mut call = self.recent.find(&update.tool_call_id.to_string()).cloned().unwrap_or_default();
        call.update(&update.fields);
        call
    }
}

/// Makes events of what is heard.
#[derive(Debug)]
pub(super) struct Listener {
    /// What the conversation cost before: the agent tells the sum.
    spent: Usage,
    usage: Usage,
    /// What it is saying, piece by piece.
    piece: String,
    said: Option<String>,
    /// Uses of tools that are told and not over.
    open: Recent<()>,
}

impl Listener {
    pub(super) fn new(spent: Usage) -> Self {
        Self { spent, usage: Usage::default(), piece: String::new(), said: None, open: Recent::default() }
    }

    pub(super) fn hear(&mut self, heard: Heard, sink: &mut dyn Sink) {
        let update = match heard {
            Heard::Update(update) => *update,
            Heard::Event(event) => {
                self.say(sink);
                sink.emit(event);
                return;
            }
        };
        if let SessionUpdate::AgentMessageChunk(chunk) = &update {
            if let ContentBlock::Text(text) = &chunk.content {
                self.piece.push_str(&text.text);
            }
            if self.piece.len() > TEXT_BYTES {
                self.say(sink);
            }
            return;
        }
        match update {
            SessionUpdate::ToolCall(call) => self.call(&call.into(), sink),
            SessionUpdate::ToolCallUpdate(update) => self.call(&update, sink),
            SessionUpdate::UsageUpdate(update) => {
                self.say(sink);
                self.usage.cost_micros = update.cost.as_ref().and_then(dollars).or(self.usage.cost_micros);
                sink.emit(JobEvent::Usage {
                    usage: self.usage(),
                    context_tokens: Some(json::believed(update.used)),
                    context_window: Some(json::believed(update.size)).filter(|size| *size > 0),
                });
            }
            _ => {}
        }
    }

    /// Tells what the agent has said so far.
    pub(super) fn say(&mut self, sink: &mut dyn Sink) {
        if !self.piece.trim().is_empty() {
            let text = std::mem::take(&mut self.piece);
            self.said = Some(text.clone());
            sink.emit(JobEvent::Text { text });
        }
    }

    /// Counts the tokens that the agent says the turn took, once it is over.
    pub(super) fn count(&mut self, tokens: &Tokens, sink: &mut dyn Sink) {
        self.usage = Usage { cost_micros: self.usage.cost_micros, ..self::tokens(tokens) };
        sink.emit(JobEvent::Usage { usage: self.usage(), context_tokens: None, context_window: None });
    }

    /// The last thing that the agent said, and what the turn took.
    pub(super) fn end(self) -> (Option<String>, Usage) {
        let usage = self.usage();
        (self.said, usage)
    }

    fn usage(&self) -> Usage {
        json::difference(self.usage, Usage { cost_micros: self.spent.cost_micros, ..Usage::default() })
    }

    fn call(&mut self, update: &ToolCallUpdate, sink: &mut dyn Sink) {
        self.say(sink);
        let id = update.tool_call_id.to_string();
        let fields = &update.fields;
        if self.open.find(&id).is_none() && fields.title.is_some() {
            let mut call = Call::default();
            call.update(fields);
            let detail = match fields.raw_input.as_ref().map(json::detail) {
                Some(detail) if !detail.is_empty() => detail,
                _ => call.title.clone(),
            };
            self.open.insert(&id, ());
            sink.emit(JobEvent::ToolUse { id: Some(id.clone()), tool: call.tool(), detail });
        }
        if let Some(status @ (ToolCallStatus::Completed | ToolCallStatus::Failed)) = fields.status {
            let texts = fields.content.iter().flatten().filter_map(|content| match content {
                ToolCallContent::Content(content) => match &content.content {
                    ContentBlock::Text(text) => Some(text.text.as_str()),
                    _ => None,
                },
                _ => None,
            });
            sink.emit(JobEvent::ToolResult {
                id: Some(id),
                is_error: status == ToolCallStatus::Failed,
                text: texts.collect::<Vec<_>>().join("\n"),
            });
        }
    }
}

/// What a turn took, every token counted once. The protocol does not say whether the input has what came from the cache
/// in it, and the output what the agent thought; the total does.
fn tokens(told: &Tokens) -> Usage {
    let [total, input, output] = [told.total_tokens, told.input_tokens, told.output_tokens].map(json::believed);
    let [read, write, thought] = [told.cached_read_tokens, told.cached_write_tokens, told.thought_tokens]
        .map(|n| json::believed(n.unwrap_or(0)));
    let apart = input + output + read + write;
    Usage {
        input_tokens: if total < apart { input.saturating_sub(read + write) } else { input },
        output_tokens: if total >= apart + thought { output + thought } else { output },
        cache_read_tokens: read,
        cache_write_tokens: write,
        cost_micros: None,
    }
}

fn dollars(cost: &Cost) -> Option<u64> {
    if cost.currency == "USD" { json::micros(&cost.amount.into()) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_is_counted_once() {
        let told = |total, input, output| Tokens::new(total, input, output).cached_read_tokens(30).thought_tokens(4);
        let taken = |input, output| Usage {
            input_tokens: input,
            output_tokens: output,
            cache_read_tokens: 30,
            ..Usage::default()
        };
        // Apart, and one or both among the others.
        assert_eq!(tokens(&told(154, 100, 20)), taken(100, 24));
        assert_eq!(tokens(&told(150, 100, 20)), taken(100, 20));
        assert_eq!(tokens(&told(120, 100, 20)), taken(70, 20));
        let hostile = Tokens::new(u64::MAX, u64::MAX, u64::MAX).cached_read_tokens(u64::MAX);
        assert!(tokens(&hostile).input_tokens < u64::MAX / 4);
    }
}
