//! The template: one pristine tree per repository that others are filled from, where the file system shares blocks. It
//! is a member of the pool that is never handed out, made when it pays: for a pool, or from the second workspace on.

use std::path::{Path, PathBuf};

use spinney_core::{Workspace, WorkspaceId, WorkspaceStatus};
use spinney_git::{Index, ObjectFormat};

use super::Purpose;
use super::fill::{Patience, is_current};
use super::retire::Drained;
use super::survey::is_template;
use crate::create::plan::Base;
use crate::create::populate::{Capability, is_subvolume, may_share};
use crate::home::{disk, layout};
use crate::notice::Observer;
use crate::repositories::context::{Context, tree_root};
use crate::resolve::lookup::Among;
use crate::tree::Tree;
use crate::{Engine, Error, Result, fail};

/// Workspaces of a repository from which on a template pays without a pool.
const PAYS_FROM: usize = 2;

impl Engine {
    /// Whether the file system shares blocks, and there is enough to share them with.
    pub(super) async fn wants_template(&self, context: &Context) -> Result<bool> {
        if !may_share(context) {
            return Ok(false);
        }
        let live = self.workspaces(Some(&context.repository.id), Among::Live).await?;
        if context.config().pool.size == 0 && live.len() < PAYS_FROM {
            return Ok(false);
        }
        let place = self.place_of_members(context)?;
        Ok(place.is_dir() && self.capabilities().load_or_probe(&place) != Capability::None)
    }

    /// The tree root that a new member would lie in.
    fn place_of_members(&self, context: &Context) -> Result<PathBuf> {
        let id = WorkspaceId::generate();
        let (_, name, branch) = super::placeholder(&id, WorkspaceStatus::Warm)?;
        Ok(tree_root(&self.expand_path(context, &id, name.as_str(), &branch)).to_owned())
    }

    /// Makes the template, or brings it to base, where one is wanted.
    pub(super) async fn ensure_template(
        &self,
        context: &Context,
        base: &Base,
        patience: Patience,
        drained: &mut Drained,
        observer: &dyn Observer,
    ) -> Result<()> {
        let place = self.place_of_members(context)?;
        self.check_tree_root(context, &place.join("x")).await?;
        layout::make_tree_root(&place).map_err(Error::files(&place, "made"))?;
        if !self.wants_template(context).await? {
            return Ok(());
        }
        // Whoever copies from it now is done sooner than we are; the next filling sees to it.
        let Some(_lock) = self.try_own_template(&context.repository.id)? else { return Ok(()) };
        let mut kept = false;
        for template in self.templates(context).await? {
            let warm = template.metadata.warm.clone().unwrap_or_default();
            // One that can't be used under this base and these settings could not when it was made anew.
            if !kept && is_current(context, &template, &base.tip) && (warm.ready || warm.error.is_some()) {
                kept = true;
                continue;
            }
            if !kept && warm.ready && !self.is_stuck(context, &template).await? {
                let refreshed = self.refresh_member(context, &template, base, observer).await?;
                if refreshed.is_none_or(|row| row.metadata.warm.is_some_and(|warm| warm.error.is_none())) {
                    kept = true;
                    continue;
                }
            }
            // As it is by now.
            for template in self.templates(context).await?.iter().filter(|row| row.id == template.id) {
                self.retire_member(context, template, patience, drained, observer).await?;
            }
        }
        if kept {
            return Ok(());
        }
        self.check_disk(context, &base.tip).await?;
        self.make_member(context, base, Purpose::Template, observer).await.map(drop)
    }

    /// Whether a template is wanted that is not there, or not at base.
    pub(super) async fn template_wants_work(&self, context: &Context, base: Option<&Base>) -> Result<bool> {
        if !self.wants_template(context).await? {
            return Ok(false);
        }
        let Some(base) = base else { return Ok(false) };
        Ok(!self.templates(context).await?.iter().any(|row| is_current(context, row, &base.tip)))
    }

    /// The template, and others that are to be taken out.
    async fn templates(&self, context: &Context) -> Result<Vec<Workspace>> {
        let mut members = self.workspaces(Some(&context.repository.id), Among::Warm).await?;
        members.retain(is_template);
        Ok(members)
    }

    /// Refuses a template that nothing can be filled from: file by file, only plain files can be shared.
    pub(super) fn require_shareable(&self, template: &Workspace, tree: &Tree) -> Result<()> {
        // By this it is told later whether somebody staged something in it; a SHA-256 index is not read so.
        if tree.load_index_tree().is_none() {
            return Err(Error::Unshareable { path: "index".into() });
        }
        if is_subvolume(&template.path) {
            return Ok(());
        }
        let index = Index::load(&tree.admin_dir().join("index"), ObjectFormat::of(&template.base_commit))?;
        match index.entries().iter().find(|entry| !entry.is_plain()) {
            Some(entry) => Err(Error::Unshareable { path: entry.path().to_owned() }),
            None => Ok(()),
        }
    }

    /// Notes that the template is not what it should be, so that nobody uses it and the next filling replaces it.
    pub(crate) async fn spoil_template(&self, id: &WorkspaceId, why: &str) -> Result<()> {
        let mut db = self.store.write().await?;
        let Some(mut row) = db.workspace(id).await? else { return Ok(()) };
        let warm = row.metadata.warm.take().unwrap_or_default();
        row.metadata.warm = Some(warm.out_of_use(why));
        db.update_workspace(&row, &[WorkspaceStatus::Warm]).await?;
        Ok(db.commit().await?)
    }

    /// Makes a template's directory one that snapshots can be taken of, where the file system has them.
    pub(super) fn make_snapshotable(&self, tree: &Tree) -> Result<()> {
        let path = tree.path();
        if self.capabilities().load_or_probe(tree_root(path)) != Capability::Snapshot {
            return Ok(());
        }
        let Some(btrfs) = self.btrfs() else { return Ok(()) };
        let replaced = std::fs::remove_file(path.join(".git")).and_then(|()| std::fs::remove_dir(path));
        replaced.map_err(Error::files(path, "replaced"))?;
        fail::point("template.emptied")?;
        if btrfs.create(path).is_err() {
            // An ordinary directory serves too, file by file.
            std::fs::create_dir(path).map_err(Error::files(path, "made"))?;
        }
        fail::point("template.made")?;
        crate::create::populate::point_to_admin_dir(path, tree.admin_dir()).map_err(Error::files(path, "written"))
    }

    /// Lets whoever takes a member out write in it again.
    pub(super) fn unseal(&self, member: &Workspace) {
        self.seal(&member.path, false);
        if Purpose::of(member) == Purpose::Reading
            && let Err(error) = disk::allow_writing(&member.path)
        {
            tracing::debug!(%error, "a checkout that was read in can't be made writable");
        }
    }

    /// Lets nobody write in a template, or lets us write again; where the file system can't say so, nothing.
    pub(super) fn seal(&self, path: &Path, sealed: bool) {
        if let Some(btrfs) = self.btrfs()
            && is_subvolume(path)
            && let Err(error) = btrfs.set_read_only(path, sealed)
        {
            tracing::debug!(%error, "a template can't be sealed");
        }
    }
}
