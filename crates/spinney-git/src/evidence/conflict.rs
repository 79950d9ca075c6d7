//! What a merge of two commits would end in, without any tree or index.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use spinney_core::CommitId;

use crate::repository::opened::Repository;
use crate::settings::executing::Runs;
use crate::{Error, Result};

/// How a merge would end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergeAttempt {
    Clean,
    /// With the files that a person would have to settle, sorted; git may find a conflict that is in no file.
    Conflicted {
        files: Vec<PathBuf>,
    },
}

impl Repository {
    /// Tries to merge two commits. The objects that this makes are unwanted: ask with [`Self::with_scratch_objects`].
    pub async fn attempt_merge(&self, ours: &CommitId, theirs: &CommitId) -> Result<MergeAttempt> {
        let command = self.command().running(Runs::MERGES).args([
            "merge-tree",
            "--write-tree",
            "--name-only",
            "--no-messages",
            "-z",
        ]);
        let merge = command.args([ours.as_str(), theirs.as_str()]).accept(&[0, 1]).run().await?;
        if merge.status == 0 {
            return Ok(MergeAttempt::Clean);
        }
        let files = parse_files(&merge.stdout, [ours, theirs]);
        files.map(|files| MergeAttempt::Conflicted { files }).ok_or_else(|| Error::Unexpected {
            command: "git merge-tree".to_owned(),
            detail: spinney_core::names::for_message(&String::from_utf8_lossy(&merge.stdout)),
        })
    }
}

/// Reads `<tree>\0` and `<file>\0` each. A file that a directory is in the way of is there as `<file>~<side>`.
fn parse_files(stdout: &[u8], sides: [&CommitId; 2]) -> Option<Vec<PathBuf>> {
    let mut fields = stdout.strip_suffix(b"\0")?.split(|byte| *byte == 0);
    let tree = fields.next()?;
    if tree.is_empty() || !tree.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let moved = sides.map(|side| format!("~{side}").into_bytes());
    let file = |field: &[u8]| {
        let field = moved.iter().find_map(|suffix| field.strip_suffix(suffix.as_slice())).unwrap_or(field);
        PathBuf::from(OsStr::from_bytes(field))
    };
    let mut files: Vec<PathBuf> = fields.filter(|field| !field.is_empty()).map(file).collect();
    files.sort();
    files.dedup();
    Some(files)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn side(digit: &str) -> CommitId {
        digit.repeat(40).parse().unwrap()
    }

    #[test]
    fn files_are_read_and_moved_ones_named_as_they_were() {
        let (a, b) = (side("a"), side("b"));
        let text = format!("{a}\0z\nz\0d~{b}\0d~{}\0", side("c"));
        let files = parse_files(text.as_bytes(), [&a, &b]).unwrap();
        assert_eq!(files, [PathBuf::from("d"), format!("d~{}", side("c")).into(), "z\nz".into()]);
        assert_eq!(parse_files(format!("{a}\0").as_bytes(), [&a, &b]), Some(Vec::new()));
        assert_eq!(parse_files(b"no tree\0x\0", [&a, &b]), None);
    }

    proptest! {
        #[test]
        fn no_output_makes_it_panic(stdout in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = parse_files(&stdout, [&side("a"), &side("b")]);
        }
    }
}
