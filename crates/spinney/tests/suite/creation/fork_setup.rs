//! `setup` and the scripts of strangers: a fork's, or those of a pull request that is to be reviewed.

use std::fs;
use std::path::PathBuf;

use crate::support::common::{Story, make};
use crate::support::pool::Pool;

/// A repository whose `setup` is a script in it, trusted by its person.
fn story() -> Story {
    let story = Story::new();
    story.change(|repository| {
        repository.write_executable("setup.sh", "#!/bin/sh\ntouch ours\n");
        repository.write("spinney.toml", "[workspace]\nsetup = [\"./setup.sh\"]\n").commit("set-up");
        repository.push();
    });
    story.cli.run(&["trust", "--yes"]).ok();
    story
}

/// Opens a pull request from a fork that changes the script; gives its commit, and the file that the script makes.
fn pull_request(story: &Story, number: u64) -> (String, PathBuf) {
    let (sandbox, mark) = (story.sandbox(), story.sandbox().path().join(format!("ran-{number}")));
    let clone = sandbox.path().join(format!("fork-{number}"));
    sandbox.git(sandbox.path(), &["clone", "--quiet", story.remote().url(), clone.to_str().unwrap()]);
    fs::write(clone.join("setup.sh"), format!("#!/bin/sh\ntouch '{}'\n", mark.display())).unwrap();
    sandbox.git(&clone, &["commit", "--quiet", "--all", "--message", "change the set-up"]);
    sandbox.git(&clone, &["push", "--quiet", "origin", &format!("HEAD:refs/pull/{number}/head")]);
    (sandbox.git(&clone, &["rev-parse", "HEAD"]), mark)
}

#[test]
fn the_setup_of_a_trusted_repository_runs_no_script_of_a_fork_or_review() {
    let story = story();
    assert!(story.make(&["--issue", "1"]).path().join("ours").exists());
    for (number, work) in [(90, vec!["--review", "90"]), (91, vec!["--pr", "91", "--fork"]), (92, vec!["--pr", "92"])] {
        let (commit, mark) = pull_request(&story, number);
        let workspace = story.make(&work);
        assert!(!mark.exists(), "{work:?} ran the fork's script");
        let said = workspace.said();
        assert!(said.contains("1 setup line not run: the work comes from a fork or a review"), "{said}");
        assert!(said.contains(&format!("spinney trust --commit {commit}")) && said.contains(" --setup`"), "{said}");
        assert_eq!(workspace.0["metadata"]["setup_withheld"], true);
        // Asked for again, it is still not run; asked with the flag, it is, once.
        story.make(&work);
        assert!(!mark.exists());
        let again = story.make(&[work.as_slice(), &["--setup"]].concat());
        assert!(mark.exists(), "{}", again.said());
        assert_eq!(again.0["metadata"].get("setup_withheld"), None);
        fs::remove_file(&mark).unwrap();
        story.make(&[work.as_slice(), &["--setup"]].concat());
        assert!(!mark.exists(), "it ran twice");
    }
}

#[test]
fn the_flag_or_trust_of_the_commit_runs_it_at_once() {
    let story = story();
    let (_, mark) = pull_request(&story, 90);
    let workspace = story.make(&["--review", "90", "--setup"]);
    assert!(mark.exists() && !workspace.said().contains("not run"), "{}", workspace.said());
    let (commit, mark) = pull_request(&story, 91);
    let shown = story.cli.run(&["trust", "--commit", &commit, "--yes"]).ok();
    assert!(shown.stderr.contains("./setup.sh") && shown.stderr.contains(&commit), "{}", shown.told());
    let (_, other) = pull_request(&story, 92);
    story.make(&["--pr", "92", "--fork"]);
    story.make(&["--pr", "91", "--fork"]);
    assert!(mark.exists() && !other.exists());
}

#[test]
fn trust_that_comes_later_counts_when_it_is_asked_for_again() {
    let story = story();
    let (commit, mark) = pull_request(&story, 90);
    story.make(&["--review", "90"]);
    story.cli.run(&["trust", "--commit", &commit, "--yes", "--json"]).ok();
    assert!(!mark.exists());
    story.make(&["--review", "90"]);
    assert!(mark.exists());
}

#[test]
fn a_branch_of_the_repository_itself_is_set_up() {
    let story = story();
    story.remote().advance_branch("feature/own", "own.txt");
    let workspace = story.make(&["--pr", "7", "--head", "feature/own"]);
    assert!(workspace.path().join("ours").exists() && !workspace.said().contains("not run"), "{}", workspace.said());
}

#[test]
fn a_lost_workspace_of_a_fork_is_made_again_without_it() {
    let story = story();
    let (_, mark) = pull_request(&story, 90);
    let workspace = story.make(&["--review", "90"]);
    fs::rename(workspace.path(), story.sandbox().path().join("vanished")).unwrap();
    let again = story.make(&["--review", "90"]);
    assert!(again.path().join("setup.sh").exists() && !mark.exists());
    assert!(again.said().contains("not run"), "{}", again.said());
}

#[test]
fn a_warm_workspace_goes_to_a_fork_without_another_setup() {
    let pool = Pool::of(story(), 1);
    pool.fill();
    let (commit, mark) = pull_request(&pool.story, 90);
    let workspace = make(&pool.story.cli, &["--review", "90"]);
    assert_eq!((&workspace.0["warm"], workspace.path().join("ours").exists()), (&true.into(), true));
    assert_eq!(pool.story.sandbox().git(workspace.path(), &["rev-parse", "HEAD"]), commit);
    assert!(!mark.exists());
}
