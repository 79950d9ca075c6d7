//! Settles jobs whose processes died: what they left running is ended, their work stays, and their rows say what happened.

use std::io::Read as _;
use std::path::Path;

use async_recursion::async_recursion as boxed;
use spinney_core::names::cut_for_message;
use spinney_core::{Cancel, Job, JobStatus, SessionStatus, Timestamp};
use spinney_store::Owned;

use super::cancelled;
use crate::told::Failure;
use crate::{Jobs, Result, events};

/// How much of what a dying process said is told.
const MAX_LAST_WORDS: usize = 400;

impl Jobs<'_> {
    /// Settles the jobs of this node whose processes died, whichever account's they are: ends what is left of their agents, keeps their work, and calls
    /// them interrupted, or cancelled where somebody wanted that. Two indexed queries when there is nothing. Tells which they
    /// were. Where jobs are in the queue, it has somebody start them.
    #[boxed]
    pub async fn recover(&self) -> Result<Vec<Job>> {
        let attended = self.engine.store().read().await?.attended_jobs(self.engine.home().node()).await?;
        let mut settled = Vec::new();
        for job in attended {
            settled.extend(self.settle_dead(&job).await?);
        }
        self.attend_queue().await?;
        Ok(settled)
    }

    /// Settles one job if its process is dead; one in the queue, if somebody cancelled it.
    pub(crate) async fn settle_dead(&self, job: &Job) -> Result<Option<Job>> {
        let Some(owned) = self.take(&job.id)? else { return Ok(None) };
        // It may have ended, or gone back to the queue, and given up its lock, since its row was read.
        let job = self.load(&job.id).await?;
        if job.status.is_final() || (job.is_queued() && job.cancel == Cancel::No) {
            owned.discard();
            return Ok(None);
        }
        self.settle_owned(job, owned).await
    }

    /// Settles a job whose process was started from the queue, and died before it could say what came of it.
    pub(crate) async fn settle_unbegun(&self, job: &Job, turned_back: u32) -> Result<Option<Job>> {
        let Some(owned) = self.take(&job.id)? else { return Ok(None) };
        let job = self.load(&job.id).await?;
        if !job.is_queued() || job.outcome.turned_back != turned_back {
            owned.discard();
            return Ok(None);
        }
        self.settle_owned(job, owned).await
    }

    async fn settle_owned(&self, mut job: Job, owned: Owned) -> Result<Option<Job>> {
        let (before, was_queued) = (job.status, job.is_queued());
        self.end_left(&job).await?;
        // Who tries again writes it anew.
        let _ = std::fs::remove_file(self.places.prompt(&job.id));
        let _ = std::fs::remove_file(self.places.mcp(&job.id));
        let said = last_words(&self.places.last_words(&job.id));
        let _ = std::fs::remove_file(self.places.last_words(&job.id));
        let why = self.words.failure(&Failure::Died { said, has_run: before == JobStatus::Running });
        job.waits_for = None;
        job.ended_at = Some(Timestamp::now());
        let mut db = self.engine.store().write().await?;
        // Until here somebody may have cancelled it; from here on, whoever does finds it ended.
        let is_cancelled = db.lock_job(&job.id).await?.is_some_and(|row| row.cancel != Cancel::No);
        (job.status, job.outcome.error) = match is_cancelled {
            true if was_queued => (JobStatus::Cancelled, Some(self.words.failure(&Failure::Cancelled))),
            true => (JobStatus::Cancelled, Some(self.words.failure(&cancelled(why)))),
            false => (JobStatus::Interrupted, Some(why)),
        };
        job.outcome.advice.clear();
        db.end_sessions(&job.id, SessionStatus::Ended).await?;
        job.outcome.usage = job.outcome.usage.most(db.spent_by(&job.id).await?);
        let settled = db.update_job(&job, before).await?;
        if settled {
            events::ended(&mut db, &job)?;
        }
        db.commit().await?;
        if settled && was_queued {
            self.tell_finished(&job);
        }
        owned.discard();
        self.places.ring();
        Ok(settled.then_some(job))
    }
}

/// What a job's process said before it died; none when it said nothing.
fn last_words(path: &Path) -> Option<String> {
    let mut text = Vec::new();
    spinney_git::open_regular(path).ok()?.take(spinney_git::SETTINGS_BYTES).read_to_end(&mut text).ok()?;
    let text = String::from_utf8_lossy(&text);
    let said = text.trim().strip_prefix("error: ").unwrap_or(text.trim());
    (!said.is_empty()).then(|| cut_for_message(said, MAX_LAST_WORDS))
}
