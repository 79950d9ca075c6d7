//! How commits stand to each other.

use serde::{Deserialize, Serialize};
use spinney_core::CommitId;

use crate::repository::opened::Repository;
use crate::{Error, Result};

/// How many commits are told by name.
const SHOWN: usize = 5;

/// Commits that no remote is known to have.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unpushed {
    pub count: u64,
    /// The newest of them with their subjects.
    pub first: Vec<(CommitId, String)>,
}

impl Repository {
    /// Counts the commits of a tip that no remote-tracking branch and no fetched pull request has, nor its base.
    pub async fn count_unpushed(&self, tip: &CommitId, base: &CommitId) -> Result<Unpushed> {
        let known = ["--not", "--remotes", "--glob=refs/spinney/pull/*", base.as_str()];
        let count = self.command().args(["rev-list", "--count", tip.as_str()]).args(known).text().await?;
        let count = number("git rev-list", &count)?;
        if count == 0 {
            return Ok(Unpushed::default());
        }
        let format = ["rev-list", "--no-commit-header", "--format=%H %s", tip.as_str()];
        let command = self.command().args(format).arg(format!("--max-count={SHOWN}")).args(known);
        Ok(Unpushed { count, first: parse_subjects(&command.text().await?) })
    }

    /// How many commits only `tip` has, and how many only `base` has.
    pub async fn load_ahead_behind(&self, tip: &CommitId, base: &CommitId) -> Result<(u64, u64)> {
        let range = format!("{tip}...{base}");
        let answer = self.command().args(["rev-list", "--left-right", "--count", &range]).text().await?;
        let (ahead, behind) = answer.split_once('\t').unwrap_or((&answer, ""));
        Ok((number("git rev-list", ahead)?, number("git rev-list", behind)?))
    }

    /// A best common ancestor; none where the histories are unrelated.
    pub async fn load_merge_base(&self, a: &CommitId, b: &CommitId) -> Result<Option<CommitId>> {
        let command = self.command().args(["merge-base", a.as_str(), b.as_str()]);
        Ok(command.accept(&[0, 1]).text().await?.lines().next().and_then(|line| line.parse().ok()))
    }

    /// Whether `ancestor` is `commit` itself or lies in its history.
    pub async fn is_ancestor(&self, ancestor: &CommitId, commit: &CommitId) -> Result<bool> {
        let command = self.command().args(["merge-base", "--is-ancestor", ancestor.as_str(), commit.as_str()]);
        Ok(command.accept(&[0, 1]).run().await?.status == 0)
    }
}

pub(crate) fn number(command: &str, text: &str) -> Result<u64> {
    text.trim()
        .parse()
        .map_err(|_| Error::Unexpected { command: command.to_owned(), detail: spinney_core::names::for_message(text) })
}

/// Reads lines of a commit and its subject.
pub(crate) fn parse_subjects(text: &str) -> Vec<(CommitId, String)> {
    let line = |line: &str| {
        let (commit, subject) = line.split_once(' ').unwrap_or((line, ""));
        Some((commit.parse().ok()?, subject.to_owned()))
    };
    text.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hostile;

    proptest! {
        #[test]
        fn what_git_writes_is_read_back(
            commits in proptest::collection::vec((hostile::commit(), "[^\r\n]{0,30}"), 0..6)
        ) {
            let text: String = commits.iter().map(|(commit, subject)| format!("{commit} {subject}\n")).collect();
            prop_assert_eq!(parse_subjects(&text), commits);
        }

        #[test]
        fn no_output_makes_it_panic(stdout in hostile::output(&["12", "\n"])) {
            let text = String::from_utf8_lossy(&stdout);
            let _ = (parse_subjects(&text), number("rev-list", &text));
        }
    }
}
