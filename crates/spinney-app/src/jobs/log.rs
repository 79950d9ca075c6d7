//! A job's log, a part at a time, for who pays for what they read.

use serde_json::{Value, json};
use spinney_core::JobId;
use spinney_jobs::Jobs;

use crate::document::fit;
use crate::{InvalidRequest, Result};

/// How much is told at once: half of what a document may have, so that it fits beside its job.
const MAX_PART_BYTES: usize = fit::MAX_BYTES / 2;
/// How much of one text in it.
const TEXT_CHARS: usize = 2000;

/// A part of a log.
#[derive(Debug, Clone)]
pub struct LogPart {
    pub events: Vec<Value>,
    /// The cursor of what comes next, also while there is nothing yet.
    pub next: String,
}

/// Reads a job's log on from where a part ended, or from its beginning.
///
/// # Errors
///
/// If the cursor is none, or the log can't be read.
pub fn log_part(jobs: &Jobs<'_>, id: &JobId, cursor: Option<&str>) -> Result<LogPart> {
    let mut reader = jobs.log(id);
    if let Some(text) = cursor {
        reader.skip_to(text.parse().map_err(|_| InvalidRequest::Cursor)?)?;
    }
    let (mut events, mut bytes, mut next) = (Vec::new(), 0, reader.offset());
    while let Some(entry) = reader.next_entry()? {
        let mut entry = json!(entry);
        fit::cut_texts(&mut entry, TEXT_CHARS);
        let entry = fit::fit_within(entry, MAX_PART_BYTES);
        bytes += fit::bytes(&entry);
        if bytes > MAX_PART_BYTES && !events.is_empty() {
            break;
        }
        next = reader.offset();
        events.push(entry);
    }
    Ok(LogPart { events, next: next.to_string() })
}
