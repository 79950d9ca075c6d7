//! A linked worktree of a repository.
//!
//! It is opened by reading files, not by asking git: the `.git` file must name an admin dir of this very repository,
//! and the admin dir must name the worktree back. Calls then name both explicitly, so that what is later put into the
//! directory can't lead git elsewhere.

use std::path::{Path, PathBuf};

use crate::disk::regular::{POINTER_BYTES, read_regular_text};
use crate::process::command::Command;
use crate::repository::opened::Repository;
use crate::{Error, Result};

#[derive(Debug, Clone)]
pub struct Worktree {
    repository: Repository,
    path: PathBuf,
    admin_dir: PathBuf,
    admin_name: String,
    /// A variable that its calls carry, so that one which outlives us can be found.
    tag: Option<(&'static str, String)>,
}

impl Worktree {
    /// Opens the worktree that stands at a path, after checking that it and the repository agree about it.
    pub fn open(repository: &Repository, path: &Path) -> Result<Self> {
        let given = path;
        let path = match std::fs::canonicalize(given) {
            Ok(path) if path.is_dir() => path,
            Ok(_) => return Err(damaged(given, "it is no directory")),
            Err(source) if source.kind() == std::io::ErrorKind::NotFound => {
                return Err(Error::WorktreeMissing { path: given.to_owned() });
            }
            Err(source) => return Err(Error::io("open", given, source)),
        };
        if repository.root() == Some(&path) || repository.common_dir() == path {
            return Err(Error::MainCheckout { path });
        }
        let pointer = path.join(".git");
        let kind = match std::fs::symlink_metadata(&pointer) {
            Ok(metadata) => metadata.file_type(),
            Err(source) if source.kind() == std::io::ErrorKind::NotFound => {
                return Err(damaged(&path, "it has no `.git` file"));
            }
            Err(source) => return Err(Error::io("open", &pointer, source)),
        };
        if kind.is_dir() {
            return Err(Error::ForeignWorktree { path });
        }
        if !kind.is_file() {
            return Err(damaged(&path, "its `.git` is a link"));
        }
        let text = load_pointer(&pointer)?.ok_or_else(|| damaged(&path, "its `.git` file can't be read"))?;
        let Some(named) = text.strip_prefix("gitdir: ") else {
            return Err(damaged(&path, "its `.git` file names no git directory"));
        };
        let lexical = path.join(named);
        let admin_dir = match std::fs::canonicalize(&lexical) {
            Ok(admin_dir) => admin_dir,
            Err(source) if source.kind() == std::io::ErrorKind::PermissionDenied => {
                return Err(Error::io("open", &lexical, source));
            }
            Err(_) if lexical.parent() == Some(&repository.common_dir().join("worktrees")) => {
                return Err(damaged(&path, "its git directory is gone"));
            }
            Err(_) => return Err(Error::ForeignWorktree { path }),
        };
        if admin_dir.parent() != Some(&repository.common_dir().join("worktrees")) {
            return Err(Error::ForeignWorktree { path });
        }
        let common = load_pointer(&admin_dir.join("commondir"))?
            .and_then(|text| std::fs::canonicalize(admin_dir.join(text)).ok());
        if common.as_deref() != Some(repository.common_dir()) {
            return Err(damaged(&path, "its git directory belongs to another repository"));
        }
        let back = load_pointer(&admin_dir.join("gitdir"))?.map(|text| admin_dir.join(text));
        let back = back.as_deref().and_then(Path::parent).and_then(|parent| std::fs::canonicalize(parent).ok());
        if back.as_deref() != Some(&path) {
            return Err(damaged(&path, "its git directory belongs to a worktree at another place"));
        }
        let admin_name = admin_dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(Self { repository: repository.clone(), path, admin_dir, admin_name, tag: None })
    }

    /// A tree that was moved together with its admin dir, as into the trash: neither names the other any more.
    #[must_use]
    pub fn moved(repository: &Repository, path: &Path, admin_dir: &Path) -> Self {
        let admin_name = admin_dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let (repository, path, admin_dir) = (repository.clone(), path.to_owned(), admin_dir.to_owned());
        Self { repository, path, admin_dir, admin_name, tag: None }
    }

    /// The same, whose calls carry a variable: what of them outlives us can be found by it.
    #[must_use]
    pub fn tagged(self, variable: &'static str, value: &str) -> Self {
        Self { tag: Some((variable, value.to_owned())), ..self }
    }

    #[must_use]
    pub fn repository(&self) -> &Repository {
        &self.repository
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Git's own directory for this worktree.
    #[must_use]
    pub fn admin_dir(&self) -> &Path {
        &self.admin_dir
    }

    #[must_use]
    pub fn admin_name(&self) -> &str {
        &self.admin_name
    }

    /// The tree that its whole index is, read without git; none where only git can tell.
    #[must_use]
    pub fn load_index_tree(&self) -> Option<String> {
        crate::index::tree::load_whole_tree(&self.admin_dir)
    }

    /// Asks git whether it can read the index.
    pub async fn check_index(&self) -> Result<()> {
        self.command().args(["ls-files", "--unmerged"]).run().await.map(drop)
    }

    /// Starts building a call in this worktree.
    pub fn command(&self) -> Command {
        let command = self.repository.git().command(&self.path);
        let command = command.env("GIT_DIR", &self.admin_dir).env("GIT_WORK_TREE", &self.path);
        // Not what the admin dir says: an agent can write there, and the configuration would be another one.
        let command = command.env("GIT_COMMON_DIR", self.repository.common_dir());
        let guard = self.repository.guard().cloned().map(|guard| guard.of_worktree(&self.admin_dir));
        let command = command.guarded(guard);
        self.tag.iter().fold(command, |command, (variable, value)| command.env(variable, value))
    }
}

fn damaged(path: &Path, reason: &str) -> Error {
    Error::DamagedWorktree { path: path.to_owned(), reason: reason.to_owned() }
}

/// The same as [`read_pointer`], where a file that may not be read is no damage.
fn load_pointer(path: &Path) -> Result<Option<String>> {
    match std::fs::File::open(path) {
        Err(source) if source.kind() == std::io::ErrorKind::PermissionDenied => Err(Error::io("read", path, source)),
        _ => Ok(read_pointer(path)),
    }
}

/// The one line of a file that leads elsewhere.
pub(crate) fn read_pointer(path: &Path) -> Option<String> {
    let text = read_regular_text(path, POINTER_BYTES).ok()?;
    let line = text.strip_suffix('\n').unwrap_or(&text);
    (!line.is_empty()).then(|| line.to_owned())
}
