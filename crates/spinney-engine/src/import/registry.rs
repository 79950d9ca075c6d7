//! `~/.claude/worktree-registry.json`, which a skill of Claude Code keeps of its worktrees.
//!
//! Two forms are about: `{ "worktrees": [{ "worktreePath", "branch", "task", "prNumber", … }], "portPool": … }`, and
//! `{ "<path>": { "branch", … }, … }`. What is told about a tree is a hint; the tree itself decides.

use std::path::Path;

use serde_json::{Map, Value};
use spinney_core::Work;

use super::candidate::{Candidate, Collected, expanded, title, tool};
use super::guess::number;

/// Larger than any such file.
const MAX_BYTES: u64 = 64 << 20;

const FROM: &str = tool::CLAUDE_WORKTREE_MANAGER;

/// Reads a registry; the reason where it can't be read.
pub(super) fn read(path: &Path, user_home: Option<&Path>, collected: &mut Collected) -> Result<(), String> {
    let metadata = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if !metadata.is_file() || metadata.len() > MAX_BYTES {
        return Err("it is no file that a registry of worktrees could be".to_owned());
    }
    let text = std::fs::read(path).map_err(|error| error.to_string())?;
    let document: Value = serde_json::from_slice(&text).map_err(|error| format!("it is not JSON: {error}"))?;
    let Value::Object(document) = document else { return Err("it is no registry of worktrees".to_owned()) };
    match document.get("worktrees") {
        Some(Value::Array(entries)) => {
            for (number, entry) in (1..).zip(entries) {
                match entry.get("worktreePath").and_then(Value::as_str).zip(entry.as_object()) {
                    Some((place, entry)) => collected.candidates.push(candidate(place, entry, user_home)),
                    None => collected.fail(path, FROM, format!("entry {number} names no worktree")),
                }
            }
        }
        Some(_) => return Err("its `worktrees` are no list".to_owned()),
        None => {
            for (place, entry) in document.iter().filter(|(place, _)| place.starts_with(['/', '~'])) {
                match entry.as_object() {
                    Some(entry) => collected.candidates.push(candidate(place, entry, user_home)),
                    None => collected.fail(expanded(place, user_home), FROM, "its entry tells nothing"),
                }
            }
        }
    }
    Ok(())
}

fn candidate(place: &str, entry: &Map<String, Value>, user_home: Option<&Path>) -> Candidate {
    let pull_request = entry.get("prNumber").and_then(|value| match value {
        Value::String(text) => number(text.trim_start_matches('#')),
        other => other.as_u64().filter(|number| *number > 0),
    });
    Candidate {
        work: pull_request.map(Work::pr),
        title: entry.get("task").and_then(Value::as_str).and_then(title),
        ..Candidate::new(expanded(place, user_home), FROM)
    }
}
