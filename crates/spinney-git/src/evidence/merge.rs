//! Whether a branch is merged, judged by content.
//!
//! 1. No commit since the recorded base commit: *unstarted*. A fresh branch at base's tip would pass every check below.
//! 2. The tip is in base's history: a merge or a fast-forward. A branch that only followed base, without a commit of
//!    its own, looks the same: nothing in the graph tells them apart, and nothing of it can be lost.
//! 3. Merging it into base would change nothing: a squash or a rebase, and base did not touch those lines since.
//! 4. Its patch is in base, as one commit or commit by commit: a squash or a rebase, and base changed the lines since.
//!
//! Objects are made for 3 and 4 (a tree, a commit), beside the repository's own, and go with the question.

use std::collections::{BTreeMap, BTreeSet};

use spinney_core::{CommitId, Evidence, EvidenceKind, Merge};

use crate::pin::keep::identity;
use crate::repository::opened::Repository;
use crate::settings::executing::Runs;
use crate::{Error, Result};

impl Repository {
    /// Says how a branch stands to its base. What can't be found out is an error or `Unknown`, never `Merged`.
    pub async fn load_merge(&self, tip: &CommitId, base_tip: &CommitId, base_commit: &CommitId) -> Result<Merge> {
        if tip == base_commit {
            return Ok(Merge::Unstarted);
        }
        let (unstarted, fork) = tokio::join!(self.is_ancestor(tip, base_commit), self.load_merge_base(tip, base_tip));
        if unstarted? {
            return Ok(Merge::Unstarted);
        }
        let Some(fork) = fork? else {
            let detail = "it shares no history with base".to_owned();
            return Ok(Merge::Unmerged { base: base_tip.clone(), detail });
        };
        if fork == *tip {
            return Ok(merged(EvidenceKind::Ancestor, format!("`{}` is in the history of base", tip.short())));
        }
        match self.with_scratch_objects()?.look_for_content(tip, base_tip, &fork).await {
            Ok(Some(evidence)) => Ok(Merge::Merged(evidence)),
            Ok(None) => {
                let detail = format!("base at `{}` has neither its commits nor its changes", base_tip.short());
                Ok(Merge::Unmerged { base: base_tip.clone(), detail })
            }
            Err(Error::Timeout { after, .. }) => {
                Ok(Merge::Unknown { detail: format!("comparing it with base took longer than {}s", after.as_secs()) })
            }
            Err(error) => Err(error),
        }
    }

    async fn look_for_content(&self, tip: &CommitId, base_tip: &CommitId, fork: &CommitId) -> Result<Option<Evidence>> {
        if self.adds_nothing(tip, base_tip, fork).await? {
            let detail = format!("merging it into base at `{}` would change nothing", base_tip.short());
            return Ok(Some(Evidence { kind: EvidenceKind::AddsNothing, detail }));
        }
        if let Some(commit) = self.find_squashed(tip, base_tip, fork).await? {
            let detail = format!("base has its whole patch as `{}`", commit.short());
            return Ok(Some(Evidence { kind: EvidenceKind::Patch, detail }));
        }
        if self.is_rebased(tip, base_tip, fork).await? {
            let detail = "base has the patch of each of its commits".to_owned();
            return Ok(Some(Evidence { kind: EvidenceKind::Patch, detail }));
        }
        Ok(None)
    }

    async fn adds_nothing(&self, tip: &CommitId, base_tip: &CommitId, fork: &CommitId) -> Result<bool> {
        let command = self.command().running(Runs::MERGES).args(["merge-tree", "--write-tree", "--no-messages", "-z"]);
        let merge = command.args([base_tip.as_str(), tip.as_str()]).accept(&[0, 1]).run();
        let (merge, base_tree) = tokio::join!(merge, self.load_tree(base_tip));
        let (merge, base_tree) = (merge?, base_tree?);
        if merge.status != 0 {
            return Ok(false);
        }
        let text = String::from_utf8_lossy(&merge.stdout).into_owned();
        let is_same = text.split(['\0', '\n']).next().unwrap_or_default() == base_tree;
        Ok(is_same && !self.has_merge_drivers(tip, fork).await?)
    }

    /// Whether a path that a branch changed is merged in another way than line by line: `union`, `ours` and their like make
    /// what base has of what it never had.
    async fn has_merge_drivers(&self, tip: &CommitId, fork: &CommitId) -> Result<bool> {
        let configured = self.command().args(["config", "--get", "merge.default"]).accept(&[0, 1]).text().await?;
        if !matches!(configured.as_str(), "" | "text" | "binary") {
            return Ok(true);
        }
        let compare = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", fork.as_str(), tip.as_str()];
        let paths = self.command().args(compare).run().await?.stdout;
        let command = self.command().args(["check-attr", "-z", "--stdin", "merge"]).stdin_bytes(paths);
        let told = command.run().await?.stdout;
        let values = told.split(|byte| *byte == 0).skip(2).step_by(3);
        let is_plain = |value: &[u8]| matches!(value, b"unspecified" | b"set" | b"unset" | b"text" | b"binary");
        Ok(values.into_iter().any(|value| !is_plain(value)))
    }

    /// The patch of each commit, to the byte: git's own comparison leaves white space out.
    async fn load_exact_patches(&self, commits: &[&str]) -> Result<BTreeMap<String, Vec<u8>>> {
        let mut questions = commits.join("\n");
        questions.push('\n');
        let compare = ["diff-tree", "--stdin", "--root", "-r", "-p", "--binary", "--full-index", "--no-renames"];
        let command = self.command().args(compare).args(["--no-ext-diff", "--no-textconv", "--no-color", "-U3"]);
        let told = command.stdin_bytes(questions.into_bytes()).run().await?.stdout;
        Ok(parse_patches(&told, commits))
    }

    /// The commit of base that has the branch's whole patch.
    async fn find_squashed(&self, tip: &CommitId, base_tip: &CommitId, fork: &CommitId) -> Result<Option<CommitId>> {
        let tree = self.load_tree(tip).await?;
        let command =
            identity(self.command()).args(["commit-tree", "-m", "the whole branch", "-p", fork.as_str(), &tree]);
        let whole = command.text().await?;
        let range = format!("{base_tip}...{whole}");
        let marked =
            self.command().args(["rev-list", "--cherry-mark", "--left-right", "--no-merges", &range]).text().await?;
        // Both sides of a pair are marked; those that are not ours are base's.
        let pair: Vec<&str> = marked.lines().filter_map(|line| line.strip_prefix('=')).collect();
        if !pair.contains(&whole.as_str()) {
            return Ok(None);
        }
        let patches = self.load_exact_patches(&pair).await?;
        let own = patches.get(&whole);
        let is_it = |commit: &&&str| **commit != whole && own.is_some() && patches.get(**commit) == own;
        Ok(pair.iter().find(is_it).and_then(|commit| commit.parse().ok()))
    }

    /// Whether base has each single patch of the branch. A merge in the branch may hold changes of its own: then no.
    async fn is_rebased(&self, tip: &CommitId, base_tip: &CommitId, fork: &CommitId) -> Result<bool> {
        let own = format!("{base_tip}..{tip}");
        if !self.command().args(["rev-list", "--merges", "--max-count=1", &own]).text().await?.is_empty() {
            return Ok(false);
        }
        let marks = self.command().args(["cherry", base_tip.as_str(), tip.as_str(), fork.as_str()]).text().await?;
        if marks.is_empty() || !marks.lines().all(|line| line.starts_with("- ")) {
            return Ok(false);
        }
        let own: Vec<&str> = marks.lines().filter_map(|line| line.strip_prefix("- ")).collect();
        let range = format!("{base_tip}...{tip}");
        let marked = self.command().args(["rev-list", "--cherry-mark", "--left-right", "--no-merges", &range]);
        let marked = marked.text().await?;
        let pairs: Vec<&str> = marked.lines().filter_map(|line| line.strip_prefix('=')).collect();
        let patches = self.load_exact_patches(&pairs).await?;
        let theirs: BTreeSet<&Vec<u8>> =
            patches.iter().filter(|(commit, _)| !own.contains(&commit.as_str())).map(|(_, patch)| patch).collect();
        Ok(own.iter().all(|commit| patches.get(*commit).is_some_and(|patch| theirs.contains(patch))))
    }

    /// The tree of a commit.
    pub async fn load_tree(&self, commit: &CommitId) -> Result<String> {
        self.command().args(["rev-parse", "--verify", "--end-of-options", &format!("{commit}^{{tree}}")]).text().await
    }
}

/// Reads the patches that follow the names of their commits, without the names of blobs and the numbers of lines: base may
/// have changed other parts of the same files.
fn parse_patches(stdout: &[u8], commits: &[&str]) -> BTreeMap<String, Vec<u8>> {
    let mut patches: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut patch = None;
    for line in stdout.split_inclusive(|byte| *byte == b'\n') {
        let text = line.strip_suffix(b"\n").unwrap_or(line);
        if let Some(commit) = commits.iter().find(|commit| commit.as_bytes() == text) {
            patch = Some(patches.entry((*commit).to_owned()).or_default());
        } else if let Some(patch) = &mut patch
            && !text.starts_with(b"index ")
        {
            patch.extend_from_slice(if text.starts_with(b"@@ ") { b"@@\n" } else { line });
        }
    }
    patches
}

fn merged(kind: EvidenceKind, detail: String) -> Merge {
    Merge::Merged(Evidence { kind, detail })
}
