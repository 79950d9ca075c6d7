//! What happened: the sessions of agents, and the events of the audit log.

use async_recursion::async_recursion as boxed;
use spinney_core::{Delivery, JobId, Recorded, Session, WorkspaceId};
use spinney_engine::Engine;
use spinney_store::{Node, SessionSearch};

pub use spinney_store::EventFilter;

use crate::Result;
use crate::page::{Page, PageAsked, behind};

/// Lists sessions of the account, newest first.
///
/// # Errors
///
/// If the page makes no sense, or the store can't tell.
#[boxed]
pub async fn sessions(
    engine: &Engine,
    workspace: Option<WorkspaceId>,
    job: Option<JobId>,
    asked: &PageAsked<'_>,
) -> Result<Page<Session>> {
    let search = SessionSearch { account: engine.account().to_owned(), workspace, job };
    let rows = engine.store().read().await?.session_page(&search, &asked.rows()?).await?;
    Page::cut(rows, asked, |row| behind(row.started_at, row.id.as_str()))
}

/// Lists events of the account, newest first, each with its number.
///
/// # Errors
///
/// If the page makes no sense, or the store can't tell.
#[boxed]
pub async fn events(engine: &Engine, of: &EventFilter, asked: &PageAsked<'_>) -> Result<Page<(i64, Recorded)>> {
    let (before, limit) = (asked.number()?, asked.limit()?);
    let mut db = engine.store().read().await?;
    let events = db.events_before(engine.account(), before, of, limit + 1).await?;
    Page::cut(events, asked, |(id, _)| id.to_string())
}

/// Lists what platforms sent, newest first: all of it, or what nothing was done about.
///
/// # Errors
///
/// If the page makes no sense, or the store can't tell.
#[boxed]
pub async fn inbox(engine: &Engine, only_ignored: bool, asked: &PageAsked<'_>) -> Result<Page<(i64, Delivery)>> {
    let (before, limit) = (asked.number()?, asked.limit()?);
    let mut db = engine.store().read().await?;
    let messages = db.deliveries_before(engine.account(), before, only_ignored, limit + 1).await?;
    Page::cut(messages, asked, |(number, _)| number.to_string())
}

/// The machines that work, or worked, on this store.
///
/// # Errors
///
/// If the store can't tell.
#[boxed]
pub async fn nodes(engine: &Engine) -> Result<Vec<Node>> {
    Ok(engine.store().read().await?.nodes().await?)
}
