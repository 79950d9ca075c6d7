//! A process while it runs: fed, read, waited for, and ended with all it started.

use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::Child;
use tokio::time::{Instant, sleep_until};

use crate::process::command::Output;
use crate::{Error, Result, redact_url};

/// More than any list of files we read; a repository can't make us swallow all memory.
const MAX_STDOUT: usize = 1 << 30;
/// Enough for every message we classify; of more, the end is kept.
const MAX_STDERR: usize = 64 << 10;
/// How long a pipe may stay open after git itself ended: something it started in the background holds it.
const PIPE_GRACE: Duration = Duration::from_secs(2);

/// How much of what a process writes is wanted.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Wanted {
    /// All of it, and more than so many bytes are an error.
    AtMost(usize),
    /// So many bytes; what comes after them is of no interest.
    Beginning(usize),
}

impl Default for Wanted {
    fn default() -> Self {
        Self::AtMost(MAX_STDOUT)
    }
}

impl Wanted {
    /// Whether a process wrote more than is of interest, which ended it.
    pub(crate) fn is_exceeded_by(self, output: &Output) -> bool {
        matches!(self, Self::Beginning(limit) if output.stdout.len() > limit)
    }

    fn limit(self) -> usize {
        match self {
            Self::AtMost(limit) | Self::Beginning(limit) => limit,
        }
    }
}

/// Ends the whole group of a process, unless it ended by itself.
pub(crate) struct Running {
    group: Option<Pid>,
}

impl Running {
    pub(crate) fn new(child: &Child) -> Self {
        Self { group: child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)) }
    }

    pub(crate) fn ended(mut self) {
        self.group = None;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(group) = self.group {
            // It may be gone already; there is nobody to tell.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

/// Feeds a process, reads what it writes, and waits for its end.
///
/// One that wrote more than enough finds its pipe closed, and ends by that.
pub(crate) async fn collect(mut child: Child, stdin: Option<Vec<u8>>, wanted: Wanted, shown: &str) -> Result<Output> {
    let limit = wanted.limit();
    let mut input = child.stdin.take();
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let status = {
        let feed = async move {
            if let (Some(pipe), Some(bytes)) = (input.as_mut(), stdin) {
                // A process that ends without reading all of it tells why by its status.
                let _ = pipe.write_all(&bytes).await;
            }
            drop(input);
        };
        let pipes = async {
            tokio::join!(
                feed,
                read(stdout, &mut out, Keep::AllUpTo(limit)),
                read(stderr, &mut err, Keep::Last(MAX_STDERR))
            )
        };
        tokio::pin!(pipes);
        let (mut status, mut drained, mut grace) = (None, false, Instant::now());
        while status.is_none() || !drained {
            tokio::select! {
                _ = &mut pipes, if !drained => drained = true,
                ended = child.wait(), if status.is_none() => {
                    status = Some(ended);
                    grace = Instant::now() + PIPE_GRACE;
                }
                () = sleep_until(grace), if status.is_some() && !drained => drained = true,
            }
        }
        status
    };
    if out.len() > limit && matches!(wanted, Wanted::AtMost(_)) {
        return Err(Error::OutputTooLarge { command: shown.to_owned(), limit });
    }
    let status = match status {
        Some(Ok(status)) => status,
        Some(Err(source)) => return Err(Error::io("wait for", Path::new("git"), source)),
        None => return Err(Error::Unexpected { command: shown.to_owned(), detail: "no exit status".to_owned() }),
    };
    let code =
        status.code().or_else(|| std::os::unix::process::ExitStatusExt::signal(&status).map(|signal| 128 + signal));
    let stderr = redact_url(&String::from_utf8_lossy(&err));
    Ok(Output { status: code.unwrap_or(-1), stdout: out, stderr })
}

enum Keep {
    AllUpTo(usize),
    Last(usize),
}

async fn read(pipe: Option<impl AsyncRead + Unpin>, into: &mut Vec<u8>, keep: Keep) {
    let Some(mut pipe) = pipe else { return };
    // A pipe that breaks ends like one that is closed: the exit status tells the rest.
    while let Ok(1..) = pipe.read_buf(into).await {
        match keep {
            Keep::AllUpTo(limit) if into.len() > limit => return,
            Keep::Last(limit) if into.len() > 2 * limit => drop(into.drain(..into.len() - limit)),
            _ => {}
        }
        into.reserve(8 << 10);
    }
}
