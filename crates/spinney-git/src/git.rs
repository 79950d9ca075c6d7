//! The git program: found once, its version checked once.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::disk::regular::{SETTINGS_BYTES, read_regular};
use crate::disk::stamp::Stamp;
use crate::process::command::Command;
use crate::process::environment;
use crate::repository::lock::OnWait;
use crate::{Error, Result};

/// `merge-tree --write-tree` and `cat-file -z` came with it.
const NEEDED: GitVersion = GitVersion { major: 2, minor: 38, patch: 0 };

/// How git is run. The environment is the caller's: this crate never reads its own.
#[derive(Debug, Clone)]
pub struct GitOptions {
    pub program: PathBuf,
    pub environment: Vec<(OsString, OsString)>,
    /// The variables of it that only what crosses the network may have.
    pub secrets: Vec<OsString>,
    pub command_timeout: Duration,
    pub network_timeout: Duration,
    pub lock_timeout: Duration,
    /// How long a program may take to sign a commit, which may have to ask an agent or a card.
    pub signing_timeout: Duration,
    /// How long a remote may send nothing while something is fetched; none: as long as all of it may take.
    pub silence: Option<Duration>,
    /// Is told whom a lock is waited for.
    pub on_wait: Option<OnWait>,
    /// A file that remembers which git was checked, so that it is asked for its version once, not each time.
    pub remembered: Option<PathBuf>,
}

impl GitOptions {
    #[must_use]
    pub fn new(environment: Vec<(OsString, OsString)>) -> Self {
        Self {
            program: PathBuf::from("git"),
            environment,
            secrets: Vec::new(),
            command_timeout: Duration::from_secs(60),
            network_timeout: Duration::from_secs(600),
            lock_timeout: Duration::from_secs(60),
            signing_timeout: Duration::from_secs(15),
            silence: None,
            on_wait: None,
            remembered: None,
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
    /// With the secrets.
    whole: Vec<(OsString, OsString)>,
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
    pub async fn open(mut options: GitOptions) -> Result<Self> {
        let whole = environment::clean(&options.environment);
        let environment = environment::without(&whole, &options.secrets);
        if let Some(program) = find_program(&options.program, &environment) {
            options.program = program;
        }
        let found = Stamp::of(&options.program);
        if let (Some(stamp), Some(checked)) = (found, Checked::load(&options))
            && checked.stamp == stamp
            && let Some(version) = parse_version(&checked.answer).filter(|version| *version >= NEEDED)
        {
            return Ok(Self { inner: Arc::new(Inner { options, whole, environment, version }) });
        }
        let inner =
            Inner { options: options.clone(), whole: Vec::new(), environment: environment.clone(), version: NEEDED };
        let unchecked = Self { inner: Arc::new(inner) };
        let text = unchecked.command(Path::new("/")).arg("version").text().await?;
        match parse_version(&text) {
            Some(version) if version >= NEEDED => {
                if let Some(stamp) = found {
                    Checked { program: options.program.clone(), stamp, answer: text }.save(&options);
                }
                Ok(Self { inner: Arc::new(Inner { options, whole, environment, version }) })
            }
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

    /// The same with the secrets.
    pub(crate) fn whole_environment(&self) -> &[(OsString, OsString)] {
        &self.inner.whole
    }

    pub(crate) fn has_secrets(&self) -> bool {
        self.inner.whole.len() > self.inner.environment.len()
    }

    /// Starts building a process in a directory. Every call to git goes through here.
    pub fn command(&self, directory: &Path) -> Command {
        Command::new(self, directory)
    }
}

/// A program that was asked for its version, and what it said.
#[derive(Debug, Serialize, Deserialize)]
struct Checked {
    program: PathBuf,
    stamp: Stamp,
    answer: String,
}

impl Checked {
    fn load(options: &GitOptions) -> Option<Self> {
        let bytes = read_regular(options.remembered.as_ref()?, SETTINGS_BYTES).ok()?;
        serde_json::from_slice(&bytes).ok().filter(|checked: &Self| checked.program == options.program)
    }

    /// Only a help: what can't be written is asked again, and what is half written can't be read.
    fn save(&self, options: &GitOptions) {
        if let (Some(place), Ok(text)) = (&options.remembered, serde_json::to_vec(self)) {
            let _ = std::fs::write(place, text);
        }
    }
}

/// The file that a bare name means, as the path in the environment says.
pub(crate) fn find_program(program: &Path, environment: &[(OsString, OsString)]) -> Option<PathBuf> {
    if program.components().count() != 1 {
        return None;
    }
    let path = environment.iter().find(|(key, _)| key == "PATH").map(|(_, value)| value)?;
    let is_program = |place: &PathBuf| {
        std::fs::metadata(place).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(path).filter(|place| place.is_absolute()).map(|place| place.join(program)).find(is_program)
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
