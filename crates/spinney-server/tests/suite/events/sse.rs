//! The wire format.

use axum::body::BodyDataStream;
use axum::response::Response;
use futures_util::StreamExt;
use spinney_server::events::{self, Broadcaster};
use tokio::sync::watch;

use crate::events::place::{Place, event, write};

/// The next thing that is sent, as text; none at the end.
pub async fn frame(body: &mut BodyDataStream) -> Option<String> {
    let frame = tokio::time::timeout(std::time::Duration::from_secs(30), body.next()).await.expect("a frame")?;
    Some(String::from_utf8(frame.unwrap().to_vec()).unwrap())
}

pub fn body(response: Response, kind: &str) -> BodyDataStream {
    assert_eq!(response.headers()["content-type"], kind);
    response.into_body().into_data_stream()
}

#[tokio::test]
async fn events_are_sent_under_their_number_until_the_server_stops() {
    let place = Place::sqlite();
    let store = place.store().await;
    let (stop, stopping) = watch::channel(false);
    let broadcaster = Broadcaster::start(store.clone(), stopping);
    write(&store, [event("local", "job.created"), event("other", "job.created")]).await;
    let mut new = body(events::stream(broadcaster.subscribe("local", None).await.unwrap()), "text/event-stream");
    let mut back = body(events::stream(broadcaster.subscribe("local", Some(0)).await.unwrap()), "text/event-stream");
    assert_eq!(frame(&mut new).await.unwrap(), "retry: 1000\nid: 2\n\n", "where it begins");
    assert_eq!(frame(&mut back).await.unwrap(), "retry: 1000\nid: 0\n\n");
    let expected = |id: i64, kind: &str| {
        format!(
            "id: {id}\nevent: {kind}\ndata: {{\"id\":{id},\"actor\":{{\"kind\":\"unknown\",\"id\":null,\"name\":null,\"of\":null,\
             \"address\":null}},\"kind\":\"{kind}\",\"workspace_id\":null,\"repository_id\":null,\"job_id\":null,\
             \"detail\":{{\"text\":\"two\\nlines\"}},\"at\":\"TIME\"}}\n\n"
        )
    };
    let untimed = |frame: String| {
        let (start, end) = frame.rsplit_once("\"at\":\"").unwrap();
        format!("{start}\"at\":\"TIME{}", &end[end.find('"').unwrap()..])
    };
    assert_eq!(untimed(frame(&mut back).await.unwrap()), expected(1, "job.created"));
    write(&store, [event("local", "job.started")]).await;
    assert_eq!(untimed(frame(&mut back).await.unwrap()), expected(3, "job.started"));
    assert_eq!(untimed(frame(&mut new).await.unwrap()), expected(3, "job.started"));
    stop.send(true).unwrap();
    assert_eq!(frame(&mut new).await, None);
}
