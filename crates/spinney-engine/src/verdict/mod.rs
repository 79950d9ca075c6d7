//! "May this workspace go?": every reason against it, at once. Every remover asks this one function.
//!
//! What can't be inspected is a reason in itself: unknown is never clean.

mod files;
mod glance;
mod history;
mod hold;
pub(crate) mod holdings;

use async_recursion::async_recursion as boxed;
use spinney_core::names::for_message;
use spinney_core::{
    CommitId, Job, JobId, Merge, MergedPull, Operation, OperationKind, Reason, ReasonCode, Remover, Verdict, Workspace,
    WorkspaceStatus,
};

pub(crate) use self::glance::Glance;
pub(crate) use self::history::{Trust, load_merge};
use crate::repositories::context::{Context, tree_root};
use crate::tree::{self, Opened, Tree, find_admin_dir, lock_reason, open};
use crate::verdict::hold::{Held, Hold};
use crate::{Engine, Result};

/// How many files, commits or processes a reason names.
const NAMED: usize = 5;

/// What a forge says of a workspace's branch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ForgeWord {
    /// The open pull request, for people.
    pub open: Option<String>,
    /// The pull request that was closed without being merged.
    pub closed: Option<String>,
    /// The pull request that was merged.
    pub merged: Option<MergedPull>,
}

/// What is known beside the workspace itself.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Beside<'a> {
    /// The job that asks about its own workspace: that it runs is no reason.
    pub own: Option<&'a JobId>,
    pub forge: Option<&'a ForgeWord>,
}

/// Where the work may have arrived.
#[derive(Debug)]
pub(crate) struct Upstream {
    pub base: Option<CommitId>,
    /// What the forge says is merged: by its answer, and by what it told before.
    pub merged_heads: Vec<CommitId>,
}

/// Collects reasons for one remover.
pub(crate) struct Findings {
    remover: Remover,
    reasons: Vec<Reason>,
}

impl Findings {
    fn new(remover: Remover) -> Self {
        Self { remover, reasons: Vec::new() }
    }

    /// Adds a reason that is said in words.
    pub fn add(&mut self, code: ReasonCode, note: impl Into<String>, items: Vec<String>) {
        self.push(code, None, Some(note.into()), items);
    }

    /// Adds a reason that counts something, with what is to be said behind the count.
    pub fn number(&mut self, code: ReasonCode, count: usize, note: Option<&str>, items: Vec<String>) {
        self.push(code, Some(count), note.map(ToOwned::to_owned), items);
    }

    fn push(&mut self, code: ReasonCode, count: Option<usize>, note: Option<String>, items: Vec<String>) {
        let (blocks, overridable) = (code.blocks(self.remover), code.overridable());
        self.reasons.push(Reason { code, count, note, items, blocks, overridable, job: None });
    }

    /// Adds a job that runs.
    fn running(&mut self, job: &Job) {
        self.add(ReasonCode::InUse, format!("job {} of {}", job.id, for_message(&job.agent)), Vec::new());
        if let Some(reason) = self.reasons.last_mut() {
            reason.job = Some(job.id.clone());
        }
    }

    /// Adds who has the workspace to themselves for a while.
    fn leased(&mut self, operation: Option<&Operation>) {
        if operation.is_some_and(|operation| operation.kind() == OperationKind::Deliver) {
            self.add(ReasonCode::Leased, "somebody delivers it", Vec::new());
        }
    }

    /// Adds a reason that counts something and names the first few.
    pub fn count(&mut self, code: ReasonCode, mut items: Vec<String>) {
        let count = items.len();
        if count == 0 {
            return;
        }
        items.truncate(NAMED);
        self.number(code, count, None, items);
    }

    /// Adds what could not be answered.
    pub fn unverifiable(&mut self, question: &str, error: impl std::fmt::Display) {
        self.add(ReasonCode::Unverifiable, format!("could not check {question}: {error}"), Vec::new());
    }
}

/// Why a workspace in which a job runs stays where it is.
pub(crate) fn running_reason(job: &Job, remover: Remover) -> Vec<Reason> {
    let mut findings = Findings::new(remover);
    findings.running(job);
    findings.reasons
}

/// `1 file`, `3 files`.
#[must_use]
pub fn plural(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

impl Engine {
    /// Judges a workspace for a remover. Never fetches; never fails for what it can't see, but says so.
    #[boxed]
    pub async fn judge(&self, context: &Context, workspace: &Workspace, remover: Remover) -> Result<Verdict> {
        self.judge_beside(context, workspace, remover, Beside::default()).await
    }

    /// The same, with what a forge says.
    #[boxed]
    pub async fn judge_told(
        &self,
        context: &Context,
        workspace: &Workspace,
        remover: Remover,
        forge: Option<&ForgeWord>,
    ) -> Result<Verdict> {
        self.judge_beside(context, workspace, remover, Beside { forge, own: None }).await
    }

    pub(crate) async fn judge_beside(
        &self,
        context: &Context,
        workspace: &Workspace,
        remover: Remover,
        beside: Beside<'_>,
    ) -> Result<Verdict> {
        let mut findings = Findings::new(remover);
        let hold = Hold::start_looking(self.executor(Some(workspace)), &workspace.path);
        let upstream = self.upstream(context, workspace, beside.forge).await;
        if let Err(error) = tree::bring_in(context, workspace).await {
            findings.unverifiable("what is committed in it", error);
        }
        let merge = match open(context, workspace) {
            Opened::Whole(worktree) => {
                Box::pin(self.judge_tree(context, workspace, &worktree, &upstream, &hold, &mut findings)).await
            }
            Opened::Missing => self.judge_missing(context, workspace, &upstream, &mut findings).await,
            Opened::RootMissing => {
                let root = tree_root(&workspace.path).display();
                let detail = format!("`{root}` is not there or not marked: is its disk mounted?");
                findings.add(ReasonCode::Unverifiable, detail, Vec::new());
                Merge::Unknown { detail: "its files are out of reach".to_owned() }
            }
            Opened::Damaged(error) | Opened::Hidden(error) => {
                let code = match error {
                    spinney_git::Error::MainCheckout { .. } => ReasonCode::MainCheckout,
                    _ => ReasonCode::Unverifiable,
                };
                findings.add(code, error.to_string(), Vec::new());
                Merge::Unknown { detail: "its files can't be inspected".to_owned() }
            }
        };
        self.learn_pushed(context, workspace).await;
        self.judge_row(context, workspace, beside, &mut findings).await?;
        hold.load().await.judge(&mut findings);
        findings.reasons.sort_by_key(|reason| reason.code);
        Ok(Verdict { reasons: findings.reasons, merge })
    }

    /// Judges what git still has of a workspace whose directory is gone: its HEAD, its operation, its submodules.
    async fn judge_missing(
        &self,
        context: &Context,
        workspace: &Workspace,
        upstream: &Upstream,
        findings: &mut Findings,
    ) -> Merge {
        let moved = match find_admin_dir(context, workspace) {
            Ok(admin_dir) => admin_dir.map(|admin_dir| tree::moved(context, workspace, &workspace.path, &admin_dir)),
            Err(error) => {
                findings.unverifiable("what git has of it", error);
                None
            }
        };
        if let Some(worktree) = &moved {
            files::judge_operation(worktree, findings);
            match worktree.count_staged("HEAD").await {
                Ok(0) => {}
                Ok(count) => findings.number(ReasonCode::Dirty, count, Some("staged"), Vec::new()),
                Err(error) => findings.unverifiable("what is staged", error),
            }
        }
        history::judge_branch(context, workspace, moved.as_ref(), upstream, findings).await
    }

    /// Only what no consent overrides: all that a forced removal must know.
    pub(crate) async fn judge_forced(&self, context: &Context, workspace: &Workspace) -> Result<Verdict> {
        let mut findings = Findings::new(Remover::Person);
        // Whoever reads in a checkout holds its lock, and is asked by that.
        let mut db = self.store.read().await?;
        if workspace.status != WorkspaceStatus::Reading
            && let Some(job) = db.running_job_in(&workspace.id).await?
        {
            findings.running(&job);
        }
        findings.leased(db.open_operation_of(&workspace.id).await?.as_ref());
        drop(db);
        if let Opened::Damaged(error @ spinney_git::Error::MainCheckout { .. }) = open(context, workspace) {
            findings.add(ReasonCode::MainCheckout, error.to_string(), Vec::new());
        }
        Held::look(&*self.executor(Some(workspace)), &workspace.path).judge(&mut findings);
        let merge = Merge::Unknown { detail: "not asked".to_owned() };
        Ok(Verdict { reasons: findings.reasons, merge })
    }

    async fn judge_tree(
        &self,
        context: &Context,
        workspace: &Workspace,
        worktree: &Tree,
        upstream: &Upstream,
        hold: &Hold,
        findings: &mut Findings,
    ) -> Merge {
        let mut in_history = Findings::new(findings.remover);
        let ((), merge) = tokio::join!(
            files::judge_files(self, context, workspace, worktree, hold, findings),
            history::judge_branch(context, workspace, Some(worktree), upstream, &mut in_history),
        );
        let locked = worktree.admin_dir().join("locked");
        if let Ok(reason) = spinney_git::read_regular_text(&locked, spinney_git::POINTER_BYTES)
            && reason.trim() != lock_reason(&workspace.id)
        {
            let reason = if reason.trim().is_empty() { "locked in git" } else { reason.trim() };
            findings.add(ReasonCode::Locked, reason, Vec::new());
        }
        findings.reasons.append(&mut in_history.reasons);
        merge
    }

    /// Reasons that the store and the forge know.
    async fn judge_row(
        &self,
        context: &Context,
        workspace: &Workspace,
        beside: Beside<'_>,
        findings: &mut Findings,
    ) -> Result<()> {
        let mut db = self.store.read().await?;
        let works = db.works_of(&workspace.id).await?;
        let job = db.running_job_in(&workspace.id).await?;
        let operation = db.open_operation_of(&workspace.id).await?;
        drop(db);
        findings.leased(operation.as_ref());
        if let Some(job) = job.filter(|job| Some(&job.id) != beside.own) {
            findings.running(&job);
        }
        if let Some(open) = beside.forge.and_then(|word| word.open.as_deref()) {
            findings.add(ReasonCode::OpenPullRequest, for_message(open), Vec::new());
        }
        if works.len() > 1 {
            let items = works.iter().map(ToString::to_string).collect();
            findings.number(ReasonCode::Shared, works.len(), None, items);
        }
        if workspace.pinned {
            findings.add(ReasonCode::Pinned, "pinned by a person", Vec::new());
        }
        if let Some(from) = &workspace.adopted_from {
            findings.add(ReasonCode::Adopted, "made by somebody else", vec![from.clone()]);
        }
        if context.config().cleanup.persistent_platforms.contains(&workspace.platform) {
            findings.add(ReasonCode::Persistent, format!("{} is lasting", workspace.platform), Vec::new());
        }
        Ok(())
    }

    /// How a workspace's branch stands to its base, without a look at its files, and by what is remembered.
    pub(crate) async fn merge_of(&self, context: &Context, workspace: &Workspace) -> Merge {
        if let Err(error) = tree::bring_in(context, workspace).await {
            return Merge::Unknown { detail: error.to_string() };
        }
        let tree = match open(context, workspace) {
            Opened::Whole(worktree) => Some(worktree),
            Opened::Missing => None,
            Opened::RootMissing | Opened::Damaged(_) | Opened::Hidden(_) => {
                return Merge::Unknown { detail: "its files can't be inspected".to_owned() };
            }
        };
        let upstream = self.upstream(context, workspace, None).await;
        history::merge_of_head(context, workspace, tree.as_ref(), &upstream).await
    }

    /// Where a workspace's work may have arrived, as far as it is known here.
    pub(crate) async fn upstream(
        &self,
        context: &Context,
        workspace: &Workspace,
        forge: Option<&ForgeWord>,
    ) -> Upstream {
        let told = forge.and_then(|word| word.merged.as_ref());
        let merged = told.into_iter().chain(&workspace.metadata.merged);
        let merged_heads = merged.map(|merged| merged.head.clone()).collect();
        Upstream { base: self.base_tip(context, workspace).await, merged_heads }
    }

    /// The tip of a workspace's base branch, as far as it is known here.
    pub(crate) async fn base_tip(&self, context: &Context, workspace: &Workspace) -> Option<CommitId> {
        let base = workspace.base_branch.as_ref()?;
        if let Ok(Some(remote)) = self.remote(context).await
            && let Ok(Some(tip)) = context.load_remote_branch(&remote.name, base).await
        {
            return Some(tip);
        }
        context.load_branch(base).await.ok().flatten()
    }
}
