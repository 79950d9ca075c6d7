//! One workspace: how it stands, in words, and what can be done with it. Git is asked here, about this one.

use std::collections::HashSet;

use askama::Template;
use axum::extract::State;
use serde::Deserialize;
use spinney_app::words::Around;
use spinney_app::workspaces::deliver::{DeliveryRequest, PushState};
use spinney_app::workspaces::{self, Belongings, Examined, is_judged};
use spinney_app::{document, words};
use spinney_core::{Consent, Job, JobStatus, Verdict, WorkKind, Workspace, WorkspaceId, WorkspaceStatus};
use spinney_engine::{Context, Details, Engine, plural};

use super::answer::{Asked, Form, Id, Result, lead, patiently, within};
use super::frame::{Did, Frame};
use super::mark::Mark;
use super::render;
use super::rows::{JobRow, WorkspaceRow, base_of};
use crate::app::App;
use crate::auth::Caller;

/// How many of a workspace's jobs are shown.
const JOBS: u32 = 20;

#[derive(Template)]
#[template(path = "workspace.html")]
struct WorkspacePage {
    frame: Frame,
    row: WorkspaceRow,
    mark: Mark,
    path: String,
    base: String,
    distance: String,
    changes: String,
    fault: String,
    head: String,
    pull_request: Option<Link>,
    works: Vec<String>,
    conversations: Vec<String>,
    ports: Vec<(String, u16)>,
    jobs: Vec<JobRow>,
    created: String,
    touched: String,
    doing: Doing,
    /// Its first work, for a job on it: kind and key.
    work: Option<(String, String)>,
    agents: Vec<document::Agent>,
}

/// A place elsewhere; only what a browser may open is a link.
struct Link {
    text: String,
    is_url: bool,
}

/// What can be done.
enum Doing {
    /// It lives, and so it is judged.
    Live(Judged),
    /// Git takes longer to judge it than a person waits.
    Slow,
    /// It is in the trash, whole, until a day.
    Removed { since: String, until: String },
    /// Its tree is gone; it can come back none the less.
    Purged,
    /// Nothing of it is left.
    Erased { since: String, by: String },
    /// It is being made or taken away.
    Busy,
}

impl Doing {
    fn can_come_back(&self) -> bool {
        matches!(self, Self::Removed { .. } | Self::Purged)
    }
}

/// A verdict in words.
struct Judged {
    may_go: bool,
    /// Whether a person may let go what stands in the way.
    can_force: bool,
    standing: String,
    /// What goes with it, as ` with 1 untracked file`.
    with: String,
    /// What stands in the way, in a line.
    blockers: String,
    reasons: Vec<ReasonRow>,
    /// What to do so that nothing is let go.
    keeps: Vec<String>,
    trash_for: String,
}

struct ReasonRow {
    code: String,
    detail: String,
    items: String,
    blocks: bool,
    job: Option<String>,
}

pub(crate) async fn show(
    State(app): State<App>,
    caller: Caller,
    Id(id): Id<WorkspaceId>,
    Asked(did): Asked<Did>,
) -> Result {
    let engine = app.engine_of(&caller);
    let workspace = engine.require_workspace(&id).await?;
    let (own, of) = (engine.clone(), workspace.clone());
    let seen = within(&app, move || async move { look(&own, &of).await }).await?;
    let Belongings { jobs, conversations, works, ports } = workspaces::belongings(&engine, &id, JOBS).await?;
    let is_slow = seen.is_none();
    let Seen { details, judged, agents } = seen.unwrap_or_default();
    let doing = match (workspace.status, judged) {
        (WorkspaceStatus::Trashed, _) => {
            let removed = workspace.removed_at.unwrap_or(workspace.last_activity_at);
            let until = words::date(removed.plus(engine.config().cleanup.trash_for.0));
            Doing::Removed { since: words::ago(removed), until }
        }
        (WorkspaceStatus::Purged, _) => match &workspace.metadata.erased {
            Some(erased) => Doing::Erased { since: words::ago(erased.at()), by: erased.by.clone() },
            None => Doing::Purged,
        },
        (_, Some(judged)) => Doing::Live(judged),
        (_, None) if is_slow => Doing::Slow,
        (_, None) => Doing::Busy,
    };
    let work = Some(&workspace.work).filter(|work| work.kind != WorkKind::Job && is_judged(workspace.status));
    Ok(render(&WorkspacePage {
        frame: Frame::new(&caller, "Repositories", &did),
        row: WorkspaceRow::new(&workspace, &HashSet::new()),
        mark: mark_of(&workspace, &details, &jobs),
        path: workspace.path.display().to_string(),
        base: base_of(&workspace),
        distance: distance(&details),
        changes: changes(&details),
        fault: details.fault.clone().unwrap_or_default(),
        head: details.head.clone().unwrap_or_default(),
        pull_request: workspace.pull_request.clone().map(Link::new),
        works: works.iter().map(ToString::to_string).collect(),
        conversations: conversations.iter().map(|(platform, id)| format!("{platform} {id}")).collect(),
        ports: ports.iter().map(|port| (port.name.clone(), port.port)).collect(),
        jobs: jobs.iter().map(JobRow::new).collect(),
        created: words::ago(workspace.created_at),
        touched: words::ago(workspace.last_activity_at),
        doing,
        work: work.map(|work| (work.kind.to_string(), work.key.clone())),
        agents,
    }))
}

/// What git tells of a workspace.
#[derive(Default)]
struct Seen {
    details: Details,
    /// None where there is nothing to be judged.
    judged: Option<Judged>,
    agents: Vec<document::Agent>,
}

async fn look(engine: &Engine, workspace: &Workspace) -> Result<Seen> {
    let context = engine.context_of(workspace).await?;
    let agents = document::Agent::offered(&context);
    if !is_judged(workspace.status) {
        return Ok(Seen { agents, ..Seen::default() });
    }
    let (details, judged) = standing_of(engine, &context, workspace).await?;
    Ok(Seen { details, judged: Some(judged), agents })
}

impl Link {
    fn new(text: String) -> Self {
        let is_url = text.starts_with("https://") || text.starts_with("http://");
        Self { text, is_url }
    }
}

fn mark_of(workspace: &Workspace, details: &Details, jobs: &[Job]) -> Mark {
    match jobs.iter().any(|job| job.status == JobStatus::Running) {
        true => Mark::state("running"),
        false => Mark::state(details.state(workspace)),
    }
}

/// `2 ahead, 12 behind`.
fn distance(details: &Details) -> String {
    match details.distance {
        None => String::new(),
        Some((0, 0)) => "level with it".to_owned(),
        Some((ahead, 0)) => format!("{ahead} ahead"),
        Some((0, behind)) => format!("{behind} behind"),
        Some((ahead, behind)) => format!("{ahead} ahead, {behind} behind"),
    }
}

/// `3 files changed, 1 untracked`.
fn changes(details: &Details) -> String {
    match (details.changed, details.untracked) {
        (None, _) => String::new(),
        (Some(0), Some(0) | None) => "nothing uncommitted".to_owned(),
        (Some(changed), Some(0) | None) => format!("{} changed", plural(changed, "file")),
        (Some(0), Some(untracked)) => format!("{untracked} untracked"),
        (Some(changed), Some(untracked)) => format!("{} changed, {untracked} untracked", plural(changed, "file")),
    }
}

async fn standing_of(engine: &Engine, context: &Context, workspace: &Workspace) -> Result<(Details, Judged)> {
    let Examined { details, verdict } = workspaces::standing(engine, context, workspace).await?;
    let trash_for = words::days(&context.config().cleanup.trash_for.to_string());
    let around = Around { has_remote: workspaces::has_remote(engine, context).await?, ..Around::default() };
    Ok((details, Judged::new(workspace, &verdict, &around, trash_for)))
}

impl Judged {
    fn new(workspace: &Workspace, verdict: &Verdict, around: &Around, trash_for: String) -> Self {
        let reasons = verdict.reasons.iter().map(|reason| ReasonRow {
            code: reason.code.to_string(),
            detail: reason.detail(),
            items: words::items_of(reason),
            blocks: reason.blocks,
            job: reason.job.as_ref().map(ToString::to_string),
        });
        let blockers = verdict.blockers(&Consent::None);
        let blockers = blockers.map(|reason| format!("{} ({})", reason.code, reason.detail()));
        Self {
            may_go: verdict.removable(&Consent::None),
            can_force: verdict.removable(&Consent::Force),
            standing: words::standing(verdict),
            with: words::lost_with(verdict),
            blockers: blockers.collect::<Vec<_>>().join(", "),
            reasons: reasons.collect(),
            keeps: words::ways_to_keep(workspace, verdict, around),
            trash_for,
        }
    }
}

#[derive(Template)]
#[template(path = "standing.html")]
struct StandingPart {
    distance: String,
    changes: String,
    fault: String,
    judged: Judged,
}

/// How one workspace stands, for its row in a list: asked for when it is seen.
pub(crate) async fn standing(State(app): State<App>, caller: Caller, Id(id): Id<WorkspaceId>) -> Result {
    let engine = app.engine_of(&caller);
    let workspace = engine.require_workspace(&id).await?;
    let (details, judged) = patiently(&app, move || async move {
        let context = engine.context_of(&workspace).await?;
        standing_of(&engine, &context, &workspace).await
    })
    .await?;
    let distance = match details.distance {
        Some((ahead, behind)) => format!("+{ahead} −{behind}"),
        None => String::new(),
    };
    let changes = changes(&details);
    Ok(render(&StandingPart { distance, changes, fault: details.fault.unwrap_or_default(), judged }))
}

#[derive(Debug, Deserialize)]
pub(crate) struct RemoveFields {
    /// Set where a person saw what goes with it.
    #[serde(default)]
    force: String,
}

/// Moves a workspace to the trash, or shows what it holds.
pub(crate) async fn remove(
    State(app): State<App>,
    caller: Caller,
    Id(id): Id<WorkspaceId>,
    Form(form): Form<RemoveFields>,
) -> Result {
    let engine = app.engine_of(&caller);
    let workspace = engine.require_workspace(&id).await?;
    let consent = if form.force == "yes" { Consent::Force } else { Consent::None };
    let removed = within(&app, move || async move {
        let context = engine.context_of(&workspace).await?;
        match workspaces::remove(&engine, &context, &workspace, &consent, false, &|_| {}).await {
            Ok(_) => Ok(true),
            Err(spinney_app::Error::Engine(spinney_engine::Error::Refused { .. })) => Ok(false),
            Err(error) => Err(error.into()),
        }
    });
    let code = match removed.await? {
        Some(true) => "removed",
        Some(false) => "refused",
        None => "going",
    };
    lead(&caller, &format!("/workspaces/{id}"), code)
}

/// Brings a workspace back.
pub(crate) async fn restore(State(app): State<App>, caller: Caller, Id(id): Id<WorkspaceId>) -> Result {
    let engine = app.engine_of(&caller);
    let workspace = engine.require_workspace(&id).await?;
    let restored = within(&app, move || async move {
        let context = engine.context_of(&workspace).await?;
        let restored = workspaces::restore(&engine, &context, &workspace, None, &|_| {}).await?;
        Ok(restored.name == workspace.name && restored.branch == workspace.branch)
    });
    let code = match restored.await? {
        Some(true) => "restored",
        Some(false) => "renamed",
        None => "going",
    };
    lead(&caller, &format!("/workspaces/{id}"), code)
}

/// Commits what is left, pushes, and opens a pull request where there is a forge.
pub(crate) async fn deliver(State(app): State<App>, caller: Caller, Id(id): Id<WorkspaceId>) -> Result {
    let engine = app.engine_of(&caller);
    let workspace = engine.require_workspace(&id).await?;
    let delivered = within(&app, move || async move {
        let context = engine.context_of(&workspace).await?;
        let delivered = workspaces::deliver(&engine, &context, &workspace, DeliveryRequest::default()).await?;
        Ok(delivered.push)
    });
    let code = match delivered.await? {
        Some(PushState::Nothing) => "undelivered",
        Some(_) => "delivered",
        None => "going",
    };
    lead(&caller, &format!("/workspaces/{id}"), code)
}

pub(crate) async fn pin(State(app): State<App>, caller: Caller, Id(id): Id<WorkspaceId>) -> Result {
    set_pinned(&app, &caller, &id, true).await
}

pub(crate) async fn unpin(State(app): State<App>, caller: Caller, Id(id): Id<WorkspaceId>) -> Result {
    set_pinned(&app, &caller, &id, false).await
}

async fn set_pinned(app: &App, caller: &Caller, id: &WorkspaceId, pinned: bool) -> Result {
    let engine = app.engine_of(caller);
    let workspace = engine.require_workspace(id).await?;
    workspaces::set_pinned(&engine, workspace, pinned).await?;
    lead(caller, &format!("/workspaces/{id}"), if pinned { "pinned" } else { "unpinned" })
}
