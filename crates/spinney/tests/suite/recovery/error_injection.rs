//! Something fails at a step: the disk is full, read-only or another one, an access is refused, git fails. Then there is a
//! clear error, and the state is that before or after, at the latest when the next command has looked.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::common::Story;
use crate::support::crash::{Deed, Wood, ways_to};
use spinney_engine::fail::POINTS;
use spinney_testkit::{GitWrapper, Plant, Sandbox};

/// What is injected, and what the error says then.
const FAILURES: [(&str, &str); 3] =
    [("no-space", "no space left"), ("denied", "permission denied"), ("read-only", "read-only")];

/// Fails at every point of an operation in every way.
fn fail_at_each(operation: &str, plants: &[Plant]) {
    let mut wood = Wood::new(plants);
    for point in POINTS.iter().filter(|point| point.split_once('.').unwrap().0 == operation) {
        let (deed, before) = ways_to(point)[0];
        for (failure, words) in FAILURES {
            println!("{deed:?} fails at {point}: {failure}");
            let line = wood.prepare(deed);
            let ran = wood.run_armed(&format!("{before}{point}={failure}"), &line);
            // A branch that can't be dropped stays, which is no failure of the removal; a member that can't be brought up
            // to date is replaced, which is none of the filling.
            let is_mended = ["remove.branch", "refresh.moved"].contains(point);
            assert!((ran.status == 1) ^ is_mended, "{}", ran.told());
            let is_told = ran.stderr.to_lowercase().contains(words);
            assert!(is_told || !before.is_empty() || *point == "refresh.moved", "{}", ran.told());
            assert!(!ran.stderr.contains("went to the trash;") || deed != Deed::Refresh, "{}", ran.told());
            wood.assert_settled();
        }
        wood.assert_healed();
        wood.carry_on(deed);
    }
}

#[test]
fn creation_fails_cleanly_at_every_step() {
    fail_at_each("create", Plant::PLAIN);
    fail_at_each("undo", Plant::PLAIN);
}

#[test]
fn removal_fails_cleanly_at_every_step() {
    fail_at_each("remove", Plant::REBASING);
}

#[test]
fn restore_fails_cleanly_at_every_step() {
    fail_at_each("restore", Plant::DETACHED);
    fail_at_each("unarchive", Plant::PLAIN);
}

#[test]
fn purge_fails_cleanly_at_every_step() {
    fail_at_each("purge", Plant::DETACHED);
}

#[test]
fn an_erasure_fails_cleanly_at_every_step() {
    fail_at_each("erase", Plant::DETACHED);
}

#[test]
fn adoption_fails_cleanly_at_every_step() {
    fail_at_each("adopt", Plant::PLAIN);
}

#[test]
fn filling_the_pool_fails_cleanly_at_every_step() {
    fail_at_each("warm", Plant::PLAIN);
    fail_at_each("refresh", Plant::PLAIN);
    fail_at_each("retire", Plant::PLAIN);
}

/// A claim that fails is no failure of the request: a workspace is made instead.
#[test]
fn a_claim_that_fails_leaves_the_request_whole() {
    let mut wood = Wood::new(Plant::PLAIN);
    for point in POINTS.iter().filter(|point| point.split_once('.').unwrap().0 == "claim") {
        for (failure, words) in FAILURES {
            println!("a claim fails at {point}: {failure}");
            let line = wood.prepare(Deed::Claim);
            let ran = wood.run_armed(&format!("{point}={failure}"), &line).ok();
            assert!(ran.stderr.to_lowercase().contains(words), "{}", ran.told());
            wood.assert_settled();
        }
        wood.assert_healed();
        wood.carry_on(Deed::Claim);
    }
}

/// What git was asked to do: its subcommands, without the flags before them.
fn subcommands(git: &GitWrapper) -> BTreeSet<String> {
    let subcommand = |call: &String| {
        let mut words = call.split(' ');
        while let Some(word) = words.next() {
            match word {
                "-c" => drop(words.next()),
                word if word.starts_with('-') => {}
                word => return Some(word.to_owned()),
            }
        }
        None
    };
    git.calls().iter().filter_map(subcommand).collect()
}

/// Lets each git command fail that a deed needs.
fn fail_each_git(deed: Deed) {
    let mut wood = Wood::new(Plant::REBASING);
    let line = wood.prepare(deed);
    let recording = GitWrapper::recording();
    wood.story.cli.with_path_first(recording.directory()).run(&line).ok();
    wood.carry_on(deed);
    for subcommand in subcommands(&recording) {
        println!("{deed:?} while `git {subcommand}` fails");
        let line = wood.prepare(deed);
        let git = GitWrapper::failing(&subcommand, 128, "fatal: the disk has a bad day");
        let ran = wood.story.cli.with_path_first(git.directory()).run(&line);
        if ran.status != 0 {
            assert!(ran.stderr.contains("error: "), "{}", ran.told());
        }
        wood.assert_healed();
        wood.carry_on(deed);
    }
}

#[test]
fn creation_survives_every_failure_of_git() {
    fail_each_git(Deed::Create);
    fail_each_git(Deed::CreateAgain);
}

#[test]
fn removal_survives_every_failure_of_git() {
    fail_each_git(Deed::Remove);
    fail_each_git(Deed::RemoveUnstarted);
}

#[test]
fn restore_and_purge_survive_every_failure_of_git() {
    fail_each_git(Deed::Restore);
    fail_each_git(Deed::RestoreArchived);
    fail_each_git(Deed::Purge);
}

/// A file system of its own, in memory, at a place in a sandbox; that goes after it.
struct Disk {
    place: PathBuf,
    _sandbox: Sandbox,
}

impl Disk {
    /// Mounts one; none, said loudly, where that is not allowed.
    fn mount(sandbox: &Sandbox, place: PathBuf) -> Option<Self> {
        fs::create_dir_all(&place).unwrap();
        let disk = Self { place, _sandbox: sandbox.clone() };
        if disk.run(&["mount", "-t", "tmpfs", "-o", "size=64m,mode=755", "tmpfs"]) {
            return Some(disk);
        }
        eprintln!("SKIPPED: only root may mount a file system");
        None
    }

    fn remount(&self, mode: &str) {
        assert!(self.run(&["mount", "-o", &format!("remount,{mode}")]), "it can be remounted");
    }

    #[expect(clippy::disallowed_methods, reason = "the test needs a file system of its own")]
    fn run(&self, words: &[&str]) -> bool {
        Command::new(words[0]).args(&words[1..]).arg(&self.place).output().is_ok_and(|output| output.status.success())
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        self.run(&["umount", "--lazy"]);
    }
}

/// A workspace on a disk of its own.
fn wood_on_a_disk() -> Option<(Disk, Wood)> {
    let story = Story::new();
    let disk = Disk::mount(story.sandbox(), story.sandbox().path().join("disk"))?;
    let place = disk.place.display();
    story
        .sandbox()
        .write_config(&format!("[workspace]\npath = \"{place}/{{id}}\"\n[limits]\nmin_free_disk = \"1 MB\"\n"));
    let mut wood = Wood::of(story, Plant::REBASING);
    wood.beside.push(disk.place.clone());
    Some((disk, wood))
}

fn trash_beside(disk: &Disk) -> PathBuf {
    disk.place.join(".spinney-trash")
}

#[test]
fn on_another_file_system_the_trash_is_beside_the_trees() {
    let Some((disk, mut wood)) = wood_on_a_disk() else { return };
    for (deed, point) in [
        (Deed::Remove, "remove.tree-moved"),
        (Deed::Restore, "restore.admin-moved"),
        (Deed::Purge, "purge.tree-moved"),
        (Deed::RestoreArchived, "unarchive.admin-moved"),
        (Deed::Create, "undo.moved"),
    ] {
        let line = wood.prepare(deed);
        wood.run_armed(&format!("{}{point}", ways_to(point)[0].1), &line).exits(crate::support::crash::ABORTED);
        wood.assert_healed();
        wood.carry_on(deed);
    }
    wood.bring("trashed");
    let kept: Vec<_> = crate::support::common::files_below(&trash_beside(&disk), 0);
    assert!(kept.iter().any(|tree| tree.join("untracked.txt").exists()), "{kept:?}");
    wood.assert_healed();
    wood.carry_on(Deed::Restore);
}

#[test]
fn a_rename_to_another_file_system_fails_and_nothing_is_lost() {
    let Some((disk, wood)) = wood_on_a_disk() else { return };
    // The trash itself turns out to be on another file system.
    let other = Disk::mount(wood.story.sandbox(), trash_beside(&disk)).unwrap();
    let ran = wood.story.cli.run(&["rm", "issue-1", "--force"]).exits(1);
    assert!(ran.stderr.contains("can't be moved"), "{}", ran.told());
    assert!(wood.tree.join("untracked.txt").exists(), "the tree stays where it was");
    wood.assert_tokens();
    wood.story.cli.run(&["ls"]).ok();
    wood.assert_tokens();
    drop(other);
    wood.assert_healed();
    wood.carry_on(Deed::Remove);
}

#[test]
fn on_a_read_only_disk_every_deed_fails_with_its_reason() {
    let Some((disk, mut wood)) = wood_on_a_disk() else { return };
    for deed in [Deed::Create, Deed::Remove, Deed::Restore, Deed::RestoreArchived, Deed::Purge] {
        println!("{deed:?}");
        let line = wood.prepare(deed);
        disk.remount("ro");
        let ran = wood.story.cli.run(&line);
        assert_ne!(ran.status, 0, "{}", ran.told());
        assert!(ran.stderr.to_lowercase().contains("read-only"), "{}", ran.told());
        wood.assert_tokens();
        disk.remount("rw");
        wood.assert_healed();
        wood.carry_on(deed);
    }
}

#[test]
fn a_disk_that_is_full_is_named_and_nothing_is_left() {
    let Some((disk, mut wood)) = wood_on_a_disk() else { return };
    let filler = disk.place.join("filler");
    let line = wood.prepare(Deed::Create);
    fill(&filler);
    let ran = wood.story.cli.with_variable("SPINNEY_LIMITS__MIN_FREE_DISK", "0").run(&line);
    assert_ne!(ran.status, 0, "{}", ran.told());
    assert!(ran.stderr.to_lowercase().contains("no space left"), "{}", ran.told());
    // Nothing that moves needs room.
    let line = wood.prepare(Deed::Remove);
    wood.story.cli.run(&line).ok();
    wood.story.cli.run(&["restore", "issue-1"]).ok();
    fs::remove_file(filler).unwrap();
    wood.assert_healed();
    wood.carry_on(Deed::Remove);
}

/// Writes until only a file or two would fit.
fn fill(file: &Path) {
    let mut file = fs::File::create(file).unwrap();
    let block = vec![1; 4 << 10];
    while file.write_all(&block).is_ok() {}
    file.set_len(file.metadata().unwrap().len() - (8 << 10)).unwrap();
}
