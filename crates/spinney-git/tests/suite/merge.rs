//! Evidence of a merge, from content.

use std::path::{Path, PathBuf};

use crate::common::Sandbox;
use spinney_core::{CommitId, EvidenceKind, Merge};

struct Story {
    sandbox: Sandbox,
    root: PathBuf,
    base_commit: CommitId,
}

impl Story {
    /// A repository whose branch `topic` has two commits on one file, and whose `main` is checked out.
    async fn new() -> Self {
        let sandbox = Sandbox::new().await;
        let root = sandbox.init("app");
        let base_commit = sandbox.commit(&root, "list", "one\ntwo\nthree\nfour\nfive\nsix\nseven\n");
        sandbox.run(&root, &["switch", "-q", "-c", "topic"]);
        sandbox.commit(&root, "list", "one\nTWO\nthree\nfour\nfive\nsix\nseven\n");
        sandbox.commit(&root, "list", "one\nTWO\nTHREE\nfour\nfive\nsix\nseven\n");
        sandbox.run(&root, &["switch", "-q", "main"]);
        Self { sandbox, root, base_commit }
    }

    fn run(&self, arguments: &[&str]) -> String {
        self.sandbox.run(&self.root, arguments)
    }

    fn commit(&self, content: &str) {
        self.sandbox.commit(&self.root, "list", content);
    }

    async fn merge(&self) -> Merge {
        let repository = self.sandbox.open(Path::new(&self.root)).await;
        let tip = repository.load_commit("topic").await.unwrap().unwrap();
        let base_tip = repository.load_commit("main").await.unwrap().unwrap();
        let left = || (self.run(&["for-each-ref"]), self.run(&["count-objects"]));
        let before = left();
        let merge = repository.load_merge(&tip, &base_tip, &self.base_commit).await.unwrap();
        assert_eq!(left(), before, "a question must change neither refs nor objects");
        merge
    }

    async fn kind(&self) -> Option<EvidenceKind> {
        match self.merge().await {
            Merge::Merged(evidence) => Some(evidence.kind),
            Merge::Unmerged { .. } => None,
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_branch_of_its_own_is_not_merged() {
    let story = Story::new().await;
    assert_eq!(story.kind().await, None);
    story.sandbox.commit(&story.root, "other", "x");
    assert_eq!(story.kind().await, None);
    story.run(&["merge", "-q", "--no-edit", "topic~1"]);
    assert_eq!(story.kind().await, None);
}

#[tokio::test]
async fn merges_and_fast_forwards() {
    let story = Story::new().await;
    story.sandbox.commit(&story.root, "other", "x");
    story.run(&["merge", "-q", "--no-ff", "--no-edit", "topic"]);
    assert_eq!(story.kind().await, Some(EvidenceKind::Ancestor));
    let story = Story::new().await;
    story.run(&["merge", "-q", "--ff-only", "topic"]);
    assert_eq!(story.kind().await, Some(EvidenceKind::Ancestor));
}

#[tokio::test]
async fn a_squash_of_several_commits() {
    let story = Story::new().await;
    story.sandbox.commit(&story.root, "other", "x");
    story.run(&["merge", "-q", "--squash", "topic"]);
    story.run(&["commit", "-q", "-m", "squashed"]);
    assert_eq!(story.kind().await, Some(EvidenceKind::AddsNothing));
    // The same lines change again: merging would conflict now.
    story.commit("one\nTWO!\nTHREE!\nfour\nfive\nsix\nseven\n");
    assert_eq!(story.kind().await, Some(EvidenceKind::Patch));
    story.commit("one\ntwo\nthree\nfour\nfive\nsix\nseven\n");
    assert_eq!(story.kind().await, Some(EvidenceKind::Patch));
}

#[tokio::test]
async fn a_squash_of_only_a_part_is_none() {
    let story = Story::new().await;
    story.run(&["merge", "-q", "--squash", "topic~1"]);
    story.run(&["commit", "-q", "-m", "squashed"]);
    assert_eq!(story.kind().await, None);
}

#[tokio::test]
async fn a_rebase_whose_lines_changed_since() {
    let story = Story::new().await;
    story.sandbox.commit(&story.root, "other", "x");
    story.run(&["cherry-pick", "topic~1", "topic"]);
    assert_eq!(story.kind().await, Some(EvidenceKind::AddsNothing));
    story.commit("one\nTWO!\nTHREE!\nfour\nfive\nsix\nseven\n");
    assert_eq!(story.kind().await, Some(EvidenceKind::Patch));
}

#[tokio::test]
async fn a_branch_without_commits_is_unstarted() {
    let story = Story::new().await;
    story.run(&["branch", "-f", "topic", story.base_commit.as_str()]);
    assert_eq!(story.merge().await, Merge::Unstarted);
    story.sandbox.commit(&story.root, "other", "x");
    assert_eq!(story.merge().await, Merge::Unstarted);
    story.run(&["branch", "-f", "topic", &format!("{}~1", story.base_commit)]);
    assert_eq!(story.merge().await, Merge::Unstarted);
}

#[tokio::test]
async fn unrelated_histories_are_not_merged() {
    let story = Story::new().await;
    story.run(&["checkout", "-q", "--orphan", "alone"]);
    story.run(&["commit", "-q", "-m", "alone"]);
    story.run(&["branch", "-f", "topic", "alone"]);
    story.run(&["switch", "-q", "main"]);
    assert!(matches!(story.merge().await, Merge::Unmerged { .. }));
}

#[tokio::test]
async fn a_missing_commit_is_an_error_and_never_merged() {
    let story = Story::new().await;
    let repository = story.sandbox.open(&story.root).await;
    let tip = repository.load_commit("topic").await.unwrap().unwrap();
    let gone = "1".repeat(40).parse().unwrap();
    assert!(repository.load_merge(&tip, &gone, &story.base_commit).await.is_err());
    assert!(repository.load_merge(&gone, &tip, &story.base_commit).await.is_err());
}

#[tokio::test]
async fn a_patch_that_differs_in_white_space_is_another() {
    let story = Story::new().await;
    story.commit("one\nTWO\n  THREE\nfour\nfive\nsix\nseven\n");
    assert_eq!(story.kind().await, None);
    // Commit by commit, too.
    let story = Story::new().await;
    story.commit("one\n TWO\nthree\nfour\nfive\nsix\nseven\n");
    story.commit("one\n TWO\n THREE\nfour\nfive\nsix\nseven\n");
    assert_eq!(story.kind().await, None);
}

#[tokio::test]
async fn a_merge_that_is_not_line_by_line_proves_nothing() {
    for (driver, setting) in [("union", None), ("ours", Some("merge.ours.driver")), ("mine", Some("merge.mine.driver"))]
    {
        let story = Story::new().await;
        if let Some(setting) = setting {
            story.run(&["config", setting, "true"]);
        }
        story.run(&["switch", "-q", "topic"]);
        story.commit("one\nthree\nfour\nfive\nsix\nseven\n");
        story.run(&["switch", "-q", "main"]);
        story.commit("one\n2\nthree\nfour\nfive\nsix\nseven\n");
        std::fs::write(story.root.join(".gitattributes"), format!("list merge={driver}\n")).unwrap();
        assert_eq!(story.kind().await, None, "{driver}");
    }
    let story = Story::new().await;
    story.run(&["config", "merge.default", "union"]);
    story.run(&["switch", "-q", "topic"]);
    story.commit("one\nthree\nfour\nfive\nsix\nseven\n");
    story.run(&["switch", "-q", "main"]);
    story.commit("one\n2\nthree\nfour\nfive\nsix\nseven\n");
    assert_eq!(story.kind().await, None);
}
