//! Committing what a boxed tree has left over, without writing into its git dir.
//!
//! 1. A tree in the middle of a merge or rebase, with conflicts, or not on the workspace's branch is refused.
//! 2. In the jail, a copy of the private index becomes an index of HEAD's tree, and gets the files that are wanted.
//! 3. Its tree becomes a commit. All objects are written into a scratch directory, which the import reads them from.
//!
//! Nothing refers to that commit until it is imported; a death leaves a scratch directory.

use std::path::{Path, PathBuf};

use spinney_core::{BranchName, CommitId};
use tempfile::TempDir;

use crate::boxed::files::is_there;
use crate::boxed::left_over_parse::{BoxedLeftOver, parse};
use crate::boxed::places::SCRATCH;
use crate::boxed::tree::{BoxedTree, alternates};
use crate::disk::regular::read_regular;
use crate::disk::scratch;
use crate::jail::answer::{Unverifiable, ask, ask_about_files, require_inside, unverifiable};
use crate::jail::confinement::Confinement;
use crate::worktree::commit_files::clean_message;
use crate::worktree::progress::STATES;
use crate::{Command, Error, Identity, Repository, Result};

const QUESTION: &str = "what is left over in a boxed tree";
/// More than any index has.
const LONGEST_INDEX: u64 = 1 << 30;

/// A commit of what was left over, and where its objects are.
#[derive(Debug)]
pub struct BoxedCommit {
    pub commit: CommitId,
    scratch: TempDir,
}

impl BoxedCommit {
    /// The directory with its objects, as the host sees it.
    pub(crate) fn scratch(&self) -> &Path {
        self.scratch.path()
    }
}

impl BoxedTree {
    /// Lists what is left over, if it can be committed on a branch.
    pub async fn load_left_over(&self, branch: &BranchName) -> Result<BoxedLeftOver> {
        if let Some((_, operation)) = STATES.iter().find(|(name, _)| is_there(self.git_dir(), name)) {
            return Err(Error::OperationInProgress { path: self.path().to_owned(), operation });
        }
        let command = self.command()?.args(["status", "--porcelain=v2", "-z", "--branch", "--no-ahead-behind"]);
        let command = command.args(["--no-renames", "--untracked-files=all", "--ignore-submodules=dirty"]);
        let found =
            parse(&ask_about_files(QUESTION, command).await?.stdout).map_err(|why| unverifiable(QUESTION, why))?;
        if let Some(path) = found.conflicted.first() {
            return Err(Error::Conflicted { path: path.clone() });
        }
        if found.branch.as_ref() != Some(branch) {
            let name = found.branch.map(|branch| branch.to_string()).unwrap_or_default();
            return Err(Error::Refused { what: "the branch that left-over work belongs to", name });
        }
        Ok(found)
    }

    /// Commits these of the files on top of the box's HEAD. None where HEAD has them so already. The scratch directory lies
    /// in the repository's state dir.
    pub async fn commit_left_over(
        &self,
        repository: &Repository,
        found: &BoxedLeftOver,
        wanted: &[PathBuf],
        message: &str,
        identity: &Identity,
    ) -> Result<Option<BoxedCommit>> {
        let Some(head) = found.head.as_ref().filter(|_| !wanted.is_empty()) else { return Ok(None) };
        let scratch = scratch::directory(&repository.require_state_dir()?, scratch::IMPORT)?;
        let objects = scratch.path().join("objects");
        std::fs::create_dir(&objects).map_err(|source| Error::io("make the directory", &objects, source))?;
        let real = std::fs::canonicalize(scratch.path()).map_err(|e| Error::io("open", scratch.path(), e))?;
        let writing = self.confinement()?.writing(&real, Path::new(SCRATCH))?;
        let (index, own) = (scratch.path().join("index"), self.git_dir().join("index"));
        let copy = read_regular(&own, LONGEST_INDEX).map_err(|source| Error::io("read", &own, source))?;
        std::fs::write(&index, copy).map_err(|source| Error::io("write", &index, source))?;

        let index = format!("{SCRATCH}/index");
        let command = || self.command_with_scratch(writing.clone()).env("GIT_INDEX_FILE", &index);
        let run = async |command: Command| ask(QUESTION, command).await;
        run(command().args(["read-tree", "-i", "-m", head.as_str()])).await?;
        for (paths, options) in
            [(&found.gone, ["--force-remove"].as_slice()), (&found.changed, &["--add", "--replace"])]
        {
            let listed = list(paths.iter().filter(|path| wanted.contains(path)))?;
            if !listed.is_empty() {
                let command = command().arg("update-index").args(options).args(["-z", "--stdin"]);
                run(command.stdin_bytes(listed)).await?;
            }
        }
        let tree = object(&run(command().arg("write-tree")).await?.stdout)?;
        let committed =
            run(command().args(["rev-parse", "--verify", "--end-of-options"]).arg(format!("{head}^{{tree}}")));
        if object(&committed.await?.stdout)? == tree {
            return Ok(None);
        }
        let mut commit = command().config("i18n.commitEncoding", "UTF-8").args(["commit-tree", "-F", "-", "-p"]);
        for role in ["AUTHOR", "COMMITTER"] {
            commit = commit.env(format!("GIT_{role}_NAME"), &identity.name);
            commit = commit.env(format!("GIT_{role}_EMAIL"), &identity.email);
        }
        let commit = commit.args([head.as_str(), tree.as_str()]).stdin_bytes(clean_message(message).into_bytes());
        let commit = object(&run(commit).await?.stdout)?;
        Ok(Some(BoxedCommit { commit, scratch }))
    }

    /// A call that reads what was left over, too.
    pub(crate) fn command_with_scratch(&self, confinement: Confinement) -> Command {
        let command = self.command_in(confinement).env("GIT_OBJECT_DIRECTORY", format!("{SCRATCH}/objects"));
        let others = [&self.places().git_dir, &self.places().base].map(|place| place.join("objects"));
        command.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", alternates(&others))
    }
}

/// Paths as git reads them from its stdin.
fn list<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> Result<Vec<u8>> {
    use std::os::unix::ffi::OsStrExt;
    let mut listed = Vec::new();
    for path in paths {
        require_inside(path).map_err(|why| unverifiable(QUESTION, why))?;
        listed.extend_from_slice(path.as_os_str().as_bytes());
        listed.push(0);
    }
    Ok(listed)
}

/// The one object that an answer names. A tree has a name as a commit has.
fn object(stdout: &[u8]) -> Result<CommitId> {
    let text = String::from_utf8_lossy(stdout);
    let garbage = |_| unverifiable(QUESTION, Unverifiable::garbage("the name of an object", stdout));
    text.trim_end_matches('\n').parse().map_err(garbage)
}
