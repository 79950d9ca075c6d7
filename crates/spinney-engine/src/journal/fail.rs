//! Fail points: places where tests make the process die or an operation fail.
//!
//! Only the feature `fail-points` carries them; without it a point is nothing. A release build has none.

#[cfg(all(feature = "fail-points", not(debug_assertions)))]
compile_error!("fail points are for tests; a release must not carry the feature `fail-points`");

/// Names every step of every operation, in the order in which an operation passes them.
pub const POINTS: &[&str] = &[
    "create.recorded",
    "create.lost-pinned",
    "create.lost-retired",
    "create.registered",
    "create.added",
    "create.filled",
    "create.prepared",
    "create.ready",
    "create.activated",
    "undo.moved",
    "undo.admin-moved",
    "undo.branch",
    "undo.deleted",
    "undo.settled",
    "remove.recorded",
    "remove.pinned",
    "remove.inside-noted",
    "remove.inside-locked",
    "remove.moving",
    "remove.marked",
    "remove.tree-moved",
    "remove.moved",
    "remove.repinned",
    "remove.settled",
    "remove.branch",
    "remove.undone",
    "unarchive.verified",
    "unarchive.admin-unpacked",
    "unarchive.filled",
    "unarchive.unpacked",
    "unarchive.admin-moved",
    "unarchive.moved",
    "restore.recorded",
    "restore.branch",
    "restore.admin-moved",
    "restore.tree-moved",
    "restore.moved",
    "restore.marked",
    "restore.settled",
    "restore.undo-moved",
    "restore.undone",
    "purge.recorded",
    "purge.written",
    "purge.verified",
    "purge.archived",
    "purge.moving",
    "purge.tree-moved",
    "purge.moved",
    "purge.deleting",
    "purge.deleted",
    "purge.settled",
    "purge.undone",
    "erase.recorded",
    "erase.tree-moved",
    "erase.moved",
    "erase.deleting",
    "erase.refs-deleted",
    "erase.some-deleted",
    "erase.deleted",
    "erase.settled",
    "erase.undone",
    "adopt.recorded",
    "adopt.locked",
    "adopt.marked",
    "populate.emptied",
    "populate.copied",
    "template.emptied",
    "template.made",
    "warm.recorded",
    "warm.added",
    "warm.filled",
    "warm.prepared",
    "warm.settled",
    "warm.undone",
    "refresh.recorded",
    "refresh.moved",
    "retire.recorded",
    "retire.moved",
    "retire.forgotten",
    "reading.filled",
    "reading.sealed",
    "reading.chosen",
    "reading.noted",
    "reading.stopped",
    "claim.recorded",
    "claim.moved",
    "claim.switched",
    "claim.prepared",
    "claim.marked",
    "unclaim.detached",
    "unclaim.branch",
    "unclaim.settled",
    "job.recorded",
    "queue.recorded",
    "queue.taken",
    "queue.turn",
    "queue.started",
    "queue.leaving",
    "queue.left",
    "job.started",
    "job.placed",
    "job.began",
    "job.session",
    "job.finished",
    "job.committed",
    "job.pushed",
    "job.delivered",
    "job.offered",
    "job.closed",
    "job.torn-down",
    "job.settled",
    "schedule.taken",
    "schedule.held",
    "schedule.labelled",
    "schedule.commented",
    "schedule.claimed",
    "schedule.started",
    "schedule.returned",
    "schedule.settled",
    "deliver.recorded",
    "deliver.committed",
    "deliver.pushed",
    "deliver.noted",
    "deliver.offered",
    "delivery.numbered",
    "delivery.submitted",
    "answer.posting",
    "answer.posted",
    "answer.said",
];

/// Dies or fails here, if this point is armed.
#[cfg(not(feature = "fail-points"))]
#[inline]
pub fn point(_name: &'static str) -> crate::Result<()> {
    Ok(())
}

#[cfg(feature = "fail-points")]
pub use armed::{arm, point, provider, use_provider};

#[cfg(feature = "fail-points")]
mod armed {
    use std::io;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use crate::{Error, Result};

    static ARMED: OnceLock<Vec<(String, String)>> = OnceLock::new();
    static PASSED: AtomicUsize = AtomicUsize::new(0);

    /// Arms points for the rest of the process: `remove.pinned` dies there; `remove.pinned=no-space`, `=denied` and
    /// `=read-only` fail there; `remove.pinned=run:/SCRIPT` runs a shell script there and goes on; `#3` dies at the third
    /// point that is passed. Several are separated by commas.
    pub fn arm(text: &str) {
        let point = |part: &str| {
            let (name, action) = part.split_once('=').unwrap_or((part, "abort"));
            assert!(name.starts_with('#') || super::POINTS.contains(&name), "there is no fail point `{name}`");
            (name.to_owned(), action.to_owned())
        };
        let _ = ARMED.set(text.split(',').filter(|part| !part.is_empty()).map(point).collect());
    }

    static PROVIDER: OnceLock<spinney_core::Provider> = OnceLock::new();

    /// Makes the new workspaces of this process in another way.
    pub fn use_provider(name: &str) {
        let _ = PROVIDER.set(name.parse().expect("a provider"));
    }

    /// How this process makes new workspaces, where a test says so.
    pub fn provider() -> Option<spinney_core::Provider> {
        PROVIDER.get().copied()
    }

    /// Dies or fails here, if this point is armed.
    pub fn point(name: &'static str) -> Result<()> {
        debug_assert!(super::POINTS.contains(&name), "`{name}` is not listed");
        let count = format!("#{}", PASSED.fetch_add(1, Ordering::Relaxed) + 1);
        let armed = ARMED.get().and_then(|armed| armed.iter().find(|(known, _)| known == name || *known == count));
        let kind = match armed.map(|(_, action)| action.as_str()) {
            None => return Ok(()),
            Some(action) if action.starts_with("run:") => return run(&action["run:".len()..]),
            Some("no-space") => io::ErrorKind::StorageFull,
            Some("denied") => io::ErrorKind::PermissionDenied,
            Some("read-only") => io::ErrorKind::ReadOnlyFilesystem,
            Some(_) => std::process::abort(),
        };
        Err(Error::files(std::path::Path::new(name), "reached")(io::Error::from(kind)))
    }

    /// Does what another process would do in this moment.
    fn run(script: &str) -> Result<()> {
        #[expect(clippy::disallowed_methods, reason = "a test's own script, in a build for tests")]
        let status = std::process::Command::new("/bin/sh").arg(script).status();
        assert!(status.is_ok_and(|status| status.success()), "`{script}` failed");
        Ok(())
    }
}
