//! What a job does, in a line. What an agent says is hostile: nothing of it steers a terminal.

use std::time::Duration;

use spinney_core::{Advice, Finding, Job, JobEvent, JobPhase, JobStatus, LeftOutReason, LogEntry, Push, WaitsFor};
use spinney_engine::plural;

use super::{between, first_line, plain};
use crate::{Front, advise_all};

/// A part of a job's way, as a heading.
#[must_use]
pub fn phase(phase: JobPhase) -> &'static str {
    match phase {
        JobPhase::Waiting => "waits for",
        JobPhase::SetUp => "set up",
        JobPhase::BeforeRun => "before_run",
        JobPhase::Session => "session",
        JobPhase::Deliver => "deliver",
        JobPhase::AfterRun => "after_run",
        JobPhase::OnError => "on_error",
        JobPhase::TearDown => "tear down",
    }
}

/// What a job is doing now, in one short line; none for an event that does not tell.
#[must_use]
pub fn doing(event: &JobEvent) -> Option<String> {
    let text = match event {
        JobEvent::Phase { phase, .. } => match phase {
            JobPhase::Waiting => return None,
            JobPhase::SetUp => "setting up".to_owned(),
            JobPhase::BeforeRun => "before_run hooks".to_owned(),
            JobPhase::Session => "working".to_owned(),
            JobPhase::Deliver => "delivering".to_owned(),
            JobPhase::AfterRun => "after_run hooks".to_owned(),
            JobPhase::OnError => "on_error hooks".to_owned(),
            JobPhase::TearDown => "tearing down".to_owned(),
        },
        JobEvent::ToolUse { tool, detail, .. } => action(tool, detail),
        JobEvent::Text { text } | JobEvent::Output { text, .. } => first_line(text).into_owned(),
        JobEvent::Retry { reason } => format!("tries again: {}", first_line(reason)),
        JobEvent::HandOff { .. } => "handing off to a new session".to_owned(),
        _ => return None,
    };
    Some(text).filter(|text| !text.is_empty())
}

/// `failed: it reached its timeout`.
#[must_use]
pub fn ended(status: JobStatus, error: Option<&str>) -> String {
    let status = status.as_str().replace('_', " ");
    match error.map(first_line) {
        Some(error) if error != status => format!("{status}: {error}"),
        _ => status,
    }
}

/// `2 commits, 3 files, +48 −12, pushed`, or how it ended and what helps.
#[must_use]
pub fn outcome(job: &Job, front: Front) -> String {
    match job.status {
        JobStatus::Completed => delivered(job).unwrap_or_else(|| "done".to_owned()),
        status => ended(status, error_of(job, front).as_deref()),
    }
}

/// What went wrong with a job, and what helps, in the terms of a front.
#[must_use]
pub fn error_of(job: &Job, front: Front) -> Option<String> {
    job.outcome.error.as_deref().map(|error| with_advice(error, &job.outcome.advice, front))
}

/// A text with what helps behind it.
#[must_use]
pub fn with_advice(text: &str, advice: &[Advice], front: Front) -> String {
    std::iter::once(text.to_owned()).chain(advise_all(advice, front)).collect::<Vec<_>>().join("; ")
}

/// A line of a job's log as it is sent: what helps is said behind the text, in the terms of a front.
#[must_use]
pub fn log_line(line: Vec<u8>, front: Front) -> Vec<u8> {
    const ADVICE: &[u8] = b"\"advice\":";
    // Most lines have none, and are sent as they are.
    if !line.windows(ADVICE.len()).any(|part| part == ADVICE) {
        return line;
    }
    let Ok(mut entry) = serde_json::from_slice::<LogEntry>(&line) else { return line };
    match &mut entry.event {
        JobEvent::Warning { text, advice } => *text = with_advice(text, &std::mem::take(advice), front),
        JobEvent::Finished { error: Some(error), advice, .. } => {
            *error = with_advice(error, &std::mem::take(advice), front);
        }
        _ => return line,
    }
    match serde_json::to_vec(&entry) {
        Ok(mut told) => {
            told.push(b'\n');
            told
        }
        Err(_) => line,
    }
}

/// What a job waits for, and what helps, as it follows "waits for".
#[must_use]
pub fn waits_for(waits_for: &WaitsFor, front: Front) -> String {
    let advice = match waits_for {
        WaitsFor::Room(no_room) => no_room.advice.as_slice(),
        _ => &[],
    };
    with_advice(&waits_for.to_string(), advice, front)
}

/// What a sweep found, and what helps.
#[must_use]
pub fn found(finding: &Finding, front: Front) -> String {
    with_advice(&finding.what, finding.advice.as_slice(), front)
}

fn delivered(job: &Job) -> Option<String> {
    let push = match job.outcome.push? {
        Push::Nothing => return Some("nothing changed, nothing pushed".to_owned()),
        Push::Pushed => "pushed",
        Push::NoRemote => "not pushed: there is no remote",
        Push::Off => "not pushed: push_on_success is false",
        // Why is among the warnings.
        Push::Refused => "not pushed: the push failed",
        Push::Held => "not pushed: held until a person accepts the commit",
    };
    Some(format!("{}, {push}", changes(job)))
}

/// Why a file is not in a job's commit.
#[must_use]
pub fn left_out(reason: LeftOutReason) -> &'static str {
    match reason {
        LeftOutReason::ThereBefore => "there before",
        LeftOutReason::Copied => "copied by Spinney",
        LeftOutReason::SetUp => "made by `setup`",
        LeftOutReason::Repository => "a repository of its own",
    }
}

fn changes(job: &Job) -> String {
    let outcome = &job.outcome;
    let commits = counted(outcome.commits, "commit");
    if outcome.files == 0 {
        return commits;
    }
    let files = counted(outcome.files, "file");
    format!("{commits}, {files}, +{} −{}", outcome.insertions, outcome.deletions)
}

/// `2 commits`.
#[must_use]
pub fn counted(number: u64, word: &str) -> String {
    plural(usize::try_from(number).unwrap_or(usize::MAX), word)
}

/// How long a job has run, or ran.
#[must_use]
pub fn ran_for(job: &Job) -> Duration {
    match (job.started_at, job.ended_at) {
        (Some(started), Some(ended)) => between(started, ended),
        (Some(started), None) => started.elapsed(),
        (None, _) if job.status == JobStatus::Pending => job.created_at.elapsed(),
        (None, _) => Duration::ZERO,
    }
}

/// What a tool does, as one would say it: each runtime has its own names for the same few tools.
#[must_use]
pub fn action(tool: &str, detail: &str) -> String {
    let verb = match tool.to_ascii_lowercase().as_str() {
        "edit" | "multiedit" | "notebookedit" | "write" | "write_file" | "replace" | "patch" | "apply_patch"
        | "file_change" => "editing",
        "read" | "read_file" | "read_many_files" => "reading",
        "bash" | "shell" | "run_shell_command" | "command_execution" | "exec" | "execute" => "running",
        "grep" | "glob" | "search" | "search_file_content" => "searching",
        _ => return one_line(tool, detail),
    };
    one_line(verb, detail)
}

/// A word and what it is about.
#[must_use]
pub fn one_line(word: &str, detail: &str) -> String {
    format!("{} {}", plain(word), first_line(detail)).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_one_line_whatever_its_runtime_calls_it() {
        assert_eq!(action("Edit", "src/lib.rs"), "editing src/lib.rs");
        assert_eq!(action("run_shell_command", "cargo test\ncargo fmt"), "running cargo test");
        assert_eq!(action("WebFetch", "https://example.com"), "WebFetch https://example.com");
        assert_eq!(action("Bash", ""), "running");
    }

    #[test]
    fn a_line_of_a_log_says_what_helps_in_the_terms_of_who_reads_it() {
        let line = |event| {
            let mut line = serde_json::to_vec(&LogEntry { at_ms: 7, event }).unwrap();
            line.push(b'\n');
            line
        };
        let job: spinney_core::JobId = "7f3k2a9qxe".parse().unwrap();
        let (error, advice) = (Some("it failed".to_owned()), vec![Advice::Retry { job }]);
        let finished = line(JobEvent::Finished { status: JobStatus::Failed, error, advice });
        let told = |front| String::from_utf8(log_line(finished.clone(), front)).unwrap();
        for (front, way) in [(Front::CommandLine, "`spinney retry 7f3k2a9qxe`"), (Front::Api, "/jobs/7f3k2a9qxe/retry")]
        {
            let told = told(front);
            assert!(told.contains("it failed; ") && told.contains(way), "{told}");
            assert!(told.ends_with("}\n") && !told.contains("advice"), "{told}");
        }
        // What has none is sent as it is, and so is what only looks so.
        for other in [line(JobEvent::warning("careful")), b"{\"advice\":1}\n".to_vec(), b"\xff\"advice\":\n".to_vec()] {
            assert_eq!(log_line(other.clone(), Front::Api), other);
        }
    }
}
