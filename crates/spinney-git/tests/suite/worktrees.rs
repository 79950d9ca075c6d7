//! Linked worktrees: made, opened, and refused when they are not what they seem.

use std::path::Path;

use crate::common::{Sandbox, branch};
use spinney_core::BranchName;
use spinney_git::{AddWorktree, Error, Head, Repository, Start, StatusOptions, Worktree};

const ALL: StatusOptions = StatusOptions { untracked: true, ignored: true };

async fn try_add(repository: &Repository, path: &Path, start: Start<'_>) -> Result<(), Error> {
    let lock = repository.lock("a test").await.unwrap();
    repository.add_worktree(&lock, &AddWorktree { path, start, lock_reason: "spinney:k3v9" }).await
}

#[tokio::test]
async fn a_new_worktree_is_clean_locked_and_tracks_nothing() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init_cloned("my äpp");
    let config = std::fs::read(root.join(".git/config")).unwrap();
    let repository = sandbox.open(&root).await;
    let worktree = sandbox.add(&repository, "feature/größe").await;
    let status = worktree.load_status(&ALL).await.unwrap();
    assert!(status.is_clean() && status.ignored.is_empty());
    assert_eq!(status.branch.as_deref(), Some("feature/größe"));
    let entries = repository.load_worktrees().await.unwrap();
    assert_eq!((entries.len(), entries[0].is_main), (2, true));
    assert_eq!(entries[1].path, worktree.path());
    assert_eq!(entries[1].branch, Some(branch("feature/größe")));
    assert_eq!(entries[1].locked.as_deref(), Some("spinney:test"));
    let head = worktree.load_head().await.unwrap();
    assert_eq!(head, Head::Branch { name: branch("feature/größe"), commit: Some(sandbox.head(&root)) });
    assert_eq!(std::fs::read_to_string(worktree.path().join("README.md")).unwrap(), "hello\n");
    assert_eq!(std::fs::read(root.join(".git/config")).unwrap(), config);
}

#[tokio::test]
async fn every_start_works() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init("app");
    let commit = sandbox.head(&root);
    sandbox.run(&root, &["branch", "old"]);
    sandbox.run(&root, &["tag", "old"]);
    let repository = sandbox.open(&root).await;
    let (old, detached) = (sandbox.path("t/old"), sandbox.path("t/detached"));
    try_add(&repository, &old, Start::ExistingBranch(&branch("old"))).await.unwrap();
    try_add(&repository, &detached, Start::Detached(&commit)).await.unwrap();
    let head = Worktree::open(&repository, &old).unwrap().load_head().await.unwrap();
    assert_eq!(head.branch(), Some(&branch("old")));
    let head = Worktree::open(&repository, &detached).unwrap().load_head().await.unwrap();
    assert_eq!(head, Head::Detached { commit, rebasing: None });
}

#[tokio::test]
async fn what_is_in_the_way_is_told_apart() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init("app");
    let commit = sandbox.head(&root);
    sandbox.run(&root, &["branch", "taken"]);
    let repository = sandbox.open(&root).await;
    let used = sandbox.add(&repository, "used").await;
    let free = sandbox.path("free");
    let (taken, used_name, fresh) = (branch("taken"), branch("used"), branch("fresh"));

    let error = try_add(&repository, &free, Start::NewBranch { name: &taken, commit: &commit }).await.unwrap_err();
    assert!(matches!(&error, Error::BranchExists { branch } if branch == "taken"), "{error:?}");

    let error = try_add(&repository, &free, Start::ExistingBranch(&used_name)).await.unwrap_err();
    assert!(
        matches!(&error, Error::BranchInUse { branch, path } if branch == "used" && path == used.path()),
        "{error:?}"
    );
    let error = try_add(&repository, &free, Start::ExistingBranch(&branch("main"))).await.unwrap_err();
    assert!(matches!(&error, Error::BranchInUse { path, .. } if *path == root), "{error:?}");

    let full = sandbox.path("full");
    std::fs::create_dir(&full).unwrap();
    std::fs::write(full.join("x"), "x").unwrap();
    let error = try_add(&repository, &full, Start::NewBranch { name: &fresh, commit: &commit }).await.unwrap_err();
    assert!(matches!(&error, Error::PathExists { path } if *path == full), "{error:?}");
    assert_eq!(repository.load_branch(&fresh).await.unwrap(), None);

    let missing: BranchName = branch("missing");
    let error = try_add(&repository, &free, Start::ExistingBranch(&missing)).await.unwrap_err();
    assert!(matches!(&error, Error::MissingRef { name } if name == "missing"), "{error:?}");
    let gone = "1".repeat(40).parse().unwrap();
    let error = try_add(&repository, &free, Start::Detached(&gone)).await.unwrap_err();
    assert!(matches!(&error, Error::MissingRef { .. }), "{error:?}");

    let below = branch("taken/below");
    let error = try_add(&repository, &free, Start::NewBranch { name: &below, commit: &commit }).await.unwrap_err();
    assert!(matches!(&error, Error::RefConflict { existing, .. } if existing == "refs/heads/taken"), "{error:?}");

    std::fs::rename(used.path(), sandbox.path("moved")).unwrap();
    let error =
        try_add(&repository, used.path(), Start::NewBranch { name: &fresh, commit: &commit }).await.unwrap_err();
    assert!(matches!(&error, Error::PathRegistered { path } if path == used.path()), "{error:?}");
    assert!(!free.exists());
    assert!(try_add(&repository, Path::new("relative"), Start::Detached(&commit)).await.is_err());
}

#[tokio::test]
async fn a_lock_file_of_another_git_is_contention() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init("app");
    let repository = sandbox.open(&root).await;
    let worktree = sandbox.add(&repository, "x").await;
    std::fs::write(worktree.admin_dir().join("index.lock"), "").unwrap();
    assert!(worktree.has_index_lock());
    let error = worktree.checkout(false).await.unwrap_err();
    assert!(matches!(&error, Error::LockContention { what } if what.ends_with("index.lock")), "{error:?}");
    let lock = repository.lock("a test").await.unwrap();
    // A git that runs in the repository may be the one that made the lock; without any, it is stale.
    #[expect(clippy::disallowed_methods, reason = "a git that is not ours")]
    let mut other = std::process::Command::new("git");
    other.args(["cat-file", "--batch"]).current_dir(&root).stdin(std::process::Stdio::piped());
    let mut other = other.spawn().unwrap();
    std::fs::write(root.join(".git/refs/heads/y.lock"), "").unwrap();
    let error = repository.update_ref(&lock, "refs/heads/y", &sandbox.head(&root), None).await.unwrap_err();
    assert!(error.is_transient(), "{error:?}");
    other.kill().unwrap();
    other.wait().unwrap();
    repository.update_ref(&lock, "refs/heads/y", &sandbox.head(&root), None).await.unwrap();
}

#[tokio::test]
async fn old_locks_of_a_worktrees_own_refs_are_found_and_cleared() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init("app");
    let repository = sandbox.open(&root).await;
    let worktree = sandbox.add(&repository, "x").await;
    let leave = |name: &str, age_secs: u64| {
        let path = worktree.admin_dir().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let file = std::fs::File::create(&path).unwrap();
        file.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(age_secs)).unwrap();
        path
    };
    let mut left: Vec<_> = [
        "HEAD.lock",
        "ORIG_HEAD.lock",
        "AUTO_MERGE.lock",
        "MERGE_HEAD.lock",
        "CHERRY_PICK_HEAD.lock",
        "REVERT_HEAD.lock",
        "refs/bisect/bad.lock",
    ]
    .map(|name| leave(name, 60))
    .into();
    // The index is no ref, and a lock of this very moment may be anybody's.
    let (index, young) = (leave("index.lock", 60), leave("refs/bisect/good.lock", 0));
    // Asked of one git dir, as of a private one, the same are found but for the refs.
    assert_eq!(repository.stale_locks_of_pseudo_refs(worktree.admin_dir()), left[..6]);
    let mut found = repository.stale_locks();
    found.sort();
    left.sort();
    assert_eq!(found, left);
    assert!(left.iter().all(|lock| repository.clear_if_stale(lock)));
    assert!(!repository.clear_if_stale(&young));
    assert!(index.exists() && young.exists() && !left.iter().any(|lock| lock.exists()));
}

#[tokio::test]
async fn a_half_made_worktree_is_waited_for() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init("app");
    let repository = sandbox.open(&root).await;
    let worktree = sandbox.add(&repository, "x").await;
    // As it is between two writes of `git worktree add`.
    let common = worktree.admin_dir().join("commondir");
    let content = std::fs::read(&common).unwrap();
    std::fs::write(&common, "").unwrap();
    let error = repository.command().args(["worktree", "list"]).run().await.unwrap_err();
    assert!(error.is_transient(), "{error:?}");
    let listing = tokio::spawn({
        let repository = repository.clone();
        async move { repository.load_worktrees().await }
    });
    tokio::time::sleep(std::time::Duration::from_millis(30)).await;
    std::fs::write(&common, content).unwrap();
    assert_eq!(listing.await.unwrap().unwrap().len(), 2);
}

#[tokio::test]
async fn only_sound_worktrees_of_this_repository_are_opened() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init("app");
    let repository = sandbox.open(&root).await;
    let worktree = sandbox.add(&repository, "x").await;
    let pointer = worktree.path().join(".git");
    let original = std::fs::read_to_string(&pointer).unwrap();
    let open = |path: &Path| Worktree::open(&repository, path).unwrap_err();

    assert!(matches!(open(&root), Error::MainCheckout { .. }));
    assert!(matches!(open(&root.join(".git")), Error::MainCheckout { .. }));
    assert!(matches!(open(&sandbox.path("nowhere")), Error::WorktreeMissing { .. }));
    assert!(matches!(open(&sandbox.home()), Error::DamagedWorktree { .. }));
    assert!(matches!(open(&sandbox.init("other")), Error::ForeignWorktree { .. }));
    let clone = sandbox.path("clone");
    sandbox.run(&root, &["clone", "-q", ".", clone.to_str().unwrap()]);
    let theirs = sandbox.path("theirs");
    sandbox.run(&clone, &["worktree", "add", "-q", "-b", "y", theirs.to_str().unwrap()]);
    assert!(matches!(open(&theirs), Error::ForeignWorktree { .. }));

    for content in ["", "nonsense", "gitdir: ", "gitdir: \n"] {
        std::fs::write(&pointer, content).unwrap();
        let error = open(worktree.path());
        assert!(
            matches!(&error, Error::DamagedWorktree { .. } | Error::ForeignWorktree { .. }),
            "{content}: {error:?}"
        );
    }
    std::fs::write(&pointer, format!("gitdir: {}/worktrees/gone\n", repository.common_dir().display())).unwrap();
    assert!(matches!(open(worktree.path()), Error::DamagedWorktree { .. }));
    std::fs::remove_file(&pointer).unwrap();
    std::os::unix::fs::symlink(root.join(".git"), &pointer).unwrap();
    assert!(matches!(open(worktree.path()), Error::DamagedWorktree { .. }));
    std::fs::remove_file(&pointer).unwrap();
    sandbox.run(worktree.path(), &["init", "-q"]);
    assert!(matches!(open(worktree.path()), Error::ForeignWorktree { .. }));
    std::fs::rename(&pointer, sandbox.path("replaced")).unwrap();
    std::fs::write(&pointer, &original).unwrap();
    Worktree::open(&repository, worktree.path()).unwrap();

    let back = worktree.admin_dir().join("gitdir");
    let right = std::fs::read_to_string(&back).unwrap();
    std::fs::write(&back, format!("{}/.git\n", theirs.display())).unwrap();
    assert!(matches!(open(worktree.path()), Error::DamagedWorktree { .. }));
    std::fs::write(&back, right).unwrap();
    std::fs::write(worktree.admin_dir().join("commondir"), clone.join(".git").to_str().unwrap()).unwrap();
    assert!(matches!(open(worktree.path()), Error::DamagedWorktree { .. }));
}

#[tokio::test]
async fn a_replaced_git_file_leads_an_open_worktree_nowhere() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init("app");
    let other = sandbox.init("other");
    let repository = sandbox.open(&root).await;
    let worktree = sandbox.add(&repository, "x").await;
    std::fs::write(worktree.path().join(".git"), format!("gitdir: {}/.git\n", other.display())).unwrap();
    assert_eq!(worktree.load_status(&ALL).await.unwrap().branch.as_deref(), Some("x"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_adds_and_many_readers_at_once_do_not_fail() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init_cloned("app");
    let config = std::fs::read(root.join(".git/config")).unwrap();
    let repository = sandbox.open(&root).await;
    let commit = sandbox.head(&root);
    let mut tasks = Vec::new();
    for number in 0..50 {
        let (repository, commit, path) = (repository.clone(), commit.clone(), sandbox.path(&format!("t/{number}")));
        tasks.push(tokio::spawn(async move {
            let name: BranchName = format!("agent/{number}").parse().unwrap();
            let start = Start::NewBranch { name: &name, commit: &commit };
            try_add(&repository, &path, start).await?;
            Worktree::open(&repository, &path)?.checkout(false).await?;
            if number % 5 == 0 {
                repository.sync("origin", None).await?;
            }
            repository.load_worktrees().await.map(drop)
        }));
    }
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    assert_eq!(repository.load_worktrees().await.unwrap().len(), 51);
    assert_eq!(sandbox.run(&root, &["for-each-ref", "--count=99", "refs/heads/agent"]).lines().count(), 50);
    assert_eq!(std::fs::read(root.join(".git/config")).unwrap(), config);
    assert!(!root.join(".git/FETCH_HEAD").exists());
}

#[tokio::test]
async fn a_branch_is_checked_out_wherever_a_head_or_a_rebase_is_on_it() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init("app");
    sandbox.commit(&root, "list", "base\n");
    sandbox.run(&root, &["branch", "free"]);
    let repository = sandbox.open(&root).await;
    let worktree = sandbox.add(&repository, "topic").await;
    let answers = async || {
        let mut answers = Vec::new();
        for name in ["main", "topic", "free", "no/such"] {
            answers.push(repository.is_checked_out(&branch(name)).await.unwrap());
        }
        answers
    };
    assert_eq!(answers().await, [true, true, false, false]);
    sandbox.commit(&root, "list", "main\n");
    sandbox.commit(worktree.path(), "list", "topic\n");
    assert!(!sandbox.try_run(worktree.path(), &["rebase", "main"]).0);
    assert_eq!(answers().await, [true, true, false, false], "in the middle of a rebase");
    sandbox.run(worktree.path(), &["rebase", "--abort"]);
    sandbox.run(worktree.path(), &["switch", "-q", "--detach"]);
    assert_eq!(answers().await, [true, false, false, false]);
    // As git made it long ago.
    let head = root.join(".git/HEAD");
    std::fs::remove_file(&head).unwrap();
    std::os::unix::fs::symlink("refs/heads/main", &head).unwrap();
    assert_eq!(answers().await, [true, false, false, false]);
    // A worktree that is being made: git is asked.
    let half_made = repository.common_dir().join("worktrees/half-made");
    std::fs::create_dir(&half_made).unwrap();
    assert!(repository.is_checked_out(&branch("main")).await.is_ok_and(|answer| answer));
}
