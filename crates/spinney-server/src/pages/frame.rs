//! What every page has around it: who looks, what they may, and what was just done.

use serde::Deserialize;
use spinney_core::{Scope, Timestamp};

use crate::auth::Caller;

/// What stands around a page.
#[derive(Debug)]
pub(crate) struct Frame {
    /// The part of the dashboard that the page belongs to.
    part: &'static str,
    pub account: String,
    /// Goes into every form; empty where nobody needs it.
    pub csrf: String,
    scope: Scope,
    is_session: bool,
    pub told: Option<Told>,
}

/// A page's own part of its address: a code for what was just done, sealed for the session that did it.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Did {
    #[serde(default)]
    pub did: String,
}

/// What was just done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Told {
    pub kind: &'static str,
    pub text: &'static str,
}

/// The parts of the dashboard: their names and addresses.
const PARTS: [(&str, &str); 11] = [
    ("Home", "/"),
    ("Repositories", "/repositories"),
    ("Jobs", "/jobs"),
    ("Fleet", "/fleet"),
    ("Conflicts", "/conflicts"),
    ("Schedules", "/schedules"),
    ("Trash", "/trash"),
    ("Inbox", "/inbox"),
    ("Audit", "/audit"),
    ("Tokens", "/tokens"),
    ("API", "/api"),
];

impl Frame {
    pub(crate) fn new(caller: &Caller, part: &'static str, did: &Did) -> Self {
        let csrf = caller.csrf().map(|csrf| csrf.as_str().to_owned()).unwrap_or_default();
        Self {
            part,
            account: caller.account.to_string(),
            is_session: !csrf.is_empty(),
            csrf,
            scope: caller.scope,
            told: caller.csrf().and_then(|csrf| csrf.open(&did.did, Timestamp::now())).and_then(told),
        }
    }

    /// Around a page for whoever it may be.
    pub(crate) fn of_nobody() -> Self {
        let (account, csrf) = (String::new(), String::new());
        Self { part: "", account, csrf, scope: Scope::Read, is_session: false, told: None }
    }

    /// Those that are open to who looks.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (&'static str, &'static str, bool)> {
        let is_open = |(name, _): &(&str, &str)| *name != "Tokens" || self.scope >= Scope::Admin;
        PARTS.into_iter().filter(is_open).map(|(name, path)| (name, path, name == self.part))
    }

    /// Whether there is a session to end.
    pub(crate) fn can_log_out(&self) -> bool {
        self.is_session
    }

    pub(crate) fn may_write(&self) -> bool {
        self.scope >= Scope::Write
    }

    pub(crate) fn may_purge(&self) -> bool {
        self.scope >= Scope::Admin
    }
}

/// What a code says.
fn told(code: &str) -> Option<Told> {
    let (kind, text) = match code {
        "made" => ("done", "The workspace is ready."),
        "going" => {
            ("noted", "This takes longer and continues in the background. This page shows the result when it is ready.")
        }
        "found" => ("done", "This work has its workspace already: here it is."),
        "refused" => ("refused", "The workspace was not removed. The reasons are listed below."),
        "removed" => ("done", "It is in the trash, whole."),
        "purged" => ("done", "Its tree is gone; what only that held is in an archive."),
        "emptied" => ("done", "The trash is empty; what only its trees held is in archives."),
        "left" => ("refused", "Some workspaces could not be purged and are still in the trash."),
        "added" => ("done", "The repository is known: give a piece of work its workspace."),
        "restored" => ("done", "It is back: same directory, branch, index and files."),
        "renamed" => ("done", "It is back, with a name of its own: another workspace has the one that it had."),
        "delivered" => ("done", "Delivered: its branch is at the remote."),
        "undelivered" => ("noted", "There is nothing to deliver: the workspace has no changes compared with its base."),
        "pinned" => ("done", "Pinned: cleanup does not remove it."),
        "unpinned" => ("done", "No longer pinned."),
        "started" => ("done", "The job has begun."),
        "retried" => ("done", "The job goes on."),
        "cancelling" => ("noted", "Its agent was asked to end; its work stays where it is."),
        "revoked" => ("done", "The token is revoked."),
        "ran" => ("done", "A run was requested. It starts in a moment."),
        "paused" => ("done", "Paused."),
        "resumed" => ("done", "It runs again at its times."),
        _ => return None,
    };
    Some(Told { kind, text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_codes_say_something() {
        assert_eq!(told("<b>your password</b>"), None);
        assert_eq!(told(""), None);
        assert!(told("removed").is_some());
    }
}
