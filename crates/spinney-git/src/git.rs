//! The git program: found once, its version checked once.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::command::Command;
use crate::{Error, Result, environment};

/// `merge-tree --write-tree` and `cat-file -z` came with it.
const NEEDED: GitVersion = GitVersion { major: 2, minor: 38, patch: 0 };

/// How git is run. The environment is the caller's: this crate never reads its own.
#[derive(Debug, Clone)]
pub struct GitOptions {
    pub program: PathBuf,
    pub environment: Vec<(OsString, OsString)>,
    pub command_timeout: Duration,
    pub network_timeout: Duration,
    pub lock_timeout: Duration,
}

impl GitOptions {
    #[must_use]
    pub fn new(environment: Vec<(OsString, OsString)>) -> Self {
        Self {
            program: PathBuf::from("git"),
            environment,
            command_timeout: Duration::from_secs(60),
            network_timeout: Duration::from_secs(600),
            lock_timeout: Duration::from_secs(60),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct GitVersion {
    pub major: u32,
    pub minor: u32,
    pub patch: u32,
}

impl fmt::Display for GitVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// A git that was found to be new enough. Cheap to clone.
#[derive(Clone)]
pub struct Git {
    inner: Arc<Inner>,
}

struct Inner {
    options: GitOptions,
    environment: Vec<(OsString, OsString)>,
    version: GitVersion,
}

impl fmt::Debug for Git {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Git").field("program", &self.inner.options.program).finish_non_exhaustive()
    }
}

impl Git {
    /// Finds git and checks its version.
    pub async fn open(options: GitOptions) -> Result<Self> {
        let environment = environment::clean(&options.environment);
        let unchecked = Self {
            inner: Arc::new(Inner { options: options.clone(), environment: environment.clone(), version: NEEDED }),
        };
        let text = unchecked.command(Path::new("/")).arg("version").text().await?;
        match parse_version(&text) {
            Some(version) if version >= NEEDED => Ok(Self { inner: Arc::new(Inner { options, environment, version }) }),
            Some(version) => Err(Error::GitTooOld { found: version.to_string(), needed: NEEDED.to_string() }),
            None => Err(Error::Unexpected {
                command: "git version".to_owned(),
                detail: spinney_core::names::for_message(&text),
            }),
        }
    }

    #[must_use]
    pub fn version(&self) -> GitVersion {
        self.inner.version
    }

    #[must_use]
    pub fn options(&self) -> &GitOptions {
        &self.inner.options
    }

    pub(crate) fn environment(&self) -> &[(OsString, OsString)] {
        &self.inner.environment
    }

    /// Starts building a process in a directory. Every call to git goes through here.
    pub fn command(&self, directory: &Path) -> Command {
        Command::new(self, directory)
    }
}

/// Reads `git version 2.39.5 (Apple Git-154)` and the like.
fn parse_version(text: &str) -> Option<GitVersion> {
    let number = text.trim().strip_prefix("git version ")?.split_whitespace().next()?;
    let mut parts = number.split(['.', '-']);
    let major = parts.next()?.parse().ok()?;
    let minor = parts.next()?.parse().ok()?;
    let patch = parts.next().and_then(|part| part.parse().ok()).unwrap_or(0);
    Some(GitVersion { major, minor, patch })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn versions_of_every_vendor_are_read() {
        for (text, version) in [
            ("git version 2.39.5", "2.39.5"),
            ("git version 2.39.5 (Apple Git-154)\n", "2.39.5"),
            ("git version 2.45.1.windows.1", "2.45.1"),
            ("git version 2.50.0-rc1", "2.50.0"),
            ("git version 2.51", "2.51.0"),
        ] {
            assert_eq!(parse_version(text).unwrap().to_string(), version);
        }
        assert_eq!(parse_version("hg 5.0"), None);
    }

    proptest! {
        #[test]
        fn no_answer_makes_it_panic(text in "(git version )?.{0,30}") {
            let _ = parse_version(&text);
        }
    }
}
