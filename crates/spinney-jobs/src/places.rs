//! Where the files of jobs lie.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

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

    /// The MCP servers of the job's agent, for programs that want them in a file; with their secrets.
    pub(crate) fn mcp(&self, id: &JobId) -> PathBuf {
        self.root.join("jobs").join(format!("{id}.mcp"))
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

    /// When it was written to last.
    pub(crate) fn rung_at(&self) -> Option<SystemTime> {
        fs::metadata(self.bell()).ok()?.modified().ok()
    }

    /// Where the process that decides whose turn it is hears from those who ask for jobs.
    pub(crate) fn queue_socket(&self) -> PathBuf {
        self.root.join("jobs").join("queue.socket")
    }

    pub(crate) fn ring(&self) {
        // Who waits looks by itself too, only later.
        let _ = fs::write(self.bell(), "");
    }
}
