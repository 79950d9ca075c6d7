//! The program at a terminal.

use std::io::{Read, Write};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use spinney_testkit::wait_until;

use super::{LONG, Workshop};
use crate::support::common::BINARY;

/// The program at a terminal of its own, made by `script`.
pub struct Terminal {
    child: Child,
    /// All that was drawn so far.
    screen: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl Terminal {
    #[track_caller]
    pub fn open(workshop: &Workshop, arguments: &[&str]) -> Self {
        let line: Vec<_> = std::iter::once(BINARY).chain(arguments.iter().copied()).map(quoted).collect();
        let line = format!("exec {}", line.join(" "));
        let mut script = workshop.story.sandbox().command("script");
        script.args(["--quiet", "--return", "--flush", "--command", &line, "/dev/null"]);
        script.current_dir(workshop.story.repository.path()).env("TERM", "xterm").env("SHELL", "/bin/sh");
        let mut child = script.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut out = child.stdout.take().unwrap();
        let screen = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&screen);
        let reader = std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = out.read(&mut bytes) {
                seen.lock().unwrap().extend(&bytes[..count]);
            }
        });
        Self { child, screen, reader }
    }

    fn screen(&self) -> String {
        String::from_utf8_lossy(&self.screen.lock().unwrap()).into_owned()
    }

    /// Waits until something was drawn.
    #[track_caller]
    pub fn shows(&self, text: &str) {
        wait_until(|| self.screen().contains(text), LONG);
    }

    /// Types something.
    #[track_caller]
    pub fn types(&mut self, text: &str) {
        self.child.stdin.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
        self.child.stdin.as_mut().unwrap().flush().unwrap();
    }

    /// Takes the terminal away, as a window that is closed.
    #[track_caller]
    pub fn close(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.reader.join().unwrap();
    }

    /// Waits for the end; gives the exit status and all that was drawn.
    #[track_caller]
    pub fn wait(mut self) -> (i32, String) {
        let stdin = self.child.stdin.take();
        let status = self.child.wait().unwrap();
        drop(stdin);
        self.reader.join().unwrap();
        let screen = self.screen.lock().unwrap();
        (status.code().unwrap(), String::from_utf8_lossy(&screen).into_owned())
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
