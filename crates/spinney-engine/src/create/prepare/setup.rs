//! Runs the set-up commands of a new workspace: one shell line after the other, output streamed, within a time.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};
use tokio::time::Instant;

use crate::executor::{Executor, Input, Invocation, Tag};
use crate::notice::{Notice, Observer, Phase};
use crate::{Error, Result};

/// A longer line is cut: a command that prints gigabytes without a line break must not fill the memory.
const MAX_LINE_BYTES: u64 = 64 * 1024;

/// How long output is still read after the command itself has ended.
const DRAIN_FOR: Duration = Duration::from_secs(1);

/// Where and how set-up commands run.
#[derive(Debug)]
pub(crate) struct Setup<'a> {
    pub executor: &'a dyn Executor,
    pub directory: &'a Path,
    pub environment: &'a [(OsString, OsString)],
    pub tag: &'a Tag,
    /// For all of them together; zero is no limit.
    pub timeout: Duration,
}

impl Setup<'_> {
    pub(crate) async fn run(&self, lines: &[String], observer: &dyn Observer) -> Result<()> {
        let deadline = (!self.timeout.is_zero()).then(|| Instant::now() + self.timeout);
        for line in lines {
            observer(Notice::Phase(Phase::RunningSetup { line: line.clone() }));
            self.run_line(line, deadline, observer).await?;
        }
        Ok(())
    }

    async fn run_line(&self, line: &str, deadline: Option<Instant>, observer: &dyn Observer) -> Result<()> {
        let failed = |outcome: String| Error::Setup { line: line.to_owned(), outcome };
        let invocation = Invocation {
            environment: self.environment.to_vec(),
            tag: Some(self.tag.clone()),
            input: Input::Nothing,
            ..Invocation::shell(line, self.directory)
        };
        // However it ends, all of it is ended with it, unless it succeeds.
        let started = self.executor.start(&invocation);
        let mut started = started.map_err(|error| failed(format!("could not be started: {error}")))?;
        let (stdout, stderr) = (started.take_stdout(), started.take_stderr());
        let work = async {
            let streams = async { tokio::join!(stream(stdout, observer), stream(stderr, observer)) };
            tokio::pin!(streams);
            // The command is over when its shell is; a server it left in the background may hold the pipes longer.
            let status = tokio::select! {
                status = started.wait() => status,
                _ = &mut streams => return started.wait().await,
            };
            let _ = tokio::time::timeout(DRAIN_FOR, streams).await;
            status
        };
        let status = match deadline {
            Some(deadline) => match tokio::time::timeout_at(deadline, work).await {
                Ok(status) => status,
                Err(_) => {
                    let limit = spinney_core::quantity::Span(self.timeout);
                    return Err(failed(format!("did not end within {limit}")));
                }
            },
            None => work.await,
        };
        let status = status.map_err(|error| failed(format!("could not be waited for: {error}")))?;
        if status.success() {
            // What it left running on purpose may go on.
            started.leave();
            return Ok(());
        }
        match status.code() {
            Some(code) => Err(failed(format!("failed with status {code}"))),
            None => Err(failed("was killed".to_owned())),
        }
    }
}

async fn stream(source: Option<impl AsyncRead + Unpin>, observer: &dyn Observer) {
    let Some(source) = source else { return };
    let mut reader = BufReader::new(source);
    let mut line = Vec::new();
    loop {
        line.clear();
        match (&mut reader).take(MAX_LINE_BYTES).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => observer(Notice::SetupOutput(String::from_utf8_lossy(&line).trim_end().to_owned())),
        }
    }
}
