//! Turns a request into a workspace, in a fixed order: existing, reused, shared, adopted, created.

use async_recursion::async_recursion as boxed;
use spinney_core::{BranchName, Method, Timestamp, Work, WorkKind, Workspace, WorkspaceStatus};

use crate::create::make::Attempt;
use crate::journal::events;
use crate::notice::{Kept, Notice, Observer, Phase, Warning};
use crate::repositories::context::{Context, tree_root};
use crate::resolve::request::{Request, Resolution};
use crate::tree::{self, Opened};
use crate::{Engine, Error, Result};

/// How often a request looks again after somebody else was faster, before it gives up.
const MOST_ROUNDS: usize = 100;

/// What a look at one row found.
enum Look {
    /// Valid on disk.
    Here(Workspace),
    /// Its directory is gone.
    Lost(Workspace),
    /// Somebody is making or removing it and has ended by now: look again.
    Again,
    Nothing,
}

impl Engine {
    /// Finds or makes the workspace for a request. Nothing runs in the main checkout instead.
    #[boxed]
    pub async fn resolve(
        &self,
        mut context: Context,
        request: &Request,
        observer: &dyn Observer,
    ) -> Result<(Context, Resolution)> {
        let asked = &self.with_branches_meant(&context, request).await?;
        for _ in 0..MOST_ROUNDS {
            // Anew in each round: another branch of the same slug may have been faster.
            let request = &self.distinct_branch_work(&context, asked).await?;
            let found = match self.find(&context, request, observer).await? {
                Search::Yes(resolution) => Some(*resolution),
                Search::Again => continue,
                Search::No => self.adopt_matching(&context, request).await?,
            };
            if let Some(mut resolution) = found {
                tell_kept(&resolution, observer);
                self.bind(request, &resolution.workspace).await?;
                self.set_up_later(&context, request, &mut resolution.workspace, observer).await?;
                return Ok((context, resolution));
            }
            let (fresh, plan) = self.plan(context, request, observer).await?;
            context = fresh;
            let patterned = request.patterned().is_some();
            let attempt = match self.create(&context, request, &plan, observer).await {
                // Somebody took the name meanwhile; the next number is as good.
                Err(Error::Git(spinney_git::Error::BranchExists { .. })) if patterned => continue,
                attempt => attempt?,
            };
            match attempt {
                Attempt::Created(resolution) => {
                    self.bind(request, &resolution.workspace).await?;
                    return Ok((context, *resolution));
                }
                Attempt::Taken if patterned => {}
                Attempt::Taken => self.check_branch_is_free(&context, request, &plan.branch).await?,
                Attempt::Full => self.make_room(&context, &asked.done, observer).await?,
            }
        }
        Err(Error::Busy { name: asked.work.workspace_name() })
    }

    async fn find(&self, context: &Context, request: &Request, observer: &dyn Observer) -> Result<Search> {
        let repository = &context.repository.id;
        if let Some(conversation) = &request.conversation {
            let row = self
                .store
                .read()
                .await?
                .workspace_of_conversation(&self.account, request.platform, conversation)
                .await?;
            // A conversation that was about another repository, or about a workspace that is gone, starts anew.
            if let Some(row) = row.filter(|row| row.repository_id == *repository && row.status.is_live()) {
                request.check_within(&row)?;
                match self.look(context, row, observer).await? {
                    Look::Here(workspace) => {
                        let kept = self.kept(context, request, &workspace, observer).await?;
                        return self.hand_out(workspace, Method::Existing, None, kept).await;
                    }
                    Look::Again => return Ok(Search::Again),
                    Look::Lost(_) | Look::Nothing => {}
                }
            }
        }
        for (work, method) in candidates(request) {
            let row = self.store.read().await?.workspace_of_work(repository, &work).await?;
            let Some(row) = row else { continue };
            if method == Method::Shared && !may_share(request, &work, &row) {
                continue;
            }
            if row.status.is_live() {
                request.check_within(&row)?;
            }
            match self.look(context, row, observer).await? {
                Look::Here(workspace) => {
                    let sharer = (method == Method::Shared).then_some(&request.work);
                    let kept = self.kept(context, request, &workspace, observer).await?;
                    return self.hand_out(workspace, method, sharer, kept).await;
                }
                Look::Lost(workspace) if method == Method::Reused => {
                    let kept = self.kept(context, request, &workspace, observer).await?;
                    return match self.create_again(context, request, workspace, observer).await? {
                        Attempt::Created(resolution) => Ok(Search::Yes(Box::new(Resolution { kept, ..*resolution }))),
                        _ => Ok(Search::Again),
                    };
                }
                Look::Again => return Ok(Search::Again),
                Look::Lost(_) | Look::Nothing => {}
            }
        }
        Ok(Search::No)
    }

    /// Checks a row against the disk before its path is used.
    async fn look(&self, context: &Context, workspace: Workspace, observer: &dyn Observer) -> Result<Look> {
        if workspace.node != *self.home.node() {
            return Err(Error::OnOtherNode { name: workspace.name, node: workspace.node });
        }
        if let (WorkspaceStatus::Active | WorkspaceStatus::Lost, Opened::Missing) =
            (workspace.status, tree::open(context, &workspace))
            && let Some(gone) = self.where_it_went(context, &workspace)
        {
            // The store is older than the disk: it was removed, and can be restored.
            self.mark_gone(&workspace, gone).await?;
            return Ok(Look::Again);
        }
        match workspace.status {
            WorkspaceStatus::Creating | WorkspaceStatus::Removing => {
                let operation = self.store.read().await?.open_operation_of(&workspace.id).await?;
                if let Some(operation) = operation {
                    observer(Notice::Phase(Phase::Waiting { workspace: workspace.name.to_string() }));
                    self.wait_for_operation(&operation.id).await?;
                    self.recover_one(&operation.id, observer).await?;
                }
                Ok(Look::Again)
            }
            WorkspaceStatus::Active => self.look_on_disk(context, workspace).await,
            WorkspaceStatus::Lost => match tree::open(context, &workspace) {
                Opened::RootMissing => Err(Error::TreeRootMissing { path: tree_root(&workspace.path).to_owned() }),
                Opened::Whole(_) => self.found_again(workspace).await,
                Opened::Missing => tree::check_not_moved(context, &workspace).map(|()| Look::Lost(workspace)),
                // Something stands where it was: whose it is, a person must say.
                Opened::Damaged(error) | Opened::Hidden(error) => Err(error.into()),
            },
            WorkspaceStatus::Broken => Err(Error::WrongStatus {
                name: workspace.name,
                status: WorkspaceStatus::Broken,
                needed: "usable before somebody looked at it",
            }),
            WorkspaceStatus::Warm | WorkspaceStatus::Reading | WorkspaceStatus::Trashed | WorkspaceStatus::Purged => {
                Ok(Look::Nothing)
            }
        }
    }

    async fn look_on_disk(&self, context: &Context, mut workspace: Workspace) -> Result<Look> {
        match tree::open(context, &workspace) {
            Opened::Whole(_) => Ok(Look::Here(workspace)),
            Opened::RootMissing => Err(Error::TreeRootMissing { path: tree_root(&workspace.path).to_owned() }),
            Opened::Damaged(error) | Opened::Hidden(error) => Err(error.into()),
            Opened::Missing => {
                tree::check_not_moved(context, &workspace)?;
                workspace.status = WorkspaceStatus::Lost;
                let mut db = self.store.write().await?;
                let ours = db.update_workspace(&workspace, &[WorkspaceStatus::Active]).await?;
                if ours {
                    events::record_found(&mut db, &workspace)?;
                }
                db.commit().await?;
                Ok(if ours { Look::Lost(workspace) } else { Look::Again })
            }
        }
    }

    /// A lost workspace whose directory is back.
    async fn found_again(&self, mut workspace: Workspace) -> Result<Look> {
        workspace.status = WorkspaceStatus::Active;
        let mut db = self.store.write().await?;
        if db.update_workspace(&workspace, &[WorkspaceStatus::Lost]).await? {
            events::record_found(&mut db, &workspace)?;
        }
        db.commit().await?;
        Ok(Look::Here(workspace))
    }

    /// Records that somebody works in a workspace now.
    #[boxed]
    pub async fn touch(&self, workspace: &Workspace) -> Result<()> {
        let mut db = self.store.write().await?;
        db.touch_workspace(&workspace.id, Timestamp::now()).await?;
        Ok(db.commit().await?)
    }

    /// Hands a workspace out, shared by another piece of work where one is given; looks again when somebody began to
    /// remove it meanwhile. The answer tells when it was touched before this request.
    async fn hand_out(
        &self,
        workspace: Workspace,
        method: Method,
        sharer: Option<&Work>,
        kept: Vec<Kept>,
    ) -> Result<Search> {
        if !self.claim(&workspace, sharer).await? {
            return Ok(Search::Again);
        }
        Ok(Search::Yes(Box::new(Resolution { kept, ..Resolution::found(workspace, method) })))
    }

    /// Gives a workspace another piece of work, and notes what that belongs to; `false` when the workspace is no longer to be
    /// had.
    #[boxed]
    pub async fn share(&self, workspace: &Workspace, sharer: &Work, related: &[Work]) -> Result<bool> {
        self.claim_for(workspace, Some(sharer), related).await
    }

    /// Touches a workspace and gives it another piece of work, if it is still there to be had. A removal that comes later
    /// sees both.
    pub(crate) async fn claim(&self, workspace: &Workspace, sharer: Option<&Work>) -> Result<bool> {
        self.claim_for(workspace, sharer, &[]).await
    }

    async fn claim_for(&self, workspace: &Workspace, sharer: Option<&Work>, related: &[Work]) -> Result<bool> {
        let mut db = self.store.write().await?;
        db.lock_repository(&workspace.repository_id).await?;
        let row = db.workspace(&workspace.id).await?;
        let Some(mut row) = row.filter(|row| row.status == WorkspaceStatus::Active) else { return Ok(false) };
        if let Some(work) = sharer {
            db.insert_work(&workspace.repository_id, work, &workspace.id).await?;
            row.metadata.relate(std::slice::from_ref(work));
            row.metadata.relate(related);
            db.update_workspace(&row, &[row.status]).await?;
        }
        db.touch_workspace(&workspace.id, Timestamp::now()).await?;
        db.commit().await?;
        Ok(true)
    }

    async fn bind(&self, request: &Request, workspace: &Workspace) -> Result<()> {
        let Some(conversation) = &request.conversation else { return Ok(()) };
        let mut db = self.store.write().await?;
        db.bind_conversation(&self.account, request.platform, conversation, &workspace.id).await?;
        Ok(db.commit().await?)
    }

    /// Two branch names can have one slug (`a/b`, `a-b`); the second becomes work of its own.
    async fn distinct_branch_work(&self, context: &Context, request: &Request) -> Result<Request> {
        let mut request = request.clone();
        if let Some(branch) = &request.branch {
            let row = self.store.read().await?.workspace_of_work(&context.repository.id, &request.work).await?;
            if row.is_some_and(|row| row.branch != *branch) {
                let hash = spinney_core::names::short_hash(branch.as_str());
                request.work.key = format!("{}-{hash}", request.work.key);
            }
        }
        Ok(request)
    }

    /// Says who holds the branch, when a creation failed for another reason than the same work being made.
    async fn check_branch_is_free(&self, context: &Context, request: &Request, branch: &BranchName) -> Result<()> {
        let mut db = self.store.read().await?;
        let holder = db.workspace_on_branch(&context.repository.id, branch).await?;
        let Some(holder) = holder else { return Ok(()) };
        if db.works_of(&holder.id).await?.contains(&request.work) || holder.status == WorkspaceStatus::Creating {
            return Ok(());
        }
        Err(Error::BranchOfWorkspace { branch: branch.clone(), name: holder.name, status: holder.status })
    }
}

enum Search {
    Yes(Box<Resolution>),
    Again,
    No,
}

fn tell_kept(resolution: &Resolution, observer: &dyn Observer) {
    for kept in &resolution.kept {
        let workspace = resolution.workspace.name.clone();
        observer(Notice::Warning(Warning::Kept { workspace, kept: kept.clone() }));
    }
}

/// The works whose workspace answers the request, in order: its own, the other side of a pull request's review, then
/// linked issues, then linked pull requests.
pub(super) fn candidates(request: &Request) -> Vec<(Work, Method)> {
    let mut candidates = vec![(request.work.clone(), Method::Reused)];
    let texts = [request.title.as_deref(), request.branch.as_ref().map(BranchName::as_str)];
    let earlier = texts.into_iter().flatten().filter_map(|text| request.work.named_earlier(text));
    candidates.extend(earlier.map(|work| (work, Method::Reused)));
    let counterpart = match request.work.kind {
        WorkKind::Review => Some(WorkKind::Pr),
        WorkKind::Pr => Some(WorkKind::Review),
        _ => None,
    };
    candidates.extend(counterpart.map(|kind| (Work { kind, key: request.work.key.clone() }, Method::Shared)));
    for kind in [WorkKind::Issue, WorkKind::Pr] {
        let links = request.links.iter().filter(|link| link.kind == kind && **link != request.work);
        candidates.extend(links.map(|link| (link.clone(), Method::Shared)));
    }
    candidates
}

/// A pull request and its review share a workspace only on the review branch: a same-repository pull request works on
/// its own branch, which a review must not move.
fn may_share(request: &Request, work: &Work, row: &Workspace) -> bool {
    let counterpart = work.key == request.work.key
        && matches!(work.kind, WorkKind::Pr | WorkKind::Review)
        && matches!(request.work.kind, WorkKind::Pr | WorkKind::Review);
    if !counterpart || request.links.contains(work) {
        return true;
    }
    row.branch == request.work.default_branch() && (request.head.is_none() || request.fork)
}
