//! `spinney init --claude`: the hooks for Claude Code's own worktrees, here and in new workspaces.
//!
//! Claude Code reads the settings of the worktree that it runs in. A new workspace has those that its base commit has; until the
//! hooks are committed there, it is given a copy that git ignores.

use std::path::Path;

use serde_json::json;
use spinney_engine::{Context, Engine, Foreseen};

use crate::app::App;
use crate::claude_settings::{self, OWN_PLACE, PLACE};
use crate::commands::init::{read, stays, unwritable};
use crate::error::Result;
use crate::file;

/// How new workspaces get the hooks.
#[derive(Debug, PartialEq, Eq)]
enum Way {
    Committed,
    /// Git ignores the settings: they are copied.
    Copied,
    /// They have to be committed; until then the hooks alone are copied.
    CopiedUntilCommitted,
    /// They have to be committed: what a person's own settings say is not for every workspace.
    OnceCommitted,
}

pub async fn run(app: &App, engine: &Engine, context: &Context, path: &Path, in_workspace: bool) -> Result<u8> {
    let written = write(path)?;
    app.ui.say(match written {
        true => "`claude --worktree NAME` now works in a workspace, and removes it only if no work would be lost",
        false => "its hooks call Spinney already",
    });
    let to_commit = match in_workspace {
        // They reach others with the branch.
        true => vec![PLACE],
        false => reach_new_workspaces(app, engine, context).await?,
    };
    if in_workspace {
        app.ui.say(format!("commit `{PLACE}`: new workspaces have these hooks once they are in the base branch"));
    }
    if app.ui.json {
        app.ui.print_json(&json!({ "path": path, "written": written, "to_commit": to_commit }));
    } else {
        app.ui.print_path(path);
    }
    Ok(0)
}

/// Gives whether there was anything to write.
fn write(path: &Path) -> Result<bool> {
    let settings = read(path)?;
    let merged = claude_settings::with_hooks(settings.as_deref()).map_err(|error| stays(path, &error.to_string()))?;
    let Some(merged) = merged else { return Ok(false) };
    file::replace(path, &merged).map_err(|error| unwritable(path, &error))?;
    Ok(true)
}

/// Sees to it that new workspaces have the hooks, and tells what is to be committed.
async fn reach_new_workspaces(app: &App, engine: &Engine, context: &Context) -> Result<Vec<&'static str>> {
    let Some(root) = context.root() else { return Ok(Vec::new()) };
    let foreseen = match engine.foresee(context, PLACE).await {
        Ok(foreseen) => foreseen,
        Err(error) => {
            app.ui.warn(format!("what new workspaces start from is not known: {error}"));
            app.ui.say(format!("commit `{PLACE}`: Claude Code reads the settings of the worktree that it runs in"));
            return Ok(vec![PLACE]);
        }
    };
    let own = root.join(OWN_PLACE);
    let way = way(&foreseen, read(&own)?.as_deref());
    match way {
        Way::Committed | Way::OnceCommitted => {}
        Way::Copied => engine.give_to_workspaces(context, PLACE).await?,
        Way::CopiedUntilCommitted => {
            write(&own)?;
            engine.give_to_workspaces(context, OWN_PLACE).await?;
        }
    }
    let start = &foreseen.start;
    let commit = format!(
        "commit `{PLACE}`, so that it is in `{start}`: Claude Code reads the settings of the worktree that it runs in"
    );
    match way {
        Way::Committed => app.ui.say(format!("new workspaces have these hooks, too: `{start}` has them")),
        Way::Copied => app.ui.say("git ignores this file: new workspaces get a copy of it"),
        Way::CopiedUntilCommitted => {
            app.ui.say(commit);
            app.ui.say(format!(
                "until then new workspaces get the hooks as `{OWN_PLACE}`, which git now ignores in this repository"
            ));
        }
        Way::OnceCommitted => {
            app.ui.say(commit);
            app.ui.say(format!(
                "until then new workspaces have no hooks: `{OWN_PLACE}` has settings of your own, and is not copied"
            ));
        }
    }
    Ok(if matches!(way, Way::CopiedUntilCommitted | Way::OnceCommitted) { vec![PLACE] } else { Vec::new() })
}

fn way(foreseen: &Foreseen, own: Option<&str>) -> Way {
    let committed = foreseen.committed.as_deref().map(String::from_utf8_lossy);
    if committed.is_some_and(|settings| claude_settings::has_hooks(&settings)) {
        Way::Committed
    } else if foreseen.is_ignored {
        Way::Copied
    } else if own.is_some_and(claude_settings::has_more) {
        Way::OnceCommitted
    } else {
        Way::CopiedUntilCommitted
    }
}
