//! Directories that git does not track and that can be had without making them again, such as `node_modules`: carried
//! from the main checkout into the template, and from there into each workspace. Never by a link: what one workspace
//! writes, no other sees.

use std::fs;
use std::path::Path;

use spinney_core::Workspace;
use spinney_git::{Index, ObjectFormat};

use super::{CopyError, clone_directory};
use crate::create::prepare::copy::passes_link;
use crate::home::disk;
use crate::notice::{Notice, Observer, Warning};
use crate::repositories::context::Context;
use crate::tree::Tree;
use crate::{Engine, Error, Result};

/// What is copied, byte by byte, where nothing can be shared. More is quicker made by `setup`.
const COPIED_AT_MOST: u64 = 64 << 20;

/// Files that tell of a directory whose contents name their own place.
const TIED: [&str; 3] = ["pyvenv.cfg", "bin/activate", ".rustc_info.json"];

impl Engine {
    /// Carries the configured directories into a tree, from the template where there is one, else from the main
    /// checkout. What can't be carried is told, and left to `setup`.
    pub(crate) async fn bring_artifacts(
        &self,
        context: &Context,
        tree: &Path,
        template: Option<&Path>,
        observer: &dyn Observer,
    ) -> Result<()> {
        for directory in &context.config().workspace.artifacts {
            let directory = Path::new(directory);
            let from_template = template.filter(|template| template.join(directory).is_dir());
            let Some(source) = from_template.or_else(|| context.root()) else { continue };
            if !source.join(directory).is_dir() {
                continue;
            }
            if let Some(reason) = self.carry_artifact(context, source, tree, directory, observer).await? {
                observer(Notice::Warning(Warning::NotCopied { path: directory.to_owned(), reason }));
            }
        }
        Ok(())
    }

    /// Deletes what a template has of the configured directories, where the main checkout has them anew. What git has in
    /// one is part of the template's commit, and stays.
    pub(crate) async fn drop_outdated_artifacts(
        &self,
        context: &Context,
        template: &Workspace,
        tree: &Tree,
    ) -> Result<()> {
        let Some(root) = context.root() else { return Ok(()) };
        let index = Index::load(&tree.admin_dir().join("index"), ObjectFormat::of(&template.base_commit))?;
        for directory in context.config().workspace.artifacts.iter().map(Path::new) {
            let place = template.path.join(directory);
            if root.join(directory).is_dir()
                && place.is_dir()
                && !passes_link(&template.path, &directory.join("x"))
                && !index.entries().iter().any(|entry| entry.path().starts_with(directory))
                && context.is_ignored(&directory.join("x")).await?
            {
                disk::delete_moved_aside(&place).map_err(Error::files(&place, "deleted"))?;
            }
        }
        Ok(())
    }

    /// Carries one directory; says why it was left out, if it was.
    async fn carry_artifact(
        &self,
        context: &Context,
        source: &Path,
        tree: &Path,
        directory: &Path,
        observer: &dyn Observer,
    ) -> Result<Option<&'static str>> {
        if passes_link(source, &directory.join("x")) || passes_link(tree, directory) {
            return Ok(Some("it is a link, or behind one"));
        }
        let (from, to) = (source.join(directory), tree.join(directory));
        if fs::symlink_metadata(&to).is_ok() {
            return Ok(None);
        }
        if TIED.iter().any(|name| from.join(name).symlink_metadata().is_ok()) {
            return Ok(Some("it holds absolute paths; have `setup` build it in place"));
        }
        if context.root().is_some() && !context.is_ignored(&directory.join("x")).await? {
            return Ok(Some("git does not ignore it"));
        }
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent).map_err(Error::files(parent, "made"))?;
        }
        let place = to.clone();
        let inside = directory.to_owned();
        let carrying = tokio::task::spawn_blocking(move || clone_directory(&from, &place, &inside, COPIED_AT_MOST));
        let carried = carrying.await.map_err(|error| Error::Internal { what: error.to_string() })?;
        let reason = match carried {
            Ok(carried) => {
                if carried.links_left_out > 0 {
                    let what =
                        format!("`{}` was carried over without links that lead out of the tree", directory.display());
                    observer(Notice::Warning(Warning::Minor { what }));
                }
                return Ok(None);
            }
            Err(CopyError::TooLarge { .. }) => "it is too large to copy, and the file system can't share it",
            Err(CopyError::DiskFull { path }) => return Err(Error::DiskFull { path }),
            Err(error) => {
                tracing::debug!(%error, "an artifact can't be carried");
                "it could not be read or written whole"
            }
        };
        // Half of it would look like the whole.
        disk::delete_moved_aside(&to).map_err(Error::files(&to, "deleted"))?;
        Ok(Some(reason))
    }
}
