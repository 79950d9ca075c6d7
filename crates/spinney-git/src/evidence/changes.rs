//! How much a branch changed.

use spinney_core::CommitId;

use crate::Result;
use crate::evidence::history::number;
use crate::repository::opened::Repository;

/// What a tip has that its base has not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Changes {
    pub commits: u64,
    pub files: u64,
    /// Lines; a binary file has none.
    pub insertions: u64,
    pub deletions: u64,
}

impl Repository {
    /// Counts what a tip changed since it left a base, as a pull request shows it: what came from the base by merging is
    /// not the tip's own, as far as the given base has it.
    pub async fn load_changes(&self, base: &CommitId, tip: &CommitId) -> Result<Changes> {
        if base == tip {
            return Ok(Changes::default());
        }
        let range = format!("{base}..{tip}");
        let count = self.command().args(["rev-list", "--count", &range]);
        let (count, fork) = tokio::join!(count.text(), self.load_merge_base(base, tip));
        let commits = number("git rev-list", &count?)?;
        // Without a common ancestor all that differs is the tip's own.
        let fork = fork?.unwrap_or_else(|| base.clone());
        let diff = self.command().args(["diff-tree", "-r", "-z", "--numstat", "--find-renames", "--no-ext-diff"]);
        let listed = diff.args([fork.as_str(), tip.as_str()]).run().await?.stdout;
        Ok(Changes { commits, ..sum(&listed) })
    }
}

/// Adds up `<insertions>\t<deletions>\t<path>\0`. A rename has no path there, but two after it.
fn sum(stdout: &[u8]) -> Changes {
    let mut changes = Changes::default();
    let mut entries = stdout.split(|byte| *byte == 0);
    while let Some(entry) = entries.next() {
        let mut fields = entry.splitn(3, |byte| *byte == b'\t');
        let (Some(insertions), Some(deletions), Some(path)) = (fields.next(), fields.next(), fields.next()) else {
            continue;
        };
        let lines =
            |field: &[u8]| std::str::from_utf8(field).ok().and_then(|text| text.parse::<u64>().ok()).unwrap_or(0);
        changes.files += 1;
        changes.insertions = changes.insertions.saturating_add(lines(insertions));
        changes.deletions = changes.deletions.saturating_add(lines(deletions));
        if path.is_empty() {
            entries.nth(1);
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn renames_and_binary_files_are_one_file_each() {
        let changes = sum(b"3\t1\ta\tb\n\x001\t1\t\0old\0new\0-\t-\tpicture\0");
        assert_eq!(changes, Changes { commits: 0, files: 3, insertions: 4, deletions: 2 });
    }

    proptest! {
        #[test]
        fn no_output_makes_it_panic(stdout in proptest::collection::vec(prop_oneof![Just(0u8), Just(b'\t'), Just(b'9'), any::<u8>()], 0..200)) {
            let _ = sum(&stdout);
        }
    }
}
