//! The pin: after it, nothing that a worktree held can be collected.

use std::path::Path;

use crate::common::{Sandbox, branch};
use spinney_git::{Elsewhere, Repository, Worktree};

const RESCUE: &str = "refs/spinney/rescue/k3v9";

/// Pins, takes the worktree and its branch away as a removal does, and lets git collect all it can.
async fn pin_and_collect(sandbox: &Sandbox, repository: &Repository, worktree: &Worktree, name: &str) {
    let lock = repository.lock("a test").await.unwrap();
    let index = std::fs::read(worktree.admin_dir().join("index")).unwrap();
    repository.pin(&lock, worktree.admin_dir(), Some(&branch(name)), RESCUE, "pin of a test").await.unwrap();
    assert_eq!(std::fs::read(worktree.admin_dir().join("index")).unwrap(), index, "the index was touched");
    std::fs::rename(worktree.path(), sandbox.path("trash")).unwrap();
    std::fs::rename(worktree.admin_dir(), repository.state_dir().join("k3v9")).unwrap();
    let root = repository.root().unwrap();
    sandbox.run(root, &["branch", "-q", "-D", name]);
    sandbox.run(root, &["reflog", "expire", "--expire=now", "--all"]);
    sandbox.run(root, &["worktree", "prune"]);
    sandbox.run(root, &["gc", "-q", "--prune=now"]);
    assert!(sandbox.try_run(root, &["fsck", "--no-dangling"]).0);
}

fn exists(sandbox: &Sandbox, root: &Path, object: &str) -> bool {
    sandbox.try_run(root, &["cat-file", "-e", object]).0
}

#[tokio::test]
async fn amended_reset_staged_and_private_objects_survive() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init("app");
    let repository = sandbox.open(&root).await;
    let worktree = sandbox.add(&repository, "topic").await;
    let tree = worktree.path();
    let amended = sandbox.commit(tree, "a", "first try\n");
    sandbox.run(tree, &["commit", "-q", "--amend", "-m", "second try"]);
    let reset = sandbox.commit(tree, "b", "thrown away\n");
    sandbox.run(tree, &["reset", "-q", "--hard", "HEAD~1"]);
    let private = sandbox.commit(tree, "c", "private\n");
    sandbox.run(tree, &["update-ref", "refs/worktree/mine", "HEAD"]);
    sandbox.run(tree, &["reset", "-q", "--hard", "HEAD~1"]);
    let tip = sandbox.head(tree);
    // Only the branch's own log names this one: it was put there from elsewhere.
    let tree_id = sandbox.run(&root, &["rev-parse", "HEAD^{tree}"]);
    let logged = sandbox.run(&root, &["commit-tree", "-m", "from elsewhere", "-p", tip.as_str(), &tree_id]);
    sandbox.run(&root, &["update-ref", "-m", "there", "refs/heads/topic", &logged]);
    sandbox.run(&root, &["update-ref", "-m", "and back", "refs/heads/topic", tip.as_str()]);
    std::fs::write(tree.join("staged ü"), "only staged\n").unwrap();
    sandbox.run(tree, &["add", "staged ü"]);
    let staged = sandbox.run(tree, &["rev-parse", ":staged ü"]);
    std::fs::remove_file(tree.join("staged ü")).unwrap();
    pin_and_collect(&sandbox, &repository, &worktree, "topic").await;
    for object in [amended.as_str(), reset.as_str(), private.as_str(), tip.as_str(), &logged, &staged] {
        assert!(exists(&sandbox, &root, object), "{object} is gone");
    }
    let author = sandbox.run(&root, &["log", "-1", "--format=%an <%ae> %s", RESCUE]);
    assert_eq!(author, "Spinney <spinney@localhost> pin of a test");
}

#[tokio::test]
async fn a_rebase_with_an_autostash_and_conflicts_survives() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init("app");
    sandbox.commit(&root, "list", "base\n");
    let repository = sandbox.open(&root).await;
    let worktree = sandbox.add(&repository, "topic").await;
    let tree = worktree.path();
    sandbox.commit(&root, "list", "main\n");
    let first = sandbox.commit(tree, "list", "topic\n");
    let second = sandbox.commit(tree, "later", "later\n");
    std::fs::write(tree.join("README.md"), "in the autostash\n").unwrap();
    sandbox.try_run(tree, &["rebase", "--autostash", "main"]);
    let autostash = std::fs::read_to_string(worktree.admin_dir().join("rebase-merge/autostash")).unwrap();
    let stages = sandbox.run(tree, &["ls-files", "-u"]);
    assert_eq!(stages.lines().count(), 3);
    pin_and_collect(&sandbox, &repository, &worktree, "topic").await;
    for line in stages.lines() {
        assert!(exists(&sandbox, &root, line.split(' ').nth(1).unwrap()), "{line}");
    }
    for object in [first.as_str(), second.as_str(), autostash.trim()] {
        assert!(exists(&sandbox, &root, object), "{object} is gone");
    }
    // Back at its place, the rebase can still be aborted.
    std::fs::create_dir_all(root.join(".git/worktrees")).unwrap();
    std::fs::rename(repository.state_dir().join("k3v9"), worktree.admin_dir()).unwrap();
    std::fs::rename(sandbox.path("trash"), tree).unwrap();
    sandbox.run(&root, &["update-ref", "refs/heads/topic", second.as_str()]);
    sandbox.run(tree, &["rebase", "--abort"]);
    assert_eq!(sandbox.head(tree), second);
    assert_eq!(std::fs::read_to_string(tree.join("README.md")).unwrap(), "in the autostash\n");
}

#[tokio::test]
async fn a_second_pin_keeps_what_the_first_kept() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init("app");
    let repository = sandbox.open(&root).await;
    let worktree = sandbox.add(&repository, "topic").await;
    let lock = repository.lock("a test").await.unwrap();
    let pin = async || repository.pin(&lock, worktree.admin_dir(), None, RESCUE, "pin").await.unwrap();
    let tree_id = sandbox.run(&root, &["rev-parse", "HEAD^{tree}"]);
    let dropped = sandbox.run(&root, &["commit-tree", "-m", "named only once", &tree_id]);
    std::fs::write(worktree.admin_dir().join("SOME_HEAD"), &dropped).unwrap();
    let first = pin().await;
    std::fs::remove_file(worktree.admin_dir().join("SOME_HEAD")).unwrap();
    let second = pin().await;
    assert!(repository.is_ancestor(&dropped.parse().unwrap(), &second).await.unwrap());
    assert_eq!(repository.load_ref(RESCUE).await.unwrap().as_ref(), Some(&second));
    assert!(repository.is_ancestor(&first, &second).await.unwrap());
}

#[tokio::test]
async fn the_same_state_can_be_pinned_under_two_refs_within_a_second() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init("app");
    let repository = sandbox.open(&root).await;
    let worktree = sandbox.add(&repository, "topic").await;
    std::fs::write(worktree.path().join("staged.txt"), "staged\n").unwrap();
    sandbox.run(worktree.path(), &["add", "staged.txt"]);
    let lock = repository.lock("a test").await.unwrap();
    let mut pins = std::collections::BTreeSet::new();
    for attempt in 0.. {
        assert!(attempt < 100, "no two pins fell into one second");
        let rescue = format!("{RESCUE}-{attempt}");
        let pin = repository.pin(&lock, worktree.admin_dir(), None, &rescue, "pin").await.unwrap();
        assert_eq!(repository.load_ref(&rescue).await.unwrap().as_ref(), Some(&pin));
        // A commit is the same where its content and its second are.
        if !pins.insert(pin) {
            break;
        }
    }
}

#[tokio::test]
async fn very_many_commits_are_gathered() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init("app");
    let repository = sandbox.open(&root).await;
    let worktree = sandbox.add(&repository, "topic").await;
    let tree = sandbox.run(&root, &["rev-parse", "HEAD^{tree}"]);
    let mut stream = String::new();
    for number in 0..450 {
        stream.push_str(&format!(
            "commit refs/heads/many\ncommitter X <x@y> {number} +0000\ndata 1\nx\nfrom {}\n",
            sandbox.head(&root)
        ));
        stream.push_str("M 100644 inline n\n");
        stream.push_str(&format!("data {}\n{number}\n", number.to_string().len()));
    }
    repository
        .command()
        .args(["fast-import", "--quiet", "--force"])
        .stdin_bytes(stream.into_bytes())
        .run()
        .await
        .unwrap();
    let all = sandbox.run(&root, &["cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)"]);
    let commits: Vec<&str> = all.lines().filter_map(|line| line.strip_suffix(" commit")).collect();
    assert!(commits.len() > 450);
    std::fs::write(worktree.admin_dir().join("SOME_HEAD"), commits.join("\n")).unwrap();
    sandbox.run(&root, &["update-ref", "-d", "refs/heads/many"]);
    pin_and_collect(&sandbox, &repository, &worktree, "topic").await;
    assert!(exists(&sandbox, &root, &tree));
    for commit in commits {
        assert!(exists(&sandbox, &root, commit), "{commit} is gone");
    }
    let parents = sandbox.run(&root, &["log", "-1", "--format=%P", RESCUE]);
    assert!(parents.split(' ').count() <= 200);
}

#[tokio::test]
async fn a_worktree_without_any_commit_can_be_pinned() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init("app");
    let repository = sandbox.open(&root).await;
    let worktree = sandbox.add(&repository, "topic").await;
    sandbox.run(worktree.path(), &["switch", "-q", "--orphan", "alone"]);
    std::fs::write(worktree.path().join("new"), "staged\n").unwrap();
    std::fs::write(worktree.path().join("intended"), "not staged\n").unwrap();
    sandbox.run(worktree.path(), &["add", "new"]);
    sandbox.run(worktree.path(), &["add", "-N", "intended"]);
    let staged = sandbox.run(worktree.path(), &["rev-parse", ":new"]);
    pin_and_collect(&sandbox, &repository, &worktree, "topic").await;
    assert!(exists(&sandbox, &root, &staged));
}

#[tokio::test]
async fn a_plain_worktree_takes_two_calls() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init("app");
    let (git, log) = sandbox.logging_git().await;
    let repository = Repository::discover(&git, &root).await.unwrap();
    let worktree = sandbox.add(&repository, "topic").await;
    let first = sandbox.commit(worktree.path(), "a", "first\n");
    let tip = sandbox.commit(worktree.path(), "b", "second\n");
    std::fs::write(&log, "").unwrap();
    pin_and_collect(&sandbox, &repository, &worktree, "topic").await;
    let calls = std::fs::read_to_string(&log).unwrap();
    // How refs are read is no matter here.
    let calls: Vec<&str> = calls.lines().filter(|call| !call.contains(" for-each-ref ")).collect();
    let expected = ["rev-list", "update-ref"];
    assert_eq!(calls.len(), expected.len(), "{calls:#?}");
    assert!(calls.iter().zip(expected).all(|(call, name)| call.contains(&format!(" {name} "))), "{calls:#?}");
    assert_eq!(sandbox.run(&root, &["rev-parse", RESCUE]), tip.as_str(), "nothing is written for it");
    for object in [first, tip] {
        assert!(exists(&sandbox, &root, object.as_str()), "{object} is gone");
    }
}

#[tokio::test]
async fn a_tip_that_is_its_own_pin_is_needed_until_it_is_elsewhere() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init("app");
    let repository = sandbox.open(&root).await;
    let worktree = sandbox.add(&repository, "topic").await;
    sandbox.commit(worktree.path(), "a", "first\n");
    let lock = repository.lock("a test").await.unwrap();
    let topic = branch("topic");
    let pin = repository.pin(&lock, worktree.admin_dir(), Some(&topic), RESCUE, "x: removed, kept alive");
    let tip = pin.await.unwrap();
    assert!(repository.is_rescue_needless(RESCUE, Elsewhere::HereOrRemote).await.unwrap(), "it is on its branch");
    sandbox.run(&root, &["update-ref", "-d", "refs/heads/topic"]);
    assert!(!repository.is_rescue_needless(RESCUE, Elsewhere::HereOrRemote).await.unwrap(), "the tip is nowhere else");
    sandbox.run(&root, &["update-ref", "refs/heads/other", tip.as_str()]);
    assert!(repository.is_rescue_needless(RESCUE, Elsewhere::HereOrRemote).await.unwrap());
}

#[tokio::test]
async fn what_only_looks_plain_is_kept_too() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init("app");
    let repository = sandbox.open(&root).await;
    let worktree = sandbox.add(&repository, "topic").await;
    let tree = worktree.path();
    // A name of nothing.
    std::fs::write(worktree.admin_dir().join("SOME_HEAD"), "d".repeat(40)).unwrap();
    // A ref of its own that leads to another ref, which goes later.
    let head = sandbox.head(tree);
    let tree_id = sandbox.run(&root, &["rev-parse", "HEAD^{tree}"]);
    let led_to = sandbox.run(&root, &["commit-tree", "-m", "led to", "-p", head.as_str(), &tree_id]);
    sandbox.run(&root, &["update-ref", "refs/other/place", &led_to]);
    sandbox.run(tree, &["symbolic-ref", "refs/worktree/link", "refs/other/place"]);
    pin_and_collect(&sandbox, &repository, &worktree, "topic").await;
    sandbox.run(&root, &["update-ref", "-d", "refs/other/place"]);
    sandbox.run(&root, &["gc", "-q", "--prune=now"]);
    assert!(exists(&sandbox, &root, &led_to));
}

#[tokio::test]
async fn the_sides_of_a_conflict_that_was_resolved_are_kept() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init("app");
    let repository = sandbox.open(&root).await;
    let worktree = sandbox.add(&repository, "topic").await;
    // Only the index remembers them once the file was added and committed.
    let mut sides = Vec::new();
    let mut stages = String::new();
    for stage in 1..=3 {
        std::fs::write(sandbox.path("side"), format!("side {stage}\n")).unwrap();
        let side = sandbox.run(&root, &["hash-object", "-w", sandbox.path("side").to_str().unwrap()]);
        stages.push_str(&format!("100644 {side} {stage}\tlist\n"));
        sides.push(side);
    }
    let command = worktree.command().args(["update-index", "--index-info"]);
    command.stdin_bytes(stages.into_bytes()).run().await.unwrap();
    sandbox.commit(worktree.path(), "list", "resolved\n");
    assert!(!sandbox.run(worktree.path(), &["ls-files", "--resolve-undo"]).is_empty());
    pin_and_collect(&sandbox, &repository, &worktree, "topic").await;
    for side in sides {
        assert!(exists(&sandbox, &root, &side), "{side} is gone");
    }
}

#[tokio::test]
async fn a_head_that_is_a_link_is_followed_by_git() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init("app");
    let repository = sandbox.open(&root).await;
    let worktree = sandbox.add(&repository, "topic").await;
    let tip = sandbox.commit(worktree.path(), "a", "a\n");
    // Nothing else in git's directory names the commit.
    std::fs::rename(worktree.admin_dir().join("logs"), sandbox.path("logs")).unwrap();
    std::fs::write(sandbox.path("elsewhere"), format!("{tip}\n")).unwrap();
    let lock = repository.lock("a test").await.unwrap();
    let pin = async |target: &Path| {
        let head = worktree.admin_dir().join("HEAD");
        std::fs::remove_file(&head).unwrap();
        std::os::unix::fs::symlink(target, &head).unwrap();
        repository.pin(&lock, worktree.admin_dir(), None, RESCUE, "pin").await
    };
    // Git does not take this for a HEAD, and then nobody knows what to keep.
    assert!(pin(&sandbox.path("elsewhere")).await.is_err());
    let pin = pin(Path::new("refs/heads/topic")).await.unwrap();
    assert!(repository.is_ancestor(&tip, &pin).await.unwrap());
}
