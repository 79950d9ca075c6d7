//! Checkouts of base that jobs share to read in.
//!
//! There is one for a base commit (and what the settings say of submodules and LFS): on no branch, with the commit's files and
//! nothing else, and without leave to write. It never moves: for a newer base another is made, and the old one goes when
//! nobody reads in it any more.
//!
//! Readers of a checkout hold its lock together ([`Reading`]). Whoever chooses, makes or takes out checkouts of a repository
//! holds another lock alone, and takes out only what nobody reads in. Where something was changed, no other reader is let in,
//! and what is in it goes to the trash.
//!
//! After a death, a checkout half made is undone and one half taken out is finished, as with any member of the pool. The lock
//! of a reader who died is free: whoever comes next, or a sweep, finds what was changed.

use std::fs::File;
use std::path::Path;

use async_recursion::async_recursion as boxed;
use rustix::fs::{FlockOperation, flock};
use spinney_core::{CommitId, Finding, Workspace};
use spinney_git::{Head, StatusOptions};

use super::fill::{Patience, is_current};
use super::retire::{Drained, TOUCHED};
use super::{PoolLock, Purpose};
use crate::notice::{Notice, Observer, Warning};
use crate::repositories::context::Context;
use crate::resolve::lookup::Among;
use crate::tree::{self, Opened, Tree};
use crate::{Engine, Error, Result, fail};

/// The readers' lock, in git's admin dir of the checkout.
const READERS: &str = "spinney.readers";

/// How many changed files are named.
const NAMED: usize = 100;

/// The right to read in a checkout, which stays as it is meanwhile; given up on drop.
#[derive(Debug)]
pub struct Reading {
    pub workspace: Workspace,
    _lock: File,
}

/// Which checkouts are taken out, of those that nobody reads in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Out {
    /// Those that no reader is let into any more.
    Unusable,
    /// And those that are old.
    Old,
    All,
}

impl Engine {
    /// Gives the right to read in a checkout of base, which is made where there is none; with the configuration that holds
    /// there.
    #[boxed]
    pub async fn read_base(&self, context: Context, observer: &dyn Observer) -> Result<(Context, Reading)> {
        let (context, base) = self.fresh_base(context, observer).await?;
        let choosing = self.lock_reading(&context.repository.id).await?;
        let reading = match self.find_reading(&context, &base.tip).await? {
            Some(reading) => reading,
            None => {
                self.check_disk(&context, &base.tip).await?;
                let made = self.make_member(&context, &base, Purpose::Reading, observer).await?;
                if let Some(why) = made.metadata.warm.as_ref().and_then(|warm| warm.error.clone()) {
                    let mut drained = Drained::default();
                    self.retire_member(&context, &made, Patience::Person, &mut drained, observer).await?;
                    return Err(Error::Unreadable { why });
                }
                let lock = open_lock(&tree::require(&context, &made)?.admin_dir().join(READERS))?;
                hold(&made.path, &lock, FlockOperation::NonBlockingLockShared)?;
                Reading { workspace: made, _lock: lock }
            }
        };
        fail::point("reading.chosen")?;
        self.touch(&reading.workspace).await?;
        self.take_out(&context, &choosing, Out::Unusable, false, observer).await?;
        Ok((context, reading))
    }

    /// The checkout that stands at a commit, if it is as it was made. One that is not is let nobody into any more.
    async fn find_reading(&self, context: &Context, commit: &CommitId) -> Result<Option<Reading>> {
        for row in self.workspaces(Some(&context.repository.id), Among::Reading).await? {
            if !is_current(context, &row, commit) || !is_ready(&row) {
                continue;
            }
            let reason = match tree::open(context, &row) {
                Opened::Whole(tree) if self.is_touched(context, &row, &tree).await? => TOUCHED.to_owned(),
                Opened::Whole(tree) => {
                    let lock = open_lock(&tree.admin_dir().join(READERS))?;
                    hold(&row.path, &lock, FlockOperation::NonBlockingLockShared)?;
                    return Ok(Some(Reading { workspace: row, _lock: lock }));
                }
                Opened::Missing => "its directory is gone".to_owned(),
                Opened::RootMissing => "its directory is out of reach".to_owned(),
                Opened::Damaged(error) => error.to_string(),
                // It may be whole; whoever may look at it will tell.
                Opened::Hidden(_) => continue,
            };
            self.set_aside(&row, reason).await?;
        }
        Ok(None)
    }

    /// What changed in a checkout since it was made, by path: `/…/src/a.rs (changed)`. Where anything did, no other reader is
    /// let into it any more.
    #[boxed]
    pub async fn load_changes_in(&self, context: &Context, reading: &Reading) -> Result<Vec<String>> {
        let row = &reading.workspace;
        let mut told = match tree::open(context, row) {
            Opened::Whole(tree) if !self.is_touched(context, row, &tree).await? => return Ok(Vec::new()),
            Opened::Whole(tree) => changes(&tree, row).await?,
            Opened::Hidden(error) => vec![error.to_string()],
            Opened::Missing | Opened::RootMissing | Opened::Damaged(_) => {
                vec![format!("{} (deleted)", row.path.display())]
            }
        };
        self.set_aside(row, TOUCHED.to_owned()).await?;
        fail::point("reading.noted")?;
        if told.is_empty() {
            told.push(format!("{} (commits)", row.path.display()));
        }
        Ok(told)
    }

    /// Gives up the right to read, and takes the checkout out where it was the last reader of one that is of no use any more.
    #[boxed]
    pub async fn stop_reading(&self, context: &Context, reading: Reading, observer: &dyn Observer) -> Result<()> {
        drop(reading);
        fail::point("reading.stopped")?;
        let choosing = self.lock_reading(&context.repository.id).await?;
        self.take_out(context, &choosing, Out::Unusable, false, observer).await.map(drop)
    }

    /// Takes out the checkouts that nobody reads in and that are old, or were changed by a reader who died.
    pub(crate) async fn sweep_reading(
        &self,
        context: &Context,
        dry_run: bool,
        observer: &dyn Observer,
    ) -> Result<Vec<Finding>> {
        let choosing = self.lock_reading(&context.repository.id).await?;
        self.take_out(context, &choosing, Out::Old, dry_run, observer).await
    }

    /// Takes out every checkout that nobody reads in.
    pub(crate) async fn drain_reading(&self, context: &Context) -> Result<()> {
        let choosing = self.lock_reading(&context.repository.id).await?;
        self.take_out(context, &choosing, Out::All, false, &|_| {}).await.map(drop)
    }

    async fn take_out(
        &self,
        context: &Context,
        _choosing: &PoolLock,
        out: Out,
        dry_run: bool,
        observer: &dyn Observer,
    ) -> Result<Vec<Finding>> {
        let mut findings = Vec::new();
        let rows = self.workspaces(Some(&context.repository.id), Among::Reading).await?;
        for row in &rows {
            let Some(why) = self.why_out(context, &rows, row, out).await? else { continue };
            let Some(_alone) = try_alone(context, row)? else { continue };
            let what = format!("{}: {why}", row.name);
            if dry_run {
                findings.push(Finding { what, done: Some("would be taken out".to_owned()), advice: None });
                continue;
            }
            let mut drained = Drained::default();
            self.retire_member(context, row, Patience::Person, &mut drained, observer).await?;
            let done = match (&drained.trashed[..], drained.kept.first()) {
                ([], None) => "deleted".to_owned(),
                ([], Some((name, reason))) => {
                    observer(Notice::Warning(Warning::Minor { what: format!("{name} stays: {reason}") }));
                    continue;
                }
                _ => "moved to the trash".to_owned(),
            };
            findings.push(Finding { what, done: Some(done), advice: None });
        }
        Ok(findings)
    }

    /// Why a checkout is to be taken out, once nobody reads in it.
    async fn why_out(
        &self,
        context: &Context,
        rows: &[Workspace],
        row: &Workspace,
        out: Out,
    ) -> Result<Option<String>> {
        const MOVED_ON: &str = "its base has moved on";
        let Some(warm) = &row.metadata.warm else { return Ok(Some(TOUCHED.to_owned())) };
        if !warm.ready {
            return Ok(Some(warm.error.clone().unwrap_or_else(|| "it was never finished".to_owned())));
        }
        let replaces = |other: &Workspace| {
            let of_other = other.metadata.warm.as_ref();
            other.base_branch == row.base_branch
                && other.created_at > row.created_at
                && of_other.is_some_and(|other| other.ready && other.settings == warm.settings)
        };
        if rows.iter().any(replaces) {
            return Ok(Some(MOVED_ON.to_owned()));
        }
        match out {
            Out::Unusable => Ok(None),
            Out::All => Ok(Some("it is not needed any more".to_owned())),
            Out::Old => {
                let whole = match tree::open(context, row) {
                    Opened::Whole(tree) => !self.is_touched(context, row, &tree).await?,
                    _ => false,
                };
                let is_behind = match &row.base_branch {
                    Some(branch) => {
                        self.known_base(context, Some(branch)).await.is_ok_and(|base| base.tip != row.base_commit)
                    }
                    None => false,
                };
                let stale_after = context.config().cleanup.stale_after.0;
                let is_stale = !stale_after.is_zero() && row.last_activity_at.elapsed() >= stale_after;
                Ok(match () {
                    () if !whole => Some(TOUCHED.to_owned()),
                    () if is_behind => Some(MOVED_ON.to_owned()),
                    () if is_stale => Some("nobody has read in it for long".to_owned()),
                    () => None,
                })
            }
        }
    }
}

fn is_ready(row: &Workspace) -> bool {
    row.metadata.warm.as_ref().is_some_and(|warm| warm.ready)
}

/// Takes the lock of a checkout's readers alone; none while somebody reads in it.
fn try_alone(context: &Context, row: &Workspace) -> Result<Option<Option<File>>> {
    // Nobody reads in what git has nothing of.
    let Some(admin_dir) = tree::find_admin_dir(context, row)? else { return Ok(Some(None)) };
    let lock = open_lock(&admin_dir.join(READERS))?;
    match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(Some(lock))),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(Error::files(&row.path, "locked")(error.into())),
    }
}

fn open_lock(path: &Path) -> Result<File> {
    let options = File::options().read(true).write(true).create(true).truncate(false).open(path);
    options.map_err(Error::files(path, "opened"))
}

/// Whoever would be in the way chooses too, and waits for us.
fn hold(path: &Path, lock: &File, how: FlockOperation) -> Result<()> {
    flock(lock, how).map_err(|error| Error::files(path, "locked")(error.into()))
}

/// What git sees that is not as the commit has it.
async fn changes(tree: &Tree, row: &Workspace) -> Result<Vec<String>> {
    let status = tree.load_status(&StatusOptions { untracked: true, ignored: true }).await?.require_known()?;
    let shown = |path: &Path, way: &str| format!("{} ({way})", row.path.join(path).display());
    let changed = status.changes.iter().map(|change| {
        let is_there = row.path.join(&change.path).symlink_metadata().is_ok();
        shown(&change.path, if is_there { "changed" } else { "deleted" })
    });
    let others = status.untracked.iter().chain(&status.ignored).map(|entry| shown(&entry.path, "new"));
    let mut told: Vec<String> = changed.chain(others).collect();
    told.sort();
    if told.len() > NAMED {
        let more = told.len() - NAMED;
        told.truncate(NAMED);
        told.push(format!("and {more} more"));
    }
    let head = match tree.load_head().await? {
        Head::Detached { commit, rebasing: None } if commit == row.base_commit => None,
        head => Some(head.branch().map_or_else(
            || head.commit().map_or_else(|| "nothing".to_owned(), |commit| commit.short().to_owned()),
            ToString::to_string,
        )),
    };
    if let Some(now) = head {
        told.insert(0, format!("{} HEAD ({} → {now})", row.path.display(), row.base_commit.short()));
    }
    Ok(told)
}
