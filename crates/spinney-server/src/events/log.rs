//! A job's log as a stream, in pieces that are read when the one before is gone: a huge log and a slow reader take no more
//! memory than any other.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::http::header;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, StreamExt, future, stream};
use serde::de::IgnoredAny;
use spinney_app::{Front, words};
use spinney_jobs::{LogReader, Result};
use tokio::sync::watch;
use tokio::time::sleep;

use super::{KEEP_ALIVE_EVERY, RETRY_AFTER, stopped};

/// How often a log that is followed is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(150);
/// How much is read at once, or one line that is longer.
const PIECE_BYTES: usize = 64 << 10;
/// What an end is called, that a browser does not come back.
const END: &str = "end";

/// One entry, as it was written, and where the file goes on behind it.
#[derive(Debug)]
struct Line {
    text: String,
    end: u64,
}

/// What a look at a log gives.
#[derive(Debug)]
enum Piece {
    Lines(Vec<Line>),
    /// There is no more, and never will be by itself.
    End {
        at: u64,
    },
}

/// Reads a log to its end, and on while its job is not over.
#[derive(Debug)]
struct Follower<O> {
    reader: LogReader,
    /// Tells whether nothing more is written; asked when all that is there was read.
    is_over: O,
    /// Nothing is written any more: what is there is all.
    over: bool,
    stopping: watch::Receiver<bool>,
}

/// Where in a log is begun.
#[derive(Debug, Clone, Copy, Default)]
pub enum Begin {
    #[default]
    AtTheBeginning,
    /// Behind an offset that was told with an entry.
    Behind(u64),
    /// With the last so many entries that are there by now.
    AtLast(u64),
}

impl Begin {
    fn skip(self, reader: &mut LogReader) -> Result<()> {
        match self {
            Self::AtTheBeginning => Ok(()),
            Self::Behind(offset) => reader.skip_to(offset),
            Self::AtLast(entries) => reader.skip_to_last_lines(entries),
        }
    }
}

/// Answers with a log as server-sent events `entry`, each under the offset behind it, from the offset that was seen last;
/// goes on while the job is not over, and then says `end`. `is_over` tells whether the job's process has ended.
pub async fn as_events<O, F>(
    reader: LogReader,
    begin: Begin,
    is_over: O,
    stopping: watch::Receiver<bool>,
) -> Result<Response>
where
    O: Fn() -> F + Send + 'static,
    F: Future<Output = bool> + Send + 'static,
{
    let (reader, ()) = on_thread(reader, move |reader| begin.skip(reader)).await?;
    let start = Event::default().retry(RETRY_AFTER);
    let events = pieces(Follower { reader, is_over, over: false, stopping }).flat_map(|piece| {
        stream::iter(match piece {
            Piece::Lines(lines) => lines.iter().map(|line| encode("entry", line.end, &line.text)).collect(),
            Piece::End { at } => vec![encode(END, at, "{}")],
        })
    });
    let events = stream::iter([start]).chain(events).map(Ok::<_, Infallible>);
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE_EVERY)).into_response())
}

/// Answers with a log as lines of JSON: what is there by now, or with `follows`, what comes until the job is over.
pub async fn as_lines<O, F>(
    reader: LogReader,
    begin: Begin,
    follows: bool,
    is_over: O,
    stopping: watch::Receiver<bool>,
) -> Result<Response>
where
    O: Fn() -> F + Send + 'static,
    F: Future<Output = bool> + Send + 'static,
{
    // However fast it grows, what is there by now has an end.
    let start = move |reader: &mut LogReader| {
        if !follows {
            reader.stop_here()?;
        }
        begin.skip(reader)
    };
    let (reader, ()) = on_thread(reader, start).await?;
    let lines = pieces(Follower { reader, is_over, over: !follows, stopping }).filter_map(|piece| {
        let lines = match piece {
            Piece::Lines(lines) => Some(lines),
            Piece::End { .. } => None,
        };
        let text =
            |lines: Vec<Line>| lines.into_iter().flat_map(|line| [line.text, "\n".to_owned()]).collect::<String>();
        future::ready(lines.map(|lines| Ok::<_, Infallible>(text(lines))))
    });
    Ok(([(header::CONTENT_TYPE, "application/x-ndjson")], Body::from_stream(lines)).into_response())
}

fn encode(kind: &str, end: u64, text: &str) -> Event {
    Event::default().id(end.to_string()).event(kind).data(text)
}

fn pieces<O, F>(follower: Follower<O>) -> impl Stream<Item = Piece>
where
    O: Fn() -> F,
    F: Future<Output = bool>,
{
    stream::unfold(Some(follower), |follower| async move {
        match follower?.next().await {
            Ok(Some((piece @ Piece::Lines(_), follower))) => Some((piece, Some(follower))),
            Ok(Some((end @ Piece::End { .. }, _))) => Some((end, None)),
            Ok(None) => None,
            Err(error) => {
                tracing::warn!("a job's log ends early: {}", spinney_core::in_full(&error));
                None
            }
        }
    })
}

impl<O, F> Follower<O>
where
    O: Fn() -> F,
    F: Future<Output = bool>,
{
    /// Waits for more; none when the server stops.
    async fn next(mut self) -> Result<Option<(Piece, Self)>> {
        loop {
            if *self.stopping.borrow() {
                return Ok(None);
            }
            let (reader, lines) = on_thread(self.reader, read).await?;
            self.reader = reader;
            if !lines.is_empty() {
                return Ok(Some((Piece::Lines(lines), self)));
            }
            if self.over {
                return Ok(Some((Piece::End { at: self.reader.offset() }, self)));
            }
            // Asked before the next look, which finds what was written last.
            self.over = (self.is_over)().await;
            while !self.over && self.reader.behind()? == 0 {
                tokio::select! {
                    () = stopped(&mut self.stopping) => return Ok(None),
                    () = sleep(LOOK_EVERY) => self.over = (self.is_over)().await,
                }
            }
        }
    }
}

/// Reads the next piece; what is no entry is passed over.
fn read(reader: &mut LogReader) -> Result<Vec<Line>> {
    let (mut lines, mut bytes) = (Vec::new(), 0);
    while bytes < PIECE_BYTES || lines.is_empty() {
        let Some(line) = reader.next_line()? else { break };
        let line = words::log_line(line, Front::Api);
        bytes += line.len();
        let is_entry = line.starts_with(b"{") && serde_json::from_slice::<IgnoredAny>(&line).is_ok();
        if let Some(text) = String::from_utf8(line).ok().filter(|_| is_entry) {
            lines.push(Line { text: text.trim_end().to_owned(), end: reader.offset() });
        }
    }
    Ok(lines)
}

/// Works with a file where that holds up nobody else.
#[expect(
    clippy::disallowed_methods,
    reason = "a few lines of a file, for each who reads: the engine's threads are for longer work"
)]
async fn on_thread<T: Send + 'static>(
    mut reader: LogReader,
    work: impl FnOnce(&mut LogReader) -> Result<T> + Send + 'static,
) -> Result<(LogReader, T)> {
    let done = tokio::task::spawn_blocking(move || work(&mut reader).map(|done| (reader, done))).await;
    done.unwrap_or_else(|panicked| std::panic::resume_unwind(panicked.into_panic()))
}
