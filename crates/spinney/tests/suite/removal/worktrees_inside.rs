//! Linked worktrees that lie inside a workspace, whichever repository they are of: whoever tidies that repository up while
//! they are in the trash takes nothing, and they come back with the workspace.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::support::common::{Story, refused};
use crate::support::job::Workshop;
use crate::support::lost::Work;
use crate::support::lost::inside::Inside;
use crate::support::lost::mount::bind;

/// A repository that Spinney knows nothing of.
fn other(story: &Story) -> PathBuf {
    story.sandbox().repository("other").path().to_owned()
}

fn plant(story: &Story, owner: &Path, work: &Work, directory: &str) -> Inside {
    Inside::plant(story.sandbox(), owner, &work.path.join(directory))
}

fn reason(work: &Work) -> Option<String> {
    Some(format!("spinney:{}", work.id))
}

/// A job's workspace goes to the trash by itself when the job ends badly.
const GOES: &str = "max_attempts = 1\n[agents.coder.workspace]\ncleanup_on_failure = true\n";

/// A job that is under way, and its workspace.
fn held(workshop: &Workshop) -> (String, Work) {
    let job = workshop.detach(&["--issue", "1"], &workshop.hold("held"));
    workshop.wait_for_agent("held");
    (job, Work::of(&workshop.story, &workshop.story.show("issue-1")))
}

fn cancel(workshop: &Workshop, job: &str) {
    workshop.cli.run(&["cancel", job]).ok();
    workshop.wait_for_end(job);
}

#[test]
fn a_prune_in_their_repository_takes_nothing() {
    let story = Story::new();
    let work = Work::new(&story, "1");
    let inside = plant(&story, &other(&story), &work, "vendor");
    for consent in [&["--force"][..], &["--allow", "nested_repository"]] {
        story.cli.run(&[&["rm", "issue-1"], consent].concat()).ok();
        assert_eq!(inside.lock(), reason(&work));
        inside.assert_kept();
        story.cli.run(&["restore", "issue-1"]).ok();
        inside.assert_whole();
    }
    // Purged, it comes back from the archive.
    story.cli.run(&["rm", "issue-1", "--force"]).ok();
    story.cli.run(&["trash", "purge", "issue-1"]).ok();
    inside.assert_kept();
    story.cli.run(&["restore", "issue-1"]).ok();
    inside.assert_whole();
}

#[test]
fn an_erasure_leaves_no_lock() {
    let story = Story::new();
    let other = other(&story);
    for (issue, is_purged) in [("1", false), ("2", true)] {
        let work = Work::new(&story, issue);
        let theirs = plant(&story, &other, &work, "vendor");
        let own = plant(&story, story.repository.path(), &work, "inner");
        story.cli.run(&["rm", &work.name, "--force"]).ok();
        if is_purged {
            story.cli.run(&["trash", "purge", &work.name]).ok();
        }
        assert_eq!((theirs.lock(), own.lock()), (reason(&work), reason(&work)));
        story.cli.run(&["trash", "erase", &work.name, "--yes"]).ok();
        assert_eq!((theirs.lock(), own.lock()), (None, None), "purged: {is_purged}");
        theirs.tidy();
        assert!(!theirs.admin_dir.exists() && !theirs.is_there());
    }
}

#[test]
fn what_goes_by_itself_keeps_them_too() {
    let workshop = Workshop::new(GOES);
    let story = &workshop.story;
    let (job, work) = held(&workshop);
    let inside = plant(story, &other(story), &work, "vendor");
    cancel(&workshop, &job);
    assert_eq!(story.show("issue-1").text("status"), "trashed");
    inside.assert_kept();
    story.cli.run(&["restore", "issue-1"]).ok();
    inside.assert_whole();
}

#[test]
fn they_are_found_wherever_they_nest() {
    let story = Story::new();
    let library = story.sandbox().repository("library");
    story.change(|repository| {
        repository.add_submodule("sub", &library);
        repository.push().head()
    });
    let work = Work::new(&story, "1");
    let other = other(&story);
    let nested = work.nested_repository("tools/nested", "nested");
    let deep = plant(&story, &other, &work, "target/a/b/c/d/e/f/g/h/i/j/k/l/m");
    let all = [
        plant(&story, &deep.path, &work, "target/a/b/c/d/e/f/g/h/i/j/k/l/m/again"),
        deep,
        plant(&story, &nested, &work, "of-nested"),
        plant(&story, &nested, &work, "tools/nested/.git/aside"),
        plant(&story, &work.path.join("sub"), &work, "of-submodule"),
        plant(&story, &story.repository.path().join("sub"), &work, "of-main-submodule"),
        plant(&story, library.path(), &work, "sub/of-library"),
    ];
    let is_outside = |inside: &&Inside| !inside.admin_dir.starts_with(&work.path);
    for purge in [false, true] {
        story.cli.run(&["rm", "issue-1", "--force"]).ok();
        for inside in all.iter().filter(is_outside).filter(|inside| inside.admin_dir.is_dir()) {
            assert_eq!(inside.lock(), reason(&work), "{}", inside.path.display());
        }
        story.sandbox().git(&other, &["worktree", "prune"]);
        if purge {
            story.cli.run(&["trash", "purge", "issue-1"]).ok();
        }
        story.cli.run(&["restore", "issue-1"]).ok();
        all.iter().for_each(Inside::assert_whole);
    }
}

#[test]
fn pointers_may_be_relative() {
    let story = Story::new();
    let work = Work::new(&story, "1");
    // A git that is too old for them would prune them at once: none is let near.
    let all = [
        relative(plant(&story, &other(&story), &work, "vendor")),
        relative(plant(&story, story.repository.path(), &work, "inner")),
    ];
    story.cli.run(&["rm", "issue-1", "--force"]).ok();
    all.iter().for_each(|inside| assert_eq!(inside.lock(), reason(&work)));
    story.cli.run(&["restore", "issue-1"]).ok();
    all.iter().for_each(|inside| assert_eq!(inside.lock(), None));
}

/// Makes its pointers relative, as git does with `worktree.useRelativePaths`.
fn relative(inside: Inside) -> Inside {
    let up = |path: &Path| "../".repeat(path.components().count() - 1);
    let (file, admin_dir) = (inside.path.join(".git"), &inside.admin_dir);
    let to = |from: &Path, place: &Path| format!("{}{}", up(from), place.strip_prefix("/").unwrap().display());
    fs::write(&file, format!("gitdir: {}\n", to(&inside.path, admin_dir))).unwrap();
    fs::write(admin_dir.join("gitdir"), format!("{}\n", to(admin_dir, &file))).unwrap();
    inside
}

#[test]
fn somebody_elses_lock_stays_theirs() {
    let story = Story::new();
    let work = Work::new(&story, "1");
    let inside = plant(&story, &other(&story), &work, "vendor");
    story.sandbox().git(&inside.path, &["worktree", "lock", "--reason", "mine", "."]);
    story.cli.run(&["rm", "issue-1", "--force"]).ok();
    assert_eq!(inside.lock().as_deref().map(str::trim), Some("mine"));
    story.cli.run(&["restore", "issue-1"]).ok();
    assert_eq!(inside.lock().as_deref().map(str::trim), Some("mine"));
    story.cli.run(&["rm", "issue-1", "--force"]).ok();
    story.cli.run(&["trash", "erase", "issue-1", "--yes"]).ok();
    assert_eq!(inside.lock().as_deref().map(str::trim), Some("mine"));
}

#[test]
fn where_one_can_not_be_locked_the_workspace_stays() {
    let workshop = Workshop::new(GOES);
    let story = &workshop.story;
    let (job, work) = held(&workshop);
    let other = other(story);
    let free = plant(story, &other, &work, "free");
    let inside = plant(story, &other, &work, "vendor");
    let Some(mount) = bind(story.sandbox(), &inside.admin_dir, &inside.admin_dir) else { return };
    let place = inside.admin_dir.to_str().unwrap();
    story.sandbox().cli("/bin/mount").run(&["-o", "remount,ro,bind", place]).ok();
    let path = inside.path.to_str().unwrap();
    cancel(&workshop, &job);
    let told = format!("{:?}", workshop.log(&job));
    assert!(told.contains(path) && told.contains("can't be locked"), "{told}");
    for consent in [&["--force"][..], &["--allow", "nested_repository"]] {
        let refusal = refused(&story.cli, 3, &[&["rm", "issue-1"], consent].concat());
        refusal.says(&["issue-1", path, "can't be locked"]).hints(&["git worktree lock"]);
    }
    assert_eq!(story.show("issue-1").text("status"), "active");
    // The one that could be locked is as before.
    assert_eq!((free.lock(), inside.lock()), (None, None));
    drop(mount);
    // What its owner locked needs no lock of ours.
    story.sandbox().git(&inside.path, &["worktree", "lock", "."]);
    story.cli.run(&["rm", "issue-1", "--force"]).ok();
    free.assert_kept();
    inside.assert_kept();
}

#[test]
fn what_a_git_file_names_is_not_believed() {
    let story = Story::new();
    let work = Work::new(&story, "1");
    let sandbox = story.sandbox();
    let owner = other(&story);
    // A worktree that lies elsewhere, and one that only says that it leads here.
    let elsewhere = Inside::plant(sandbox, &owner, &sandbox.path().join("elsewhere"));
    let bait = sandbox.path().join("bait/worktrees/x");
    fs::create_dir_all(&bait).unwrap();
    let lead = |directory: &str, text: &str| work.write(format!("{directory}/.git"), text);
    let to = |place: &Path| format!("gitdir: {}\n", place.display());
    lead("copied", &to(&elsewhere.admin_dir));
    lead("bait", &to(&bait));
    fs::write(bait.join("gitdir"), format!("{}\n", work.path.join("bait/.git").display())).unwrap();
    let aside = sandbox.path().join("aside");
    fs::create_dir_all(&aside).unwrap();
    fs::write(aside.join("gitdir"), format!("{}\n", work.path.join("aside/.git").display())).unwrap();
    fs::write(aside.join("commondir"), "..\n").unwrap();
    lead("aside", &to(&aside));
    lead("nowhere", "gitdir: /nowhere/worktrees/x\n");
    lead("endless", &to(Path::new("/dev/zero")));
    lead("empty", "");
    lead("odd", "gitdir: \0\n");
    lead("long", &format!("gitdir: /{}\n", "x".repeat(5000)));
    lead("huge", &"x".repeat(100_000));
    fs::create_dir_all(work.path.join("link")).unwrap();
    symlink(elsewhere.path.join(".git"), work.path.join("link/.git")).unwrap();
    fs::create_dir_all(work.path.join("loop")).unwrap();
    symlink(".git", work.path.join("loop/.git")).unwrap();
    lead("looped", &to(&work.path.join("loop/.git")));
    let pipe = bait.with_file_name("pipe");
    fs::create_dir(&pipe).unwrap();
    sandbox.cli("/usr/bin/mkfifo").run(&[pipe.join("gitdir").to_str().unwrap()]).ok();
    fs::write(pipe.join("commondir"), "../..\n").unwrap();
    lead("pipe", &to(&pipe));
    story.cli.run(&["rm", "issue-1", "--force"]).ok();
    let locked = [&elsewhere.admin_dir, &bait, &aside, &pipe].map(|place| place.join("locked").exists());
    assert_eq!(locked, [false; 4]);
    story.cli.run(&["restore", "issue-1"]).ok();
    elsewhere.assert_whole();
    // A link in the place of the lock is not written through.
    let inside = plant(&story, &owner, &work, "vendor");
    let target = sandbox.path().join("target-of-link");
    symlink(&target, inside.admin_dir.join("locked")).unwrap();
    story.cli.run(&["rm", "issue-1", "--force"]).ok();
    assert!(!target.exists());
    inside.assert_kept();
}
