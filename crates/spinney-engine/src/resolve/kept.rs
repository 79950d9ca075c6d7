//! What a request names beside its work, where the work has a workspace already: that keeps its base, branch and commit.
//!
//! A base, branch or commit that does not exist is an error as it is for new work, and before anything is changed. One that
//! differs from the workspace's own is told. Both hold for what a person asks for; what a platform tells of a pull request
//! says how that stands by now, and asks for nothing.

use spinney_core::{BranchName, CommitId, Platform, Workspace};
use spinney_git::Wanted;

use crate::create::plan::{Base, own_head};
use crate::notice::{Kept, Observer};
use crate::repositories::context::Context;
use crate::resolve::request::Request;
use crate::{Engine, Error, Result};

impl Engine {
    /// What a workspace keeps though the request for it names another.
    pub(crate) async fn kept(
        &self,
        context: &Context,
        request: &Request,
        workspace: &Workspace,
        observer: &dyn Observer,
    ) -> Result<Vec<Kept>> {
        let mut kept = Vec::new();
        if !matches!(request.platform, Platform::Cli | Platform::Api) {
            return Ok(kept);
        }
        if let Some(asked) = &request.base {
            let base = self.require_base(context, asked, observer).await?;
            if !is_base_of(&base, workspace) {
                let base = workspace.base_branch.clone();
                kept.push(Kept::Base { asked: asked.clone(), base, commit: workspace.base_commit.clone() });
            }
        }
        if let Some(head) = own_head(request) {
            self.require_head(context, request, head, observer).await?;
            if *head != workspace.branch {
                kept.push(Kept::Branch { asked: head.clone(), branch: workspace.branch.clone() });
            }
        }
        if let Some(sha) = &request.sha {
            let commit = self.require_sha(context, request, sha, observer).await?;
            let is_there = match context.load_branch(&workspace.branch).await? {
                Some(tip) => context.is_ancestor(&commit, &tip).await?,
                None => false,
            };
            if !is_there {
                kept.push(Kept::Commit { asked: sha.clone(), branch: workspace.branch.clone() });
            }
        }
        Ok(kept)
    }

    /// A base that somebody named; the remote is asked only where it is not known here.
    async fn require_base(&self, context: &Context, name: &BranchName, observer: &dyn Observer) -> Result<Base> {
        match self.known_start(context, Some(name)).await {
            Err(Error::MissingBase { .. }) => {}
            known => return known,
        }
        let wanted = Wanted { branches: vec![name.clone()], ..Wanted::default() };
        self.ask_again(context, &wanted, observer).await?;
        self.known_start(context, Some(name)).await
    }

    async fn require_head(
        &self,
        context: &Context,
        request: &Request,
        head: &BranchName,
        observer: &dyn Observer,
    ) -> Result<()> {
        let remote = self.remote(context).await?.map(|remote| remote.name);
        let is_here = async || -> Result<bool> {
            let there = match &remote {
                Some(remote) => context.load_remote_branch(remote, head).await?.is_some(),
                None => false,
            };
            Ok(there || context.load_branch(head).await?.is_some())
        };
        if is_here().await? {
            return Ok(());
        }
        let wanted = Wanted { branches: vec![head.clone()], ..Wanted::default() };
        self.ask_again(context, &wanted, observer).await?;
        if is_here().await? { Ok(()) } else { Err(missing_head(request, head, remote.as_deref())) }
    }

    async fn require_sha(
        &self,
        context: &Context,
        request: &Request,
        sha: &CommitId,
        observer: &dyn Observer,
    ) -> Result<CommitId> {
        if let Some(commit) = context.load_commit(sha.as_str()).await? {
            return Ok(commit);
        }
        let pulls = request.work.key.parse::<u64>().ok();
        let wanted = Wanted {
            pulls: pulls.into_iter().collect(),
            branches: own_head(request).into_iter().cloned().collect(),
            ..Wanted::default()
        };
        self.ask_again(context, &wanted, observer).await?;
        match context.load_commit(sha.as_str()).await? {
            Some(commit) => Ok(commit),
            None => Err(missing_sha(request, sha)),
        }
    }
}

/// A pull request's own branch that is neither here nor at the remote.
pub(crate) fn missing_head(request: &Request, head: &BranchName, remote: Option<&str>) -> Error {
    let looked_for = remote.map(|remote| format!("{remote}/{head}")).into_iter().chain([head.local_ref()]);
    let what = format!("the branch `{head}` of pull request {}", request.work.key);
    Error::MissingHead { what, looked_for: looked_for.collect() }
}

/// A pull request's commit that is nowhere.
pub(crate) fn missing_sha(request: &Request, sha: &CommitId) -> Error {
    let number = &request.work.key;
    Error::MissingHead {
        what: format!("commit `{sha}` of pull request {number}"),
        looked_for: vec![format!("pull/{number}/head"), sha.to_string()],
    }
}

/// Whether a workspace has this base. One that started from a tag or commit has the commit alone.
fn is_base_of(base: &Base, workspace: &Workspace) -> bool {
    match (&base.branch, &workspace.base_branch) {
        (Some(asked), Some(recorded)) => asked == recorded,
        _ => base.tip == workspace.base_commit,
    }
}
