//! Rows of the store that git and the disk do not agree with.

use spinney_core::workspace::Metadata;
use spinney_core::{Advice, Timestamp, Workspace, WorkspaceStatus};
use spinney_git::Presence;

use super::Findings;
use crate::home::links;
use crate::journal::events;
use crate::repositories::context::{Context, tree_root};
use crate::tree::marker::{Marker, Removal};
use crate::tree::{self, Opened, open};
use crate::{Engine, Error, Result};

/// How the reason begins for which reconciling itself marked a workspace broken.
const DAMAGED: &str = "damaged: ";

impl Engine {
    pub(super) async fn reconcile_row(
        &self,
        context: &Context,
        row: &Workspace,
        findings: &mut Findings,
    ) -> Result<()> {
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
                let tree = tree::trash_place(&self.home, &row.path, row.id.as_str());
                let admin_dir = tree::trashed_admin_dir(context, &row.id);
                for place in [tree, admin_dir] {
                    match Presence::of(&place) {
                        Presence::There => {}
                        Presence::Gone => {
                            let rest = self.what_is_left(context, row).await?;
                            let shown = place.display();
                            findings.seen(format!("{name} is in the trash, but `{shown}` is gone; {rest}"));
                        }
                        Presence::Hidden(error) => {
                            let error = spinney_git::Error::io("open", &place, error);
                            findings.seen_advised(format!("{name} is in the trash: {error}"), Advice::AskOwner);
                        }
                    }
                }
                Ok(())
            }
            WorkspaceStatus::Creating | WorkspaceStatus::Removing => {
                if self.store.read().await?.open_operation_of(&row.id).await?.is_none() {
                    findings.seen(format!("{name} is {}, but no process does it", row.status));
                }
                Ok(())
            }
            WorkspaceStatus::Warm => self.reconcile_warm(context, row, findings).await,
            // What is wrong with one to read in, who reads next finds, or a sweep.
            WorkspaceStatus::Reading | WorkspaceStatus::Purged => Ok(()),
        }
    }

    /// A member of the pool by its row, which its own marker says was handed out: the store is older than the disk.
    async fn reconcile_warm(&self, context: &Context, row: &Workspace, findings: &mut Findings) -> Result<()> {
        let Opened::Whole(tree) = open(context, row) else { return Ok(()) };
        let marker = Marker::load(tree.admin_dir()).filter(|marker| marker.ready && marker.id == row.id);
        let Some(marker) = marker else { return Ok(()) };
        let name = marker.work.workspace_name();
        findings.done(format!("{name}: the store says warm, but it was handed out"), "marked active");
        if !findings.dry_run {
            let back = Workspace {
                work: marker.work.clone(),
                branch: marker.branch,
                base_branch: marker.base_branch,
                base_commit: marker.base_commit,
                name,
                status: WorkspaceStatus::Active,
                metadata: Metadata::default(),
                ..row.clone()
            };
            let mut db = self.store.write().await?;
            if db.update_workspace(&back, &[WorkspaceStatus::Warm]).await? {
                db.insert_work(&back.repository_id, &back.work, &back.id).await?;
                events::record_found(&mut db, &back)?;
            }
            db.commit().await?;
        }
        Ok(())
    }

    /// A restore from the archive that died: what is whole is in the trash again, halves are dropped.
    async fn reconcile_purged(&self, context: &Context, row: &Workspace, findings: &mut Findings) -> Result<()> {
        let tree = tree::trash_place(&self.home, &row.path, row.id.as_str());
        let rebuilt = tree.exists() && tree::trashed_admin_dir(context, &row.id).exists();
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
                if db.update_workspace(&trashed, &[row.status]).await? {
                    events::record_found(&mut db, &trashed)?;
                }
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
        match tree::find_admin_dir(context, row) {
            Err(Error::OtherHome { .. }) => {
                let what = format!("{name}: `{}` is a workspace of another Spinney home", row.path.display());
                findings.done(what, "forgotten here");
                return if findings.dry_run { Ok(()) } else { self.forget_row(row).await };
            }
            Err(error @ Error::MovedAway { .. }) => {
                findings.seen(error.to_string());
                return Ok(());
            }
            _ => {}
        }
        let (status, reason) = match open(context, row) {
            Opened::Whole(tree) => {
                if row.adopted_from.is_some() && Marker::load(tree.admin_dir()).is_none() {
                    findings.done(format!("{name} was adopted, but carries no mark"), "marked");
                    if !findings.dry_run {
                        self.mark_adopted(context, &tree, row).await?;
                    }
                }
                (WorkspaceStatus::Active, None)
            }
            Opened::Missing => match self.where_it_went(context, row) {
                Some(gone) => return self.reconcile_gone(row, gone, findings).await,
                None => (WorkspaceStatus::Lost, None),
            },
            Opened::RootMissing => {
                findings
                    .seen(format!("{name}: `{}` is not there: is its disk mounted?", tree_root(&row.path).display()));
                return Ok(());
            }
            Opened::Hidden(error) => {
                findings.seen_advised(format!("{name}: {error}"), Advice::AskOwner);
                return Ok(());
            }
            Opened::Damaged(error) => (WorkspaceStatus::Broken, Some(format!("{DAMAGED}{error}"))),
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
            if db.update_workspace(&marked, &[row.status]).await? {
                events::record_found(&mut db, &marked)?;
            }
            db.commit().await?;
        }
        Ok(())
    }

    /// Drops a row; what it named is another home's and stays.
    async fn forget_row(&self, row: &Workspace) -> Result<()> {
        links::drop(&self.home, row);
        let mut db = self.store.write().await?;
        db.delete_workspace(&row.id).await?;
        Ok(db.commit().await?)
    }

    /// Whether a removed workspace stands in its place, whole and under its own id: the store is older than the disk.
    pub(crate) fn is_back(&self, context: &Context, row: &Workspace) -> bool {
        let Opened::Whole(tree) = open(context, row) else { return false };
        Marker::load(tree.admin_dir()).is_some_and(|marker| marker.id == row.id)
    }

    async fn mark_back(&self, row: &Workspace) -> Result<()> {
        let back = Workspace { status: WorkspaceStatus::Active, removed_at: None, ..row.clone() };
        let mut db = self.store.write().await?;
        if db.workspace_on_branch(&row.repository_id, &row.branch).await?.is_none()
            && db.update_workspace(&back, &[row.status]).await?
        {
            db.insert_work(&row.repository_id, &row.work, &row.id).await?;
            events::record_found(&mut db, &back)?;
        }
        Ok(db.commit().await?)
    }

    /// Where a live row's directory is by now, when the store is older than the disk: in the trash, or in an archive.
    pub(crate) fn where_it_went(&self, context: &Context, row: &Workspace) -> Option<WorkspaceStatus> {
        let tree = tree::trash_place(&self.home, &row.path, row.id.as_str());
        if Removal::load(&tree::trashed_admin_dir(context, &row.id)).is_some() && tree.exists() {
            return Some(WorkspaceStatus::Trashed);
        }
        let is_registered = !matches!(tree::find_admin_dir(context, row), Ok(None));
        (self.archive_of(row).is_some() && !is_registered).then_some(WorkspaceStatus::Purged)
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
            events::record_found(&mut db, &gone)?;
        }
        Ok(db.commit().await?)
    }

    /// Where else the work of a damaged trash entry is.
    async fn what_is_left(&self, context: &Context, row: &Workspace) -> Result<String> {
        let rescue = tree::rescue_ref(&row.id);
        Ok(match (self.archive_of(row), context.load_ref(&rescue).await?) {
            (Some(archive), _) => format!("`{}` still has it", archive.display()),
            (None, Some(_)) => format!("its commits are in `{rescue}`"),
            (None, None) => format!("its branch `{}` is all that may be left", row.branch),
        })
    }
}
