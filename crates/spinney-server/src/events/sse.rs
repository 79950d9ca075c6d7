//! The audit log as server-sent events.

use std::convert::Infallible;

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, stream};
use spinney_app::document;

use super::{KEEP_ALIVE_EVERY, RETRY_AFTER, Subscription};

/// Answers with a subscription's events, each under its number. The first thing that is sent names where it begins, so
/// that a reader who is cut off before anything happened comes back with that.
pub fn stream(subscription: Subscription) -> Response {
    let start = Event::default().retry(RETRY_AFTER).id(subscription.position().to_string());
    let events = stream::unfold(subscription, |mut subscription| async move {
        match subscription.next().await {
            Ok(Some((id, event))) => Some((encode(id, &event), subscription)),
            Ok(None) => None,
            // The reader comes back with the number of what it saw last.
            Err(error) => {
                tracing::warn!("a stream of events ends early: {}", spinney_core::in_full(&error));
                None
            }
        }
    });
    let events = stream::iter([start]).chain(events).map(Ok::<_, Infallible>);
    Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE_EVERY)).into_response()
}

fn encode(id: i64, event: &spinney_core::Recorded) -> Event {
    let document = document::Event::new(id, event);
    let encoded = Event::default().id(id.to_string()).event(&document.kind);
    // A document of texts and numbers always is JSON.
    encoded.json_data(document).unwrap_or_default()
}
