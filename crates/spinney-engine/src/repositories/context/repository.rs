//! Questions about the repository as a whole: refs, history, remotes, the main checkout. What concerns one workspace is its
//! [`Tree`](crate::Tree)'s to answer.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use spinney_core::{BranchName, CommitId, Timestamp};
use spinney_git::{
    Added, BrokenRef, Changes, Credential, Elsewhere, GitOptions, Known, NamedRef, OnlyHere, OwnSettings, Patch,
    Remote, RepositoryLock, Result, Stash, Unpushed, Wanted, WorktreeEntry,
};

use super::Context;
use crate::repositories::escape::MainCheckout;

/// Where it is.
impl Context {
    /// The main checkout; none of a bare repository.
    #[must_use]
    pub fn root(&self) -> Option<&Path> {
        self.git.root()
    }

    pub(crate) fn is_bare(&self) -> bool {
        self.git.is_bare()
    }

    /// The git dir that all its workspaces share.
    #[must_use]
    pub fn common_dir(&self) -> &Path {
        self.git.common_dir()
    }

    /// The main checkout, else the git dir of a bare repository.
    #[must_use]
    pub fn place(&self) -> &Path {
        self.root().unwrap_or_else(|| self.common_dir())
    }

    /// Where Spinney keeps what belongs to the repository.
    pub(crate) fn state_dir(&self) -> PathBuf {
        self.git.state_dir()
    }

    /// The main checkout, to be watched.
    #[must_use]
    pub fn main_checkout(&self) -> MainCheckout {
        MainCheckout::new(self.git.clone())
    }

    /// How git is run.
    #[must_use]
    pub fn git_options(&self) -> &GitOptions {
        self.git.git().options()
    }

    /// Waits for the lock that covers what changes its shared state.
    pub(crate) async fn lock(&self, purpose: &str) -> Result<RepositoryLock> {
        self.git.lock(purpose).await
    }
}

/// Refs and commits.
impl Context {
    pub(crate) async fn has_commits(&self) -> Result<bool> {
        self.git.has_commits().await
    }

    /// The commit of a branch.
    #[boxed]
    pub async fn load_branch(&self, branch: &BranchName) -> Result<Option<CommitId>> {
        self.git.load_branch(branch).await
    }

    /// All branches, each with its commit.
    pub(crate) async fn load_branches(&self) -> Result<BTreeMap<BranchName, CommitId>> {
        self.git.load_branches().await
    }

    /// A print of what the remotes are known to have.
    pub(crate) async fn load_remotes_print(&self) -> Result<String> {
        self.git.load_remotes_print().await
    }

    /// The commit of a ref, by its whole name.
    pub(crate) async fn load_ref(&self, full_name: &str) -> Result<Option<CommitId>> {
        self.git.load_ref(full_name).await
    }

    /// The commit that a revision names.
    #[boxed]
    pub async fn load_commit(&self, revision: &str) -> Result<Option<CommitId>> {
        self.git.load_commit(revision).await
    }

    /// The branch in whose way a new one of this name would be, as a directory of it or the other way round.
    pub(crate) async fn branch_conflict(&self, branch: &BranchName) -> Result<Option<String>> {
        self.git.branch_conflict(branch).await
    }

    /// The branch that the main checkout is on; in a bare repository, the one that its HEAD names.
    pub async fn load_head_branch(&self) -> Result<Option<BranchName>> {
        self.git.load_head_branch().await
    }

    pub(crate) async fn is_checked_out(&self, branch: &BranchName) -> Result<bool> {
        self.git.is_checked_out(branch).await
    }

    /// Every checkout that git lists for it, the main one among them.
    #[boxed]
    pub async fn load_worktrees(&self) -> Result<Vec<WorktreeEntry>> {
        self.git.load_worktrees().await
    }

    /// Moves a ref from where it is known to be; without an old commit, it must not be there.
    pub(crate) async fn update_ref(
        &self,
        lock: &RepositoryLock,
        name: &str,
        new: &CommitId,
        old: Option<&CommitId>,
    ) -> Result<()> {
        self.git.update_ref(lock, name, new, old).await
    }

    /// Deletes a ref that is where it is known to be.
    pub(crate) async fn delete_ref(&self, lock: &RepositoryLock, name: &str, old: &CommitId) -> Result<()> {
        self.git.delete_ref(lock, name, old).await
    }

    pub(crate) async fn load_broken_refs(&self) -> Result<Vec<BrokenRef>> {
        self.git.load_broken_refs().await
    }

    pub(crate) async fn set_ref_aside(&self, lock: &RepositoryLock, broken: &BrokenRef) -> Result<bool> {
        self.git.set_ref_aside(lock, broken).await
    }

    pub(crate) async fn is_rescue_needless(&self, rescue_ref: &str, elsewhere: Elsewhere) -> Result<bool> {
        self.git.is_rescue_needless(rescue_ref, elsewhere).await
    }

    pub(crate) async fn drop_rescue_if_needless(
        &self,
        lock: &RepositoryLock,
        rescue_ref: &str,
        elsewhere: Elsewhere,
    ) -> Result<bool> {
        self.git.drop_rescue_if_needless(lock, rescue_ref, elsewhere).await
    }

    pub(crate) async fn load_stashes(&self) -> Result<Vec<Stash>> {
        self.git.load_stashes().await
    }
}

/// History and content.
impl Context {
    /// Whether a commit is in the history of another.
    #[boxed]
    pub async fn is_ancestor(&self, ancestor: &CommitId, commit: &CommitId) -> Result<bool> {
        self.git.is_ancestor(ancestor, commit).await
    }

    pub(crate) async fn load_merge_base(&self, a: &CommitId, b: &CommitId) -> Result<Option<CommitId>> {
        self.git.load_merge_base(a, b).await
    }

    pub(crate) async fn load_ahead_behind(&self, tip: &CommitId, base: &CommitId) -> Result<(u64, u64)> {
        self.git.load_ahead_behind(tip, base).await
    }

    pub(crate) async fn count_unpushed(&self, tip: &CommitId, base: &CommitId) -> Result<Unpushed> {
        self.git.count_unpushed(tip, base).await
    }

    pub(crate) async fn count_unreferenced(&self, commit: &CommitId) -> Result<u64> {
        self.git.count_unreferenced(commit).await
    }

    /// The commits of a history that others lack.
    #[boxed]
    pub async fn count_missing(&self, tip: &CommitId, known: &[CommitId]) -> Result<Unpushed> {
        self.git.count_missing(tip, known).await
    }

    /// What a commit changes beside another.
    #[boxed]
    pub async fn load_changes(&self, base: &CommitId, tip: &CommitId) -> Result<Changes> {
        self.git.load_changes(base, tip).await
    }

    /// The same as text, as far as it is wanted.
    #[boxed]
    pub async fn load_patch(&self, base: &CommitId, tip: &CommitId, max_bytes: usize) -> Result<Patch> {
        self.git.load_patch(base, tip, max_bytes).await
    }

    /// The files that commits add beyond others.
    #[boxed]
    pub async fn load_added(&self, tip: &CommitId, known: &[CommitId]) -> Result<Vec<Added>> {
        self.git.load_added(tip, known).await
    }

    /// Those of the commits that are here.
    #[boxed]
    pub async fn load_commits_here(&self, commits: &BTreeSet<CommitId>) -> Result<Vec<CommitId>> {
        self.git.load_commits_here(commits).await
    }

    /// The names of all blobs of a commit.
    pub(crate) async fn load_blobs(&self, commit: &CommitId) -> Result<BTreeSet<String>> {
        self.git.load_blobs(commit).await
    }

    pub(crate) async fn load_tree(&self, commit: &CommitId) -> Result<String> {
        self.git.load_tree(commit).await
    }

    pub(crate) async fn load_tree_bytes(&self, commit: &CommitId) -> Result<u64> {
        self.git.load_tree_bytes(commit).await
    }

    pub(crate) async fn load_file(&self, commit: &CommitId, path: &str) -> Result<Option<Vec<u8>>> {
        self.git.load_file(commit, path).await
    }

    pub(crate) async fn load_existing_paths(&self, commit: &CommitId, paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
        self.git.load_existing_paths(commit, paths).await
    }

    /// The repository for questions whose answers write objects, which are gone with it.
    pub(crate) fn with_scratch_objects(&self) -> Result<spinney_git::Repository> {
        self.git.with_scratch_objects()
    }
}

/// What refs of Spinney's own keep alive.
impl Context {
    pub(crate) async fn load_refs_below(&self, below: &[&str]) -> Result<Vec<NamedRef>> {
        self.git.load_refs_below(below).await
    }

    pub(crate) fn load_reflog_start(&self, branch: &BranchName) -> Option<i64> {
        self.git.load_reflog_start(branch)
    }

    pub(crate) async fn load_tagged(&self) -> Result<Vec<CommitId>> {
        self.git.load_tagged().await
    }

    pub(crate) async fn load_needless<'a>(
        &self,
        refs: &'a [NamedRef],
        elsewhere: &[CommitId],
    ) -> Result<Vec<&'a NamedRef>> {
        self.git.load_needless(refs, elsewhere).await
    }

    pub(crate) async fn load_only_in(&self, refs: &[NamedRef], go_too: &[NamedRef], newest: usize) -> Result<OnlyHere> {
        self.git.load_only_in(refs, go_too, newest).await
    }

    pub(crate) async fn load_only_on(&self, branch: &BranchName, tip: &CommitId, newest: usize) -> Result<OnlyHere> {
        self.git.load_only_on(branch, tip, newest).await
    }

    pub(crate) async fn delete_kept_ref(&self, lock: &RepositoryLock, kept: &NamedRef) -> Result<()> {
        self.git.delete_ref(lock, &kept.name, &kept.commit).await
    }
}

/// Remotes.
impl Context {
    pub(crate) async fn load_remotes(&self) -> Result<Vec<Remote>> {
        self.git.load_remotes().await
    }

    /// A remote's branch as it was when it was fetched last.
    #[boxed]
    pub async fn load_remote_branch(&self, remote: &str, branch: &BranchName) -> Result<Option<CommitId>> {
        self.git.load_remote_branch(remote, branch).await
    }

    pub(crate) async fn load_remote_head(&self, remote: &str) -> Result<Option<BranchName>> {
        self.git.load_remote_head(remote).await
    }

    pub(crate) async fn load_remote_tips(
        &self,
        remote: &str,
        credential: Option<&Credential>,
    ) -> Result<Vec<CommitId>> {
        self.git.load_remote_tips(remote, credential).await
    }

    pub(crate) async fn load_fetched_tips(&self, remote: &str) -> Result<Vec<CommitId>> {
        self.git.load_fetched_tips(remote).await
    }

    pub(crate) async fn load_push_url(&self, remote: &str) -> Result<String> {
        self.git.load_push_url(remote).await
    }

    pub(crate) async fn load_mirrored_remote(&self) -> Result<Option<String>> {
        self.git.load_mirrored_remote().await
    }

    pub(crate) async fn is_taken_at(&self, remote: &str, branch: &BranchName) -> Result<bool> {
        self.git.is_taken_at(remote, branch).await
    }

    pub(crate) async fn fetch(
        &self,
        remote: &str,
        wanted: &Wanted,
        max_age: Duration,
        credential: Option<&Credential>,
    ) -> Result<Known> {
        self.git.fetch(remote, wanted, max_age, credential).await
    }

    /// Fetches all that a remote has.
    pub(crate) async fn sync(&self, remote: &str, credential: Option<&Credential>) -> Result<Known> {
        self.git.sync(remote, credential).await
    }

    pub(crate) fn load_known(&self, remote: &str, wanted: &Wanted) -> Option<Known> {
        self.git.load_known(remote, wanted)
    }

    pub(crate) fn load_fetched_by_hand(&self, remote: &str) -> Option<Timestamp> {
        self.git.load_fetched_by_hand(remote)
    }
}

/// The main checkout, its settings and locks.
impl Context {
    /// Whether git ignores a path of the main checkout.
    #[boxed]
    pub async fn is_ignored(&self, path: &Path) -> Result<bool> {
        self.git.is_ignored(path).await
    }

    pub(crate) async fn load_ignored(&self, patterns: &[String]) -> Result<Vec<PathBuf>> {
        self.git.load_ignored(patterns).await
    }

    pub(crate) async fn load_settings(&self) -> Result<OwnSettings> {
        self.git.load_own_settings().await
    }

    /// The locks that a git which was killed left.
    pub(crate) fn stale_locks(&self) -> Vec<PathBuf> {
        self.git.stale_locks()
    }

    pub(crate) fn is_stale(&self, lock: &Path) -> bool {
        self.git.is_stale(lock)
    }

    pub(crate) fn clear_if_stale(&self, lock: &Path) -> bool {
        self.git.clear_if_stale(lock)
    }
}
