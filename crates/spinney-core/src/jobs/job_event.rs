//! What happens in a job, as its log, the terminal and the dashboard show it.
//!
//! One JSON object a line in the log; unknown fields are ignored and unknown types skipped, so that an older reader can
//! follow a newer writer.

use serde::{Deserialize, Serialize};

use crate::Advice;
use crate::job::{JobStatus, Usage};
use crate::workspace::words;

words!(
    /// The parts of a job, in their order.
    JobPhase {
        /// Waits for its turn.
        Waiting = "waiting",
        /// Its workspace is made ready.
        SetUp = "set_up",
        BeforeRun = "before_run",
        Session = "session",
        Deliver = "deliver",
        AfterRun = "after_run",
        OnError = "on_error",
        TearDown = "tear_down",
    }
);

words!(
    Stream {
        Stdout = "stdout",
        Stderr = "stderr",
    }
);

/// One line of a job's log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogEntry {
    /// Milliseconds since the Unix epoch.
    pub at_ms: i64,
    #[serde(flatten)]
    pub event: JobEvent,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum JobEvent {
    /// A part of the job has begun; the detail is for people.
    Phase {
        phase: JobPhase,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
    },
    /// Things go on, but not as one would expect.
    Warning {
        text: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        advice: Vec<Advice>,
    },
    /// The runtime's conversation has begun, under its own name for it.
    SessionStarted {
        conversation: Option<String>,
        #[serde(default)]
        model: Option<String>,
        #[serde(default)]
        resumed: bool,
    },
    /// What the agent says.
    Text {
        text: String,
    },
    /// What the agent does: the tool, and in one line what with.
    ToolUse {
        #[serde(default)]
        id: Option<String>,
        tool: String,
        detail: String,
    },
    ToolResult {
        #[serde(default)]
        id: Option<String>,
        #[serde(default)]
        is_error: bool,
        text: String,
    },
    /// What the session has taken so far, and how full its context is.
    Usage {
        usage: Usage,
        #[serde(default)]
        context_tokens: Option<u64>,
        #[serde(default)]
        context_window: Option<u64>,
    },
    /// The runtime tries again by itself.
    Retry {
        reason: String,
    },
    PermissionDenied {
        tool: String,
        detail: String,
    },
    /// A line that no runtime's protocol explains; of hooks and plain programs too.
    Output {
        stream: Stream,
        text: String,
        /// How many bytes of the line were left out.
        #[serde(default, skip_serializing_if = "is_zero")]
        cut_bytes: u64,
    },
    /// The context is full: this note goes to the next session.
    HandOff {
        note: String,
    },
    SessionFinished {
        #[serde(default)]
        summary: Option<String>,
        #[serde(default)]
        error: Option<String>,
    },
    /// The job is over.
    Finished {
        status: JobStatus,
        #[serde(default)]
        error: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        advice: Vec<Advice>,
    },
    #[serde(other)]
    Unknown,
}

impl JobEvent {
    /// A warning that nothing helps with.
    pub fn warning(text: impl Into<String>) -> Self {
        Self::Warning { text: text.into(), advice: Vec::new() }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_comes_back_as_it_was_written() {
        let entry = LogEntry {
            at_ms: 5,
            event: JobEvent::ToolUse { id: None, tool: "Edit".into(), detail: "src/\u{1b}[31m.rs".into() },
        };
        let line = serde_json::to_string(&entry).unwrap();
        assert!(!line.contains('\u{1b}') && !line.contains('\n'), "{line}");
        assert_eq!(serde_json::from_str::<LogEntry>(&line).unwrap(), entry);
    }

    #[test]
    fn what_a_newer_version_writes_is_no_error() {
        let newer = "{\"at_ms\":1,\"type\":\"telepathy\",\"thought\":[1]}";
        assert_eq!(serde_json::from_str::<LogEntry>(newer).unwrap().event, JobEvent::Unknown);
        let more = "{\"at_ms\":1,\"type\":\"text\",\"text\":\"hi\",\"mood\":\"good\"}";
        assert_eq!(serde_json::from_str::<LogEntry>(more).unwrap().event, JobEvent::Text { text: "hi".into() });
    }
}
