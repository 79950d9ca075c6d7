//! A tree is moved to another commit exactly as `git switch` moves it, or refuses to, only sooner.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::common::{Sandbox, branch, set_modified};
use spinney_core::CommitId;
use spinney_git::{Error, Head, Repository, Worktree};

/// How a tree comes to its commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// By `git read-tree`, which looks only at what differs.
    Quick,
    /// By `git switch`: because of what the tree or the change is, or because `git read-tree` refused.
    Switch,
    /// Not at all.
    Refused,
}
use Way::{Quick, Refused, Switch};

type Deed = fn(&Sandbox, &Path);

fn write(tree: &Path, file: &str, content: &str) {
    let path = tree.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

fn set_executable(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A repository, and the two commits between which trees are moved.
struct Scene {
    sandbox: Sandbox,
    repository: Repository,
    root: PathBuf,
    log: PathBuf,
    old: CommitId,
    new: CommitId,
}

impl Scene {
    async fn new(start: Deed, change: Deed) -> Self {
        let sandbox = Sandbox::new().await;
        let root = sandbox.init("app");
        let commit = |deed: Deed| {
            deed(&sandbox, &root);
            sandbox.run(&root, &["add", "--force", "--all"]);
            sandbox.run(&root, &["commit", "-q", "-m", "a commit"]);
            sandbox.head(&root)
        };
        let (old, new) = (commit(start), commit(change));
        let (git, log) = sandbox.logging_git().await;
        let repository = Repository::discover(&git, &root).await.unwrap();
        Self { sandbox, repository, root, log, old, new }
    }

    /// A repository in which files are edited, removed, added, made executable and made links.
    async fn usual() -> Self {
        Self::new(
            |_, root| {
                write(root, ".gitignore", "*.log\nbuild/\n");
                for file in
                    ["edited.txt", "removed.txt", "other.txt", "mode.sh", "kind.txt", "dir/a", "dir/b", "gone/x"]
                {
                    write(root, file, &format!("{file}\n"));
                }
                write(root, "tracked.log", "tracked.log\n");
            },
            |sandbox, root| {
                for file in ["edited.txt", "added.txt", "added.log", "deep/er/new.txt", "dir/a", "tracked.log"] {
                    write(root, file, "new\n");
                }
                fs::remove_file(root.join("removed.txt")).unwrap();
                sandbox.run(root, &["rm", "-rq", "gone"]);
                set_executable(&root.join("mode.sh"));
                fs::remove_file(root.join("kind.txt")).unwrap();
                symlink("other.txt", root.join("kind.txt")).unwrap();
            },
        )
        .await
    }

    fn add(&self, name: &str, deed: Deed) -> PathBuf {
        let path = self.sandbox.path("trees").join(name);
        let arguments = ["worktree", "add", "-q", "--detach", path.to_str().unwrap(), self.old.as_str()];
        self.sandbox.run(&self.root, &arguments);
        deed(&self.sandbox, &path);
        path
    }

    /// Moves one tree by ours and one by a person's `git switch`, and compares all that is to be seen of them.
    async fn check(&self, name: &str, deed: Deed, expected: Way) {
        let (our, their) = (format!("{name}-ours"), format!("{name}-theirs"));
        let (ours, theirs) = (self.add(&our, deed), self.add(&their, deed));
        let _ = fs::remove_file(&self.log);
        let worktree = Worktree::open(&self.repository, &ours).unwrap();
        let moved = worktree.move_to_new_branch(&branch(&our), &self.new, false).await;
        let calls = fs::read_to_string(&self.log).unwrap();
        let way = match (&moved, calls.contains(" switch ")) {
            (Err(_), _) => Refused,
            (Ok(()), true) => Switch,
            (Ok(()), false) => Quick,
        };
        assert_eq!(way, expected, "{name}: {moved:?}\n{calls}");

        let switch = ["switch", "-q", "--no-track", "--no-overwrite-ignore", "-c", &their, self.new.as_str()];
        let (switched, _, refusal) = self.sandbox.try_run(&theirs, &switch);
        assert_eq!(moved.is_ok(), switched, "{name}: {moved:?}; git: {refusal}");
        let look = |tree: &Path, own: &str| self.look(tree).replace(own, "NAME");
        assert_eq!(look(&ours, &our), look(&theirs, &their), "{name}");
        let head = worktree.load_head().await.unwrap();
        if moved.is_ok() {
            assert_eq!(head, Head::Branch { name: branch(&our), commit: Some(self.new.clone()) }, "{name}");
        } else {
            assert_eq!(head.commit(), Some(&self.old), "{name}");
        }
    }

    /// HEAD and its log, the branch's log, the index, what git says of the tree, and every file.
    fn look(&self, tree: &Path) -> String {
        let mut seen = String::new();
        let questions: [&[&str]; 6] = [
            &["symbolic-ref", "--quiet", "HEAD"],
            &["log", "-g", "--format=%H %gs", "HEAD"],
            &["log", "-g", "--format=%H %gs", "@{0}"],
            &["ls-files", "--stage", "-v"],
            &["status", "--porcelain", "--ignored", "--untracked-files=all"],
            &["config", "--local", "--list"],
        ];
        for question in questions {
            seen.push_str(&format!("{question:?}\n{}\n", self.sandbox.try_run(tree, question).1));
        }
        let mut files = BTreeMap::new();
        list(tree, tree, &mut files);
        seen.push_str(&format!("{files:#?}"));
        seen
    }
}

fn list(root: &Path, directory: &Path, files: &mut BTreeMap<PathBuf, (u32, Vec<u8>)>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let found = fs::symlink_metadata(&path).unwrap();
        let name = path.strip_prefix(root).unwrap().to_owned();
        let content = if found.is_dir() {
            list(root, &path, files);
            Vec::new()
        } else if found.is_symlink() {
            fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
        } else if name == Path::new(".git") {
            continue;
        } else {
            fs::read(&path).unwrap()
        };
        files.insert(name, (found.permissions().mode(), content));
    }
}

#[tokio::test]
async fn an_untouched_tree_is_moved_the_quick_way_and_its_index_is_whole() {
    let scene = Scene::usual().await;
    scene.check("untouched", |_, _| {}, Quick).await;
    let worktree = Worktree::open(&scene.repository, &scene.sandbox.path("trees/untouched-ours")).unwrap();
    let tree = scene.sandbox.run(&scene.root, &["rev-parse", &format!("{}^{{tree}}", scene.new)]);
    assert_eq!(worktree.load_index_tree(), Some(tree));
    let log = scene.sandbox.run(worktree.path(), &["log", "-g", "--format=%gs", "untouched-ours"]);
    assert_eq!(log, format!("branch: Created from {}", scene.new));
}

#[tokio::test]
async fn what_somebody_did_to_a_file_is_kept_or_refused_as_git_does() {
    let scene = Scene::usual().await;
    let deeds: [(&str, Deed, Way); 16] = [
        ("another-edited", |_, tree| write(tree, "other.txt", "mine"), Quick),
        (
            "another-staged",
            |sandbox, tree| {
                write(tree, "other.txt", "mine");
                sandbox.run(tree, &["add", "other.txt"]);
            },
            Quick,
        ),
        (
            "untracked-and-ignored",
            |_, tree| {
                write(tree, "deep/mine.txt", "mine");
                write(tree, "build/mine", "mine");
                write(tree, "gone/mine.log", "mine");
            },
            Quick,
        ),
        ("edited", |_, tree| write(tree, "edited.txt", "mine"), Refused),
        ("edited-to-the-same-size", |_, tree| write(tree, "edited.txt", "EDITED.TXT\n"), Refused),
        ("touched", |_, tree| set_modified(&tree.join("edited.txt"), 1, 0), Switch),
        (
            "staged",
            |sandbox, tree| {
                write(tree, "edited.txt", "mine");
                sandbox.run(tree, &["add", "edited.txt"]);
            },
            Refused,
        ),
        (
            "staged-and-put-back",
            |sandbox, tree| {
                write(tree, "edited.txt", "mine");
                sandbox.run(tree, &["add", "edited.txt"]);
                write(tree, "edited.txt", "edited.txt\n");
            },
            Refused,
        ),
        (
            "staged-as-it-will-be",
            |sandbox, tree| {
                write(tree, "edited.txt", "new\n");
                sandbox.run(tree, &["add", "edited.txt"]);
            },
            Quick,
        ),
        ("deleted", |_, tree| fs::remove_file(tree.join("edited.txt")).unwrap(), Quick),
        ("unstaged", |sandbox, tree| drop(sandbox.run(tree, &["rm", "-q", "--cached", "edited.txt"])), Refused),
        ("made-executable", |_, tree| set_executable(&tree.join("edited.txt")), Refused),
        ("edited-and-removed", |_, tree| write(tree, "removed.txt", "mine"), Refused),
        ("edited-and-made-a-link", |_, tree| write(tree, "kind.txt", "mine"), Refused),
        (
            "made-a-directory",
            |_, tree| {
                fs::remove_file(tree.join("edited.txt")).unwrap();
                write(tree, "edited.txt/mine", "mine");
            },
            Refused,
        ),
        ("ignored-and-edited", |_, tree| write(tree, "tracked.log", "mine"), Refused),
    ];
    for (name, deed, way) in deeds {
        scene.check(name, deed, way).await;
    }
}

#[tokio::test]
async fn what_is_in_the_way_is_left_there() {
    let scene = Scene::usual().await;
    let deeds: [(&str, Deed, Way); 10] = [
        ("untracked", |_, tree| write(tree, "added.txt", "mine"), Refused),
        ("ignored", |_, tree| write(tree, "added.log", "mine"), Refused),
        ("ignored-directory", |_, tree| write(tree, "added.log/mine.log", "mine"), Refused),
        ("empty-directory", |_, tree| fs::create_dir(tree.join("added.txt")).unwrap(), Switch),
        ("broken-link", |_, tree| symlink("nowhere", tree.join("added.log")).unwrap(), Refused),
        ("file-above", |_, tree| write(tree, "deep", "mine"), Refused),
        (
            "link-above",
            |sandbox, tree| {
                let elsewhere = sandbox.path("elsewhere");
                fs::create_dir_all(elsewhere.join("er")).unwrap();
                symlink(&elsewhere, tree.join("deep")).unwrap();
            },
            Refused,
        ),
        (
            "staged-and-deleted",
            |sandbox, tree| {
                write(tree, "added.txt", "mine");
                sandbox.run(tree, &["add", "added.txt"]);
                fs::remove_file(tree.join("added.txt")).unwrap();
            },
            Refused,
        ),
        (
            "announced",
            |sandbox, tree| {
                write(tree, "added.txt", "mine");
                sandbox.run(tree, &["add", "--intent-to-add", "added.txt"]);
            },
            Refused,
        ),
        (
            "ignored-by-another-list",
            |sandbox, tree| {
                let list = sandbox.run(tree, &["rev-parse", "--path-format=absolute", "--git-path", "info/exclude"]);
                write(Path::new("/"), &list, "added.txt\n");
                write(tree, "added.txt", "mine");
            },
            Refused,
        ),
    ];
    for (name, deed, way) in deeds {
        scene.check(name, deed, way).await;
    }
    assert_eq!(fs::read_dir(scene.sandbox.path("elsewhere/er")).unwrap().count(), 0);
}

#[tokio::test]
async fn whatever_is_unusual_is_left_to_git_switch() {
    let scene = Scene::usual().await;
    let deeds: [(&str, Deed, Way); 6] = [
        (
            "hidden-edit",
            |sandbox, tree| {
                sandbox.run(tree, &["update-index", "--skip-worktree", "edited.txt"]);
                write(tree, "edited.txt", "mine");
            },
            Refused,
        ),
        (
            "picking",
            |sandbox, tree| {
                let head = sandbox.run(tree, &["rev-parse", "HEAD"]);
                sandbox.run(tree, &["update-ref", "CHERRY_PICK_HEAD", &head]);
            },
            Refused,
        ),
        (
            "conflict",
            |sandbox, tree| {
                let blob = sandbox.run(tree, &["rev-parse", "HEAD:other.txt"]);
                for stage in ["1", "2", "3"] {
                    let entry = format!("100644 {blob} {stage}\tother.txt");
                    let list = tree.join("list.log");
                    fs::write(&list, entry).unwrap();
                    let line = "git update-index --index-info < list.log";
                    sandbox.run(tree, &["-c", &format!("alias.mark=!{line}"), "mark"]);
                    fs::remove_file(&list).unwrap();
                }
            },
            Refused,
        ),
        (
            "on-a-branch",
            |sandbox, tree| {
                let name = tree.file_name().unwrap().to_str().unwrap();
                sandbox.run(tree, &["switch", "-q", "-c", &format!("before-{name}")]);
            },
            Switch,
        ),
        ("repository-inside", |sandbox, tree| drop(sandbox.run(tree, &["init", "-q", "added.log"])), Refused),
        ("sparse", |sandbox, tree| drop(sandbox.run(tree, &["sparse-checkout", "set", "--no-cone", "/dir/"])), Switch),
    ];
    for (name, deed, way) in deeds {
        scene.check(name, deed, way).await;
    }
}

#[tokio::test]
async fn without_an_index_ignored_files_are_not_overwritten() {
    let start: Deed = |_, root| {
        write(root, ".gitignore", "*\n");
        write(root, "edited.txt", "old");
    };
    let scene = Scene::new(start, |_, root| write(root, "edited.txt", "new")).await;
    let deed: Deed = |sandbox, tree| {
        write(tree, "edited.txt", "mine");
        let index = sandbox.run(tree, &["rev-parse", "--path-format=absolute", "--git-path", "index"]);
        fs::remove_file(index).unwrap();
    };
    scene.check("no-index", deed, Refused).await;
}

#[tokio::test]
async fn a_directory_may_become_a_file_and_a_file_a_directory() {
    let scene = Scene::new(
        |_, root| {
            write(root, ".gitignore", "*.log\n");
            write(root, "directory/a", "a");
            write(root, "file", "file");
            symlink("directory", root.join("link")).unwrap();
        },
        |sandbox, root| {
            sandbox.run(root, &["rm", "-rq", "directory"]);
            fs::remove_file(root.join("file")).unwrap();
            fs::remove_file(root.join("link")).unwrap();
            for file in ["directory", "file/a", "link/a"] {
                write(root, file, "new");
            }
        },
    )
    .await;
    let deeds: [(&str, Deed, Way); 4] = [
        ("untouched", |_, _| {}, Switch),
        ("ignored-inside", |_, tree| write(tree, "directory/mine.log", "mine"), Refused),
        ("untracked-inside", |_, tree| write(tree, "directory/mine", "mine"), Refused),
        ("edited", |_, tree| write(tree, "file", "mine"), Refused),
    ];
    for (name, deed, way) in deeds {
        scene.check(name, deed, way).await;
    }
}

#[tokio::test]
async fn files_are_written_as_the_settings_say() {
    let scene = Scene::new(
        |sandbox, root| {
            write(root, ".gitattributes", "*.txt text\n*.up filter=up\n");
            write(root, "a.txt", "a\n");
            write(root, "a.up", "a\n");
            sandbox.run(root, &["config", "core.eol", "crlf"]);
            sandbox.run(root, &["config", "filter.up.smudge", "tr a-z A-Z"]);
            sandbox.run(root, &["config", "filter.up.clean", "tr A-Z a-z"]);
        },
        |_, root| {
            write(root, ".gitattributes", "*.txt text\n*.up filter=up\n*.down filter=up\n");
            for file in ["a.txt", "a.up", "b.txt", "b.up", "b.down"] {
                write(root, file, "new\n");
            }
        },
    )
    .await;
    scene.check("untouched", |_, _| {}, Quick).await;
    let read = |file: &str| fs::read_to_string(scene.sandbox.path("trees/untouched-ours").join(file)).unwrap();
    assert_eq!(
        ["a.txt", "a.up", "b.txt", "b.up", "b.down"].map(read),
        ["new\r\n", "NEW\n", "new\r\n", "NEW\n", "NEW\n"]
    );
}

#[tokio::test]
async fn submodules_and_lfs_are_left_to_git_switch() {
    let gitlink: Deed = |sandbox, root| {
        let head = sandbox.run(root, &["rev-parse", "HEAD"]);
        fs::create_dir_all(root.join("part")).unwrap();
        sandbox.run(root, &["update-index", "--add", "--cacheinfo", &format!("160000,{head},part")]);
        sandbox.run(root, &["commit", "-q", "-m", "a part"]);
    };
    let edit: Deed = |_, root| write(root, "README.md", "new");
    let declared: Deed = |_, root| write(root, ".gitmodules", "[submodule \"part\"]\n\tpath = part\n\turl = ./part\n");
    Scene::new(declared, edit).await.check("declared", |_, _| {}, Switch).await;

    let scene = Scene::new(edit, |_, root| write(root, "b", "b")).await;
    let old = scene.new.clone();
    gitlink(&scene.sandbox, &scene.root);
    let scene = Scene { old, new: scene.sandbox.head(&scene.root), ..scene };
    scene.check("added", |_, _| {}, Switch).await;

    let tree = scene.add("lfs", |_, _| {});
    fs::remove_file(&scene.log).unwrap();
    let worktree = Worktree::open(&scene.repository, &tree).unwrap();
    worktree.move_to_new_branch(&branch("lfs"), &scene.new, true).await.unwrap();
    let calls = fs::read_to_string(&scene.log).unwrap();
    assert!(calls.contains(" switch ") && !calls.contains(" read-tree "), "{calls}");
}

#[tokio::test]
async fn a_branch_that_exists_is_not_moved_and_no_file_is() {
    let scene = Scene::usual().await;
    let tree = scene.add("taken", |_, _| {});
    scene.sandbox.run(&scene.root, &["branch", "taken", scene.old.as_str()]);
    let before = scene.look(&tree);
    let worktree = Worktree::open(&scene.repository, &tree).unwrap();
    let error = worktree.move_to_new_branch(&branch("taken"), &scene.new, false).await.unwrap_err();
    assert!(matches!(&error, Error::BranchExists { branch } if branch == "taken"), "{error:?}");
    assert_eq!(scene.look(&tree), before);
    assert_eq!(scene.repository.load_branch(&branch("taken")).await.unwrap(), Some(scene.old.clone()));
}
