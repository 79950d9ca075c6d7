//! Large files that git-lfs keeps beside the repository, and a pin.
//!
//! Git sees a small text in the place of such a file. `git lfs prune` drops what no checkout and no unpushed branch names;
//! it knows no rescue refs and no trash, and takes for granted that what was pushed was uploaded. So the objects that a pin
//! names and its base does not are linked into the admin dir, which goes into the trash and the archive, and put back from
//! there.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use spinney_core::CommitId;

use crate::disk::regular::{POINTER_BYTES, read_regular};
use crate::repository::opened::Repository;
use crate::{Error, Result};

/// Where they are kept in an admin dir, each by its name.
pub(crate) const KEPT: &str = "spinney-lfs";
/// More than any text in the place of a large file has.
const MAX_POINTER: &str = "1024";
const POINTER: &str = "version https://git-lfs.github.com/spec/v1\n";

impl Repository {
    /// Keeps the large files in an admin dir that a pin names and none of `known` does. What is not here stays away.
    pub async fn keep_lfs_objects(&self, pin: &CommitId, known: &[CommitId], admin_dir: &Path) -> Result<usize> {
        let Some(storage) = self.lfs_storage().await? else { return Ok(0) };
        let command = self.command().args(["rev-list", "--objects", "--no-object-names", pin.as_str()]);
        let command = command.arg("--filter=object:type=blob").arg(format!("--filter=blob:limit={MAX_POINTER}"));
        let command = command.arg("--not").args(known.iter().map(CommitId::as_str));
        let blobs = command.run().await?.stdout;
        let contents = self.command().args(["cat-file", "--batch=%(objecttype)", "--buffer"]).stdin_bytes(blobs);
        let mut kept = 0;
        for object in parse_pointers(&contents.run().await?.stdout) {
            let (from, to) = (place(&storage, &object), admin_dir.join(KEPT).join(&object));
            if from.is_file() && !to.exists() {
                link_or_copy(&from, &to).map_err(|source| Error::io("keep a copy of", &from, source))?;
                kept += 1;
            }
        }
        Ok(kept)
    }

    /// Gives git-lfs back what is kept in an admin dir, and lacks.
    pub async fn put_lfs_objects_back(&self, admin_dir: &Path) -> Result<()> {
        let kept = admin_dir.join(KEPT);
        let failed = |source| Error::io("read", &kept, source);
        let entries = match fs::read_dir(&kept) {
            Ok(entries) => entries.collect::<io::Result<Vec<_>>>().map_err(failed)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(failed(error)),
        };
        let storage = self.lfs_storage().await?.unwrap_or_else(|| self.common_dir().join("lfs").join("objects"));
        for entry in entries {
            let (name, from) = (entry.file_name().to_string_lossy().into_owned(), entry.path());
            // It was in the trash or in an archive: only what it says it is comes back.
            let is_whole =
                || -> io::Result<bool> { Ok(is_name(&name) && entry.file_type()?.is_file() && hash(&from)? == name) };
            if !is_whole().map_err(failed)? {
                tracing::warn!(file = %from.display(), "a large file in the trash is not what its name says");
                continue;
            }
            let to = place(&storage, &name);
            if !to.exists() {
                link_or_copy(&from, &to).map_err(|source| Error::io("write", &to, source))?;
            }
        }
        Ok(())
    }

    /// Writes the content of a large file over its pointer; `false` where git-lfs does not have it here, or it is none.
    pub async fn write_large_file(&self, path: &Path) -> Result<bool> {
        let Some(storage) = self.lfs_storage().await? else { return Ok(false) };
        let Ok(text) = read_regular(path, POINTER_BYTES) else { return Ok(false) };
        let names = parse_pointers(&text);
        let [name] = names.as_slice() else { return Ok(false) };
        let from = place(&storage, name);
        if !from.is_file() {
            tracing::warn!(file = %path.display(), "its content is not here: `git lfs pull` brings it");
            return Ok(false);
        }
        let failed = |source| Error::io("write", path, source);
        let mode = fs::metadata(path).map_err(failed)?.permissions();
        // Not linked: whoever edits the file would edit what git-lfs keeps.
        let aside = path.with_extension("partial");
        fs::copy(&from, &aside).and_then(|_| fs::set_permissions(&aside, mode)).map_err(failed)?;
        fs::rename(&aside, path).map_err(failed)?;
        Ok(true)
    }

    /// Forgets what was kept in an admin dir, once it is back.
    pub fn drop_kept_lfs_objects(&self, admin_dir: &Path) {
        let kept = admin_dir.join(KEPT);
        for entry in fs::read_dir(&kept).into_iter().flatten().flatten() {
            let _ = fs::remove_file(entry.path());
        }
        let _ = fs::remove_dir(kept);
    }

    /// Where git-lfs keeps its files; none where it keeps none.
    async fn lfs_storage(&self) -> Result<Option<PathBuf>> {
        let own = self.common_dir().join("lfs");
        if !own.is_dir() {
            return Ok(None);
        }
        let command = self.command().args(["config", "--type=path", "--get", "lfs.storage"]);
        let configured = command.accept(&[0, 1]).text().await?;
        let root = if configured.is_empty() { own } else { self.common_dir().join(configured) };
        Ok(Some(root.join("objects")))
    }
}

fn place(storage: &Path, name: &str) -> PathBuf {
    storage.join(&name[..2]).join(&name[2..4]).join(name)
}

fn is_name(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// Shares the content; copies it where the other place is on another disk. A reader never finds half of it.
fn link_or_copy(from: &Path, to: &Path) -> io::Result<()> {
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent)?;
    }
    if fs::hard_link(from, to).is_ok() {
        return Ok(());
    }
    let aside = to.with_extension("partial");
    fs::copy(from, &aside)?;
    fs::File::open(&aside)?.sync_all()?;
    fs::rename(&aside, to)
}

fn hash(path: &Path) -> io::Result<String> {
    let (mut file, mut hasher, mut buffer) = (fs::File::open(path)?, Sha256::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            count => hasher.update(&buffer[..count]),
        }
    }
    Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Finds the texts that stand for large files among what `cat-file --batch` wrote, and the names in them.
fn parse_pointers(stdout: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(stdout);
    let names = text.split(POINTER).skip(1).filter_map(|rest| {
        let oid = rest.lines().find_map(|line| line.strip_prefix("oid sha256:"))?;
        is_name(oid).then(|| oid.to_owned())
    });
    names.collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_texts_of_git_lfs_name_large_files() {
        let name = "a".repeat(64);
        let text = format!(
            "blob\n{POINTER}oid sha256:{name}\nsize 5\n\nblob\noid sha256:{name}\n\nblob\n{POINTER}oid sha256:../x\n"
        );
        assert_eq!(parse_pointers(text.as_bytes()), [name]);
    }

    proptest! {
        #[test]
        fn no_output_makes_it_panic(stdout in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse_pointers(&stdout);
        }
    }
}
