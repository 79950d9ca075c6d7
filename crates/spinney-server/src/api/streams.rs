//! What is told as it happens: the audit log, and the log of a job.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::Response;
use serde::Deserialize;
use spinney_core::JobId;
use tokio::sync::watch;
use utoipa::IntoParams;

use super::extract::{Path, Query};
use crate::app::App;
use crate::auth::{Caller, Via};
use crate::error::{ApiError, Result};
use crate::events::{self, log::Begin};
use crate::listen::Peer;

/// How often a stream asks whether its reader still may.
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// A peer that has no right by itself.
const NOBODY: Peer = Peer::Network(SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0));

const LAST_EVENT_ID: &str = "last-event-id";

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(crate) struct EventsQuery {
    /// Events after this one, for a client that can't send `Last-Event-ID`.
    #[param(minimum = 0)]
    after: Option<u64>,
}

/// All that happens in an account, from the event that was seen last.
pub(crate) async fn events(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<EventsQuery>,
    headers: HeaderMap,
) -> Result<Response> {
    let last = last_seen(&headers)?.or(query.after).map(|last| i64::try_from(last).unwrap_or(i64::MAX));
    let stopping = while_allowed(&app, &caller, &headers);
    let subscription = app.broadcaster().subscribe_until(caller.account.as_str(), last, stopping).await?;
    Ok(events::stream(subscription))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(crate) struct LogQuery {
    /// Whether to wait for what is written later, until the job is over.
    #[serde(default)]
    #[param(default = false)]
    follow: bool,
    /// As events: those behind this offset, for a client that can't send `Last-Event-ID`.
    #[param(minimum = 0)]
    after: Option<u64>,
    /// Only the last so many entries of those that are there by now, and with `follow` what comes behind them.
    #[param(minimum = 0)]
    tail: Option<u64>,
}

/// A job's log: as server-sent events for who accepts those, else as lines of JSON.
pub(crate) async fn log(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Query(query): Query<LogQuery>,
    headers: HeaderMap,
) -> Result<Response> {
    let id: JobId = id.parse().map_err(|_| ApiError::not_found(format!("there is no job `{id}`")))?;
    let engine = app.engine_of(&caller);
    let job = app.jobs(&engine)?.require(&id).await?;
    let reader = app.jobs(&engine)?.log(&id);
    let stopping = while_allowed(&app, &caller, &headers);
    let is_over = move || {
        let (app, engine, job) = (app.clone(), engine.clone(), job.clone());
        // What can't be found out is not over: it is asked again.
        async move {
            match app.jobs(&engine) {
                Ok(jobs) => jobs.is_over(&job).await.unwrap_or(false),
                Err(_) => false,
            }
        }
    };
    let wants_events =
        headers.get(header::ACCEPT).is_some_and(|accept| accept.as_bytes().starts_with(b"text/event-stream"));
    let last = if wants_events { last_seen(&headers)?.or(query.after) } else { None };
    // Who comes back goes on where they were.
    let begin = match (last, query.tail) {
        (Some(offset), _) => Begin::Behind(offset),
        (None, Some(entries)) => Begin::AtLast(entries),
        (None, None) => Begin::AtTheBeginning,
    };
    Ok(match wants_events {
        true => events::log::as_events(reader, begin, is_over, stopping).await?,
        false => events::log::as_lines(reader, begin, query.follow, is_over, stopping).await?,
    })
}

/// Turns `true` when the server ends, or when whoever reads may no more: their token was revoked or has expired, or they
/// logged out.
pub(super) fn while_allowed(app: &App, caller: &Caller, headers: &HeaderMap) -> watch::Receiver<bool> {
    let (sender, receiver) = watch::channel(false);
    let (app, caller, headers) = (app.clone(), caller.clone(), headers.clone());
    tokio::spawn(async move {
        loop {
            tokio::select! {
                () = sender.closed() => return,
                () = app.stop().asked() => break,
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
            // Who came through the socket shows nothing that could end.
            let peer = if matches!(caller.via, Via::Socket) { Peer::Owner } else { NOBODY };
            match Caller::find(&app, peer, &headers).await {
                Ok(Some(found)) if found.account == caller.account => {}
                Err(error) if error.status.is_server_error() => {}
                _ => break,
            }
        }
        sender.send_replace(true);
    });
    receiver
}

fn last_seen(headers: &HeaderMap) -> Result<Option<u64>> {
    let Some(value) = headers.get(LAST_EVENT_ID) else { return Ok(None) };
    let number = value.to_str().ok().and_then(|text| text.parse().ok());
    number.map(Some).ok_or_else(|| ApiError::usage("`Last-Event-ID` is not the number of an event"))
}
