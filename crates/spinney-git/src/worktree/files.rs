//! What differs in a worktree, with what tells whether it is still the same later: its mode and git's name for its bytes.
//!
//! No filter runs for it and nothing is written: it is the file as it lies there that counts.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use sha1::Sha1;
use sha2::{Digest, Sha256};
use spinney_core::{CommitId, STATE_FILE};

use crate::worktree::linked::Worktree;
use crate::worktree::status::StatusOptions;
use crate::{ObjectFormat, Result};

/// A larger file is told by its size and time.
const HASHED_AT_MOST: u64 = 64 << 20;
/// The identity of what is not there.
const ABSENT: &str = "absent";

/// Files of a worktree that differ from HEAD, or that git ignores.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Files {
    pub head: Option<CommitId>,
    /// Changed and untracked files, with their identities.
    pub changed: BTreeMap<PathBuf, String>,
    /// Untracked repositories that lie in the tree.
    pub repositories: Vec<PathBuf>,
    /// Ignored files, and without an identity directories that are ignored as a whole.
    pub ignored: BTreeMap<PathBuf, Option<String>>,
    /// A file with a conflict.
    pub conflicted: Option<PathBuf>,
    /// The submodules among the changed.
    pub(crate) submodules: Vec<PathBuf>,
}

impl Worktree {
    /// Lists what differs from HEAD; an untracked `STATE.json` at the root is nobody's.
    pub async fn load_files(&self, ignored: bool) -> Result<Files> {
        let status = self.load_status(&StatusOptions { untracked: true, ignored }).await?;
        let mut files = Files { head: status.head, ..Files::default() };
        let format = files.head.as_ref().map_or(ObjectFormat::Sha1, ObjectFormat::of);
        // Git would run what these name.
        let opaque: Vec<PathBuf> = status.opaque.iter().map(|opaque| opaque.path.clone()).collect();
        for change in status.changes.into_iter().filter(|change| !opaque.contains(&change.path)) {
            let identity = match change.submodule {
                Some(_) if self.path().join(&change.path).is_dir() => self.identity_of_submodule(&change.path).await,
                _ => self.identity_of(&change.path, format),
            };
            if change.conflicted {
                files.conflicted.get_or_insert_with(|| change.path.clone());
            }
            if change.submodule.is_some() {
                files.submodules.push(change.path.clone());
            }
            files.changed.insert(change.path, identity);
        }
        for entry in status.untracked {
            if entry.directory {
                files.repositories.push(entry.path);
            } else if entry.path != Path::new(STATE_FILE) {
                let identity = self.identity_of(&entry.path, format);
                files.changed.insert(entry.path, identity);
            }
        }
        files.repositories.extend(opaque);
        files.repositories.sort();
        files.repositories.dedup();
        for entry in status.ignored {
            let identity = (!entry.directory).then(|| self.identity_of(&entry.path, format));
            files.ignored.insert(entry.path, identity);
        }
        Ok(files)
    }

    /// What tells whether a file, or a link, is still the same.
    fn identity_of(&self, path: &Path, format: ObjectFormat) -> String {
        let path = self.path().join(path);
        let Ok(found) = fs::symlink_metadata(&path) else { return ABSENT.to_owned() };
        let told = || format!("{:o} {} {}.{:09}", found.mode(), found.size(), found.mtime(), found.mtime_nsec());
        if found.is_symlink() {
            return fs::read_link(&path).map_or_else(
                |_| told(),
                |target| format!("120000 {}", format.name_of_blob(target.as_os_str().as_encoded_bytes())),
            );
        }
        if !found.is_file() || found.len() > HASHED_AT_MOST {
            return told();
        }
        let mode = if found.mode() & 0o100 == 0 { "100644" } else { "100755" };
        format.name_of_file(&path).map_or_else(|_| told(), |blob| format!("{mode} {blob}"))
    }

    async fn identity_of_submodule(&self, path: &Path) -> String {
        let directory = self.path().join(path);
        let command = self.repository().git().command(&directory).env("GIT_DIR", directory.join(".git"));
        let command = command.args(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]).accept(&[0, 1]);
        format!("160000 {}", command.text().await.unwrap_or_default())
    }
}

impl ObjectFormat {
    /// Git's name for these bytes.
    #[must_use]
    pub fn name_of_blob(self, bytes: &[u8]) -> String {
        self.hash(&[format!("blob {}\0", bytes.len()).as_bytes(), bytes].concat()).to_string()
    }

    /// Git's names for what it may make of these bytes when they are added: as they are, with other line ends, and as the
    /// pointer of git-lfs.
    #[must_use]
    pub fn names_of_copy(self, bytes: &[u8]) -> Vec<String> {
        let id: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        let pointer = format!("version https://git-lfs.github.com/spec/v1\noid sha256:{id}\nsize {}\n", bytes.len());
        let mut lines = Vec::with_capacity(bytes.len());
        for (at, byte) in bytes.iter().enumerate() {
            if !(*byte == b'\r' && bytes.get(at + 1) == Some(&b'\n')) {
                lines.push(*byte);
            }
        }
        let mut names =
            vec![self.name_of_blob(bytes), self.name_of_blob(&lines), self.name_of_blob(pointer.as_bytes())];
        names.dedup();
        names
    }

    /// The same of a file that is too large to be held at once: as it is, and as the pointer of git-lfs.
    pub fn names_of_large_copy(self, path: &Path) -> io::Result<Vec<String>> {
        let mut file = crate::disk::regular::open_regular(path)?;
        let (mut hasher, mut buffer, mut length) = (Sha256::new(), vec![0; 64 << 10], 0);
        loop {
            match file.read(&mut buffer)? {
                0 => break,
                read => {
                    hasher.update(&buffer[..read]);
                    length += read;
                }
            }
        }
        let id: String = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        let pointer = format!("version https://git-lfs.github.com/spec/v1\noid sha256:{id}\nsize {length}\n");
        Ok(vec![self.name_of_file(path)?, self.name_of_blob(pointer.as_bytes())])
    }

    /// Git's name for the bytes of a file, as they are.
    pub fn name_of_file(self, path: &Path) -> io::Result<String> {
        let file = fs::File::open(path)?;
        let length = file.metadata()?.len();
        match self {
            Self::Sha1 => name_of(Sha1::new(), file, length),
            Self::Sha256 => name_of(Sha256::new(), file, length),
        }
    }
}

fn name_of<D: Digest>(mut digest: D, file: fs::File, length: u64) -> io::Result<String> {
    digest.update(format!("blob {length}\0"));
    let mut buffer = vec![0; 64 << 10];
    // One that grows meanwhile has another name anyway.
    let mut file = file.take(length);
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            read => digest.update(&buffer[..read]),
        }
    }
    Ok(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}
