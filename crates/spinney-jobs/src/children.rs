//! Jobs that the agent of a job asks for: a few, for other work, and no deeper than that. While the agent waits for them, its
//! own job takes no worker.

use std::time::Duration;

use spinney_core::{Job, JobId, JobStatus, Timestamp};
use spinney_store::Connection;

use crate::runner::queue;
use crate::{Error, Jobs, Result};

/// How many jobs the agent of one job may ask for.
pub const MAX_CHILDREN: usize = 4;
/// How long a job counts as waiting after it was said last. Whoever waits says it again well before that.
const AWAITS_FOR: Duration = Duration::from_secs(15);

impl Jobs<'_> {
    /// The jobs that the agent of a job asked for, oldest first.
    pub async fn children(&self, parent: &JobId) -> Result<Vec<Job>> {
        Ok(self.engine.store().read().await?.children_of(parent).await?)
    }

    /// Notes that the agent of a job waits for its children: for a while, unless it is noted again.
    pub async fn await_children(&self, parent: &JobId) -> Result<()> {
        self.note_awaiting(parent, Some(Timestamp::now().plus(AWAITS_FOR))).await
    }

    /// Notes that the agent of a job waits no more.
    pub async fn stop_awaiting_children(&self, parent: &JobId) -> Result<()> {
        self.note_awaiting(parent, None).await
    }

    async fn note_awaiting(&self, parent: &JobId, until: Option<Timestamp>) -> Result<()> {
        let mut db = self.engine.store().write().await?;
        db.await_children(parent, until).await?;
        db.commit().await?;
        // Those that wait for a worker look again.
        self.places.ring();
        Ok(())
    }
}

/// Refuses a child that its parent may not have, or that the two would wait for each other. The queue is locked.
pub(crate) async fn admit(db: &mut Connection, parent: &JobId, child: &Job) -> Result<()> {
    let unknown = || Error::UnknownJob { name: parent.to_string() };
    let parent = db.job(parent).await?.filter(|row| row.account == child.account).ok_or_else(unknown)?;
    if parent.status != JobStatus::Running {
        return Err(Error::ParentOver { id: parent.id, status: parent.status });
    }
    if parent.parent.is_some() {
        return Err(Error::ChildOfChild { id: parent.id });
    }
    if db.children_of(&parent.id).await?.len() >= MAX_CHILDREN {
        return Err(Error::TooManyChildren { id: parent.id, most: MAX_CHILDREN });
    }
    if queue::contend(&parent, child) {
        return Err(Error::ParentsPlace { id: parent.id, what: parent.work.workspace_name().to_string() });
    }
    Ok(())
}
