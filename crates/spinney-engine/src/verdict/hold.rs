//! What holds a workspace's directory itself: processes and mounts inside.
//!
//! A look through all processes takes a while, so it goes on beside other questions. It must be over before git is
//! started inside the tree: that would be found there.

use std::io;
use std::path::{Path, PathBuf};

use spinney_core::ReasonCode;
use tokio::sync::OnceCell;
use tokio::task::JoinHandle;

use super::Findings;
use crate::disk;
use crate::processes::{self, ProcessInside};

/// What was found.
#[derive(Debug)]
pub(super) struct Held {
    mounts: io::Result<Vec<PathBuf>>,
    processes: Vec<ProcessInside>,
}

impl Held {
    pub fn look(path: &Path) -> Self {
        Self { mounts: disk::mounts_inside(path), processes: processes::processes_inside(path) }
    }

    pub fn judge(&self, findings: &mut Findings) {
        match &self.mounts {
            Ok(mounts) => {
                let items = mounts.iter().map(|mount| mount.display().to_string()).collect();
                findings.count(ReasonCode::MountInside, items);
            }
            Err(error) => findings.unverifiable("which file systems are mounted inside", error),
        }
        let shown = |process: &ProcessInside| format!("{} (pid {})", process.command, process.pid);
        findings.count(ReasonCode::InUse, self.processes.iter().map(shown).collect());
    }
}

/// A look that is under way.
#[derive(Debug)]
pub(super) struct Hold {
    path: PathBuf,
    looking: tokio::sync::Mutex<Option<JoinHandle<Held>>>,
    held: OnceCell<Held>,
}

impl Hold {
    pub fn start_looking(path: &Path) -> Self {
        let place = path.to_owned();
        let looking = tokio::task::spawn_blocking(move || Held::look(&place));
        Self { path: path.to_owned(), looking: tokio::sync::Mutex::new(Some(looking)), held: OnceCell::new() }
    }

    /// Waits until the look is over.
    pub async fn load(&self) -> &Held {
        let look = async || {
            let looking = self.looking.lock().await.take();
            let found = match looking {
                Some(looking) => looking.await.ok(),
                None => None,
            };
            found.unwrap_or_else(|| Held::look(&self.path))
        };
        self.held.get_or_init(look).await
    }
}
