//! Git's index, read and patched without git, as real git writes and understands it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use crate::common::{Sandbox, let_settle, set_modified};
use spinney_git::{FileStat, Index, IndexDirectory, IndexMode, ObjectFormat};

/// A repository with one file of each kind, in few and deep directories.
fn init(sandbox: &Sandbox, format: &str) -> PathBuf {
    let root = sandbox.path(&format!("app {format}"));
    fs::create_dir(&root).unwrap();
    sandbox.run(&root, &["init", "-q", &format!("--object-format={format}")]);
    for name in ["README.md", "src/main.rs", "src/deep/er/x", "src.txt", "ünd/größe", "empty"] {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, if name == "empty" { String::new() } else { format!("{name}\n") }).unwrap();
    }
    sandbox.script(&format!("app {format}/run.sh"), "true\n");
    symlink("src/main.rs", root.join("link")).unwrap();
    sandbox.run(&root, &["add", "-A"]);
    sandbox.run(&root, &["commit", "-qm", "all"]);
    root
}

fn formats() -> [(&'static str, ObjectFormat); 2] {
    [("sha1", ObjectFormat::Sha1), ("sha256", ObjectFormat::Sha256)]
}

/// What git says of its index: path to mode, object and stage.
fn listed(sandbox: &Sandbox, root: &Path) -> BTreeMap<String, String> {
    let text = sandbox.run(root, &["ls-files", "--stage", "-z"]);
    let split = |line: &str| line.split_once('\t').map(|(what, path)| (path.to_owned(), what.to_owned())).unwrap();
    text.split_terminator('\0').map(split).collect()
}

fn found(index: &Index) -> BTreeMap<String, String> {
    let entry = |entry: &spinney_git::IndexEntry| {
        let mode = match entry.mode {
            IndexMode::File => "100644",
            IndexMode::Executable => "100755",
            IndexMode::Link => "120000",
            IndexMode::Submodule => "160000",
        };
        (entry.path().to_str().unwrap().to_owned(), format!("{mode} {} {}", entry.id, entry.stage))
    };
    index.entries().iter().map(entry).collect()
}

#[tokio::test]
async fn every_version_is_read_as_git_reads_it() {
    let sandbox = Sandbox::new().await;
    for (name, format) in formats() {
        let root = init(&sandbox, name);
        let tree = sandbox.run(&root, &["rev-parse", "HEAD^{tree}"]);
        for version in ["2", "4", "3"] {
            sandbox.run(&root, &["update-index", "--index-version", version]);
            if version == "3" {
                // Git writes this version only where something needs it.
                sandbox.run(&root, &["update-index", "--skip-worktree", "src.txt"]);
            }
            let index = Index::load(&root.join(".git/index"), format).unwrap();
            assert_eq!(index.version().to_string(), version);
            assert_eq!(found(&index), listed(&sandbox, &root));
            // Git forgets the tree over a mark.
            assert_eq!(index.root_tree().map(|id| id.to_string()), (version != "3").then(|| tree.clone()));
            for entry in index.entries() {
                let metadata = fs::symlink_metadata(root.join(entry.path())).unwrap();
                assert!(entry.matches(&metadata), "{:?}", entry.path());
                assert_eq!(entry.stat.modified.nanoseconds as i64, metadata.mtime_nsec());
                assert_eq!(entry.skip_worktree, version == "3" && entry.path() == Path::new("src.txt"));
            }
        }
        sandbox.run(&root, &["update-index", "--no-skip-worktree", "src.txt"]);
        fs::write(root.join("staged"), "x").unwrap();
        sandbox.run(&root, &["add", "staged"]);
        let index = Index::load(&root.join(".git/index"), format).unwrap();
        assert_eq!(index.root_tree(), None, "something is staged that no tree was written for");
        fs::write(root.join("announced"), "x").unwrap();
        sandbox.run(&root, &["add", "--intent-to-add", "announced"]);
        let index = Index::load(&root.join(".git/index"), format).unwrap();
        let announced: Vec<_> = index.entries().iter().filter(|entry| entry.intent_to_add).collect();
        assert_eq!(announced.len(), 1);
    }
}

#[tokio::test]
async fn an_index_without_a_checksum_is_read_and_one_that_is_split_is_not() {
    let sandbox = Sandbox::new().await;
    let root = init(&sandbox, "sha1");
    let path = root.join(".git/index");
    let mut bytes = fs::read(&path).unwrap();
    let end = bytes.len() - 20;
    bytes[end..].fill(0);
    fs::write(&path, &bytes).unwrap();
    assert_eq!(Index::load(&path, ObjectFormat::Sha1).unwrap().entries().len(), 8);
    bytes[end..].fill(1);
    fs::write(&path, &bytes).unwrap();
    assert!(Index::load(&path, ObjectFormat::Sha1).is_err());
    bytes[end..].fill(0);
    fs::write(&path, &bytes).unwrap();
    sandbox.run(&root, &["update-index", "--split-index"]);
    assert!(Index::load(&path, ObjectFormat::Sha1).is_err());
    fs::remove_file(&path).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
    assert!(Index::load(&path, ObjectFormat::Sha1).is_err(), "a pipe must not make it wait");
}

/// Copies the files of a tree into another, where each gets content that is as long and wrong: who reads it, knows.
fn copy_wrongly(root: &Path, copy: &Path, index: &Index) -> Vec<FileStat> {
    let copy_one = |entry: &spinney_git::IndexEntry| {
        let (from, to) = (root.join(entry.path()), copy.join(entry.path()));
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        if entry.mode == IndexMode::Link {
            symlink(fs::read_link(&from).unwrap().to_str().unwrap().to_uppercase(), &to).unwrap();
        } else {
            fs::copy(&from, &to).unwrap();
            fs::write(&to, fs::read(&from).unwrap().to_ascii_uppercase()).unwrap();
        }
        let original = fs::symlink_metadata(&from).unwrap();
        set_modified(&to, original.mtime(), original.mtime_nsec());
        FileStat::of(&fs::symlink_metadata(&to).unwrap()).unwrap()
    };
    index.entries().iter().map(copy_one).collect()
}

#[tokio::test]
async fn git_reads_no_file_of_a_copy_whose_index_was_patched() {
    let sandbox = Sandbox::new().await;
    for (name, format) in formats() {
        let root = init(&sandbox, name);
        let copy = sandbox.path(&format!("copy {name}"));
        let path = root.join(".git/index");
        for file in listed(&sandbox, &root).keys() {
            set_modified(&root.join(file), 1_700_000_000, 123_456_789);
        }
        // What must not get into the copy's index.
        sandbox.run(&root, &["update-index", "--refresh", "--force-untracked-cache"]);
        let_settle(&path).await;
        sandbox.run(&root, &["worktree", "add", "-q", "--no-checkout", "-b", "copy", copy.to_str().unwrap()]);
        let index = Index::load(&path, format).unwrap();
        assert!(fs::read(&path).unwrap().windows(4).any(|bytes| bytes == b"UNTR"));
        let stats = copy_wrongly(&root, &copy, &index);
        let patched = index.patch_stat(&stats).unwrap();
        assert!(!patched.windows(4).any(|bytes| bytes == b"UNTR"));
        let admin = PathBuf::from(sandbox.run(&copy, &["rev-parse", "--absolute-git-dir"]));
        fs::write(admin.join("index"), &patched).unwrap();
        assert_eq!(sandbox.run(&copy, &["status", "--porcelain"]), "", "git read a file, whose content is wrong");
        assert_eq!(sandbox.run(&copy, &["write-tree"]), sandbox.run(&root, &["rev-parse", "HEAD^{tree}"]));
        sandbox.run(&copy, &["fsck", "--strict"]);

        // The same bytes with entries that are not settled: git looks for itself.
        let unknown = Index::parse(fs::read(&path).unwrap(), format).unwrap();
        fs::write(admin.join("index"), unknown.patch_stat(&stats).unwrap()).unwrap();
        assert_eq!(sandbox.run(&copy, &["status", "--porcelain"]).lines().count(), 7, "all but the empty one");
        assert!(index.patch_stat(&stats[1..]).is_err());
    }
}

#[tokio::test]
async fn directories_come_after_those_they_are_in() {
    let sandbox = Sandbox::new().await;
    let root = init(&sandbox, "sha1");
    for name in ["src-x/a", "src.y/b", "src/deep.z", "src/deep/er/y/q"] {
        sandbox.commit(&root, name, name);
    }
    let index = Index::load(&root.join(".git/index"), ObjectFormat::Sha1).unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let directories = index.directories();
    let found: Vec<_> =
        directories.iter().map(|found| (text(found.path), found.files.len(), found.directories.len())).collect();
    let expected = [
        ("", 5, 4),
        ("src-x", 1, 0),
        ("src.y", 1, 0),
        ("src", 2, 1),
        ("src/deep", 0, 1),
        ("src/deep/er", 1, 1),
        ("src/deep/er/y", 1, 0),
        ("ünd", 1, 0),
    ];
    assert_eq!(found, expected.map(|(path, files, directories)| (path.to_owned(), files, directories)));
    let (first, second) = IndexDirectory::halves(&directories);
    assert_eq!((first.len(), second.len()), (3, 5));
}
