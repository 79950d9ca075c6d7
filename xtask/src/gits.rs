//! Which gits are on `PATH`.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

/// A git and its version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Git {
    pub program: PathBuf,
    pub version: String,
}

/// The gits of different versions, in the order of `PATH`: the first is the one that runs by default.
pub fn find(path: &OsStr) -> Vec<Git> {
    let mut seen = BTreeSet::new();
    let found = env::split_paths(path).map(|directory| directory.join("git")).filter_map(|program| {
        let version = version(&program)?;
        Some(Git { program, version })
    });
    found.filter(|git| seen.insert(git.version.clone())).collect()
}

impl Git {
    /// A directory with nothing but this git in it.
    pub fn alone(&self) -> Result<tempfile::TempDir> {
        let directory = tempfile::Builder::new().prefix("spinney-git-").tempdir().context("no temporary directory")?;
        std::os::unix::fs::symlink(&self.program, directory.path().join("git")).context("can't make a link")?;
        Ok(directory)
    }
}

/// Asks a program for its version; none when it is missing or no git.
fn version(program: &Path) -> Option<String> {
    if !program.is_file() {
        return None;
    }
    let output = Command::new(program).arg("--version").stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.trim().strip_prefix("git version ")?.to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use spinney_testkit::write_program;

    use super::*;

    #[test]
    fn each_version_counts_once_in_the_order_of_the_path() {
        let directory = tempfile::tempdir().unwrap();
        let make = |name: &str, said: &str| {
            let program = directory.path().join(name).join("git");
            fs::create_dir_all(program.parent().unwrap()).unwrap();
            write_program(&program, format!("#!/bin/sh\necho '{said}'\n"));
            program
        };
        let (a, _b, c) =
            (make("a", "git version 2.47.3"), make("b", "git version 2.47.3"), make("c", "git version 2.39.5"));
        make("d", "something else");
        let paths = ["none", "a", "d", "b", "c"].map(|name| directory.path().join(name));
        let found = find(&env::join_paths(paths).unwrap());
        let programs: Vec<_> = found.iter().map(|git| (&git.program, git.version.as_str())).collect();
        assert_eq!(programs, [(&a, "2.47.3"), (&c, "2.39.5")]);
    }
}
