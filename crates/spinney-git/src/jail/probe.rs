//! Whether there can be a jail on this machine, and if not, why.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::git::{Git, find_program};
use crate::jail::confinement::Confinement;
use crate::jail::limits::JailLimits;
use crate::jail::{filter, system};
use crate::{Command, Error, Output, Result};

const BWRAP: &str = "bwrap";
/// Where programs of the system are, whatever the path says.
const PROGRAMS: [&str; 2] = ["/usr/bin", "/usr/local/bin"];

/// A jail that was found to work. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Jail {
    inner: Arc<Inner>,
    limits: JailLimits,
}

#[derive(Debug)]
struct Inner {
    git: Git,
    bwrap: PathBuf,
    /// What runs inside: git itself, not a link or script that leads to it.
    program: PathBuf,
    system: Vec<OsString>,
}

/// Why there is no jail.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JailUnavailable {
    #[error("`{BWRAP}` is not installed, or not on the path")]
    NotInstalled,
    /// A setting of the kernel forbids it; by its file, and by what it says.
    #[error("`{}` is {value}, so that no user namespace can be made", .setting.display())]
    Forbidden { setting: PathBuf, value: String },
    #[error("system calls can't be filtered on this processor")]
    Processor,
    /// It is there, and does not work.
    #[error("`{BWRAP}` does not work here: {detail}")]
    Broken { detail: String },
    #[error("git can't be asked about itself")]
    Git(#[source] Box<Error>),
}

impl JailUnavailable {
    /// Debian's package that helps, where one does.
    #[must_use]
    pub fn package(&self) -> Option<&'static str> {
        matches!(self, Self::NotInstalled).then_some("bubblewrap")
    }
}

impl Jail {
    /// Runs this git in a jail, once, to see whether that works here.
    pub async fn probe(git: &Git) -> Result<Self, JailUnavailable> {
        if !filter::IS_THERE {
            return Err(JailUnavailable::Processor);
        }
        let places = PROGRAMS.map(|place| Path::new(place).join(BWRAP));
        let found = find_program(Path::new(BWRAP), git.environment());
        let bwrap = found.or_else(|| places.into_iter().find(|place| place.is_file()));
        let bwrap = bwrap.ok_or(JailUnavailable::NotInstalled)?;
        let asked = git.command(Path::new("/")).arg("--exec-path").text().await;
        let exec_path = PathBuf::from(asked.map_err(|error| JailUnavailable::Git(Box::new(error)))?);
        let unknown = |source| JailUnavailable::Git(Box::new(Error::io("open", &exec_path, source)));
        let program = fs::canonicalize(exec_path.join("git")).map_err(unknown)?;
        let outside = [&program, &exec_path].into_iter().filter(|path| !path.starts_with("/usr"));
        let system = system::options(&outside.cloned().collect::<Vec<_>>());
        let inner = Inner { git: git.clone(), bwrap, program, system };
        let jail = Self { inner: Arc::new(inner), limits: JailLimits::default() };
        let confinement = Confinement::new(&jail);
        match jail.command(Path::new("/"), confinement).arg("version").run().await {
            Ok(_) => Ok(jail),
            Err(error) => Err(why(&error)),
        }
    }

    /// The same, within other limits.
    #[must_use]
    pub fn with_limits(&self, limits: JailLimits) -> Self {
        Self { inner: self.inner.clone(), limits }
    }

    #[must_use]
    pub fn limits(&self) -> &JailLimits {
        &self.limits
    }

    /// Runs a program of the system instead of git, with some directories shown where they are: to see what holds in here.
    pub async fn try_program(&self, shown: &[&Path], program: &Path, arguments: &[&str]) -> Result<Output> {
        let confinement = Confinement::new(self).running(program);
        let confinement = shown.iter().try_fold(confinement, |confinement, path| confinement.showing(path, path))?;
        self.command(Path::new("/"), confinement).args(arguments).run().await
    }

    pub(crate) fn git(&self) -> &Git {
        &self.inner.git
    }

    pub(crate) fn bwrap(&self) -> &Path {
        &self.inner.bwrap
    }

    pub(crate) fn program(&self) -> &Path {
        &self.inner.program
    }

    pub(crate) fn system(&self) -> &[OsString] {
        &self.inner.system
    }

    /// Starts building a call of git in the jail, in a directory as it is called there.
    pub(crate) fn command(&self, directory: &Path, confinement: Confinement) -> Command {
        let output_bytes = confinement.limits().output_bytes;
        self.git().command(directory).confined_to(confinement).stdout_at_most(output_bytes)
    }
}

/// Settings of the kernel that forbid what bubblewrap needs, and what they say then.
const SETTINGS: [(&str, &str); 3] = [
    ("/proc/sys/user/max_user_namespaces", "0"),
    ("/proc/sys/kernel/unprivileged_userns_clone", "0"),
    ("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1"),
];

fn why(error: &Error) -> JailUnavailable {
    let says = |(setting, value): &(&str, &str)| fs::read_to_string(setting).is_ok_and(|text| text.trim() == *value);
    if let Some((setting, value)) = SETTINGS.iter().find(|setting| says(setting)) {
        return JailUnavailable::Forbidden { setting: PathBuf::from(OsStr::new(setting)), value: (*value).to_owned() };
    }
    let detail = match error {
        Error::Failed { stderr, .. } => crate::error::last_line(stderr).to_owned(),
        error => error.to_string(),
    };
    JailUnavailable::Broken { detail: spinney_core::names::for_message(&detail) }
}
