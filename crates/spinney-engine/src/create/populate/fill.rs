//! Fills a tree that was just registered: from the repository's template where the file system shares blocks, else by
//! git's own checkout. Whatever goes wrong with the template, the checkout is still there to be had.

use std::fs;
use std::path::{Path, PathBuf};

use spinney_core::config::{Lfs, PopulateChoice};
use spinney_core::{CommitId, OperationId, Populate, WorkspaceId, in_full};
use spinney_git::{Head, Index, ObjectFormat};

use super::{Btrfs, Capabilities, Capability, CopyError, clone_tree, is_subvolume};
use crate::home::disk;
use crate::notice::{Notice, Observer, Warning};
use crate::pool::PoolLock;
use crate::repositories::context::{Context, tree_root};
use crate::resolve::lookup::Among;
use crate::tree::{self, Tree};
use crate::{Engine, Error, Result, fail};

/// A pristine tree of the repository, which stays as it is for as long as this is held.
#[derive(Debug)]
pub(crate) struct Template {
    pub id: WorkspaceId,
    pub path: PathBuf,
    worktree: Tree,
    commit: CommitId,
    /// The tree of its commit.
    tree: Option<String>,
    /// For snapshots, where the file system has them.
    btrfs: Option<Btrfs>,
    _lock: PoolLock,
}

/// How a tree was filled, and what from.
#[derive(Debug)]
pub(crate) struct FilledTree {
    pub populate: Populate,
    pub template: Option<Template>,
}

impl Engine {
    /// Writes the files of a tree that has none yet. `operation` is whose it is, for what must be moved aside.
    pub(crate) async fn fill_files(
        &self,
        context: &Context,
        tree: &Tree,
        commit: &CommitId,
        operation: &OperationId,
        observer: &dyn Observer,
    ) -> Result<FilledTree> {
        let warn = |what: String| observer(Notice::Warning(Warning::Minor { what }));
        match self.borrow_template(context, tree.path()).await? {
            Borrowed::Template(template) => match fill_from(&template, tree, commit).await {
                Ok(populate) => return Ok(FilledTree { populate, template: Some(*template) }),
                Err(error) => {
                    warn(format!("the template could not be used ({}); files are checked out", in_full(&error)));
                    if error.is_incapable() {
                        self.capabilities().forget(tree_root(tree.path()));
                    }
                    self.renew_directory(tree, operation)?;
                    if let CopyError::TemplateChanged { .. } = error {
                        self.spoil_template(&template.id, &in_full(&error)).await?;
                    }
                }
            },
            Borrowed::Incapable if context.config().workspace.populate == PopulateChoice::Reflink => {
                let root = tree_root(tree.path()).display();
                warn(format!("the file system of `{root}` can't share files; they are checked out"));
            }
            Borrowed::Incapable | Borrowed::NotThere => {}
        }
        tree::populate(tree, context.config().workspace.lfs == Lfs::Pull).await?;
        Ok(FilledTree { populate: Populate::Checkout, template: None })
    }

    /// Takes the repository's template, if there is one that is of use for a tree at this path.
    async fn borrow_template(&self, context: &Context, path: &Path) -> Result<Borrowed> {
        if !may_share(context) {
            return Ok(Borrowed::NotThere);
        }
        let capability = self.capabilities().load_or_probe(tree_root(path));
        if capability == Capability::None {
            return Ok(Borrowed::Incapable);
        }
        let Some(lock) = self.try_share_template(&context.repository.id)? else { return Ok(Borrowed::NotThere) };
        let members = self.workspaces(Some(&context.repository.id), Among::Warm).await?;
        let is_template = |warm: &spinney_core::Warm| warm.template && warm.ready;
        let Some(row) = members.into_iter().find(|row| row.metadata.warm.as_ref().is_some_and(is_template)) else {
            return Ok(Borrowed::NotThere);
        };
        let Ok(template) = tree::require(context, &row) else { return Ok(Borrowed::NotThere) };
        let stands = matches!(
            template.load_head().await,
            Ok(Head::Detached { commit, rebasing: None }) if commit == row.base_commit
        );
        if !stands {
            self.spoil_template(&row.id, "it was moved to another commit").await?;
            return Ok(Borrowed::NotThere);
        }
        Ok(Borrowed::Template(Box::new(Template {
            id: row.id,
            path: row.path,
            worktree: template,
            commit: row.base_commit,
            tree: row.metadata.warm.and_then(|warm| warm.tree),
            btrfs: self.btrfs().filter(|_| capability == Capability::Snapshot),
            _lock: lock,
        })))
    }

    pub(crate) fn capabilities(&self) -> Capabilities {
        Capabilities::new(&self.home, self.btrfs())
    }

    pub(crate) fn btrfs(&self) -> Option<Btrfs> {
        Btrfs::find(self.variable("PATH").unwrap_or_default().as_ref())
    }

    /// Empties the directory of a tree that is nobody's yet: what is there is moved aside and deleted.
    fn renew_directory(&self, tree: &Tree, operation: &OperationId) -> Result<()> {
        let path = tree.path();
        let aside = tree::trash_place(&self.home, path, &format!("undo-{operation}"));
        tree::move_if_there(path, &aside)?;
        disk::delete_moved_aside(&aside).map_err(Error::files(&aside, "deleted"))?;
        fs::create_dir(path).map_err(Error::files(path, "made"))?;
        point_to_admin_dir(tree.path(), tree.admin_dir()).map_err(Error::files(path, "written"))
    }
}

enum Borrowed {
    Template(Box<Template>),
    /// The file system shares nothing.
    Incapable,
    NotThere,
}

/// Whether settings let files be shared at all: LFS contents are downloaded for each tree.
pub(crate) fn may_share(context: &Context) -> bool {
    let settings = &context.config().workspace;
    settings.populate != PopulateChoice::Checkout && settings.lfs == Lfs::Skip
}

async fn fill_from(template: &Template, tree: &Tree, commit: &CommitId) -> Result<Populate, CopyError> {
    let (path, admin_dir) = (tree.path().to_owned(), tree.admin_dir().to_owned());
    let (from, from_admin_dir) = (template.path.clone(), template.worktree.admin_dir().to_owned());
    let btrfs = template.btrfs.clone().filter(|_| is_subvolume(&template.path));
    let format = ObjectFormat::of(&template.commit);
    // What somebody staged in the template would be staged in every tree that is made from it.
    if template.worktree.load_index_tree() != template.tree {
        return Err(CopyError::TemplateChanged { path: from_admin_dir.join("index") });
    }
    let copying = tokio::task::spawn_blocking(move || -> Result<Populate, CopyError> {
        if let Some(btrfs) = btrfs {
            // Its files are not looked at one by one: it must be certain that nobody could write to them.
            if rustix::fs::access(&from, rustix::fs::Access::WRITE_OK) != Err(rustix::io::Errno::ROFS) {
                return Err(CopyError::TemplateChanged { path: from });
            }
            take_snapshot(&btrfs, &from, &from_admin_dir, &path, &admin_dir)?;
            return Ok(Populate::Snapshot);
        }
        let index = load_index(&from_admin_dir, format)?;
        let cloned = clone_tree(&from, &index, &path)?;
        fail_here("populate.copied")?;
        put_index(&admin_dir, |aside| fs::write(aside, &cloned.index))?;
        Ok(Populate::Reflink)
    });
    let populate = match copying.await {
        Ok(copied) => copied?,
        Err(error) => return Err(CopyError::Program { command: "copy".to_owned(), message: error.to_string() }),
    };
    // The index knows every file by now: only those that differ are written.
    if template.commit != *commit {
        let message = |error: spinney_git::Error| error.to_string();
        let failed = |message| CopyError::Program { command: "git reset".to_owned(), message };
        tree.checkout(false).await.map_err(message).map_err(failed)?;
    }
    Ok(populate)
}

/// Puts a snapshot of the template in the place of a tree's directory. Inodes and times are the template's, so its index
/// holds as it is.
fn take_snapshot(
    btrfs: &Btrfs,
    from: &Path,
    from_admin_dir: &Path,
    path: &Path,
    admin_dir: &Path,
) -> Result<(), CopyError> {
    let files = |path: &Path, doing: &'static str| {
        let path = path.to_owned();
        move |source| CopyError::Files { path, doing, source }
    };
    fs::remove_file(path.join(".git")).map_err(files(path, "replaced"))?;
    fs::remove_dir(path).map_err(files(path, "replaced"))?;
    fail_here("populate.emptied")?;
    btrfs.snapshot(from, path)?;
    fail_here("populate.copied")?;
    // The template's own is there: overwritten, it takes one flush to last, and until the marker says `ready` nobody
    // minds it torn.
    let pointer = path.join(".git");
    let written = fs::write(&pointer, pointer_to(admin_dir)).and_then(|()| fs::File::open(&pointer)?.sync_all());
    written.map_err(files(&pointer, "written"))?;
    put_index(admin_dir, |aside| fs::copy(from_admin_dir.join("index"), aside).map(drop))
}

/// Passes a fail point of the engine.
fn fail_here(point: &'static str) -> Result<(), CopyError> {
    fail::point(point).map_err(|error| CopyError::Program { command: point.to_owned(), message: error.to_string() })
}

fn load_index(admin_dir: &Path, format: ObjectFormat) -> Result<Index, CopyError> {
    let failed =
        |error: spinney_git::Error| CopyError::Program { command: "index".to_owned(), message: error.to_string() };
    Index::load(&admin_dir.join("index"), format).map_err(failed)
}

/// Makes it aside first: git reads the old one or the new one.
fn put_index(admin_dir: &Path, make: impl FnOnce(&Path) -> std::io::Result<()>) -> Result<(), CopyError> {
    let index = admin_dir.join("index");
    let aside = admin_dir.join("index.spinney");
    let written = make(&aside).and_then(|()| fs::rename(&aside, &index));
    written.map_err(|source| CopyError::Files { path: index, doing: "written", source })
}

/// Writes a tree's own pointer to its git dir.
pub(crate) fn point_to_admin_dir(path: &Path, admin_dir: &Path) -> std::io::Result<()> {
    disk::write_durably(&path.join(".git"), pointer_to(admin_dir).as_bytes())
}

fn pointer_to(admin_dir: &Path) -> String {
    format!("gitdir: {}\n", admin_dir.display())
}
