//! The agent's lines, on their way to the protocol's own code.
//!
//! What the agent says ([`SessionNotification`]) is taken out here and handed on one at a time, so that an agent which
//! says more than can be told waits; the protocol's own queues have no end. For the same reason a line, and the number
//! of other messages, have a limit.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent_client_protocol::v1::schema::SessionNotification;
use agent_client_protocol::{Client, ConnectTo, Lines};
use futures_util::{sink, stream};
use serde_json::Value;
use spinney_core::{JobEvent, Stream};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::mpsc;

use super::heard::{Calls, Heard};

/// How long a line may be: a change tells a file's old and new text.
const LINE_BYTES: usize = 16 * 1024 * 1024;

/// How much is told of a line that is no message, or too long.
const OUTPUT_BYTES: usize = 4096;

/// How many messages an agent may send in a turn beside what it says.
const MESSAGES: usize = 100_000;

/// How long an agent is quiet that has told all of a conversation's history.
const QUIET: Duration = Duration::from_millis(200);

/// How often it is waited for.
const QUIET_WAITS: usize = 50;

/// Whether what the agent says belongs to this turn.
#[derive(Debug, Clone, Default)]
pub(super) struct Listening(Arc<State>);

#[derive(Debug, Default)]
struct State {
    has_begun: AtomicBool,
    /// How often it said something.
    said: AtomicUsize,
}

impl Listening {
    pub(super) fn begin(&self) {
        self.0.has_begun.store(true, Ordering::Release);
    }

    /// Waits until the agent says nothing more. It should tell the history before it says that a conversation is loaded,
    /// but some go on after.
    pub(super) async fn quiet(&self) {
        for _ in 0..QUIET_WAITS {
            let said = self.0.said.load(Ordering::Acquire);
            tokio::time::sleep(QUIET).await;
            if self.0.said.load(Ordering::Acquire) == said {
                return;
            }
        }
    }

    /// Notes that the agent says something, and whether it belongs to this turn.
    fn hear(&self) -> bool {
        self.0.said.fetch_add(1, Ordering::AcqRel);
        self.0.has_begun.load(Ordering::Acquire)
    }
}

/// Carries the protocol's messages over a program's standard input and output.
pub(super) fn transport(
    stdin: Box<dyn AsyncWrite + Send + Unpin>,
    stdout: Box<dyn AsyncRead + Send + Unpin>,
    tell: mpsc::Sender<Heard>,
    calls: Arc<Mutex<Calls>>,
) -> (impl ConnectTo<Client>, Listening) {
    let listening = Listening::default();
    let incoming = Incoming { stdout: BufReader::new(stdout), tell, calls, listening: listening.clone(), messages: 0 };
    let incoming = stream::unfold(incoming, |mut incoming| async move {
        let message = incoming.message().await.transpose()?;
        Some((message, incoming))
    });
    let outgoing = sink::unfold(stdin, |mut stdin, line: String| async move {
        stdin.write_all(line.as_bytes()).await?;
        stdin.write_all(b"\n").await?;
        stdin.flush().await?;
        Ok::<_, io::Error>(stdin)
    });
    (Lines::new(outgoing, incoming), listening)
}

/// More messages than a turn needs.
#[derive(Debug, thiserror::Error)]
#[error("it sent more than {MESSAGES} messages")]
struct TooManyMessages;

struct Incoming {
    stdout: BufReader<Box<dyn AsyncRead + Send + Unpin>>,
    tell: mpsc::Sender<Heard>,
    calls: Arc<Mutex<Calls>>,
    listening: Listening,
    messages: usize,
}

impl Incoming {
    /// The next line that is the protocol's; none at the end.
    async fn message(&mut self) -> io::Result<Option<String>> {
        while let Some((line, cut)) = self.line().await? {
            let text = match String::from_utf8(line) {
                Ok(text) if cut == 0 => text,
                Ok(text) => {
                    self.output(text.as_bytes(), cut).await;
                    continue;
                }
                Err(error) => {
                    self.output(error.as_bytes(), cut).await;
                    continue;
                }
            };
            let Some(message) = serde_json::from_str::<Value>(&text).ok().filter(Value::is_object) else {
                self.output(text.as_bytes(), 0).await;
                continue;
            };
            if message["method"] == "session/update" {
                self.update(message).await;
                continue;
            }
            self.messages += 1;
            if self.messages > MESSAGES {
                return Err(io::Error::other(TooManyMessages));
            }
            return Ok(Some(text));
        }
        Ok(None)
    }

    async fn update(&mut self, mut message: Value) {
        // Of a kind that a newer version has, or wrong: nothing to tell.
        let Ok(said) = serde_json::from_value::<SessionNotification>(message["params"].take()) else { return };
        if let Ok(mut calls) = self.calls.lock() {
            calls.note(&said.update);
        }
        if self.listening.hear() {
            // Fails when nobody listens any more.
            let _ = self.tell.send(Heard::Update(Box::new(said.update))).await;
        }
    }

    async fn output(&mut self, line: &[u8], cut: u64) {
        let told = &line[..line.len().min(OUTPUT_BYTES)];
        let cut_bytes = cut + (line.len() - told.len()) as u64;
        let text = String::from_utf8_lossy(told).trim_end().to_owned();
        if !text.is_empty() {
            let output = JobEvent::Output { stream: Stream::Stdout, text, cut_bytes };
            let _ = self.tell.send(Heard::Event(output)).await;
        }
    }

    /// The next line, and how many bytes of it were left out.
    async fn line(&mut self) -> io::Result<Option<(Vec<u8>, u64)>> {
        let (mut line, mut cut) = (Vec::new(), 0);
        loop {
            let buffer = self.stdout.fill_buf().await?;
            if buffer.is_empty() {
                return Ok((!line.is_empty()).then_some((line, cut)));
            }
            let end = buffer.iter().position(|byte| *byte == b'\n');
            let part = &buffer[..end.unwrap_or(buffer.len())];
            let kept = part.len().min(LINE_BYTES - line.len());
            line.extend_from_slice(&part[..kept]);
            cut += (part.len() - kept) as u64;
            let taken = end.map_or(part.len(), |end| end + 1);
            self.stdout.consume(taken);
            if end.is_some() {
                return Ok(Some((line, cut)));
            }
        }
    }
}
