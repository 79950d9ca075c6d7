//! The audit log: what happened, newest first.

use askama::Template;
use axum::extract::State;
use serde::Deserialize;
use serde_json::Value;
use spinney_app::activity::EventFilter;
use spinney_app::{Page, PageAsked, activity, words};
use spinney_core::Recorded;

use super::answer::{Asked, Result};
use super::frame::{Did, Frame};
use super::render;
use crate::app::App;
use crate::auth::Caller;

/// How many events a page has.
const PAGE: u32 = 100;
/// How much of one value is shown.
const MAX_VALUE_CHARS: usize = 160;

#[derive(Debug, Default, Deserialize)]
pub(crate) struct AuditQuery {
    /// The number of the oldest event of the page before.
    before: Option<String>,
}

#[derive(Template)]
#[template(path = "audit.html")]
struct AuditPage {
    frame: Frame,
    rows: Vec<EventRow>,
    older: Option<String>,
    is_first: bool,
}

struct EventRow {
    id: i64,
    at: String,
    ago: String,
    kind: String,
    who: String,
    workspace: Option<String>,
    job: Option<String>,
    detail: String,
}

pub(crate) async fn show(State(app): State<App>, caller: Caller, Asked(asked): Asked<AuditQuery>) -> Result {
    let page = PageAsked { limit: Some(PAGE), cursor: asked.before.as_deref() };
    let Page { rows, next } = activity::events(&app.engine_of(&caller), &EventFilter::default(), &page).await?;
    Ok(render(&AuditPage {
        frame: Frame::new(&caller, "Audit", &Did::default()),
        rows: rows.iter().map(|(id, event)| EventRow::new(*id, event)).collect(),
        older: next,
        is_first: asked.before.is_none(),
    }))
}

impl EventRow {
    fn new(id: i64, event: &Recorded) -> Self {
        let (kind, detail) = event.event.parts();
        Self {
            id,
            at: event.at.to_string(),
            ago: words::ago(event.at),
            kind,
            who: words::actor(&event.actor),
            workspace: event.workspace_id.as_ref().map(ToString::to_string),
            job: event.job_id.as_ref().map(ToString::to_string),
            detail: in_words(&detail),
        }
    }
}

/// `status failed, attempt 2`: what else is to be said, without what is not known, not so or none.
pub(super) fn in_words(detail: &Value) -> String {
    let Value::Object(fields) = detail else { return String::new() };
    let told = fields.iter().filter_map(|(name, value)| {
        let text = match value {
            Value::Null | Value::Bool(false) => return None,
            Value::Array(list) if list.is_empty() => return None,
            Value::Array(list) if list.iter().all(Value::is_string) => {
                list.iter().map(plain).collect::<Vec<_>>().join(" ")
            }
            Value::Array(list) => list.len().to_string(),
            Value::String(text) => words::first_line(text).into_owned(),
            Value::Object(inner) => match inner.iter().filter_map(part).collect::<Vec<_>>().join(" ") {
                text if text.is_empty() => return None,
                text => text,
            },
            other => other.to_string(),
        };
        let cut: String = text.chars().take(MAX_VALUE_CHARS).collect();
        Some(format!("{} {cut}", name.replace('_', " ")))
    });
    told.collect::<Vec<_>>().join(", ")
}

/// A field of a field: a number says of what, and none is not told.
fn part((name, value): (&String, &Value)) -> Option<String> {
    match value {
        Value::Null => None,
        Value::Number(count) => Some(format!("{count} {name}")).filter(|_| count.as_u64() != Some(0)),
        value => Some(plain(value)),
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn details_read_as_words() {
        assert_eq!(in_words(&json!({ "error": null, "resumed": false, "attempt": 2 })), "attempt 2");
        assert_eq!(in_words(&json!({ "work": { "kind": "issue" } })), "work issue");
        assert_eq!(in_words(&json!({ "forgotten": { "jobs": 0, "events": 3 } })), "forgotten 3 events");
        assert_eq!(in_words(&json!({ "forgotten": { "jobs": 0, "events": 0 } })), "");
        assert_eq!(in_words(&json!({ "kept": [{}, {}] })), "kept 2");
        assert_eq!(in_words(&json!({ "filled": ["a", "b"] })), "filled a b");
        assert_eq!(in_words(&Value::Null), "");
    }
}
