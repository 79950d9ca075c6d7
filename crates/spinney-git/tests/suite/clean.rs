//! The quick proof that a tree is clean, and everything that must leave it without proof.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::common::{Sandbox, let_settle, set_modified};
use spinney_git::{FileStat, Index, ObjectFormat, Worktree};

struct Tree {
    sandbox: Sandbox,
    root: PathBuf,
    worktree: Worktree,
}

impl Tree {
    /// A worktree that can be proved clean.
    async fn new() -> Self {
        let sandbox = Sandbox::new().await;
        let root = sandbox.init("app");
        for name in ["a.txt", "dir/b.txt", "dir/deep/c.txt", "dir.txt", "dir-x/e", "empty"] {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, if name == "empty" { "" } else { "content\n" }).unwrap();
        }
        fs::write(root.join(".gitignore"), "*.log\n").unwrap();
        sandbox.script("app/run.sh", "true\n");
        symlink("a.txt", root.join("link")).unwrap();
        sandbox.run(&root, &["add", "-A"]);
        sandbox.run(&root, &["commit", "-qm", "all"]);
        let repository = sandbox.open(&root).await;
        let worktree = sandbox.add(&repository, "x").await;
        let tree = Self { sandbox, root, worktree };
        tree.settle().await;
        assert_eq!(
            tree.proved().await.as_deref(),
            Some(tree.head_tree().as_str()),
            "the test proves nothing otherwise"
        );
        tree
    }

    fn path(&self, name: &str) -> PathBuf {
        self.worktree.path().join(name)
    }

    fn index(&self) -> PathBuf {
        self.worktree.admin_dir().join("index")
    }

    fn git(&self, arguments: &[&str]) -> String {
        self.sandbox.run(self.worktree.path(), arguments)
    }

    /// Makes the index younger than every file, as it is after a while.
    async fn settle(&self) {
        let_settle(&self.index()).await;
    }

    /// Lets git note anew what every file looks like; it sees no difference within a second by itself.
    async fn look_anew(&self) {
        self.git(&["read-tree", "HEAD"]);
        self.git(&["update-index", "--refresh"]);
        self.settle().await;
    }

    fn head_tree(&self) -> String {
        self.git(&["rev-parse", "HEAD^{tree}"])
    }

    async fn proved(&self) -> Option<String> {
        self.worktree.prove_clean(ObjectFormat::Sha1).await.map(|proof| proof.tree().to_string())
    }

    async fn assert_unproved(&self, why: &str) {
        assert_eq!(self.proved().await, None, "{why}");
    }
}

fn write_keeping_time(path: &Path, content: &str) {
    let before = fs::metadata(path).unwrap();
    assert_eq!(before.len(), content.len() as u64);
    fs::write(path, content).unwrap();
    set_modified(path, before.mtime(), before.mtime_nsec());
}

#[tokio::test]
async fn a_fresh_tree_is_proved_and_stays_as_it_is() {
    let tree = Tree::new().await;
    let before = fs::metadata(tree.index()).unwrap();
    assert_eq!(tree.worktree.prove_clean(ObjectFormat::Sha1).await.unwrap().files(), 10);
    let after = fs::metadata(tree.index()).unwrap();
    assert_eq!((before.mtime_nsec(), before.ino()), (after.mtime_nsec(), after.ino()));
    assert_eq!(tree.worktree.prove_clean(ObjectFormat::Sha256).await, None);
}

#[tokio::test]
async fn a_tree_of_many_files_is_proved_by_two_threads() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init("app");
    for name in 0..1500 {
        let path = root.join(format!("d{}/e{}/{name}", name % 7, name % 31));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x").unwrap();
    }
    sandbox.run(&root, &["add", "-A"]);
    sandbox.run(&root, &["commit", "-qm", "all"]);
    let repository = sandbox.open(&root).await;
    let worktree = sandbox.add(&repository, "x").await;
    let_settle(&worktree.admin_dir().join("index")).await;
    let proof = worktree.prove_clean(ObjectFormat::Sha1).await.unwrap();
    assert_eq!(proof.files(), 1501);
    // In the first and in the last directories.
    for place in ["README.md", "d0/e0/0", "d6/e30/216"] {
        let (path, aside) = (worktree.path().join(place), worktree.path().with_extension("aside"));
        let more = path.with_extension("more");
        fs::write(&more, "").unwrap();
        assert_eq!(worktree.prove_clean(ObjectFormat::Sha1).await, None, "{place}");
        fs::rename(&path, &aside).unwrap();
        assert_eq!(worktree.prove_clean(ObjectFormat::Sha1).await, None, "{place}");
        fs::remove_file(&more).unwrap();
        assert_eq!(worktree.prove_clean(ObjectFormat::Sha1).await, None, "{place}");
        fs::rename(&aside, &path).unwrap();
        // The renames left their marks in the times, which git can mend.
        sandbox.run(worktree.path(), &["read-tree", "HEAD"]);
        sandbox.run(worktree.path(), &["update-index", "--refresh"]);
        let_settle(&worktree.admin_dir().join("index")).await;
        assert_eq!(worktree.prove_clean(ObjectFormat::Sha1).await, Some(proof));
    }
}

#[tokio::test]
async fn a_changed_file_is_no_proof() {
    let tree = Tree::new().await;
    write_keeping_time(&tree.path("dir/b.txt"), "Content\n");
    tree.assert_unproved("one byte differs, size and time are the same").await;
    assert_eq!(tree.git(&["status", "--porcelain"]), " M dir/b.txt");
    fs::write(tree.path("dir/b.txt"), "content\n").unwrap();
    tree.assert_unproved("git has not looked since").await;
    tree.look_anew().await;
    assert!(tree.proved().await.is_some());

    fs::remove_file(tree.path("dir/b.txt")).unwrap();
    tree.assert_unproved("a file is gone").await;
    symlink("deep/c.txt", tree.path("dir/b.txt")).unwrap();
    tree.assert_unproved("a link in its place").await;
}

#[tokio::test]
async fn a_changed_mode_is_no_proof_even_where_git_was_told_to_ignore_it() {
    let tree = Tree::new().await;
    fs::set_permissions(tree.path("a.txt"), fs::Permissions::from_mode(0o755)).unwrap();
    tree.assert_unproved("it is executable now").await;
    tree.git(&["config", "core.fileMode", "false"]);
    tree.look_anew().await;
    tree.assert_unproved("git has noted its other times, but not its mode").await;
}

#[tokio::test]
async fn marks_are_no_proof() {
    let tree = Tree::new().await;
    for (mark, unmark) in [("--assume-unchanged", "--no-assume-unchanged"), ("--skip-worktree", "--no-skip-worktree")] {
        tree.git(&["update-index", mark, "a.txt"]);
        fs::write(tree.path("a.txt"), "hidden\n\n").unwrap();
        assert_eq!(tree.git(&["status", "--porcelain"]), "");
        // So that the tree is noted again.
        tree.git(&["write-tree"]);
        tree.settle().await;
        tree.assert_unproved(mark).await;
        fs::write(tree.path("a.txt"), "content\n").unwrap();
        tree.git(&["update-index", unmark, "a.txt"]);
        tree.look_anew().await;
        assert!(tree.proved().await.is_some(), "{unmark}");
    }
}

/// Marks in an index that is otherwise as good as one can be: only the mark itself tells.
#[tokio::test]
async fn a_mark_alone_is_no_proof() {
    for mark in ["--assume-unchanged", "--skip-worktree"] {
        let tree = Tree::new().await;
        tree.git(&["update-index", mark, "a.txt"]);
        tree.git(&["write-tree"]);
        tree.settle().await;
        let index = Index::load(&tree.index(), ObjectFormat::Sha1).unwrap();
        assert_eq!(index.root_tree().unwrap().to_string(), tree.head_tree(), "{mark}");
        tree.assert_unproved(mark).await;
    }
}

#[tokio::test]
async fn what_is_staged_is_no_proof_of_head() {
    let tree = Tree::new().await;
    fs::write(tree.path("a.txt"), "staged\n\n").unwrap();
    tree.git(&["add", "a.txt"]);
    tree.settle().await;
    tree.assert_unproved("no tree was written for it").await;
    tree.git(&["write-tree"]);
    tree.settle().await;
    assert_ne!(tree.proved().await.unwrap(), tree.head_tree(), "it is another tree than HEAD's");
    tree.git(&["reset", "-q", "--hard"]);
    fs::write(tree.path("new"), "x").unwrap();
    tree.git(&["add", "--intent-to-add", "new"]);
    tree.settle().await;
    tree.assert_unproved("only announced").await;
}

#[tokio::test]
async fn whatever_else_lies_in_the_tree_is_no_proof() {
    let tree = Tree::new().await;
    for place in ["new", "dir/new", "dir/deep/new", "x.log", "dir/x.log", "a.txt~", "dir/.git", "dir-x/deeper/f"] {
        let path = tree.path(place);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "").unwrap();
        tree.assert_unproved(place).await;
        fs::remove_file(&path).unwrap();
        if place == "dir-x/deeper/f" {
            tree.assert_unproved("an empty directory").await;
            fs::remove_dir(path.parent().unwrap()).unwrap();
        }
        assert!(tree.proved().await.is_some(), "{place} is gone again");
    }
    symlink("/nowhere", tree.path("dir/dangling")).unwrap();
    tree.assert_unproved("a link").await;
    fs::remove_file(tree.path("dir/dangling")).unwrap();
    tree.sandbox.run(&tree.path(""), &["init", "-q", "nested"]);
    tree.assert_unproved("a repository").await;
    fs::rename(tree.path("nested"), tree.sandbox.path("nested")).unwrap();
    assert!(tree.proved().await.is_some());
    // The very same files, but not in the tree.
    fs::rename(tree.path("dir/deep"), tree.sandbox.path("elsewhere")).unwrap();
    symlink(tree.sandbox.path("elsewhere"), tree.path("dir/deep")).unwrap();
    tree.assert_unproved("a directory is a link out of the tree").await;
    assert_ne!(tree.git(&["status", "--porcelain"]), "");
    fs::remove_file(tree.path("dir/deep")).unwrap();
    fs::rename(tree.sandbox.path("elsewhere"), tree.path("dir/deep")).unwrap();

    // Two directories with the very same files: one in the place of the other leaves no trace on them.
    fs::create_dir(tree.path("twin")).unwrap();
    fs::hard_link(tree.path("dir/deep/c.txt"), tree.path("twin/c.txt")).unwrap();
    tree.git(&["add", "twin"]);
    tree.git(&["commit", "-qm", "twin"]);
    tree.look_anew().await;
    assert!(tree.proved().await.is_some());
    fs::rename(tree.path("twin"), tree.sandbox.path("elsewhere")).unwrap();
    symlink("dir/deep", tree.path("twin")).unwrap();
    tree.assert_unproved("a directory is a link inside the tree").await;
    assert_ne!(tree.git(&["status", "--porcelain"]), "");
}

#[tokio::test]
async fn a_conflict_is_no_proof() {
    let tree = Tree::new().await;
    tree.sandbox.commit(&tree.root, "a.txt", "theirs\n");
    tree.sandbox.commit(tree.worktree.path(), "a.txt", "ours..\n");
    let (merged, ..) = tree.sandbox.try_run(tree.worktree.path(), &["merge", "main"]);
    assert!(!merged);
    tree.settle().await;
    tree.assert_unproved("three stages of one file").await;
}

#[tokio::test]
async fn an_entry_as_young_as_the_index_is_no_proof() {
    let tree = Tree::new().await;
    let file = fs::metadata(tree.path("dir/deep/c.txt")).unwrap();
    set_modified(&tree.index(), file.mtime(), file.mtime_nsec());
    tree.assert_unproved("it may have changed in that very moment").await;
    tree.settle().await;
    assert!(tree.proved().await.is_some());
    // Its content is older than the index, its name or mode is not.
    set_modified(&tree.path("a.txt"), 1_700_000_000, 123_456_789);
    tree.git(&["update-index", "--refresh"]);
    let file = fs::metadata(tree.path("a.txt")).unwrap();
    set_modified(&tree.index(), file.ctime(), file.ctime_nsec());
    tree.assert_unproved("its time may have been set back in that very moment").await;
    tree.settle().await;
    assert!(tree.proved().await.is_some());
    set_modified(&tree.path("a.txt"), 4_000_000_000, 123_456_789);
    tree.git(&["update-index", "--refresh"]);
    tree.settle().await;
    tree.assert_unproved("its time is yet to come").await;
}

#[tokio::test]
async fn an_entry_whose_size_git_does_not_know_is_no_proof() {
    let tree = Tree::new().await;
    fs::write(tree.path("a.txt"), "").unwrap();
    let index = Index::load(&tree.index(), ObjectFormat::Sha1).unwrap();
    let stat = |path: &Path| FileStat::of(&fs::symlink_metadata(tree.worktree.path().join(path)).unwrap()).unwrap();
    let stats: Vec<_> = index.entries().iter().map(|entry| stat(entry.path())).collect();
    fs::write(tree.index(), index.patch_stat(&stats).unwrap()).unwrap();
    tree.settle().await;
    tree.assert_unproved("the file is empty, the object is not").await;
    assert_eq!(tree.git(&["status", "--porcelain"]), " M a.txt");
}

#[tokio::test]
async fn a_submodule_is_no_proof() {
    let tree = Tree::new().await;
    let library = tree.sandbox.init("library");
    let library = library.to_str().unwrap();
    tree.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", library, "lib"]);
    tree.git(&["commit", "-qm", "library"]);
    tree.settle().await;
    tree.assert_unproved("what is in it is not known").await;
}

#[tokio::test]
async fn an_index_of_another_kind_is_no_proof() {
    let tree = Tree::new().await;
    let version = |number| ["update-index", "--index-version", number];
    let split = |flag| ["update-index", "-q", flag];
    for (there, back) in [(version("4"), version("2")), (split("--split-index"), split("--no-split-index"))] {
        tree.git(&there);
        tree.settle().await;
        tree.assert_unproved(there[2]).await;
        tree.git(&back);
        tree.settle().await;
        assert!(tree.proved().await.is_some(), "{}", back[2]);
    }
    fs::write(tree.worktree.admin_dir().join("index.lock"), "").unwrap();
    tree.assert_unproved("somebody is writing it").await;
    fs::remove_file(tree.worktree.admin_dir().join("index.lock")).unwrap();
    for arguments in
        [&["sparse-checkout", "set", "--no-sparse-index", "dir"][..], &["sparse-checkout", "reapply", "--sparse-index"]]
    {
        tree.git(arguments);
        tree.settle().await;
        tree.assert_unproved("files are left out").await;
    }
    fs::remove_file(tree.index()).unwrap();
    tree.assert_unproved("no index").await;
    fs::write(tree.index(), "DIRC").unwrap();
    tree.assert_unproved("a damaged index").await;
}

#[tokio::test]
async fn a_replaced_git_file_is_no_proof() {
    let tree = Tree::new().await;
    let pointer = tree.path(".git");
    let text = fs::read_to_string(&pointer).unwrap();
    fs::remove_file(&pointer).unwrap();
    tree.assert_unproved("it is gone").await;
    fs::create_dir(&pointer).unwrap();
    tree.assert_unproved("it is a directory").await;
    fs::remove_dir(&pointer).unwrap();
    let other = tree.sandbox.add(tree.worktree.repository(), "y").await;
    fs::write(&pointer, format!("gitdir: {}\n", other.admin_dir().display())).unwrap();
    tree.assert_unproved("it leads to another worktree").await;
    let copy = tree.worktree.admin_dir().with_extension("copy");
    fs::create_dir(&copy).unwrap();
    for name in ["HEAD", "commondir", "gitdir", "index"] {
        fs::copy(tree.worktree.admin_dir().join(name), copy.join(name)).unwrap();
    }
    fs::write(&pointer, format!("gitdir: {}\n", copy.display())).unwrap();
    assert_eq!(Worktree::open(tree.worktree.repository(), tree.worktree.path()).unwrap().admin_dir(), copy);
    tree.assert_unproved("it leads to another git directory, which says that the tree is its own").await;
    fs::write(&pointer, text).unwrap();
    assert!(tree.proved().await.is_some());
}
