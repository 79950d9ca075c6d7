//! Where the files of jobs lie.

use std::fs;
use std::path::{Path, PathBuf};

use spinney_core::JobId;

use crate::{Error, Result};

/// Where the files of jobs lie in a home.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    root: PathBuf,
}

impl Places {
    /// Makes the directories that are missing, for their owner only.
    pub(crate) fn open(home: &Path) -> Result<Self> {
        use std::os::unix::fs::DirBuilderExt;
        for name in ["jobs", "logs"] {
            let path = home.join(name);
            let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&path);
            made.map_err(|source| Error::files(&path, "made", source))?;
        }
        Ok(Self { root: home.to_owned() })
    }

    /// The job's prompt, for programs that want it in a file.
    pub(crate) fn prompt(&self, id: &JobId) -> PathBuf {
        self.root.join("jobs").join(format!("{id}.prompt"))
    }

    pub(crate) fn log(&self, id: &JobId) -> PathBuf {
        self.root.join("logs").join(format!("{id}.jsonl"))
    }

    /// What a job's process said when it could not say it in the log.
    pub(crate) fn last_words(&self, id: &JobId) -> PathBuf {
        self.root.join("jobs").join(format!("{id}.stderr"))
    }

    /// Is written to whenever something happens that a waiting process wants to know: a look at its time costs nothing.
    pub(crate) fn bell(&self) -> PathBuf {
        self.root.join("jobs").join("bell")
    }

    pub(crate) fn ring(&self) {
        // Who waits looks by itself too, only later.
        let _ = fs::write(self.bell(), "");
    }
}
