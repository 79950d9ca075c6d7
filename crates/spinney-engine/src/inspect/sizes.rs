//! What workspaces take on disk: measured now and then, kept in the store, told from there.
//!
//! Measuring walks whole trees, so nothing that is asked for at once waits for it.

use std::collections::{HashSet, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_recursion::async_recursion as boxed;
use spinney_core::{Size, Timestamp, Workspace, WorkspaceId, WorkspaceStatus};
use spinney_store::{Ownable, Owned};
use tokio::sync::mpsc;

use crate::trash::size_on_disk_until;
use crate::tree::trash_place;
use crate::{Engine, Result};

/// How long a size is good enough.
const GOOD_FOR: Duration = Duration::from_secs(10 * 60);
/// How many trees are walked at once: the disk is shared with those who work.
const WALKERS: usize = 4;
/// How many sizes are written at once, at most.
const BATCH: usize = 64;

/// What is known of some workspaces' sizes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sizes {
    /// The sum of those that are known.
    pub bytes: u64,
    pub known: usize,
    /// How many have a tree at all.
    pub trees: usize,
    /// How many of them are unknown, or were measured too long ago.
    pub due: usize,
}

impl Sizes {
    /// Adds up what the store knows of these.
    #[must_use]
    pub fn of(workspaces: &[Workspace]) -> Self {
        let mut sizes = Self::default();
        for workspace in workspaces.iter().filter(|workspace| has_tree(workspace)) {
            sizes.trees += 1;
            sizes.due += usize::from(is_due(workspace));
            if let Some(size) = workspace.size {
                sizes.known += 1;
                sizes.bytes = sizes.bytes.saturating_add(size.bytes);
            }
        }
        sizes
    }
}

/// Whether a workspace has a tree that can be measured: it stands at its place, or in the trash.
#[must_use]
pub fn has_tree(workspace: &Workspace) -> bool {
    stands(workspace.status)
}

/// Whether a workspace of this status has a tree.
#[must_use]
pub fn stands(status: WorkspaceStatus) -> bool {
    use WorkspaceStatus::{Active, Broken, Reading, Trashed, Warm};
    matches!(status, Active | Broken | Reading | Trashed | Warm)
}

fn is_due(workspace: &Workspace) -> bool {
    workspace.size.is_none_or(|size| size.at.elapsed() >= GOOD_FOR)
}

/// The right to measure in the background; given up on drop.
#[derive(Debug)]
pub struct Measurer {
    _owned: Owned,
}

impl Engine {
    /// Becomes the one who measures in the background; `None` while there is another.
    pub fn become_measurer(&self) -> Result<Option<Measurer>> {
        let owned = self.ownership.take(Ownable::Measuring)?;
        Ok(owned.map(|owned| Measurer { _owned: owned }))
    }

    /// Measures those whose size is unknown or old, the oldest first, until the deadline; keeps what it found in the
    /// rows and in the store. Gives those that it did not come to.
    ///
    /// A tree that can't be walked keeps the size that it had.
    #[boxed]
    pub async fn measure(
        &self,
        workspaces: &mut [Workspace],
        deadline: Option<Instant>,
    ) -> Result<HashSet<WorkspaceId>> {
        let mut due: Vec<usize> = (0..workspaces.len())
            .filter(|index| has_tree(&workspaces[*index]) && is_due(&workspaces[*index]))
            .collect();
        due.sort_by_key(|index| workspaces[*index].size.map(|size| size.at));
        let place = |workspace: &Workspace| match workspace.status {
            WorkspaceStatus::Trashed => trash_place(&self.home, &workspace.path, workspace.id.as_str()),
            _ => workspace.path.clone(),
        };
        let queue = due.into_iter().map(|index| (index, place(&workspaces[index]))).collect();
        let (mut measured, queue) = start_walkers(queue, deadline);
        let mut batch = Vec::new();
        while measured.recv_many(&mut batch, BATCH).await > 0 {
            let mut db = self.store.write().await?;
            for (index, size) in batch.drain(..) {
                workspaces[index].size = Some(size);
                db.record_size(&workspaces[index].id, size).await?;
            }
            db.commit().await?;
        }
        let left = queue.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(left.iter().map(|(index, _)| workspaces[*index].id.clone()).collect())
    }
}

/// Trees to be walked, each with a number.
type Queue = Arc<Mutex<VecDeque<(usize, PathBuf)>>>;

/// Starts the walkers; when the last of them stops, what is in the queue is what they did not come to.
fn start_walkers(
    queue: VecDeque<(usize, PathBuf)>,
    deadline: Option<Instant>,
) -> (mpsc::UnboundedReceiver<(usize, Size)>, Queue) {
    let walkers = queue.len().min(WALKERS);
    let queue: Queue = Arc::new(Mutex::new(queue));
    let (tell, measured) = mpsc::unbounded_channel();
    for _ in 0..walkers {
        let (queue, tell) = (Arc::clone(&queue), tell.clone());
        tokio::task::spawn_blocking(move || {
            let lock = || queue.lock().unwrap_or_else(PoisonError::into_inner);
            while let Some((index, place)) = { lock().pop_front() } {
                match size_on_disk_until(&place, deadline) {
                    Ok(Some(bytes)) => drop(tell.send((index, Size { bytes, at: Timestamp::now() }))),
                    Ok(None) => {
                        lock().push_front((index, place));
                        return;
                    }
                    // It is gone or may not be read; the next look tells more.
                    Err(_) => {}
                }
            }
        });
    }
    (measured, queue)
}
