//! Which tests of a program could not run, because something is missing: each notes its name and what it needs, and fails. A
//! program of which only such tests failed has not failed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};

use anyhow::{Context, Result};
use spinney_testkit::LEFT_OUT;
use tempfile::TempDir;

/// The thread of a test that runs alone has no name of its own.
const NAMELESS: &str = "main";

/// What one program's tests note, and what becomes of them.
pub struct LeftOut {
    directory: TempDir,
}

impl LeftOut {
    pub fn new() -> Result<Self> {
        Ok(Self { directory: tempfile::Builder::new().prefix("spinney-tests-").tempdir().context("no directory")? })
    }

    fn notes(&self) -> PathBuf {
        self.directory.path().join("left-out")
    }

    fn log(&self) -> PathBuf {
        self.directory.path().join("log")
    }

    /// Runs a program of tests; tells whether it succeeded, but for those that it left out, which are printed.
    pub fn run(&self, command: &mut Command) -> Result<bool> {
        let program = command.get_program().to_owned();
        let status = command.arg("--logfile").arg(self.log()).env(LEFT_OUT, self.notes()).status();
        let status = status.with_context(|| format!("can't start `{}`", program.display()))?;
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        let left_out = left_out(&read(self.notes()));
        for (need, tests) in &left_out {
            let names: Vec<_> = tests.iter().map(String::as_str).collect();
            println!("== left out, for want of {need}: {}", names.join(", "));
        }
        let is_success = is_success(status, &read(self.log()), &left_out);
        if is_success && !status.success() {
            println!("== nothing else failed");
        }
        Ok(is_success)
    }
}

type Tests = BTreeMap<String, Vec<String>>;

/// The tests, by what they need.
fn left_out(notes: &str) -> Tests {
    let mut tests = Tests::new();
    for (test, need) in notes.lines().filter_map(|line| line.split_once('\t')) {
        tests.entry(need.to_owned()).or_default().push(test.to_owned());
    }
    tests
}

/// Whether nothing failed but what was left out. A program that died has failed, whatever it noted.
fn is_success(status: ExitStatus, log: &str, left_out: &Tests) -> bool {
    /// What a program of tests ends with when a test failed.
    const SOME_FAILED: i32 = 101;
    if status.success() || status.code() != Some(SOME_FAILED) {
        return status.success();
    }
    let failed: Vec<&str> = log.lines().filter_map(|line| line.strip_prefix("failed ")).collect();
    let noted: Vec<&str> = left_out.values().flatten().map(String::as_str).collect();
    let named: BTreeSet<&str> = noted.iter().copied().collect();
    let unexplained = failed.iter().filter(|test| !named.contains(*test)).count();
    let nameless = noted.iter().filter(|test| **test == NAMELESS).count();
    !failed.is_empty() && unexplained <= nameless
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    const NOTES: &str = "a::one\tPostgreSQL\nb::two\tChromium\na::three\tPostgreSQL\n";

    fn ended(code: i32, log: &str, notes: &str) -> bool {
        is_success(ExitStatus::from_raw(code << 8), log, &left_out(notes))
    }

    #[test]
    fn a_program_fails_by_what_failed_and_not_by_what_was_left_out() {
        let log = "ok c::four\nfailed a::one\nfailed b::two\nfailed a::three\n";
        assert!(ended(101, log, NOTES) && ended(0, "ok c::four\n", ""));
        assert!(!ended(101, &format!("{log}failed c::five\n"), NOTES), "one failed");
        assert!(!ended(101, log, ""), "nothing was left out");
        assert!(!ended(101, "", NOTES), "nobody knows what failed");
        assert!(!ended(1, log, NOTES), "it ended otherwise");
        assert!(!is_success(ExitStatus::from_raw(6), log, &left_out(NOTES)), "it was killed");
    }

    #[test]
    fn a_test_that_runs_alone_is_counted() {
        let notes = "main\tPostgreSQL\n";
        assert!(ended(101, "failed a::one\n", notes));
        assert!(!ended(101, "failed a::one\nfailed a::two\n", notes));
    }

    #[test]
    fn tests_are_told_by_what_they_need() {
        let told = left_out(NOTES);
        assert_eq!(told["PostgreSQL"], ["a::one", "a::three"]);
        assert_eq!(told["Chromium"], ["b::two"]);
    }
}
