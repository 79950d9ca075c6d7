//! What a verdict says of the work in a workspace.

use spinney_core::{Merge, Reason, ReasonCode, Verdict};

/// The named items, and that there are more when there are.
#[must_use]
pub fn items_of(reason: &Reason) -> String {
    let named = reason.items.join(", ");
    let count = reason.detail.split(' ').next().and_then(|word| word.parse::<usize>().ok()).unwrap_or(0);
    if count > reason.items.len() { format!("{named}, …") } else { named }
}

/// Why a workspace may go.
#[must_use]
pub fn standing(verdict: &Verdict) -> String {
    match &verdict.merge {
        Merge::Merged(evidence) => format!("merged ({})", evidence.detail),
        Merge::Unstarted => "it has no commit of its own".to_owned(),
        Merge::Unmerged { .. } => "all its commits are pushed".to_owned(),
        Merge::Unknown { detail } => detail.clone(),
    }
}

/// `, with 2 untracked files and 1 unpushed commit`: what goes with a workspace that was kept for it; empty for nothing.
#[must_use]
pub fn lost_with(verdict: &Verdict) -> String {
    let reasons = verdict.reasons.iter().filter(|reason| reason.blocks && !reason.code.is_held());
    match reasons.map(in_words).collect::<Vec<_>>().as_slice() {
        [] => String::new(),
        [one] => format!(", with {one}"),
        [first @ .., last] => format!(", with {} and {last}", first.join(", ")),
    }
}

/// `2 untracked files`.
fn in_words(reason: &Reason) -> String {
    let adjective = match reason.code {
        ReasonCode::Dirty => "changed",
        ReasonCode::Untracked => "untracked",
        ReasonCode::PreciousIgnored => "ignored",
        ReasonCode::Unpushed => "unpushed",
        ReasonCode::NestedRepository => "nested",
        ReasonCode::Stash => "stashed",
        code => return format!("{} ({code})", reason.detail),
    };
    match reason.detail.split_once(' ') {
        Some((count, noun)) => format!("{count} {adjective} {noun}"),
        None => reason.detail.clone(),
    }
}
