//! Admission: how many workspaces, and how much disk.

use async_recursion::async_recursion as boxed;
use spinney_core::CommitId;
use spinney_core::config::Placeholder;

use crate::home::disk;
use crate::repositories::context::{Context, tree_root};
use crate::{Engine, Error, Result};

/// While this many times the tree's last known size fits, the tree is not measured again.
const AMPLE: u64 = 10;

impl Engine {
    /// Whether one workspace more would be within the limits, as far as that is known at once.
    #[boxed]
    pub async fn seems_to_have_room(&self, context: &Context) -> Result<bool> {
        let limits = &context.config().limits;
        let count = self
            .store
            .read()
            .await?
            .count_workspaces(&context.repository.id, self.home.node(), &crate::create::make::COUNTED)
            .await?;
        let place = self.tree_parent(context);
        let free = disk::free_bytes(&place).map_err(Error::files(&place, "inspected"))?;
        let needed = limits.min_free_disk.0.saturating_add(context.repository.tree_bytes.unwrap_or(0));
        Ok(count < u64::from(limits.max_workspaces) && free >= needed)
    }

    /// Refuses when the tree would not fit and leave `limits.min_free_disk` free.
    pub(crate) async fn check_disk(&self, context: &Context, commit: &CommitId) -> Result<()> {
        let kept = context.config().limits.min_free_disk.0;
        let place = self.tree_parent(context);
        let free = disk::free_bytes(&place).map_err(Error::files(&place, "inspected"))?;
        if let Some(known) = context.repository.tree_bytes
            && free >= kept.saturating_add(known.saturating_mul(AMPLE))
        {
            return Ok(());
        }
        let needed = context.load_tree_bytes(commit).await?;
        if free < kept.saturating_add(needed) {
            return Err(Error::LowDisk { free, needed, kept });
        }
        let repository = spinney_core::Repository { tree_bytes: Some(needed), ..context.repository.clone() };
        let mut db = self.store.write().await?;
        db.update_repository(&repository).await?;
        Ok(db.commit().await?)
    }

    /// The directory that new workspaces of a repository go to, as far as it is the same for all.
    fn tree_parent(&self, context: &Context) -> std::path::PathBuf {
        let root = context.place();
        let sample = context.config().workspace.path.expand(|placeholder| match placeholder {
            Placeholder::Home => self.home.root().display().to_string(),
            Placeholder::Root => root.display().to_string(),
            Placeholder::Parent => root.parent().unwrap_or(root).display().to_string(),
            _ => "x".to_owned(),
        });
        tree_root(std::path::Path::new(&sample)).to_owned()
    }
}
