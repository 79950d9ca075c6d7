//! What a verdict says of the work in a workspace.

use spinney_core::{Consent, Merge, Reason, ReasonCode, Verdict, Workspace};

/// The named items, and that there are more when there are.
#[must_use]
pub fn items_of(reason: &Reason) -> String {
    let named = reason.items.join(", ");
    if reason.count.is_some_and(|count| count > reason.items.len()) { format!("{named}, …") } else { named }
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

/// What to do about all that stands in the way of a removal, so that nothing of it is let go.
#[must_use]
pub fn ways_to_keep(workspace: &Workspace, verdict: &Verdict) -> Vec<String> {
    let name = &workspace.name;
    let blockers: Vec<_> = verdict.blockers(&Consent::None).collect();
    let mut ways: Vec<String> = Vec::new();
    for reason in &blockers {
        let help = match reason.code {
            ReasonCode::Dirty | ReasonCode::Untracked => {
                Some(format!("spinney exec {name} -- git add -A && spinney exec {name} -- git commit"))
            }
            ReasonCode::Unpushed => Some(format!("spinney exec {name} -- git push origin HEAD")),
            ReasonCode::Stash => Some(format!("spinney exec {name} -- git stash list")),
            ReasonCode::InUse => match &reason.job {
                Some(job) => Some(format!("spinney cancel {job}")),
                // The processes of a job end with it.
                None if blockers.iter().any(|other| other.job.is_some()) => None,
                None => Some("end the process, or allow it by name: --allow in_use".to_owned()),
            },
            ReasonCode::MountInside => Some("unmount what is mounted inside".to_owned()),
            ReasonCode::OperationInProgress => Some(format!("spinney exec {name} -- git status")),
            ReasonCode::PreciousIgnored => {
                Some("copy what must last to another place; git keeps no ignored file".to_owned())
            }
            ReasonCode::NestedRepository => {
                let nested = reason.items.first().map_or(".", String::as_str);
                Some(format!("spinney exec {name} -- git -C {nested} push"))
            }
            ReasonCode::SubmoduleUnpushed => {
                Some(format!("spinney exec {name} -- git submodule foreach git push origin HEAD"))
            }
            ReasonCode::DetachedCommits => Some(format!("spinney exec {name} -- git switch -c NEW-BRANCH")),
            ReasonCode::Locked => Some(format!("git worktree unlock {}", workspace.path.display())),
            ReasonCode::Shared => Some(format!("spinney show {name} tells whose it is too")),
            ReasonCode::Unverifiable => Some("spinney doctor tells what is wrong, and what mends it".to_owned()),
            _ => None,
        };
        ways.extend(help.filter(|help| !ways.contains(help)));
    }
    ways
}

/// `2 untracked files`.
fn in_words(reason: &Reason) -> String {
    let adjective = match reason.code {
        ReasonCode::Dirty => "changed",
        ReasonCode::Untracked => "untracked",
        ReasonCode::PreciousIgnored => "ignored",
        ReasonCode::Unpushed => "unpushed",
        ReasonCode::NestedRepository => "nested",
        ReasonCode::Converted => "converted",
        ReasonCode::Stash => "stashed",
        code => return format!("{} ({code})", reason.detail()),
    };
    let Some(count) = reason.count else { return reason.detail() };
    let told = format!("{count} {adjective} {}", reason.code.noun(count));
    match &reason.note {
        Some(note) => format!("{told} {note}"),
        None => told,
    }
}
