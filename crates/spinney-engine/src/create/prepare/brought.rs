//! Writes down what Spinney puts into a workspace, so that nothing of it is taken for an agent's work.

use std::collections::BTreeSet;
use std::path::Path;

use async_recursion::async_recursion as boxed;
use spinney_core::{Brought, Workspace, WorkspaceId, path_text, text_path};

use super::copy::{self, Carried, is_same_as_in_main_checkout};
use crate::repositories::context::Context;
use crate::tree::Tree;
use crate::{Engine, Result};

impl Engine {
    /// Notes what a new tree was given: copied files, directories, and what `setup` made.
    pub(crate) async fn record_brought(
        &self,
        context: &Context,
        workspace: &Workspace,
        tree: &Tree,
        carried: &Carried,
    ) -> Result<()> {
        let mut brought = copies(carried);
        brought.directories = artifacts_in(context, workspace);
        if !context.config().workspace.setup.is_empty() {
            let changed = tree.load_files(false).await?.changed;
            brought.made = changed.into_iter().map(|(path, identity)| (path_text(&path), identity)).collect();
            brought.made.retain(|path, _| !carried.stamps.contains_key(path));
        }
        if brought == Brought::default() {
            return Ok(());
        }
        self.add_brought(&workspace.id, brought).await
    }

    /// Notes further files that were copied, and others that were copied again.
    pub(crate) async fn record_copied(&self, workspace: &WorkspaceId, carried: &Carried) -> Result<()> {
        self.add_brought(workspace, copies(carried)).await
    }

    async fn add_brought(&self, workspace: &WorkspaceId, brought: Brought) -> Result<()> {
        let mut db = self.store.write().await?;
        let mut known = db.brought(workspace).await?.unwrap_or_default();
        known.add(brought);
        db.put_brought(workspace, &known).await?;
        Ok(db.commit().await?)
    }

    /// What Spinney put into a workspace: what was written down, and for a workspace of which nothing was, or whose
    /// settings have changed since, the files that the settings name and that the main checkout has just so. What its base
    /// commit has is nobody's copy.
    #[boxed]
    pub async fn load_brought(&self, context: &Context, workspace: &Workspace) -> Result<Brought> {
        let mut brought = self.store.read().await?.brought(&workspace.id).await?.unwrap_or_default();
        if let Some(root) = context.root() {
            let files = context.load_ignored(&copy::load_patterns(context, root)?).await?;
            let same = files.iter().filter(|file| is_same_as_in_main_checkout(context, &workspace.path, file));
            brought.copied.extend(same.map(|file| path_text(file)));
            brought.directories.extend(artifacts_in(context, workspace));
        }
        for paths in [&mut brought.copied, &mut brought.directories] {
            let listed: Vec<_> = paths.iter().map(|path| text_path(path)).collect();
            for path in context.load_existing_paths(&workspace.base_commit, &listed).await? {
                paths.remove(&path_text(&path));
            }
        }
        Ok(brought)
    }
}

fn copies(carried: &Carried) -> Brought {
    Brought { copied: carried.stamps.keys().cloned().collect(), digests: carried.digests.clone(), ..Brought::default() }
}

/// The configured directories that a tree has.
fn artifacts_in(context: &Context, workspace: &Workspace) -> BTreeSet<String> {
    let directories = context.config().workspace.artifacts.iter();
    let there = directories.filter(|directory| workspace.path.join(directory).is_dir());
    there.map(|directory| path_text(Path::new(directory))).collect()
}
