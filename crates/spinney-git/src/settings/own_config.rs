//! The configuration files that a repository has of its own, with those that they include, and what in them runs
//! something.
//!
//! Files are read by this code and understood by git: what was looked at is what was judged. A condition of an include is
//! not weighed, for it may hold later.

use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use spinney_core::names::content_hash;

use crate::git::Git;
use crate::settings::config_text::parse_text;
use crate::settings::executing::{Executing, Runs, runs};
use crate::{Error, Result};

/// More than any configuration has.
const MAX_BYTES: u64 = 4 << 20;
const MAX_FILES: usize = 100;

/// Which content of a file was read; none where there is no file.
pub(crate) type FilePrint = (PathBuf, Option<String>);

/// What was found.
#[derive(Debug, Clone, Default)]
pub(crate) struct OwnConfig {
    pub(crate) files: Vec<FilePrint>,
    pub(crate) executing: Vec<Executing>,
}

impl OwnConfig {
    /// Reads files, and what they include. One that can't be read is an error: unknown is never harmless.
    pub(crate) async fn load(git: &Git, roots: &[PathBuf]) -> Result<Self> {
        let mut found = Self::default();
        let mut waiting: Vec<PathBuf> = roots.iter().rev().cloned().collect();
        while let Some(path) = waiting.pop() {
            if found.files.iter().any(|(known, _)| *known == path) {
                continue;
            }
            if found.files.len() == MAX_FILES {
                return Err(unusable(&path, "too many files are included"));
            }
            let content = read(&path)?;
            found.files.push((path.clone(), content.as_deref().map(content_hash)));
            let Some(content) = content else { continue };
            for (key, value) in parse_text(git, content).await? {
                if is_include(&key)
                    && let Some(included) = included(git, &path, &value)
                {
                    waiting.push(included);
                } else if runs(&key, &value) != Runs::NOTHING {
                    found.executing.push(Executing { key, value, file: path.clone() });
                }
            }
        }
        Ok(found)
    }
}

/// Whether files still have the content that was read.
pub(crate) fn are_same(files: &[FilePrint]) -> bool {
    files.iter().all(|(path, print)| read(path).is_ok_and(|now| now.as_deref().map(content_hash) == *print))
}

fn is_include(key: &str) -> bool {
    key == "include.path" || (key.starts_with("includeif.") && key.ends_with(".path"))
}

/// The file that a value means; none where only git can tell.
fn included(git: &Git, from: &Path, value: &str) -> Option<PathBuf> {
    match value.strip_prefix('~') {
        Some(rest) => {
            let home = git.environment().iter().find(|(key, _)| key == OsStr::new("HOME"))?;
            Some(Path::new(&home.1).join(rest.strip_prefix('/')?))
        }
        None if value.is_empty() || value.starts_with("%(") => None,
        None => Some(from.parent()?.join(value)),
    }
}

/// The content of a file; none where there is none.
fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    // A pipe in its place must not make us wait.
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = match std::fs::File::options().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(source) => return Err(Error::io("read", path, source)),
    };
    let metadata = file.metadata().map_err(|source| Error::io("read", path, source))?;
    if !metadata.is_file() {
        return Err(unusable(path, "it is no file"));
    }
    let mut content = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut content).map_err(|source| Error::io("read", path, source))?;
    if content.len() as u64 > MAX_BYTES {
        return Err(unusable(path, "it is too large"));
    }
    Ok(Some(content))
}

fn unusable(path: &Path, reason: &str) -> Error {
    Error::Unexpected { command: format!("read `{}`", path.display()), detail: reason.to_owned() }
}
