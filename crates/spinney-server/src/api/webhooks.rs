//! What platforms send. Nobody is known here by a token: each adapter checks its platform's signature over the raw bytes, and
//! what is good is written down before it is answered. All else happens later.

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use spinney_core::{Platform, Timestamp, in_full};
use spinney_platforms::{Answer, Ignored, Orchestrator, Refusal};

use crate::app::App;
use crate::error::{ApiError, Result};

pub(crate) async fn receive(
    State(app): State<App>,
    Path(platform): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response> {
    let unknown = || ApiError::not_found("no such platform is set up here");
    let platform: Platform = platform.parse().map_err(|_| unknown())?;
    let orchestrator = app.orchestrator();
    let adapter = orchestrator.adapter(platform).ok_or_else(unknown)?;
    let now = Timestamp::now();
    let received = match adapter.receive(&headers, &body, now) {
        Ok(received) => received,
        Err(refusal) => {
            // What nobody signed is not looked at any further.
            if matches!(refusal, Refusal::Malformed | Refusal::ContentType)
                && let Some(ignored) = adapter.fault(&headers, &body, now)
            {
                note(&orchestrator, &ignored).await;
            }
            return Err(refused(platform, refusal));
        }
    };
    if let Some(ignored) = &received.ignored {
        note(&orchestrator, ignored).await;
    }
    orchestrator.inbox().accept(&received.inbound).await.map_err(|error| {
        tracing::error!(%platform, cause = in_full(&error), "a delivery could not be recorded");
        // The platform sends it again.
        ApiError::unavailable("it could not be recorded")
    })?;
    Ok(match received.answer {
        Answer::Empty => StatusCode::OK.into_response(),
        Answer::Text(text) => text.into_response(),
        Answer::Json(value) => Json(value).into_response(),
    })
}

/// Records why nothing is done. The platform need not send it again where that fails.
async fn note(orchestrator: &Orchestrator, ignored: &Ignored) {
    if let Err(error) = orchestrator.inbox().ignore(ignored).await {
        tracing::warn!(cause = in_full(&error), "why a message is ignored could not be recorded");
    }
}

fn refused(platform: Platform, refusal: Refusal) -> ApiError {
    tracing::warn!(%platform, why = %refusal, "an inbox message was refused");
    let message = refusal.to_string();
    match refusal {
        Refusal::Unsigned | Refusal::Stale => ApiError::unauthorized(message),
        Refusal::NotYet => ApiError::unavailable(message),
        Refusal::Malformed | Refusal::ContentType => ApiError::usage(message).with_status(refusal.status()),
    }
}
