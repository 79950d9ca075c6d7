//! How a program ended, shared by the runtimes.

use super::cause::{cause, is_error, line};
use crate::runtime::Exit;
use crate::told::{Ended, TurnFailure};

impl Exit {
    /// Whether the program said that all went well.
    pub(super) fn is_success(&self) -> bool {
        self.status == Some(0)
    }

    /// The failure that a program's end is, with what it named as the cause.
    pub(super) fn failure(&self) -> TurnFailure {
        TurnFailure::Exit(self.ended())
    }

    /// The same for one whose output is a stream of JSON: a line that is none is said to people.
    pub(super) fn failure_of_stream(&self) -> TurnFailure {
        let plain = Some(line(&self.last_line)).filter(|line| !line.is_empty() && !line.starts_with('{'));
        let ended = self.ended();
        TurnFailure::Exit(Ended { said: ended.said.or(plain), ..ended })
    }

    /// How it ended, with what it named as the cause.
    pub(crate) fn ended(&self) -> Ended {
        Ended { status: self.status, signal: self.signal, said: self.cause() }
    }

    /// What the program named as the cause of its failure: most tell that on their standard error, but not all.
    pub(crate) fn cause(&self) -> Option<String> {
        let is_told_elsewhere = is_error(&self.last_line) && !self.stderr.lines().any(is_error);
        if is_told_elsewhere { Some(line(&self.last_line)) } else { cause(&self.stderr) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exit(status: i32, stderr: &str, last_line: &str) -> Exit {
        Exit { status: Some(status), stderr: stderr.into(), last_line: last_line.into(), ..Exit::default() }
    }

    fn failure(said: Option<&str>) -> TurnFailure {
        TurnFailure::Exit(Ended { status: Some(3), signal: None, said: said.map(ToOwned::to_owned) })
    }

    #[test]
    fn an_end_is_told_with_its_cause() {
        assert_eq!(exit(3, "one\nno such file\n\n", "done").failure(), failure(Some("no such file")));
        assert_eq!(exit(3, "(node:1) Warning: old", "Error: no key").failure(), failure(Some("Error: no key")));
        assert_eq!(exit(3, "", "done").failure(), failure(None));
        let exit = Exit { signal: Some(9), ..Exit::default() };
        assert_eq!(exit.failure(), TurnFailure::Exit(Ended { status: None, signal: Some(9), said: None }));
        assert!(!Exit::default().is_success());
    }

    #[test]
    fn what_a_stream_has_in_plain_words_is_the_cause_where_nothing_else_is() {
        let plain = "Invalid API key · Please run /login";
        assert_eq!(exit(3, "", plain).failure_of_stream(), failure(Some(plain)));
        assert_eq!(exit(3, "no room", plain).failure_of_stream(), failure(Some("no room")));
        assert_eq!(exit(3, "", "{\"type\":\"x\"}").failure_of_stream(), failure(None));
    }
}
