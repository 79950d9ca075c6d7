//! Picks up operations whose owner died: finishes or undoes each. Doing it twice changes nothing.

use async_recursion::async_recursion as boxed;
use spinney_core::{Operation, OperationId, OperationKind, OperationStatus};

use crate::home::accounts::account_name;
use crate::journal::operations;
use crate::notice::{Notice, Observer, Warning};
use crate::{Engine, Result};

impl Engine {
    /// Finishes or undoes what dead processes left open on this node, whichever account's it is: one indexed query when
    /// there is nothing.
    ///
    /// An operation that can't be recovered now stays open and is told; it does not stop the command. A database that went
    /// away does.
    #[boxed]
    pub async fn recover(&self, observer: &dyn Observer) -> Result<()> {
        let open = self.store.read().await?.open_operations(self.home.node()).await?;
        for operation in open {
            match self.recover_one(&operation.id, observer).await {
                Ok(()) => {}
                Err(error) if error.is_cut_off() => return Err(error),
                Err(error) => {
                    let (kind, error) = (operation.kind(), error.in_full());
                    let what = format!("a {kind} that was left half done can't be picked up: {error}");
                    observer(Notice::Warning(Warning::Minor { what }));
                }
            }
        }
        Ok(())
    }

    /// Picks up one operation, unless its owner lives or somebody else was faster.
    pub(crate) async fn recover_one(&self, id: &OperationId, observer: &dyn Observer) -> Result<()> {
        let Some(lock) = self.take_over(id)? else { return Ok(()) };
        let row = self.store.read().await?.operation(id).await?;
        let Some(operation) = row.filter(|operation| operation.status == OperationStatus::Open) else {
            lock.discard();
            return Ok(());
        };
        let outcome = self.finish_or_undo(&operation, observer).await?;
        lock.discard();
        if let Some(what) = outcome {
            observer(Notice::Warning(Warning::Recovered { what }));
        }
        Ok(())
    }

    async fn finish_or_undo(&self, operation: &Operation, observer: &dyn Observer) -> Result<Option<String>> {
        let mut db = self.store.read().await?;
        let workspace = db.workspace(&operation.workspace_id).await?;
        let repository = db.repository(&operation.node, &operation.repository_id).await?;
        drop(db);
        let (Some(workspace), Some(repository)) = (workspace, repository) else {
            let mut db = self.store.write().await?;
            operations::close(&mut db, operation, OperationStatus::Failed, Some("its workspace has no row")).await?;
            db.commit().await?;
            return Ok(None);
        };
        let name = workspace.name.clone();
        // Another account's is finished as that account's own.
        let engine = self.for_account(&account_name(&workspace.account)?);
        let context = engine.known_repository(repository).await?;
        let how = match operation.kind() {
            OperationKind::Create => engine.recover_create(&context, operation, workspace, observer).await?,
            OperationKind::Remove => engine.recover_remove(&context, operation, workspace).await?,
            OperationKind::Purge => engine.recover_purge(&context, operation, workspace).await?,
            OperationKind::Erase => engine.recover_erase(&context, operation, workspace).await?,
            OperationKind::Warm => engine.recover_warm(&context, operation, workspace).await?,
            OperationKind::Claim => engine.recover_claim(&context, operation, workspace, observer).await?,
            OperationKind::Deliver => engine.recover_deliver(operation).await?,
            OperationKind::Restore => engine.recover_restore(&context, operation, workspace).await?,
        };
        Ok(Some(format!(
            "the operation `{}` on {name}, interrupted when its process died, was {how}",
            operation.kind()
        )))
    }
}
