//! A branch called as git calls its copy of the remote's: `origin/feature/auth` means the branch `feature/auth` of `origin`,
//! unless a branch here has the longer name.

use spinney_core::{BranchName, Work};

use crate::repositories::context::Context;
use crate::resolve::request::Request;
use crate::{Engine, Error, Result};

impl Engine {
    /// A request with the branches that its names mean.
    pub(super) async fn with_branches_meant(&self, context: &Context, asked: &Request) -> Result<Request> {
        let mut request = asked.clone();
        for name in [&mut request.base, &mut request.head, &mut request.suggest].into_iter().flatten() {
            *name = self.branch_meant(context, name).await?;
        }
        if let Some(branch) = &asked.branch {
            let meant = self.branch_meant(context, branch).await?;
            request.of_remote = meant != *branch;
            request.work = work_meant(request.work, branch, &meant);
            request.branch = Some(meant);
        }
        Ok(request)
    }

    /// The branch that is meant by a name.
    pub async fn branch_meant(&self, context: &Context, name: &BranchName) -> Result<BranchName> {
        // Most names have no directory, and need no look at the remotes.
        if !name.as_str().contains('/') {
            return Ok(name.clone());
        }
        let remote = match self.remote(context).await {
            Ok(Some(remote)) => remote.name,
            // Whoever needs the remote is told then which there are.
            Ok(None) | Err(Error::AmbiguousRemote { .. } | Error::UnknownRemote { .. }) => return Ok(name.clone()),
            Err(error) => return Err(error),
        };
        let rest = name.as_str().strip_prefix(&format!("{remote}/")).and_then(|rest| rest.parse().ok());
        match rest {
            Some(meant) if context.load_branch(name).await?.is_none() => Ok(meant),
            _ => Ok(name.clone()),
        }
    }
}

/// The work on a branch that is meant by a name; other work stays what it is.
#[must_use]
pub fn work_meant(work: Work, named: &BranchName, meant: &BranchName) -> Work {
    if work == Work::branch(named) { Work::branch(meant) } else { work }
}
