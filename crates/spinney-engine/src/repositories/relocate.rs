//! Follows a clone, or a home, that was moved: what leads to the old place is made to lead to the new one.
//!
//! 1. The pointers on disk: git's directory of each workspace to its tree, the tree's `.git` file to git's directory, and
//!    both ways for the submodules in it. Only of workspaces that carry our mark.
//! 2. The rows: where the clone and the workspaces are. Until that is written, the next command finds the same and does it
//!    again; done twice it changes nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use spinney_core::{Event, Repository, Workspace, WorkspaceId};
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
        // With the home that was moved too, rows are ahead of the pointers, which nobody could reach then.
        let rows = self.workspaces(Some(&repository.id), Among::All).await?;
        let places = rows.into_iter().map(|row| (row.id, moved.place(&row.path))).collect();
        mend(git.common_dir(), &moved, &places)?;
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
                    mend(&now.common_dir, &moved, &BTreeMap::new())?;
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

/// Makes the pointers of a clone's workspaces lead to where things are now. `places` says where the trees of some are that did
/// not move with `moved`.
///
/// The pointer to the tree comes last: a death before it finds all as it was.
fn mend(common_dir: &Path, moved: &Moved, places: &BTreeMap<WorkspaceId, PathBuf>) -> Result<()> {
    for admin_dir in tree::all_admin_dirs_in(common_dir)? {
        let Some(mut marker) = Marker::load(&admin_dir) else { continue };
        let pointer = admin_dir.join("gitdir");
        let mut moves = vec![moved.clone()];
        let Some(led_to) = target(&pointer, "", &moves).and_then(|(_, file)| Some(file.parent()?.to_owned())) else {
            continue;
        };
        let tree = match places.get(&marker.id) {
            // Only one that leads back here is the workspace's.
            Some(place) if !led_to.is_dir() => {
                moves.push(Moved { from: led_to, to: place.clone() });
                let back = target(&place.join(".git"), "gitdir: ", &moves);
                if back.is_none_or(|(_, back)| back != admin_dir) {
                    continue;
                }
                place.clone()
            }
            _ if led_to.is_dir() => led_to,
            _ => continue,
        };
        mend_pointer(&tree.join(".git"), "gitdir: ", &moves)?;
        mend_submodules(&admin_dir, &tree, &moves)?;
        let path = now_at(&moves, &marker.path);
        if path != marker.path {
            marker.path = path;
            marker.write(&admin_dir)?;
        }
        mend_pointer(&pointer, "", &moves)?;
    }
    Ok(())
}

/// Where a path is after one of these moves.
fn now_at(moves: &[Moved], path: &Path) -> PathBuf {
    let moved = moves.iter().find(|moved| path.starts_with(&moved.from));
    moved.map_or_else(|| path.to_owned(), |moved| moved.place(path))
}

/// Where a path was before them.
fn was_at(moves: &[Moved], path: &Path) -> PathBuf {
    let back: Vec<Moved> = moves.iter().map(|moved| Moved { from: moved.to.clone(), to: moved.from.clone() }).collect();
    now_at(&back, path)
}

/// What a pointer says, and where that is now.
fn target(file: &Path, prefix: &str, moves: &[Moved]) -> Option<(PathBuf, PathBuf)> {
    let text = read_regular_text(file, POINTER_BYTES).ok()?;
    let named = text.trim_end().strip_prefix(prefix).filter(|named| !named.is_empty())?;
    // A relative one was right where the file was.
    let before = was_at(moves, file.parent().unwrap_or(file));
    Some((PathBuf::from(named), now_at(moves, &disk::lexical(&before.join(named)))))
}

/// Makes one pointer lead to the new place, where it led to the old one.
fn mend_pointer(file: &Path, prefix: &str, moves: &[Moved]) -> Result<()> {
    let Some((named, leads_to)) = target(file, prefix, moves) else { return Ok(()) };
    let directory = file.parent().unwrap_or(file);
    if named != leads_to && disk::lexical(&directory.join(&named)) != leads_to {
        let text = format!("{prefix}{}\n", leads_to.display());
        disk::write_durably(file, text.as_bytes()).map_err(Error::files(file, "written"))?;
    }
    Ok(())
}

/// The same for the submodules of a workspace, whose git dirs lie in its own, at any depth.
fn mend_submodules(admin_dir: &Path, tree: &Path, moves: &[Moved]) -> Result<()> {
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
        let module = now_at(moves, &disk::lexical(&was_at(moves, &directory).join(&named)));
        if !module.starts_with(tree) || !module.is_dir() {
            continue;
        }
        mend_pointer(&module.join(".git"), "gitdir: ", moves)?;
        if disk::lexical(&directory.join(&named)) != module {
            *line = format!("\tworktree = {}", module.display());
            let text = lines.join("\n") + "\n";
            disk::write_durably(&config, text.as_bytes()).map_err(Error::files(&config, "written"))?;
        }
    }
    Ok(())
}
