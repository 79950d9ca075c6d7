//! What one call has in its jail, and how bubblewrap is told.

use std::ffi::OsString;
use std::os::fd::{OwnedFd, RawFd};
use std::path::{Path, PathBuf};

use crate::jail::filter;
use crate::jail::limits::JailLimits;
use crate::jail::probe::Jail;
use crate::{Error, Result};

/// Nothing of the caller's, and nothing that outlives the call.
const ALONE: [&str; 6] = ["--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv"];

/// A directory that the jail shows.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mount {
    source: PathBuf,
    place: PathBuf,
    writable: bool,
}

/// The jail of one call: what it shows, and its limits.
#[derive(Debug, Clone)]
pub(crate) struct Confinement {
    jail: Jail,
    limits: JailLimits,
    mounts: Vec<Mount>,
    /// What runs instead of git.
    program: Option<PathBuf>,
}

impl Confinement {
    pub(crate) fn new(jail: &Jail) -> Self {
        Self { jail: jail.clone(), limits: *jail.limits(), mounts: Vec::new(), program: None }
    }

    /// Shows a directory at a place, read-only.
    pub(crate) fn showing(self, source: &Path, place: &Path) -> Result<Self> {
        self.with(source, place, false)
    }

    /// Shows a directory at a place, where it can be written.
    pub(crate) fn writing(self, source: &Path, place: &Path) -> Result<Self> {
        self.with(source, place, true)
    }

    pub(crate) fn with_limits(self, limits: JailLimits) -> Self {
        Self { limits, ..self }
    }

    pub(crate) fn running(self, program: &Path) -> Self {
        Self { program: Some(program.to_owned()), ..self }
    }

    pub(crate) fn runs_git(&self) -> bool {
        self.program.is_none()
    }

    fn with(mut self, source: &Path, place: &Path, writable: bool) -> Result<Self> {
        let source = require_plain(source)?;
        self.mounts.push(Mount { source, place: place.to_owned(), writable });
        Ok(self)
    }

    pub(crate) fn limits(&self) -> &JailLimits {
        &self.limits
    }

    pub(crate) fn program(&self) -> &Path {
        self.jail.bwrap()
    }

    pub(crate) fn filter(&self) -> Result<OwnedFd> {
        filter::open()
    }

    /// The arguments up to the program that runs inside, which is git unless the jail has another.
    pub(crate) fn arguments(
        &self,
        directory: &Path,
        environment: impl Iterator<Item = (OsString, OsString)>,
        filter: RawFd,
    ) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = ALONE.map(OsString::from).into();
        for (key, value) in environment {
            arguments.extend(["--setenv".into(), key, value]);
        }
        arguments.extend_from_slice(self.jail.system());
        for mount in &self.mounts {
            let option = if mount.writable { "--bind" } else { "--ro-bind" };
            arguments.extend([option.into(), mount.source.clone().into(), mount.place.clone().into()]);
        }
        // What bubblewrap made for the mounts is memory that could be filled.
        arguments.extend(["--remount-ro", "/", "--seccomp"].map(OsString::from));
        arguments.extend([filter.to_string().into(), "--chdir".into(), directory.into(), "--".into()]);
        arguments.extend(self.limits.prefix().map(OsString::from));
        arguments.push(self.program.as_deref().unwrap_or(self.jail.program()).into());
        arguments
    }
}

/// A directory by a path on which there is no link: bubblewrap follows them, and one may have been put there.
fn require_plain(path: &Path) -> Result<PathBuf> {
    let real = std::fs::canonicalize(path).map_err(|source| Error::io("open", path, source))?;
    if real != path || !real.is_dir() {
        return Err(Error::Refused { what: "a directory for the jail", name: path.display().to_string() });
    }
    Ok(real)
}
