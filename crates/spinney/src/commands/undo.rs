//! `spinney undo`: brings back what was removed last.

use clap::Args;
use spinney_core::WorkspaceStatus;
use spinney_engine::Among;

use crate::app::App;
use crate::commands::restore;
use crate::error::{CliError, Result};

/// Bring back the workspace that was removed last
///
/// In a repository: of that one; elsewhere: of all. A second `undo` brings back the one before it.
#[derive(Debug, Args)]
#[command(after_help = "Example: spinney undo")]
pub struct UndoArgs {}

pub async fn run(app: &App, _args: UndoArgs) -> Result<u8> {
    let engine = app.engine().await?;
    let here = app.context_if_any(&engine).await?;
    let repository = here.as_ref().map(|context| &context.repository.id);
    let mut removed = engine.workspaces(repository, Among::Removed).await?;
    removed.retain(|workspace| workspace.metadata.erased.is_none());
    removed.sort_by_key(|workspace| workspace.removed_at);
    let later = removed.iter().rposition(|workspace| workspace.status == WorkspaceStatus::Trashed);
    let purged = removed.split_off(later.map_or(0, |at| at + 1));
    let last = removed.pop();
    let Some(workspace) = last else {
        return Err(CliError::not_found("nothing is in the trash that could be brought back").hinted(
            "`spinney ls --all` shows what was purged, too: `spinney restore NAME` brings it back from its archive",
        ));
    };
    for purged in purged {
        let name = &purged.name;
        app.ui.say(format!(
            "{name} was removed later, and purged since: `spinney restore {name}` brings back what its archive has"
        ));
    }
    restore::bring_back(app, &engine, &workspace, None).await
}
