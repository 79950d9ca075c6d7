//! Files that are not what they seem: a link to `/dev/zero`, a pipe, a device, a directory in the place of a settings file;
//! and trees that are bombs. Every command ends soon, and says which file it is.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::support::common::Story;
use crate::support::lost::Work;
use rustix::fs::{Mode, OFlags};
use spinney_testkit::{Cli, Ran};

const SOON: Duration = Duration::from_secs(30);

/// What a repository can hold in the place of a file.
const KINDS: [(&str, &str); 5] =
    [("endless", "link"), ("link", "link"), ("pipe", "pipe"), ("directory", "directory"), ("long", "longer than")];

fn put(place: &Path, kind: &str) {
    match kind {
        "endless" => symlink("/dev/zero", place).unwrap(),
        "link" => symlink("README.md", place).unwrap(),
        "pipe" => {
            let mode = Mode::RUSR | Mode::WUSR;
            rustix::fs::mknodat(rustix::fs::CWD, place, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        }
        "directory" => fs::create_dir(place).unwrap(),
        _ => fs::File::create(place).unwrap().set_len(3 << 20).unwrap(),
    }
}

fn take_away(place: &Path) {
    if place.symlink_metadata().unwrap().is_dir() { fs::remove_dir(place) } else { fs::remove_file(place) }.unwrap();
}

/// Runs a command within a bound of time and memory.
#[track_caller]
fn bounded(cli: &Cli, arguments: &[&str]) -> Ran {
    let started = Instant::now();
    let mut running = cli.spawn(arguments);
    while running.is_running() {
        if started.elapsed() > SOON {
            let ran = running.kill();
            panic!("{arguments:?} hangs: {}", ran.told());
        }
        let status = fs::read_to_string(format!("/proc/{}/status", running.id())).unwrap_or_default();
        let resident =
            status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.split_whitespace().next()?.parse().ok());
        if resident.is_some_and(|kilobytes: u64| kilobytes > 1 << 20) {
            let ran = running.kill();
            panic!("{arguments:?} eats memory: {}", ran.told());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    running.wait()
}

/// Makes directories deeper than a path can be long, as a process makes them that steps down.
fn make_deep(top: &Path) {
    let open = OFlags::DIRECTORY | OFlags::CLOEXEC;
    fs::create_dir(top).unwrap();
    let mut place = rustix::fs::open(top, open, Mode::empty()).unwrap();
    for _ in 0..1500 {
        rustix::fs::mkdirat(&place, "deeper", Mode::RWXU).unwrap();
        place = rustix::fs::openat(&place, "deeper", open, Mode::empty()).unwrap();
    }
    drop(rustix::fs::openat(&place, "file", OFlags::CREATE | OFlags::WRONLY, Mode::RUSR).unwrap());
}

#[test]
fn a_settings_file_that_is_none_stops_no_command_and_is_named() {
    let story = Story::new();
    Work::new(&story, "1");
    let place = story.repository.path().join("spinney.toml");
    for (kind, word) in KINDS {
        story.change(|_| put(&place, kind));
        for arguments in [&["ls"][..], &["new", "--issue", "2"], &["show", "issue-1"], &["config", "show"], &["status"]]
        {
            let told = bounded(&story.cli, arguments);
            if told.status != 0 {
                assert!(told.stderr.contains("spinney.toml"), "{kind}, {arguments:?}: {}", told.told());
                assert!(told.stderr.contains(word), "{kind}, {arguments:?}: {}", told.told());
            }
        }
        let told = bounded(&story.cli, &["new", "--issue", "2"]).exits(2);
        assert!(told.stderr.contains("spinney.toml") && told.stderr.contains(word), "{}", told.told());
        bounded(&story.cli, &["doctor"]);
        story.change(|_| take_away(&place));
    }
}

#[test]
fn a_list_of_patterns_that_is_none_is_named() {
    let story = Story::new();
    let place = story.repository.path().join(".worktreeinclude");
    for (kind, word) in KINDS {
        story.change(|_| put(&place, kind));
        let told = bounded(&story.cli, &["new", "--issue", "2"]).exits(1);
        assert!(told.stderr.contains(".worktreeinclude") && told.stderr.contains(word), "{kind}: {}", told.told());
        story.change(|_| take_away(&place));
    }
    story.assert_nothing_made();
}

#[test]
fn git_files_of_a_workspace_that_are_none_stop_no_command() {
    let story = Story::new();
    let work = Work::new(&story, "1");
    let admin_dir = work.git(&["rev-parse", "--absolute-git-dir"]);
    for name in ["spinney.json", "locked"] {
        let place = Path::new(&admin_dir).join(name);
        let before = fs::read(&place).unwrap();
        for kind in ["endless", "pipe"] {
            fs::remove_file(&place).unwrap();
            put(&place, kind);
            for arguments in [&["ls", "-l"][..], &["why", "issue-1"], &["cleanup", "orphans"], &["doctor"]] {
                bounded(&story.cli, arguments);
            }
        }
        fs::remove_file(&place).unwrap();
        fs::write(&place, before).unwrap();
    }
    // Its own pointer as a pipe is told as damage.
    let (pointer, aside) = (work.path.join(".git"), work.path.join("pointer"));
    fs::rename(&pointer, &aside).unwrap();
    put(&pointer, "pipe");
    let told = bounded(&story.cli, &["show", "issue-1"]).ok();
    assert!(told.told().contains("damaged"), "{}", told.told());
    fs::rename(&aside, &pointer).unwrap();
}

#[test]
fn a_tree_that_is_nested_too_deep_has_a_bound_and_a_message() {
    let story = Story::new();
    let work = Work::new(&story, "1");
    make_deep(&work.path.join("bomb"));
    for arguments in [&["ls", "-l"][..], &["why", "issue-1"], &["cleanup", "--dry-run"], &["cleanup", "caches"]] {
        let told = bounded(&story.cli, arguments);
        assert!(told.status < 100, "{arguments:?}: {}", told.told());
    }
    bounded(&story.cli, &["rm", "issue-1", "--force"]).ok();
    // It comes back as it was.
    bounded(&story.cli, &["restore", "issue-1"]).ok();
    assert!(work.path.join("bomb/deeper/deeper").is_dir());
}

#[test]
fn a_cache_that_is_nested_too_deep_is_told() {
    let story = Story::new();
    story.change(|repository| {
        repository.write(".gitignore", "node_modules/\n");
        repository.commit("ignore");
        repository.push().head()
    });
    let work = Work::new(&story, "1");
    make_deep(&work.path.join("node_modules"));
    let told = bounded(&story.cli, &["cleanup", "caches"]);
    assert!(told.status == 0 || told.told().contains("node_modules"), "{}", told.told());
}
