//! What an agent is told: what was written, and what it is about. All of it is data that people wrote.

use spinney_app::words;
use spinney_core::WorkKind;

use crate::{Inbound, Request};

/// The prompt of a request.
pub(super) fn prompt(inbound: &Inbound, request: &Request) -> String {
    let mut parts = Vec::new();
    let what = match request.work.kind {
        WorkKind::Issue => format!("Issue #{}", request.work.key),
        WorkKind::Pr | WorkKind::Review => format!("Pull request #{}", request.work.key),
        _ => String::new(),
    };
    if !what.is_empty() {
        let title = request.title.as_deref().map(words::first_line).filter(|title| !title.is_empty());
        parts.push(title.map_or_else(|| what.clone(), |title| format!("{what}: {title}")));
    }
    if let Some(context) = request.context.as_deref().map(str::trim).filter(|text| !text.is_empty()) {
        parts.push(context.to_owned());
    }
    let text = request.text.trim();
    if !text.is_empty() && !parts.is_empty() && request.context.as_deref().map(str::trim) != Some(text) {
        parts.push(format!("{} writes:", words::first_line(&inbound.author.name)));
    }
    if request.context.as_deref().map(str::trim) != Some(text) && !text.is_empty() {
        parts.push(text.to_owned());
    }
    parts.join("\n\n")
}
