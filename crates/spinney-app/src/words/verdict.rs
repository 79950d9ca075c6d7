//! What a verdict says of the work in a workspace.

use spinney_core::{Consent, Merge, Reason, ReasonCode, Verdict, Work, WorkKind, Workspace, WorkspaceStatus};

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

/// What advice depends on beside a verdict.
#[derive(Debug, Clone, Default)]
pub struct Around {
    /// Whether there is a remote to push to.
    pub has_remote: bool,
    /// The processes that the program of whoever asks was started by.
    pub own_processes: Vec<u32>,
}

impl Around {
    /// Whether nothing but the shell of whoever asks is in a workspace.
    #[must_use]
    pub fn is_own_shell(&self, reason: &Reason) -> bool {
        let is_own = |item: &String| {
            let pid = item.rsplit_once("(pid ").and_then(|(_, pid)| pid.strip_suffix(')')?.parse().ok());
            pid.is_some_and(|pid: u32| self.own_processes.contains(&pid))
        };
        let are_all_named = reason.count.is_none_or(|count| count == reason.items.len());
        let is_process = reason.code == ReasonCode::InUse && reason.job.is_none();
        is_process && are_all_named && !reason.items.is_empty() && reason.items.iter().all(is_own)
    }
}

/// What to do about all that stands in the way of a removal, so that nothing of it is let go.
#[must_use]
pub fn ways_to_keep(workspace: &Workspace, verdict: &Verdict, around: &Around) -> Vec<String> {
    let name = &workspace.name;
    // Without its directory nothing can be done in it; the same work brings it back.
    if workspace.status == WorkspaceStatus::Lost {
        return vec![format!("spinney new {}     (brings it back from its branch)", flag_of(workspace))];
    }
    let blockers: Vec<_> = verdict.blockers(&Consent::None).collect();
    let leaves_branch = |code| matches!(code, ReasonCode::OperationInProgress | ReasonCode::DetachedCommits);
    let is_on_no_branch = blockers.iter().any(|reason| leaves_branch(reason.code));
    let mut ways: Vec<String> = Vec::new();
    for reason in &blockers {
        let help = match reason.code {
            ReasonCode::Dirty | ReasonCode::Untracked => {
                Some(format!("spinney exec {name} -- git add -A && spinney exec {name} -- git commit"))
            }
            // On no branch there is nothing to push yet: what ends that comes first.
            ReasonCode::Unpushed if is_on_no_branch => None,
            ReasonCode::Unpushed if around.has_remote => Some(format!("spinney exec {name} -- git push origin HEAD")),
            ReasonCode::Unpushed => {
                Some(format!("merge it (there is no remote): git merge {}, in the main checkout", workspace.branch))
            }
            ReasonCode::Stash => Some(format!("spinney exec {name} -- git stash list")),
            ReasonCode::InUse => match &reason.job {
                Some(job) => Some(format!("spinney cancel {job}")),
                // The processes of a job end with it.
                None if blockers.iter().any(|other| other.job.is_some()) => None,
                None if around.is_own_shell(reason) => {
                    Some("your own shell is in it: `cd` to another directory first".to_owned())
                }
                None => Some("end the process, or allow it by name: --allow in_use".to_owned()),
            },
            ReasonCode::Leased => Some("wait until it is delivered".to_owned()),
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
            ReasonCode::Shared => Some(format!("spinney show {name}     (lists the other work that it is for)")),
            ReasonCode::Unverifiable => Some(
                "spinney doctor     (shows what is wrong; spinney trust accepts settings that run programs)".to_owned(),
            ),
            _ => None,
        };
        ways.extend(help.filter(|help| !ways.contains(help)));
    }
    ways
}

/// How a workspace's work is named at the command line.
fn flag_of(workspace: &Workspace) -> String {
    let Work { kind, key } = &workspace.work;
    match kind {
        WorkKind::Issue => format!("--issue {key}"),
        WorkKind::Pr => format!("--pr {key}"),
        WorkKind::Review => format!("--review {key}"),
        WorkKind::Thread => format!("--thread {key}"),
        WorkKind::Task => format!("--task {key}"),
        WorkKind::Job => format!("--branch {}", workspace.branch),
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
