//! A job's log as a stream.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use spinney_jobs::LogReader;
use spinney_server::events::log::{self, Begin};
use tokio::sync::watch;

use crate::events::sse::{body, frame};

const EVENTS: &str = "text/event-stream";
const LINES: &str = "application/x-ndjson";

struct Log {
    path: PathBuf,
    over: Arc<AtomicBool>,
    stop: watch::Sender<bool>,
    _directory: tempfile::TempDir,
}

fn append(path: &Path, text: &str) {
    OpenOptions::new().append(true).create(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

impl Log {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        Self {
            path: directory.path().join("log"),
            over: Arc::default(),
            stop: watch::channel(false).0,
            _directory: directory,
        }
    }

    fn append(&self, text: &str) {
        append(&self.path, text);
    }

    fn reader(&self) -> LogReader {
        LogReader::new(self.path.clone())
    }

    fn is_over(&self) -> impl Fn() -> std::future::Ready<bool> + Send + 'static {
        let over = Arc::clone(&self.over);
        move || std::future::ready(over.load(Ordering::SeqCst))
    }

    async fn events(&self, last: Option<u64>) -> axum::body::BodyDataStream {
        let response = log::as_events(
            self.reader(),
            last.map_or(Begin::AtTheBeginning, Begin::Behind),
            self.is_over(),
            self.stop.subscribe(),
        )
        .await
        .unwrap();
        let mut body = body(response, EVENTS);
        assert_eq!(frame(&mut body).await.unwrap(), "retry: 1000\n\n");
        body
    }

    async fn lines(&self, follows: bool) -> axum::body::BodyDataStream {
        let response =
            log::as_lines(self.reader(), Begin::AtTheBeginning, follows, self.is_over(), self.stop.subscribe())
                .await
                .unwrap();
        body(response, LINES)
    }
}

#[tokio::test]
async fn a_log_that_grows_is_followed_line_by_line_to_the_end_of_its_job() {
    let log = Log::new();
    let mut events = log.events(None).await;
    log.append("{\"n\":1}\n{\"n\"");
    assert_eq!(frame(&mut events).await.unwrap(), "id: 8\nevent: entry\ndata: {\"n\":1}\n\n");
    log.append(":2}\nnonsense\n5\n{\"n\":\n{\"n\":3}\n");
    assert_eq!(frame(&mut events).await.unwrap(), "id: 16\nevent: entry\ndata: {\"n\":2}\n\n");
    assert_eq!(frame(&mut events).await.unwrap(), "id: 41\nevent: entry\ndata: {\"n\":3}\n\n");
    log.over.store(true, Ordering::SeqCst);
    assert_eq!(frame(&mut events).await.unwrap(), "id: 41\nevent: end\ndata: {}\n\n");
    assert_eq!(frame(&mut events).await, None);
}

#[tokio::test]
async fn who_was_cut_off_goes_on_behind_what_it_saw() {
    let log = Log::new();
    log.append("{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n");
    log.over.store(true, Ordering::SeqCst);
    for (last, first) in [(0, 1), (8, 2), (9, 3), (16, 3)] {
        let mut events = log.events(Some(last)).await;
        let expected = format!("id: {}\nevent: entry\ndata: {{\"n\":{first}}}\n\n", first * 8);
        assert_eq!(frame(&mut events).await.unwrap(), expected, "after {last}");
    }
    for last in [24, 1 << 40] {
        let mut events = log.events(Some(last)).await;
        assert_eq!(frame(&mut events).await.unwrap(), "id: 24\nevent: end\ndata: {}\n\n");
    }
}

#[tokio::test]
async fn behind_much_nonsense_an_entry_is_found() {
    let log = Log::new();
    log.append(&format!("{}{{\"n\":1}}\n", "nonsense\n".repeat(20_000)));
    log.over.store(true, Ordering::SeqCst);
    assert!(frame(&mut log.events(None).await).await.unwrap().contains("event: entry"));
}

#[tokio::test]
async fn what_is_written_while_the_job_ends_is_not_missed() {
    let log = Log::new();
    let path = log.path.clone();
    let is_over = move || {
        append(&path, "{\"last\":true}\n");
        std::future::ready(true)
    };
    let response = log::as_events(log.reader(), Begin::AtTheBeginning, is_over, log.stop.subscribe()).await.unwrap();
    let mut events = body(response, EVENTS);
    frame(&mut events).await.unwrap();
    assert!(frame(&mut events).await.unwrap().contains("{\"last\":true}"));
    assert!(frame(&mut events).await.unwrap().contains("event: end"));
}

#[tokio::test]
async fn lines_go_to_the_end_of_now_or_of_the_job() {
    let log = Log::new();
    log.append("{\"n\":1}\nnonsense\n{\"n\":2}\n{\"n\"");
    let mut now = log.lines(false).await;
    let mut followed = log.lines(true).await;
    log.append(":3}\n{\"n\":4}\n");
    // A line that has begun belongs to what is there.
    assert_eq!(frame(&mut now).await.unwrap(), "{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n");
    assert_eq!(frame(&mut now).await, None);
    assert_eq!(frame(&mut followed).await.unwrap(), "{\"n\":1}\n{\"n\":2}\n{\"n\":3}\n{\"n\":4}\n");
    log.append("{\"n\":5}\n");
    assert_eq!(frame(&mut followed).await.unwrap(), "{\"n\":5}\n");
    log.over.store(true, Ordering::SeqCst);
    assert_eq!(frame(&mut followed).await, None);
}

#[tokio::test]
async fn a_stream_ends_when_the_server_stops() {
    let log = Log::new();
    log.append("{}\n");
    let (mut events, mut lines) = (log.events(None).await, log.lines(true).await);
    assert!(frame(&mut events).await.is_some() && frame(&mut lines).await.is_some());
    log.stop.send_replace(true);
    assert_eq!((frame(&mut events).await, frame(&mut lines).await), (None, None));
}

#[tokio::test]
async fn a_large_log_goes_in_small_pieces_that_are_read_when_they_are_wanted() {
    let log = Log::new();
    let line = format!("{{\"text\":\"{}\"}}\n", "x".repeat(1000));
    log.append(&line.repeat(4000));
    let mut lines = log.lines(false).await;
    assert!(frame(&mut lines).await.unwrap().len() < 70_000);
    // Who has not asked for more has not been read for: the rest can still change.
    std::fs::write(&log.path, line.repeat(100)).unwrap();
    let mut rest = 0;
    while let Some(frame) = frame(&mut lines).await {
        rest += frame.len();
    }
    assert!(rest < 200_000, "{rest}");
}
