//! A private git dir: one tree's own refs, index and objects. What the repository has already is borrowed from it.
//!
//! It lies in the common dir of the repository that lends, and is whole without the tree: HEAD, refs, logs, objects. Commits
//! leave it only by [`Repository::fetch_private`].

use std::fs;
use std::io;
use std::path::Path;

use spinney_core::CommitId;

use crate::repository::lock::RepositoryLock;
use crate::repository::opened::Repository;
use crate::worktree::linked::{Worktree, read_pointer};
use crate::{Error, Result, Start};

impl Repository {
    /// Makes a private git dir and an empty tree that leads to it. Its branch is made in both repositories.
    pub async fn make_private(
        &self,
        lock: &RepositoryLock,
        git_dir: &Path,
        tree: &Path,
        start: Start<'_>,
    ) -> Result<()> {
        let (branch, commit) = match start {
            Start::NewBranch { name, .. } if self.load_branch(name).await?.is_some() => {
                return Err(Error::BranchExists { branch: name.to_string() });
            }
            Start::NewBranch { name, commit } => {
                self.update_ref(lock, &name.local_ref(), commit, None).await?;
                (Some(name), commit.clone())
            }
            Start::ExistingBranch(name) => match self.load_branch(name).await? {
                Some(commit) => (Some(name), commit),
                None => return Err(Error::Refused { what: "a branch that is there", name: name.to_string() }),
            },
            Start::Detached(commit) => (None, commit.clone()),
        };
        let remotes = self.command().args(["for-each-ref", "--format=%(objectname) %(refname)", "refs/remotes"]);
        let mut packed = remotes.text().await?;
        if !packed.is_empty() {
            packed.push('\n');
        }
        let head = match branch {
            Some(branch) => {
                packed.push_str(&format!("{commit} {}\n", branch.local_ref()));
                format!("ref: {}\n", branch.local_ref())
            }
            None => format!("{commit}\n"),
        };
        let written = self.write_private(git_dir, tree, &commit, &packed, &head);
        written.map_err(|source| Error::io("make the git dir", git_dir, source))
    }

    fn write_private(
        &self,
        git_dir: &Path,
        tree: &Path,
        commit: &CommitId,
        packed_refs: &str,
        head: &str,
    ) -> io::Result<()> {
        for directory in ["objects/info", "objects/pack", "refs/heads", "refs/tags"] {
            fs::create_dir_all(git_dir.join(directory))?;
        }
        let common_dir = self.common_dir().display();
        // A longer name of a commit is another hash.
        let format = if commit.as_str().len() > 40 {
            "\trepositoryformatversion = 1\n[extensions]\n\tobjectFormat = sha256\n"
        } else {
            "\trepositoryformatversion = 0\n"
        };
        let config = format!("[include]\n\tpath = {common_dir}/config\n[core]\n\tbare = false\n{format}");
        let files = [
            ("objects/info/alternates", format!("{common_dir}/objects\n")),
            ("config", config),
            ("packed-refs", packed_refs.to_owned()),
            ("gitdir", format!("{}\n", tree.join(".git").display())),
            // With it git takes the directory for one of its own.
            ("HEAD", head.to_owned()),
        ];
        for (name, text) in files {
            fs::write(git_dir.join(name), text)?;
        }
        fs::create_dir_all(tree)?;
        fs::write(tree.join(".git"), format!("gitdir: {}\n", git_dir.display()))
    }

    /// Opens the tree at a path whose private git dir lies in `root`, after checking that the two agree about each other.
    pub fn open_private(&self, root: &Path, path: &Path) -> Result<Worktree> {
        let damaged = |reason: &str| Error::DamagedWorktree { path: path.to_owned(), reason: reason.to_owned() };
        let tree = match fs::canonicalize(path) {
            Ok(tree) if tree.is_dir() => tree,
            Ok(_) => return Err(damaged("it is no directory")),
            Err(source) if source.kind() == io::ErrorKind::NotFound => {
                return Err(Error::WorktreeMissing { path: path.to_owned() });
            }
            Err(source) => return Err(Error::io("open", path, source)),
        };
        if self.root() == Some(&tree) || self.common_dir() == tree {
            return Err(Error::MainCheckout { path: tree });
        }
        let pointer = tree.join(".git");
        if !fs::symlink_metadata(&pointer).is_ok_and(|found| found.is_file()) {
            return Err(damaged("it has no `.git` file"));
        }
        let named = read_pointer(&pointer).and_then(|text| text.strip_prefix("gitdir: ").map(|named| tree.join(named)));
        let Some(git_dir) = named.and_then(|named| fs::canonicalize(named).ok()) else {
            return Err(damaged("its git directory is gone"));
        };
        if Some(git_dir.as_path()).and_then(Path::parent) != fs::canonicalize(root).ok().as_deref() {
            return Err(Error::ForeignWorktree { path: tree });
        }
        if git_dir.join("commondir").exists() || !git_dir.join("HEAD").is_file() || !git_dir.join("objects").is_dir() {
            return Err(damaged("its git directory is not whole"));
        }
        let back = read_pointer(&git_dir.join("gitdir")).map(|text| git_dir.join(text));
        let back = back.as_deref().and_then(Path::parent).and_then(|parent| fs::canonicalize(parent).ok());
        if back.as_deref() != Some(&tree) {
            return Err(damaged("its git directory belongs to a tree at another place"));
        }
        Ok(self.private_at(&tree, &git_dir))
    }

    /// A tree and its private git dir, wherever they are by now.
    #[must_use]
    pub fn private_at(&self, tree: &Path, git_dir: &Path) -> Worktree {
        Worktree::moved(&self.private(git_dir, tree), tree, git_dir)
    }

    /// Brings all that a private git dir names here, as refs below `space`.
    pub async fn fetch_private(&self, lock: &RepositoryLock, git_dir: &Path, space: &str) -> Result<()> {
        let command = self.holding(lock).args(["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--prune"]);
        let refs = [format!("+HEAD:{space}/HEAD"), format!("+refs/*:{space}/*")];
        command.arg("--").arg(git_dir).args(refs).run().await.map(drop)
    }

    /// Deletes all refs below a name.
    pub async fn delete_refs_below(&self, lock: &RepositoryLock, space: &str) -> Result<()> {
        let command = self.command().args(["for-each-ref", "--format=%(objectname) %(refname)"]).arg(space);
        for (commit, name) in command.text().await?.lines().filter_map(|line| line.split_once(' ')) {
            let command = || self.holding(lock).args(["update-ref", "--no-deref", "-d", name, commit]);
            self.run_patiently(command).await?;
        }
        Ok(())
    }
}
