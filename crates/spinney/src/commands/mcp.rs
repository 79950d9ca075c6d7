//! `spinney mcp`: the MCP server, for the client that started it.

use std::io::IsTerminal;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use spinney_core::{Actor, Job, Scope};
use spinney_engine::{Engine, EngineThreads};
use spinney_mcp::Seat;
use tokio_util::task::TaskTracker;

use crate::app::App;
use crate::background;
use crate::error::{CliError, Result};
use crate::jobs;

/// Set for the agent of a job.
const JOB_ID: &str = "SPINNEY_JOB_ID";
/// How many tools may be at work at once.
const MAX_THREADS: usize = 8;

/// Serve agents over MCP, on stdin and stdout
///
/// An agent's program starts this by itself: `spinney init --mcp` writes the file that tells it to. Account and repository are
/// fixed at the start. In a job, its agent sees its own workspace and what it asked for.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  spinney init --mcp\n  claude mcp add spinney -- spinney mcp\n  spinney mcp --scope read --repo acme/app"
)]
pub struct McpArgs {
    /// What the client may do: only look, or change things too
    #[arg(long, value_enum, default_value_t = Allowed::Write, value_name = "SCOPE")]
    scope: Allowed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Allowed {
    Read,
    Write,
}

impl From<Allowed> for Scope {
    fn from(allowed: Allowed) -> Self {
        match allowed {
            Allowed::Read => Self::Read,
            Allowed::Write => Self::Write,
        }
    }
}

pub async fn run(app: &App, args: McpArgs) -> Result<u8> {
    let engine = app.engine().await?;
    let job = own_job(app, &engine).await?;
    let (engine, repository) = match &job {
        Some(job) => (engine.acting_as(Actor::Job { id: job.id.clone() }), job.repository_id.clone()),
        None => {
            let context = app.context(&engine).await?;
            (engine, context.repository.id)
        }
    };
    let launcher = Arc::new(background::own_program(app, &engine)?);
    if std::io::stdin().is_terminal() {
        app.ui.say("an MCP client talks to this on stdin and stdout; `spinney init --mcp` sets one up, Ctrl-C ends it");
    }
    let seat = Seat {
        engine: Arc::new(engine),
        launcher,
        threads: EngineThreads::new(MAX_THREADS),
        tasks: TaskTracker::new(),
        scope: args.scope.into(),
        repository: Some(repository),
        job: job.map(|job| job.id),
    };
    spinney_mcp::serve_stdio(seat).await.map_err(|error| CliError::failed(error.to_string()))?;
    Ok(0)
}

/// The job whose agent started this.
async fn own_job(app: &App, engine: &Engine) -> Result<Option<Job>> {
    let Some(id) = app.environment.value(JOB_ID) else { return Ok(None) };
    let known = jobs::open(app, engine)?;
    let job = spinney_app::jobs::find(&known, &id.to_string_lossy()).await.map_err(|error| {
        CliError::from(error).hinted(format!("`{JOB_ID}` is set: name the job's home and account, or unset it"))
    })?;
    Ok(Some(job))
}
