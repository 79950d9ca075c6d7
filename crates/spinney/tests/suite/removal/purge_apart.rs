//! Purging what is not at rest, and what tar does not keep by itself: writers in the trash, attributes, holes.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::support::common::Story;
use crate::support::lost::Work;

fn trash(story: &Story, work: &Work) -> PathBuf {
    story.sandbox().spinney_home().join("trash").join(&work.id)
}

fn attribute(path: &Path, name: &str) -> Option<Vec<u8>> {
    let mut value = vec![0; 100];
    let length = rustix::fs::lgetxattr(path, name, &mut value).ok()?;
    value.truncate(length);
    Some(value)
}

fn set_attribute(path: &Path, name: &str, value: &[u8]) {
    rustix::fs::lsetxattr(path, name, value, rustix::fs::XattrFlags::empty()).unwrap();
}

#[test]
fn a_process_that_still_works_in_the_trash_holds_a_purge() {
    let story = Story::new();
    let work = Work::new(&story, "1");
    work.write("log.txt", "begun\n");
    story.cli.run(&["rm", "issue-1", "--force"]).ok();
    let place = trash(&story, &work).join("log.txt");
    let process = story.sandbox().cli("/bin/sleep").in_directory(trash(&story, &work)).spawn(&["1000"]);
    let refused = story.cli.run(&["trash", "purge", "issue-1"]).exits(5);
    assert!(refused.stderr.contains("sleep (pid "), "{}", refused.told());
    assert_eq!(fs::read_to_string(&place).unwrap(), "begun\n");
    drop(process);
    story.cli.run(&["trash", "purge", "issue-1"]).ok();
    story.cli.run(&["restore", "issue-1"]).ok();
    assert_eq!(fs::read_to_string(work.path.join("log.txt")).unwrap(), "begun\n");
}

/// The process was not inside when the purge began: it opens its file while the archive is written.
#[test]
fn what_changes_after_it_was_archived_is_archived_again() {
    let story = Story::new();
    let work = Work::new(&story, "1");
    work.write("log.txt", "begun\n");
    story.cli.run(&["rm", "issue-1", "--force"]).ok();
    let place = trash(&story, &work).join("log.txt");
    let (script, once) = (story.sandbox().path().join("write.sh"), story.sandbox().path().join("once"));
    let (log, mark) = (place.display(), once.display());
    fs::write(&script, format!("[ -e {mark} ] || echo 'written after the archive' >> {log}; touch {mark}\n")).unwrap();
    let armed = story.cli.with_variable("SPINNEY_FAIL", format!("purge.archived=run:{}", script.display()));
    armed.run(&["trash", "purge", "issue-1"]).ok();
    assert!(once.exists(), "the point was passed");
    assert!(!place.exists());
    story.cli.run(&["restore", "issue-1"]).ok();
    assert_eq!(fs::read_to_string(work.path.join("log.txt")).unwrap(), "begun\nwritten after the archive\n");
}

#[test]
fn attributes_come_back_from_an_archive() {
    let story = Story::new();
    let work = Work::new(&story, "1");
    work.write("notes/new.txt", "new");
    for (path, value) in
        [("notes/new.txt", "of a file"), ("notes", "of a directory"), ("README.md", "of a tracked file")]
    {
        set_attribute(&work.path.join(path), "user.spinney", value.as_bytes());
    }
    story.cli.run(&["rm", "issue-1", "--force"]).ok();
    story.cli.run(&["trash", "purge", "issue-1"]).ok();
    story.cli.run(&["restore", "issue-1"]).ok();
    for (path, value) in
        [("notes/new.txt", "of a file"), ("notes", "of a directory"), ("README.md", "of a tracked file")]
    {
        assert_eq!(attribute(&work.path.join(path), "user.spinney").as_deref(), Some(value.as_bytes()), "{path}");
    }
}

#[test]
fn a_file_with_holes_comes_back_with_its_holes_and_quickly() {
    const LENGTH: u64 = 6 << 30;
    let story = Story::new();
    let work = Work::new(&story, "1");
    let path = work.path.join("disk.img");
    let file = File::create(&path).unwrap();
    file.set_len(LENGTH).unwrap();
    let written = [(0, "begin"), (3 << 30, "middle"), (LENGTH - 3, "end")];
    for (place, text) in written {
        file.write_all_at(text.as_bytes(), place).unwrap();
    }
    drop(file);
    let began = Instant::now();
    story.cli.run(&["rm", "issue-1", "--force"]).ok();
    story.cli.run(&["trash", "purge", "issue-1"]).ok();
    story.cli.run(&["restore", "issue-1"]).ok();
    let took = began.elapsed();
    let back = File::open(&path).unwrap();
    let found = back.metadata().unwrap();
    assert_eq!(found.len(), LENGTH);
    assert!(found.blocks() * 512 < 1 << 20, "{} bytes on disk", found.blocks() * 512);
    for (place, text) in written {
        let mut read = vec![0; text.len()];
        back.read_exact_at(&mut read, place).unwrap();
        assert_eq!(read, text.as_bytes());
    }
    assert!(took < Duration::from_secs(40), "it took {took:?}");
}

#[test]
fn an_index_in_two_files_is_no_process_at_work() {
    let story = Story::new();
    let work = Work::new(&story, "1");
    work.write("kept.txt", "kept");
    work.git(&["add", "kept.txt"]);
    work.git(&["update-index", "--split-index"]);
    // On no branch git looks at the very files that are to be purged.
    work.git(&["checkout", "--quiet", "--detach"]);
    story.cli.run(&["rm", "issue-1", "--force"]).ok();
    story.cli.run(&["trash", "purge", "issue-1"]).ok();
    story.cli.run(&["restore", "issue-1"]).ok();
    assert_eq!(work.git(&["status", "--porcelain"]), "A  kept.txt");
}
