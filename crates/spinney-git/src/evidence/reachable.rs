//! What would be lost with a worktree: commits that nothing else leads to.

use std::path::{Path, PathBuf};

use spinney_core::CommitId;

use crate::evidence::history::number;
use crate::evidence::rescue::{PINNER, is_pin_subject};
use crate::pin::sources::load_named;
use crate::repository::lock::RepositoryLock;
use crate::repository::opened::Repository;
use crate::worktree::linked::Worktree;
use crate::{Error, Result};

/// What counts as another place for commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Elsewhere {
    /// Branches and tags of this repository.
    Here,
    /// Those, and what the remotes had when they were last asked.
    HereOrRemote,
}

impl Repository {
    /// Counts the commits that are on no branch, no remote and no tag.
    pub async fn count_unreferenced(&self, commit: &CommitId) -> Result<u64> {
        let command = self.command().args(["rev-list", "--count", commit.as_str()]);
        let answer = command.args(["--not", "--branches", "--remotes", "--tags"]).text().await?;
        number("git rev-list", &answer)
    }

    /// Whether a worktree's own directory names a commit that is nowhere else: by its HEAD, its log, or a ref of its own.
    /// What can be had from `base` is somewhere else.
    pub async fn has_own_commits(&self, admin_dir: &Path, base: &CommitId) -> Result<bool> {
        let mut named = load_named(admin_dir)?;
        named.extend(self.load_other_names(admin_dir, None).await?);
        let mut questions = format!("^{base}\n");
        for commit in self.load_existing(named).await?.commits {
            questions.push_str(&format!("{commit}\n"));
        }
        let known = ["--not", "--branches", "--remotes", "--tags", "--glob=refs/spinney/pull"];
        let command = self.command().args(["rev-list", "--count", "--stdin"]).args(known);
        Ok(number("git rev-list", &command.stdin_bytes(questions.into_bytes()).text().await?)? > 0)
    }

    /// Whether a rescue ref keeps no commit alive that is not on a branch or a tag, or on a remote if that is asked for. One
    /// that is not there keeps none.
    pub async fn is_rescue_needless(&self, rescue_ref: &str, elsewhere: Elsewhere) -> Result<bool> {
        let Some(pin) = self.load_ref(rescue_ref).await? else { return Ok(true) };
        // A commit that was only written to be a pin is nobody's work; a branch's tip that is one may be.
        let asked = if self.is_pin_commit(&pin).await? { format!("{pin}^@") } else { pin.to_string() };
        let known = ["--not", "--branches", "--tags"];
        let command = self.command().args(["rev-list", "--objects", "--count", &asked]).args(known);
        let command = if elsewhere == Elsewhere::HereOrRemote { command.arg("--remotes") } else { command };
        Ok(number("git rev-list", &command.text().await?)? == 0)
    }

    /// Whether a commit was written by a pin.
    async fn is_pin_commit(&self, commit: &CommitId) -> Result<bool> {
        let told = self.command().args(["log", "-1", "--format=%ce %s", commit.as_str(), "--"]).text().await?;
        Ok(told.strip_prefix(PINNER).and_then(|rest| rest.strip_prefix(' ')).is_some_and(is_pin_subject))
    }

    /// Drops a rescue ref that is needless. What an index alone holds does not count: that is in an archive, or nowhere.
    pub async fn drop_rescue_if_needless(
        &self,
        lock: &RepositoryLock,
        rescue_ref: &str,
        elsewhere: Elsewhere,
    ) -> Result<bool> {
        let Some(pin) = self.load_ref(rescue_ref).await? else { return Ok(false) };
        if !self.is_rescue_needless(rescue_ref, elsewhere).await? {
            return Ok(false);
        }
        self.delete_ref(lock, rescue_ref, &pin).await?;
        Ok(true)
    }

    /// Names the submodules of a worktree that have commits on none of their remotes. Their repositories live in the
    /// worktree's admin dir, and go where it goes.
    pub async fn load_unpushed_submodules(&self, worktree: &Worktree) -> Result<Vec<String>> {
        let mut unpushed = Vec::new();
        for (name, git_dir) in worktree.load_modules()? {
            worktree.require_harmless_module(&name, &git_dir).await?;
            // The tree that it names may be gone; these questions need none.
            let command = self.git().command(&git_dir).env("GIT_DIR", &git_dir).env("GIT_WORK_TREE", &git_dir);
            let answer = command.args(["rev-list", "--count", "--all", "HEAD", "--not", "--remotes"]).text().await?;
            if number("git rev-list", &answer)? > 0 {
                unpushed.push(name.display().to_string());
            }
        }
        Ok(unpushed)
    }
}

impl Worktree {
    /// The git dirs of its submodules, each with its name.
    pub(crate) fn load_modules(&self) -> Result<Vec<(PathBuf, PathBuf)>> {
        let modules = self.admin_dir().join("modules");
        let mut found = Vec::new();
        find_git_dirs(&modules, &mut found).map_err(|source| Error::io("read", &modules, source))?;
        let named = |git_dir: PathBuf| (git_dir.strip_prefix(&modules).unwrap_or(&git_dir).to_owned(), git_dir.clone());
        Ok(found.into_iter().map(named).collect())
    }
}

/// Finds git dirs below a directory, nested ones too. A submodule's name may have slashes.
fn find_git_dirs(directory: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        if !entry.file_type()?.is_dir() {
            continue;
        }
        let path = entry.path();
        if path.join("HEAD").is_file() && path.join("objects").is_dir() {
            find_git_dirs(&path.join("modules"), found)?;
            found.push(path);
        } else {
            find_git_dirs(&path, found)?;
        }
    }
    Ok(())
}
