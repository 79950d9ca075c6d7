//! A checkout of base that several readers share: brought up to date when nobody reads in it.
//!
//! Readers hold a lock of it together; who moves it has the lock alone.

use std::fs::File;
use std::io::{Read, Seek, Write};

use rustix::fs::{FlockOperation, flock};
use spinney_core::config::Lfs;
use spinney_core::{CommitId, Work, WorkKind, Workspace};
use spinney_git::{Head, StatusOptions, Worktree};

use crate::context::Context;
use crate::notice::{Notice, Observer, Warning};
use crate::{Engine, Error, Result};

/// The lock's file, in git's admin dir of the checkout.
const LOCK: &str = "spinney.readers";

/// The right to read in a shared checkout, which stays at its commit meanwhile; given up on drop.
#[derive(Debug)]
pub struct Reading {
    _lock: File,
}

impl Engine {
    /// The work that stands for the shared checkout of a repository's base.
    #[must_use]
    pub fn shared_work(context: &Context) -> Work {
        let base = context.config().workspace.base.as_ref().map(|base| Work::branch(base).key);
        // No task that somebody names has an underscore in its key.
        let key = base.map_or_else(|| "shared_checkout".to_owned(), |base| format!("shared_checkout-{base}"));
        Work { kind: WorkKind::Task, key }
    }

    /// Moves a shared checkout to base's newest commit, unless somebody reads in it or left something there; and gives the
    /// right to read in it.
    pub async fn freshen(
        &self,
        context: Context,
        workspace: &Workspace,
        observer: Observer<'_>,
    ) -> Result<(Context, Reading)> {
        let (context, base) = self.fresh_base(context, observer).await?;
        let worktree = Worktree::open(&context.git, &workspace.path)?;
        let place = worktree.admin_dir().join(LOCK);
        let failed = |doing| Error::files(&place, doing);
        let options = File::options().read(true).write(true).create(true).truncate(false).open(&place);
        let lock = options.map_err(failed("opened"))?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => move_to_base(&context, workspace, &worktree, &lock, &base.tip, observer).await?,
            Err(rustix::io::Errno::WOULDBLOCK) => {}
            Err(error) => return Err(failed("locked")(error.into())),
        }
        // Whoever moves it at this moment is waited for.
        let reading = tokio::task::spawn_blocking(move || flock(&lock, FlockOperation::LockShared).map(|()| lock));
        match reading.await {
            Ok(locked) => Ok((context, Reading { _lock: locked.map_err(|error| failed("locked")(error.into()))? })),
            Err(panic) => std::panic::resume_unwind(panic.into_panic()),
        }
    }
}

/// Moves a checkout in which nobody reads. The lock's file tells where it was put: what stands elsewhere was moved by
/// somebody, and commits of theirs must not be left to the reflog alone.
async fn move_to_base(
    context: &Context,
    workspace: &Workspace,
    worktree: &Worktree,
    mut lock: &File,
    base: &CommitId,
    observer: Observer<'_>,
) -> Result<()> {
    let head = worktree.load_head().await?;
    let Some(commit) = head.commit() else { return Ok(()) };
    if commit == base {
        return Ok(());
    }
    let place = worktree.admin_dir().join(LOCK);
    let failed = |doing| Error::files(&place, doing);
    let mut put = String::new();
    lock.read_to_string(&mut put).map_err(failed("read"))?;
    let is_detached = matches!(head, Head::Detached { .. });
    if is_detached && commit.as_str() != put && context.git.count_unreferenced(commit).await? > 0 {
        let what = format!(
            "{} stays at {}, which is on no branch: `git branch NAME {}` keeps it",
            workspace.name,
            commit.short(),
            commit.short()
        );
        observer(Notice::Warning(Warning::Minor { what }));
        return Ok(());
    }
    let status = worktree.load_status(&StatusOptions { untracked: true, ignored: false }).await?;
    if status.is_clean() {
        worktree.move_to(base, context.config().workspace.lfs == Lfs::Pull).await?;
        lock.rewind().and_then(|()| lock.write_all(base.as_str().as_bytes())).map_err(failed("written"))?;
    }
    Ok(())
}
