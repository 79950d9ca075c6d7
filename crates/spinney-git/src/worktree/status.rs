//! What differs between a worktree's files, its index and its HEAD.
//!
//! The repository's and the person's configuration may hide files from `status`; nothing is hidden here. What git could
//! not look into is an error: unknown is never clean.

use std::path::PathBuf;

use spinney_core::CommitId;

use crate::settings::executing::Runs;
use crate::settings::nested::Opaque;
use crate::worktree::linked::Worktree;
use crate::worktree::status_parse::parse_status;
use crate::{Error, Result};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatusOptions {
    pub untracked: bool,
    pub ignored: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status {
    /// None where the branch has no commit yet.
    pub head: Option<CommitId>,
    /// Short name; none when detached.
    pub branch: Option<String>,
    /// Tracked files that differ, conflicts among them.
    pub changes: Vec<Change>,
    /// Untracked files; a directory among them is a nested repository.
    pub untracked: Vec<Entry>,
    /// Ignored files, and directories that are ignored as a whole.
    pub ignored: Vec<Entry>,
    /// Repositories inside that could not be looked into: git would run what they name.
    pub opaque: Vec<Opaque>,
}

impl Status {
    /// The same, where all that lies in the tree could be looked into.
    pub fn require_known(mut self) -> Result<Self> {
        match self.opaque.pop() {
            Some(opaque) => Err(Error::Opaque(Box::new(opaque))),
            None => Ok(self),
        }
    }

    /// Whether no tracked file differs and nothing untracked is there. Ignored files do not count.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.changes.is_empty() && self.untracked.is_empty() && self.opaque.is_empty()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub path: PathBuf,
    /// Index and HEAD differ.
    pub staged: bool,
    /// File and index differ.
    pub unstaged: bool,
    pub conflicted: bool,
    pub submodule: Option<SubmoduleChange>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubmoduleChange {
    /// It is at another commit than the index says.
    pub commit: bool,
    /// It has changes of tracked files.
    pub modified: bool,
    pub untracked: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub path: PathBuf,
    pub directory: bool,
}

impl Worktree {
    /// Compares files, index and HEAD. Changes nothing, not even what the index remembers of the files.
    pub async fn load_status(&self, options: &StatusOptions) -> Result<Status> {
        let untracked = if options.untracked { "--untracked-files=all" } else { "--untracked-files=no" };
        let ignored = if options.ignored { "--ignored=matching" } else { "--ignored=no" };
        let nested = self.find_nested().await?;
        let mut status = self.run_status(&[untracked, ignored, nested.option()]).await?;
        self.add_nested(&mut status, nested).await?;
        Ok(status)
    }

    /// The same with all untracked and ignored files, for a tree that was moved: the links between submodules and their
    /// repositories lead nowhere then, and git would give no answer at all.
    pub async fn load_status_without_submodules(&self) -> Result<Status> {
        self.run_status(&["--untracked-files=all", "--ignored=matching", "--ignore-submodules=all"]).await
    }

    async fn run_status(&self, options: &[&str]) -> Result<Status> {
        let output = self.status_command().args(options).run().await?;
        // A directory that may not be read is only a warning to git.
        if let Some(line) = unreadable(&output.stderr) {
            return Err(Error::PermissionDenied { detail: line.to_owned() });
        }
        Ok(parse_status(&output.stdout))
    }

    /// A `status` that sees through every setting that hides something.
    pub(crate) fn status_command(&self) -> crate::Command {
        seeing_all(self.command()).running(Runs::FILES).args([
            "status",
            "--porcelain=v2",
            "-z",
            "--branch",
            "--no-ahead-behind",
            "--no-renames",
        ])
    }
}

/// Lets a call look at every file that may differ, whatever the configuration says.
pub(crate) fn seeing_all(command: crate::Command) -> crate::Command {
    command
        .config("core.untrackedCache", "false")
        .config("core.ignoreStat", "false")
        .config("core.checkStat", "default")
        .config("core.trustctime", "true")
}

impl crate::Repository {
    /// Counts the files of a worktree's index that differ from a commit, such as its `HEAD`. Its tree need not be there.
    pub async fn count_staged(&self, admin_dir: &std::path::Path, commit: &str) -> Result<usize> {
        if !admin_dir.join("index").exists() {
            return Ok(0);
        }
        let command = self.command().env("GIT_DIR", admin_dir).env("GIT_WORK_TREE", admin_dir);
        let command =
            command.args(["diff-index", "--cached", "--name-only", "-z", "--no-renames", "--ignore-submodules=none"]);
        let listed = command.args([commit, "--"]).run().await?.stdout;
        Ok(listed.split(|byte| *byte == 0).filter(|path| !path.is_empty()).count())
    }
}

/// The line in which git only warns that it could not look everywhere.
pub(crate) fn unreadable(stderr: &str) -> Option<&str> {
    let mut lines = stderr.lines().map(str::trim);
    lines.find(|line| line.contains("could not open directory") || line.contains("unable to access"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_only_warns_of_is_found() {
        assert!(unreadable("warning: could not open directory 'x/': Permission denied\n").is_some());
        assert!(unreadable("warning: something else\n").is_none());
    }
}
