//! Whose branch it is: Spinney deletes the branches that it made, and no other. And what git's own locks do to a restore.

use std::fs;

use crate::support::common::Story;
use crate::support::lost::Work;
use spinney_testkit::GitWrapper;

/// The branches beside `main`.
fn branches(story: &Story) -> Vec<String> {
    story.branches().into_iter().filter(|branch| branch != "main").collect()
}

/// A workspace on a branch that a person had made before.
fn on_own_branch(story: &Story) -> Work {
    story.repository.git(&["branch", "mine"]);
    Work::of(story, &story.make(&["--branch", "mine"]))
}

#[test]
fn a_persons_own_branch_stays_when_its_workspace_goes() {
    let story = Story::new();
    let work = on_own_branch(&story);
    let told = story.cli.run(&["rm", &work.name, "--json"]).ok().json();
    assert_eq!(branches(&story), ["mine"], "{told}");
    // Restored and removed again it is still not ours.
    story.cli.run(&["restore", &work.name]).ok();
    story.cli.run(&["rm", &work.name]).ok();
    assert_eq!(branches(&story), ["mine"]);
}

#[test]
fn a_persons_own_branch_stays_when_it_is_merged() {
    let story = Story::new();
    let work = on_own_branch(&story);
    work.commit("a.txt", "a");
    work.push();
    story.remote().merge("mine");
    story.cli.run(&["repo", "sync"]).ok();
    story.cli.run(&["cleanup", "merged"]).ok();
    assert_eq!(story.names(), [work.name.as_str()], "it is in the trash");
    assert_eq!(branches(&story), ["mine"]);
}

#[test]
fn a_persons_own_branch_is_not_pruned_with_a_stale_workspace() {
    let story = Story::new();
    story.sandbox().write_config("cleanup.stale_after = \"1s\"\ncleanup.prune_unmerged_branches = true\n");
    let (mine, ours) = (on_own_branch(&story), Work::new(&story, "1"));
    for work in [&mine, &ours] {
        work.commit("a.txt", &work.name);
        work.push();
    }
    let is_trashed = |work: &Work| story.show(&work.id).text("status") == "trashed";
    let swept = || {
        story.cli.run(&["cleanup", "stale"]).ok();
        is_trashed(&mine) && is_trashed(&ours)
    };
    spinney_testkit::wait_until(swept, std::time::Duration::from_secs(60));
    assert_eq!(branches(&story), ["mine"], "only the branch that Spinney made is pruned");
}

#[test]
fn a_branch_that_spinney_made_goes_with_its_workspace() {
    let story = Story::new();
    let made = Work::of(&story, &story.make(&["--branch", "theirs"]));
    let issue = Work::new(&story, "1");
    assert_eq!(branches(&story), ["issue-1", "theirs"]);
    for work in [&made, &issue] {
        story.cli.run(&["rm", &work.name]).ok();
    }
    assert_eq!(branches(&story), Vec::<String>::new());
    // The new name that a restore gave it is Spinney's, too.
    story.cli.run(&["restore", &issue.name, "--branch", "again"]).ok();
    assert_eq!(branches(&story), ["again"]);
    story.cli.run(&["rm", &issue.name]).ok();
    assert_eq!(branches(&story), Vec::<String>::new());
}

#[test]
fn a_lost_workspace_that_is_made_again_does_not_take_over_its_branch() {
    let story = Story::new();
    let work = on_own_branch(&story);
    fs::rename(&work.path, story.sandbox().path().join("away")).unwrap();
    let again = Work::of(&story, &story.make(&["--branch", "mine"]));
    assert_eq!(again.path, work.path);
    story.cli.run(&["rm", &again.name]).ok();
    assert_eq!(branches(&story), ["mine"]);
}

#[test]
fn a_branch_that_somebody_makes_at_the_same_moment_stays() {
    let story = Story::new();
    // Between our look and git's work a person makes the branch, at the very commit.
    let wrapper = GitWrapper::new(
        "case \"$*\" in *'worktree add'*) \"$GIT\" -C \"$PWD\" branch --no-track issue-1 origin/main 2>/dev/null ;; esac\nexec \"$GIT\" \"$@\"\n",
    );
    let failed = story.cli.with_path_first(wrapper.directory()).run(&["new", "--issue", "1"]).exits(1);
    assert!(failed.stderr.contains("issue-1"), "{}", failed.told());
    assert_eq!(branches(&story), ["issue-1"]);
    assert_eq!(story.names(), Vec::<String>::new());
}

#[test]
fn a_person_keeps_their_branch_when_a_warm_workspace_is_claimed_for_it() {
    let story = Story::new();
    // Only this command is told the size, so that nothing fills the pool behind the test's back.
    story.cli.with_variable("SPINNEY_POOL__SIZE", "1").run(&["pool", "fill"]).ok();
    let work = on_own_branch(&story);
    story.cli.run(&["rm", &work.name]).ok();
    assert_eq!(branches(&story), ["mine"]);
}

#[test]
fn a_lock_that_a_killed_git_left_does_not_keep_a_workspace_from_coming_back() {
    let story = Story::new();
    for (issue, purge) in [("1", false), ("2", true)] {
        let work = Work::new(&story, issue);
        work.write("new.txt", "new");
        work.write("staged.txt", "staged");
        work.git(&["add", "staged.txt"]);
        let admin_dir = work.git(&["rev-parse", "--absolute-git-dir"]);
        for lock in ["index.lock", "HEAD.lock"] {
            fs::write(format!("{admin_dir}/{lock}"), "left").unwrap();
        }
        story.cli.run(&["rm", &work.name, "--force"]).ok();
        if purge {
            story.cli.run(&["trash", "purge", "--all"]).ok();
        }
        let told = story.cli.run(&["restore", &work.name]).ok();
        assert!(told.stderr.contains("`index.lock`"), "{}", told.told());
        assert_eq!(fs::read_to_string(work.path.join("new.txt")).unwrap(), "new");
        assert_eq!(work.git(&["diff", "--cached", "--name-only"]), "staged.txt");
        work.git(&["add", "new.txt"]);
        assert_eq!(fs::read_to_string(format!("{admin_dir}/index.lock.aside")).unwrap(), "left");
    }
}
