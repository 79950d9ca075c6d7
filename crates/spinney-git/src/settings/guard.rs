//! What a repository's own configuration may run for us: only what a person agreed to.
//!
//! Every call says what it makes git run. Before it starts, the configuration files are read again: as long as they have
//! the content that was judged last, that is all; else git is asked what is in them. A setting that runs something and
//! that nobody agreed to stops the calls that would run it, and no others.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::git::Git;
use crate::repository::opened::Repository;
use crate::settings::executing::{Executing, Runs};
use crate::settings::own_config::{FilePrint, OwnConfig, are_same};
use crate::{Error, Result};

/// The settings that a person agreed to.
#[derive(Debug, Default)]
pub struct SettingsGuard {
    accepted: BTreeSet<(String, String)>,
    judged: Mutex<Vec<Judged>>,
}

/// Files whose content was judged, and what in them nobody agreed to.
#[derive(Debug, Clone)]
struct Judged {
    files: Vec<FilePrint>,
    unaccepted: Vec<Executing>,
}

impl SettingsGuard {
    /// `harmless` are files whose content, by its hash, held nothing but what is accepted.
    #[must_use]
    pub fn new(accepted: BTreeSet<(String, String)>, harmless: Vec<(PathBuf, Option<String>)>) -> Self {
        let judged = Mutex::new(vec![Judged { files: harmless, unaccepted: Vec::new() }]);
        Self { accepted, judged }
    }

    /// Judges files as they are now.
    async fn judge(&self, git: &Git, roots: &[PathBuf]) -> Result<Judged> {
        let Some(first) = roots.first() else { return Ok(Judged { files: Vec::new(), unaccepted: Vec::new() }) };
        let is_of_roots = |judged: &Judged| judged.files.first().is_some_and(|(path, _)| path == first);
        let known = self.known().iter().find(|judged| is_of_roots(judged)).cloned();
        if let Some(judged) = known
            && are_same(&judged.files)
        {
            return Ok(judged);
        }
        let found = OwnConfig::load(git, roots).await?;
        let is_new = |it: &Executing| !self.accepted.contains(&(it.key.clone(), it.value.clone()));
        let unaccepted = found.executing.into_iter().filter(is_new).collect();
        let judged = Judged { files: found.files, unaccepted };
        let mut known = self.known();
        known.retain(|judged| !is_of_roots(judged));
        known.push(judged.clone());
        Ok(judged)
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Vec<Judged>> {
        self.judged.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A guard, and the places that a call reads its configuration from.
#[derive(Debug, Clone)]
pub(crate) struct Guarded {
    guard: Arc<SettingsGuard>,
    common_dir: PathBuf,
    admin_dir: Option<PathBuf>,
}

impl Guarded {
    pub(crate) fn of_worktree(mut self, admin_dir: &Path) -> Self {
        self.admin_dir = Some(admin_dir.to_owned());
        self
    }

    /// Fails where the configuration would run something for a call that nobody agreed to.
    pub(crate) async fn require(&self, git: &Git, call: Runs) -> Result<()> {
        let call = call.and(Runs::QUESTIONS);
        let mut unaccepted = self.guard.judge(git, &common_files(&self.common_dir)).await?.unaccepted;
        if let Some(admin_dir) = &self.admin_dir {
            unaccepted.extend(self.guard.judge(git, &[admin_dir.join(OF_WORKTREE)]).await?.unaccepted);
        }
        unaccepted.retain(|setting| setting.runs().meets(call));
        match unaccepted.is_empty() {
            true => Ok(()),
            false => Err(Error::NotTrusted { settings: unaccepted }),
        }
    }
}

const OF_WORKTREE: &str = "config.worktree";

fn common_files(common_dir: &Path) -> [PathBuf; 2] {
    ["config", OF_WORKTREE].map(|name| common_dir.join(name))
}

/// What a repository's own configuration runs.
#[derive(Debug, Clone, Default)]
pub struct OwnSettings {
    /// All that runs something, in whichever worktree.
    pub executing: Vec<Executing>,
    /// The files that all worktrees share, each with the hash of its content.
    pub files: Vec<(PathBuf, Option<String>)>,
}

impl Repository {
    /// The same repository, whose calls run nothing of its configuration but what the guard knows.
    #[must_use]
    pub fn guarded(self, guard: Arc<SettingsGuard>) -> Self {
        let guarded = Guarded { guard, common_dir: self.common_dir().to_owned(), admin_dir: None };
        self.with_guard(Some(guarded))
    }

    /// Everything in its configuration that runs something, agreed to or not.
    pub async fn load_own_settings(&self) -> Result<OwnSettings> {
        let shared = OwnConfig::load(self.git(), &common_files(self.common_dir())).await?;
        let worktrees = std::fs::read_dir(self.common_dir().join("worktrees")).into_iter().flatten().flatten();
        let own: Vec<PathBuf> =
            worktrees.map(|entry| entry.path().join(OF_WORKTREE)).filter(|path| path.exists()).collect();
        let mut executing = shared.executing;
        executing.extend(OwnConfig::load(self.git(), &own).await?.executing);
        Ok(OwnSettings { executing, files: shared.files })
    }

    /// The shared files as they were judged, if they hold nothing that nobody agreed to, and differ from those that the
    /// guard was made with.
    pub async fn load_harmless_files(&self) -> Result<Option<Vec<(PathBuf, Option<String>)>>> {
        let Some(guarded) = self.guard() else { return Ok(None) };
        let before = guarded.guard.known().first().map(|judged| judged.files.clone());
        let judged = guarded.guard.judge(self.git(), &common_files(self.common_dir())).await?;
        Ok(Some(judged.files).filter(|files| judged.unaccepted.is_empty() && before.as_ref() != Some(files)))
    }
}
