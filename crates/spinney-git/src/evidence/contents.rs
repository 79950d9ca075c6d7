//! What a commit holds: single files, and how many bytes a checkout of it takes.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use spinney_core::CommitId;

use crate::repository::opened::Repository;
use crate::{Error, Result};

impl Repository {
    /// Reads a file of a commit; none where the commit has no such file.
    pub async fn load_file(&self, commit: &CommitId, path: &str) -> Result<Option<Vec<u8>>> {
        // Git reads a path that starts with a dot as relative to the current directory.
        if path.is_empty() || path.contains('\0') || path.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Ok(None);
        }
        // Both questions are answered in a fixed form, so that no message has to be read.
        let questions = format!("{commit}\0{commit}:{path}\0").into_bytes();
        let batch = self.command().args(["cat-file", "-z", "--batch"]).stdin_bytes(questions).run().await?;
        let Some((_, rest)) = parse_object(&batch.stdout).filter(|(object, _)| object.kind == "commit") else {
            return Err(Error::MissingRef { name: commit.to_string() });
        };
        Ok(parse_object(rest).filter(|(object, _)| object.kind == "blob").map(|(object, _)| object.content.to_vec()))
    }

    /// Those of the paths that a commit has.
    pub async fn load_existing_paths(&self, commit: &CommitId, paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
        // Answers come a line each, and one about a path with a line break would be more.
        let asked: Vec<&PathBuf> = paths.iter().filter(|path| !path.as_os_str().as_bytes().contains(&b'\n')).collect();
        if asked.is_empty() {
            return Ok(Vec::new());
        }
        let question =
            |path: &&PathBuf| [commit.as_str().as_bytes(), b":", path.as_os_str().as_bytes(), b"\0"].concat();
        let questions: Vec<u8> = asked.iter().flat_map(question).collect();
        let command = self.command().args(["cat-file", "-z", "--batch-check=%(objecttype)"]);
        let told = command.stdin_bytes(questions).run().await?.stdout;
        let answers = told.split(|byte| *byte == b'\n');
        let there = asked.into_iter().zip(answers).filter(|(_, answer)| !answer.contains(&b' '));
        Ok(there.map(|(path, _)| path.clone()).collect())
    }

    /// Git's names for the contents of a commit's files.
    pub async fn load_blobs(&self, commit: &CommitId) -> Result<BTreeSet<String>> {
        let command = self.command().args(["ls-tree", "-r", "-z", "--full-tree", commit.as_str()]);
        let told = command.run().await?.stdout;
        // <mode> <kind> <id>\t<path>
        let blob = |entry: &[u8]| {
            let words = std::str::from_utf8(entry.split(|byte| *byte == b'\t').next()?).ok()?;
            words.split(' ').nth(2).map(str::to_owned)
        };
        Ok(told.split(|byte| *byte == 0).filter_map(blob).collect())
    }

    /// The bytes of all files of a commit; submodules are not counted.
    pub async fn load_tree_bytes(&self, commit: &CommitId) -> Result<u64> {
        let command = self.command().args(["ls-tree", "-r", "-l", "-z", "--full-tree", commit.as_str()]);
        Ok(sum_sizes(&command.run().await?.stdout))
    }
}

struct Object<'a> {
    kind: &'a str,
    content: &'a [u8],
}

/// Reads `<id> <kind> <size>\n<content>\n`, and gives what follows; none where the object is missing.
fn parse_object(bytes: &[u8]) -> Option<(Object<'_>, &[u8])> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let header = std::str::from_utf8(&bytes[..end]).ok()?;
    let mut words = header.rsplitn(3, ' ');
    let (size, kind) = (words.next()?.parse::<usize>().ok()?, words.next()?);
    let rest = &bytes[end + 1..];
    let content = rest.get(..size)?;
    Some((Object { kind, content }, rest.get(size + 1..).unwrap_or_default()))
}

/// Adds up the sizes of `<mode> <kind> <id> <size>\t<path>\0`; a submodule's size is a dash.
fn sum_sizes(stdout: &[u8]) -> u64 {
    let size = |entry: &[u8]| {
        let tab = entry.iter().position(|byte| *byte == b'\t')?;
        let word = std::str::from_utf8(&entry[..tab]).ok()?.split_ascii_whitespace().nth(3)?;
        word.parse::<u64>().ok()
    };
    stdout.split(|byte| *byte == 0).filter_map(size).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sizes_add_up_without_submodules() {
        let id = "a".repeat(40);
        let stdout =
            format!("100644 blob {id}      10\ta b\0160000 commit {id}       -\tsub\0100755 blob {id}       5\tx\ty\0");
        assert_eq!(sum_sizes(stdout.as_bytes()), 15);
    }

    #[test]
    fn objects_follow_each_other() {
        let (object, rest) = parse_object(b"aa blob 3\nx\ny\nbb tree 0\n\n").unwrap();
        assert_eq!((object.kind, object.content), ("blob", b"x\ny".as_slice()));
        assert_eq!(parse_object(rest).unwrap().0.kind, "tree");
        assert!(parse_object(b"aa:x y missing\n").is_none());
    }

    proptest! {
        #[test]
        fn no_output_makes_it_panic(stdout in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = (sum_sizes(&stdout), parse_object(&stdout).is_some());
        }
    }
}
