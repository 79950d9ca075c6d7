//! The tools about workspaces.

use serde_json::{Value, json};
use spinney_app::document::fit;
use spinney_app::workspaces::deliver::{DeliveryRequest, OfferWish};
use spinney_app::workspaces::{self, Removal, list};
use spinney_app::{Front, PageAsked, document, housekeeping};
use spinney_core::{Consent, Workspace};
use spinney_engine::Among;

use crate::arguments::{Deliver, ListWorkspaces, NewWorkspace, RestoreWorkspace, WhichWorkspace};
use crate::error::{Fault, Result};
use crate::family::Family;
use crate::seat::Seat;

/// How many are listed at most where nobody says; fewer where those are too long.
const LISTED: u32 = 20;

pub(crate) async fn new(seat: &Seat, asked: NewWorkspace) -> Result<Value> {
    let context = seat.open_repository(asked.repository.as_deref()).await?;
    let created = workspaces::create(&seat.engine, context, asked.request()?, &|_| {}).await?;
    let document = document::ResolvedWorkspace::of(&seat.engine, &created.resolution);
    if created.is_made() {
        match housekeeping::have_pool_filled(&seat.engine, &*seat.launcher, &created.context).await {
            // It goes on when this process has ended; until then somebody takes note of its end.
            Ok(Some(mut filler)) => drop(tokio::task::spawn_blocking(move || filler.wait())),
            Ok(None) => {}
            // The workspace is there; the pool is filled another time.
            Err(error) => tracing::warn!(error = spinney_core::in_full(&error), "the pool could not be filled"),
        }
    }
    Ok(json!(document))
}

pub(crate) async fn list(seat: &Seat, asked: ListWorkspaces) -> Result<Value> {
    let engine = &seat.engine;
    let repository = seat.repository(asked.repository.as_deref()).await?.map(|row| row.id);
    let told = |row: &list::Row| document::ListedWorkspace::of(engine, &row.workspace, row.job.as_ref());
    if let Some(family) = Family::load(seat).await? {
        let running = workspaces::running(engine).await?;
        let mut rows = Vec::new();
        for id in family.workspaces() {
            let workspace = workspaces::find(engine, id.as_str()).await?;
            let job = running.get(&workspace.id).map(|job| job.id.clone());
            rows.push(list::Row { workspace, job });
        }
        return Ok(json!(document::WorkspacePage { workspaces: rows.iter().map(told).collect(), next: None }));
    }
    let which = list::Which { repository, statuses: asked.status, kind: asked.kind, text: asked.q };
    let mut limit = asked.limit.unwrap_or(LISTED);
    loop {
        let page = PageAsked { limit: Some(limit), cursor: asked.cursor.as_deref() };
        let found = workspaces::page(engine, which.clone(), &page).await?;
        let document =
            json!(document::WorkspacePage { workspaces: found.rows.iter().map(told).collect(), next: found.next });
        if limit <= 1 || fit::bytes(&document) <= fit::MAX_BYTES {
            return Ok(document);
        }
        limit /= 2;
    }
}

pub(crate) async fn why(seat: &Seat, asked: WhichWorkspace) -> Result<Value> {
    let row = find(seat, asked.repository.as_deref(), &asked.name, Among::All).await?;
    let context = seat.engine.context_of(&row).await?;
    let why = workspaces::why(&seat.engine, &context, &row).await?;
    Ok(json!(document::Verdict::of(&seat.engine, &row, &why.verdict)))
}

/// Within the verdict, whoever asks: a tool has no way to force.
pub(crate) async fn remove(seat: &Seat, asked: WhichWorkspace) -> Result<Value> {
    let row = find(seat, asked.repository.as_deref(), &asked.name, Among::Live).await?;
    let context = seat.engine.context_of(&row).await?;
    let removal = workspaces::remove(&seat.engine, &context, &row, &Consent::None, false, &|_| {}).await?;
    let gone = match removal {
        Removal::Removed(removed) => removed.workspace,
        Removal::WouldGo => row,
    };
    Ok(json!(document::Workspace::of(&seat.engine, &gone)))
}

pub(crate) async fn restore(seat: &Seat, asked: RestoreWorkspace) -> Result<Value> {
    let row = find(seat, asked.repository.as_deref(), &asked.name, Among::Removed).await?;
    let context = seat.engine.context_of(&row).await?;
    let restored = workspaces::restore(&seat.engine, &context, &row, asked.branch, &|_| {}).await?;
    Ok(json!(document::Workspace::of(&seat.engine, &restored)))
}

pub(crate) async fn deliver(seat: &Seat, asked: Deliver) -> Result<Value> {
    let row = find(seat, asked.repository.as_deref(), &asked.name, Among::Live).await?;
    let context = seat.engine.context_of(&row).await?;
    let request = DeliveryRequest {
        message: asked.message,
        pull_request: match asked.pull_request {
            None => OfferWish::IfPossible,
            Some(true) => OfferWish::Required,
            Some(false) => OfferWish::No,
        },
        title: asked.title,
        body: asked.body,
        draft: asked.draft,
        dry_run: asked.dry_run,
        ..DeliveryRequest::default()
    };
    let delivered = workspaces::deliver(&seat.engine, &context, &row, request).await?;
    Ok(json!(document::Delivery::of(&seat.engine, &delivered, Front::Tools)))
}

/// Finds a workspace that the caller may see, by its name or id.
pub(crate) async fn find(seat: &Seat, repository: Option<&str>, name: &str, among: Among) -> Result<Workspace> {
    let repository = seat.repository(repository).await?.map(|row| row.id);
    let found = match &repository {
        Some(repository) => seat.engine.find_workspace_in(repository, name, among).await,
        None => seat.engine.find_workspace(None, name, among).await,
    };
    let found = match found {
        // What it could be any of is nothing that the agent of a job sees.
        Err(_) if seat.job.is_some() => return Err(Fault::not_found("workspace", name)),
        found => found?,
    };
    if !seat.is_of_repository(&found.repository_id) {
        return Err(Fault::not_found("workspace", name));
    }
    if let Some(family) = Family::load(seat).await?
        && !family.workspaces().contains(&&found.id)
    {
        return Err(Fault::not_found("workspace", name));
    }
    // People may type a part of a name; a tool means a workspace as it was told of it.
    if found.name.as_str() != name && found.id.as_str() != name {
        let (name, whole) = (spinney_core::names::for_message(name), found.name);
        let why = format!("there is no workspace `{name}`: give the whole name, as in `{whole}`, or the id");
        return Err(Fault::refused(document::ErrorKind::NotFound, why));
    }
    Ok(found)
}
