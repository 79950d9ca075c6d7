//! What a phase of a job is about.

use spinney_jobs::told::Detail;

use super::base;

pub(super) fn detail(detail: &Detail) -> String {
    match detail {
        Detail::Plain(text) => text.clone(),
        Detail::WaitsFor(waits_for) => waits_for.to_string(),
        Detail::Clones { url } => format!("clones `{url}`"),
        Detail::Reads { base: branch, commit } => format!("reads {}, with others", base(branch.as_ref(), commit)),
        Detail::Directory(path) => format!("`{}`, as it is", path.display()),
        Detail::Placed { workspace, method, branch, base: from, base_commit, start, is_warm } => {
            let warm = if *is_warm { ", warm" } else { "" };
            let from = match start {
                Some((place, commit)) => format!("`{place}` {}", commit.short()),
                None => base(from.as_ref(), base_commit),
            };
            format!("{workspace} {method} on `{branch}` from {from}{warm}")
        }
        Detail::Delivered { workspace } => format!("waits until {workspace} is delivered, which somebody asked for"),
        Detail::AsksForNote => "its context is full: it is asked for a hand-off note".to_owned(),
        Detail::NothingChanged => "nothing changed since the base: nothing pushed".to_owned(),
        Detail::Pushed { branch } => format!("pushed `{branch}`"),
        Detail::NoRemote => "there is no remote: nothing pushed".to_owned(),
        Detail::Trashed { workspace } => format!("{workspace} is in the trash"),
        Detail::Stays { workspace, reasons } => {
            let reasons: Vec<_> =
                reasons.iter().map(|reason| format!("{} ({})", reason.code, reason.detail())).collect();
            format!("{workspace} stays: {}", reasons.join(", "))
        }
    }
}
