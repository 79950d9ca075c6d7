//! Branches that Spinney made, whose workspaces went before anybody knew that they are merged.

use serde_json::Value;

use crate::support::common::{Story, make};
use crate::support::lost::Work;

/// The branches beside `main`.
fn branches(story: &Story) -> Vec<String> {
    story.branches().into_iter().filter(|branch| branch != "main").collect()
}

/// A workspace with a pushed commit, which is removed; its branch stays.
#[track_caller]
fn removed(story: &Story, issue: &str) -> (Work, String) {
    let work = Work::new(story, issue);
    let tip = work.commit(&format!("{issue}.txt"), issue);
    work.push();
    story.cli.run(&["rm", &work.name]).ok();
    assert!(branches(story).contains(&work.name), "it is not merged");
    (work, tip)
}

#[track_caller]
fn swept(story: &Story, arguments: &[&str]) -> Vec<Value> {
    let report = story.cli.run(&[&["cleanup", "--json"], arguments].concat()).ok().json();
    report["branches"].as_array().unwrap().clone()
}

#[test]
fn a_branch_goes_when_its_merge_is_known_and_comes_back_with_its_workspace() {
    let story = Story::new();
    let (work, tip) = removed(&story, "1");
    assert_eq!(swept(&story, &["all"]), [] as [Value; 0]);
    assert_eq!(branches(&story), ["issue-1"]);
    story.remote().squash_merge("issue-1");

    let dry = swept(&story, &["merged", "--dry-run"]);
    assert_eq!(branches(&story), ["issue-1"], "a dry run changes nothing");
    assert_eq!((dry[0]["branch"].as_str(), dry[0]["commit"].as_str()), (Some("issue-1"), Some(tip.as_str())));
    assert_eq!(dry[0]["workspace"]["id"], work.id.as_str());
    let told = story.cli.run(&["cleanup", "--dry-run"]).ok();
    assert!(
        told.stdout.contains(&format!("would delete branch issue-1 (at {}), left by issue-1: ", &tip[..7])),
        "{told:?}"
    );
    let told = story.cli.run(&["cleanup"]).ok();
    assert!(told.stdout.contains("deleted branch issue-1 (at "), "{}", told.told());
    assert_eq!(branches(&story), [] as [&str; 0]);
    assert!(!story.cli.run(&["cleanup"]).ok().stdout.contains("branch"), "once");

    story.cli.run(&["restore", "issue-1"]).ok();
    assert_eq!(work.head(), tip);
    assert_eq!(work.git(&["status", "--porcelain", "--branch"]), "## issue-1");
    // It is Spinney's still.
    story.cli.run(&["rm", "issue-1"]).ok();
    assert_eq!(branches(&story), [] as [&str; 0]);
}

#[test]
fn every_sweep_of_workspaces_looks_at_them() {
    let story = Story::new();
    for (issue, what) in [("1", "merged"), ("2", "stale"), ("3", "orphans"), ("4", "all")] {
        let (work, _) = removed(&story, issue);
        story.remote().squash_merge(&work.name);
        story.cli.run(&["repo", "sync"]).ok();
        assert_eq!(swept(&story, &["caches"]).len(), 0);
        assert_eq!(swept(&story, &[what]).len(), 1, "{what}");
        assert_eq!(branches(&story), [] as [&str; 0], "{what}");
    }
    // One that was forced away although it had no commit of its own.
    Work::new(&story, "5");
    story.cli.run(&["rm", "issue-5", "--force"]).ok();
    assert_eq!(branches(&story), ["issue-5"]);
    assert_eq!(swept(&story, &["merged"])[0]["why"], "it has no commit of its own");
    assert_eq!(branches(&story), [] as [&str; 0]);
}

#[test]
fn what_is_not_merged_is_in_use_moved_or_somebody_elses_stays() {
    let story = Story::new();
    let (open, _) = removed(&story, "1");
    // Somebody went on there.
    let (moved, tip) = removed(&story, "2");
    let tree = story.repository.git(&["rev-parse", &format!("{tip}^{{tree}}")]);
    let later = story.repository.git(&["commit-tree", &tree, "-p", &tip, "-m", "later"]);
    // Somebody has it checked out.
    let (taken, _) = removed(&story, "3");
    // A new workspace goes on there.
    let (again, _) = removed(&story, "4");
    story.repository.git(&["branch", "mine"]);
    let mine = Work::of(&story, &story.make(&["--branch", "mine"]));
    mine.commit("mine.txt", "mine");
    mine.push();
    story.cli.run(&["rm", &mine.name]).ok();
    for name in ["issue-2", "issue-3", "issue-4", "mine"] {
        story.remote().squash_merge(name);
    }
    story.repository.git(&["update-ref", "refs/heads/issue-2", &later]);
    let elsewhere = story.sandbox().path().join("elsewhere");
    story.repository.git(&["worktree", "add", "--quiet", elsewhere.to_str().unwrap(), "issue-3"]);
    let live = Work::new(&story, "4");
    live.git(&["switch", "--quiet", "--detach"]);
    live.write("new.txt", "so that it stays");

    assert_eq!(swept(&story, &["all"]), [] as [Value; 0]);
    let all = [&open, &moved, &taken, &again].map(|work| work.name.clone());
    assert_eq!(branches(&story), [&all[..], &["mine".to_owned()]].concat());
    // What is configured holds after the removal, too.
    story.repository.git(&["worktree", "remove", elsewhere.to_str().unwrap()]);
    let keeps = story.cli.with_variable("SPINNEY_CLEANUP__DELETE_MERGED_BRANCHES", "false");
    keeps.run(&["cleanup"]).ok();
    assert!(branches(&story).contains(&taken.name));
    assert_eq!(swept(&story, &["merged"]).len(), 1);
    assert!(!branches(&story).contains(&taken.name));
}

#[test]
fn a_branch_that_somebody_made_since_is_theirs() {
    let story = Story::new();
    let (work, tip) = removed(&story, "1");
    story.remote().squash_merge("issue-1");
    assert_eq!(swept(&story, &["merged"]).len(), 1);
    story.repository.git(&["branch", "issue-1", &tip]);
    assert_eq!(swept(&story, &["merged"]), [] as [Value; 0]);
    story.cli.run(&["restore", "issue-1"]).ok();
    assert_eq!(work.head(), tip);
    story.cli.run(&["rm", "issue-1"]).ok();
    assert_eq!(swept(&story, &["merged"]), [] as [Value; 0]);
    assert_eq!(branches(&story), ["issue-1"]);
}

#[test]
fn a_branch_that_another_home_works_on_stays() {
    let story = Story::new();
    removed(&story, "1");
    story.remote().squash_merge("issue-1");
    let second = story.cli.with_variable("SPINNEY_HOME", story.sandbox().path().join("second home"));
    let theirs = Work::of(&story, &make(&second, &["--issue", "1"]));
    assert_eq!(theirs.git(&["branch", "--show-current"]), "issue-1");
    // On it or not, the branch is that workspace's.
    for switch in [&["switch", "--quiet", "issue-1"][..], &["switch", "--quiet", "--detach"]] {
        theirs.git(switch);
        assert_eq!(swept(&story, &["all"]), [] as [Value; 0]);
        assert_eq!(branches(&story), ["issue-1"]);
    }
    second.run(&["rm", &theirs.id, "--force"]).ok();
    assert_eq!(swept(&story, &["all"]).len(), 1);
}

#[test]
fn the_commits_of_a_purged_workspace_outlive_its_branch() {
    let story = Story::new();
    let (plain, plain_tip) = removed(&story, "1");
    let archived = Work::new(&story, "2");
    let tip = archived.commit("2.txt", "2");
    archived.push();
    archived.write("notes.txt", "mine");
    story.cli.run(&["rm", "issue-2", "--force"]).ok();
    story.cli.run(&["trash", "purge", "--all"]).ok();
    // The branch kept the commits: nothing else had to.
    let rescue = |work: &Work| format!("refs/spinney/rescue/{}", work.id);
    story.remote().squash_merge("issue-1");
    story.remote().squash_merge("issue-2");
    for name in ["issue-1", "issue-2"] {
        story.remote().git(&["branch", "-D", name]);
    }
    assert_eq!(swept(&story, &["merged"]).len(), 2);
    assert_eq!(branches(&story), [] as [&str; 0]);
    story.repository.git(&["fetch", "--quiet", "--prune", "origin"]);
    story.repository.git(&["reflog", "expire", "--expire=now", "--all"]);
    story.repository.git(&["gc", "--quiet", "--prune=now"]);
    for (work, tip) in [(&plain, &plain_tip), (&archived, &tip)] {
        let kept = story.repository.git(&["rev-list", &rescue(work)]);
        assert!(kept.contains(tip.as_str()), "{}", work.name);
    }
    story.cli.run(&["restore", "issue-2"]).ok();
    assert_eq!(archived.head(), tip);
    assert_eq!(archived.git(&["status", "--porcelain", "--branch"]), "## issue-2\n?? notes.txt");
}

#[test]
fn the_audit_log_has_the_commit_of_a_branch_that_went() {
    let story = Story::new();
    let (_, tip) = removed(&story, "1");
    story.remote().squash_merge("issue-1");
    swept(&story, &["merged"]);
    // One that goes with its workspace, too.
    let base = Work::new(&story, "2").head();
    story.cli.run(&["rm", "issue-2"]).ok();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let deleted = runtime.block_on(async {
        let url = spinney_store::StoreUrl::parse(&story.sandbox().store_url()).unwrap();
        let store = spinney_store::Store::open(&url).await.unwrap();
        let events = store.read().await.unwrap().events("local", 0, 1000).await.unwrap();
        let deleted = events.into_iter().filter_map(|(_, recorded)| match recorded.event {
            spinney_core::Event::BranchDeleted { about, commit, .. } => {
                Some((about.name.to_string(), commit.to_string()))
            }
            _ => None,
        });
        deleted.collect::<std::collections::BTreeSet<_>>()
    });
    assert_eq!(deleted, [("issue-1".to_owned(), tip), ("issue-2".to_owned(), base)].into());
}

#[test]
fn what_somebody_bisects_or_rebases_stays() {
    let story = Story::new();
    for issue in ["1", "2"] {
        let work = Work::new(&story, issue);
        for file in ["one", "two", "three"] {
            work.commit(&format!("{file}-{issue}.txt"), issue);
        }
        work.push();
        story.cli.run(&["rm", &work.name]).ok();
    }
    let beside = story.sandbox().path().join("beside");
    let stacked = story.sandbox().path().join("stacked");
    let git = |directory: &std::path::Path, arguments: &[&str]| story.sandbox().git(directory, arguments);
    story.repository.git(&["worktree", "add", "--quiet", beside.to_str().unwrap(), "issue-1"]);
    for arguments in [&["bisect", "start"][..], &["bisect", "bad"], &["bisect", "good", "HEAD~2"]] {
        git(&beside, arguments);
    }
    story.repository.git(&["worktree", "add", "--quiet", "-b", "top", stacked.to_str().unwrap(), "issue-2"]);
    git(&stacked, &["commit", "--quiet", "--allow-empty", "--message", "top"]);
    git(&stacked, &["-c", "sequence.editor=sed -i 1ibreak", "rebase", "--quiet", "-i", "--update-refs", "HEAD~3"]);
    for branch in ["issue-1", "issue-2"] {
        story.remote().squash_merge(branch);
    }
    assert_eq!(swept(&story, &["all"]), [] as [Value; 0]);
    assert_eq!(branches(&story), ["issue-1", "issue-2", "top"]);
    git(&beside, &["bisect", "reset"]);
    git(&stacked, &["rebase", "--continue"]);
}

#[test]
fn what_somebody_made_again_is_theirs() {
    let story = Story::new();
    let (_, tip) = removed(&story, "1");
    story.repository.git(&["branch", "--quiet", "-D", "issue-1"]);
    std::thread::sleep(std::time::Duration::from_secs(1));
    story.repository.git(&["branch", "issue-1", &tip]);
    story.remote().squash_merge("issue-1");
    assert_eq!(swept(&story, &["all"]), [] as [Value; 0]);
    assert_eq!(branches(&story), ["issue-1"]);
}
