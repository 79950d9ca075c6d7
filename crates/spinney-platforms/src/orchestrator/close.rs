//! What a pull request is tied to, and what goes when an issue or a pull request is over.

use spinney_core::{Consent, Delivery, DeliveryStatus, ReasonCode, Sweep, Work, WorkKind, Workspace};
use spinney_engine::{Among, Context, Error as EngineError};

use super::{Orchestrator, say};
use crate::desk::{self, About};
use crate::{Adapter, Inbound, Pull, Result};

impl Orchestrator {
    /// Ties a pull request to the workspace of its branch, or of an issue that it closes. One from a fork is anybody's, and
    /// ties nothing.
    pub(super) async fn linked(&self, delivery: Delivery, inbound: &Inbound, pull: &Pull) -> Result<()> {
        let About::Known(context) = desk::repository_of(self.engine(), inbound).await? else {
            return self.end(delivery, DeliveryStatus::Ignored, None).await;
        };
        let found = if pull.is_fork { None } else { self.workspace_of(&context, pull).await? };
        let Some(workspace) = found else { return self.end(delivery, DeliveryStatus::Ignored, None).await };
        let own = Work::pr(pull.number);
        if !self.engine().share(&workspace, &own, &pull.closes).await? {
            return self.end(delivery, DeliveryStatus::Ignored, None).await;
        }
        let mut db = self.engine().store().write().await?;
        db.bind_conversation(self.engine().account(), inbound.platform, &inbound.conversation, &workspace.id).await?;
        db.commit().await?;
        self.end(delivery, DeliveryStatus::Done, None).await
    }

    async fn workspace_of(&self, context: &Context, pull: &Pull) -> Result<Option<Workspace>> {
        let repository = &context.repository.id;
        let mut db = self.engine().store().read().await?;
        for work in std::iter::once(&Work::pr(pull.number)).chain(&pull.closes) {
            if let Some(found) = db.workspace_of_work(repository, work).await? {
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
            self.engine().share(workspace, work, &[]).await?;
        }
        Ok(())
    }

    /// The conversation lets go of its workspace; when it was the last, the workspace goes, as far as the verdict allows.
    pub(super) async fn closed(
        &self,
        delivery: Delivery,
        inbound: &Inbound,
        adapter: &dyn Adapter,
        work: &Work,
    ) -> Result<()> {
        let About::Known(context) = desk::repository_of(self.engine(), inbound).await? else {
            return self.end(delivery, DeliveryStatus::Ignored, None).await;
        };
        let (platform, conversation) = (inbound.platform, inbound.conversation.as_str());
        let mut db = self.engine().store().write().await?;
        let account = self.engine().account();
        let of_conversation = db.workspace_of_conversation(account, platform, conversation).await?;
        let is_talked_about = of_conversation.is_some();
        let of_work = db.workspace_of_work(&context.repository.id, work).await?;
        let Some(workspace) = of_conversation.or(of_work).filter(|workspace| workspace.status.is_live()) else {
            drop(db);
            return self.end(delivery, DeliveryStatus::Ignored, None).await;
        };
        let bound = db.conversations_of(&workspace.id).await?;
        let is_last = bound.iter().all(|(other, id)| *other == platform && id == conversation);
        let others = db.works_of(&workspace.id).await?.iter().any(|other| other != work);
        if !is_last || others {
            db.unbind_conversation(account, platform, conversation).await?;
            if others {
                db.delete_work(&context.repository.id, work).await?;
            }
            db.commit().await?;
            return self.end(delivery, DeliveryStatus::Done, None).await;
        }
        drop(db);
        // The pull request that is over now holds nothing back.
        let consent = Consent::Codes([ReasonCode::OpenPullRequest].into());
        let gone = self.engine().let_go(&context, &workspace, Sweep::Close, &consent, None, &|_| {}).await;
        match gone {
            Ok(_) => self.end(delivery, DeliveryStatus::Done, None).await,
            // Where nobody asked for anything, nothing is said.
            Err(EngineError::Refused { .. }) if !is_talked_about => {
                self.end(delivery, DeliveryStatus::Done, None).await
            }
            Err(EngineError::Refused { reasons, .. }) => {
                self.unbind(inbound).await?;
                let message = say::kept(work, &workspace, &reasons);
                self.answer(delivery, inbound, adapter, message, DeliveryStatus::Done).await
            }
            Err(error) if error.kind() == spinney_engine::ErrorKind::Held => {
                self.unbind(inbound).await?;
                let message = say::held(work, &workspace, &error);
                self.answer(delivery, inbound, adapter, message, DeliveryStatus::Done).await
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn unbind(&self, inbound: &Inbound) -> Result<()> {
        let mut db = self.engine().store().write().await?;
        db.unbind_conversation(self.engine().account(), inbound.platform, &inbound.conversation).await?;
        Ok(db.commit().await?)
    }
}
