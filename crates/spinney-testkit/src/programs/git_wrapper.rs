//! Programs called `git` that stand before the real one on `PATH`.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::programs::written::write_program;

/// A directory with a `git` of our own, for [`crate::Cli::with_path_first`].
#[derive(Debug)]
pub struct GitWrapper {
    directory: TempDir,
}

/// A git that says it has this version and does nothing else.
#[must_use]
pub fn git_of_version(version: &str) -> GitWrapper {
    let script = format!(
        "case \"$*\" in *version*) echo 'git version {version}' ;; *) echo 'fatal: too old for this' >&2; exit 128 ;; esac\n"
    );
    GitWrapper::new(&script)
}

impl GitWrapper {
    /// Makes one from the lines of a shell script. `$GIT` is the real git in it, `$HERE` the wrapper's directory.
    #[must_use]
    pub fn new(script: &str) -> Self {
        let directory = tempfile::Builder::new().prefix("spinney-git-").tempdir().expect("a temporary directory");
        let path = directory.path().join("git");
        let (git, here) = (quoted(real_git()), quoted(directory.path()));
        write_program(&path, format!("#!/bin/sh\nGIT={git}\nHERE={here}\n{script}"));
        Self { directory }
    }

    /// The real git, with each call written down.
    #[must_use]
    pub fn recording() -> Self {
        Self::new("printf '%s\\n' \"$(printf '%s ' \"$@\" | tr '\\n' ' ')\" >> \"$HERE/calls\"\nexec \"$GIT\" \"$@\"\n")
    }

    /// The real git, except that a call with this argument fails with this message.
    #[must_use]
    pub fn failing(argument: &str, status: u8, message: &str) -> Self {
        let (argument, message) = (quoted(argument), quoted(message));
        Self::new(&format!(
            "for a; do if [ \"$a\" = {argument} ]; then printf '%s\\n' {message} >&2; exit {status}; fi; done\nexec \"$GIT\" \"$@\"\n"
        ))
    }

    /// The directory, to come first on `PATH`.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The program itself.
    #[must_use]
    pub fn program(&self) -> PathBuf {
        self.directory().join("git")
    }

    /// The arguments of each call so far, one line each, of a [`GitWrapper::recording`].
    #[must_use]
    pub fn calls(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.directory().join("calls")).unwrap_or_default();
        calls.lines().map(|line| line.trim_end().to_owned()).collect()
    }
}

/// The first git on `PATH`.
fn real_git() -> PathBuf {
    let path = env::var_os("PATH").expect("PATH is set");
    env::split_paths(&path).map(|directory| directory.join("git")).find(|git| git.is_file()).expect("git is installed")
}

/// A text as one word of a shell.
fn quoted(text: impl AsRef<Path>) -> String {
    format!("'{}'", text.as_ref().display().to_string().replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cli, Sandbox};

    fn with(wrapper: &GitWrapper) -> Cli {
        Sandbox::new().cli("/usr/bin/env").with_path_first(wrapper.directory())
    }

    #[test]
    fn an_old_git_says_its_version_only() {
        let git = git_of_version("2.20.0");
        assert_eq!(with(&git).run(&["git", "--version"]).ok().stdout, "git version 2.20.0\n");
        with(&git).run(&["git", "status"]).exits(128);
    }

    #[test]
    fn calls_are_written_down_and_passed_on() {
        let git = GitWrapper::recording();
        assert!(with(&git).run(&["git", "--version"]).ok().stdout.starts_with("git version "));
        with(&git).run(&["git", "config", "--get", "a\nb"]);
        assert_eq!(git.calls(), ["--version", "config --get a b"]);
    }

    #[test]
    fn one_argument_fails_and_others_pass() {
        let git = GitWrapper::failing("fetch", 128, "fatal: it's down");
        let ran = with(&git).run(&["git", "-c", "a.b=c", "fetch"]).exits(128);
        assert_eq!(ran.stderr, "fatal: it's down\n");
        with(&git).run(&["git", "--version"]).ok();
    }
}
