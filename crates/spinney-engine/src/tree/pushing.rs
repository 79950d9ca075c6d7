//! Sends a workspace's commits to a remote.

use spinney_core::{BranchName, CommitId};
use spinney_git::{Credential, Lease, Pushed};

use crate::Result;
use crate::repositories::context::Context;

/// Pushes a commit of a workspace to a branch of a remote.
pub(crate) async fn push(
    context: &Context,
    remote: &str,
    commit: &CommitId,
    branch: &BranchName,
    lease: &Lease,
    credential: Option<&Credential>,
) -> Result<Pushed> {
    Ok(context.git().push(remote, commit, branch, lease, credential).await?)
}
