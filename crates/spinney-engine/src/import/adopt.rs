//! Takes in linked worktrees that somebody else made: only this repository's own, never the main checkout, another
//! clone's, or a submodule.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use async_recursion::async_recursion as boxed;
use spinney_core::names::{MAX_GENERATED_BYTES, slug};
use spinney_core::workspace::Metadata;
use spinney_core::{
    BranchName, Event, Method, NodeId, Platform, Provider, Work, WorkKind, Workspace, WorkspaceId, WorkspaceStatus,
};
use spinney_git::{POINTER_BYTES, Presence, WorktreeEntry, read_regular_text};
use spinney_store::Connection;

use crate::create::plan::own_head;
use crate::home::{layout, links};
use crate::journal::events;
use crate::repositories::context::{Context, tree_root};
use crate::resolve::request::{Request, Resolution};
use crate::tree::homes;
use crate::tree::marker::Marker;
use crate::tree::{self, LOCKED_BY_SPINNEY, Opened, Tree, lock_reason, open};
use crate::{Engine, Error, Result, fail};

/// What a row tells of where its worktree came from.
pub(crate) struct Origin {
    pub from: String,
    pub metadata: Metadata,
    /// Those that talk about it.
    pub conversations: Vec<(Platform, String)>,
}

impl Origin {
    /// A worktree of which only its place is known.
    fn place(worktree: &Tree) -> Self {
        let from = worktree.path().display().to_string();
        Self { from, metadata: Metadata::default(), conversations: Vec::new() }
    }
}

impl Engine {
    /// Looks for a worktree that already has the branch that a request is about.
    pub(crate) async fn adopt_matching(&self, context: &Context, request: &Request) -> Result<Option<Resolution>> {
        // A name from a pattern is never one that exists.
        let own = request.patterned().is_none().then(|| own_branch(request));
        let hints: Vec<&BranchName> = own_head(request).into_iter().chain(&request.suggest).collect();
        let wanted: Vec<&BranchName> = hints.iter().copied().chain(&own).collect();
        for branch in &wanted {
            let holder = self.store.read().await?.workspace_on_branch(&context.repository.id, branch).await?;
            if let Some(holder) = holder.filter(|holder| holder.status == WorkspaceStatus::Active)
                && let Opened::Whole(_) = open(context, &holder)
            {
                request.check_within(&holder)?;
                // One that is being removed is free in the next round.
                let claimed = self.claim(&holder, Some(&request.work)).await?;
                return Ok(claimed.then(|| Resolution::found(holder, Method::Shared)));
            }
        }
        // Listing worktrees is slow where there are many; without a hint only a branch that exists can be in one.
        let own_exists = match &own {
            Some(own) => context.load_branch(own).await?.is_some(),
            None => false,
        };
        // What nobody adopted yet is not the caller's either.
        if request.within.is_some() || (hints.is_empty() && !own_exists) {
            return Ok(None);
        }
        let entries = context.load_worktrees().await?;
        let Some(entry) = find_match(&entries, &wanted, &hints) else { return Ok(None) };
        let Some(branch) = entry.branch.clone() else { return Ok(None) };
        if entry.is_main {
            // A suggestion that can't be followed is passed over; the branch that would be checked out can't be.
            return if own.as_ref() == Some(&branch) {
                Err(Error::BranchInMainCheckout { branch, path: entry.path.clone() })
            } else {
                Ok(None)
            };
        }
        match tree::linked(context, &entry.path) {
            Ok(worktree) => {
                if let Err(error) = self.check_owner_of(context, &worktree) {
                    return if own.as_ref() == Some(&branch) { Err(error) } else { Ok(None) };
                }
                let origin = Origin::place(&worktree);
                let workspace = self.adopt_worktree(context, &worktree, branch, request, origin).await?;
                Ok(workspace.map(|workspace| Resolution::found(workspace, Method::Adopted)))
            }
            // Who creates will be told which workspace has the branch.
            Err(_) if own.as_ref() != Some(&branch) || self.is_known(&entry.path).await? => Ok(None),
            Err(error) => {
                let path = entry.path.clone();
                Err(match Presence::of(&path) {
                    _ if error.is_denied() => Error::BranchHidden { branch, source: error },
                    Presence::Gone => Error::BranchInMissingWorktree { branch, path },
                    Presence::There | Presence::Hidden(_) => Error::BranchHeld { branch, path, reason: reason(&error) },
                })
            }
        }
    }

    /// Adopts the worktree at a path, as a person's command.
    #[boxed]
    pub async fn adopt(&self, context: &Context, path: &Path, base: Option<BranchName>) -> Result<Workspace> {
        self.adopt_of(context, path, base, None).await
    }

    /// Takes over the workspaces of a home that is gone: the given ones, else all that the repository has of it. Each that can't
    /// be taken over says so for itself.
    #[boxed]
    pub async fn adopt_from_home(
        &self,
        context: &Context,
        from: &NodeId,
        paths: &[PathBuf],
        base: Option<&BranchName>,
    ) -> Result<Vec<(PathBuf, Result<Workspace>)>> {
        if from == self.home.node() {
            return Err(Error::OwnHome { node: from.clone() });
        }
        let of_it: Vec<_> =
            self.others(context).await?.into_iter().filter(|other| other.1.node.as_ref() == Some(from)).collect();
        let markers: Vec<Marker> = of_it.iter().map(|(_, marker)| marker.clone()).collect();
        if let Some(place) = self.find_home(context, from, &markers) {
            return Err(Error::HomeExists { node: from.clone(), place });
        }
        let all = || of_it.into_iter().map(|(path, _)| path).collect();
        let mut taken = Vec::new();
        for path in if paths.is_empty() { all() } else { paths.to_vec() } {
            let adopted = self.adopt_of(context, &path, base.cloned(), Some(from)).await;
            taken.push((path, adopted));
        }
        Ok(taken)
    }

    /// Adopts the worktree at a path, which is nobody's, or that of the home that it is taken over from.
    async fn adopt_of(
        &self,
        context: &Context,
        path: &Path,
        base: Option<BranchName>,
        from: Option<&NodeId>,
    ) -> Result<Workspace> {
        let refused = |reason: String| Error::NotAdoptable {
            path: path.to_owned(),
            repository: context.repository.name.clone(),
            reason,
        };
        let path = path.canonicalize().map_err(|error| match error.kind() {
            ErrorKind::PermissionDenied => spinney_git::Error::io("open", path, error).into(),
            _ => refused(error.to_string()),
        })?;
        let worktree = tree::linked(context, &path).map_err(|error| match error.is_denied() {
            true => error.into(),
            false => refused(reason(&error)),
        })?;
        match self.store.read().await?.workspace_at(self.home.node(), &path).await? {
            Some(known) if known.account == self.account => return Ok(known),
            Some(_) => return Err(refused("it is another account's".to_owned())),
            None => {}
        }
        let marker = Marker::load(worktree.admin_dir());
        if from.is_none()
            && base.is_none()
            && let Some(own) = self.take_back(context, &worktree, marker.as_ref()).await?
        {
            return Ok(own);
        }
        match from {
            None => self.check_owner_of(context, &worktree)?,
            Some(from) if marker.as_ref().and_then(|marker| marker.node.as_ref()) == Some(from) => {}
            Some(from) => return Err(refused(format!("it is no workspace of home `{from}`"))),
        }
        let head = worktree.load_head().await?;
        let Some(branch) = head.branch().cloned() else {
            return Err(refused("its HEAD is detached; give it a branch with `git switch -c NAME`".to_owned()));
        };
        let marked = marker.map(|marker| marker.work);
        let mut request = Request::new(self.free_work(context, &branch, marked).await?);
        request.base = base;
        let origin = Origin::place(&worktree);
        self.require_adopted(context, &worktree, branch, &request, origin).await
    }

    /// A workspace that this home made, and whose row is lost, is not adopted: it is what it was.
    async fn take_back(
        &self,
        context: &Context,
        worktree: &Tree,
        marker: Option<&Marker>,
    ) -> Result<Option<Workspace>> {
        let is_own =
            |marker: &&Marker| marker.node.as_ref() == Some(self.home.node()) && marker.account == self.account;
        let Some(marker) = marker.filter(is_own).filter(|marker| marker.ready) else {
            return Ok(None);
        };
        if self.store.read().await?.workspace(&marker.id).await?.is_some() {
            return Ok(None);
        }
        self.adopt_marked(context, worktree).await?;
        Ok(self.store.read().await?.workspace(&marker.id).await?)
    }

    /// Gives a worktree its row, or tells who has its branch.
    pub(crate) async fn require_adopted(
        &self,
        context: &Context,
        worktree: &Tree,
        branch: BranchName,
        request: &Request,
        origin: Origin,
    ) -> Result<Workspace> {
        if let Some(workspace) = self.adopt_worktree(context, worktree, branch.clone(), request, origin).await? {
            return Ok(workspace);
        }
        // Git lets two worktrees have one branch if it is made to; of workspaces, one has it.
        match self.store.read().await?.workspace_on_branch(&context.repository.id, &branch).await? {
            Some(Workspace { name, status, .. }) => Err(Error::BranchOfWorkspace { branch, name, status }),
            None => Err(Error::Busy { name: request.work.workspace_name() }),
        }
    }

    /// Refuses a worktree that another home or account has, or makes.
    pub(crate) fn check_owner_of(&self, context: &Context, worktree: &Tree) -> Result<()> {
        let path = || worktree.path().to_owned();
        homes::check_home(context, worktree.path(), worktree.admin_dir())?;
        match Marker::load(worktree.admin_dir()) {
            Some(marker) if marker.account != self.account => Err(Error::OtherAccount { path: path() }),
            None if is_locked_by_spinney(worktree) => Err(Error::Unmarked { path: path() }),
            _ => Ok(()),
        }
    }

    /// The linked worktrees of a repository that the store does not know and nobody else has.
    #[boxed]
    pub async fn unknown_worktrees(&self, context: &Context) -> Result<Vec<PathBuf>> {
        let mut unknown = self.unlisted(context).await?;
        let others = self.others(context).await?;
        unknown.retain(|path| others.iter().all(|(other, _)| other != path) && !is_hidden(context, path));
        Ok(unknown)
    }

    /// The linked worktrees of a repository that have no row and that this user may not look at, each with the reason.
    pub(crate) async fn hidden_worktrees(&self, context: &Context) -> Result<Vec<(PathBuf, spinney_git::Error)>> {
        let denied = |path: PathBuf| {
            let error = tree::open_at(context, &path).err().filter(spinney_git::Error::is_denied)?;
            Some((path, error))
        };
        Ok(self.unlisted(context).await?.into_iter().filter_map(denied).collect())
    }

    /// The linked worktrees of a repository that carry another home's or account's marker.
    pub(crate) async fn others(&self, context: &Context) -> Result<Vec<(PathBuf, Marker)>> {
        let mut others = Vec::new();
        for path in self.unlisted(context).await? {
            let marker = tree::open_at(context, &path).ok().and_then(|tree| Marker::load(tree.admin_dir()));
            others.extend(marker.filter(|marker| !self.is_of_this_home(marker)).map(|marker| (path, marker)));
        }
        Ok(others)
    }

    /// The linked worktrees of a repository that have no row.
    async fn unlisted(&self, context: &Context) -> Result<Vec<PathBuf>> {
        let mut unlisted = Vec::new();
        for path in tree::places(context).await?.into_iter().filter(|path| !Presence::of(path).is_gone()) {
            if !self.is_known(&path).await? {
                unlisted.push(path);
            }
        }
        Ok(unlisted)
    }

    /// Whether a live workspace has this directory.
    async fn is_known(&self, path: &Path) -> Result<bool> {
        Ok(self.store.read().await?.workspace_at(self.home.node(), path).await?.is_some())
    }

    /// The work that a branch found in a worktree stands for, unless that work has a workspace already.
    pub(crate) async fn free_work(&self, context: &Context, branch: &BranchName, marked: Option<Work>) -> Result<Work> {
        let number =
            branch.as_str().strip_prefix("issue-").and_then(|rest| spinney_core::work::parse_number(rest).ok());
        let work = marked.unwrap_or_else(|| number.map_or_else(|| Work::branch(branch), Work::issue));
        let taken = self.store.read().await?.workspace_of_work(&context.repository.id, &work).await?.is_some();
        if !taken {
            return Ok(work);
        }
        let key = format!("{}-{}", Work::branch(branch).key, spinney_core::names::short_hash(branch.as_str()));
        Ok(Work { kind: WorkKind::Task, key })
    }

    /// Gives a worktree its row; `None` when somebody else was faster.
    async fn adopt_worktree(
        &self,
        context: &Context,
        worktree: &Tree,
        branch: BranchName,
        request: &Request,
        origin: Origin,
    ) -> Result<Option<Workspace>> {
        let (base_branch, base_commit) = self.base_of(context, &branch, request.base.as_ref()).await?;
        let marked = Marker::load(worktree.admin_dir());
        let id = match marked {
            Some(marker) if self.store.read().await?.workspace(&marker.id).await?.is_none() => marker.id,
            _ => WorkspaceId::generate(),
        };
        let marker = Marker {
            id,
            node: Some(self.home.node().clone()),
            account: self.account.clone(),
            repository: context.repository.name.clone(),
            work: request.work.clone(),
            branch,
            base_branch,
            base_commit,
            path: worktree.path().to_owned(),
            provider: Provider::Worktree,
            ready: true,
        };
        let workspace = Workspace {
            title: request.title.clone(),
            platform: request.platform,
            adopted_from: Some(origin.from),
            metadata: origin.metadata,
            ..self.new_row(context, marker, WorkspaceStatus::Active)
        };
        let mut db = self.store.write().await?;
        let inserted = db.insert_workspace(&workspace).await?
            && db.insert_work(&workspace.repository_id, &workspace.work, &workspace.id).await?;
        if !inserted {
            return Ok(None);
        }
        for (platform, id) in &origin.conversations {
            let is_chat = self.config.platforms.is_chat(*platform);
            bind_free(&mut db, &workspace, (*platform, id), is_chat).await?;
        }
        events::record(&mut db, &workspace, Event::WorkspaceAdopted)?;
        db.commit().await?;
        fail::point("adopt.recorded")?;
        self.mark_adopted(context, worktree, &workspace).await?;
        Ok(Some(workspace))
    }

    /// Leaves our marks on an adopted worktree; a lock that somebody else set stays theirs.
    pub(crate) async fn mark_adopted(&self, context: &Context, worktree: &Tree, workspace: &Workspace) -> Result<()> {
        self.note_home(context);
        let root = tree_root(&workspace.path);
        if !context.is_in_checkout(root) {
            // Without the marker nothing here is ever judged lost, which is the safe side.
            let _ = layout::make_tree_root(root);
        }
        let locked = worktree.admin_dir().join("locked");
        if !locked.exists() {
            let lock = context.lock("adopt").await?;
            std::fs::write(&locked, format!("{}\n", lock_reason(&workspace.id)))
                .map_err(Error::files(&locked, "written"))?;
            drop(lock);
        }
        fail::point("adopt.locked")?;
        // Last, so that whoever finds it finds the rest too.
        Marker::of(workspace).write(worktree.admin_dir())?;
        fail::point("adopt.marked")?;
        let _ = links::make(&self.home, workspace);
        Ok(())
    }
}

/// Whether this user may not look at a worktree.
fn is_hidden(context: &Context, path: &Path) -> bool {
    tree::open_at(context, path).is_err_and(|error| error.is_denied())
}

/// Whether git keeps a worktree locked for Spinney.
pub(crate) fn is_locked_by_spinney(worktree: &Tree) -> bool {
    let lock = read_regular_text(&worktree.admin_dir().join("locked"), POINTER_BYTES).unwrap_or_default();
    lock.starts_with(LOCKED_BY_SPINNEY)
}

/// Points a conversation at a workspace, unless it is about something else by now. A chat is told the repository too.
async fn bind_free(
    db: &mut Connection,
    workspace: &Workspace,
    (platform, id): (Platform, &str),
    is_chat: bool,
) -> Result<()> {
    let Workspace { account, repository, .. } = workspace;
    let named = db.repository_of_conversation(account, platform, id).await?;
    let elsewhere = named.as_ref().is_some_and(|named| named != repository);
    if elsewhere || db.workspace_of_conversation(account, platform, id).await?.is_some() {
        return Ok(());
    }
    if is_chat && named.is_none() {
        db.set_repository_of_conversation(account, platform, id, repository).await?;
    }
    Ok(db.bind_conversation(account, platform, id, &workspace.id).await?)
}

/// Why a directory is no worktree to work in, for a sentence that names the directory itself.
pub(crate) fn reason(error: &spinney_git::Error) -> String {
    use spinney_git::Error as Git;
    match error {
        Git::ForeignWorktree { .. } => "it belongs to another repository, or to none".to_owned(),
        Git::MainCheckout { .. } => "it is the main checkout".to_owned(),
        Git::DamagedWorktree { reason, .. } => reason.clone(),
        other => other.to_string(),
    }
}

/// The branch that the request would check out if nothing is adopted.
fn own_branch(request: &Request) -> BranchName {
    own_head(request).or(request.branch.as_ref()).cloned().unwrap_or_else(|| request.work.default_branch())
}

/// The worktree on one of the wanted branches; else one whose branch has the slug of a hint. A branch that a person
/// named, or that the work has by its own name, is meant exactly.
fn find_match<'a>(
    entries: &'a [WorktreeEntry],
    wanted: &[&BranchName],
    hints: &[&BranchName],
) -> Option<&'a WorktreeEntry> {
    let on = |branches: &[&BranchName], test: &dyn Fn(&BranchName, &BranchName) -> bool| {
        branches.iter().find_map(|wanted| {
            entries.iter().find(|entry| entry.branch.as_ref().is_some_and(|branch| test(branch, wanted)))
        })
    };
    let same_slug = |a: &BranchName, b: &BranchName| {
        let slug = |branch: &BranchName| slug(branch.as_str(), MAX_GENERATED_BYTES);
        slug(a).is_some() && slug(a) == slug(b)
    };
    on(wanted, &|a, b| a == b).or_else(|| on(hints, &same_slug).filter(|entry| !entry.is_main))
}
