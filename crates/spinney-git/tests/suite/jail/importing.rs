//! What an honest agent, and a host that imports its work, can rely on.

use std::fs;
use std::path::PathBuf;

use spinney_git::{BoxPlaces, BoxedTree, Error, Finding, Head, Identity, Import, JailLimits, ObjectFormat, Refusal};

use super::fixture::{ALL, Boxed};
use crate::common::{Sandbox, until};

#[tokio::test]
async fn commits_of_a_box_come_onto_the_branch_and_the_index_follows() {
    let boxed = Boxed::new().await;
    assert!(boxed.tree.load_status(&ALL).await.unwrap().is_clean());
    boxed.commit("a", "a\n");
    let tip = boxed.commit("dir/b", "b\n");
    let imported = boxed.import().await.unwrap();
    assert_eq!((&imported.from, &imported.to, imported.commits), (&boxed.base, &tip, 2));
    assert_eq!((imported.findings, imported.held), (vec![], vec![]));
    assert_eq!(boxed.host_tip().await, tip);
    let head = boxed.worktree.load_head().await.unwrap();
    assert_eq!(head, Head::Branch { name: boxed.branch.clone(), commit: Some(tip.clone()) });
    assert_eq!(boxed.repository.count_staged(boxed.worktree.admin_dir(), "HEAD").await.unwrap(), 0);
    let log = boxed.sandbox.run(boxed.repository.common_dir(), &["reflog", "show", "--format=%gs", "work"]);
    assert!(log.starts_with("import: what a box made"), "{log}");
    boxed.assert_repository_is_whole();

    let again = boxed.import().await.unwrap();
    assert_eq!((&again.from, &again.to, again.commits), (&tip, &tip, 2));
    let packs = || fs::read_dir(boxed.repository.common_dir().join("objects/pack")).unwrap().count();
    let before = packs();
    boxed.import().await.unwrap();
    assert_eq!(packs(), before, "what is there is not taken in twice");
}

#[tokio::test]
async fn questions_tell_what_the_agent_did() {
    let boxed = Boxed::new().await;
    boxed.commit("committed", "x\n");
    fs::write(boxed.path().join("README.md"), "changed\n").unwrap();
    fs::write(boxed.path().join("new"), "new\n").unwrap();
    let status = boxed.tree.load_status(&ALL).await.unwrap();
    assert_eq!((status.changes.len(), status.untracked.len()), (1, 1));
    let paths = boxed.tree.load_changed_paths(&boxed.base).await.unwrap();
    assert_eq!(paths, ["README.md", "committed", "new"].map(PathBuf::from).into());
    let patch = boxed.tree.load_patch(&boxed.base, 1 << 20).await.unwrap();
    assert!(patch.text.contains("+changed") && patch.text.contains("b/committed") && !patch.truncated);
    assert!(boxed.tree.load_patch(&boxed.base, 20).await.unwrap().truncated);
}

#[tokio::test]
async fn what_is_left_over_is_committed_without_a_write_into_the_box() {
    let boxed = Boxed::new().await;
    let tip = boxed.commit("dir/gone", "x\n");
    fs::rename(boxed.path().join("dir"), boxed.sandbox.path("aside")).unwrap();
    fs::write(boxed.path().join("dir"), "a file where a directory was\n").unwrap();
    fs::write(boxed.path().join("README.md"), "changed\n").unwrap();
    fs::write(boxed.path().join("kept back"), "x\n").unwrap();
    fs::write(boxed.path().join("staged"), "x\n").unwrap();
    boxed.agent(&["add", "staged"]);
    let found = boxed.tree.load_left_over(&boxed.branch).await.unwrap();
    let wanted = ["README.md", "dir", "dir/gone"].map(PathBuf::from);
    let agent = Identity { name: "An Agent".into(), email: "agent@example.invalid".into() };
    let index = fs::read(boxed.git_dir().join("index")).unwrap();
    let commit = boxed.tree.commit_left_over(&boxed.repository, &found, &wanted, "left over", &agent).await;
    let commit = commit.unwrap().unwrap();
    let import = Import { left_over: Some(&commit), ..boxed.import_of(&[]) };
    let imported = boxed.worktree.import(&import).await.unwrap();
    assert_eq!((imported.to.clone(), imported.commits), (commit.commit.clone(), 2));
    let parent = boxed.repository.load_commit(&format!("{}^", imported.to)).await.unwrap();
    assert_eq!(parent.as_ref(), Some(&tip));
    let listed = boxed.sandbox.run(boxed.repository.common_dir(), &["ls-tree", "-r", "--name-only", "work"]);
    assert_eq!(listed, "README.md\ndir");
    let by = boxed.sandbox.run(boxed.repository.common_dir(), &["log", "-1", "--format=%an %cn %s", "work"]);
    assert_eq!(by, "An Agent An Agent left over");
    assert_eq!(boxed.agent(&["rev-parse", "work"]), tip.to_string(), "the box's branch stays where it was");
    assert_eq!(fs::read(boxed.git_dir().join("index")).unwrap(), index);
    drop(commit);
    boxed.assert_repository_is_whole();
}

#[tokio::test]
async fn what_nobody_but_its_author_can_end_is_not_committed() {
    let boxed = Boxed::new().await;
    boxed.commit("a", "a\n");
    fs::write(boxed.git_dir().join("MERGE_HEAD"), format!("{}\n", boxed.base)).unwrap();
    let error = boxed.tree.load_left_over(&boxed.branch).await.unwrap_err();
    assert!(matches!(error, Error::OperationInProgress { operation: "merge", .. }), "{error:?}");
    fs::remove_file(boxed.git_dir().join("MERGE_HEAD")).unwrap();
    boxed.agent(&["checkout", "-q", "-b", "elsewhere"]);
    let error = boxed.tree.load_left_over(&boxed.branch).await.unwrap_err();
    assert!(matches!(error, Error::Refused { .. }), "{error:?}");
}

#[tokio::test]
async fn only_its_own_branch_moves_whatever_refs_a_box_makes_up() {
    let boxed = Boxed::new().await;
    let refs = || boxed.sandbox.run(boxed.repository.common_dir(), &["for-each-ref"]);
    let before = refs();
    let tip = boxed.commit("a", "a\n");
    let other = boxed.agent(&["commit-tree", "-p", "work", "-m", "another", "work^{tree}"]);
    for name in
        ["refs/heads/main", "refs/heads/another", "refs/tags/v1", "refs/spinney/rescue/x", "refs/remotes/origin/main"]
    {
        boxed.set_ref(name, &other);
    }
    boxed.set_ref("refs/heads/evil name", &other);
    fs::write(boxed.git_dir().join("refs/heads/symbolic"), "ref: refs/heads/main\n").unwrap();
    let imported = boxed.import().await.unwrap();
    assert_eq!(imported.to, tip);
    for name in ["refs/heads/main", "refs/heads/another", "refs/tags/v1", "refs/spinney/rescue/x"] {
        assert!(imported.findings.contains(&Finding::OtherRef(name.to_owned())), "{name}: {:?}", imported.findings);
    }
    assert!(!boxed.has_object(&other));
    let after = refs();
    let changed: Vec<&str> = after.lines().filter(|line| !before.lines().any(|known| known == *line)).collect();
    assert_eq!(changed, [format!("{tip} commit\trefs/heads/work")]);
    boxed.ask_everything().await.assert_answered();
}

#[tokio::test]
async fn a_branch_that_was_rewritten_is_told_and_nothing_of_it_is_lost() {
    let boxed = Boxed::new().await;
    let first = boxed.commit("a", "a\n");
    boxed.import().await.unwrap();
    boxed.agent(&["commit", "-q", "--amend", "-m", "another message"]);
    let imported = boxed.import().await.unwrap();
    assert_eq!(imported.findings, [Finding::Rewritten(first.clone())]);
    let log = boxed.sandbox.run(boxed.repository.common_dir(), &["reflog", "show", "--format=%H", "work"]);
    assert!(log.lines().any(|line| line == first.as_str()));
}

#[tokio::test]
async fn a_branch_that_is_gone_or_moved_meanwhile_is_refused() {
    let boxed = Boxed::new().await;
    boxed.commit("a", "a\n");
    let theirs =
        boxed.sandbox.run(boxed.repository.common_dir(), &["commit-tree", "-m", "x", "-p", "work", "work^{tree}"]);
    boxed.sandbox.run(boxed.repository.common_dir(), &["update-ref", "refs/heads/work", &theirs]);
    let imported = boxed.import().await.unwrap();
    assert_eq!(imported.findings, [Finding::Rewritten(theirs.parse().unwrap())]);
    fs::remove_file(boxed.git_dir().join("refs/heads/work")).unwrap();
    fs::write(boxed.git_dir().join("packed-refs"), "").unwrap();
    match boxed.import().await.unwrap_err() {
        Error::ImportRefused(refusal) => assert_eq!(*refusal, Refusal::NoBranch("work".to_owned())),
        error => panic!("{error:?}"),
    }
}

#[tokio::test]
async fn a_fresh_private_git_dir_has_what_only_the_branch_has() {
    let boxed = Boxed::new().await;
    let tip = boxed.commit("a", "a\n");
    boxed.import().await.unwrap();
    let again = boxed.sandbox.path("boxes/2/git");
    let places = BoxPlaces::default();
    boxed.worktree.write_private_git_dir(&again, &boxed.mirror, &places, &boxed.branch, &tip).await.unwrap();
    let tree = BoxedTree::new(&boxed.jail, boxed.path(), &again, &boxed.mirror, &places);
    let status = tree.load_status(&ALL).await.unwrap();
    assert!(status.is_clean() && status.head.as_ref() == Some(&tip), "{status:?}");
    let taken = boxed.worktree.write_private_git_dir(&again, &boxed.mirror, &places, &boxed.branch, &tip).await;
    assert!(matches!(taken.unwrap_err(), Error::PathExists { .. }));
}

#[tokio::test]
async fn what_the_mirror_has_and_the_repository_lost_is_not_built_upon() {
    let boxed = Boxed::new().await;
    let clone = boxed.repository.root().unwrap().to_owned();
    boxed.sandbox.commit(&clone, "pushed", "pushed\n");
    boxed.sandbox.run(&clone, &["push", "-q", "origin", "HEAD:topic"]);
    boxed.mirror.update(&boxed.repository, Some("origin"), &[]).await.unwrap();
    boxed.sandbox.run(&clone, &["reset", "-q", "--hard", "HEAD~1"]);
    boxed.sandbox.run(&clone, &["push", "-q", "origin", ":topic"]);
    boxed.sandbox.run(&clone, &["reflog", "expire", "--expire=now", "--all"]);
    boxed.sandbox.run(&clone, &["gc", "-q", "--prune=now"]);
    let topic = boxed.sandbox.run(boxed.mirror.path(), &["rev-parse", "topic"]);
    assert!(!boxed.has_object(&topic));
    boxed.agent(&["reset", "-q", "--soft", &topic]);
    boxed.commit("a", "a\n");
    let error = boxed.import().await.unwrap_err();
    assert!(matches!(error, Error::MissingObjects { .. } | Error::MissingRef { .. }), "{error:?}");
    assert_eq!(boxed.host_tip().await, boxed.base);
    boxed.assert_repository_is_whole();
}

#[tokio::test]
async fn a_file_that_is_too_large_for_the_jail_is_not_committed() {
    let boxed = Boxed::new().await;
    let noise: Vec<u8> = (0..100_000u64).flat_map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes()).collect();
    fs::write(boxed.path().join("noise"), noise).unwrap();
    let jail = boxed.jail.with_limits(JailLimits { file_bytes: 100_000, ..*boxed.jail.limits() });
    let tree = BoxedTree::new(&jail, boxed.path(), boxed.git_dir(), &boxed.mirror, &BoxPlaces::default());
    let found = tree.load_left_over(&boxed.branch).await.unwrap();
    let agent = Identity { name: "An Agent".into(), email: "agent@example.invalid".into() };
    let commit = tree.commit_left_over(&boxed.repository, &found, &found.changed, "noise", &agent).await;
    assert!(matches!(commit.unwrap_err(), Error::Unverifiable { .. }));
    boxed.assert_repository_is_whole();
    assert_eq!(boxed.commit_left_over().await.unwrap().unwrap().commits, 1);
}

#[tokio::test]
async fn a_mirror_grows_and_has_only_what_the_remote_reaches() {
    let boxed = Boxed::new().await;
    let own = boxed.sandbox.add(&boxed.repository, "own").await;
    let own = boxed.sandbox.commit(own.path(), "own", "own\n");
    let clone = boxed.repository.root().unwrap().to_owned();
    let pushed = boxed.sandbox.commit(&clone, "pushed", "pushed\n");
    boxed.sandbox.run(&clone, &["push", "-q", "origin", "HEAD:topic"]);
    let has = |commit: &str| boxed.sandbox.try_run(boxed.mirror.path(), &["cat-file", "-e", commit]).0;
    boxed.mirror.update(&boxed.repository, Some("origin"), &[]).await.unwrap();
    assert!(has(pushed.as_str()) && !has(own.as_str()));
    // A branch that goes makes way for one that could not stand beside it, and its commits stay.
    boxed.sandbox.run(&clone, &["push", "-q", "origin", ":topic", "HEAD~1:refs/heads/topic/below"]);
    boxed.sandbox.run(&clone, &["fetch", "-q", "--prune", "origin"]);
    boxed.mirror.update(&boxed.repository, Some("origin"), &[]).await.unwrap();
    let refs = boxed.sandbox.run(boxed.mirror.path(), &["for-each-ref", "--format=%(refname)"]);
    assert!(refs.contains("refs/heads/topic/below") && refs.contains(&format!("refs/spinney/seen/{pushed}")), "{refs}");
    assert!(!refs.lines().any(|name| name == "refs/heads/topic") && has(pushed.as_str()));
}

#[tokio::test]
async fn a_repository_with_longer_names_of_objects_works_the_same() {
    let sandbox = Sandbox::new().await;
    sandbox.run(&sandbox.path(""), &["config", "--global", "init.defaultObjectFormat", "sha256"]);
    let boxed = Boxed::of(sandbox, "long").await;
    if ObjectFormat::of(&boxed.base) == ObjectFormat::Sha1 {
        // This git makes such repositories by an option alone.
        return;
    }
    fs::write(boxed.path().join("new"), "new\n").unwrap();
    boxed.commit("a", "a\n");
    boxed.ask_everything().await.assert_answered();
}

#[tokio::test]
async fn a_branch_that_moves_meanwhile_stays_where_it_was_moved_to() {
    let boxed = Boxed::new().await;
    boxed.commit("a", "a\n");
    let common_dir = boxed.repository.common_dir();
    let theirs = boxed.sandbox.run(common_dir, &["commit-tree", "-m", "x", "-p", "work", "work^{tree}"]);
    let lock = boxed.repository.lock("a test").await.unwrap();
    let meanwhile = async {
        let is_under_way = || {
            let names = fs::read_dir(boxed.repository.state_dir()).unwrap().flatten().map(|entry| entry.file_name());
            names.into_iter().any(|name| name.to_string_lossy().starts_with("import-"))
        };
        until("the import is under way", is_under_way).await;
        boxed.sandbox.run(common_dir, &["update-ref", "refs/heads/work", &theirs]);
        drop(lock);
    };
    let (imported, ()) = tokio::join!(boxed.import(), meanwhile);
    let error = imported.unwrap_err();
    assert!(matches!(&error, Error::RefMoved { name } if name == "refs/heads/work"), "{error:?}");
    assert_eq!(boxed.host_tip().await.as_str(), theirs);
    boxed.assert_repository_is_whole();
}

#[tokio::test]
async fn a_worktree_that_is_on_another_branch_is_left_alone() {
    let boxed = Boxed::new().await;
    boxed.commit("a", "a\n");
    boxed.sandbox.run(boxed.path(), &["checkout", "-q", "-b", "elsewhere"]);
    let error = boxed.import().await.unwrap_err();
    assert!(matches!(error, Error::Refused { .. }), "{error:?}");
    assert_eq!(boxed.host_tip().await, boxed.base);
}
