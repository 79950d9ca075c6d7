//! Writes down what Spinney puts into a workspace, so that nothing of it is taken for an agent's work.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use async_recursion::async_recursion as boxed;
use spinney_core::{Brought, CommitId, Workspace, WorkspaceId, path_text, text_path};
use spinney_git::ObjectFormat;

use super::copy::{self, Carried, contents_of, is_same_as_in_main_checkout};
use crate::repositories::context::Context;
use crate::tree::Tree;
use crate::{Engine, Error, Result};

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

    /// Loads what Spinney copied: what was written down, and for a workspace of which nothing was, or whose settings have
    /// changed since, the files that the settings name and that the main checkout has just so. Writes down what is in them
    /// now.
    #[boxed]
    pub async fn load_copies(&self, context: &Context, workspace: &Workspace) -> Result<Copies> {
        let mut db = self.store.read().await?;
        let mut brought = db.brought(&workspace.id).await?.unwrap_or_default();
        // Older versions wrote contents down there.
        let mut contents = db.began(&workspace.id).await?.map(|began| began.contents).unwrap_or_default();
        drop(db);
        if let Some(root) = context.root() {
            let files = context.load_ignored(&copy::load_patterns(context, root)?).await?;
            let same = files.iter().filter(|file| is_same_as_in_main_checkout(context, &workspace.path, file));
            brought.copied.extend(same.map(|file| path_text(file)));
            brought.directories.extend(artifacts_in(context, workspace));
            // A copy that nobody noted may have another name by now.
            let named = files.iter().map(|file| path_text(file));
            let unnoted = named.filter(|path| !brought.digests.contains_key(path)).collect();
            contents.extend(load_contents(root, unnoted, workspace).await?);
        }
        let mut copies = self.copies(context, workspace, brought).await?;
        contents.extend(load_contents(&workspace.path, copies.brought.copied.clone(), workspace).await?);
        contents.retain(|content, _| !copies.anywhere.contents.contains_key(content));
        if !contents.is_empty() {
            self.record_contents(workspace, contents).await?;
            copies = self.copies(context, workspace, copies.brought).await?;
        }
        Ok(copies)
    }

    /// Loads again what was copied into any workspace of the repository.
    #[boxed]
    pub async fn load_copies_again(&self, context: &Context, workspace: &Workspace, copies: &mut Copies) -> Result<()> {
        *copies = self.copies(context, workspace, copies.brought.clone()).await?;
        Ok(())
    }

    async fn copies(&self, context: &Context, workspace: &Workspace, mut brought: Brought) -> Result<Copies> {
        let mut anywhere = Brought::default();
        for other in self.store.read().await?.brought_in_all(&workspace.repository_id).await? {
            anywhere.add(Brought { digests: BTreeMap::new(), made: BTreeMap::new(), ..other });
        }
        anywhere.copied.extend(brought.copied.iter().cloned());
        anywhere.directories.extend(brought.directories.iter().cloned());
        let mut beyond_base = anywhere.clone();
        let listed: Vec<_> = anywhere.copied.union(&anywhere.directories).map(|path| text_path(path)).collect();
        for path in context.load_existing_paths(&workspace.base_commit, &listed).await? {
            let path = path_text(&path);
            for known in [&mut brought, &mut beyond_base] {
                known.copied.remove(&path);
                known.directories.remove(&path);
            }
        }
        if !beyond_base.contents.is_empty() {
            let known = context.load_blobs(&workspace.base_commit).await?;
            beyond_base.contents.retain(|content, _| !known.contains(content));
        }
        Ok(Copies { brought, anywhere, beyond_base })
    }

    /// Notes further contents of copied files.
    #[boxed]
    pub async fn record_contents(&self, workspace: &Workspace, contents: BTreeMap<String, String>) -> Result<()> {
        self.add_brought(&workspace.id, Brought { contents, ..Brought::default() }).await
    }

    /// Notes that a person accepted a commit with copied files.
    #[boxed]
    pub async fn record_accepted(&self, workspace: &Workspace, commit: &CommitId) -> Result<()> {
        let accepted = [commit.clone()].into();
        self.add_brought(&workspace.id, Brought { accepted, ..Brought::default() }).await
    }
}

/// What Spinney copied, as it concerns one workspace.
#[derive(Debug, Clone, Default)]
pub struct Copies {
    /// What it put into this workspace. What the base commit has is nobody's copy.
    pub brought: Brought,
    /// What it ever copied into any workspace of the repository, as far as that is on record.
    pub anywhere: Brought,
    /// The same without what the base commit has.
    pub beyond_base: Brought,
}

impl Copies {
    /// Whether a file must not be committed: for its path, or for what is in it.
    #[must_use]
    pub fn has(&self, path: &str, content: &str) -> bool {
        self.brought.has_copied(path) || self.beyond_base.contents.contains_key(content)
    }
}

/// Git's names for what is in files now.
async fn load_contents(
    root: &Path,
    paths: BTreeSet<String>,
    workspace: &Workspace,
) -> Result<BTreeMap<String, String>> {
    if paths.is_empty() {
        return Ok(BTreeMap::new());
    }
    let (directory, format) = (root.to_owned(), ObjectFormat::of(&workspace.base_commit));
    let contents = tokio::task::spawn_blocking(move || contents_of(&directory, &paths, format)).await;
    contents.map_err(|error| Error::files(root, "read")(io::Error::other(error)))
}

fn copies(carried: &Carried) -> Brought {
    Brought {
        copied: carried.stamps.keys().cloned().collect(),
        digests: carried.digests.clone(),
        contents: carried.contents.clone(),
        ..Brought::default()
    }
}

/// The configured directories that a tree has.
fn artifacts_in(context: &Context, workspace: &Workspace) -> BTreeSet<String> {
    let directories = context.config().workspace.artifacts.iter();
    let there = directories.filter(|directory| workspace.path.join(directory).is_dir());
    there.map(|directory| path_text(Path::new(directory))).collect()
}
