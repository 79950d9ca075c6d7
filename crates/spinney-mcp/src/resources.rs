//! Resources: a workspace, and the log of a job, under the ids that the tools give.

use rmcp::ErrorData;
use rmcp::model::{ReadResourceResult, ResourceContents, ResourceTemplate};
use serde_json::{Value, json};
use spinney_app::document;
use spinney_app::document::fit::fit;
use spinney_app::workspaces::{self, Seen};
use spinney_engine::Among;

use crate::error::{Fault, Result};
use crate::family::{Wish, find_job};
use crate::seat::Seat;

const WORKSPACES: &str = "spinney://workspaces/";
const JOBS: &str = "spinney://jobs/";
const JSON: &str = "application/json";

pub(crate) fn templates() -> Vec<ResourceTemplate> {
    let of = |uri: String, name: &str, description: &str| {
        ResourceTemplate::new(uri, name).with_description(description).with_mime_type(JSON)
    };
    vec![
        of(format!("{WORKSPACES}{{id}}"), "workspace", "A workspace with all that belongs to it"),
        of(format!("{JOBS}{{id}}/log{{?cursor}}"), "log", "A part of a job's log; `next` is the cursor of the next"),
    ]
}

/// Reads a resource by its address.
pub(crate) async fn read(seat: Seat, uri: String) -> Result<ReadResourceResult, ErrorData> {
    let own = seat.clone();
    let address = uri.clone();
    let document = seat.work(move || async move { find(&own, &address).await }).await.map_err(Fault::into_error)?;
    let text = fit(document).to_string();
    Ok(ReadResourceResult::new(vec![ResourceContents::text(text, uri).with_mime_type(JSON)]))
}

async fn find(seat: &Seat, uri: &str) -> Result<Value> {
    if let Some(id) = uri.strip_prefix(WORKSPACES) {
        let row = crate::workspaces::find(seat, None, id, Among::All).await?;
        let Seen { shown, jobs } = workspaces::show(&seat.engine, None, &row).await?;
        return Ok(json!(document::ShownWorkspace::of(&seat.engine, &row, &shown, &jobs)));
    }
    if let Some(rest) = uri.strip_prefix(JOBS) {
        let (place, cursor) = match rest.split_once("?cursor=") {
            Some((place, cursor)) => (place, Some(cursor)),
            None => (rest, None),
        };
        if let Some(id) = place.strip_suffix("/log") {
            let job = find_job(seat, id, Wish::Look).await?;
            return crate::jobs::log(seat, &job, cursor);
        }
    }
    Err(Fault::not_found("resource", uri))
}
