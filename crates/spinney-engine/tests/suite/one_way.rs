//! What is done in one way is done in no other, read from the sources: programs of a workspace are started, and processes looked
//! for, by the executor; who may act is asked of the ownership.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// What starts a process by itself, and why that is none of a workspace's.
const STARTERS: &[(&str, &str)] = &[
    ("spinney-app/src/own_program.rs", "this very program, as a job's process or beside one"),
    ("spinney-engine/src/create/populate/snapshot.rs", "`btrfs`, on paths of our own, with nothing of a repository"),
    ("spinney-engine/src/executor/host/mod.rs", "the executor of this machine"),
    ("spinney-engine/src/journal/fail.rs", "a test's own script, at a fail point"),
    ("spinney-forge/src/token.rs", "`gh`, which is asked for a token"),
];

/// What looks through `/proc`, and why it is not for processes of a workspace.
const LOOKERS: &[(&str, &str)] = &[
    ("spinney-engine/src/executor/host/family.rs", "the executor of this machine"),
    ("spinney-engine/src/executor/host/inside.rs", "the executor of this machine"),
    ("spinney-engine/src/executor/host/mod.rs", "the executor of this machine"),
    ("spinney-engine/src/home/disk.rs", "which file systems are mounted"),
    ("spinney-jobs/src/supervisor/environment.rs", "its own directory, by a name that is short enough for a socket"),
    ("spinney-server/src/api/metrics.rs", "the daemon's own memory"),
    ("spinney/src/ancestors.rs", "the shell that a command was typed into"),
    ("spinney/src/commands/cancel.rs", "a job's own process, which is this very program"),
];

/// What locks files by itself, and why that says nothing about who may act.
const LOCKERS: &[(&str, &str)] = &[
    ("spinney-engine/src/pool/lock.rs", "the files of one pool, which some share"),
    ("spinney-engine/src/pool/reading.rs", "a checkout's readers, who hold it together"),
    ("spinney-engine/src/trash/unarchive.rs", "the archive itself, while it is read"),
    ("spinney-store/src/database/sqlite.rs", "the making and upgrading of the database"),
    ("spinney-store/src/ownership/file.rs", "the ownership"),
];

/// Runs git, or only tests.
const LEFT_OUT: [&str; 2] = ["spinney-git", "spinney-testkit"];

#[test]
fn nothing_but_the_executor_starts_what_runs_in_a_workspace() {
    assert_only(STARTERS, |text| {
        let imports = text.split("process::{").skip(1).filter_map(|rest| rest.split('}').next());
        let imported = imports.flat_map(|names| names.split(',')).any(|name| name.trim().starts_with("Command"));
        imported || text.contains("process::Command") || text.contains("CommandWrap")
    });
}

#[test]
fn nothing_but_the_executor_looks_for_what_runs_in_a_workspace() {
    assert_only(LOOKERS, |text| text.contains("\"/proc"));
}

#[test]
fn who_may_act_is_asked_in_one_way() {
    assert_only(LOCKERS, |text| text.contains("flock") || text.contains("TryLockError"));
}

/// Asserts which of the product's sources do something.
#[track_caller]
fn assert_only(listed: &[(&str, &str)], does_it: impl Fn(&str) -> bool) {
    let found: Vec<String> = sources().into_iter().filter(|(_, text)| does_it(text)).map(|(path, _)| path).collect();
    let listed: Vec<&str> = listed.iter().map(|(path, _)| *path).collect();
    assert_eq!(found, listed, "use what the others use, or list the file here with a reason");
}

/// The sources above git, without their tests, by their paths below `crates`.
fn sources() -> BTreeMap<String, String> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut sources = BTreeMap::new();
    let mut left: Vec<PathBuf> = vec![crates.clone()];
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            let below = path.strip_prefix(&crates).unwrap().to_str().unwrap().to_owned();
            let is_source = below.split('/').nth(1).is_none_or(|folder| folder == "src");
            if path.is_dir() && is_source && !LEFT_OUT.contains(&below.as_str()) {
                left.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                let product = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
                sources.insert(below, product.to_owned());
            }
        }
    }
    assert!(sources.len() > 300, "{} files were read", sources.len());
    sources
}
