//! Running a program to its end, with all it said.

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// What hangs longer than this will never end.
const TIMEOUT: Duration = Duration::from_secs(180);
const PAUSE: Duration = Duration::from_millis(2);

/// A program that ended.
#[derive(Debug, Clone)]
pub struct Ran {
    /// The exit status; 128 and the signal's number where a signal ended it, as in a shell.
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
    command: String,
}

impl Ran {
    /// Asserts that it succeeded.
    #[track_caller]
    pub fn ok(self) -> Self {
        self.exits(0)
    }

    /// Asserts its exit status.
    #[track_caller]
    pub fn exits(self, status: i32) -> Self {
        assert!(self.status == status, "expected exit status {status}\n{}", self.told());
        self
    }

    /// Standard output as the one JSON document that it must be.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        match serde_json::from_str(&self.stdout) {
            Ok(value) => value,
            Err(error) => panic!("stdout is not one JSON document: {error}\n{}", self.told()),
        }
    }

    /// The last line of standard error as JSON: how a failure is told under `--json`.
    #[track_caller]
    pub fn error_json(&self) -> serde_json::Value {
        match serde_json::from_str(self.stderr.trim_end().lines().last().unwrap_or_default()) {
            Ok(value) => value,
            Err(error) => panic!("stderr does not end in a line of JSON: {error}\n{}", self.told()),
        }
    }

    /// Everything about it, for a message.
    #[must_use]
    pub fn told(&self) -> String {
        let Self { command, status, stdout, stderr } = self;
        format!("`{command}` exited with {status}\n--- stdout\n{stdout}\n--- stderr\n{stderr}")
    }
}

/// A program that runs, with its output being read.
#[derive(Debug)]
pub(crate) struct Started {
    pub child: Child,
    command: String,
    stdout: Reading,
    stderr: Reading,
}

/// Starts a program with no input, reading what it says so that it never blocks.
#[track_caller]
pub(crate) fn start(command: &mut Command) -> Started {
    let shown = format!("{command:?}");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => panic!("can't start {shown}: {error}"),
    };
    let stdout = Reading::start(child.stdout.take().expect("stdout is piped"));
    let stderr = Reading::start(child.stderr.take().expect("stderr is piped"));
    Started { child, command: shown_briefly(command), stdout, stderr }
}

/// What a pipe has brought, and the thread that reads it to its end.
#[derive(Debug)]
struct Reading {
    bytes: Arc<Mutex<Vec<u8>>>,
    thread: JoinHandle<()>,
}

impl Reading {
    fn start(mut pipe: impl Read + Send + 'static) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let thread = thread::spawn({
            let bytes = Arc::clone(&bytes);
            move || {
                let mut buffer = [0; 8192];
                while let Ok(length @ 1..) = pipe.read(&mut buffer) {
                    bytes.lock().expect("no thread panicked").extend_from_slice(&buffer[..length]);
                }
            }
        });
        Self { bytes, thread }
    }

    fn so_far(&self) -> String {
        String::from_utf8_lossy(&self.bytes.lock().expect("no thread panicked")).into_owned()
    }

    fn whole(self) -> String {
        let Self { bytes, thread } = self;
        thread.join().expect("the output was read");
        let bytes = bytes.lock().expect("no thread panicked");
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// The program and its arguments, without the environment.
fn shown_briefly(command: &Command) -> String {
    let parts = std::iter::once(command.get_program()).chain(command.get_args());
    parts.map(|part| part.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

impl Started {
    /// Waits for its end; panics when it takes too long.
    #[track_caller]
    pub fn wait(mut self) -> Ran {
        let deadline = Instant::now() + TIMEOUT;
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("the child can be waited for") {
                break status;
            }
            if Instant::now() > deadline {
                self.child.kill().ok();
                panic!("`{}` did not end within {TIMEOUT:?}", self.command);
            }
            thread::sleep(PAUSE);
        };
        Ran { status: code(status), stdout: self.stdout.whole(), stderr: self.stderr.whole(), command: self.command }
    }

    pub fn stdout_so_far(&self) -> String {
        self.stdout.so_far()
    }

    pub fn stderr_so_far(&self) -> String {
        self.stderr.so_far()
    }
}

fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Ran {
        start(Command::new("sh").args(["-c", script])).wait()
    }

    #[test]
    fn tells_status_and_both_outputs() {
        let ran = shell("echo out; echo err >&2; exit 3").exits(3);
        assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("out\n", "err\n"));
        shell("kill -9 $$").exits(137);
        assert_eq!(shell("cat").ok().stdout, "");
    }

    #[test]
    #[should_panic(expected = "some reason")]
    fn a_failure_shows_what_was_said() {
        shell("echo some reason >&2; false").ok();
    }

    #[test]
    fn json_is_read_from_either_output() {
        let ran = shell("echo '{\"a\": 1}'; echo talk >&2; echo '{\"error\": 2}' >&2");
        assert_eq!((ran.json()["a"].as_i64(), ran.error_json()["error"].as_i64()), (Some(1), Some(2)));
    }

    #[test]
    #[should_panic(expected = "not one JSON document")]
    fn two_documents_are_not_one() {
        shell("echo {} {}").json();
    }
}
