//! What lies in git and on the disk without a row in the store.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use spinney_core::{Advice, Timestamp, Warm, Workspace, WorkspaceStatus};
use spinney_git::{Presence, is_abandoned_scratch};

use super::{Findings, directories, tree_roots};
use crate::cleanup::CACHE;
use crate::home::layout::{self, MARKER};
use crate::home::{disk, links};
use crate::journal::events;
use crate::repositories::context::{Context, tree_root};
use crate::trash::{ERASED_ASIDE, VIEW};
use crate::tree::homes;
use crate::tree::marker::{Marker, Removal};
use crate::tree::{self, Opened, Tree, open};
use crate::{Engine, Error, Result, pool};

impl Engine {
    /// Worktrees that git knows and the store does not.
    pub(super) async fn reconcile_worktrees(&self, context: &Context, findings: &mut Findings) -> Result<()> {
        for path in tree::places(context).await? {
            if self.store.read().await?.workspace_at(self.home.node(), &path).await?.is_some() {
                continue;
            }
            let shown = path.display();
            let tree = match tree::open_at(context, &path) {
                Ok(tree) => tree,
                Err(error) if error.is_denied() => {
                    findings
                        .seen_advised(format!("worktree `{shown}` may not be looked at: {error}"), Advice::AskOwner);
                    continue;
                }
                Err(_) => {
                    self.reconcile_missing(context, &path, findings).await?;
                    continue;
                }
            };
            let Some(marker) = Marker::load(tree.admin_dir()) else {
                findings.seen_advised(format!("worktree `{shown}` was made by somebody else"), Advice::Adopt);
                continue;
            };
            if !self.is_of_this_home(&marker) {
                findings
                    .seen(format!("worktree `{shown}` belongs to another Spinney home or account; it is left alone"));
                continue;
            }
            if let Some(row) = self.store.read().await?.workspace(&marker.id).await? {
                // An agent can write into a marker what it likes.
                if row.repository_id == context.repository.id {
                    self.reconcile_moved(context, &row, &tree, findings).await?;
                } else {
                    findings.seen(format!("worktree `{shown}` carries the mark of another repository's workspace"));
                }
                continue;
            }
            findings
                .done(format!("worktree `{shown}` belongs to this home, but the store does not know it"), "adopted");
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
        tree: &Tree,
        findings: &mut Findings,
    ) -> Result<()> {
        let (name, place) = (&row.name, tree.path().display());
        let live = matches!(row.status, WorkspaceStatus::Active | WorkspaceStatus::Lost | WorkspaceStatus::Broken);
        if !live || !matches!(open(context, row), Opened::Missing) {
            findings.seen(format!("worktree `{place}` carries the mark of {name}, which is {}", row.status));
            return Ok(());
        }
        // A mark can be copied; a branch is checked out once.
        if tree.load_head().await?.branch() != Some(&row.branch) {
            let branch = &row.branch;
            findings
                .seen(format!("worktree `{place}` carries the mark of {name}, and is not on its branch `{branch}`"));
            return Ok(());
        }
        findings.done(format!("{name} was moved to `{place}`"), "followed");
        if !findings.dry_run {
            let status = WorkspaceStatus::Active;
            let moved = Workspace { path: tree.path().to_owned(), status, error: None, ..row.clone() };
            Marker::of(&moved).write(tree.admin_dir())?;
            let mut db = self.store.write().await?;
            if db.update_workspace(&moved, &[row.status]).await? {
                events::record_found(&mut db, &moved)?;
            }
            db.commit().await?;
            let _ = layout::make_tree_root(tree_root(&moved.path));
            let _ = links::make(&self.home, &moved);
        }
        Ok(())
    }

    /// Whether a marker was written by this home, for this account; one without a word about the home was.
    pub(crate) fn is_of_this_home(&self, marker: &Marker) -> bool {
        marker.node.as_ref().is_none_or(|node| node == self.home.node()) && marker.account == self.account
    }

    /// A worktree that git knows, the store does not, and that is not there: ours is `lost`, another's only seen.
    async fn reconcile_missing(&self, context: &Context, path: &Path, findings: &mut Findings) -> Result<()> {
        let shown = path.display();
        let marker = match tree::find_admin_dir_of(context, path)? {
            Some(admin_dir) => Marker::load(&admin_dir),
            None => None,
        };
        let ours = |marker: &Marker| self.is_of_this_home(marker) && tree::is_missing(context, path);
        let Some(marker) = marker.filter(ours) else {
            findings.seen(format!("worktree `{shown}` is registered in git, but not there or damaged"));
            return Ok(());
        };
        if self.store.read().await?.workspace(&marker.id).await?.is_some() {
            findings.seen(format!("worktree `{shown}` is registered in git, but not there"));
            return Ok(());
        }
        if let Some(status) = pool::member_status(&marker) {
            findings.done(format!("worktree `{shown}` belonged to the pool and is gone"), "registered for replacement");
            return if findings.dry_run { Ok(()) } else { self.take_back_member(context, marker, status).await };
        }
        findings.done(
            format!("worktree `{shown}` belonged to this home and is gone; git still has its admin dir"),
            "registered as lost",
        );
        if !findings.dry_run {
            let marker = self.checked_base(context, Marker { path: path.to_owned(), ..marker }).await;
            let row = self.new_row(context, marker, WorkspaceStatus::Lost);
            self.insert_row(&row, std::slice::from_ref(&row.work)).await?;
            links::drop(&self.home, &row);
        }
        Ok(())
    }

    /// Gives a worktree that carries our marker its row back.
    pub(crate) async fn adopt_marked(&self, context: &Context, tree: &Tree) -> Result<()> {
        let Some(marker) = Marker::load(tree.admin_dir()) else { return Ok(()) };
        if let Some(status) = pool::member_status(&marker) {
            return self.take_back_member(context, marker, status).await;
        }
        let branch = tree.load_head().await?.branch().cloned().unwrap_or(marker.branch.clone());
        let marker = self.checked_base(context, Marker { branch, path: tree.path().to_owned(), ..marker }).await;
        let row = self.new_row(context, marker, WorkspaceStatus::Active);
        self.insert_row(&row, std::slice::from_ref(&row.work)).await
    }

    /// Gives a member of the pool, or one to read in, its row back. It is not used: how its preparation ended is not known any more.
    async fn take_back_member(&self, context: &Context, marker: Marker, status: WorkspaceStatus) -> Result<()> {
        let mut row = pool::as_member(self.new_row(context, marker, status), status)?;
        row.metadata.warm = Some(Warm { error: Some("its row was lost".to_owned()), ..Warm::default() });
        self.insert_row(&row, &[]).await
    }

    /// Trash that the store does not know: a lost or older database.
    pub(super) async fn reconcile_trash(&self, context: &Context, findings: &mut Findings) -> Result<()> {
        for admin_dir in directories(&context.state_dir())? {
            let (Some(marker), Some(removal)) = (Marker::load(&admin_dir), Removal::load(&admin_dir)) else { continue };
            let tree = tree::trash_place(&self.home, &marker.path, marker.id.as_str());
            let known = self.store.read().await?.workspace(&marker.id).await?;
            let named = admin_dir.file_name() == Some(marker.id.as_str().as_ref());
            if known.is_some() || !named || !self.is_of_this_home(&marker) {
                continue;
            }
            // A workspace whose directory was gone already has only git's part in the trash.
            let shown = if tree.exists() { &tree } else { &admin_dir };
            findings
                .done(format!("`{}` is in the trash, but the store does not know it", shown.display()), "registered");
            if !findings.dry_run {
                let branch = removal.branch.unwrap_or_else(|| marker.branch.clone());
                let marker = self.checked_base(context, Marker { branch, ..marker }).await;
                let path = self.checked_path(context, &marker).await;
                let row = self.new_row(context, Marker { path, ..marker }, WorkspaceStatus::Trashed);
                self.insert_row(&Workspace { removed_at: Some(Timestamp::now()), ..row }, &[]).await?;
            }
        }
        Ok(())
    }

    /// Archives that the store does not know: a lost or older database.
    pub(super) async fn reconcile_archives(&self, context: &Context, findings: &mut Findings) -> Result<()> {
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
            if marker.repository != context.repository.name || marker.account != self.account {
                continue;
            }
            findings
                .done(format!("`{shown}` is the archive of a workspace that the store does not know"), "registered");
            if !findings.dry_run {
                let path = self.checked_path(context, &marker).await;
                let row = self.new_row(context, Marker { path, ..marker }, WorkspaceStatus::Purged);
                self.insert_row(&Workspace { removed_at: Some(Timestamp::now()), ..row }, &[]).await?;
            }
        }
        Ok(())
    }

    /// Directories in our tree roots that nobody knows: kept and reported.
    pub(super) fn reconcile_directories(&self, rows: &[Workspace], findings: &mut Findings) -> Result<()> {
        for root in tree_roots(rows).into_iter().filter(|root| root.starts_with(self.home.root().join("trees"))) {
            for directory in readable_directories(root, findings)? {
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
    pub(super) async fn sweep_leftovers(
        &self,
        context: &Context,
        rows: &[Workspace],
        findings: &mut Findings,
    ) -> Result<()> {
        // In a member of the pool nobody but our own git has anything to do.
        let members = rows.iter().filter(|row| row.status == WorkspaceStatus::Warm);
        let indexes = members.filter_map(|row| Some(tree::find_admin_dir(context, row).ok()??.join("index.lock")));
        let stale = indexes.filter(|lock| context.is_stale(lock));
        for lock in context.stale_locks().into_iter().chain(stale) {
            findings.done(format!("`{}` was left by a git that was killed", lock.display()), "deleted");
            if !findings.dry_run {
                let _held = context.lock("cleanup").await?;
                context.clear_if_stale(&lock);
            }
        }
        for (tree, lock) in tree::stale_locks(context)? {
            findings.done(format!("`{}` was left by a git that was killed", lock.display()), "deleted");
            if !findings.dry_run {
                let _held = context.lock("cleanup").await?;
                tree.clear_if_stale(&lock);
            }
        }
        let open = self.store.read().await?.open_operations(self.home.node()).await?;
        let mut places = vec![self.home.root().join("trash"), context.state_dir()];
        let readable = tree_roots(rows).into_iter().filter(|root| Presence::of(&root.join(MARKER)).is_known());
        places.extend(readable.map(|root| root.join(tree::TRASH_BESIDE)));
        let mut found = Vec::new();
        for place in &places {
            found.extend(readable_directories(place, findings)?);
        }
        for directory in found {
            let name = directory.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let operation = ["undo-", "purge-", ERASED_ASIDE].iter().find_map(|begin| name.strip_prefix(begin));
            let operation = operation.and_then(|id| id.parse::<spinney_core::OperationId>().ok());
            let closed = operation.is_some_and(|id| open.iter().all(|known| known.id != id));
            let workspace =
                name.strip_prefix(VIEW).or_else(|| name.strip_prefix(CACHE)?.rsplit_once('-').map(|(id, _)| id));
            let unused = workspace.is_some_and(|id| open.iter().all(|known| known.workspace_id.as_str() != id));
            if (!closed && !unused && !is_abandoned_scratch(name)) || is_of_other_home(context, &directory, workspace) {
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
        events::record_found(&mut db, row)?;
        db.commit().await?;
        if row.status == WorkspaceStatus::Active {
            let _ = layout::make_tree_root(tree_root(&row.path));
            let _ = links::make(&self.home, row);
        }
        Ok(())
    }
}

/// The directories in a directory; one that may not be looked into is told.
fn readable_directories(place: &Path, findings: &mut Findings) -> Result<Vec<PathBuf>> {
    match fs::read_dir(place) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            let error = spinney_git::Error::io("read", place, error);
            findings.seen_advised(error.to_string(), Advice::AskOwner);
            Ok(Vec::new())
        }
        _ => directories(place),
    }
}

/// Whether what was moved aside in the repository's git dir is another home's, or looks at what is.
fn is_of_other_home(context: &Context, directory: &Path, workspace: Option<&str>) -> bool {
    let looked_at = workspace.map(|id| context.state_dir().join(id));
    [Some(directory.to_owned()), looked_at]
        .into_iter()
        .flatten()
        .any(|place| homes::other_home(context, &place).is_some())
}
