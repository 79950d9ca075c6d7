//! What came of a delivery that somebody asked for.

use spinney_core::in_full;
use spinney_core::names::visible_line;

use super::{counted, left_out};
use crate::workspaces::deliver::{Delivered, NoOffer, Offer, PushState};
use crate::{Front, advise_all};

/// How many files are named.
const NAMED: usize = 5;

/// What was done, or would be, a line each. The address of a pull request is not among it.
#[must_use]
pub fn delivery(delivered: &Delivered, front: Front) -> Vec<String> {
    let mut lines = Vec::new();
    if !delivered.committed.is_empty() {
        let does = if delivered.dry_run { "would commit" } else { "committed" };
        let files = counted(delivered.committed.len() as u64, "file");
        let names = delivered.committed.iter().map(|path| format!("`{}`", visible_line(path))).collect();
        lines.push(format!("{does} {files}: {}", listed(names)));
    }
    if let Some(why) = &delivered.unsigned {
        lines.push(format!("the commit is not signed: {why}"));
    }
    if !delivered.left_out.is_empty() {
        let names = delivered
            .left_out
            .iter()
            .map(|file| format!("`{}` ({})", visible_line(&file.path), left_out(file.reason)))
            .collect();
        lines.push(format!("not committed: {}", listed(names)));
    }
    if let Some(held) = &delivered.held {
        lines.push(format!("would hold {} for you: {}", held.commit.short(), held_for(held)));
    }
    lines.push(push(delivered));
    let (own, branch) = (&delivered.workspace.branch, &delivered.branch);
    if own != branch {
        lines.push(format!(
            "{} stands on `{branch}`: its own branch, `{own}`, was not looked at",
            delivered.workspace.name
        ));
    }
    match &delivered.offer {
        Offer::Opened(_) => lines.push("opened a pull request".to_owned()),
        Offer::Found(_) => lines.push("its pull request is open already".to_owned()),
        Offer::Planned => lines.push("would open a pull request, or find the open one".to_owned()),
        Offer::None(why) => lines.extend(no_pull_request(why, front).map(|why| format!("no pull request: {why}"))),
    }
    lines
}

fn held_for(held: &spinney_core::Held) -> String {
    let names: Vec<_> =
        held.copied.iter().map(|file| format!("`{}` (copied by Spinney)", visible_line(&file.path))).collect();
    if names.is_empty() { "its branch lost commits".to_owned() } else { listed(names) }
}

fn push(delivered: &Delivered) -> String {
    let Delivered { branch, remote, workspace, changes, .. } = delivered;
    let changed = format!("{}, {}", counted(changes.commits, "commit"), counted(changes.files, "file"));
    match delivered.push {
        PushState::Nothing => match &workspace.base_branch {
            Some(base) => format!("nothing to deliver: {} changes nothing compared with `{base}`", workspace.name),
            None => format!("nothing to deliver: {} has no commit of its own", workspace.name),
        },
        PushState::Pushed => format!("pushed `{branch}` to `{remote}` ({changed})"),
        PushState::UpToDate => format!("`{branch}` is at `{remote}` already ({changed})"),
        PushState::Planned => format!("would push `{branch}` to `{remote}`"),
    }
}

/// Why there is no pull request; nothing where nobody expects one.
#[must_use]
pub fn no_pull_request(why: &NoOffer, front: Front) -> Option<String> {
    match why {
        NoOffer::NotWanted | NoOffer::NothingToDeliver => None,
        NoOffer::NoForge => {
            let help = advise_all(&[spinney_core::Advice::NameForge], front).join("; ");
            Some(format!("the remote is on no forge that is configured; {help}"))
        }
        NoOffer::NoBase => Some("no base branch is known".to_owned()),
        NoOffer::Forge(error) => Some(in_full(error)),
    }
}

fn listed(mut items: Vec<String>) -> String {
    let more = items.len().saturating_sub(NAMED);
    items.truncate(NAMED);
    if more > 0 {
        items.push(format!("{more} more"));
    }
    items.join(", ")
}
