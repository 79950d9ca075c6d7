//! Words for how a program ended, shared by the runtimes.

use crate::runtime::{Exit, Failure};

impl Exit {
    /// Whether the program said that all went well.
    pub(super) fn is_success(&self) -> bool {
        self.status == Some(0)
    }

    /// Says how the program ended, and the last that it said about it.
    pub(super) fn describe(&self) -> String {
        let ended = match (self.status, self.signal) {
            (Some(status), _) => format!("exit status {status}"),
            (None, Some(signal)) => format!("ended by signal {signal}"),
            (None, None) => "ended in an unknown way".to_owned(),
        };
        match self.last_words() {
            Some(words) => format!("{ended}: {words}"),
            None => ended,
        }
    }

    /// The failure that a program's end is.
    pub(super) fn failure(&self) -> Failure {
        Failure::Other(self.describe())
    }

    fn last_words(&self) -> Option<&str> {
        self.stderr.lines().map(str::trim).rfind(|line| !line.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_told_with_the_last_words() {
        let exit = Exit { status: Some(3), stderr: "one\nno such file\n\n".into(), ..Exit::default() };
        assert_eq!(exit.describe(), "exit status 3: no such file");
        assert_eq!(Exit { signal: Some(9), ..Exit::default() }.describe(), "ended by signal 9");
        assert!(!Exit::default().is_success());
    }
}
