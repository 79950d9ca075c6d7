//! Refs: read by their full names, changed by their old values.

use crate::common::{Sandbox, branch};
use spinney_git::Error;

#[tokio::test]
async fn revisions_name_commits_and_hostile_ones_nothing() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init("app");
    let head = sandbox.head(&root);
    sandbox.run(&root, &["tag", "-a", "-m", "x", "v1"]);
    let repository = sandbox.open(&root).await;
    for revision in ["HEAD", "main", "v1", "refs/heads/main", &head.as_str()[..10], "HEAD~0"] {
        assert_eq!(repository.load_commit(revision).await.unwrap().as_ref(), Some(&head), "{revision}");
    }
    let mark = sandbox.path("mark");
    let output = format!("--output={}", mark.display());
    let long = "x".repeat(10_000);
    let hostile = [
        "",
        "--all",
        "--git-dir",
        &output,
        "-h",
        "^HEAD",
        "nothing",
        "HEAD~99",
        "a\nb",
        "@{u}",
        "HEAD:README.md",
        &long,
        "🎉",
        "..",
        "x..y",
    ];
    for revision in hostile {
        assert_eq!(repository.load_commit(revision).await.unwrap(), None, "{revision}");
    }
    assert!(!mark.exists());
}

#[tokio::test]
async fn a_ref_is_only_found_by_its_full_name() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init("app");
    sandbox.run(&root, &["update-ref", "refs/heads/refs/heads/x", "HEAD"]);
    let repository = sandbox.open(&root).await;
    sandbox.run(&root, &["update-ref", "refs/heads/deep/er", "HEAD"]);
    assert_eq!(repository.load_branch(&branch("x")).await.unwrap(), None);
    assert_eq!(repository.load_branch(&branch("deep")).await.unwrap(), None);
    assert!(repository.load_branch(&branch("main")).await.unwrap().is_some());
    assert!(repository.load_ref("refs/stash").await.unwrap().is_none());
    assert!(matches!(repository.load_ref("main").await.unwrap_err(), Error::Refused { .. }));
}

#[tokio::test]
async fn directory_and_file_conflicts_are_seen_before() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init("app");
    sandbox.run(&root, &["branch", "agent/coder"]);
    sandbox.run(&root, &["branch", "deep/er/branch"]);
    let repository = sandbox.open(&root).await;
    let conflict = async |name: &str| repository.branch_conflict(&branch(name)).await.unwrap();
    assert_eq!(conflict("agent/coder/issue-1").await.as_deref(), Some("agent/coder"));
    assert_eq!(conflict("deep").await.as_deref(), Some("deep/er/branch"));
    for name in ["agent/coder", "agent/coder2", "agent/cod", "other", "deep/er/branch2"] {
        assert_eq!(conflict(name).await, None, "{name}");
    }
}

#[tokio::test]
async fn refs_change_only_by_their_old_value() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init("app");
    let first = sandbox.head(&root);
    let second = sandbox.commit(&root, "b", "b");
    let repository = sandbox.open(&root).await;
    let lock = repository.lock("a test").await.unwrap();
    let name = "refs/spinney/rescue/x";
    repository.update_ref(&lock, name, &first, None).await.unwrap();
    let error = repository.update_ref(&lock, name, &second, None).await.unwrap_err();
    assert!(matches!(&error, Error::RefMoved { name } if name == "refs/spinney/rescue/x"), "{error:?}");
    let error = repository.update_ref(&lock, name, &first, Some(&second)).await.unwrap_err();
    assert!(matches!(error, Error::RefMoved { .. }), "{error:?}");
    repository.update_ref(&lock, name, &second, Some(&first)).await.unwrap();
    assert!(matches!(repository.delete_ref(&lock, name, &first).await.unwrap_err(), Error::RefMoved { .. }));
    repository.delete_ref(&lock, name, &second).await.unwrap();
    assert_eq!(repository.load_ref(name).await.unwrap(), None);
    let error = repository.update_ref(&lock, "refs/heads/main/x", &first, None).await.unwrap_err();
    assert!(matches!(&error, Error::RefConflict { existing, .. } if existing == "refs/heads/main"), "{error:?}");
}

#[tokio::test]
async fn an_empty_repository_has_no_commits() {
    let sandbox = Sandbox::new().await;
    let path = sandbox.path("empty");
    sandbox.run(&sandbox.path(""), &["init", "-q", path.to_str().unwrap()]);
    let repository = sandbox.open(&path).await;
    assert!(repository.is_unborn().await.unwrap() && !repository.has_commits().await.unwrap());
    assert_eq!(repository.load_commit("HEAD").await.unwrap(), None);
    assert_eq!(repository.load_worktrees().await.unwrap()[0].head, None);
    sandbox.commit(&path, "a", "a");
    assert!(!repository.is_unborn().await.unwrap() && repository.has_commits().await.unwrap());
}

#[tokio::test]
async fn contents_of_commits() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init("app");
    let head = sandbox.commit(&root, "dir/my file", "x\0y\n");
    let repository = sandbox.open(&root).await;
    assert_eq!(repository.load_file(&head, "dir/my file").await.unwrap().as_deref(), Some(b"x\0y\n".as_slice()));
    for path in ["", "dir", "missing", "../x", "-p", "a\nb"] {
        assert_eq!(repository.load_file(&head, path).await.unwrap(), None, "{path}");
    }
    let gone = "1".repeat(40).parse().unwrap();
    assert!(matches!(repository.load_file(&gone, "a").await.unwrap_err(), Error::MissingRef { .. }));
    assert_eq!(repository.load_tree_bytes(&head).await.unwrap(), 6 + 4);
}

#[tokio::test]
async fn stashes_tell_their_branch() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init("app");
    let repository = sandbox.open(&root).await;
    assert!(repository.load_stashes().await.unwrap().is_empty());
    for (content, message) in [("one", None), ("two", Some("my words"))] {
        std::fs::write(root.join("README.md"), content).unwrap();
        let arguments = ["stash", "push", "-q"].into_iter().chain(message.iter().flat_map(|text| ["-m", *text]));
        sandbox.run(&root, &arguments.collect::<Vec<_>>());
    }
    let stashes = repository.load_stashes().await.unwrap();
    assert_eq!(stashes.len(), 2);
    assert_eq!(stashes[0].message, "On main: my words");
    assert!(stashes.iter().all(|stash| stash.branch.as_deref() == Some("main")));
}

#[tokio::test]
async fn unpushed_commits_are_counted_and_named() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init_cloned("app");
    let base = sandbox.head(&root);
    let repository = sandbox.open(&root).await;
    assert_eq!(repository.count_unpushed(&base, &base).await.unwrap().count, 0);
    for number in 0..7 {
        sandbox.commit(&root, &format!("f{number}"), "x");
    }
    let tip = sandbox.head(&root);
    let unpushed = repository.count_unpushed(&tip, &base).await.unwrap();
    assert_eq!((unpushed.count, unpushed.first.len()), (7, 5));
    assert_eq!(unpushed.first[0], (tip.clone(), "change f6".to_owned()));
    assert_eq!(repository.load_ahead_behind(&tip, &base).await.unwrap(), (7, 0));
    assert_eq!(repository.load_merge_base(&tip, &base).await.unwrap(), Some(base.clone()));
    sandbox.run(&root, &["update-ref", "refs/spinney/pull/1", "HEAD~1"]);
    assert_eq!(repository.count_unpushed(&tip, &base).await.unwrap().count, 1);
    // Without any remote, what base has is still nobody's to lose.
    sandbox.run(&root, &["update-ref", "-d", "refs/spinney/pull/1"]);
    sandbox.run(&root, &["remote", "remove", "origin"]);
    assert_eq!(repository.count_unpushed(&tip, &base).await.unwrap().count, 7);
}
