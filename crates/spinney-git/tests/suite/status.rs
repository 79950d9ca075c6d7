//! What a worktree holds that HEAD does not, however well it is hidden.

use std::path::PathBuf;

use crate::common::{Sandbox, branch};
use spinney_git::{Head, StatusOptions};

const ALL: StatusOptions = StatusOptions { untracked: true, ignored: true };

fn paths(entries: &[spinney_git::Entry]) -> Vec<String> {
    entries.iter().map(|entry| format!("{}{}", entry.path.display(), if entry.directory { "/" } else { "" })).collect()
}

#[tokio::test]
async fn everything_is_seen_although_the_configuration_hides_it() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init("app");
    sandbox.commit(&root, ".gitignore", "*.log\ntarget/\n");
    sandbox.commit(&root, "my file", "x");
    for (key, value) in
        [("status.showUntrackedFiles", "no"), ("core.untrackedCache", "true"), ("status.renames", "copies")]
    {
        sandbox.run(&root, &["config", key, value]);
    }
    let repository = sandbox.open(&root).await;
    let worktree = sandbox.add(&repository, "x").await;
    let index = worktree.admin_dir().join("index");
    let before = std::fs::read(&index).unwrap();
    let write = |name: &str, content: &str| {
        let path = worktree.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    };
    write("my file", "changed");
    write("neu größe", "x");
    write("dir/deep", "x");
    write("a.log", "x");
    write("target/x", "x");
    std::fs::create_dir(worktree.path().join("nested")).unwrap();
    sandbox.run(&worktree.path().join("nested"), &["init", "-q"]);
    sandbox.commit(&worktree.path().join("nested"), "inner", "x");
    let status = worktree.load_status(&ALL).await.unwrap();
    assert_eq!(status.changes.len(), 1);
    assert!(status.changes[0].unstaged && !status.changes[0].staged);
    assert_eq!(paths(&status.untracked), ["dir/deep", "nested/", "neu größe"]);
    assert_eq!(paths(&status.ignored), ["a.log", "target/"]);
    let tracked = worktree.load_status(&StatusOptions { untracked: false, ignored: false }).await.unwrap();
    assert_eq!((tracked.changes.len(), tracked.untracked.len(), tracked.ignored.len()), (1, 0, 0));
    assert_eq!(std::fs::read(&index).unwrap(), before, "a question must not change the index");
}

#[tokio::test]
async fn edits_behind_marks_are_found_and_the_marks_stay() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init("app");
    for name in ["assumed", "skipped", "same", "absent", "ünseen file"] {
        sandbox.commit(&root, name, "x\n");
    }
    let repository = sandbox.open(&root).await;
    let worktree = sandbox.add(&repository, "x").await;
    assert!(worktree.load_hidden_edits().await.unwrap().is_empty());
    sandbox.run(worktree.path(), &["update-index", "--assume-unchanged", "assumed", "same", "ünseen file"]);
    sandbox.run(worktree.path(), &["update-index", "--skip-worktree", "skipped", "absent"]);
    std::fs::remove_file(worktree.path().join("absent")).unwrap();
    for name in ["assumed", "skipped", "ünseen file"] {
        std::fs::write(worktree.path().join(name), "edited\n").unwrap();
    }
    std::fs::write(worktree.path().join("README.md"), "a plain edit\n").unwrap();
    let index = worktree.admin_dir().join("index");
    let before = std::fs::read(&index).unwrap();
    assert_eq!(worktree.load_status(&ALL).await.unwrap().changes.len(), 1);
    let edits = worktree.load_hidden_edits().await.unwrap();
    assert_eq!(edits, ["assumed", "skipped", "ünseen file"].map(PathBuf::from));
    assert_eq!(std::fs::read(&index).unwrap(), before);
    let left = std::fs::read_dir(repository.state_dir()).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(left.collect::<Vec<_>>(), ["lock"]);
}

#[tokio::test]
async fn a_sparse_checkout_is_no_edit() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init("app");
    sandbox.commit(&root, "kept/a", "x");
    sandbox.commit(&root, "left/b", "x");
    let repository = sandbox.open(&root).await;
    let worktree = sandbox.add(&repository, "x").await;
    sandbox.run(worktree.path(), &["sparse-checkout", "set", "kept"]);
    assert!(!worktree.path().join("left/b").exists());
    assert!(worktree.load_hidden_edits().await.unwrap().is_empty());
    assert!(worktree.load_status(&ALL).await.unwrap().is_clean());
}

#[tokio::test]
async fn operations_in_progress_are_named_and_keep_their_branch() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init("app");
    sandbox.commit(&root, "list", "base\n");
    let repository = sandbox.open(&root).await;
    let worktree = sandbox.add(&repository, "topic").await;
    sandbox.commit(&root, "list", "main\n");
    let tip = sandbox.commit(worktree.path(), "list", "topic\n");
    assert_eq!(worktree.load_operation_in_progress(), None);
    for (start, end, name) in [
        (vec!["merge", "main"], vec!["merge", "--abort"], "merge"),
        (vec!["cherry-pick", "main"], vec!["cherry-pick", "--abort"], "cherry-pick"),
        (vec!["revert", "--no-edit", "HEAD~1"], vec!["revert", "--abort"], "revert"),
        (vec!["bisect", "start"], vec!["bisect", "reset"], "bisect"),
        (vec!["rebase", "main"], vec![], "rebase"),
    ] {
        sandbox.try_run(worktree.path(), &start);
        assert_eq!(worktree.load_operation_in_progress(), Some(name), "{start:?}");
        if !end.is_empty() {
            sandbox.run(worktree.path(), &end);
            assert_eq!(worktree.load_operation_in_progress(), None);
        }
    }
    let head = worktree.load_head().await.unwrap();
    assert_eq!(head, Head::Detached { commit: sandbox.head(&root), rebasing: Some(branch("topic")) });
    assert_eq!(repository.load_branch(&branch("topic")).await.unwrap(), Some(tip));
    assert!(worktree.load_status(&ALL).await.unwrap().changes[0].conflicted);
}

#[tokio::test]
async fn ignored_files_that_match_are_listed() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init("app");
    sandbox.commit(&root, ".env.tracked.md", "x");
    sandbox.commit(&root, ".gitignore", ".env*\n!.env.sample\ncache/\nnested/\n");
    for name in [".env", ".env.sample", "sub dir/.env.local", "cache/big", "plain.env", "cache/deep/ä", "cache/:(top)*"]
    {
        std::fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
        std::fs::write(root.join(name), "x").unwrap();
    }
    std::fs::create_dir_all(root.join("nested")).unwrap();
    sandbox.run(&root.join("nested"), &["init", "-q"]);
    sandbox.commit(&root.join("nested"), ".env", "x");
    let repository = sandbox.open(&root).await;
    let list = async |patterns: &[&str]| {
        let patterns: Vec<String> = patterns.iter().map(ToString::to_string).collect();
        let mut found = repository.load_ignored(&patterns).await.unwrap();
        found.sort();
        found.into_iter().map(|path| path.to_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(list(&[]).await, Vec::<String>::new());
    assert_eq!(list(&[".env*", "plain.env"]).await, [".env", "sub dir/.env.local"]);
    assert_eq!(list(&[".env*", "!.env.local"]).await, [".env"]);
    assert_eq!(list(&["cache/"]).await, ["cache/:(top)*", "cache/big", "cache/deep/ä"]);
    assert_eq!(list(&["--version", "*.md"]).await, Vec::<String>::new());
    assert!(repository.load_ignored(&["a\nb".to_owned()]).await.is_err());
    for (path, ignored) in
        [(".env", true), (".env.new", true), ("cache/x/y", true), ("src", false), (".env.sample", false)]
    {
        assert_eq!(repository.is_ignored(path.as_ref()).await.unwrap(), ignored, "{path}");
        assert_eq!(repository.is_ignored(&root.join(path)).await.unwrap(), ignored, "{path}");
    }
}
