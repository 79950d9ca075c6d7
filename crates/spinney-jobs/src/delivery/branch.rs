//! Which branch is a workspace's to write to: nothing is committed to or pushed as a branch that is somebody else's.

use spinney_core::{BranchName, CommitId, Workspace};
use spinney_engine::{Context, Engine, Tree};
use spinney_git::Head;

use crate::Result;
use crate::told::BranchOwner;

/// Whose a branch is that is not this workspace's to write to: one that is checked out elsewhere, the base, another
/// workspace's, or one that the remote has already, other than by our own push of `delivered`.
pub(crate) async fn other_owner(
    engine: &Engine,
    context: &Context,
    workspace: &Workspace,
    branch: &BranchName,
    delivered: Option<&CommitId>,
) -> Result<Option<BranchOwner>> {
    if workspace.branch == *branch {
        return Ok(None);
    }
    if workspace.base_branch.as_ref() == Some(branch) {
        return Ok(Some(BranchOwner::Base));
    }
    let trees = context.load_worktrees().await?;
    if let Some(other) = trees.iter().find(|tree| tree.branch.as_ref() == Some(branch) && tree.path != workspace.path) {
        return Ok(Some(BranchOwner::CheckedOutAt(other.path.clone())));
    }
    let other = engine.store().read().await?.workspace_on_branch(&workspace.repository_id, branch).await?;
    if let Some(other) = other.filter(|other| other.id != workspace.id) {
        return Ok(Some(BranchOwner::Workspace(other.name)));
    }
    if let Some(remote) = engine.remote(context).await?
        && let Some(tip) = context.load_remote_branch(&remote.name, branch).await?
        && delivered != Some(&tip)
    {
        return Ok(Some(BranchOwner::Remote(remote.name)));
    }
    Ok(None)
}

/// Where HEAD is on no branch, and lacks commits of the workspace's branch: somebody would miss them.
pub(crate) async fn lacking_head(workspace: &Workspace, tree: &Tree, head: &Head) -> Result<Option<CommitId>> {
    let Head::Detached { commit, rebasing: None } = head else { return Ok(None) };
    let Some(tip) = tree.load_branch(&workspace.branch).await? else { return Ok(None) };
    Ok((!tree.is_ancestor(&tip, commit).await?).then(|| commit.clone()))
}
