//! The git side of one workspace: what it tells, and what changes it.
//!
//! Questions that need another commit than its own, as whether it is merged, are the repository's ([`Context`]).
//!
//! [`Context`]: crate::Context

use std::path::Path;

use async_recursion::async_recursion as boxed;
use spinney_core::{BranchName, CommitId};
use spinney_git::{
    Credential, Files, Head, ObjectFormat, Proof, RepositoryLock, Result, Stash, Status, StatusOptions, Survey,
    Worktree,
};

/// One workspace's files, index, HEAD and branch.
#[derive(Debug, Clone)]
pub struct Tree {
    pub(super) git: Worktree,
}

impl Tree {
    pub(super) fn new(git: Worktree) -> Self {
        Self { git }
    }

    /// The same, whose calls carry a variable: what of them outlives us can be found by it.
    #[must_use]
    pub(crate) fn tagged(self, variable: &'static str, value: &str) -> Self {
        Self { git: self.git.tagged(variable, value) }
    }

    /// Where its files are.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.git.path()
    }

    /// Git's own directory for it.
    #[must_use]
    pub fn admin_dir(&self) -> &Path {
        self.git.admin_dir()
    }

    /// The git dir that has its objects and refs.
    #[must_use]
    pub fn common_dir(&self) -> &Path {
        self.git.repository().common_dir()
    }

    pub(crate) fn admin_name(&self) -> &str {
        self.git.admin_name()
    }
}

/// What it tells.
impl Tree {
    /// Where HEAD is.
    #[boxed]
    pub async fn load_head(&self) -> Result<Head> {
        self.git.load_head().await
    }

    /// Where a branch is, as the workspace sees it.
    #[boxed]
    pub async fn load_branch(&self, branch: &BranchName) -> Result<Option<CommitId>> {
        self.git.repository().load_branch(branch).await
    }

    /// What is stashed; the stack of linked worktrees is the repository's.
    pub(crate) async fn load_stashes(&self) -> Result<Vec<Stash>> {
        self.git.repository().load_stashes().await
    }

    /// Whether a commit of it is in the history of another.
    #[boxed]
    pub async fn is_ancestor(&self, ancestor: &CommitId, commit: &CommitId) -> Result<bool> {
        self.git.repository().is_ancestor(ancestor, commit).await
    }

    /// What git sees that differs from HEAD.
    #[boxed]
    pub async fn load_status(&self, options: &StatusOptions) -> Result<Status> {
        self.git.load_status(options).await
    }

    pub(crate) async fn load_status_without_submodules(&self) -> Result<Status> {
        self.git.load_status_without_submodules().await
    }

    /// What differs from HEAD, each file with its identity.
    #[boxed]
    pub async fn load_files(&self, ignored: bool) -> Result<Files> {
        self.git.load_files(ignored).await
    }

    pub(crate) fn load_operation_in_progress(&self) -> Option<&'static str> {
        self.git.load_operation_in_progress()
    }

    /// Deletes a lock in its own repository, where no git holds it.
    pub(crate) fn clear_if_stale(&self, lock: &Path) -> bool {
        self.git.repository().clear_if_stale(lock)
    }

    pub(crate) fn has_index_lock(&self) -> bool {
        self.git.has_index_lock()
    }

    /// The tree that its whole index is, read without git; none where only git can tell.
    pub(crate) fn load_index_tree(&self) -> Option<String> {
        self.git.load_index_tree()
    }

    pub(crate) async fn check_index(&self) -> Result<()> {
        self.git.check_index().await
    }

    /// How many files are staged beside those of a commit.
    pub(crate) async fn count_staged(&self, commit: &str) -> Result<usize> {
        self.git.repository().count_staged(self.admin_dir(), commit).await
    }

    /// Whether it names a commit that is nowhere else: by its HEAD, its log, or a ref of its own.
    pub(crate) async fn has_own_commits(&self, base: &CommitId) -> Result<bool> {
        self.git.repository().has_own_commits(self.admin_dir(), base).await
    }

    pub(crate) fn has_submodules(&self) -> bool {
        self.git.has_submodules()
    }

    pub(crate) fn is_own_submodule(&self, path: &Path) -> bool {
        self.git.is_own_submodule(path)
    }

    /// The submodules that have commits which no remote has.
    pub(crate) async fn load_unpushed_submodules(&self) -> Result<Vec<String>> {
        self.git.repository().load_unpushed_submodules(&self.git).await
    }

    /// The proof that its files are exactly those of its index; none where that is not known without git.
    pub(crate) async fn prove_clean(&self, format: ObjectFormat) -> Option<Proof> {
        self.git.prove_clean(format).await
    }

    /// Every path, matched with the index.
    pub(crate) async fn survey(&self, format: ObjectFormat) -> Result<Survey> {
        self.git.survey(format).await
    }
}

/// What changes it.
impl Tree {
    pub(crate) async fn checkout(&self, lfs: bool) -> Result<()> {
        self.git.checkout(lfs).await
    }

    pub(crate) async fn checkout_index(&self) -> Result<()> {
        self.git.checkout_index().await
    }

    /// Writes a large file in the place of its pointer, where it is here.
    pub(crate) async fn write_large_file(&self, path: &Path) -> Result<bool> {
        self.git.repository().write_large_file(path).await
    }

    pub(crate) async fn write_plain_index(&self) -> Result<()> {
        self.git.write_plain_index().await
    }

    pub(crate) async fn refresh_index(&self) -> Result<()> {
        self.git.refresh_index().await
    }

    pub(crate) async fn read_head_into_index(&self) -> Result<()> {
        self.git.read_head_into_index().await
    }

    pub(crate) async fn pull_lfs(&self) -> Result<()> {
        self.git.pull_lfs().await
    }

    pub(crate) async fn update_submodules(&self, lfs: bool, credential: Option<&Credential>) -> Result<()> {
        self.git.update_submodules(lfs, credential).await
    }

    pub(crate) async fn move_to(&self, commit: &CommitId, lfs: bool) -> Result<()> {
        self.git.move_to(commit, lfs).await
    }

    pub(crate) async fn move_to_new_branch(&self, branch: &BranchName, commit: &CommitId, lfs: bool) -> Result<()> {
        self.git.move_to_new_branch(branch, commit, lfs).await
    }

    pub(crate) async fn start_branch(&self, lock: &RepositoryLock, branch: &BranchName) -> Result<()> {
        self.git.start_branch(lock, branch).await
    }

    pub(crate) async fn continue_branch(&self, lock: &RepositoryLock, branch: &BranchName) -> Result<()> {
        self.git.continue_branch(lock, branch).await
    }

    pub(crate) async fn detach_head(&self, lock: &RepositoryLock, commit: &CommitId) -> Result<()> {
        self.git.detach_head(lock, commit).await
    }

    pub(crate) async fn set_head(&self, lock: &RepositoryLock, branch: &BranchName) -> Result<()> {
        self.git.set_head(lock, branch).await
    }
}
