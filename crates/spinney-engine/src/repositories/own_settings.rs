//! What a repository's own git configuration runs, and a person agreed to.
//!
//! Any agent can write that configuration. What it had when the repository was first used is accepted, and what a person
//! accepted by `spinney trust`; it is written down in the home, by key and value. Any other setting that runs something
//! stops the calls of git that would run it (`spinney-git/src/settings/guard.rs`).

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_recursion::async_recursion as boxed;
use serde::{Deserialize, Serialize};
use spinney_core::{Repository, RepositoryId};
use spinney_git::{Executing, OwnSettings, SettingsGuard};

use crate::repositories::context::Context;
use crate::{Engine, Error, Result};

/// How many files this process wrote.
static WRITTEN: AtomicU64 = AtomicU64::new(0);

#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Accepted {
    /// Key and value.
    settings: BTreeSet<(String, String)>,
    /// Files, by the hash of their content, in which nothing else was found.
    files: Vec<(PathBuf, Option<String>)>,
}

impl Accepted {
    fn of(own: &OwnSettings) -> Self {
        Self { settings: own.executing.iter().map(pair).collect(), files: own.files.clone() }
    }

    /// None where nothing was accepted yet; a file that is damaged accepts nothing.
    fn load(path: &Path) -> Result<Option<Self>> {
        match fs::read(path) {
            Ok(text) => Ok(Some(serde_json::from_slice(&text).unwrap_or_default())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::files(path, "read")(error)),
        }
    }

    fn save(&self, path: &Path) -> Result<()> {
        let write = || {
            let directory = path.parent().unwrap_or(path);
            fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
            // Several threads of a daemon may come to it at once.
            let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
            let aside = path.with_extension(format!("{}-{number}.new", std::process::id()));
            fs::write(&aside, serde_json::to_vec(self)?)?;
            fs::rename(&aside, path)
        };
        write().map_err(Error::files(path, "written"))
    }
}

impl Engine {
    /// The repository's git, which runs nothing of its configuration that nobody agreed to.
    pub(crate) async fn guard_settings(
        &self,
        repository: &Repository,
        git: spinney_git::Repository,
    ) -> Result<spinney_git::Repository> {
        let place = self.home.settings_of(&repository.id);
        let mut accepted = match Accepted::load(&place)? {
            Some(accepted) => accepted,
            None => {
                let first = Accepted::of(&git.load_own_settings().await?);
                first.save(&place)?;
                first
            }
        };
        let guard = SettingsGuard::new(accepted.settings.clone(), accepted.files.clone());
        let git = git.guarded(Arc::new(guard));
        // What can't be read now stops the calls that depend on it.
        if let Ok(Some(files)) = git.load_harmless_files().await {
            accepted.files = files;
            // It only spares a question the next time.
            let _ = accepted.save(&place);
        }
        Ok(git)
    }

    /// All that the repository's configuration runs, and what of it nobody agreed to yet.
    #[boxed]
    pub async fn load_own_settings(&self, context: &Context) -> Result<(OwnSettings, Vec<Executing>)> {
        let own = context.load_settings().await?;
        let accepted = Accepted::load(&self.home.settings_of(&context.repository.id))?.unwrap_or_default();
        let new = own.executing.iter().filter(|setting| !accepted.settings.contains(&pair(setting)));
        let new = new.cloned().collect();
        Ok((own, new))
    }

    /// Remembers that a person agreed to these settings, and to no others.
    pub fn trust_settings(&self, context: &Context, own: &OwnSettings) -> Result<()> {
        Accepted::of(own).save(&self.home.settings_of(&context.repository.id))
    }

    /// Forgets what was agreed to for a repository that is gone.
    pub(crate) fn forget_settings(&self, repository: &RepositoryId) {
        // A file that stays is of no repository.
        let _ = fs::remove_file(self.home.settings_of(repository));
    }
}

fn pair(setting: &Executing) -> (String, String) {
    (setting.key.clone(), setting.value.clone())
}
