//! Files of jobs that have no row, or are over: a death between a file and its row leaves it behind.

use std::collections::BTreeMap;
use std::path::Path;

use spinney_core::{JobId, JobStatus};
use spinney_engine::old_files;

use crate::{Jobs, Result};

impl Jobs<'_> {
    /// Deletes logs of jobs that nobody knows, and locks, prompts and last words of those that are over or that nobody knows.
    /// Tells how many files went.
    pub(crate) async fn sweep_leftovers(&self) -> Result<u64> {
        let root = self.engine.home().root();
        let (logs, others) = (old_files(&root.join("logs")), old_files(&root.join("jobs")));
        if logs.is_empty() && others.is_empty() {
            return Ok(0);
        }
        let known: BTreeMap<JobId, JobStatus> =
            self.engine.store().read().await?.job_statuses(self.engine.home().node()).await?.into_iter().collect();
        let mut gone = 0;
        for file in logs {
            if job_of(&file).is_some_and(|id| !known.contains_key(&id)) {
                gone += u64::from(std::fs::remove_file(&file).is_ok());
            }
        }
        for file in others {
            let Some(id) = job_of(&file).filter(|id| known.get(id).is_none_or(|status| status.is_final())) else {
                continue;
            };
            // Whoever holds it is at work, or is about to begin.
            if let Some(owned) = self.take(&id)? {
                gone += u64::from(file.extension().is_none() || std::fs::remove_file(&file).is_ok());
                owned.discard();
            }
        }
        Ok(gone)
    }
}

/// The job that a file is of: `k3v9.jsonl`, `k3v9`, `k3v9.prompt`, and `.k3v9` before it has its name.
fn job_of(file: &Path) -> Option<JobId> {
    let name = file.file_name()?.to_str()?;
    name.trim_start_matches('.').split('.').next()?.parse().ok()
}
