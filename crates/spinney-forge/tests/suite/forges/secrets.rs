//! The token is seen by the forge, and by nobody else.

use std::error::Error;
use std::fmt::Write;
use std::io;
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use spinney_core::ForgeError;
use spinney_forge::Patience;
use spinney_testkit::Trouble;
use tracing_subscriber::fmt::MakeWriter;

use crate::forges::story::{Story, branch, client, new_pull_request, options};

/// Everything that any crate logs in this process.
#[derive(Debug, Default)]
struct Logs(Mutex<String>);

impl log::Log for Logs {
    fn enabled(&self, _metadata: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        writeln!(self.0.lock().unwrap(), "{} {}", record.target(), record.args()).unwrap();
    }

    fn flush(&self) {}
}

impl io::Write for &Logs {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().push_str(&String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for &'static Logs {
    type Writer = &'a Logs;

    fn make_writer(&'a self) -> Self::Writer {
        self
    }
}

fn logs() -> &'static Logs {
    static LOGS: OnceLock<Logs> = OnceLock::new();
    let logs = LOGS.get_or_init(Logs::default);
    log::set_logger(logs).unwrap();
    log::set_max_level(log::LevelFilter::Trace);
    tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(logs).init();
    logs
}

fn told(error: &ForgeError) -> String {
    let mut told = format!("{error} {error:?}");
    let mut cause = error.source();
    while let Some(error) = cause {
        write!(told, " {error} {error:?}").unwrap();
        cause = error.source();
    }
    told
}

#[tokio::test]
async fn the_token_is_in_its_header_alone() {
    let logs = logs();
    let stories: Vec<_> = Story::all().into_iter().map(|story| tokio::spawn(get_into_every_trouble(story))).collect();
    for story in stories {
        story.await.unwrap();
    }
    let logged = logs.0.lock().unwrap().clone();
    assert!(logged.contains("trying again") && logged.contains("ureq"), "the logs are read: {logged}");
    // In pieces, as in a dump of what was sent.
    for piece in Story::all()[0].server.token().as_bytes().windows(8) {
        let piece = std::str::from_utf8(piece).unwrap();
        let line = logged.lines().find(|line| line.contains(piece));
        assert_eq!(line, None);
    }
}

async fn get_into_every_trouble(story: Story) {
    let patience = Patience { total: Duration::from_secs(1), answer: Duration::from_millis(400) };
    let token = story.server.token();
    let forge = client(story.kind, &story.server, patience, Some(token));
    let mut seen = format!("{forge:?} {} ", forge.name());
    write!(seen, "{:?}", options(story.kind, &story.server.api_url(), patience, Some(token))).unwrap();
    for trouble in [
        Trouble::Status(400),
        Trouble::Status(503),
        Trouble::RetryAfter(429, 600),
        Trouble::SecondaryLimit,
        Trouble::Forbidden(format!("what is {token}?")),
        Trouble::Dropped,
        Trouble::Stalled,
        Trouble::Redirected(302, format!("https://elsewhere.example/{token}")),
        Trouble::Garbage,
        Trouble::Huge(9_000_000),
    ] {
        // More than once, so that it is given up.
        for _ in 0..20 {
            story.server.trouble(trouble.clone());
        }
        let error = forge.fetch_pull_request_of(&branch("a")).await.unwrap_err();
        seen.push_str(&told(&error));
        story.server.calm();
    }
    forge.open_pull_request(&new_pull_request("a")).await.unwrap();
    assert!(!seen.contains(token), "{}", story.kind);
    assert!(seen.contains("what is ***?"), "{}", story.kind);
    for mut exchange in story.server.exchanges() {
        let authorization = exchange.headers.iter().position(|(name, _)| name == "authorization").unwrap();
        assert!(exchange.headers.remove(authorization).1.ends_with(token));
        exchange.answer = serde_json::Value::Null;
        assert!(!format!("{exchange:?}").contains(token), "{exchange:?}");
    }
}
