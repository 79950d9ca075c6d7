//! What the commits of a branch bring that is known nowhere else: files, and whether they are still on it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use spinney_core::CommitId;

use crate::evidence::history::{Unpushed, parse_subjects};
use crate::repository::opened::Repository;
use crate::{Error, Result};

/// How many commits are told by name.
const SHOWN: usize = 20;

/// A file as a commit has it, and its parents do not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Added {
    pub commit: CommitId,
    pub path: PathBuf,
    /// Git's name for its content.
    pub blob: String,
}

impl Repository {
    /// Lists the files that commits of `tip` add or change which none of `known` leads to. Every commit counts, not only
    /// what is left of it at the tip; a merge counts with what none of its parents has.
    pub async fn load_added(&self, tip: &CommitId, known: &[CommitId]) -> Result<Vec<Added>> {
        let list = self.command().args(["rev-list", "--reverse", "--stdin"]).stdin_bytes(beyond(tip, known));
        let commits = list.run().await?.stdout;
        if commits.is_empty() {
            return Ok(Vec::new());
        }
        let compare = ["diff-tree", "--stdin", "--root", "-r", "-c", "-z", "--raw", "--no-renames", "--no-abbrev"];
        let told = self.command().args(compare).arg("--no-ext-diff").stdin_bytes(commits).run().await?.stdout;
        parse_added(&told).ok_or_else(|| Error::Unexpected {
            command: "git diff-tree".to_owned(),
            detail: String::from_utf8_lossy(&told[..told.len().min(200)]).into_owned(),
        })
    }

    /// Counts the commits of `tip` that none of `known` leads to.
    pub async fn count_missing(&self, tip: &CommitId, known: &[CommitId]) -> Result<Unpushed> {
        let command = self.command().args(["rev-list", "--no-commit-header", "--format=%H %s", "--stdin"]);
        let told = command.stdin_bytes(beyond(tip, known)).text().await?;
        let mut first = parse_subjects(&told);
        let count = first.len() as u64;
        first.truncate(SHOWN);
        Ok(Unpushed { count, first })
    }
}

/// A commit without all that others lead to, as questions for `rev-list --stdin`.
fn beyond(tip: &CommitId, known: &[CommitId]) -> Vec<u8> {
    let known = known.iter().map(|commit| format!("^{commit}\n"));
    std::iter::once(format!("{tip}\n")).chain(known).collect::<String>().into_bytes()
}

/// Reads `<commit>\0`, and then for each file `:<mode> <mode> <blob> <blob> <status>\0<path>\0`; of a merge there are as
/// many colons, and one mode and blob more, as it has parents.
fn parse_added(stdout: &[u8]) -> Option<Vec<Added>> {
    let mut added = Vec::new();
    let mut commit: Option<CommitId> = None;
    let mut fields = stdout.split(|byte| *byte == 0).filter(|field| !field.is_empty());
    while let Some(field) = fields.next() {
        let text = std::str::from_utf8(field).ok()?.trim_start_matches('\n');
        let Some(entry) = text.strip_prefix(':') else {
            commit = Some(text.parse().ok()?);
            continue;
        };
        let parents = 1 + entry.bytes().take_while(|byte| *byte == b':').count();
        let words: Vec<&str> = entry.trim_start_matches(':').split(' ').collect();
        let (mode, blob) = (words.get(parents)?, words.get(2 * parents + 1)?);
        let path = PathBuf::from(OsStr::from_bytes(fields.next()?));
        // Neither what is gone nor another repository's commit is a content.
        if !matches!(*mode, "000000" | "160000") {
            added.push(Added { commit: commit.clone()?, path, blob: (*blob).to_owned() });
        }
    }
    Some(added)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_commits_and_merges_are_read() {
        let (one, two) = ("1".repeat(40), "2".repeat(40));
        let (a, b, c) = ("a".repeat(40), "b".repeat(40), "c".repeat(40));
        let told = format!(
            "{one}\0:000000 100644 {a} {b} A\0x y\0:100644 000000 {a} {b} D\0gone\0\
             {two}\0::100644 100644 100755 {a} {b} {c} MM\0merged\0"
        );
        let added = parse_added(told.as_bytes()).unwrap();
        let told: Vec<_> =
            added.iter().map(|one| (one.commit.as_str(), one.path.to_str().unwrap(), one.blob.as_str())).collect();
        assert_eq!(told, [(one.as_str(), "x y", b.as_str()), (two.as_str(), "merged", c.as_str())]);
        assert_eq!(parse_added(b":100644\0"), None);
        assert_eq!(parse_added(b""), Some(Vec::new()));
    }
}
