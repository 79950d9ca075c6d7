//! The quarantine: where a pack that came out of a box is until all is known about it.
//!
//! Git looks at it in a jail of its own, with the base mirror as its only repository.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::boxed::mirror::BaseMirror;
use crate::boxed::places::{BoxPlaces, QUARANTINE};
use crate::boxed::tree::alternates;
use crate::disk::scratch;
use crate::jail::confinement::Confinement;
use crate::jail::limits::JailLimits;
use crate::jail::probe::Jail;
use crate::{Command, Error, Repository, Result};

/// The files of a pack.
const ENDS: [&str; 3] = [".pack", ".idx", ".rev"];

#[derive(Debug)]
pub(crate) struct Quarantine {
    /// Goes with it.
    _directory: TempDir,
    /// The same, by a path without links.
    path: PathBuf,
    base: PathBuf,
    mirror: PathBuf,
    jail: Jail,
}

impl Quarantine {
    pub(crate) fn make(repository: &Repository, jail: &Jail, mirror: &BaseMirror, places: &BoxPlaces) -> Result<Self> {
        let directory = scratch::directory(&repository.require_state_dir()?, scratch::IMPORT)?;
        let path = std::fs::canonicalize(directory.path()).map_err(|e| Error::io("open", directory.path(), e))?;
        let packs = path.join("objects/pack");
        std::fs::create_dir_all(&packs).map_err(|source| Error::io("make the directory", &packs, source))?;
        let empty = path.join("nothing");
        std::fs::create_dir(&empty).map_err(|source| Error::io("make the directory", &empty, source))?;
        let (base, mirror) = (places.base.clone(), mirror.path().to_owned());
        Ok(Self { _directory: directory, path, base, mirror, jail: jail.clone() })
    }

    /// A call that may write no file longer than so many bytes.
    pub(crate) fn writing(&self, file_bytes: u64) -> Result<Command> {
        let limits = JailLimits { file_bytes, ..*self.jail.limits() };
        let confinement = Confinement::new(&self.jail).with_limits(limits);
        Ok(self.command_in(
            confinement.writing(&self.objects(), Path::new(QUARANTINE))?.showing(&self.mirror, &self.base)?,
        ))
    }

    /// A call that looks at what is there.
    pub(crate) fn command(&self) -> Result<Command> {
        let confinement = Confinement::new(&self.jail).showing(&self.objects(), Path::new(QUARANTINE))?;
        Ok(self.command_in(confinement.showing(&self.mirror, &self.base)?))
    }

    fn command_in(&self, confinement: Confinement) -> Command {
        let command = self.jail.command(&self.base, confinement).env("GIT_DIR", &self.base);
        let command = command.env("GIT_OBJECT_DIRECTORY", QUARANTINE);
        command.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", alternates([&self.base.join("objects")]))
    }

    /// A call of the repository itself, which knows what is here besides its own.
    pub(crate) fn seen_by(&self, repository: &Repository) -> Command {
        let command = repository.command().env("GIT_OBJECT_DIRECTORY", self.objects());
        let own = repository.common_dir().join("objects");
        command.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", alternates([&own]))
    }

    /// Where a pack is, as the host sees it. Nothing but its files may be there: what took git over could have put more.
    pub(crate) fn require_only(&self, pack: &str) -> Result<PathBuf> {
        let (objects, packs) = (self.objects(), self.objects().join("pack"));
        let refused = |path: PathBuf| Error::Refused { what: "a file of a pack", name: path.display().to_string() };
        for (directory, names) in
            [(&objects, vec!["pack".to_owned()]), (&packs, ENDS.map(|end| pack.to_owned() + end).into())]
        {
            let entries = std::fs::read_dir(directory).map_err(|source| Error::io("read", directory, source))?;
            for entry in entries {
                let entry = entry.map_err(|source| Error::io("read", directory, source))?;
                let kind = entry.file_type().map_err(|source| Error::io("read", &entry.path(), source))?;
                let is_known = names.iter().any(|name| entry.file_name() == name.as_str());
                if !is_known || kind.is_symlink() || kind.is_file() != (directory == &packs) {
                    return Err(refused(entry.path()));
                }
            }
        }
        Ok(packs)
    }

    /// A directory that is empty.
    pub(crate) fn empty(&self) -> PathBuf {
        self.path.join("nothing")
    }

    fn objects(&self) -> PathBuf {
        self.path.join("objects")
    }
}
