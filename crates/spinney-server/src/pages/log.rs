//! A job's log as rows of its page. The script makes the same rows of what comes later.

use askama::Template;
use spinney_app::{Front, words};
use spinney_core::{JobEvent, JobPhase, JobStatus, LogEntry, Session, Stream, Usage};
use spinney_jobs::LogReader;

/// How much of a log's end a page has.
const TAIL_BYTES: u64 = 512 << 10;
/// How much of its beginning is read for the timeline.
const HEAD_BYTES: u64 = 256 << 10;
/// How many rows a page has at most.
const MAX_ROWS: usize = 2000;
/// How much of one tool's answer is shown.
const MAX_RESULT_BYTES: usize = 16 << 10;

/// What a page shows of a log.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub rows: Vec<LogRow>,
    /// Whether there is more before these.
    pub is_cut: bool,
    /// Where the file goes on.
    pub end: u64,
    /// Entries for the timeline, of the beginning too.
    pub entries: Vec<LogEntry>,
    /// What the last session took by now.
    pub taken: Option<Taken>,
}

/// What a session that runs took so far: the store is told when it ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Taken {
    usage: Usage,
    context: Option<(u64, u64)>,
}

impl Taken {
    /// None for an event that does not tell.
    pub(crate) fn of(event: &JobEvent) -> Option<Self> {
        let JobEvent::Usage { usage, context_tokens, context_window } = event else { return None };
        Some(Self { usage: *usage, context: context_tokens.zip(*context_window) })
    }

    /// Puts it into the row of a session that still runs.
    pub(crate) fn tell(self, session: &mut Session) {
        if session.ended_at.is_some() {
            return;
        }
        session.usage = self.usage;
        if let Some((tokens, window)) = self.context {
            (session.context_tokens, session.context_window) = (Some(tokens), Some(window));
        }
    }
}

/// One row. What it renders to is safe markup.
#[derive(Debug, Clone, PartialEq, Eq, Template)]
#[template(path = "log_row.html")]
pub(crate) enum LogRow {
    Phase(String),
    Said(String),
    Printed { text: String, is_error: bool },
    Tool { tool: String, detail: String, result: Option<String>, is_wrong: bool, id: Option<String> },
    Note(String),
    Error(String),
    HandOff(String),
    Left(String),
    End { text: String, is_bad: bool },
}

impl askama::filters::HtmlSafe for LogRow {}

/// Reads what a page shows.
pub(crate) fn load(mut reader: LogReader, mut head: LogReader) -> spinney_jobs::Result<Log> {
    let whole = reader.behind()?;
    let mut log = Log { is_cut: whole > TAIL_BYTES, ..Log::default() };
    if log.is_cut {
        while head.offset() < HEAD_BYTES.min(whole - TAIL_BYTES) {
            let Some(entry) = head.next_entry()? else { break };
            log.entries.extend(Some(entry).filter(|entry| is_step(&entry.event)));
        }
        reader.skip_to_last(TAIL_BYTES)?;
    }
    reader.stop_here()?;
    let mut phase = None;
    while let Some(entry) = reader.next_entry()? {
        tell(&mut log.rows, &mut phase, &entry.event);
        log.taken = Taken::of(&entry.event).or(log.taken);
        log.entries.extend(Some(entry).filter(|entry| is_step(&entry.event)));
    }
    if log.rows.len() > MAX_ROWS {
        log.is_cut = true;
        log.rows.drain(..log.rows.len() - MAX_ROWS);
    }
    log.end = reader.offset();
    Ok(log)
}

/// Whether the timeline tells of it.
fn is_step(event: &JobEvent) -> bool {
    matches!(event, JobEvent::Phase { .. } | JobEvent::HandOff { .. } | JobEvent::Finished { .. })
}

/// Adds an event to the rows; a part of the job that goes on has one heading.
fn tell(rows: &mut Vec<LogRow>, phase: &mut Option<JobPhase>, event: &JobEvent) {
    let row = match event {
        JobEvent::Phase { phase: now, detail } => {
            let detail = detail.as_deref().map(words::plain);
            match (phase.replace(*now) == Some(*now), detail) {
                (true, Some(detail)) => LogRow::Left(detail.into_owned()),
                (_, Some(detail)) => LogRow::Phase(format!("{}: {detail}", words::phase(*now))),
                (_, None) => LogRow::Phase(words::phase(*now).to_owned()),
            }
        }
        JobEvent::Warning { text, advice } => {
            LogRow::Note(lines(&words::with_advice(text, advice, Front::CommandLine)))
        }
        JobEvent::SessionStarted { model, resumed, .. } => {
            let before = resumed.then_some("goes on with the session before");
            let said: Vec<_> = before.into_iter().chain(model.as_deref()).collect();
            match said.is_empty() {
                true => return,
                false => LogRow::Left(words::plain(&said.join(", ")).into_owned()),
            }
        }
        JobEvent::Text { text } if text.trim().is_empty() => return,
        JobEvent::Text { text } => LogRow::Said(lines(text.trim())),
        JobEvent::ToolUse { id, tool, detail } => LogRow::Tool {
            tool: words::plain(tool).into_owned(),
            detail: words::first_line(detail).into_owned(),
            result: None,
            is_wrong: false,
            id: id.clone(),
        },
        JobEvent::ToolResult { id, is_error, text } => return answer(rows, id.as_deref(), *is_error, text),
        JobEvent::Retry { reason } => LogRow::Note(format!("tries again: {}", words::first_line(reason))),
        JobEvent::PermissionDenied { tool, detail } => {
            LogRow::Note(format!("was not allowed: {}", words::one_line(tool, detail)))
        }
        JobEvent::Output { stream, text, cut_bytes } => {
            let mut text = words::plain(text).into_owned();
            if *cut_bytes > 0 {
                text.push_str(&format!("… ({cut_bytes} bytes more)"));
            }
            LogRow::Printed { text, is_error: *stream == Stream::Stderr }
        }
        JobEvent::HandOff { note } => LogRow::HandOff(lines(note)),
        JobEvent::SessionFinished { error: Some(error), .. } => LogRow::Error(lines(error)),
        JobEvent::Finished { status, error, advice } => {
            let error = error.as_deref().map(|error| words::with_advice(error, advice, Front::CommandLine));
            LogRow::End { text: words::ended(*status, error.as_deref()), is_bad: *status != JobStatus::Completed }
        }
        JobEvent::SessionFinished { .. } | JobEvent::Usage { .. } | JobEvent::Unknown => return,
    };
    rows.push(row);
}

/// Puts a tool's answer to its row.
fn answer(rows: &mut Vec<LogRow>, id: Option<&str>, is_error: bool, text: &str) {
    let is_it = |row: &&mut LogRow| matches!(row, LogRow::Tool { id: own, result: None, .. } if own.as_deref() == id);
    let found = rows.iter_mut().rev().find(is_it).filter(|_| id.is_some());
    let shown = lines(&text[..text.floor_char_boundary(MAX_RESULT_BYTES)]);
    match found {
        Some(LogRow::Tool { result, is_wrong, .. }) => {
            *is_wrong = is_error;
            *result = Some(shown).filter(|text| !text.trim().is_empty() || is_error);
        }
        _ if is_error => rows.push(LogRow::Error(shown)),
        _ => {}
    }
}

/// Text of several lines, without what steers a terminal.
fn lines(text: &str) -> String {
    text.lines().map(words::plain).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(events: &[JobEvent]) -> Vec<LogRow> {
        let (mut rows, mut phase) = (Vec::new(), None);
        events.iter().for_each(|event| tell(&mut rows, &mut phase, event));
        rows
    }

    #[test]
    fn a_tool_unfolds_to_its_own_answer() {
        let used = |id: &str| JobEvent::ToolUse { id: Some(id.into()), tool: "Bash".into(), detail: id.into() };
        let result = |id: Option<&str>, is_error, text: &str| JobEvent::ToolResult {
            id: id.map(Into::into),
            is_error,
            text: text.into(),
        };
        let rows = told(&[used("a"), used("b"), result(Some("a"), true, "no"), result(Some("b"), false, "yes")]);
        let answers: Vec<_> = rows
            .iter()
            .map(|row| match row {
                LogRow::Tool { result, is_wrong, .. } => (result.as_deref(), *is_wrong),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(answers, [(Some("no"), true), (Some("yes"), false)]);
        assert_eq!(told(&[result(None, true, "lost")]), [LogRow::Error("lost".into())]);
        assert_eq!(told(&[result(Some("x"), false, "lost")]), []);
    }

    #[test]
    fn nothing_that_an_agent_prints_is_markup_or_steers() {
        let evil = "\u{1b}[31m<script>document.title='owned'</script><img src=x onerror=alert(1)>\u{202e}";
        let events = [
            JobEvent::Text { text: evil.into() },
            JobEvent::Output { stream: Stream::Stdout, text: evil.into(), cut_bytes: 0 },
            JobEvent::ToolUse { id: None, tool: evil.into(), detail: evil.into() },
            JobEvent::ToolResult { id: None, is_error: true, text: evil.into() },
            JobEvent::warning(evil),
            JobEvent::Retry { reason: evil.into() },
            JobEvent::PermissionDenied { tool: evil.into(), detail: evil.into() },
            JobEvent::HandOff { note: evil.into() },
            JobEvent::SessionStarted { conversation: None, model: Some(evil.into()), resumed: true },
            JobEvent::SessionFinished { summary: None, error: Some(evil.into()) },
            JobEvent::Phase { phase: JobPhase::SetUp, detail: Some(evil.into()) },
            JobEvent::Finished { status: JobStatus::Failed, error: Some(evil.into()), advice: Vec::new() },
        ];
        for event in events {
            let markup = told(std::slice::from_ref(&event))[0].to_string();
            assert!(!markup.contains("<script") && !markup.contains("<img"), "{event:?}: {markup}");
            assert!(!markup.contains('\u{1b}') && !markup.contains('\u{202e}'), "{event:?}: {markup}");
        }
    }
}
