//! Runs the set-up commands of a new workspace: one shell line after the other, output streamed, within a time.

use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};
use tokio::process::Command;
use tokio::time::Instant;

use crate::notice::{Notice, Observer, Phase};
use crate::{Error, Result};

/// A longer line is cut: a command that prints gigabytes without a line break must not fill the memory.
const MAX_LINE_BYTES: u64 = 64 * 1024;

/// How long output is still read after the command itself has ended.
const DRAIN_FOR: Duration = Duration::from_secs(1);

/// Ends the whole process group of a command when it is dropped, however it ended.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(pid) = self.0 {
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }
}

pub(crate) async fn run(
    lines: &[String],
    timeout: Duration,
    directory: &Path,
    environment: &[(OsString, OsString)],
    observer: Observer<'_>,
) -> Result<()> {
    let deadline = (!timeout.is_zero()).then(|| Instant::now() + timeout);
    for line in lines {
        observer(Notice::Phase(Phase::RunningSetup { line: line.clone() }));
        run_line(line, timeout, deadline, directory, environment, observer).await?;
    }
    Ok(())
}

async fn run_line(
    line: &str,
    timeout: Duration,
    deadline: Option<Instant>,
    directory: &Path,
    environment: &[(OsString, OsString)],
    observer: Observer<'_>,
) -> Result<()> {
    let failed = |outcome: String| Error::Setup { line: line.to_owned(), outcome };
    #[expect(clippy::disallowed_methods, reason = "a set-up line is a shell command by definition, and was trusted")]
    let mut command = Command::new("sh");
    command.arg("-c").arg(line).current_dir(directory).env_clear().envs(environment.iter().cloned());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().map_err(|error| failed(format!("could not be started: {error}")))?;
    let group = Group(child.id().and_then(|id| Pid::from_raw(id.cast_signed())));
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let work = async {
        let streams = async { tokio::join!(stream(stdout, observer), stream(stderr, observer)) };
        tokio::pin!(streams);
        // The command is over when its shell is; a server it left in the background may hold the pipes longer.
        let status = tokio::select! {
            status = child.wait() => status,
            _ = &mut streams => return child.wait().await,
        };
        let _ = tokio::time::timeout(DRAIN_FOR, streams).await;
        status
    };
    let status = match deadline {
        Some(deadline) => match tokio::time::timeout_at(deadline, work).await {
            Ok(status) => status,
            Err(_) => return Err(failed(format!("did not end within {}", spinney_core::quantity::Span(timeout)))),
        },
        None => work.await,
    };
    let status = status.map_err(|error| failed(format!("could not be waited for: {error}")))?;
    if status.success() {
        // What it left running on purpose may go on.
        std::mem::forget(group);
        return Ok(());
    }
    match status.code() {
        Some(code) => Err(failed(format!("failed with status {code}"))),
        None => Err(failed("was killed".to_owned())),
    }
}

async fn stream(source: Option<impl AsyncRead + Unpin>, observer: Observer<'_>) {
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
