//! What happens in a new tree before it is handed over: files carried over, submodules, LFS, ports, set-up commands.

mod brought;
pub(crate) mod copy;
pub(crate) mod environment;
mod foreign;
mod include;
pub(crate) mod ports;
pub(crate) mod setup;

pub use brought::Copies;
pub(crate) use copy::leaves_tree;
pub use include::Foreseen;

use spinney_core::config::Lfs;
use spinney_core::{OperationId, Workspace};

use crate::create::prepare::copy::{Replace, Stamps};
use crate::create::prepare::setup::Setup;
use crate::executor::Tag;
use crate::notice::{Notice, Observer, Phase, Warning};
use crate::repositories::context::Context;
use crate::tree::Tree;
use crate::{Engine, Result};

/// Tells the processes that fill a tree and set it up, by the operation that started them.
pub(crate) const SETUP_VARIABLE: &str = "SPINNEY_OPERATION_ID";

impl Engine {
    /// Makes a populated tree ready to work in. Runs outside the repository's lock.
    pub(crate) async fn prepare(
        &self,
        context: &Context,
        workspace: &Workspace,
        worktree: &Tree,
        operation: &OperationId,
        observer: &dyn Observer,
    ) -> Result<()> {
        let carried = copy::carry_over(context, workspace, &Stamps::new(), Replace::Always, observer).await?;
        self.bring_parts(context, worktree, observer).await?;
        self.set_up(context, workspace, operation, observer).await?;
        self.record_brought(context, workspace, worktree, &carried).await
    }

    /// Brings what a commit only names: submodules and LFS files.
    pub(crate) async fn bring_parts(&self, context: &Context, worktree: &Tree, observer: &dyn Observer) -> Result<()> {
        let settings = &context.config().workspace;
        if settings.submodules && worktree.has_submodules() {
            observer(Notice::Phase(Phase::UpdatingSubmodules));
            let credential = self.credential(&context.repository)?;
            worktree.update_submodules(settings.lfs == Lfs::Pull, credential.as_ref()).await?;
        }
        if settings.lfs == Lfs::Pull {
            observer(Notice::Phase(Phase::PullingLfs));
            worktree.pull_lfs().await?;
        }
        Ok(())
    }

    /// Gives it its ports, and runs the set-up commands.
    pub(crate) async fn set_up(
        &self,
        context: &Context,
        workspace: &Workspace,
        operation: &OperationId,
        observer: &dyn Observer,
    ) -> Result<()> {
        let settings = &context.config().workspace;
        self.allocate_ports(&workspace.id, &settings.ports).await?;
        if let Some(untrusted) = context.untrusted.as_ref().filter(|untrusted| !untrusted.setup.is_empty()) {
            observer(Notice::Warning(Warning::SetupWithheld { lines: untrusted.setup.len() }));
        }
        if workspace.metadata.setup_withheld && !settings.setup.is_empty() {
            observer(Notice::Warning(foreign::warning(context, workspace).await));
        } else if !settings.setup.is_empty() {
            let environment = self.workspace_environment(context, workspace).await?;
            let setup = Setup {
                executor: &*self.executor(Some(workspace)),
                directory: &workspace.path,
                environment: &environment,
                tag: &Tag::Operation(operation.clone()),
                timeout: settings.setup_timeout.0,
            };
            setup.run(&settings.setup, observer).await?;
        }
        Ok(())
    }
}
