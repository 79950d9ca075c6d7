//! How something stands, at a glance: a shape, a word, and a colour besides.

use askama::Template;
use spinney_core::{JobStatus, WorkspaceStatus};

/// A shape and a word. What it renders to is safe markup.
#[derive(Debug, Clone, Template)]
#[template(
    source = r#"<span class="mark {{ kind }}"><i aria-hidden="true">{{ shape }}</i>{{ word }}</span>"#,
    ext = "html"
)]
pub(crate) struct Mark {
    pub kind: &'static str,
    pub shape: &'static str,
    pub word: String,
}

impl askama::filters::HtmlSafe for Mark {}

impl Mark {
    fn new(kind: &'static str, shape: &'static str, word: &str) -> Self {
        Self { kind, shape, word: word.replace('_', " ") }
    }

    pub(crate) fn job(status: JobStatus) -> Self {
        let (kind, shape) = match status {
            JobStatus::Pending => ("waiting", "○"),
            JobStatus::Running => ("running", "●"),
            JobStatus::Completed => ("done", "✓"),
            JobStatus::Failed => ("failed", "✗"),
            JobStatus::Cancelled => ("gone", "–"),
            JobStatus::TimedOut | JobStatus::Interrupted => ("trouble", "!"),
        };
        Self::new(kind, shape, status.as_str())
    }

    /// How a workspace stands, as far as the store knows.
    pub(crate) fn workspace(status: WorkspaceStatus, is_running: bool) -> Self {
        match status {
            WorkspaceStatus::Active if is_running => Self::new("running", "●", "running"),
            WorkspaceStatus::Active => Self::new("idle", "◆", "idle"),
            _ => Self::state(status.as_str()),
        }
    }

    /// The word that a look into the tree gave.
    pub(crate) fn state(word: &str) -> Self {
        let (kind, shape) = match word {
            "running" => ("running", "●"),
            "idle" => ("idle", "◆"),
            "merged" => ("done", "✓"),
            "stale" => ("trouble", "!"),
            "broken" | "lost" => ("failed", "✗"),
            "trashed" | "purged" => ("gone", "–"),
            _ => ("waiting", "○"),
        };
        Self::new(kind, shape, word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_ends_look_alike_without_colour() {
        let shapes = |kinds: &[JobStatus]| kinds.iter().map(|status| Mark::job(*status).shape).collect::<Vec<_>>();
        let mut shapes = shapes(&[JobStatus::Completed, JobStatus::Failed, JobStatus::Cancelled, JobStatus::TimedOut]);
        shapes.dedup();
        assert_eq!(shapes.len(), 4);
    }

    #[test]
    fn it_is_markup_whose_word_is_escaped() {
        assert_eq!(
            Mark::state("<b>").to_string(),
            r#"<span class="mark waiting"><i aria-hidden="true">○</i>&#60;b&#62;</span>"#
        );
    }
}
