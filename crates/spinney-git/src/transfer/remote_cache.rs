//! Remembers a repository's remotes for as long as none of the files that git's configuration comes from has changed.
//!
//! Every file that git named as a source is stamped, and those where a person's configuration would be if there were
//! any. An answer is kept only when no file was changed just before, so that a second change within one tick of the
//! clock can't hide; and not at all where the configuration depends on more than files.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::disk::regular::{SETTINGS_BYTES, read_regular};
use crate::disk::stamp::Stamp;
use crate::repository::opened::Repository;
use crate::transfer::remote::Remote;

/// A file changed more lately than this may change again unseen.
const SETTLED_AFTER: Duration = Duration::from_secs(2);

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RemoteCache {
    files: Vec<(PathBuf, Option<Stamp>)>,
    remotes: Vec<Remote>,
}

impl RemoteCache {
    /// What is remembered, if it still holds.
    pub(crate) fn load(repository: &Repository) -> Option<Vec<Remote>> {
        let cache: Self = serde_json::from_slice(&read_regular(&place(repository), SETTINGS_BYTES).ok()?).ok()?;
        let usual = usual_files(repository);
        let covers = usual.iter().all(|path| cache.files.iter().any(|(known, _)| known == path));
        let holds = covers && cache.files.iter().all(|(path, stamp)| Stamp::of(path) == *stamp);
        holds.then_some(cache.remotes)
    }

    /// The files to watch, stamped before git reads them, so that a change while it reads is seen later.
    pub(crate) fn watch(repository: &Repository) -> Vec<(PathBuf, Option<Stamp>)> {
        usual_files(repository)
            .into_iter()
            .map(|path| (Stamp::of(&path), path))
            .map(|(stamp, path)| (path, stamp))
            .collect()
    }

    /// Remembers an answer. `sources` are the files that git named.
    pub(crate) fn save(
        repository: &Repository,
        mut watched: Vec<(PathBuf, Option<Stamp>)>,
        sources: &[PathBuf],
        remotes: &[Remote],
    ) {
        for source in sources {
            if !watched.iter().any(|(path, _)| path == source) {
                watched.push((source.clone(), Stamp::of(source)));
            }
        }
        if watched.iter().any(|(path, _)| !is_settled(path)) {
            return;
        }
        let cache = Self { files: watched, remotes: remotes.to_vec() };
        let Ok(directory) = repository.require_state_dir() else { return };
        let Ok(text) = serde_json::to_vec(&cache) else { return };
        // Only a help: what can't be written is asked again.
        if let Ok(aside) = tempfile::NamedTempFile::new_in(directory)
            && fs::write(aside.path(), text).is_ok()
        {
            let _ = aside.persist(place(repository));
        }
    }
}

fn place(repository: &Repository) -> PathBuf {
    repository.state_dir().join("remotes.json")
}

/// Where git looks, whether there is something or not.
fn usual_files(repository: &Repository) -> Vec<PathBuf> {
    let environment = repository.git().environment();
    let value = |name: &str| -> Option<&OsString> {
        environment
            .iter()
            .find(|(key, _)| key == OsStr::new(name))
            .map(|(_, value)| value)
            .filter(|value| !value.is_empty())
    };
    let mut files = vec![repository.common_dir().join("config"), repository.common_dir().join("config.worktree")];
    let named = ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"].iter().filter_map(|name| value(name)).map(PathBuf::from);
    files.extend(named);
    let home = value("HOME").map(PathBuf::from);
    files.extend(home.as_ref().map(|home| home.join(".gitconfig")));
    let xdg = value("XDG_CONFIG_HOME").map(PathBuf::from).or_else(|| home.map(|home| home.join(".config")));
    files.extend(xdg.map(|xdg| xdg.join("git/config")));
    files.push(PathBuf::from("/etc/gitconfig"));
    files
}

fn is_settled(path: &Path) -> bool {
    let Ok(modified) = fs::metadata(path).and_then(|found| found.modified()) else { return true };
    SystemTime::now().duration_since(modified).is_ok_and(|age| age > SETTLED_AFTER)
}
