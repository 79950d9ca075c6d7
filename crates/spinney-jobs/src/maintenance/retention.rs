//! Forgets what is old: jobs with their logs, the audit log of their time, and conversations that nobody will go on with.

use async_recursion::async_recursion as boxed;
use spinney_core::Timestamp;
use spinney_core::account::LOCAL;

use crate::{Jobs, Result};

/// What was forgotten.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Forgotten {
    pub jobs: usize,
    /// Purged workspaces of which nothing is left.
    pub workspaces: u64,
    /// Conversations that the next job on the same work would have gone on with.
    pub conversations: u64,
    /// Entries of the audit log.
    pub events: u64,
    /// Small files of the home that belong to nothing any more.
    pub files: u64,
}

impl Jobs<'_> {
    /// Forgets this node's jobs that ended longer ago than `cleanup.job_retention`, with all that the audit log says of that
    /// time and with the operations of then, and conversations that ended longer ago than `cleanup.session_retention`: those of
    /// its sessions, and those on platforms. With zero, none. What a runtime keeps of them itself stays.
    #[boxed]
    pub async fn forget_old(&self) -> Result<Forgotten> {
        let settings = &self.engine.config().cleanup;
        let mut forgotten = Forgotten::default();
        // They are of all accounts: the home's owner says how long they stay.
        if self.engine.account() != LOCAL {
            return Ok(forgotten);
        }
        forgotten.files = self.engine.sweep_leftovers_of_home().await? + self.sweep_leftovers().await?;
        if !settings.session_retention.0.is_zero() {
            let before = Timestamp::now().minus(settings.session_retention.0);
            let mut db = self.engine.store().read().await?;
            forgotten.conversations = db.forget_conversations_before(self.engine.home().node(), before).await?;
            forgotten.conversations += db.delete_conversations_before(before).await?;
        }
        if !settings.job_retention.0.is_zero() {
            let before = Timestamp::now().minus(settings.job_retention.0);
            let mut db = self.engine.store().write().await?;
            let jobs = db.delete_jobs_before(self.engine.home().node(), before).await?;
            forgotten.events = db.delete_events_before(before).await?;
            db.delete_operations_before(self.engine.home().node(), before).await?;
            db.commit().await?;
            for id in &jobs {
                // A log that stays is found by nobody, and does no harm.
                let _ = std::fs::remove_file(self.places.log(id));
            }
            forgotten.jobs = jobs.len();
            forgotten.workspaces = self.engine.forget_purged_before(before).await?;
        }
        Ok(forgotten)
    }
}
