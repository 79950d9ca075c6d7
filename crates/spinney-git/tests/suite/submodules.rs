//! Submodules, nested ones too, without a word in the shared configuration.

use std::path::PathBuf;

use crate::common::Sandbox;
use spinney_git::{Error, Repository};

/// A repository with a submodule that has a submodule.
fn nested(sandbox: &Sandbox) -> PathBuf {
    let (inner, outer, root) = (sandbox.init("inner"), sandbox.init("outer"), sandbox.init("app"));
    for (parent, child, name) in [(&outer, &inner, "inner dir"), (&root, &outer, "outer")] {
        let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", child.to_str().unwrap(), name];
        sandbox.run(parent, &add);
        sandbox.run(parent, &["commit", "-q", "-m", "a submodule"]);
    }
    // As a clone that never initialised them.
    let clone = sandbox.path("clone");
    sandbox.run(&root, &["clone", "-q", ".", clone.to_str().unwrap()]);
    clone
}

async fn open(sandbox: &Sandbox, root: &std::path::Path) -> Repository {
    sandbox.open(root).await
}

#[tokio::test]
async fn nested_submodules_come_and_the_shared_configuration_stays() {
    let sandbox = Sandbox::new().await;
    let root = nested(&sandbox);
    sandbox.run(&root, &["config", "--global", "protocol.file.allow", "always"]);
    let config = std::fs::read(root.join(".git/config")).unwrap();
    let repository = open(&sandbox, &root).await;
    let worktree = sandbox.add(&repository, "x").await;
    assert!(worktree.has_submodules());
    worktree.update_submodules(false, None).await.unwrap();
    assert!(worktree.path().join("outer/inner dir/README.md").is_file());
    assert_eq!(std::fs::read(root.join(".git/config")).unwrap(), config);
    assert!(!root.join(".git/modules").exists());
    let status = worktree.load_status(&spinney_git::StatusOptions { untracked: true, ignored: true }).await.unwrap();
    assert!(status.is_clean());
    // A commit made in it is seen, whatever `ignore` says.
    sandbox.run(&root, &["config", "submodule.outer.ignore", "all"]);
    sandbox.commit(&worktree.path().join("outer"), "new", "x");
    let status = worktree.load_status(&spinney_git::StatusOptions { untracked: true, ignored: true }).await.unwrap();
    assert!(status.changes[0].submodule.unwrap().commit);
}

#[tokio::test]
async fn a_submodule_that_may_not_or_can_not_be_fetched_is_a_clear_error() {
    let sandbox = Sandbox::new().await;
    let root = nested(&sandbox);
    let repository = open(&sandbox, &root).await;
    let worktree = sandbox.add(&repository, "x").await;
    let error = worktree.update_submodules(false, None).await.unwrap_err();
    assert!(matches!(&error, Error::TransportNotAllowed { transport } if transport == "file"), "{error:?}");
    sandbox.run(&root, &["config", "--global", "protocol.file.allow", "always"]);
    std::fs::rename(sandbox.path("inner"), sandbox.path("hidden")).unwrap();
    let error = worktree.update_submodules(false, None).await.unwrap_err();
    assert!(matches!(&error, Error::Submodule { .. }), "{error:?}");
    assert!(!sandbox.add(&sandbox.open(&sandbox.init("plain")).await, "y").await.has_submodules());
}

#[tokio::test]
async fn lfs_pointers_stay_pointers_unless_wanted() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init("app");
    sandbox.commit(&root, ".gitattributes", "*.bin filter=lfs -text\n");
    sandbox.commit(&root, "a.bin", "pointer\n");
    for (key, value) in [("smudge", "tr a-z A-Z"), ("clean", "tr A-Z a-z"), ("required", "true")] {
        sandbox.run(&root, &["config", &format!("filter.lfs.{key}"), value]);
    }
    let repository = sandbox.open(&root).await;
    let worktree = sandbox.add(&repository, "x").await;
    let file = worktree.path().join("a.bin");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "pointer\n");
    std::fs::remove_file(&file).unwrap();
    worktree.checkout(true).await.unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "POINTER\n");
    match worktree.pull_lfs().await {
        Ok(()) | Err(Error::LfsMissing) => {}
        Err(error) => panic!("{error:?}"),
    }
}
