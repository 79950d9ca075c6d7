//! What lies outside of git's own care: large files of git-lfs, and refs in a clone whose refs are a remote's.

use std::fs;
use std::path::PathBuf;

use crate::support::common::{BINARY, Story};
use crate::support::lost::Work;

/// Whether git-lfs is there; says so loudly where it is not.
fn has_lfs(story: &Story) -> bool {
    let there = story.sandbox().try_git(story.repository.path(), &["lfs", "version"]).status == 0;
    if !there {
        eprintln!("SKIPPED: git-lfs is not installed, so its files are not tested");
    }
    there
}

fn with_lfs() -> Option<Story> {
    let story = Story::new();
    if !has_lfs(&story) {
        return None;
    }
    story.change(|repository| {
        repository.git(&["lfs", "install", "--local", "--skip-repo"]);
        repository.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n");
        repository.commit("attributes");
        repository.push().head()
    });
    Some(story)
}

/// Every object that git-lfs has.
fn objects(story: &Story) -> Vec<PathBuf> {
    crate::support::common::files_below(&story.repository.path().join(".git/lfs/objects"), 2)
}

/// Empties git-lfs, as a prune does sooner or later.
fn forget_large_files(story: &Story) {
    for object in objects(story) {
        fs::remove_file(object).unwrap();
    }
}

#[test]
fn large_files_that_only_the_index_names_come_back() {
    for purged in [false, true] {
        let Some(story) = with_lfs() else { return };
        let work = Work::new(&story, "1");
        work.write("staged.bin", "staged only");
        work.git(&["add", "staged.bin"]);
        work.write("staged.bin", "edited since");
        story.cli.run(&["rm", "issue-1", "--force"]).ok();
        if purged {
            story.cli.run(&["trash", "purge", "issue-1"]).ok();
        }
        forget_large_files(&story);
        assert_eq!(objects(&story).len(), 0);
        story.cli.run(&["restore", "issue-1"]).ok();
        assert_eq!(fs::read_to_string(work.path.join("staged.bin")).unwrap(), "edited since");
        fs::remove_file(work.path.join("staged.bin")).unwrap();
        work.git(&["checkout", "--", "staged.bin"]);
        assert_eq!(fs::read_to_string(work.path.join("staged.bin")).unwrap(), "staged only");
        assert!(!work.admin_dir().join("spinney-lfs").exists());
    }
}

#[test]
fn large_files_of_commits_on_no_branch_come_back() {
    for purged in [false, true] {
        let Some(story) = with_lfs() else { return };
        let work = Work::new(&story, "1");
        work.commit("committed.bin", "committed only");
        work.git(&["rm", "--quiet", "committed.bin"]);
        work.git(&["commit", "--quiet", "--message", "gone again"]);
        work.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
        story.cli.run(&["rm", "issue-1", "--force"]).ok();
        story.repository.git(&["branch", "-D", "issue-1"]);
        if purged {
            story.cli.run(&["trash", "purge", "issue-1"]).ok();
        }
        forget_large_files(&story);
        story.cli.run(&["restore", "issue-1"]).ok();
        fs::remove_file(work.path.join("committed.bin")).unwrap();
        work.git(&["checkout", "--", "committed.bin"]);
        assert_eq!(fs::read_to_string(work.path.join("committed.bin")).unwrap(), "committed only");
    }
}

#[test]
fn a_large_file_that_was_changed_in_the_trash_is_not_taken() {
    let Some(story) = with_lfs() else { return };
    let work = Work::new(&story, "1");
    work.write("staged.bin", "staged only");
    work.git(&["add", "staged.bin"]);
    story.cli.run(&["rm", "issue-1", "--force"]).ok();
    let kept = crate::support::common::files_below(
        &story.repository.path().join(".git/spinney").join(&work.id).join("spinney-lfs"),
        0,
    );
    assert_eq!(kept.len(), 1);
    forget_large_files(&story);
    fs::remove_file(&kept[0]).unwrap();
    fs::write(&kept[0], "something else").unwrap();
    story.cli.run(&["restore", "issue-1"]).ok();
    assert_eq!(objects(&story).len(), 0);
}

/// A bare mirror of the remote that the story's repository pushes to.
fn mirror(story: &Story) -> (PathBuf, spinney_testkit::Cli) {
    let place = story.sandbox().path().join("mirror.git");
    let url = story.repository.git(&["remote", "get-url", "origin"]);
    story.sandbox().git(story.sandbox().path(), &["clone", "--quiet", "--mirror", &url, place.to_str().unwrap()]);
    let cli = story.sandbox().cli(BINARY).in_directory(&place);
    (place, cli)
}

#[test]
fn in_a_mirror_clone_the_trash_holds_what_a_fetch_deletes() {
    for purged in [false, true] {
        let story = Story::new();
        let (place, cli) = mirror(&story);
        let git = |arguments: &[&str]| story.sandbox().git(&place, arguments);
        let told = cli.run(&["repo", "add", "."]).ok().stderr;
        assert!(told.contains("`git fetch --prune`"), "{told}");
        let made = crate::support::common::make(&cli, &["--issue", "1", "--base", "main"]);
        let work = Work::of(&story, &made);
        work.commit("a.txt", "on the branch");
        work.write("staged.txt", "staged");
        work.git(&["add", "staged.txt"]);
        fs::remove_file(work.path.join("staged.txt")).unwrap();
        let told = cli.run(&["doctor"]);
        assert!(told.stdout.contains("mirror") && told.stdout.contains("rescue refs"), "{}", told.stdout);
        cli.run(&["rm", "issue-1", "--force"]).ok();
        if purged {
            cli.run(&["trash", "purge", "issue-1"]).ok();
        }
        git(&["fetch", "--quiet", "--prune"]);
        assert_eq!(git(&["for-each-ref", "refs/spinney", "refs/heads/issue-1"]), "");
        git(&["reflog", "expire", "--expire=now", "--all"]);
        git(&["gc", "--quiet", "--prune=now"]);
        cli.run(&["restore", "issue-1"]).ok();
        assert_eq!(work.git(&["show", "HEAD:a.txt"]), "on the branch");
        assert_eq!(work.git(&["show", ":staged.txt"]), "staged");
        assert_eq!(work.git(&["symbolic-ref", "--short", "HEAD"]), "issue-1");
        assert_eq!(git(&["fsck", "--connectivity-only", "--no-dangling"]), "");
    }
}

#[test]
fn large_files_that_were_pushed_and_never_uploaded_come_back() {
    for purged in [false, true] {
        let Some(story) = with_lfs() else { return };
        let work = Work::new(&story, "1");
        work.commit("pushed.bin", "only here");
        // Without the hook of git-lfs the remote has the pointer alone.
        work.git(&["push", "--quiet", "--no-verify", "origin", "HEAD"]);
        story.cli.run(&["rm", "issue-1"]).ok();
        if purged {
            story.cli.run(&["trash", "purge", "issue-1"]).ok();
        }
        forget_large_files(&story);
        story.cli.run(&["restore", "issue-1"]).ok();
        assert_eq!(fs::read_to_string(work.path.join("pushed.bin")).unwrap(), "only here", "purged: {purged}");
        assert_eq!(work.git(&["status", "--porcelain"]), "");
    }
}

#[test]
fn large_files_come_back_from_an_archive_as_they_were() {
    let Some(story) = with_lfs() else { return };
    story.change(|repository| {
        repository.write("base.bin", "of the base");
        repository.commit("base");
        repository.push().head()
    });
    story.cli.run(&["repo", "sync"]).ok();
    let work = Work::new(&story, "1");
    work.git(&["lfs", "checkout"]);
    assert_eq!(fs::read_to_string(work.path.join("base.bin")).unwrap(), "of the base");
    work.write("staged.bin", "a day of work");
    work.git(&["add", "staged.bin"]);
    work.write("kept.txt", "so that there is an archive");
    let status = work.git(&["status", "--porcelain"]);
    story.cli.run(&["rm", "issue-1", "--force"]).ok();
    story.cli.run(&["trash", "purge", "issue-1"]).ok();
    story.cli.run(&["restore", "issue-1"]).ok();
    for (name, content) in [("staged.bin", "a day of work"), ("base.bin", "of the base")] {
        assert_eq!(fs::read_to_string(work.path.join(name)).unwrap(), content);
    }
    assert_eq!(work.git(&["status", "--porcelain"]), status);
}
