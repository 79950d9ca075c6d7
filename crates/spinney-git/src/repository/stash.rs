//! The stash: one stack for the whole repository, whichever worktree an entry was made in.

use spinney_core::CommitId;

use crate::Result;
use crate::repository::opened::Repository;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stash {
    pub commit: CommitId,
    /// The branch it was made on, as its message says; none when detached or when the message says nothing.
    pub branch: Option<String>,
    pub message: String,
}

impl Repository {
    /// Lists the stash, newest first.
    pub async fn load_stashes(&self) -> Result<Vec<Stash>> {
        if self.load_ref("refs/stash").await?.is_none() {
            return Ok(Vec::new());
        }
        let command = self.command().args(["log", "--walk-reflogs", "-z", "--format=%H %gs", "refs/stash", "--"]);
        Ok(parse_stashes(&command.run().await?.stdout))
    }
}

fn parse_stashes(stdout: &[u8]) -> Vec<Stash> {
    let text = String::from_utf8_lossy(stdout);
    let entry = |entry: &str| {
        let (commit, message) = entry.split_once(' ')?;
        let on = message.strip_prefix("WIP on ").or_else(|| message.strip_prefix("On "));
        let branch =
            on.and_then(|rest| rest.split_once(": ")).map(|(branch, _)| branch).filter(|name| *name != "(no branch)");
        Some(Stash {
            commit: commit.trim().parse().ok()?,
            branch: branch.map(str::to_owned),
            message: message.to_owned(),
        })
    };
    text.split('\0').filter_map(entry).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hostile;

    #[test]
    fn the_branch_is_read_off_the_message() {
        let id = "a".repeat(40);
        let text = format!(
            "{id} WIP on a/b: 123 x: y\0{id} On main: my words\0{id} WIP on (no branch): 1 x\0{id} autostash\0"
        );
        let branches: Vec<_> = parse_stashes(text.as_bytes()).into_iter().map(|stash| stash.branch).collect();
        assert_eq!(branches, [Some("a/b".to_owned()), Some("main".to_owned()), None, None]);
    }

    proptest! {
        #[test]
        fn no_output_makes_it_panic(stdout in hostile::output(&["WIP on ", "On ", "(no branch)", ": ", "autostash"])) {
            let _ = parse_stashes(&stdout);
        }

        #[test]
        fn what_git_writes_is_read_back(
            entries in proptest::collection::vec((hostile::commit(), "[a-z/]{1,9}", any::<bool>(), "[^\0]{0,30}"), 0..6)
        ) {
            let told = entries.iter().map(|(commit, branch, named, words)| {
                let message = format!("{} {branch}: {words}", if *named { "On" } else { "WIP on" });
                Stash { commit: commit.clone(), branch: Some(branch.clone()), message }
            });
            let stashes: Vec<Stash> = told.collect();
            let text: String = stashes.iter().map(|stash| format!("{} {}\0", stash.commit, stash.message)).collect();
            prop_assert_eq!(parse_stashes(text.as_bytes()), stashes);
        }
    }

    #[test]
    fn much_is_read_in_time() {
        hostile::assert_fast(&["WIP on ", "On a: "], |stdout| drop(parse_stashes(stdout)));
    }
}
