//! A job's events as people read them. What an agent says is hostile: nothing of it steers the terminal.

use anstyle::Style;
use spinney_app::Front;
use spinney_app::words::{self, action, ended, one_line};
use spinney_core::{JobEvent, JobPhase, JobStatus, Stream};

use super::style;

/// How much of a failure of a tool is shown.
const MAX_TROUBLE_LINES: usize = 5;

/// One line for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub style: Style,
    pub text: String,
}

impl Line {
    fn new(style: Style, text: impl Into<String>) -> Self {
        Self { style, text: text.into() }
    }

    pub fn painted(&self) -> String {
        style::paint(self.style, &self.text)
    }
}

/// Tells a job's events in their order.
#[derive(Debug, Default)]
pub struct Story {
    phase: Option<JobPhase>,
    /// The last failure that was told, so that it is not told twice.
    error: Option<String>,
}

impl Story {
    /// The lines that an event is told in; none for what only programs want to know.
    pub fn tell(&mut self, event: &JobEvent) -> Vec<Line> {
        let plain = Style::new();
        match event {
            JobEvent::Phase { phase, detail } => self.phase(*phase, detail.as_deref()),
            JobEvent::Warning { text, advice } => {
                let text = words::with_advice(text, advice, Front::CommandLine);
                vec![Line::new(style::WARNING, format!("warning: {}", words::plain(&text)))]
            }
            JobEvent::SessionStarted { model, resumed, .. } => {
                let model = model.as_deref().map(words::plain).unwrap_or_default();
                let text = match (model.is_empty(), resumed) {
                    (true, true) => "goes on with the session before".to_owned(),
                    (false, true) => format!("goes on with the session before, {model}"),
                    (false, false) => model.into_owned(),
                    (true, false) => return Vec::new(),
                };
                vec![Line::new(style::QUIET, text)]
            }
            JobEvent::Text { text } => prose(plain, text),
            JobEvent::ToolUse { tool, detail, .. } => vec![Line::new(style::HINT, action(tool, detail))],
            JobEvent::ToolResult { is_error: true, text, .. } => {
                let mut lines = prose(style::ERROR, text);
                lines.truncate(MAX_TROUBLE_LINES);
                lines
            }
            JobEvent::Retry { reason } => {
                vec![Line::new(style::WARNING, format!("tries again: {}", words::first_line(reason)))]
            }
            JobEvent::PermissionDenied { tool, detail } => {
                vec![Line::new(style::WARNING, format!("was not allowed: {}", one_line(tool, detail)))]
            }
            JobEvent::Output { stream, text, cut_bytes } => {
                let style = if *stream == Stream::Stderr { style::QUIET } else { plain };
                let mut text = words::plain(text).into_owned();
                if *cut_bytes > 0 {
                    text.push_str(&format!("… ({cut_bytes} bytes more)"));
                }
                vec![Line::new(style, text)]
            }
            JobEvent::HandOff { note } => {
                let mut lines = vec![Line::new(style::NAME, "its context is full; its note for the next session:")];
                lines.extend(prose(style::QUIET, note));
                lines
            }
            JobEvent::SessionFinished { error: Some(error), .. } => {
                self.error = Some(error.clone());
                vec![Line::new(style::ERROR, words::first_line(error))]
            }
            JobEvent::Finished { status, error, advice } => {
                let error = error.as_ref().map(|error| words::with_advice(error, advice, Front::CommandLine));
                let error = error.filter(|error| self.error.as_ref() != Some(error));
                vec![Line::new(status_style(*status), ended(*status, error.as_deref()))]
            }
            JobEvent::SessionFinished { .. }
            | JobEvent::ToolResult { .. }
            | JobEvent::Usage { .. }
            | JobEvent::Unknown => Vec::new(),
        }
    }

    fn phase(&mut self, phase: JobPhase, detail: Option<&str>) -> Vec<Line> {
        let heading = words::phase(phase);
        let goes_on = self.phase.replace(phase) == Some(phase);
        let detail = detail.map(words::plain);
        match (detail, phase) {
            (Some(detail), JobPhase::Waiting) => vec![Line::new(style::NAME, format!("{heading} {detail}"))],
            (Some(detail), JobPhase::SetUp | JobPhase::Deliver | JobPhase::TearDown) if goes_on => {
                vec![Line::new(Style::new(), detail)]
            }
            (Some(detail), _) => vec![Line::new(style::NAME, format!("{heading}: {detail}"))],
            (None, _) => vec![Line::new(style::NAME, heading)],
        }
    }
}

pub fn status_style(status: JobStatus) -> Style {
    match status {
        JobStatus::Completed => style::GOOD,
        JobStatus::Failed => style::ERROR,
        JobStatus::TimedOut | JobStatus::Interrupted => style::WARNING,
        JobStatus::Cancelled => style::QUIET,
        JobStatus::Pending | JobStatus::Running => Style::new(),
    }
}

/// Lines of prose, without the empty ones at either end.
fn prose(style: Style, text: &str) -> Vec<Line> {
    text.trim().lines().map(|line| Line::new(style, words::plain(line))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(story: &mut Story, event: &JobEvent) -> Vec<String> {
        story.tell(event).into_iter().map(|line| line.text).collect()
    }

    #[test]
    fn nothing_that_an_agent_says_steers_the_terminal() {
        let evil = "\u{1b}[2Jone\n\u{1b}]0;owned\u{7}two\r\u{9b}31m".to_owned();
        let events = [
            JobEvent::Text { text: evil.clone() },
            JobEvent::ToolUse { id: None, tool: evil.clone(), detail: evil.clone() },
            JobEvent::ToolResult { id: None, is_error: true, text: evil.clone() },
            JobEvent::Output { stream: Stream::Stderr, text: evil.clone(), cut_bytes: 7 },
            JobEvent::warning(evil.clone()),
            JobEvent::Retry { reason: evil.clone() },
            JobEvent::PermissionDenied { tool: evil.clone(), detail: evil.clone() },
            JobEvent::HandOff { note: evil.clone() },
            JobEvent::SessionStarted { conversation: None, model: Some(evil.clone()), resumed: true },
            JobEvent::SessionFinished { summary: None, error: Some(evil.clone()) },
            JobEvent::Phase { phase: JobPhase::SetUp, detail: Some(evil.clone()) },
            JobEvent::Finished { status: JobStatus::Failed, error: Some(format!("{evil}!")), advice: Vec::new() },
        ];
        for event in events {
            let mut lines = told(&mut Story::default(), &event);
            lines.extend(words::doing(&event));
            assert!(!lines.is_empty(), "{event:?}");
            assert!(lines.iter().flat_map(|line| line.chars()).all(|c| !c.is_control()), "{event:?}: {lines:?}");
        }
    }

    #[test]
    fn a_phase_is_a_heading_and_its_details_follow() {
        let mut story = Story::default();
        let mut phase = |detail: Option<&str>| {
            told(&mut story, &JobEvent::Phase { phase: JobPhase::Deliver, detail: detail.map(Into::into) })
        };
        assert_eq!(phase(None), ["deliver"]);
        assert_eq!(phase(Some("pushed")), ["pushed"]);
    }

    #[test]
    fn a_failure_is_told_once() {
        let mut story = Story::default();
        let error = Some("exit status 3".to_owned());
        assert_eq!(
            told(&mut story, &JobEvent::SessionFinished { summary: None, error: error.clone() }),
            ["exit status 3"]
        );
        let finished = JobEvent::Finished { status: JobStatus::Failed, error, advice: Vec::new() };
        assert_eq!(told(&mut story, &finished), ["failed"]);
        assert_eq!(told(&mut Story::default(), &finished), ["failed: exit status 3"]);
        assert_eq!(ended(JobStatus::TimedOut, Some("it reached its timeout")), "timed out: it reached its timeout");
        assert_eq!(ended(JobStatus::Cancelled, Some("cancelled")), "cancelled");
    }
}
