//! `spinney hook`: what Claude Code calls to make and unmake a worktree of its own.
//!
//! Both get one JSON object on stdin. `worktree-create` answers with the path alone on stdout. To `worktree-remove`, zero
//! means that the worktree is gone; any other status makes Claude Code keep it and say where it is.

use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::{Args, Subcommand};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use spinney_app::{WorkRequest, document, workspaces};
use spinney_core::names::for_message;
use spinney_core::{Consent, Merge, Platform, ReasonCode, Sweep, Verdict, Work};
use spinney_engine::{Among, Context, Engine};
use tokio::time::sleep;

use crate::app::{App, current_directory};
use crate::background;
use crate::commands::why::reasons_table;
use crate::commands::{new, rm};
use crate::error::{CliError, Result};

/// How long programs that only looked around may take to leave.
const LEAVES_WITHIN: Duration = Duration::from_secs(3);
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Far more than Claude Code sends.
const MAX_INPUT_BYTES: u64 = 1024 * 1024;

/// Serve as Claude Code's worktree hooks
///
/// `spinney init --claude` writes the settings that call them; then `claude --worktree NAME` works in a workspace.
#[derive(Debug, Args)]
#[command(after_help = "Example: spinney init --claude && claude --worktree dark-mode")]
pub struct HookArgs {
    #[command(subcommand)]
    command: HookCommand,
}

#[derive(Debug, Subcommand)]
enum HookCommand {
    /// WorktreeCreate: give the task that the worktree is named after its workspace, and print the path
    #[command(after_help = "The name of a workspace that is there means that one.\n\n\
        Example: echo '{\"hook_event_name\":\"WorktreeCreate\",\"name\":\"dark-mode\"}' | spinney hook worktree-create")]
    WorktreeCreate,
    /// WorktreeRemove: move a workspace to the trash if no work in it would be lost; else it stays
    #[command(
        after_help = "Never forces: uncommitted, untracked and unpushed work keeps the workspace, with exit status 3.\n\n\
        Example: echo '{\"hook_event_name\":\"WorktreeRemove\",\"worktree_path\":\"…\"}' | spinney hook worktree-remove"
    )]
    WorktreeRemove,
}

/// What comes with a WorktreeCreate. More may come with later versions.
#[derive(Debug, Deserialize)]
struct Create {
    hook_event_name: String,
    name: String,
    /// Where the session runs.
    cwd: Option<PathBuf>,
}

#[derive(Debug, Deserialize)]
struct Remove {
    hook_event_name: String,
    worktree_path: PathBuf,
}

pub async fn run(app: &App, args: HookArgs) -> Result<u8> {
    match args.command {
        HookCommand::WorktreeCreate => {
            let input: Create = read_input()?;
            require_event("WorktreeCreate", &input.hook_event_name)?;
            create(app, input).await
        }
        HookCommand::WorktreeRemove => {
            let input: Remove = read_input()?;
            require_event("WorktreeRemove", &input.hook_event_name)?;
            remove(app, &input.worktree_path).await
        }
    }
}

async fn create(app: &App, input: Create) -> Result<u8> {
    let started = Instant::now();
    let engine = app.engine().await?;
    let directory = match input.cwd {
        Some(directory) => directory,
        None => current_directory()?,
    };
    let context = engine.find_context(app.global.repo.as_deref(), &directory).await?;
    let request = request(&engine, &context, input.name).await?;
    let created = workspaces::create(&engine, context, request, &app.observer()).await?;
    new::hand_over(app, &engine, &created, started, false).await?;
    Ok(0)
}

/// The workspace of that name means its own work; any other name is a task.
async fn request(engine: &Engine, context: &Context, name: String) -> Result<WorkRequest> {
    let live = engine.workspaces(Some(&context.repository.id), Among::Live).await?;
    if let Some(workspace) = live.into_iter().find(|workspace| workspace.name.as_str() == name) {
        return Ok(WorkRequest { work: Some(workspace.work), ..WorkRequest::from(Platform::Cli) });
    }
    let work = Work::task(&name).map_err(|error| CliError::usage(error.to_string()))?;
    Ok(WorkRequest { work: Some(work), title: Some(name), ..WorkRequest::from(Platform::Cli) })
}

async fn remove(app: &App, path: &Path) -> Result<u8> {
    let engine = app.engine().await?;
    let Some(workspace) = engine.workspace_at(path, Among::Live).await? else {
        return already_gone(app, &engine, path).await;
    };
    let context = engine.context_of(&workspace).await?;
    let deadline = Instant::now() + LEAVES_WITHIN;
    let removed = loop {
        let removed =
            workspaces::let_go(&engine, &context, &workspace, Sweep::Teardown, &Consent::None, &app.observer()).await;
        // Claude Code looks around with programs of its own, which are still there when it wants the worktree removed.
        match removed {
            Err(error) if is_only_in_use(&error) && Instant::now() < deadline => sleep(LOOK_EVERY).await,
            removed => break removed,
        }
    };
    match removed {
        Ok(removed) => {
            rm::tell(app, &context, &removed);
            background::purge_what_is_due(app, &engine).await?;
            if app.ui.json {
                app.ui.print_json(&document::Workspace::of(&engine, &removed.workspace));
            }
            Ok(0)
        }
        Err(error) => {
            let reasons = error.reasons().to_vec();
            let verdict = Verdict { reasons, merge: Merge::Unknown { detail: String::new() } };
            let refusal = CliError::from(error).explained(reasons_table(&verdict));
            Err(refusal.hinted(format!(
                "the workspace stays; `spinney why {}` shows the reasons and what to do",
                workspace.name
            )))
        }
    }
}

/// Whether nothing but a process keeps a workspace.
fn is_only_in_use(error: &spinney_app::Error) -> bool {
    let mut blocking = error.reasons().iter().filter(|reason| reason.blocks).peekable();
    blocking.peek().is_some() && blocking.all(|reason| reason.code == ReasonCode::InUse)
}

/// What was removed before is as the caller wants it; what was never a workspace is nobody's to remove here.
async fn already_gone(app: &App, engine: &Engine, path: &Path) -> Result<u8> {
    match engine.workspace_at(path, Among::Removed).await? {
        Some(workspace) if !path.exists() => {
            app.ui.say(format!("{} was removed before", workspace.name));
            if app.ui.json {
                app.ui.print_json(&document::Workspace::of(engine, &workspace));
            }
            Ok(0)
        }
        _ => {
            let path = for_message(&path.to_string_lossy());
            let error = CliError::not_found(format!("`{path}` is no workspace of Spinney, and stays as it is"));
            Err(error.hinted("`spinney ls --json` tells where the workspaces are"))
        }
    }
}

/// Reads one JSON object, without waiting for the end of the input, which nobody promised.
fn read_input<T: DeserializeOwned>() -> Result<T> {
    let stdin = std::io::stdin();
    let wrong = |detail: String| {
        CliError::usage(format!("the input of the hook {detail}"))
            .hinted("Claude Code calls this; `spinney init --claude` sets it up")
    };
    if stdin.is_terminal() {
        return Err(wrong("comes on stdin, as JSON".to_owned()));
    }
    let mut values = serde_json::Deserializer::from_reader(stdin.lock().take(MAX_INPUT_BYTES)).into_iter();
    match values.next() {
        Some(Ok(input)) => Ok(input),
        Some(Err(error)) => Err(wrong(format!("can't be read: {}", for_message(&error.to_string())))),
        None => Err(wrong("is empty".to_owned())),
    }
}

fn require_event(wanted: &str, given: &str) -> Result<()> {
    if given == wanted {
        return Ok(());
    }
    Err(CliError::usage(format!("this serves `{wanted}`, and was called for `{}`", for_message(given)))
        .hinted("`spinney init --claude` writes the right settings"))
}
