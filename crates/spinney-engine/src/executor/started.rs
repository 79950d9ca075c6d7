//! A program that has been started.

use std::fmt::Debug;
use std::io;
use std::process::ExitStatus;

use async_recursion::async_recursion as boxed;
use rustix::process::Signal;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};

/// All that a program has started and that did not leave it.
pub trait Group: Debug + Send + Sync {
    /// Sends a signal to all of them.
    fn signal(&self, signal: Signal);
}

/// A program that has been started, with its pipes. Dropped, it is ended with its whole group, whether or not it has ended
/// itself.
#[derive(Debug)]
pub struct Started {
    child: Child,
    group: Option<Box<dyn Group>>,
}

impl Started {
    /// A program by the process that this one started for it, and how all of it is reached.
    #[must_use]
    pub fn new(child: Child, group: Box<dyn Group>) -> Self {
        Self { child, group: Some(group) }
    }

    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }

    pub fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.child.stderr.take()
    }

    /// Waits until the program itself has ended. Cancelling it loses nothing.
    ///
    /// # Errors
    ///
    /// If it can't be waited for.
    #[boxed]
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Asks the whole group to end.
    pub fn ask_to_end(&self) {
        self.signal(Signal::TERM);
    }

    /// Ends the whole group at once.
    pub fn end(&self) {
        self.signal(Signal::KILL);
    }

    /// Lets go on what a program that has ended left running.
    pub fn leave(mut self) {
        self.group = None;
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = &self.group {
            group.signal(signal);
        }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        self.end();
    }
}
