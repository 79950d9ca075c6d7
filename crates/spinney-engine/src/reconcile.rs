//! Compares what the store says with what git and the disk say, and mends what can be mended without loss.
//!
//! The matrix is total: every combination that is not named below is kept and reported. Doing it twice changes nothing.
//!
//! | row | admin dir | directory | what happens |
//! | --- | --- | --- | --- |
//! | active | there | there | nothing |
//! | active | any | gone, its root is there | `lost`; its branch is still in git |
//! | active | any | root not there | reported: is its disk mounted? |
//! | active | gone or damaged | there | `broken`, with the reason |
//! | lost, broken | there | there | `active` again |
//! | active, lost | in the trash, or in an archive | the same | `trashed`, `purged`: the store is older than the disk |
//! | trashed, purged | there, under its id | there | `active`: the same |
//! | trashed | in the trash | in the trash | nothing |
//! | purged | in the trash | in the trash | `trashed` again: a restore from the archive died |
//! | trashed | gone, or not | gone, or not | reported; an archive or rescue ref is named |
//! | active, lost | there, at another place | there, at that place | followed |
//! | none | ours by its marker | there | adopted under its old id |
//! | none | ours by its marker | gone, its root is there | its row comes back, `lost` |
//! | none | in the trash, ours by its marker | in the trash | its row comes back, `trashed` |
//! | none | in an archive, ours by its marker | – | its row comes back, `purged` |
//! | none | somebody else's | any | reported |
//! | none | none | in a tree root | reported |
//! | any | `undo-…`, `purge-…` of a closed operation | the same | deleted: it was moved aside to be |

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use spinney_core::{Timestamp, Workspace, WorkspaceStatus};
use spinney_git::{Worktree, is_abandoned_scratch};

use crate::cleanup::CACHE;
use crate::context::{Context, tree_root};
use crate::lookup::Among;
use crate::provider::marker::{Marker, Removal};
use crate::provider::worktree::{self, Tree, open};
use crate::trash::VIEW;
use crate::{Engine, Error, Result, disk, home, links};

/// How the reason begins for which reconciling itself marked a workspace broken.
const DAMAGED: &str = "damaged: ";

/// One thing that was not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub what: String,
    /// What was done about it; none when it was only seen.
    pub done: Option<String>,
}

/// Collects findings; with a dry run nothing is done about them.
struct Findings {
    list: Vec<Finding>,
    dry_run: bool,
}

impl Findings {
    fn seen(&mut self, what: String) {
        self.list.push(Finding { what, done: None });
    }

    fn done(&mut self, what: String, done: &str) {
        let done = if self.dry_run { format!("would be {done}") } else { done.to_owned() };
        self.list.push(Finding { what, done: Some(done) });
    }
}

impl Engine {
    /// Reconciles one repository of this node.
    pub async fn reconcile(&self, context: &Context, dry_run: bool) -> Result<Vec<Finding>> {
        let mut findings = Findings { list: Vec::new(), dry_run };
        let rows = self.workspaces(Some(&context.repository.id), Among::All).await?;
        for row in &rows {
            self.reconcile_row(context, row, &mut findings).await?;
        }
        if !dry_run {
            let rows = self.workspaces(Some(&context.repository.id), Among::All).await?;
            rows.iter().for_each(|row| links::mend(&self.home, row));
        }
        self.reconcile_worktrees(context, &mut findings).await?;
        self.reconcile_trash(context, &mut findings).await?;
        self.reconcile_archives(context, &mut findings).await?;
        self.reconcile_directories(&rows, &mut findings)?;
        self.sweep_leftovers(context, &rows, &mut findings).await?;
        Ok(findings.list)
    }

    async fn reconcile_row(&self, context: &Context, row: &Workspace, findings: &mut Findings) -> Result<()> {
        let name = &row.name;
        match row.status {
            WorkspaceStatus::Active | WorkspaceStatus::Lost | WorkspaceStatus::Broken => {
                self.reconcile_live(context, row, findings).await
            }
            WorkspaceStatus::Purged if !self.is_back(context, row) => {
                self.reconcile_purged(context, row, findings).await
            }
            WorkspaceStatus::Trashed | WorkspaceStatus::Purged if self.is_back(context, row) => {
                findings.done(format!("{name}: the store says {}, but it was restored", row.status), "marked active");
                if !findings.dry_run {
                    self.mark_back(row).await?;
                }
                Ok(())
            }
            WorkspaceStatus::Trashed => {
                let tree = worktree::trash_place(&self.home, &row.path, row.id.as_str());
                let admin_dir = worktree::trashed_admin_dir(context, &row.id);
                for missing in [tree, admin_dir].iter().filter(|place| !place.exists()) {
                    let rest = self.what_is_left(context, row).await?;
                    findings.seen(format!("{name} is in the trash, but `{}` is gone; {rest}", missing.display()));
                }
                Ok(())
            }
            WorkspaceStatus::Creating | WorkspaceStatus::Removing => {
                if self.store.read().await?.open_operation_of(&row.id).await?.is_none() {
                    findings.seen(format!("{name} is {}, but nobody does it", row.status));
                }
                Ok(())
            }
            WorkspaceStatus::Warm | WorkspaceStatus::Purged => Ok(()),
        }
    }

    /// A restore from the archive that died: what is whole is in the trash again, halves are dropped.
    async fn reconcile_purged(&self, context: &Context, row: &Workspace, findings: &mut Findings) -> Result<()> {
        let tree = worktree::trash_place(&self.home, &row.path, row.id.as_str());
        let rebuilt = tree.exists() && worktree::trashed_admin_dir(context, &row.id).exists();
        let left = self.half_rebuilt(context, row);
        if !rebuilt && left.is_empty() {
            return Ok(());
        }
        let Some(_held) = self.hold_archive(row)? else { return Ok(()) };
        for place in left {
            findings.done(format!("`{}` is left of a restore that died", place.display()), "deleted");
            if !findings.dry_run {
                self.drop_half_rebuilt(row, &place)?;
            }
        }
        if rebuilt {
            findings.done(format!("{} was brought back from its archive, but not restored", row.name), "taken in");
            if !findings.dry_run {
                let status = WorkspaceStatus::Trashed;
                let trashed = Workspace { status, removed_at: Some(Timestamp::now()), ..row.clone() };
                let mut db = self.store.write().await?;
                db.update_workspace(&trashed, &[row.status]).await?;
                db.commit().await?;
            }
        }
        Ok(())
    }

    async fn reconcile_live(&self, context: &Context, row: &Workspace, findings: &mut Findings) -> Result<()> {
        let name = &row.name;
        if self.store.read().await?.open_operation_of(&row.id).await?.is_some() {
            findings.seen(format!("{name}: an operation on it is still to be finished"));
            return Ok(());
        }
        let (status, reason) = match open(context, &row.path) {
            Tree::Whole(tree) => {
                if row.adopted_from.is_some() && Marker::load(tree.admin_dir()).is_none() {
                    findings.done(format!("{name} was adopted, but carries no mark"), "marked");
                    if !findings.dry_run {
                        self.mark_adopted(context, &tree, row).await?;
                    }
                }
                (WorkspaceStatus::Active, None)
            }
            Tree::Missing => match self.where_it_went(context, row) {
                Some(gone) => return self.reconcile_gone(row, gone, findings).await,
                None => (WorkspaceStatus::Lost, None),
            },
            Tree::RootMissing => {
                findings
                    .seen(format!("{name}: `{}` is not there: is its disk mounted?", tree_root(&row.path).display()));
                return Ok(());
            }
            Tree::Damaged(error) => (WorkspaceStatus::Broken, Some(format!("{DAMAGED}{error}"))),
        };
        // A removal or set-up that failed stays broken until it is tried again; only a damaged tree can be whole again.
        let failed = row.status == WorkspaceStatus::Broken
            && !row.error.as_deref().is_some_and(|error| error.starts_with(DAMAGED));
        if status == row.status || failed {
            return Ok(());
        }
        let what = match (&reason, status) {
            (Some(reason), _) => format!("{name}: {reason}"),
            (None, WorkspaceStatus::Lost) => {
                format!("{name}: its directory is gone, its branch `{}` is in git", row.branch)
            }
            (None, _) => format!("{name} is whole again"),
        };
        findings.done(what, &format!("marked {status}"));
        if !findings.dry_run {
            let marked = Workspace { status, error: reason, ..row.clone() };
            let mut db = self.store.write().await?;
            db.update_workspace(&marked, &[row.status]).await?;
            db.commit().await?;
        }
        Ok(())
    }

    /// Whether a removed workspace stands in its place, whole and under its own id: the store is older than the disk.
    fn is_back(&self, context: &Context, row: &Workspace) -> bool {
        let Tree::Whole(tree) = open(context, &row.path) else { return false };
        Marker::load(tree.admin_dir()).is_some_and(|marker| marker.id == row.id)
    }

    async fn mark_back(&self, row: &Workspace) -> Result<()> {
        let back = Workspace { status: WorkspaceStatus::Active, removed_at: None, ..row.clone() };
        let mut db = self.store.write().await?;
        if db.workspace_on_branch(&row.repository_id, &row.branch).await?.is_none()
            && db.update_workspace(&back, &[row.status]).await?
        {
            db.insert_work(&row.repository_id, &row.work, &row.id).await?;
        }
        Ok(db.commit().await?)
    }

    /// Where a live row's directory is by now, when the store is older than the disk: in the trash, or in an archive.
    pub(crate) fn where_it_went(&self, context: &Context, row: &Workspace) -> Option<WorkspaceStatus> {
        let tree = worktree::trash_place(&self.home, &row.path, row.id.as_str());
        if Removal::load(&worktree::trashed_admin_dir(context, &row.id)).is_some() && tree.exists() {
            return Some(WorkspaceStatus::Trashed);
        }
        let registered = worktree::find_admin_dir(context, row).is_ok_and(|found| found.is_some());
        (self.archive_of(row).is_some() && !registered).then_some(WorkspaceStatus::Purged)
    }

    /// A row that says live of what was removed: the store is older than the disk.
    async fn reconcile_gone(&self, row: &Workspace, status: WorkspaceStatus, findings: &mut Findings) -> Result<()> {
        findings.done(
            format!("{}: the store says {}, but it was removed", row.name, row.status),
            &format!("marked {status}"),
        );
        if !findings.dry_run {
            self.mark_gone(row, status).await?;
        }
        Ok(())
    }

    pub(crate) async fn mark_gone(&self, row: &Workspace, status: WorkspaceStatus) -> Result<()> {
        let gone = Workspace { status, error: None, removed_at: Some(Timestamp::now()), ..row.clone() };
        let mut db = self.store.write().await?;
        if db.update_workspace(&gone, &[row.status]).await? {
            db.delete_works(&row.id).await?;
            db.delete_ports(&row.id).await?;
            db.unbind_conversations(&row.id).await?;
        }
        Ok(db.commit().await?)
    }

    /// Where else the work of a damaged trash entry is.
    async fn what_is_left(&self, context: &Context, row: &Workspace) -> Result<String> {
        let rescue = worktree::rescue_ref(&row.id);
        Ok(match (self.archive_of(row), context.git.load_ref(&rescue).await?) {
            (Some(archive), _) => format!("`{}` still has it", archive.display()),
            (None, Some(_)) => format!("its commits are in `{rescue}`"),
            (None, None) => format!("its branch `{}` is all that may be left", row.branch),
        })
    }

    /// Worktrees that git knows and the store does not.
    async fn reconcile_worktrees(&self, context: &Context, findings: &mut Findings) -> Result<()> {
        for entry in context.git.load_worktrees().await?.into_iter().filter(|entry| !entry.is_main && !entry.bare) {
            if self.store.read().await?.workspace_at(self.home.node(), &entry.path).await?.is_some() {
                continue;
            }
            let shown = entry.path.display();
            let Ok(tree) = Worktree::open(&context.git, &entry.path) else {
                self.reconcile_missing(context, &entry.path, findings).await?;
                continue;
            };
            let Some(marker) = Marker::load(tree.admin_dir()) else {
                findings.seen(format!("worktree `{shown}` was made by somebody else; `spinney adopt` takes it in"));
                continue;
            };
            if !self.is_of_this_home(&marker) {
                findings.seen(format!("worktree `{shown}` belongs to another Spinney home; it is left alone"));
                continue;
            }
            if let Some(row) = self.store.read().await?.workspace(&marker.id).await? {
                self.reconcile_moved(context, &row, &tree, findings).await?;
                continue;
            }
            findings.done(format!("worktree `{shown}` is ours, but the store does not know it"), "adopted");
            if !findings.dry_run
                && let Err(error) = self.adopt_marked(context, &tree).await
            {
                findings.seen(format!("worktree `{shown}` can't be adopted: {error}"));
            }
        }
        Ok(())
    }

    /// A worktree with a known workspace's mark at another place: followed, if the workspace is not where it was.
    async fn reconcile_moved(
        &self,
        context: &Context,
        row: &Workspace,
        tree: &Worktree,
        findings: &mut Findings,
    ) -> Result<()> {
        let (name, place) = (&row.name, tree.path().display());
        let live = matches!(row.status, WorkspaceStatus::Active | WorkspaceStatus::Lost | WorkspaceStatus::Broken);
        if !live || !matches!(open(context, &row.path), Tree::Missing) {
            findings.seen(format!("worktree `{place}` carries the mark of {name}, which is {}", row.status));
            return Ok(());
        }
        findings.done(format!("{name} was moved to `{place}`"), "followed");
        if !findings.dry_run {
            let status = WorkspaceStatus::Active;
            let moved = Workspace { path: tree.path().to_owned(), status, error: None, ..row.clone() };
            Marker::of(&moved).write(tree.admin_dir())?;
            let mut db = self.store.write().await?;
            db.update_workspace(&moved, &[row.status]).await?;
            db.commit().await?;
            let _ = home::make_tree_root(tree_root(&moved.path));
            let _ = links::make(&self.home, &moved);
        }
        Ok(())
    }

    /// Whether a marker was written by this home; one without a word about it was.
    fn is_of_this_home(&self, marker: &Marker) -> bool {
        marker.node.as_ref().is_none_or(|node| node == self.home.node())
    }

    /// A worktree that git knows, the store does not, and that is not there: ours is `lost`, another's only seen.
    async fn reconcile_missing(&self, context: &Context, path: &Path, findings: &mut Findings) -> Result<()> {
        let shown = path.display();
        let marker = match worktree::find_admin_dir_of(context, path)? {
            Some(admin_dir) => Marker::load(&admin_dir),
            None => None,
        };
        let ours = |marker: &Marker| self.is_of_this_home(marker) && matches!(open(context, path), Tree::Missing);
        let Some(marker) = marker.filter(ours) else {
            findings.seen(format!("worktree `{shown}` is registered in git, but not there or damaged"));
            return Ok(());
        };
        if self.store.read().await?.workspace(&marker.id).await?.is_some() {
            findings.seen(format!("worktree `{shown}` is registered in git, but not there"));
            return Ok(());
        }
        findings.done(format!("worktree `{shown}` was ours and is gone; git still has its part"), "taken in as lost");
        if !findings.dry_run {
            let row = self.new_row(context, Marker { path: path.to_owned(), ..marker }, WorkspaceStatus::Lost);
            self.insert_row(&row, std::slice::from_ref(&row.work)).await?;
            links::drop(&self.home, &row);
        }
        Ok(())
    }

    /// Gives a worktree that carries our marker its row back.
    async fn adopt_marked(&self, context: &Context, tree: &Worktree) -> Result<()> {
        let Some(marker) = Marker::load(tree.admin_dir()) else { return Ok(()) };
        let branch = tree.load_head().await?.branch().cloned().unwrap_or(marker.branch.clone());
        let marker = Marker { branch, path: tree.path().to_owned(), ..marker };
        let row = self.new_row(context, marker, WorkspaceStatus::Active);
        self.insert_row(&row, std::slice::from_ref(&row.work)).await
    }

    /// Trash that the store does not know: a lost or older database.
    async fn reconcile_trash(&self, context: &Context, findings: &mut Findings) -> Result<()> {
        for admin_dir in directories(&context.git.state_dir())? {
            let (Some(marker), Some(removal)) = (Marker::load(&admin_dir), Removal::load(&admin_dir)) else { continue };
            let tree = worktree::trash_place(&self.home, &marker.path, marker.id.as_str());
            let known = self.store.read().await?.workspace(&marker.id).await?;
            let named = admin_dir.file_name() == Some(marker.id.as_str().as_ref());
            if known.is_some() || !named || !self.is_of_this_home(&marker) {
                continue;
            }
            // A workspace whose directory was gone already has only git's part in the trash.
            let shown = if tree.exists() { &tree } else { &admin_dir };
            findings.done(format!("`{}` is in the trash, but the store does not know it", shown.display()), "taken in");
            if !findings.dry_run {
                let branch = removal.branch.unwrap_or_else(|| marker.branch.clone());
                let row = self.new_row(context, Marker { branch, ..marker }, WorkspaceStatus::Trashed);
                self.insert_row(&Workspace { removed_at: Some(Timestamp::now()), ..row }, &[]).await?;
            }
        }
        Ok(())
    }

    /// Archives that the store does not know: a lost or older database.
    async fn reconcile_archives(&self, context: &Context, findings: &mut Findings) -> Result<()> {
        for place in self.archives()? {
            let id = place.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".tar.zst"));
            let Some(Ok(id)) = id.map(str::parse::<spinney_core::WorkspaceId>) else { continue };
            if self.store.read().await?.workspace(&id).await?.is_some() {
                continue;
            }
            let shown = place.display();
            let Some(marker) = crate::trash::load_marker(&place) else {
                findings.seen(format!("`{shown}` can't be read; it is kept"));
                continue;
            };
            if marker.repository != context.repository.name {
                continue;
            }
            findings.done(format!("`{shown}` is the archive of a workspace that the store does not know"), "taken in");
            if !findings.dry_run {
                let row = self.new_row(context, marker, WorkspaceStatus::Purged);
                self.insert_row(&Workspace { removed_at: Some(Timestamp::now()), ..row }, &[]).await?;
            }
        }
        Ok(())
    }

    /// Directories in our tree roots that nobody knows: kept and reported.
    fn reconcile_directories(&self, rows: &[Workspace], findings: &mut Findings) -> Result<()> {
        for root in tree_roots(rows).into_iter().filter(|root| root.starts_with(self.home.root().join("trees"))) {
            for directory in directories(root)? {
                let known = rows.iter().any(|row| row.path == directory);
                let hidden = directory.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
                if !known && !hidden && !directory.join(".git").exists() {
                    findings.seen(format!("`{}` belongs to no workspace; it is kept", directory.display()));
                }
            }
        }
        Ok(())
    }

    /// What an undo or a purge had moved aside to delete, and died over; and scratch of processes that died.
    async fn sweep_leftovers(&self, context: &Context, rows: &[Workspace], findings: &mut Findings) -> Result<()> {
        for lock in context.git.stale_locks() {
            findings.done(format!("`{}` was left by a git that was killed", lock.display()), "deleted");
            if !findings.dry_run {
                let _held = context.git.lock("cleanup").await?;
                context.git.clear_if_stale(&lock);
            }
        }
        let open = self.store.read().await?.open_operations(self.home.node()).await?;
        let mut places = vec![self.home.root().join("trash"), context.git.state_dir()];
        places.extend(tree_roots(rows).into_iter().map(|root| root.join(worktree::TRASH_BESIDE)));
        for directory in places.iter().map(|place| directories(place)).collect::<Result<Vec<_>>>()?.concat() {
            let name = directory.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let operation = name.strip_prefix("undo-").or_else(|| name.strip_prefix("purge-"));
            let operation = operation.and_then(|id| id.parse::<spinney_core::OperationId>().ok());
            let closed = operation.is_some_and(|id| open.iter().all(|known| known.id != id));
            let workspace =
                name.strip_prefix(VIEW).or_else(|| name.strip_prefix(CACHE)?.rsplit_once('-').map(|(id, _)| id));
            let unused = workspace.is_some_and(|id| open.iter().all(|known| known.workspace_id.as_str() != id));
            if !closed && !unused && !is_abandoned_scratch(name) {
                continue;
            }
            findings.done(format!("`{}` was left to be deleted", directory.display()), "deleted");
            if !findings.dry_run {
                disk::delete_moved_aside(&directory).map_err(Error::files(&directory, "deleted"))?;
            }
        }
        Ok(())
    }

    async fn insert_row(&self, row: &Workspace, works: &[spinney_core::Work]) -> Result<()> {
        let mut db = self.store.write().await?;
        db.ensure_node(self.home.node(), "").await?;
        if !db.insert_workspace(row).await? {
            return Err(Error::Busy { name: row.name.clone() });
        }
        for work in works {
            db.insert_work(&row.repository_id, work, &row.id).await?;
        }
        db.commit().await?;
        if row.status == WorkspaceStatus::Active {
            let _ = home::make_tree_root(tree_root(&row.path));
            let _ = links::make(&self.home, row);
        }
        Ok(())
    }
}

/// The directories that hold these workspaces.
fn tree_roots(rows: &[Workspace]) -> Vec<&Path> {
    let mut roots: Vec<&Path> = rows.iter().map(|row| tree_root(&row.path)).collect();
    roots.sort();
    roots.dedup();
    roots
}

/// The directories in a directory; none where it is not there.
fn directories(place: &Path) -> Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(place) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::files(place, "read")(error)),
    };
    let mut found: Vec<PathBuf> = entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect();
    found.sort();
    Ok(found)
}
