//! Real trees on real file systems: those that can share blocks, and the one that holds temporary files.

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::FileType;
use spinney_git::{FileStat, Index, ObjectFormat};
use spinney_testkit::{LoopImage, Sandbox, write_program};

use super::directory::Carried;
use super::probe::probe;
use super::*;
use crate::home::layout::Home;

const IMAGE_BYTES: u64 = 512 << 20;

fn btrfs() -> Option<Btrfs> {
    Btrfs::find(OsStr::new("/usr/bin:/bin"))
}

/// Each file system that can share blocks, where it can be had, with what it can do.
fn sharing() -> Vec<(LoopImage, Capability)> {
    let snapshot = if btrfs().is_some() { Capability::Snapshot } else { Capability::Reflink };
    let made = [(LoopImage::xfs(IMAGE_BYTES), Capability::Reflink), (LoopImage::btrfs(IMAGE_BYTES), snapshot)];
    made.into_iter().filter_map(|(image, capability)| Some((image?, capability))).collect()
}

/// A directory without sharing; none where temporary files lie on a file system that can do it.
fn plain() -> Option<tempfile::TempDir> {
    let directory = tempfile::tempdir().unwrap();
    let kind = snapshot::file_system_type(directory.path()).unwrap();
    // ext4, tmpfs
    [0xef53, 0x0102_1994].contains(&kind).then_some(directory)
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A repository and a worktree of it that others are made from.
struct Source {
    sandbox: Sandbox,
    place: PathBuf,
    repository: PathBuf,
    template: PathBuf,
}

impl Source {
    fn new(place: &Path) -> Self {
        let sandbox = Sandbox::new();
        let repository = place.join("app");
        let template = place.join("template");
        fs::create_dir(&repository).unwrap();
        sandbox.git(&repository, &["init", "-q", "-b", "main"]);
        for number in 0..300 {
            let path = repository.join(format!("src/d{}/e{}/file {number}", number % 5, number % 11));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{number}\n").repeat(1 + number * 20)).unwrap();
        }
        for (name, content) in [("empty", ""), ("README.md", "hello\n"), ("src/größe", "x"), ("bin/run", "#!/bin/sh\n")]
        {
            fs::create_dir_all(repository.join(name).parent().unwrap()).unwrap();
            fs::write(repository.join(name), content).unwrap();
        }
        fs::set_permissions(repository.join("bin/run"), Permissions::from_mode(0o755)).unwrap();
        symlink("../README.md", repository.join("src/link")).unwrap();
        symlink("/nowhere/at/all", repository.join("dangling")).unwrap();
        fs::write(repository.join(".gitignore"), "/node_modules\n").unwrap();
        sandbox.git(&repository, &["add", "-A"]);
        sandbox.git(&repository, &["commit", "-qm", "all"]);
        let source = Self { sandbox, place: place.to_owned(), repository, template };
        source.git(&["worktree", "add", "-q", "--detach", source.template.to_str().unwrap()]);
        source.settle();
        source
    }

    fn git(&self, arguments: &[&str]) -> String {
        self.sandbox.git(&self.repository, arguments)
    }

    /// Lets the template be as old as it is in use: older than this second, in which git would look for itself.
    fn settle(&self) {
        let hour_ago = SystemTime::now() - Duration::from_secs(3600);
        let listed = self.sandbox.git(&self.template, &["-c", "core.quotePath=false", "ls-files"]);
        for name in listed.lines() {
            let path = self.template.join(name);
            if !path.is_symlink() {
                File::options().write(true).open(&path).unwrap().set_modified(hour_ago).unwrap();
            }
        }
        let links = self.sandbox.git(&self.template, &["ls-files", "src/link", "dangling"]);
        for name in links.lines() {
            let now = fs::symlink_metadata(self.template.join(name)).unwrap();
            let time = rustix::fs::Timespec { tv_sec: now.mtime() - 3600, tv_nsec: 123_456_789 };
            let times = rustix::fs::Timestamps { last_access: time, last_modification: time };
            let path = self.template.join(name);
            rustix::fs::utimensat(rustix::fs::CWD, path, &times, rustix::fs::AtFlags::SYMLINK_NOFOLLOW).unwrap();
        }
        self.sandbox.git(&self.template, &["update-index", "--refresh"]);
        // The clock of a file system goes in steps; the index must be a step younger than what it knows.
        let index = self.admin_dir(&self.template).join("index");
        let before = SystemTime::now();
        let has_gone_on = || {
            fs::write(self.place.join("clock"), "x").unwrap();
            fs::metadata(self.place.join("clock")).unwrap().modified().unwrap() > before
        };
        spinney_testkit::wait_until(has_gone_on, Duration::from_secs(30));
        let now = fs::metadata(self.place.join("clock")).unwrap().modified().unwrap();
        File::options().write(true).open(index).unwrap().set_modified(now).unwrap();
    }

    fn admin_dir(&self, tree: &Path) -> PathBuf {
        self.sandbox.git(tree, &["rev-parse", "--absolute-git-dir"]).into()
    }

    fn index(&self) -> Index {
        Index::load(&self.admin_dir(&self.template).join("index"), ObjectFormat::Sha1).unwrap()
    }

    /// A worktree without files.
    fn register(&self, name: &str) -> PathBuf {
        let path = self.place.join(name);
        self.git(&["worktree", "add", "-q", "--no-checkout", "-b", name, path.to_str().unwrap()]);
        path
    }

    /// Asserts that git finds a tree in order without reading any file of it.
    fn assert_known_clean(&self, tree: &Path) {
        let trace = self.sandbox.path().join("trace");
        let mut status = self.sandbox.command("git");
        status.args(["status", "--porcelain", "--ignored"]).current_dir(tree).env("GIT_TRACE2_PERF", &trace);
        let output = status.output().unwrap();
        assert!(output.status.success() && output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stdout));
        let said = fs::read_to_string(&trace).unwrap();
        fs::remove_file(&trace).unwrap();
        let scanned: Vec<_> = said.lines().filter_map(|line| line.split("refresh/sum_scan:").nth(1)).collect();
        assert_eq!(scanned, ["0"], "git has read files to compare them");
        self.sandbox.git(tree, &["diff", "--exit-code", "HEAD"]);
        self.sandbox.git(tree, &["fsck", "--strict"]);
        assert_eq!(self.sandbox.git(tree, &["write-tree"]), self.git(&["rev-parse", "HEAD^{tree}"]));
    }
}

#[test]
fn a_file_system_is_judged_by_what_it_does() {
    if let Some(directory) = plain() {
        assert_eq!(probe(directory.path(), btrfs().as_ref()).unwrap(), Capability::None);
        assert_eq!(names(directory.path()), [""; 0]);
    }
    for (image, capability) in sharing() {
        assert_eq!(probe(&image.path(), btrfs().as_ref()).unwrap(), capability);
        assert_eq!(probe(&image.path(), None).unwrap(), Capability::Reflink);
        assert!(names(&image.path()).iter().all(|name| !name.contains("probe")), "{:?}", names(&image.path()));
    }
    assert!(probe(Path::new("/nowhere"), None).is_err());
}

#[test]
fn a_judgement_is_remembered_until_it_proves_wrong() {
    let sandbox = Sandbox::new();
    let home = Home::open(&sandbox.spinney_home()).unwrap();
    let memory = home.root().join("file-systems.json");
    let tree = sandbox.path().join("tree");
    fs::create_dir(&tree).unwrap();
    let capabilities = Capabilities::new(&home, None);
    let right = capabilities.load_or_probe(&tree);
    let text = fs::read_to_string(&memory).unwrap();
    let wrong = if right == Capability::None { "reflink" } else { "none" };
    let other = serde_json::to_string(&right).unwrap();
    fs::write(&memory, text.replace(&other, &format!("\"{wrong}\""))).unwrap();
    assert_ne!(capabilities.load_or_probe(&tree), right, "it is not tried again");
    capabilities.forget(&tree);
    assert_eq!(capabilities.load_or_probe(&tree), right);
    assert_eq!(fs::read_to_string(&memory).unwrap(), text);
    fs::write(&memory, text.replace(&other, &format!("\"{wrong}\""))).unwrap();
    if let Some(btrfs) = btrfs() {
        assert_eq!(Capabilities::new(&home, Some(btrfs)).load_or_probe(&tree), right, "the program came since");
    }
    fs::write(&memory, "no json").unwrap();
    assert_eq!(capabilities.load_or_probe(&tree), right);
    assert_eq!(fs::read_to_string(&memory).unwrap(), text);
    assert_eq!(capabilities.load_or_probe(Path::new("/nowhere")), Capability::None);
    assert_eq!(names(&tree), [""; 0]);
}

#[test]
fn a_tree_is_made_from_a_template_and_git_need_not_read_it() {
    for (image, _) in sharing() {
        let source = Source::new(&image.path());
        let target = source.register("copy");
        let cloned = clone_tree(&source.template, &source.index(), &target).unwrap();
        fs::write(source.admin_dir(&target).join("index"), cloned.index).unwrap();
        source.assert_known_clean(&target);
        for name in ["bin/run", "empty", "src/größe"] {
            let [from, to] = [&source.template, &target].map(|tree| fs::metadata(tree.join(name)).unwrap());
            assert_eq!(from.mode(), to.mode());
            assert_eq!((from.mtime(), from.mtime_nsec()), (to.mtime(), to.mtime_nsec()));
            assert_ne!(from.ino(), to.ino());
        }
        assert_eq!(fs::read_link(target.join("dangling")).unwrap(), Path::new("/nowhere/at/all"));

        // Each has its own content from here on, and git sees what changes, even within one second.
        let file = "src/d4/e1/file 199";
        let before = fs::read(source.template.join(file)).unwrap();
        let changed: Vec<u8> = before.iter().map(|byte| byte.wrapping_add(1)).collect();
        fs::write(target.join(file), &changed).unwrap();
        assert_eq!(fs::read(source.template.join(file)).unwrap(), before);
        assert_eq!(source.sandbox.git(&target, &["status", "--porcelain"]), format!(" M \"{file}\""));
        source.assert_known_clean(&source.template);
    }
}

#[test]
fn a_template_that_is_not_what_its_index_says_makes_no_tree() {
    let Some((image, _)) = sharing().pop() else { return };
    let source = Source::new(&image.path());
    let index = source.index();
    let file = source.template.join("src/d4/e1/file 199");
    let aside = source.place.join("aside");
    let refused = |what: &str| {
        let target = source.place.join(format!("refused {what}"));
        fs::create_dir(&target).unwrap();
        let error = clone_tree(&source.template, &index, &target).unwrap_err();
        assert!(matches!(error, CopyError::TemplateChanged { .. }) && !error.is_incapable(), "{what}: {error:?}");
    };
    // Moving a directory leaves no trace on the files in it.
    let directory = source.template.join("src/d4");
    fs::rename(&directory, &aside).unwrap();
    refused("directory gone");
    symlink(&aside, &directory).unwrap();
    refused("directory is a link to the very same");
    fs::remove_file(&directory).unwrap();
    fs::rename(&aside, &directory).unwrap();
    clone_tree(&source.template, &index, &source.register("whole")).unwrap();

    let original = fs::metadata(&file).unwrap().modified().unwrap();
    fs::rename(&file, &aside).unwrap();
    refused("gone");
    fs::copy(&aside, &file).unwrap();
    File::options().write(true).open(&file).unwrap().set_modified(original).unwrap();
    refused("another file");
    fs::remove_file(&file).unwrap();
    symlink(&aside, &file).unwrap();
    refused("link");
    fs::remove_file(&file).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, &file, FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
    refused("pipe");
}

#[test]
fn what_a_copy_can_not_have_makes_no_tree() {
    let Some((image, _)) = sharing().pop() else { return };
    let source = Source::new(&image.path());
    for mark in ["--skip-worktree", "--assume-unchanged"] {
        source.sandbox.git(&source.template, &["update-index", mark, "README.md"]);
        let target = source.place.join(mark);
        fs::create_dir(&target).unwrap();
        let error = clone_tree(&source.template, &source.index(), &target).unwrap_err();
        assert!(matches!(error, CopyError::TemplateUnsuitable { .. }), "{error:?}");
        assert_eq!(names(&target), [""; 0]);
    }
}

#[test]
fn where_nothing_can_be_shared_is_said_at_once() {
    let images = sharing();
    let elsewhere = plain();
    for (number, (image, _)) in images.iter().enumerate() {
        let source = Source::new(&image.path());
        // What is there is not written over, nor through.
        let target = source.place.join("taken");
        fs::create_dir(&target).unwrap();
        let victim = source.place.join("victim");
        fs::write(&victim, "mine").unwrap();
        symlink(&victim, target.join("README.md")).unwrap();
        assert!(matches!(clone_tree(&source.template, &source.index(), &target), Err(CopyError::Files { .. })));
        assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
        let Some(elsewhere) = &elsewhere else { continue };
        let target = elsewhere.path().join(format!("copy {number}"));
        fs::create_dir(&target).unwrap();
        let error = clone_tree(&source.template, &source.index(), &target).unwrap_err();
        assert!(matches!(error, CopyError::NotShareable { .. }) && error.is_incapable(), "{error:?}");
    }
    if let Some(place) = elsewhere {
        let inner = place.path().join("inner");
        fs::create_dir(&inner).unwrap();
        let source = Source::new(&inner);
        let target = source.register("copy");
        let error = clone_tree(&source.template, &source.index(), &target).unwrap_err();
        assert!(matches!(error, CopyError::NotShareable { .. }), "{error:?}");
    }
}

/// Something like installed dependencies.
fn make_dependencies(place: &Path) -> PathBuf {
    let root = place.join("node_modules");
    fs::create_dir_all(root.join("pkg/lib")).unwrap();
    fs::create_dir_all(root.join(".bin")).unwrap();
    fs::create_dir(root.join("empty")).unwrap();
    fs::write(root.join("pkg/lib/index.js"), "x".repeat(70_000)).unwrap();
    fs::write(root.join("pkg/run"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(root.join("pkg/run"), Permissions::from_mode(0o4755)).unwrap();
    fs::hard_link(root.join("pkg/run"), root.join("pkg/run too")).unwrap();
    symlink("../pkg/run", root.join(".bin/run")).unwrap();
    symlink("../../secret", root.join(".bin/out")).unwrap();
    symlink("/etc/passwd", root.join("absolute")).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, root.join("pipe"), FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
    fs::write(root.join("read-only"), "x").unwrap();
    fs::set_permissions(root.join("read-only"), Permissions::from_mode(0o444)).unwrap();
    fs::set_permissions(root.join("empty"), Permissions::from_mode(0o555)).unwrap();
    let hour_ago = SystemTime::now() - Duration::from_secs(3600);
    File::options().write(true).open(root.join("pkg/lib/index.js")).unwrap().set_modified(hour_ago).unwrap();
    root
}

const DEPENDENCIES: Carried =
    Carried { files: 4, bytes: 70_021, links: 1, links_left_out: 2, special_left_out: 1, shared: true };

fn assert_carried(from: &Path, to: &Path) {
    assert_eq!(names(to), [".bin", "empty", "pkg", "read-only"]);
    assert_eq!(names(&to.join(".bin")), ["run"]);
    assert_eq!(fs::read_link(to.join(".bin/run")).unwrap(), Path::new("../pkg/run"));
    for name in ["pkg/lib/index.js", "pkg/run", "pkg/run too", "read-only", "empty", "pkg"] {
        let [before, after] = [from, to].map(|root| fs::metadata(root.join(name)).unwrap());
        assert_eq!(before.mode() & 0o777, after.mode() & 0o7777, "{name}");
        assert_eq!((before.mtime(), before.mtime_nsec()), (after.mtime(), after.mtime_nsec()), "{name}");
        if before.is_file() {
            assert_eq!(fs::read(from.join(name)).unwrap(), fs::read(to.join(name)).unwrap());
            assert_eq!(after.nlink(), 1);
        }
    }
    fs::write(to.join("pkg/run"), "changed").unwrap();
    assert_eq!(fs::read_to_string(from.join("pkg/run")).unwrap(), "#!/bin/sh\n");
    assert_eq!(fs::read_to_string(to.join("pkg/run too")).unwrap(), "#!/bin/sh\n");
}

#[test]
fn a_directory_is_carried_by_sharing_or_by_a_small_copy() {
    for (image, _) in sharing() {
        let (from, to) = (make_dependencies(&image.path()), image.path().join("to"));
        assert_eq!(clone_directory(&from, &to, Path::new(""), 0).unwrap(), DEPENDENCIES);
        assert_carried(&from, &to);
        assert!(
            matches!(clone_directory(&from, &to, Path::new(""), 0), Err(CopyError::Files { .. })),
            "nothing is merged"
        );
        if let Some(elsewhere) = plain() {
            let to = elsewhere.path().join("to");
            let copied = clone_directory(&from, &to, Path::new(""), DEPENDENCIES.bytes).unwrap();
            assert_eq!(copied, Carried { shared: false, ..DEPENDENCIES });
            assert_carried(&from, &to);
        }
    }
    if let Some(place) = plain() {
        let from = make_dependencies(place.path());
        let to = |name: &str| place.path().join(name);
        let error = clone_directory(&from, &to("too large"), Path::new(""), DEPENDENCIES.bytes - 1).unwrap_err();
        assert!(matches!(error, CopyError::TooLarge { .. }), "{error:?}");
        let begun = ["read-only", "pkg/run", "pkg/run too", "pkg/lib/index.js"].map(|name| to("too large").join(name));
        assert!(
            begun.iter().all(|path| fs::metadata(path).map_or(0, |found| found.len()) == 0),
            "it is measured first"
        );
        clone_directory(&from, &to("right"), Path::new(""), DEPENDENCIES.bytes).unwrap();
        symlink(&from, to("link")).unwrap();
        assert!(clone_directory(&to("link"), &to("followed"), Path::new(""), u64::MAX).is_err());
    }
}

#[test]
fn a_snapshot_is_a_tree_of_its_own_that_git_need_not_read() {
    let (Some(image), Some(btrfs)) = (LoopImage::btrfs(IMAGE_BYTES), btrfs()) else { return };
    let place = image.path();
    // The template is a subvolume, in which git makes its worktree.
    btrfs.create(&place.join("template")).unwrap();
    let source = Source::new(&place);
    assert!(is_subvolume(&source.template) && !is_subvolume(&source.repository) && is_subvolume(&place));
    btrfs.set_read_only(&source.template, true).unwrap();
    assert!(fs::write(source.template.join("x"), "").is_err());

    let target = source.register("copy");
    let pointer = fs::read(target.join(".git")).unwrap();
    assert!(btrfs.snapshot(&source.template, &target).is_err(), "a directory is there");
    assert_eq!(names(&target), [".git"]);
    let admin_dir = source.admin_dir(&target);
    fs::remove_file(target.join(".git")).unwrap();
    fs::remove_dir(&target).unwrap();
    btrfs.snapshot(&source.template, &target).unwrap();
    fs::write(target.join(".git"), pointer).unwrap();
    let index = source.index();
    let stat = |path: &Path| FileStat::of(&fs::symlink_metadata(target.join(path)).unwrap()).unwrap();
    let stats: Vec<_> = index.entries().iter().map(|entry| stat(entry.path())).collect();
    assert!(index.entries().iter().zip(&stats).all(|(entry, stat)| entry.stat.is_same_file(stat)));
    fs::write(admin_dir.join("index"), index.patch_stat(&stats).unwrap()).unwrap();
    source.assert_known_clean(&target);

    rustix::fs::sync();
    let shared = btrfs.shared_bytes(&target).unwrap();
    assert!(shared.total > 1 << 20 && shared.exclusive < shared.total / 10, "{shared:?}");
    fs::write(target.join("README.md"), "changed").unwrap();
    assert_eq!(fs::read_to_string(source.template.join("README.md")).unwrap(), "hello\n");

    btrfs.delete(&target).unwrap();
    assert!(!target.exists());
    btrfs.delete(&source.template).unwrap();
    assert!(!source.template.exists());
}

#[test]
fn a_subvolume_that_may_not_be_deleted_goes_in_the_ordinary_way() {
    let (Some(image), Some(btrfs)) = (LoopImage::btrfs(IMAGE_BYTES), btrfs()) else { return };
    let programs = tempfile::tempdir().unwrap();
    let script = "#!/bin/sh\ncase \"$2\" in delete) echo 'not permitted' >&2; exit 1 ;; esac\nexec btrfs \"$@\"\n";
    let script = script.replace("exec btrfs", "PATH=/usr/bin:/bin:/usr/sbin:/sbin exec btrfs");
    write_program(programs.path().join("btrfs"), script);
    let refusing = Btrfs::find(programs.path().as_os_str()).unwrap();
    let subvolume = image.path().join("subvolume");
    refusing.create(&subvolume).unwrap();
    fs::create_dir(subvolume.join("directory")).unwrap();
    fs::write(subvolume.join("directory/file"), "x").unwrap();
    btrfs.create(&subvolume.join("inner")).unwrap();
    refusing.set_read_only(&subvolume, true).unwrap();
    refusing.delete(&subvolume).unwrap();
    assert!(!subvolume.exists());
    assert!(refusing.delete(&image.path().join("none")).is_err());
}
