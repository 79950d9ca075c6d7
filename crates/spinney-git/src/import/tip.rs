//! What a box's refs say: where the workspace's branch is, and what else there is.

use std::collections::BTreeSet;

use spinney_core::{BranchName, CommitId};

use crate::boxed::tree::BoxedTree;
use crate::import::finding::Finding;
use crate::import::refusal::Refusal;
use crate::jail::answer::ask;
use crate::refs::update::require_ref;
use crate::{Error, Result};

/// So many other refs are listed.
const LISTED: usize = 100;

/// Where the branch is in the box, with its other refs as findings.
pub(crate) async fn load(
    tree: &BoxedTree,
    branch: &BranchName,
    known: &BTreeSet<CommitId>,
) -> Result<(CommitId, Vec<Finding>)> {
    let command = tree.command()?.args(["for-each-ref", "--format=%(objectname) %(refname)"]);
    let listed = ask("the refs of a box", command).await?.stdout;
    let refs = parse(&listed);
    let own = branch.local_ref();
    let tip = refs.iter().find(|(name, _)| *name == own).map(|(_, commit)| commit.clone());
    let tip = tip.ok_or_else(|| Error::ImportRefused(Box::new(Refusal::NoBranch(branch.to_string()))))?;
    let is_other = |(name, commit): &&(String, CommitId)| {
        *name != own && *commit != tip && !name.starts_with("refs/remotes/") && !known.contains(commit)
    };
    let others: Vec<&String> = refs.iter().filter(is_other).map(|(name, _)| name).collect();
    let mut findings: Vec<Finding> =
        others.iter().take(LISTED).map(|name| Finding::OtherRef((*name).clone())).collect();
    if others.len() > LISTED {
        findings.push(Finding::MoreOtherRefs(others.len() - LISTED));
    }
    Ok((tip, findings))
}

/// Reads `<object> <name>`. A line that is none of this is no ref that could be ours.
fn parse(stdout: &[u8]) -> Vec<(String, CommitId)> {
    let line = |line: &[u8]| {
        let (object, name) = std::str::from_utf8(line).ok()?.split_once(' ')?;
        Some((require_ref(name).ok()?.to_owned(), object.parse().ok()?))
    };
    stdout.split(|byte| *byte == b'\n').filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hostile;

    #[test]
    fn only_whole_lines_are_refs() {
        let id = "a".repeat(40);
        let text = format!("{id} refs/heads/x\n{id} HEAD\nzz refs/heads/y\n{id} refs/heads/../z\n{id}\n");
        assert_eq!(parse(text.as_bytes()), [("refs/heads/x".to_owned(), id.parse().unwrap())]);
    }

    proptest! {
        #[test]
        fn no_output_makes_it_panic(stdout in hostile::output(&["refs/heads/x", "0123456789", "\n"])) {
            let _ = parse(&stdout);
        }
    }

    #[test]
    fn much_is_read_in_time() {
        hostile::assert_fast(&["refs/heads/x\n"], |stdout| drop(parse(stdout)));
    }
}
