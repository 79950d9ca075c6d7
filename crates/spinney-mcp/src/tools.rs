//! The table of tools: who may use one, what it takes and gives, and what it does to the world.

use std::sync::Arc;

use rmcp::model::{JsonObject, ToolAnnotations};
use serde_json::Value;
use spinney_app::document;
use spinney_core::Scope;

use crate::arguments::{self as given, read};
use crate::error::Result;
use crate::schema::{input, logged, output, paged};
use crate::seat::Seat;
use crate::{jobs, overview, workspaces};

/// The tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tool {
    Context,
    WorkspaceNew,
    WorkspaceList,
    WorkspaceWhy,
    WorkspaceRemove,
    WorkspaceRestore,
    Conflicts,
    Run,
    JobGet,
    JobWait,
    JobCancel,
    Deliver,
}

/// What a tool does, as its annotations say it.
#[derive(Debug, Clone, Copy)]
enum Effect {
    Reads,
    /// Makes something; asked again, nothing more.
    Makes,
    /// Makes something each time.
    MakesMore,
    /// Ends something, or takes it away.
    Ends,
}

/// One line of the table.
#[derive(Debug)]
pub(crate) struct Row {
    pub tool: Tool,
    pub name: &'static str,
    effect: Effect,
    description: &'static str,
    takes: fn() -> JsonObject,
    gives: fn() -> JsonObject,
}

use Effect::{Ends, Makes, MakesMore, Reads};

pub(crate) const TABLE: [Row; 12] = [
    row(
        Tool::Context,
        "context",
        Reads,
        "Account, scope, repositories with their limits, agents, and your own job",
        input::<given::InRepository>,
        output::<document::Context>,
    ),
    row(
        Tool::WorkspaceNew,
        "workspace_new",
        Makes,
        "Gives a piece of work its own directory and branch; the same work gets the same workspace. Work in `path`",
        input::<given::NewWorkspace>,
        output::<document::ResolvedWorkspace>,
    ),
    row(
        Tool::WorkspaceList,
        "workspace_list",
        Reads,
        "Workspaces, newest first",
        input::<given::ListWorkspaces>,
        output::<document::WorkspacePage>,
    ),
    row(
        Tool::WorkspaceWhy,
        "workspace_why",
        Reads,
        "Whether a workspace may be removed, with every reason",
        input::<given::WhichWorkspace>,
        output::<document::Verdict>,
    ),
    row(
        Tool::WorkspaceRemove,
        "workspace_remove",
        Ends,
        "Moves a workspace to the trash, or refuses with every reason. Never forces",
        input::<given::WhichWorkspace>,
        output::<document::Workspace>,
    ),
    row(
        Tool::WorkspaceRestore,
        "workspace_restore",
        Makes,
        "Brings a removed workspace back as it was",
        input::<given::RestoreWorkspace>,
        output::<document::Workspace>,
    ),
    row(
        Tool::Conflicts,
        "conflicts",
        Reads,
        "Which workspaces would conflict if they were merged now",
        input::<given::ListConflicts>,
        paged::<document::Conflicts>,
    ),
    row(
        Tool::Run,
        "run",
        MakesMore,
        "Starts a job: an agent works on the prompt in its own workspace. Answers at once with the job's id; then `job_wait`",
        input::<given::RunJob>,
        output::<document::Job>,
    ),
    row(
        Tool::JobGet,
        "job_get",
        Reads,
        "A job as it is now; with `log` a part of its log",
        input::<given::GetJob>,
        logged::<document::Job>,
    ),
    row(
        Tool::JobWait,
        "job_wait",
        Reads,
        "Waits until a job is over. If `status` is still pending or running, call it again",
        input::<given::WaitForJob>,
        output::<document::Job>,
    ),
    row(
        Tool::JobCancel,
        "job_cancel",
        Ends,
        "Ends a job; its work stays in its workspace",
        input::<given::CancelJob>,
        output::<document::Job>,
    ),
    row(
        Tool::Deliver,
        "deliver",
        Makes,
        "Commits what is left in a workspace, pushes its branch, opens a pull request",
        input::<given::Deliver>,
        output::<document::Delivery>,
    ),
];

const fn row(
    tool: Tool,
    name: &'static str,
    effect: Effect,
    description: &'static str,
    takes: fn() -> JsonObject,
    gives: fn() -> JsonObject,
) -> Row {
    Row { tool, name, effect, description, takes, gives }
}

impl Row {
    pub(crate) fn scope(&self) -> Scope {
        match self.effect {
            Reads => Scope::Read,
            Makes | MakesMore | Ends => Scope::Write,
        }
    }

    /// Whether who sits there may use it. The agent of a job asks for jobs, which bring their workspaces.
    pub(crate) fn is_offered(&self, seat: &Seat) -> bool {
        seat.scope >= self.scope() && !(seat.job.is_some() && self.tool == Tool::WorkspaceNew)
    }

    /// As clients are told of it.
    pub(crate) fn tool(&self, seat: &Seat) -> rmcp::model::Tool {
        let mut takes = (self.takes)();
        if seat.repository.is_some()
            && let Some(Value::Object(properties)) = takes.get_mut("properties")
        {
            properties.remove("repository");
        }
        let annotations = ToolAnnotations::new().read_only(matches!(self.effect, Reads));
        let annotations = match self.effect {
            Reads => annotations.open_world(false),
            Makes => annotations.destructive(false).idempotent(true),
            MakesMore => annotations.destructive(false).idempotent(false),
            Ends => annotations.destructive(true).idempotent(true).open_world(false),
        };
        rmcp::model::Tool::new(self.name, self.description, Arc::new(takes))
            .with_raw_output_schema(Arc::new((self.gives)()))
            .with_annotations(annotations)
    }
}

/// Carries out any tool but `job_wait`, on an engine thread.
pub(crate) async fn carry_out(seat: &Seat, tool: Tool, arguments: JsonObject) -> Result<Value> {
    match tool {
        Tool::Context => overview::context(seat, read(arguments)?).await,
        Tool::WorkspaceNew => workspaces::new(seat, read(arguments)?).await,
        Tool::WorkspaceList => workspaces::list(seat, read(arguments)?).await,
        Tool::WorkspaceWhy => workspaces::why(seat, read(arguments)?).await,
        Tool::WorkspaceRemove => workspaces::remove(seat, read(arguments)?).await,
        Tool::WorkspaceRestore => workspaces::restore(seat, read(arguments)?).await,
        Tool::Conflicts => overview::conflicts(seat, read(arguments)?).await,
        Tool::Run => jobs::run(seat, read(arguments)?).await,
        Tool::JobGet | Tool::JobWait => jobs::get(seat, read(arguments)?).await,
        Tool::JobCancel => jobs::cancel(seat, read(arguments)?).await,
        Tool::Deliver => workspaces::deliver(seat, read(arguments)?).await,
    }
}
