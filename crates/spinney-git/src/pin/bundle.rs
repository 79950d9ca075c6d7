//! A rescue ref as a file beside the work: for a repository in which others may delete the ref.

use std::fs;
use std::path::Path;

use spinney_core::CommitId;

use crate::repository::lock::RepositoryLock;
use crate::repository::opened::Repository;
use crate::{Error, Result};

/// Its name in an admin dir.
pub const BUNDLE: &str = "spinney-rescue.bundle";

impl Repository {
    /// Writes what a rescue ref leads to, and `base` does not, into a file in an admin dir.
    pub async fn write_rescue_bundle(
        &self,
        lock: &RepositoryLock,
        admin_dir: &Path,
        rescue_ref: &str,
        base: &CommitId,
    ) -> Result<()> {
        let place = admin_dir.join(BUNDLE);
        let aside = place.with_extension("partial");
        let exists = self.load_commit(base.as_str()).await?.is_some();
        let command = self.holding(lock).args(["bundle", "create", "--quiet"]).arg(&aside).arg(rescue_ref);
        let command = if exists { command.args(["--not", base.as_str()]) } else { command };
        match command.run().await {
            Ok(_) => {}
            // All of it is in the base.
            Err(Error::Failed { stderr, .. }) if stderr.contains("empty bundle") => return Ok(()),
            Err(error) => return Err(error),
        }
        let done = fs::File::open(&aside).and_then(|file| file.sync_all()).and_then(|()| fs::rename(&aside, &place));
        done.map_err(|source| Error::io("write", &place, source))
    }

    /// Sets a rescue ref that is gone again, from the file in an admin dir; tells whether it did.
    pub async fn restore_rescue_ref(&self, lock: &RepositoryLock, admin_dir: &Path, rescue_ref: &str) -> Result<bool> {
        let bundle = admin_dir.join(BUNDLE);
        if !bundle.is_file() || self.load_ref(rescue_ref).await?.is_some() {
            return Ok(false);
        }
        let listed = self.holding(lock).args(["bundle", "unbundle"]).arg(&bundle).text().await?;
        let commit = listed.lines().find_map(|line| line.split_once(' ').filter(|(_, name)| *name == rescue_ref));
        let commit =
            commit.and_then(|(commit, _)| commit.parse::<CommitId>().ok()).ok_or_else(|| Error::Unexpected {
                command: "git bundle unbundle".to_owned(),
                detail: format!("no `{rescue_ref}` is in it"),
            })?;
        self.update_ref(lock, rescue_ref, &commit, None).await?;
        Ok(true)
    }

    /// Forgets the file, once the work is back.
    pub fn drop_rescue_bundle(&self, admin_dir: &Path) {
        let _ = fs::remove_file(admin_dir.join(BUNDLE));
    }
}
