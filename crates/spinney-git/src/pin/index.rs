//! The index of a worktree as a tree, for a pin: also where it has conflicts, or names what is missing.

use std::collections::BTreeSet;
use std::path::Path;

use crate::repository::lock::RepositoryLock;
use crate::repository::opened::Repository;
use crate::worktree::hidden::copy_index;
use crate::{Error, Result};

/// The empty file, in both kinds of names.
const EMPTY: [&str; 2] =
    ["e69de29bb2d1d6434b8b29ae775ad8c2e48c5391", "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813"];

impl Repository {
    /// Writes the index as a tree, and notes what it names that is missing; none where there is no index, or none that
    /// can be read.
    pub(crate) async fn write_index(
        &self,
        lock: &RepositoryLock,
        admin_dir: &Path,
        missing: &mut BTreeSet<String>,
    ) -> Result<Option<String>> {
        let copy = copy_index(admin_dir, &self.require_state_dir()?)?;
        let index = copy.path().join("index");
        if !index.exists() {
            return Ok(None);
        }
        let with = |index: &Path| {
            let command = self.holding(lock).env("GIT_DIR", admin_dir).env("GIT_WORK_TREE", copy.path());
            command
                .env("GIT_INDEX_FILE", index)
                .config("core.splitIndex", "false")
                .config("core.sparseCheckout", "false")
        };
        // It fails on conflicts and on objects that are missing; then what is there is taken entry by entry.
        let whole = with(&index).arg("write-tree").accept(&[0, 128]).run().await?;
        if whole.status == 0 && with(&index).args(["ls-files", "-z", "--resolve-undo"]).run().await?.stdout.is_empty() {
            return Ok(Some(whole.text()));
        }
        let staged = match with(&index).args(["ls-files", "-z", "--stage"]).run().await {
            Ok(listed) => listed.stdout,
            // Nobody can tell what it named. The file itself goes where the admin dir goes, and comes back with it.
            Err(Error::DamagedIndex { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let undone = with(&index).args(["ls-files", "-z", "--resolve-undo"]).run().await?.stdout;
        let mut entries = parse_entries(&staged, "stage");
        let staged = entries.len();
        entries.extend(parse_entries(&undone, "undo"));
        let existing = self.load_existing(entries.iter().map(|entry| entry.object.clone()).collect()).await?;
        let blobs: BTreeSet<&str> = existing.others.iter().map(|(_, name)| name.as_str()).collect();
        // Git knows the empty file without having it; what is promised to a partial clone is not lost.
        let is_lost =
            |entry: &&IndexEntry| !blobs.contains(entry.object.as_str()) && !EMPTY.contains(&entry.object.as_str());
        if !self.has_promised_objects() {
            missing.extend(entries[..staged].iter().filter(is_lost).map(|entry| entry.object.clone()));
        }
        let mut lines = Vec::new();
        for entry in entries.iter().filter(|entry| blobs.contains(entry.object.as_str())) {
            lines.extend_from_slice(format!("{} {} 0\t{}/", entry.mode, entry.object, entry.directory).as_bytes());
            lines.extend_from_slice(&entry.path);
            lines.push(0);
        }
        let stages = copy.path().join("stages");
        with(&stages).args(["update-index", "-z", "--index-info"]).stdin_bytes(lines).run().await?;
        Ok(Some(with(&stages).arg("write-tree").text().await?))
    }
}

#[derive(Debug, PartialEq, Eq)]
struct IndexEntry {
    mode: String,
    object: String,
    directory: String,
    path: Vec<u8>,
}

/// Reads `<mode> <object> <stage>\t<path>\0`. Submodules' commits are not in this repository, and left out.
fn parse_entries(stdout: &[u8], directory: &str) -> Vec<IndexEntry> {
    let entry = |entry: &[u8]| {
        let tab = entry.iter().position(|byte| *byte == b'\t')?;
        let mut words = std::str::from_utf8(&entry[..tab]).ok()?.split(' ');
        let (mode, object, stage) = (words.next()?, words.next()?, words.next()?);
        (mode != "160000").then(|| IndexEntry {
            mode: mode.to_owned(),
            object: object.to_owned(),
            directory: format!("{directory}-{stage}"),
            path: entry[tab + 1..].to_vec(),
        })
    };
    stdout.split(|byte| *byte == 0).filter_map(entry).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn stages_become_directories_and_submodules_stay_out() {
        let id = "a".repeat(40);
        let entries = parse_entries(format!("100644 {id} 2\ta b\0160000 {id} 0\tsub\0").as_bytes(), "stage");
        assert_eq!(entries.len(), 1);
        assert_eq!((entries[0].directory.as_str(), entries[0].path.as_slice()), ("stage-2", b"a b".as_slice()));
    }

    proptest! {
        #[test]
        fn no_output_makes_it_panic(stdout in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse_entries(&stdout, "stage");
        }
    }
}
