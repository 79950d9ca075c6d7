//! Keeps apart what an agent changed in its workspace and what was there before.
//!
//! 1. Before the hooks, what differs from HEAD is listed: the agents' are those files that an earlier job left
//!    ([`crate::runner::origin`]); the others, and what `before_run` changes, are somebody's. Under `on_dirty = "refuse"` a
//!    person's uncommitted work ends the job here.
//! 2. That is written to the store before a session begins. The commits of the branch are pinned.
//! 3. What the agent leaves uncommitted is committed, without what was there before and what Spinney copied.
//! 4. When the job is over, what its agent left is written down for the next one, and the pin is dropped unless commits
//!    are missing ([`super::held`]).
//!
//! After a death between 2 and 4, all that changed since 2 counts as the agents'.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use spinney_core::config::OnDirty;
use spinney_core::{
    Advice, Began, Brought, Identities, JobStatus, Left, LeftOut, LeftOutReason, Workspace, path_text, text_path,
};
use spinney_engine::{Copies, Tree, fail};
use spinney_git::Files;
use tokio::time::sleep;

use super::setup::JobPlace;
use super::{End, Run, Step, Why};
use crate::delivery::shown;
use crate::maintenance::outage::through;
use crate::runner::origin::{self, Fate, Now};
use crate::told::{Failure, Warning};

/// How many files are named on a job.
const MAX_TOLD: usize = 1000;

/// What was in a workspace before an agent began.
#[derive(Debug)]
pub(super) struct Stock {
    pub began: Began,
    pub copies: Copies,
    /// What differed from HEAD before the hooks ran.
    before_hooks: Identities,
    /// Whether nothing was written down for this job before.
    is_first: bool,
}

impl Run<'_> {
    /// Looks at what is in the workspace before anything of this attempt runs there.
    pub(super) async fn take_stock(&mut self, place: &JobPlace) -> Step<()> {
        let Some(workspace) = place.workspace() else { return Ok(()) };
        let tree = self.context.require_tree(workspace)?;
        let engine = self.jobs.engine;
        let copies = through(async || Ok::<_, End>(engine.load_copies(&self.context, workspace).await?)).await?;
        let files = tree.load_files(true).await?;
        let changed = texts(&files);
        let (at_ns, ignored) = (now_ns(), ignored_texts(&files));
        let now = Now { at_ns, head: files.head, changed: changed.clone(), ignored };
        let previous = through(async || Ok::<_, End>(engine.store().read().await?.began(&workspace.id).await?)).await?;
        let began = origin::begin(&self.job.id, now, previous, &copies.brought);
        if !self.job.outcome.finished && self.agent.config.workspace.on_dirty == OnDirty::Refuse {
            refuse_dirty(workspace, &began, &copies.brought)?;
        }
        let finished = self.job.outcome.finished;
        let is_first = began.at_ns == at_ns;
        self.stock = Some(Stock { began, copies, before_hooks: changed, is_first });
        if finished { self.write_stock(workspace).await } else { Ok(()) }
    }

    /// Adds what the hooks did, and writes down what is there before a session begins.
    pub(super) async fn begin_with_stock(&mut self, place: &JobPlace) -> Step<()> {
        let Some(workspace) = place.workspace() else { return Ok(()) };
        let has_hooks = !self.agent.config.hooks.before_run.is_empty();
        let Some(stock) = self.stock.as_mut() else { return Ok(()) };
        if has_hooks {
            let files = self.context.require_tree(workspace)?.load_files(true).await?;
            origin::add_hooks(&mut stock.began, &stock.before_hooks, texts(&files), &stock.copies.brought);
            if stock.is_first {
                (stock.began.ignored, stock.began.at_ns) = (ignored_texts(&files), now_ns());
            }
        }
        self.write_stock(workspace).await?;
        self.wait_for_later_time().await?;
        fail::point("job.began").map_err(End::from)
    }

    async fn write_stock(&mut self, workspace: &Workspace) -> Step<()> {
        let Some(stock) = &self.stock else { return Ok(()) };
        self.pin_tips(workspace, &stock.began).await?;
        self.put_began(workspace, &stock.began).await
    }

    async fn put_began(&self, workspace: &Workspace, began: &Began) -> Step<()> {
        let store = self.jobs.engine.store();
        through(async || Ok::<_, End>(store.read().await?.put_began(&workspace.id, began).await?)).await
    }

    /// Waits until what is written has a later time than what was written down: a file system's clock goes in steps.
    async fn wait_for_later_time(&self) -> Step<()> {
        let probe = self.jobs.places.prompt(&self.job.id);
        let failed = |error| End::failed(Failure::TimeUnknown { path: probe.clone(), error });
        let Some(at_ns) = self.stock.as_ref().map(|stock| stock.began.at_ns) else { return Ok(()) };
        loop {
            fs::write(&probe, "").map_err(failed)?;
            let written = fs::metadata(&probe).and_then(|found| found.modified()).map_err(failed)?;
            if ns_of(written) > at_ns {
                return Ok(());
            }
            sleep(Duration::from_millis(1)).await;
        }
    }

    /// Commits what the agent left over.
    pub(super) async fn commit_left_over(&mut self, workspace: &Workspace, tree: &Tree) -> Step<()> {
        if let Some(stock) = self.stock.as_mut() {
            // Other workspaces may have been made meanwhile, and their commits taken in.
            self.jobs.engine.load_copies_again(&self.context, workspace, &mut stock.copies).await?;
        }
        let Some(stock) = &self.stock else { return Ok(()) };
        let on_dirty = self.agent.config.workspace.on_dirty;
        let (mut shared, mut left_out) = (Vec::new(), Vec::new());
        let choose = |files: &Files| {
            let mut wanted = Vec::new();
            for (path, identity) in &files.changed {
                let is_older = || is_older(&workspace.path.join(path), stock.began.at_ns);
                match origin::fate(&stock.began, &stock.copies, on_dirty, &path_text(path), identity, is_older) {
                    Fate::Taken { shared: is_shared } => {
                        wanted.push(path.clone());
                        shared.extend(is_shared.then(|| shown(path)));
                    }
                    Fate::LeftOut(reason) => left_out.push(LeftOut { path: shown(path), reason }),
                }
            }
            // A file of somebody's that has another name now is not deleted under the old one.
            let changed = texts(files);
            wanted.retain(|path| {
                let is_moved = origin::is_moved_away(&stock.began, &changed, &path_text(path));
                if is_moved {
                    left_out.push(LeftOut { path: shown(path), reason: LeftOutReason::ThereBefore });
                    shared.retain(|other| *other != shown(path));
                }
                !is_moved
            });
            let is_repository = |path: &PathBuf| LeftOut { path: shown(path), reason: LeftOutReason::Repository };
            left_out.extend(files.repositories.iter().map(is_repository));
            wanted
        };
        let committed = tree.commit_left_over(choose, &self.commit_message(workspace)).await?;
        if let Some(why) = committed.and_then(|committed| committed.unsigned) {
            self.warn(&Warning::Unsigned(why));
        }
        shared.extend(self.committed_of_others(tree).await?);
        self.tell_origins(left_out, shared);
        Ok(())
    }

    /// What was somebody's uncommitted work and is in commits that the agent made itself.
    async fn committed_of_others(&self, tree: &Tree) -> Step<Vec<String>> {
        let Some(stock) = self.stock.as_ref().filter(|stock| !stock.began.found.is_empty()) else {
            return Ok(Vec::new());
        };
        let (Some(before), Some(head)) = (&stock.began.head, tree.load_head().await?.commit().cloned()) else {
            return Ok(Vec::new());
        };
        let added = self.context.load_added(&head, std::slice::from_ref(before)).await?;
        let is_theirs = |path: &Path| stock.began.found.contains_key(&path_text(path));
        Ok(added.iter().filter(|added| is_theirs(&added.path)).map(|added| shown(&added.path)).collect())
    }

    /// Names what was left out, and what of somebody else's was taken.
    fn tell_origins(&mut self, mut left_out: Vec<LeftOut>, shared: Vec<String>) {
        left_out.sort_by(|one, other| one.path.cmp(&other.path));
        for reason in [LeftOutReason::ThereBefore, LeftOutReason::Copied, LeftOutReason::Repository] {
            let of_reason = left_out.iter().filter(|one| one.reason == reason);
            let paths: Vec<String> = of_reason.map(|one| one.path.clone()).collect();
            if !paths.is_empty() {
                self.warn(&Warning::LeftOut { reason, paths });
            }
        }
        left_out.truncate(MAX_TOLD);
        let outcome = &mut self.job.outcome;
        outcome.left_out = left_out;
        outcome.shared.extend(shared);
        outcome.shared.sort();
        outcome.shared.dedup();
        outcome.shared.truncate(MAX_TOLD);
        if !outcome.shared.is_empty() {
            let paths = outcome.shared.clone();
            self.warn(&Warning::Shared { paths });
        }
    }

    /// Writes down what the agent left, for whoever comes next. What can't be told counts as after a death.
    pub(super) async fn note_left(&mut self, place: &JobPlace, status: JobStatus) {
        let (Some(workspace), Some(_)) = (place.workspace(), &self.stock) else { return };
        if let Err(end) = self.try_note_left(workspace, status).await {
            self.warn(&Warning::LeftUnnoted(*end.why().failure));
        }
    }

    /// Whether a workspace has neither commits since its base nor a file that differs from them, but for what Spinney and
    /// `setup` brought. What can't be told may be work.
    pub(super) async fn is_untouched(&self, place: &JobPlace) -> bool {
        match place.workspace() {
            Some(workspace) => self.try_is_untouched(workspace).await.unwrap_or(false),
            None => false,
        }
    }

    async fn try_is_untouched(&self, workspace: &Workspace) -> Step<bool> {
        let Some(Stock { copies: Copies { brought, .. }, .. }) = &self.stock else { return Ok(false) };
        let tree = self.context.require_tree(workspace)?;
        let Some(head) = tree.load_head().await?.commit().cloned() else { return Ok(false) };
        if self.context.load_changes(&workspace.base_commit, &head).await?.commits > 0 {
            return Ok(false);
        }
        let files = tree.load_files(false).await?;
        let is_brought = |path: &String, identity| brought.has_copied(path) || brought.made.get(path) == Some(identity);
        Ok(files.repositories.is_empty() && texts(&files).iter().all(|(path, identity)| is_brought(path, identity)))
    }

    async fn try_note_left(&mut self, workspace: &Workspace, status: JobStatus) -> Step<()> {
        let tree = self.context.require_tree(workspace)?;
        let head = tree.load_head().await?.commit().cloned();
        let completed = status == JobStatus::Completed;
        let dropped = self.settle_tips(workspace, &tree, completed).await?;
        let Some(stock) = &mut self.stock else { return Ok(()) };
        let mut files = Identities::new();
        if !completed {
            files = texts(&tree.load_files(false).await?);
            let (began, brought) = (&stock.began, &stock.copies.brought);
            files.retain(|path, identity| began.found.get(path) != Some(identity) && !brought.has_copied(path));
        }
        stock.began.left = Some(Left { files, head, dropped, completed });
        let began = stock.began.clone();
        self.put_began(workspace, &began).await
    }
}

/// Refuses a workspace with somebody's uncommitted work.
fn refuse_dirty(workspace: &Workspace, began: &Began, brought: &Brought) -> Step<()> {
    let theirs: Vec<_> =
        began.found.iter().filter(|(path, identity)| brought.made.get(*path) != Some(*identity)).collect();
    if theirs.is_empty() {
        return Ok(());
    }
    let paths = theirs.iter().map(|(path, _)| shown(&text_path(path))).collect();
    let name = &workspace.name;
    let advice = Advice::SeeStatusOf { workspace: name.clone() };
    Err(End::Failed(Why::new(Failure::Dirty { workspace: name.clone(), paths }, vec![advice])))
}

fn texts(files: &Files) -> Identities {
    files.changed.iter().map(|(path, identity)| (path_text(path), identity.clone())).collect()
}

fn ignored_texts(files: &Files) -> BTreeMap<String, Option<String>> {
    files.ignored.iter().map(|(path, identity)| (path_text(path), identity.clone())).collect()
}

/// Whether a file was made and last written before a time.
fn is_older(path: &Path, at_ns: i64) -> bool {
    let Ok(found) = fs::symlink_metadata(path) else { return false };
    // Where the file system does not tell when a file was made, its last change of any kind stands for it.
    let made = found.created().map_or(found.ctime() * 1_000_000_000 + found.ctime_nsec(), ns_of);
    made <= at_ns && found.modified().is_ok_and(|written| ns_of(written) <= at_ns)
}

fn now_ns() -> i64 {
    ns_of(SystemTime::now())
}

fn ns_of(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}
