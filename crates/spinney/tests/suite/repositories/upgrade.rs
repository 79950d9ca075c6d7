//! A home that the version before clones made: workspaces, trash, archive, job and conversation are found again.
//!
//! `fixtures/v12.tar.zst` was made by that version, in a directory whose name is as long as the one it is unpacked to.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::common::Story;
use serde_json::Value;
use spinney_testkit::Cli;
use tempfile::TempDir;

const MADE_AT: &str = "/tmp/spinney-v12-AAAAAA";

/// Unpacks the home and its repository where it is nobody else's, and lets all that names the old place name the new one.
fn unpack() -> TempDir {
    let directory = tempfile::Builder::new().prefix("spinney-v12-").rand_bytes(6).tempdir_in("/tmp").unwrap();
    assert_eq!(directory.path().as_os_str().len(), MADE_AT.len());
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/repositories/fixtures/v12.tar.zst");
    #[expect(clippy::disallowed_methods, reason = "unpacks as a person would")]
    let mut tar = Command::new("tar");
    tar.arg("--zstd").arg("-xf").arg(fixture).args(["--strip-components=1", "-C"]).arg(directory.path());
    assert!(tar.status().unwrap().success());
    let place = directory.path().to_str().unwrap();
    for path in entries(directory.path()) {
        let found = fs::symlink_metadata(&path).unwrap();
        if found.is_symlink() {
            let target = fs::read_link(&path).unwrap().to_str().unwrap().replace(MADE_AT, place);
            fs::remove_file(&path).unwrap();
            symlink(target, &path).unwrap();
        } else if found.is_file() {
            let mut bytes = fs::read(&path).unwrap();
            while let Some(at) = bytes.windows(MADE_AT.len()).position(|part| part == MADE_AT.as_bytes()) {
                bytes[at..at + MADE_AT.len()].copy_from_slice(place.as_bytes());
            }
            // Git keeps what it makes from being written.
            if bytes != fs::read(&path).unwrap() {
                fs::write(&path, bytes).unwrap();
            }
        }
    }
    directory
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            found.extend(entries(&entry.path()));
        } else {
            found.push(entry.path());
        }
    }
    found
}

#[track_caller]
fn path_of(cli: &Cli, name: &str) -> PathBuf {
    cli.run(&["show", name, "--json"]).ok().json()["path"].as_str().unwrap().into()
}

#[test]
fn a_home_of_the_version_before_is_taken_over_whole() {
    let story = Story::new();
    let place = unpack();
    let home = place.path().join("home");
    // However long ago it was made: nothing of it is purged or forgotten.
    let config = place.path().join("config.toml");
    let lasting = "\n[cleanup]\ntrash_for = \"36500d\"\njob_retention = \"36500d\"\nsession_retention = \"36500d\"\n";
    fs::write(&config, fs::read_to_string(&config).unwrap() + lasting).unwrap();
    let cli = story
        .cli
        .with_variable("SPINNEY_HOME", &home)
        .with_variable("SPINNEY_CONFIG", &config)
        .in_directory(place.path().join("app"));
    let listed = cli.run(&["ls", "--all", "--json"]).ok().json();
    let mut rows: Vec<(&str, &str)> = listed["workspaces"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["name"].as_str().unwrap(), row["status"].as_str().unwrap()))
        .collect();
    rows.sort_unstable();
    let expected = [("issue-1", "active"), ("issue-2", "trashed"), ("issue-3", "purged"), ("issue-4", "active")];
    assert_eq!(rows, expected);
    let backups = fs::read_dir(&home).unwrap().flatten().map(|entry| entry.file_name().into_string().unwrap());
    assert_eq!(backups.filter(|name| name.starts_with("spinney.db.backup-v12-")).count(), 1);

    // The work is as it was, and its conversation leads to it.
    let tree = path_of(&cli, "issue-1");
    let status = story.sandbox().git(&tree, &["status", "--porcelain"]);
    assert_eq!(status.lines().map(str::trim).collect::<Vec<_>>(), ["M README.md", "A  staged.txt", "?? new.txt"]);
    let again = cli.run(&["new", "--issue", "9", "--conversation", "C1", "--platform", "slack", "--json"]).ok().json();
    assert_eq!(again["path"].as_str(), tree.to_str());
    assert_eq!(again["title"], "A title");
    for (name, kept) in [("issue-2", "two\n"), ("issue-3", "three\n")] {
        cli.run(&["restore", name]).ok();
        assert_eq!(fs::read_to_string(path_of(&cli, name).join("kept.txt")).unwrap(), kept);
    }
    let jobs = cli.run(&["jobs", "--status", "completed", "--json"]).ok().json();
    let job: &Value = &jobs["jobs"][0];
    assert_eq!((&job["status"], &job["push"], &job["pushed"]), (&"completed".into(), &"pushed".into(), &true.into()));
    cli.run(&["logs", job["id"].as_str().unwrap()]).ok();

    // From here on it is known wherever it stands.
    assert!(place.path().join("app/.git/spinney/id").is_file());
    fs::rename(place.path().join("app"), place.path().join("moved")).unwrap();
    let cli = cli.in_directory(place.path().join("moved"));
    assert_eq!(path_of(&cli, "issue-1"), tree);
    assert_eq!(story.sandbox().git(&tree, &["status", "--porcelain"]), status);
    cli.run(&["rm", "issue-1", "--force"]).ok();
    cli.run(&["restore", "issue-1"]).ok();
    assert_eq!(story.sandbox().git(&tree, &["status", "--porcelain"]), status);
}
