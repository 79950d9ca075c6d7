//! What a pull request is tied to, and what goes when an issue or a pull request is over.

use spinney_app::{Error as AppError, workspaces};
use spinney_core::{
    Consent, Delivery, DeliveryStatus, IgnoreReason, MergedPull, ReasonCode, Work, WorkKind, Workspace,
};
use spinney_engine::{Among, ClosedWork, Context, Error as EngineError, ErrorKind};

use super::{Orchestrator, say};
use crate::conversation::desk::{self, About};
use crate::{Adapter, Inbound, Message, Pull, Result};

impl Orchestrator {
    /// Ties a pull request to the workspace of its branch, or of an issue that it closes. One from a fork is anybody's, and
    /// ties nothing.
    pub(super) async fn linked(
        &self,
        delivery: Delivery,
        inbound: &Inbound,
        adapter: &dyn Adapter,
        pull: &Pull,
    ) -> Result<()> {
        let context = match desk::repository_of(self.engine(), adapter, inbound).await? {
            About::Known(context) => context,
            about => return self.pass_over(delivery, about).await,
        };
        let found = if pull.is_fork { None } else { self.workspace_of(&context, pull).await? };
        let Some(workspace) = found else { return self.ignore(delivery, IgnoreReason::NoWorkspace).await };
        let own = Work::pr(pull.number);
        if !workspaces::share(self.engine(), &workspace, &own, &pull.closes).await? {
            return self.ignore(delivery, IgnoreReason::NoWorkspace).await;
        }
        let mut db = self.engine().store().write().await?;
        let account = self.engine().account();
        let bound = db.workspace_of_conversation(account, inbound.platform, &inbound.conversation).await?;
        // Where people moved it, it stays.
        if !bound.as_ref().is_some_and(is_live) {
            db.bind_conversation(account, inbound.platform, &inbound.conversation, &workspace.id).await?;
        }
        db.commit().await?;
        self.end(delivery, DeliveryStatus::Done, None).await
    }

    /// Ends what is about no repository of ours.
    async fn pass_over(&self, delivery: Delivery, about: About) -> Result<()> {
        match about {
            About::NotOurs { name, remote } => {
                let reason = IgnoreReason::UnknownRepository { repository: name.to_string(), remote };
                self.ignore(delivery, reason).await
            }
            About::Known(_) | About::NobodySaid => self.end(delivery, DeliveryStatus::Done, None).await,
        }
    }

    /// Another machine's workspace is that machine's to look after.
    fn is_here(&self, workspace: &Workspace) -> bool {
        workspace.node == *self.engine().home().node()
    }

    async fn workspace_of(&self, context: &Context, pull: &Pull) -> Result<Option<Workspace>> {
        let repository = &context.repository.id;
        let mut db = self.engine().store().read().await?;
        for work in std::iter::once(&Work::pr(pull.number)).chain(&pull.closes) {
            if let Some(found) = db.workspace_of_work(repository, work).await?.filter(|found| self.is_here(found)) {
                return Ok(Some(found));
            }
        }
        drop(db);
        let Some(head) = &pull.head else { return Ok(None) };
        let live = self.engine().workspaces(Some(repository), Among::Live).await?;
        Ok(live.into_iter().find(|workspace| workspace.branch == *head))
    }

    /// Ties a conversation again to the workspace that its work had a part in, when it let go of it too early: an issue that
    /// was opened again.
    pub(super) async fn tie_again(&self, context: &Context, inbound: &Inbound, work: &Work) -> Result<()> {
        let repository = &context.repository.id;
        let mut db = self.engine().store().read().await?;
        let bound =
            db.workspace_of_conversation(self.engine().account(), inbound.platform, &inbound.conversation).await?;
        if bound.is_some() || db.workspace_of_work(repository, work).await?.is_some() {
            return Ok(());
        }
        drop(db);
        let number = work.key.parse::<u64>().ok();
        let had_part = |workspace: &Workspace| {
            let metadata = &workspace.metadata;
            let related = if work.kind == WorkKind::Issue { &metadata.related_issues } else { &metadata.related_prs };
            workspace.work == *work || number.is_some_and(|number| related.contains(&number))
        };
        let is_numbered = matches!(work.kind, WorkKind::Issue | WorkKind::Pr);
        let live = self.engine().workspaces(Some(repository), Among::Live).await?;
        if let Some(workspace) = live.iter().find(|workspace| is_numbered && had_part(workspace)) {
            workspaces::share(self.engine(), workspace, work, &[]).await?;
        }
        Ok(())
    }

    /// The conversation lets go of its workspace, and its work of the one that it has; when it was the last, that goes, as far
    /// as the verdict allows.
    pub(super) async fn closed(
        &self,
        mut delivery: Delivery,
        inbound: &Inbound,
        adapter: &dyn Adapter,
        work: &Work,
        merged: Option<Pull>,
    ) -> Result<()> {
        let context = match desk::repository_of(self.engine(), adapter, inbound).await? {
            About::Known(context) => context,
            about => return self.pass_over(delivery, about).await,
        };
        workspaces::hear_closed(self.engine(), &context, &over(work, merged), &|_| {}).await?;
        let mut db = self.engine().store().read().await?;
        let account = self.engine().account();
        let talked_about =
            db.workspace_of_conversation(account, inbound.platform, &inbound.conversation).await?.filter(is_live);
        let of_work = db.workspace_of_work(&context.repository.id, work).await?.filter(is_live);
        let of_work = of_work.filter(|found| self.is_here(found));
        drop(db);
        let is_talked_about = talked_about.is_some();
        let mut message = None;
        for workspace in talked_about.iter().chain(of_work.iter().filter(|other| Some(*other) != talked_about.as_ref()))
        {
            if let Some(held) = self.let_go(&context, inbound, work, workspace).await? {
                message.get_or_insert(held);
            }
        }
        // Where nobody asked for anything, nothing is said.
        if let Some(message) = message.filter(|_| is_talked_about) {
            self.say(&mut delivery, inbound, adapter, message).await?;
        }
        let mut db = self.engine().store().write().await?;
        db.unbind_conversation(account, inbound.platform, &inbound.conversation).await?;
        db.commit().await?;
        self.end(delivery, DeliveryStatus::Done, None).await
    }

    /// Lets go of one workspace; tells why it stays, where that is to be said.
    async fn let_go(
        &self,
        context: &Context,
        inbound: &Inbound,
        work: &Work,
        workspace: &Workspace,
    ) -> Result<Option<Message>> {
        let repository = &context.repository.id;
        let mut db = self.engine().store().write().await?;
        // Of two that let go at once, the second sees the first.
        db.lock_repository(repository).await?;
        let bound = db.conversations_of(&workspace.id).await?;
        let own = (inbound.platform, inbound.conversation.as_str());
        let is_last = bound.iter().all(|(platform, id)| (*platform, id.as_str()) == own);
        let works = db.works_of(&workspace.id).await?;
        // A workspace that this conversation moved to has a work of its own, which nobody else brought.
        let others = works.iter().any(|other| other != work && (works.contains(work) || *other != workspace.work));
        if !is_last || others {
            db.unbind_conversation(self.engine().account(), inbound.platform, &inbound.conversation).await?;
            if others && works.contains(work) {
                db.delete_work(repository, work).await?;
            }
            db.commit().await?;
            return Ok(None);
        }
        drop(db);
        // The pull request that is over now holds nothing back.
        let consent = match work.kind {
            WorkKind::Pr => Consent::Codes([ReasonCode::OpenPullRequest].into()),
            _ => Consent::None,
        };
        match workspaces::let_go_closed(self.engine(), context, workspace, &consent, &|_| {}).await {
            Ok(_) => Ok(None),
            Err(AppError::Engine(EngineError::Refused { reasons, .. })) => {
                Ok(Some(say::kept(work, workspace, &reasons)))
            }
            Err(error) if error.kind() == ErrorKind::Held => Ok(Some(say::held(work, workspace, &error))),
            Err(error) => Err(error.into()),
        }
    }
}

/// What is over, as the forge told it.
fn over(work: &Work, merged: Option<Pull>) -> ClosedWork {
    let Some(pull) = merged else { return ClosedWork { work: work.clone(), merged: None, head: None } };
    let head = pull.head.filter(|_| !pull.is_fork);
    let merged = pull.sha.map(|head| MergedPull { number: pull.number, head });
    ClosedWork { work: work.clone(), merged, head }
}

fn is_live(workspace: &Workspace) -> bool {
    workspace.status.is_live()
}
