//! Follows a clone, or a home, that was moved: what leads to the old place is made to lead to the new one.
//!
//! 1. The pointers on disk: git's directory of each workspace to its tree, the tree's `.git` file to git's directory, and
//!    both ways for the submodules in it. Only of workspaces that carry our mark.
//! 2. The rows: where the clone and the workspaces are. Until that is written, the next command finds the same and does it
//!    again; done twice it changes nothing.

use std::fs;
use std::path::{Path, PathBuf};

use spinney_core::{Event, Repository, Workspace};
use spinney_git::{POINTER_BYTES, read_regular_text};
use spinney_store::Ownable;

use crate::home::{disk, links};
use crate::journal::events;
use crate::resolve::lookup::Among;
use crate::tree;
use crate::tree::marker::Marker;
use crate::{Engine, Error, Result};

/// A directory that was moved, with all in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Moved {
    pub from: PathBuf,
    pub to: PathBuf,
}

impl Moved {
    /// Where a path is now.
    pub fn place(&self, path: &Path) -> PathBuf {
        path.strip_prefix(&self.from).map_or_else(|_| path.to_owned(), |rest| self.to.join(rest))
    }
}

impl Engine {
    /// Takes note of where a clone is now: in `repository`, as it was when it was last seen, and on disk.
    pub(crate) async fn follow_clone(
        &self,
        repository: Repository,
        git: &spinney_git::Repository,
    ) -> Result<Repository> {
        let moved = match (&repository.root, git.root()) {
            (Some(from), Some(to)) if repository.common_dir == from.join(".git") => {
                Moved { from: from.clone(), to: to.to_owned() }
            }
            _ => Moved { from: repository.common_dir.clone(), to: git.common_dir().to_owned() },
        };
        let lock = git.lock("follow").await?;
        mend(git.common_dir(), &moved)?;
        let now = Repository {
            common_dir: git.common_dir().to_owned(),
            root: git.root().map(Path::to_owned),
            ..repository.clone()
        };
        let mut db = self.store.write().await?;
        db.update_repository(&now).await?;
        self.follow_workspaces(&mut db, &now, &moved).await?;
        events::record_repository(&mut db, &now, Event::RepositoryMoved)?;
        db.commit().await?;
        drop(lock);
        Ok(now)
    }

    /// Writes where a repository's workspaces are now, and makes their links lead there.
    async fn follow_workspaces(
        &self,
        db: &mut spinney_store::Connection,
        repository: &Repository,
        moved: &Moved,
    ) -> Result<()> {
        for workspace in self.workspaces(Some(&repository.id), Among::All).await? {
            let path = moved.place(&workspace.path);
            if path == workspace.path {
                continue;
            }
            links::drop(&self.home, &workspace);
            let now = Workspace { path, ..workspace };
            db.update_workspace(&now, &[now.status]).await?;
            links::mend(&self.home, &now);
        }
        Ok(())
    }

    /// Takes note of where the home is now. What lay in it is found by its own path from here on.
    pub(crate) async fn follow_home(&self) -> Result<()> {
        let Some(from) = self.home.was_at()? else { return Ok(()) };
        if self.ownership.is_owned(&Ownable::Daemon).unwrap_or(false) {
            return Err(Error::HomeInUse { was: from });
        }
        let moved = Moved { from, to: self.home.root().to_owned() };
        for account in self.store.read().await?.accounts().await? {
            let engine = self.for_account(&account.name);
            for repository in engine.repositories().await? {
                let now = Repository {
                    common_dir: moved.place(&repository.common_dir),
                    root: repository.root.as_deref().map(|root| moved.place(root)),
                    ..repository.clone()
                };
                if now.common_dir.is_dir() {
                    mend(&now.common_dir, &moved)?;
                }
                let mut db = self.store.write().await?;
                if now != repository {
                    db.update_repository(&now).await?;
                }
                engine.follow_workspaces(&mut db, &now, &moved).await?;
                db.commit().await?;
            }
        }
        self.home.note_place()
    }
}

/// Moves aside what a copy of a clone took along of the first one's workspaces: git would hold their branches for checked out.
/// Only what carries our mark, and whose tree does not lead here.
pub(crate) fn retire_copied(common_dir: &Path) -> Result<()> {
    for admin_dir in tree::all_admin_dirs_in(common_dir).unwrap_or_default() {
        let Some(marker) = Marker::load(&admin_dir) else { continue };
        let leads_here = || {
            let pointer = read_regular_text(&admin_dir.join("gitdir"), POINTER_BYTES).ok()?;
            let text = read_regular_text(Path::new(pointer.trim_end()), POINTER_BYTES).ok()?;
            let named = Path::new(pointer.trim_end()).parent()?.join(text.trim_end().strip_prefix("gitdir: ")?);
            Some(disk::resolved(&named) == disk::resolved(&admin_dir))
        };
        if leads_here() != Some(true) {
            let aside = common_dir.join("spinney").join(format!("copied-{}", marker.id));
            tree::move_if_there(&admin_dir, &aside)?;
        }
    }
    Ok(())
}

/// Makes the pointers of a clone's workspaces lead to where things are now.
fn mend(common_dir: &Path, moved: &Moved) -> Result<()> {
    for admin_dir in tree::all_admin_dirs_in(common_dir)? {
        let Some(mut marker) = Marker::load(&admin_dir) else { continue };
        let Some(tree) = mend_pointer(&admin_dir.join("gitdir"), "", moved)?.and_then(|file| {
            let tree = file.parent()?.to_owned();
            tree.is_dir().then_some(tree)
        }) else {
            continue;
        };
        mend_pointer(&tree.join(".git"), "gitdir: ", moved)?;
        if moved.place(&marker.path) != marker.path {
            marker.path = moved.place(&marker.path);
            marker.write(&admin_dir)?;
        }
        mend_submodules(&admin_dir, &tree, moved)?;
    }
    Ok(())
}

/// Makes one pointer lead to the new place, where it led to the old one. Gives where it leads.
fn mend_pointer(file: &Path, prefix: &str, moved: &Moved) -> Result<Option<PathBuf>> {
    let Ok(text) = read_regular_text(file, POINTER_BYTES) else { return Ok(None) };
    let Some(named) = text.trim_end().strip_prefix(prefix).filter(|named| !named.is_empty()) else { return Ok(None) };
    // A relative one was right where the file was.
    let directory = file.parent().unwrap_or(file);
    let before = Moved { from: moved.to.clone(), to: moved.from.clone() }.place(directory);
    let leads_to = moved.place(&disk::lexical(&before.join(named)));
    if Path::new(named) != leads_to && disk::lexical(&directory.join(named)) != leads_to {
        let text = format!("{prefix}{}\n", leads_to.display());
        disk::write_durably(file, text.as_bytes()).map_err(Error::files(file, "written"))?;
    }
    Ok(Some(leads_to))
}

/// The same for the submodules of a workspace, whose git dirs lie in its own, at any depth.
fn mend_submodules(admin_dir: &Path, tree: &Path, moved: &Moved) -> Result<()> {
    let mut waiting = vec![admin_dir.join("modules")];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) && entry.file_name() != "objects" {
                waiting.push(entry.path());
            }
        }
        let config = directory.join("config");
        if !directory.join("HEAD").is_file() {
            continue;
        }
        let Ok(text) = read_regular_text(&config, spinney_git::SETTINGS_BYTES) else { continue };
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let Some(line) = lines.iter_mut().find(|line| line.trim_start().starts_with("worktree = ")) else { continue };
        let named = line.trim_start().trim_start_matches("worktree = ").to_owned();
        let before = Moved { from: moved.to.clone(), to: moved.from.clone() }.place(&directory);
        let module = moved.place(&disk::lexical(&before.join(&named)));
        if !module.starts_with(tree) || !module.is_dir() {
            continue;
        }
        mend_pointer(&module.join(".git"), "gitdir: ", moved)?;
        if disk::lexical(&directory.join(&named)) != module {
            *line = format!("\tworktree = {}", module.display());
            let text = lines.join("\n") + "\n";
            disk::write_durably(&config, text.as_bytes()).map_err(Error::files(&config, "written"))?;
        }
    }
    Ok(())
}
