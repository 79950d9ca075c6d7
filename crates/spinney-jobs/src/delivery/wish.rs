//! Delivers a workspace because somebody asks for it, and not because a job is over. Somebody who names a workspace wants
//! what they did there delivered, whoever of them and their agents it was:
//!
//! 1. where it can't be pushed, or a job runs there, nothing is done;
//! 2. the workspace is theirs alone until the end ([`spinney_engine::UnderDelivery`]);
//! 3. what is left is committed, but for what Spinney copied and what `setup` made;
//! 4. what a person has to look at first ends it here ([`super::held`]), unless they name that very commit;
//! 5. where the base has it all, there is nothing to deliver;
//! 6. the commit is pushed to the branch, with a lease where we pushed before;
//! 7. a pull request is opened, or the open one found.
//!
//! Each part leaves what it finds done, so that asking again after any failure makes nothing twice.

use std::path::PathBuf;

use spinney_core::forge::NewPullRequest;
use spinney_core::{Began, BranchName, CommitId, ForgeError, Held, LeftOut, LeftOutReason, Workspace, path_text};
use spinney_engine::{Context, Copies, Delivery, Engine, Tree, fail};
use spinney_git::{Changes, Files, Pushed, Unsigned};

use super::offer::{closes, first_line, issue_title, offer};
use super::{branch, held, shown};
use crate::maintenance::outage::Cut;
use crate::{Error, Result};

/// Of how many jobs one is looked for that had begun.
const LAST_JOBS: u32 = 5;

/// How somebody wants a workspace delivered.
#[derive(Debug, Clone, Default)]
pub struct Wish {
    /// The message of the commit of what is left.
    pub message: String,
    pub offer: OfferWish,
    /// The pull request's title; none: the workspace's, the issue's, or that of the newest commit.
    pub title: Option<String>,
    /// The pull request's text; none: what closes the issue that the work is.
    pub body: Option<String>,
    /// Whether a new pull request is a draft.
    pub draft: bool,
    /// The commit that is pushed although it is held for a person, who has looked at it.
    pub accept_held: Option<CommitId>,
    /// Whether it is pushed although the remote leads elsewhere than before the last job.
    pub accept_remote: bool,
    /// Whether what `setup` made is committed too.
    pub all: bool,
    /// Whether nothing is done, and only told.
    pub dry_run: bool,
}

/// Whether a pull request is wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OfferWish {
    /// Where there is a forge that takes one.
    #[default]
    IfPossible,
    /// An error where there is none.
    Required,
    No,
}

/// What came of it; or, of a dry run, what would.
#[derive(Debug)]
pub struct Delivered {
    pub workspace: Workspace,
    pub branch: BranchName,
    /// What the branch has; none where it has no commit. A dry run does not know that of what would be committed.
    pub commit: Option<CommitId>,
    /// The paths that were committed.
    pub committed: Vec<String>,
    /// Why the commit of what was left has no signature although the configuration asks for one.
    pub unsigned: Option<Unsigned>,
    /// The files that differ from the commit and are not in it.
    pub left_out: Vec<LeftOut>,
    /// What the branch changes since its base.
    pub changes: Changes,
    pub remote: String,
    pub push: PushState,
    pub offer: Offer,
    /// What of a dry run would be held for a person.
    pub held: Option<Held>,
    pub dry_run: bool,
}

/// What became of the push.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PushState {
    /// There is nothing that the base has not.
    Nothing,
    Pushed,
    UpToDate,
    /// It would be pushed.
    Planned,
}

/// What became of the pull request.
#[derive(Debug)]
pub enum Offer {
    Opened(String),
    /// It was open already.
    Found(String),
    /// One would be opened, or an open one found.
    Planned,
    None(NoOffer),
}

/// Why there is no pull request.
#[derive(Debug)]
pub enum NoOffer {
    NotWanted,
    NothingToDeliver,
    /// The remote is on no forge that is configured.
    NoForge,
    /// It is not known what it would be merged into.
    NoBase,
    Forge(Error),
}

/// Delivers a workspace, or tells what that would do.
///
/// # Errors
///
/// If it can't be pushed, a job runs there, something is held for a person, or the remote refuses.
pub async fn deliver(engine: &Engine, context: &Context, workspace: &Workspace, wish: &Wish) -> Result<Delivered> {
    let Some(remote) = engine.remote(context).await? else {
        return Err(Error::NowhereToPush { repository: context.repository.name.clone() });
    };
    if wish.offer == OfferWish::Required && !engine.has_forge(context).await? {
        return Err(Error::NoForge { repository: context.repository.name.clone() });
    }
    if !wish.accept_remote {
        check_remote(engine, context, workspace).await?;
    }
    if wish.dry_run {
        let delivering = Delivering::look(engine, context, workspace.clone(), wish, remote.name).await?;
        return delivering.tell().await;
    }
    let (under, row) = engine.begin_delivery(workspace).await?;
    let delivered = async {
        let delivering = Delivering::look(engine, context, row, wish, remote.name).await?;
        delivering.carry_out().await
    };
    let delivered = delivered.await;
    let error = delivered.as_ref().err().map(|error| spinney_core::in_full(error));
    engine.end_delivery(under, error.as_deref()).await?;
    delivered
}

/// Refuses a remote that leads elsewhere than before the last job there began: its agent may have changed that.
async fn check_remote(engine: &Engine, context: &Context, workspace: &Workspace) -> Result<()> {
    let jobs = engine.store().read().await?.jobs_in(&workspace.id, LAST_JOBS).await?;
    let Some(before) = jobs.into_iter().find_map(|job| job.outcome.push_url) else { return Ok(()) };
    match engine.push_url(context).await? {
        Some(now) if now != before => Err(Error::PushesElsewhere { now, before }),
        _ => Ok(()),
    }
}

/// A delivery that somebody asked for.
struct Delivering<'a> {
    engine: &'a Engine,
    context: &'a Context,
    workspace: Workspace,
    wish: &'a Wish,
    remote: String,
    tree: Tree,
    branch: BranchName,
    copies: Copies,
    /// What was written down for the last job there.
    began: Option<Began>,
}

impl<'a> Delivering<'a> {
    /// Looks at the workspace, and refuses a branch that is not its own.
    async fn look(
        engine: &'a Engine,
        context: &'a Context,
        workspace: Workspace,
        wish: &'a Wish,
        remote: String,
    ) -> Result<Self> {
        let tree = context.require_tree(&workspace)?;
        let head = tree.load_head().await?;
        let branch = head.branch().cloned().unwrap_or_else(|| workspace.branch.clone());
        let refused = |owner| Error::NotOwnBranch { workspace: workspace.name.clone(), branch: branch.clone(), owner };
        if let Some(owner) = branch::other_owner(engine, context, &workspace, &branch, head.commit()).await? {
            return Err(refused(owner));
        }
        if let Some(at) = branch::lacking_head(&workspace, &tree, &head).await? {
            return Err(Error::LacksCommits { workspace: workspace.name, at, branch: workspace.branch });
        }
        let copies = engine.load_copies(context, &workspace).await?;
        let began = engine.store().read().await?.began(&workspace.id).await?;
        Ok(Self { engine, context, workspace, wish, remote, tree, branch, copies, began })
    }

    async fn carry_out(mut self) -> Result<Delivered> {
        let (mut committed, mut left_out) = (Vec::new(), Vec::new());
        let choose = |files: &Files| {
            let (wanted, others) = self.choose(files);
            (committed, left_out) = (wanted.iter().map(|path| shown(path)).collect(), others);
            wanted
        };
        let commit = self.tree.commit_left_over(choose, &self.wish.message).await?;
        if commit.is_none() {
            committed.clear();
        }
        let unsigned = commit.and_then(|commit| commit.unsigned);
        fail::point("deliver.committed")?;
        let mut delivered = Delivered { unsigned, ..self.told(committed, left_out).await? };
        let Some(commit) = delivered.commit.clone() else { return Ok(delivered) };
        if let Some(error) = self.held(&commit).await? {
            return Err(error);
        }
        if !self.has_news(&delivered).await? {
            return Ok(delivered);
        }
        let pushed = self.engine.push(self.context, &self.workspace, &commit, &self.branch).await?;
        delivered.push = match pushed {
            Some(Pushed::UpToDate) | None => PushState::UpToDate,
            Some(Pushed::New | Pushed::Updated) => PushState::Pushed,
        };
        fail::point("deliver.pushed")?;
        if self.workspace.metadata.pushed_commit.as_ref() != Some(&commit) || self.workspace.branch != self.branch {
            let delivery = Delivery { branch: Some(&self.branch), pushed: Some(&commit), pull_request: None };
            self.workspace = self.engine.record_delivery(self.context, &self.workspace, &delivery).await?;
        }
        self.give_up_dropped().await?;
        fail::point("deliver.noted")?;
        delivered.offer = self.offer().await?;
        fail::point("deliver.offered")?;
        if let Offer::Opened(url) | Offer::Found(url) = &delivered.offer
            && self.workspace.pull_request.as_ref() != Some(url)
        {
            let delivery = Delivery { pull_request: Some(url), ..Delivery::default() };
            self.workspace = self.engine.record_delivery(self.context, &self.workspace, &delivery).await?;
        }
        Ok(Delivered { workspace: self.workspace, ..delivered })
    }

    /// What would be done.
    async fn tell(self) -> Result<Delivered> {
        let files = self.tree.load_left_over().await?;
        let (wanted, left_out) = self.choose(&files);
        let mut told = self.told(wanted.iter().map(|path| shown(path)).collect(), left_out).await?;
        let is_held = match &told.commit {
            Some(commit) => self.held(commit).await?,
            None => None,
        };
        if let Some(Error::HeldBack { held, .. }) = is_held {
            told.held = Some(*held);
        }
        if told.committed.is_empty() && !self.has_news(&told).await? {
            return Ok(told);
        }
        told.push = PushState::Planned;
        told.offer = match self.wish.offer {
            OfferWish::No => Offer::None(NoOffer::NotWanted),
            _ if !self.engine.has_forge(self.context).await? => Offer::None(NoOffer::NoForge),
            _ if self.workspace.base_branch.is_none() => Offer::None(NoOffer::NoBase),
            _ => Offer::Planned,
        };
        Ok(told)
    }

    /// Which of the files that could be committed are, and why the others are not.
    fn choose(&self, files: &Files) -> (Vec<PathBuf>, Vec<LeftOut>) {
        let (mut wanted, mut left_out) = (Vec::new(), Vec::new());
        for (path, identity) in &files.changed {
            let text = path_text(path);
            let content = identity.split_once(' ').map_or("", |(_, content)| content);
            let reason = if self.copies.has(&text, content) {
                LeftOutReason::Copied
            } else if !self.wish.all && self.copies.brought.made.get(&text) == Some(identity) {
                LeftOutReason::SetUp
            } else {
                wanted.push(path.clone());
                continue;
            };
            left_out.push(LeftOut { path: shown(path), reason });
        }
        let is_repository = |path: &PathBuf| LeftOut { path: shown(path), reason: LeftOutReason::Repository };
        left_out.extend(files.repositories.iter().map(is_repository));
        (wanted, left_out)
    }

    /// The outcome, as far as the branch tells it: nothing was pushed.
    async fn told(&self, committed: Vec<String>, left_out: Vec<LeftOut>) -> Result<Delivered> {
        let commit = self.tree.load_head().await?.commit().cloned();
        let changes = match &commit {
            Some(commit) => self.context.load_changes(&self.workspace.base_commit, commit).await?,
            None => Changes::default(),
        };
        Ok(Delivered {
            workspace: self.workspace.clone(),
            branch: self.branch.clone(),
            commit,
            committed,
            unsigned: None,
            left_out,
            changes,
            remote: self.remote.clone(),
            push: PushState::Nothing,
            offer: Offer::None(NoOffer::NothingToDeliver),
            held: None,
            dry_run: self.wish.dry_run,
        })
    }

    /// Whether there is something that the base has not, as far as that is known here, or to the forge.
    async fn has_news(&self, told: &Delivered) -> Result<bool> {
        let Some(commit) = told.commit.as_ref().filter(|_| told.changes.commits > 0) else { return Ok(false) };
        let Some(base) = &self.workspace.base_branch else { return Ok(true) };
        if let Some(tip) = self.context.load_remote_branch(&self.remote, base).await?
            && self.context.is_ancestor(commit, &tip).await?
        {
            return Ok(false);
        }
        // One that was merged by a squash is merged all the same. A forge that gives no answer merged nothing.
        let (word, _) = self.engine.ask_forge(self.context, &self.workspace).await;
        Ok(word.is_none_or(|word| word.merged.is_none_or(|merged| merged.head != *commit)))
    }

    /// Why a commit is held for a person; nothing where they have looked at it.
    async fn held(&self, commit: &CommitId) -> Result<Option<Error>> {
        let (engine, context, workspace) = (self.engine, self.context, &self.workspace);
        if self.wish.accept_held.as_ref() == Some(commit) {
            if !self.wish.dry_run && self.copies.anywhere.has_copies() {
                engine.record_accepted(workspace, commit).await?;
            }
            return Ok(None);
        }
        let copied = held::find_copied(engine, context, workspace, commit, &self.copies, true).await?;
        let tips = match &self.began {
            Some(Began { left: Some(left), .. }) => left.dropped.clone(),
            Some(Began { left: None, tips, .. }) => tips.clone(),
            None => Default::default(),
        };
        let dropped = held::find_dropped(engine, context, workspace, &self.tree, tips).await?;
        if copied.is_empty() && dropped.is_none() {
            return Ok(None);
        }
        let held = Box::new(Held { commit: commit.clone(), copied });
        let dropped = dropped.map(|(dropped, _)| Box::new(dropped));
        Ok(Some(Error::HeldBack { workspace: workspace.name.clone(), held, dropped }))
    }

    /// Notes that commits are given up which an agent took off the branch: a person has just delivered without them. The
    /// refs that keep them stay.
    async fn give_up_dropped(&mut self) -> Result<()> {
        if let Some(Began { left: Some(left), .. }) = &mut self.began
            && !left.dropped.is_empty()
        {
            left.dropped.clear();
        } else {
            return Ok(());
        }
        if let Some(began) = &self.began {
            self.engine.store().read().await?.put_began(&self.workspace.id, began).await?;
        }
        Ok(())
    }

    async fn offer(&self) -> Result<Offer> {
        if self.wish.offer == OfferWish::No {
            return Ok(Offer::None(NoOffer::NotWanted));
        }
        let why = match self.try_to_offer().await {
            Ok(offer) => return Ok(offer),
            Err(error) if error.is_cut_off() => return Err(error),
            Err(error) => error,
        };
        match self.wish.offer {
            OfferWish::Required => Err(why),
            OfferWish::IfPossible | OfferWish::No => Ok(Offer::None(NoOffer::Forge(why))),
        }
    }

    async fn try_to_offer(&self) -> Result<Offer> {
        let Some(base) = self.workspace.base_branch.clone() else { return Ok(Offer::None(NoOffer::NoBase)) };
        let Some(forge) = self.engine.forge(self.context).await? else { return Ok(Offer::None(NoOffer::NoForge)) };
        let newest = self.newest_subject().await?;
        let describe = async || {
            let known = self.wish.title.clone().or_else(|| self.workspace.title.clone());
            let title = match known {
                Some(title) => title,
                None => issue_title(&*forge, &self.workspace.work).await.unwrap_or(newest),
            };
            NewPullRequest {
                head: self.branch.clone(),
                base,
                title: first_line(&title),
                body: self.wish.body.clone().unwrap_or_else(|| closes(&self.workspace.work)),
                draft: self.wish.draft,
            }
        };
        let offered = offer(&*forge, &self.branch, describe).await.map_err(|error: ForgeError| Error::Forge(error))?;
        Ok(if offered.is_new { Offer::Opened(offered.url) } else { Offer::Found(offered.url) })
    }

    async fn newest_subject(&self) -> Result<String> {
        let Some(tip) = self.tree.load_head().await?.commit().cloned() else { return Ok(String::new()) };
        let missing = self.context.count_missing(&tip, std::slice::from_ref(&self.workspace.base_commit)).await?;
        Ok(missing.first.into_iter().next().map(|(_, subject)| subject).unwrap_or_default())
    }
}
