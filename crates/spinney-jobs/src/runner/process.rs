//! Looks after a program of a job: its output is read as it comes, in bounded memory, and it is ended when the job is to
//! end.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use spinney_core::Stream;
use spinney_engine::executor::Started;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, sleep_until};

use crate::runner::control::{Control, Stop};
use crate::runtime::Exit;

/// A longer line is cut, and what was cut is counted.
const MAX_LINE_BYTES: usize = 1 << 20;
const READ_AT_ONCE: usize = 64 << 10;
/// How much of its standard error is kept to tell why a program failed.
const STDERR_TAIL_BYTES: usize = 4 << 10;
/// How long output is still read after the program itself has ended: what it left running may hold its pipes.
const DRAIN_FOR: Duration = Duration::from_secs(1);
/// How long a program may take to end when it is asked to.
const GRACE: Duration = Duration::from_secs(10);
/// The same for one that has nothing left to do.
const LEAVE_WITHIN: Duration = Duration::from_secs(5);

/// What is told of a program while it runs.
pub(crate) trait Lines {
    /// A line, without its end; and how many bytes of it were cut.
    fn line(&mut self, stream: Stream, line: &[u8], cut_bytes: u64);

    /// Nothing more is there to read for now.
    fn pause(&mut self) {}

    /// Whether the program is to end now, for a reason of the listener's own.
    fn wants_end(&self) -> bool {
        false
    }
}

/// How a program came to its end.
#[derive(Debug)]
pub(crate) struct Ran {
    pub exit: Exit,
    /// Why it was ended; [`Stop::No`] when it ended by itself or at its listener's wish.
    pub stop: Stop,
    /// Whether it was its listener that wanted it to end, or to leave.
    pub ended_by_listener: bool,
}

/// Feeds and reads a program until it has ended; then ends what is left of its group.
pub(crate) async fn run(started: Started, stdin: Vec<u8>, control: &Control, lines: &mut dyn Lines) -> io::Result<Ran> {
    run_until(started, stdin, control, lines, std::future::pending()).await
}

/// The same; a program that has not ended by itself by the time that `leave` is over is asked to.
pub(crate) async fn run_until(
    mut started: Started,
    stdin: Vec<u8>,
    control: &Control,
    lines: &mut dyn Lines,
    leave: impl Future<Output = ()>,
) -> io::Result<Ran> {
    let mut leave = std::pin::pin!(leave);
    if let Some(mut pipe) = started.take_stdin() {
        // A program that does not care to read its input is no failure.
        tokio::spawn(async move {
            let _ = pipe.write_all(&stdin).await;
            let _ = pipe.shutdown().await;
        });
    }
    let mut stdout = Splitter::new(started.take_stdout());
    let mut stderr = Splitter::new(started.take_stderr());
    let mut tails = Tails::default();
    let mut stop = Stop::No;
    let mut ended_by_listener = false;
    let mut status: Option<ExitStatus> = None;
    let mut deadline: Option<Instant> = None;
    loop {
        if !ended_by_listener && stop == Stop::No && status.is_none() && lines.wants_end() {
            ended_by_listener = true;
            started.ask_to_end();
            deadline = Some(Instant::now() + GRACE);
        }
        if status.is_some() && stdout.is_done() && stderr.is_done() {
            break;
        }
        let wait = async {
            match deadline {
                Some(deadline) => sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            // Whoever prints without a pause must not make this deaf to anything else: reading comes last, and timers,
            // signals and the job's control have their turn after each piece.
            biased;
            more = control.more_than(stop), if status.is_none() => {
                stop = more;
                let now = stop == Stop::AtOnce;
                if now { started.end() } else { started.ask_to_end() }
                deadline = Some(if now { Instant::now() + DRAIN_FOR } else { Instant::now() + GRACE });
            }
            ended = started.wait(), if status.is_none() => {
                status = Some(ended?);
                deadline = Some(Instant::now() + DRAIN_FOR);
            }
            () = wait => {
                if status.is_some() {
                    break;
                }
                started.end();
                deadline = Some(Instant::now() + DRAIN_FOR);
            }
            () = &mut leave, if !ended_by_listener && stop == Stop::No && status.is_none() => {
                ended_by_listener = true;
                started.ask_to_end();
                deadline = Some(Instant::now() + LEAVE_WITHIN);
            }
            () = stderr.read(), if !stderr.is_done() => {
                stderr.give(Stream::Stderr, &mut tails, lines);
                tokio::task::yield_now().await;
            }
            () = stdout.read(), if !stdout.is_done() => {
                stdout.give(Stream::Stdout, &mut tails, lines);
                tokio::task::yield_now().await;
            }
        }
    }
    stdout.finish(Stream::Stdout, &mut tails, lines);
    stderr.finish(Stream::Stderr, &mut tails, lines);
    lines.pause();
    let status = status.unwrap_or_default();
    Ok(Ran { exit: tails.exit(status), stop, ended_by_listener })
}

/// The ends of what a program printed.
#[derive(Debug, Default)]
struct Tails {
    stderr: Vec<u8>,
    last_line: String,
}

impl Tails {
    fn note(&mut self, stream: Stream, line: &[u8]) {
        match stream {
            Stream::Stdout if !line.trim_ascii().is_empty() => {
                let kept = &line[..line.len().min(STDERR_TAIL_BYTES)];
                self.last_line = String::from_utf8_lossy(kept).trim().to_owned();
            }
            Stream::Stdout => {}
            Stream::Stderr => {
                self.stderr.extend_from_slice(&line[line.len().saturating_sub(STDERR_TAIL_BYTES)..]);
                self.stderr.push(b'\n');
                let excess = self.stderr.len().saturating_sub(STDERR_TAIL_BYTES);
                self.stderr.drain(..excess);
            }
        }
    }

    fn exit(self, status: ExitStatus) -> Exit {
        let stderr = String::from_utf8_lossy(&self.stderr).trim().to_owned();
        Exit { status: status.code(), signal: status.signal(), stderr, last_line: self.last_line }
    }
}

/// Makes lines of what is read.
#[derive(Debug)]
struct Splitter<R> {
    source: Option<R>,
    buffer: Box<[u8]>,
    read: usize,
    line: Vec<u8>,
    cut_bytes: u64,
}

impl<R: AsyncRead + Unpin> Splitter<R> {
    fn new(source: Option<R>) -> Self {
        let buffer = vec![0; READ_AT_ONCE].into_boxed_slice();
        Self { source, buffer, read: 0, line: Vec::new(), cut_bytes: 0 }
    }

    fn is_done(&self) -> bool {
        self.source.is_none()
    }

    /// Reads what is there. Cancelling it loses nothing.
    async fn read(&mut self) {
        let Some(source) = &mut self.source else { return };
        match source.read(&mut self.buffer).await {
            Ok(0) | Err(_) => self.source = None,
            Ok(read) => self.read = read,
        }
    }

    /// Hands the whole lines of what was read on.
    fn give(&mut self, stream: Stream, tails: &mut Tails, lines: &mut dyn Lines) {
        let read = std::mem::take(&mut self.read);
        for piece in self.buffer[..read].split_inclusive(|byte| *byte == b'\n') {
            let (text, ends) = match piece {
                [text @ .., b'\n'] => (text, true),
                text => (text, false),
            };
            let room = MAX_LINE_BYTES - self.line.len();
            let kept = text.len().min(room);
            self.line.extend_from_slice(&text[..kept]);
            self.cut_bytes += (text.len() - kept) as u64;
            if ends {
                hand_on(&mut self.line, &mut self.cut_bytes, stream, tails, lines);
            }
        }
        lines.pause();
    }

    /// Hands on what came after the last line end.
    fn finish(&mut self, stream: Stream, tails: &mut Tails, lines: &mut dyn Lines) {
        if !self.line.is_empty() {
            hand_on(&mut self.line, &mut self.cut_bytes, stream, tails, lines);
        }
    }
}

fn hand_on(line: &mut Vec<u8>, cut_bytes: &mut u64, stream: Stream, tails: &mut Tails, lines: &mut dyn Lines) {
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    tails.note(stream, line);
    lines.line(stream, line, *cut_bytes);
    // A huge line must not keep its memory.
    if line.capacity() > READ_AT_ONCE {
        *line = Vec::new();
    }
    line.clear();
    *cut_bytes = 0;
}
