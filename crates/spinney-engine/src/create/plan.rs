//! Decides, before any side effect, on which branch and from which commit a workspace starts.
//!
//! The base is what somebody named or what the remote says, and without any remote the branch that the main checkout is on; a
//! missing base is an error, never a guess. The base commit decided here is recorded with the workspace and never derived again.

use std::time::Duration;

use spinney_core::config::Fetch;
use spinney_core::{BranchName, CommitId, Timestamp, WorkKind};
use spinney_git::{Known, Wanted};

use crate::notice::{Notice, Observer, Phase, Warning};
use crate::repositories::context::Context;
use crate::resolve::kept::{missing_head, missing_sha};
use crate::resolve::request::{Continued, Request};
use crate::{Engine, Error, Result};

/// Where a workspace starts.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub branch: BranchName,
    /// Whether the branch must be made.
    pub new_branch: bool,
    /// The commit that will be checked out.
    pub commit: CommitId,
    pub base_branch: Option<BranchName>,
    pub base_commit: CommitId,
    pub continued: Option<Continued>,
    pub started_from: String,
    /// Whether the base is the current branch, for want of a remote.
    pub on_current: bool,
    pub fetched: Option<Timestamp>,
}

/// The base: its name, its tip, and how people call it.
#[derive(Debug, Clone)]
pub(crate) struct Base {
    pub branch: Option<BranchName>,
    pub tip: CommitId,
    pub shown: String,
    /// Whether it is the current branch, for want of a remote.
    pub is_current: bool,
}

/// What is known of the remote by now.
struct Remote {
    name: String,
    known: Option<Known>,
}

impl Engine {
    /// Fetches what the request needs and decides where it starts.
    pub(crate) async fn plan(
        &self,
        context: Context,
        request: &Request,
        observer: &dyn Observer,
    ) -> Result<(Context, Plan)> {
        if !context.has_commits().await? {
            return Err(Error::EmptyRepository { name: context.repository.name });
        }
        let wanted = wanted(&context, request);
        let remote = self.ask_remote(&context, &wanted, Some(request), observer).await?;
        let base = find_base(&context, request.base.as_ref(), remote.as_ref()).await?;
        let context = self.refresh_context(context, &base.tip).await?;
        let free = match request.patterned() {
            Some(pattern) => {
                let remote = remote.as_ref().map(|remote| remote.name.as_str());
                Some(self.free_branch(&context, pattern, remote).await?)
            }
            None => None,
        };
        let plan = plan_branch(&context, request, free, &base, remote.as_ref()).await?;
        if plan.new_branch
            && let Some(existing) = context.branch_conflict(&plan.branch).await?
        {
            return Err(Error::BranchConflict { branch: plan.branch, existing });
        }
        Ok((context, plan))
    }

    /// Fetches what is named and not known here, whatever the age of what is; a failure is a warning, as it is for new work.
    pub(crate) async fn ask_again(&self, context: &Context, wanted: &Wanted, observer: &dyn Observer) -> Result<()> {
        let Some(remote) = self.remote(context).await? else { return Ok(()) };
        let before = context.load_known(&remote.name, wanted);
        if context.config().workspace.fetch != Fetch::Never {
            self.ask(context, remote.name, wanted, before, Duration::ZERO, observer).await?;
        }
        Ok(())
    }

    /// Fetches base and head where what is known is too old. A failed fetch is a warning, unless `fetch` requires it.
    async fn ask_remote(
        &self,
        context: &Context,
        wanted: &Wanted,
        request: Option<&Request>,
        observer: &dyn Observer,
    ) -> Result<Option<Remote>> {
        let Some(remote) = self.remote(context).await? else { return Ok(None) };
        let name = remote.name;
        let settings = &context.config().workspace;
        let before = context.load_known(&name, wanted);
        if settings.fetch == Fetch::Never {
            return Ok(Some(Remote { name, known: before }));
        }
        let mut max_age = if settings.fetch == Fetch::Require { Duration::ZERO } else { settings.fetch_max_age.0 };
        if let (Some(known), Some(request)) = (&before, request)
            && lacks_named(context, request, known).await?
        {
            max_age = Duration::ZERO;
        }
        self.ask(context, name, wanted, before, max_age, observer).await.map(Some)
    }

    /// Asks a remote where what is known of it is too old.
    async fn ask(
        &self,
        context: &Context,
        name: String,
        wanted: &Wanted,
        before: Option<Known>,
        max_age: Duration,
        observer: &dyn Observer,
    ) -> Result<Remote> {
        if before.as_ref().is_none_or(|known| known.at.elapsed() > max_age) {
            observer(Notice::Phase(Phase::Fetching { remote: name.clone() }));
        }
        let is_required = context.config().workspace.fetch == Fetch::Require;
        match self.fetch_from(context, &name, wanted, max_age).await {
            Ok(known) => Ok(Remote { name, known: Some(known) }),
            Err(Error::Git(source)) if is_required => Err(Error::Fetch { remote: name, source }),
            Err(error @ Error::TokenMissing { .. }) => Err(error),
            Err(error) if is_required => Err(error),
            Err(error) => {
                let at = before.as_ref().map(|known| known.at).or_else(|| context.load_fetched_by_hand(&name));
                let age = at.map(|at| at.elapsed());
                let warning = Warning::FetchFailed { remote: name.clone(), cause: error.to_string(), age };
                observer(Notice::Warning(warning));
                Ok(Remote { name, known: before })
            }
        }
    }
}

impl Engine {
    /// The base of what exists already, as it is known without asking the remote. That the main checkout happens to be on a
    /// branch now says nothing about where others began.
    pub(crate) async fn known_base(&self, context: &Context, base: Option<&BranchName>) -> Result<Base> {
        let base = self.known_start(context, base).await?;
        if base.is_current {
            return Err(Error::NoBase { repository: context.repository.name.clone() });
        }
        Ok(base)
    }

    /// The base of what is made now, as it is known without asking the remote.
    pub(crate) async fn known_start(&self, context: &Context, base: Option<&BranchName>) -> Result<Base> {
        let wanted = Wanted { default_branch: true, branches: Vec::new(), pulls: Vec::new() };
        let remote = self.remote(context).await?;
        let remote =
            remote.map(|remote| Remote { known: context.load_known(&remote.name, &wanted), name: remote.name });
        find_base(context, base, remote.as_ref()).await
    }

    /// The base that work starts from unless it says otherwise, fetched where what is known is too old; with the
    /// configuration that holds there.
    pub(crate) async fn fresh_base(&self, context: Context, observer: &dyn Observer) -> Result<(Context, Base)> {
        if !context.has_commits().await? {
            return Err(Error::EmptyRepository { name: context.repository.name });
        }
        let named = context.config().workspace.base.clone();
        let wanted =
            Wanted { default_branch: named.is_none(), branches: named.into_iter().collect(), pulls: Vec::new() };
        let remote = self.ask_remote(&context, &wanted, None, observer).await?;
        let base = find_base(&context, None, remote.as_ref()).await?;
        Ok((self.refresh_context(context, &base.tip).await?, base))
    }

    /// The base of a branch that exists already, from what is known without asking the remote.
    pub(crate) async fn base_of(
        &self,
        context: &Context,
        branch: &BranchName,
        base: Option<&BranchName>,
    ) -> Result<(Option<BranchName>, CommitId)> {
        let base = self.known_base(context, base).await?;
        let Some(tip) = context.load_branch(branch).await? else {
            return Err(Error::MissingHead {
                what: format!("branch `{branch}`"),
                looked_for: vec![branch.local_ref()],
            });
        };
        let commit = base_commit(context, &base, &tip).await?;
        Ok((base.branch, commit))
    }
}

/// What the remote must be asked for.
fn wanted(context: &Context, request: &Request) -> Wanted {
    let base = request.base.clone().or_else(|| context.config().workspace.base.clone());
    let mut branches: Vec<BranchName> = base.iter().cloned().collect();
    let mut pulls = Vec::new();
    match request.work.kind {
        WorkKind::Pr | WorkKind::Review => {
            let own = own_head(request);
            if own.is_none() {
                pulls.extend(request.work.key.parse::<u64>().ok());
            }
            branches.extend(own.cloned());
        }
        // All names that the remote has come with the answer.
        _ if request.patterned().is_some() => {}
        _ => branches.push(request.branch.clone().unwrap_or_else(|| request.work.default_branch())),
    }
    Wanted { default_branch: base.is_none(), branches, pulls }
}

/// Whether somebody named a ref or commit that the remote did not have when it was asked last. It may have come since,
/// so an answer from memory will not do; a name that the work itself makes is new more often than not.
async fn lacks_named(context: &Context, request: &Request, known: &Known) -> Result<bool> {
    let generated = request.work.default_branch();
    let is_generated = |name: &String| request.branch.is_none() && *name == generated.local_ref();
    if known.missing.iter().any(|name| !is_generated(name)) {
        return Ok(true);
    }
    match &request.sha {
        Some(sha) => Ok(context.load_commit(sha.as_str()).await?.is_none()),
        None => Ok(false),
    }
}

/// The pull request's own branch, when it is a branch of this repository.
pub(crate) fn own_head(request: &Request) -> Option<&BranchName> {
    request.head.as_ref().filter(|_| request.work.kind == WorkKind::Pr && !request.fork)
}

/// Whether what a request checks out may be a stranger's: a review, or a pull request that is no branch of this
/// repository.
pub(crate) fn is_foreign(request: &Request) -> bool {
    match request.work.kind {
        WorkKind::Review => true,
        WorkKind::Pr => own_head(request).is_none(),
        _ => false,
    }
}

async fn find_base(context: &Context, base: Option<&BranchName>, remote: Option<&Remote>) -> Result<Base> {
    let Some(name) = base.cloned().or_else(|| context.config().workspace.base.clone()) else {
        return default_base(context, remote).await;
    };
    let mut looked_for = Vec::new();
    if let Some(remote) = remote {
        if let Some(tip) = context.load_remote_branch(&remote.name, &name).await? {
            let shown = format!("{}/{name}", remote.name);
            return Ok(Base { shown, branch: Some(name), tip, is_current: false });
        }
        looked_for.push(format!("{}/{name}", remote.name));
    }
    if let Some(tip) = context.load_branch(&name).await? {
        return Ok(Base { shown: name.to_string(), branch: Some(name), tip, is_current: false });
    }
    looked_for.push(name.local_ref());
    if let Some(tip) = context.load_commit(name.as_str()).await? {
        return Ok(Base { shown: name.to_string(), branch: None, tip, is_current: false });
    }
    looked_for.push(format!("tag or commit {name}"));
    Err(Error::MissingBase { base: name.to_string(), looked_for })
}

/// The branch that the remote's HEAD names: asked, and only when it could not be asked, as last known.
async fn default_base(context: &Context, remote: Option<&Remote>) -> Result<Base> {
    let Some(remote) = remote else { return current_branch(context).await };
    let branch = match &remote.known {
        Some(known) => known.default_branch.clone(),
        None => context.load_remote_head(&remote.name).await?,
    };
    let head = format!("{}/HEAD", remote.name);
    let Some(branch) = branch else {
        return Err(Error::MissingBase {
            base: head.clone(),
            looked_for: vec![format!("the branch that {head} names")],
        });
    };
    match context.load_remote_branch(&remote.name, &branch).await? {
        Some(tip) => {
            let shown = format!("{}/{branch}", remote.name);
            Ok(Base { shown, branch: Some(branch), tip, is_current: false })
        }
        None => {
            let looked_for = vec![format!("{}/{branch}", remote.name)];
            Err(Error::MissingBase { base: branch.to_string(), looked_for })
        }
    }
}

/// The branch that the main checkout is on: what a repository without a remote has for a base.
async fn current_branch(context: &Context) -> Result<Base> {
    let no_base = || Error::NoBase { repository: context.repository.name.clone() };
    let branch = context.load_head_branch().await?.ok_or_else(no_base)?;
    let tip = context.load_branch(&branch).await?.ok_or_else(no_base)?;
    Ok(Base { shown: branch.to_string(), branch: Some(branch), tip, is_current: true })
}

/// Plans a new branch with a name that was found free, or the request's own, which is continued where it exists.
async fn plan_branch(
    context: &Context,
    request: &Request,
    free: Option<BranchName>,
    base: &Base,
    remote: Option<&Remote>,
) -> Result<Plan> {
    if let Some(branch) = free {
        return Ok(new_branch(branch, base.tip.clone(), base.tip.clone(), base.shown.clone(), base, remote));
    }
    let branch = match own_head(request) {
        Some(head) => head.clone(),
        None => request.branch.clone().unwrap_or_else(|| request.work.default_branch()),
    };
    if let Some(tip) = context.load_branch(&branch).await? {
        return existing(context, base, remote, branch, tip, Continued::Local).await;
    }
    let remote_tip = match remote {
        Some(remote) if !is_missing(remote, &branch) => context.load_remote_branch(&remote.name, &branch).await?,
        _ => None,
    };
    if let Some(tip) = remote_tip {
        return existing(context, base, remote, branch, tip, Continued::Remote).await;
    }
    if own_head(request).is_some() {
        return Err(missing_head(request, &branch, remote.map(|remote| remote.name.as_str())));
    }
    if request.of_remote {
        let remote = remote.map(|remote| remote.name.as_str()).unwrap_or_default();
        let what = format!("the branch `{branch}` of `{remote}`");
        return Err(Error::MissingHead { what, looked_for: vec![format!("{remote}/{branch}"), branch.local_ref()] });
    }
    let (commit, started_from) = match request.work.kind {
        WorkKind::Pr | WorkKind::Review => find_pull(context, request, remote).await?,
        _ => (base.tip.clone(), base.shown.clone()),
    };
    let base_commit = base_commit(context, base, &commit).await?;
    Ok(new_branch(branch, commit, base_commit, started_from, base, remote))
}

fn new_branch(
    branch: BranchName,
    commit: CommitId,
    base_commit: CommitId,
    started_from: String,
    base: &Base,
    remote: Option<&Remote>,
) -> Plan {
    Plan {
        branch,
        new_branch: true,
        commit,
        base_branch: base.branch.clone(),
        base_commit,
        continued: None,
        started_from,
        on_current: base.is_current,
        fetched: remote.and_then(|remote| remote.known.as_ref()).map(|known| known.at),
    }
}

/// A plan that goes on with a branch somebody else began.
async fn existing(
    context: &Context,
    base: &Base,
    remote: Option<&Remote>,
    branch: BranchName,
    tip: CommitId,
    continued: Continued,
) -> Result<Plan> {
    let base_commit = base_commit(context, base, &tip).await?;
    let started_from = match (continued, remote) {
        (Continued::Remote, Some(remote)) => format!("{}/{branch}", remote.name),
        _ => branch.to_string(),
    };
    Ok(Plan {
        branch,
        new_branch: continued == Continued::Remote,
        commit: tip,
        base_branch: base.branch.clone(),
        base_commit,
        continued: Some(continued),
        started_from,
        on_current: base.is_current,
        fetched: remote.and_then(|remote| remote.known.as_ref()).map(|known| known.at),
    })
}

/// The base commit of a branch that has a history of its own: where it left base.
async fn base_commit(context: &Context, base: &Base, start: &CommitId) -> Result<CommitId> {
    if *start == base.tip {
        return Ok(base.tip.clone());
    }
    // Without a common ancestor all of the branch is its own: base's tip, which it does not contain, says just that.
    Ok(context.load_merge_base(start, &base.tip).await?.unwrap_or_else(|| base.tip.clone()))
}

/// The commit of a pull request: the SHA that was given, else what the forge keeps under `pull/N/head`.
async fn find_pull(context: &Context, request: &Request, remote: Option<&Remote>) -> Result<(CommitId, String)> {
    let number = &request.work.key;
    let pull = format!("pull/{number}/head");
    let fetched = context.load_ref(&format!("refs/spinney/pull/{number}")).await?;
    if let Some(sha) = &request.sha {
        return match context.load_commit(sha.as_str()).await? {
            Some(commit) => Ok((commit, pull)),
            None => Err(missing_sha(request, sha)),
        };
    }
    let here = remote.is_some_and(|remote| {
        remote.known.as_ref().is_none_or(|known| !known.missing.contains(&format!("refs/pull/{number}/head")))
    });
    match fetched.filter(|_| here) {
        Some(commit) => Ok((commit, pull)),
        None => Err(Error::MissingHead { what: format!("pull request {number}"), looked_for: vec![pull] }),
    }
}

/// Whether the remote was asked for a branch and did not have it: a tracking ref that is still here is stale then.
fn is_missing(remote: &Remote, branch: &BranchName) -> bool {
    remote.known.as_ref().is_some_and(|known| known.missing.contains(&branch.local_ref()))
}
