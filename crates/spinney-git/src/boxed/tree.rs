//! A tree that an agent in a box wrote, as the host may ask about it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::boxed::files::require_plain;
use crate::boxed::mirror::BaseMirror;
use crate::boxed::places::BoxPlaces;
use crate::disk::scratch::quoted;
use crate::jail::confinement::Confinement;
use crate::jail::probe::Jail;
use crate::{Command, Result};

/// The tree of a box, with its private git dir and the base mirror that this borrows from. Opening it reads nothing.
#[derive(Debug, Clone)]
pub struct BoxedTree {
    jail: Jail,
    path: PathBuf,
    git_dir: PathBuf,
    mirror: BaseMirror,
    places: BoxPlaces,
}

impl BoxedTree {
    #[must_use]
    pub fn new(jail: &Jail, path: &Path, git_dir: &Path, mirror: &BaseMirror, places: &BoxPlaces) -> Self {
        let (path, git_dir) = (path.to_owned(), git_dir.to_owned());
        Self { jail: jail.clone(), path, git_dir, mirror: mirror.clone(), places: places.clone() }
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The private git dir, as the host sees it.
    #[must_use]
    pub fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    #[must_use]
    pub fn mirror(&self) -> &BaseMirror {
        &self.mirror
    }

    pub(crate) fn jail(&self) -> &Jail {
        &self.jail
    }

    pub(crate) fn places(&self) -> &BoxPlaces {
        &self.places
    }

    /// What every call about it has in its jail: all of it read-only.
    pub(crate) fn confinement(&self) -> Result<Confinement> {
        require_plain(&self.git_dir)?;
        let confinement = Confinement::new(&self.jail).showing(&self.path, &self.places.workdir)?;
        confinement.showing(&self.git_dir, &self.places.git_dir)?.showing(self.mirror.path(), &self.places.base)
    }

    /// Starts building a call of git in the jail.
    pub(crate) fn command(&self) -> Result<Command> {
        Ok(self.command_in(self.confinement()?))
    }

    pub(crate) fn command_in(&self, confinement: Confinement) -> Command {
        let command = self.jail.command(&self.places.workdir, confinement);
        // The git dir itself says nothing about where its configuration and its tree are.
        let command = command.env("GIT_DIR", &self.places.git_dir).env("GIT_COMMON_DIR", &self.places.git_dir);
        let command = command.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", alternates([&self.places.base.join("objects")]));
        CONFIG.iter().fold(command.env("GIT_WORK_TREE", &self.places.workdir), |command, (key, value)| {
            command.config(*key, *value)
        })
    }
}

/// Object directories as git takes a list of them.
pub(crate) fn alternates<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> OsString {
    let quoted: Vec<OsString> = paths.into_iter().map(|path| quoted(path.as_os_str())).collect();
    quoted.join(OsStr::new(":"))
}

/// Configuration that no git dir may change: nothing is hidden, and what only makes git faster is not believed.
const CONFIG: [(&str, &str); 14] = [
    ("core.checkStat", "minimal"),
    ("core.trustctime", "false"),
    ("core.untrackedCache", "false"),
    ("core.ignoreStat", "false"),
    ("core.splitIndex", "false"),
    ("index.sparse", "false"),
    ("core.commitGraph", "false"),
    ("core.multiPackIndex", "false"),
    ("core.attributesFile", "/dev/null"),
    ("core.excludesFile", "/dev/null"),
    ("pack.useBitmaps", "false"),
    ("pack.threads", "1"),
    ("pack.windowMemory", "256m"),
    ("pack.packSizeLimit", "0"),
];
