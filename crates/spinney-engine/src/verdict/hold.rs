//! What holds a workspace's directory itself: processes and mounts inside.
//!
//! A look through all processes takes a while, so it goes on beside other questions. It must be over before git is
//! started inside the tree: that would be found there.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use spinney_core::ReasonCode;
use tokio::sync::OnceCell;
use tokio::task::JoinHandle;

use super::Findings;
use crate::executor::{Executor, Member};
use crate::home::disk;

/// What was found.
#[derive(Debug)]
pub(super) struct Held {
    mounts: io::Result<Vec<PathBuf>>,
    processes: Vec<Member>,
}

impl Held {
    pub fn look(executor: &dyn Executor, path: &Path) -> Self {
        Self { mounts: disk::mounts_inside(path), processes: executor.inside(path) }
    }

    pub fn judge(&self, findings: &mut Findings) {
        match &self.mounts {
            Ok(mounts) => {
                let items = mounts.iter().map(|mount| mount.display().to_string()).collect();
                findings.count(ReasonCode::MountInside, items);
            }
            Err(error) => findings.unverifiable("which file systems are mounted inside", error),
        }
        findings.count(ReasonCode::InUse, self.processes.iter().map(ToString::to_string).collect());
    }
}

/// A look that is under way.
#[derive(Debug)]
pub(super) struct Hold {
    executor: Arc<dyn Executor>,
    path: PathBuf,
    looking: tokio::sync::Mutex<Option<JoinHandle<Held>>>,
    held: OnceCell<Held>,
}

impl Hold {
    pub fn start_looking(executor: Arc<dyn Executor>, path: &Path) -> Self {
        let (asked, place) = (Arc::clone(&executor), path.to_owned());
        let looking = tokio::task::spawn_blocking(move || Held::look(&*asked, &place));
        let looking = tokio::sync::Mutex::new(Some(looking));
        Self { executor, path: path.to_owned(), looking, held: OnceCell::new() }
    }

    /// Waits until the look is over.
    pub async fn load(&self) -> &Held {
        let look = async || {
            let looking = self.looking.lock().await.take();
            let found = match looking {
                Some(looking) => looking.await.ok(),
                None => None,
            };
            found.unwrap_or_else(|| Held::look(&*self.executor, &self.path))
        };
        self.held.get_or_init(look).await
    }
}
