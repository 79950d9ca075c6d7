//! Somebody works in a tree, or collects garbage, in the very moment in which it is removed.

use std::fs;

use crate::support::common::Story;
use crate::support::lost::Work;
use spinney_testkit::{Cli, GitWrapper};

/// The program, with a script that runs at a fail point.
fn at(story: &Story, point: &str, script: &str) -> Cli {
    let path = story.sandbox().path().join("at-the-point.sh");
    fs::write(&path, format!("set -e\n{script}")).unwrap();
    story.cli.with_variable("SPINNEY_FAIL", format!("{point}=run:{}", path.display()))
}

/// What somebody types in the tree.
fn in_tree(work: &Work, lines: &str) -> String {
    format!("cd '{}'\n{lines}\n", work.path.display())
}

/// Git collects all that it can.
fn collect(story: &Story) {
    for arguments in
        [&["reflog", "expire", "--expire=now", "--all"][..], &["worktree", "prune"], &["gc", "-q", "--prune=now"]]
    {
        story.repository.git(arguments);
    }
    assert_eq!(story.repository.git(&["fsck", "--connectivity-only", "--no-dangling"]), "");
}

fn rescue(work: &Work) -> String {
    format!("refs/spinney/rescue/{}", work.id)
}

const MOMENTS: [&str; 3] = ["remove.pinned", "remove.moving", "remove.marked"];

#[test]
fn a_commit_on_no_branch_between_pin_and_move_is_kept() {
    for point in MOMENTS {
        let story = Story::new();
        let work = Work::new(&story, "1");
        work.git(&["switch", "--quiet", "--detach"]);
        let script = in_tree(&work, "echo late > late.txt; git add late.txt; git commit --quiet -m late");
        at(&story, point, &script).run(&["rm", "issue-1", "--force"]).ok();
        collect(&story);
        let told = story.cli.run(&["restore", "issue-1"]).ok().stderr;
        assert_eq!(work.git(&["log", "-1", "--format=%s"]), "late", "{point}");
        assert_eq!(work.git(&["status", "--porcelain"]), "", "{point}");
        assert_eq!(work.git(&["rev-parse", "--abbrev-ref", "HEAD"]), "HEAD");
        assert!(told.contains(&format!("detached at {}", &work.head()[..7])), "{told}");
    }
}

#[test]
fn what_is_staged_between_pin_and_move_is_kept() {
    for point in MOMENTS {
        let story = Story::new();
        let work = Work::new(&story, "1");
        let script = in_tree(&work, "echo staged > staged.txt; git add staged.txt; rm staged.txt");
        at(&story, point, &script).run(&["rm", "issue-1"]).ok();
        collect(&story);
        story.cli.run(&["restore", "issue-1"]).ok();
        assert_eq!(work.git(&["show", ":staged.txt"]), "staged", "{point}");
    }
}

#[test]
fn a_commit_on_the_branch_between_pin_and_move_is_where_it_comes_back() {
    for point in MOMENTS {
        let story = Story::new();
        let work = Work::new(&story, "1");
        let script = in_tree(&work, "echo late > late.txt; git add late.txt; git commit --quiet -m late");
        at(&story, point, &script).run(&["rm", "issue-1"]).ok();
        assert_eq!(story.repository.git(&["log", "-1", "--format=%s", "issue-1"]), "late", "the branch stays");
        story.repository.git(&["branch", "-D", "issue-1"]);
        collect(&story);
        let told = story.cli.run(&["restore", "issue-1"]).ok().stderr;
        assert!(told.contains("back on `issue-1`"), "{told}");
        assert_eq!(work.git(&["log", "-1", "--format=%s", "issue-1"]), "late", "{point}");
        assert_eq!(work.git(&["status", "--porcelain"]), "", "{point}");
    }
}

#[test]
fn another_branch_in_the_last_moment_is_the_one_it_comes_back_on() {
    let story = Story::new();
    let work = Work::new(&story, "1");
    let script = in_tree(&work, "git switch --quiet -c other; echo x > x; git add x; git commit --quiet -m other");
    at(&story, "remove.marked", &script).run(&["rm", "issue-1"]).ok();
    let told = story.cli.run(&["restore", "issue-1"]).ok().stderr;
    assert!(told.contains("back on `other`"), "{told}");
    assert_eq!(work.git(&["symbolic-ref", "--short", "HEAD"]), "other");
    assert_eq!(story.show("issue-1").text("branch"), "other");
}

#[test]
fn a_death_after_the_move_pins_again() {
    for point in ["remove.tree-moved", "remove.moved", "remove.repinned"] {
        let story = Story::new();
        let work = Work::new(&story, "1");
        work.git(&["switch", "--quiet", "--detach"]);
        let lines = in_tree(&work, "echo late > late.txt; git add late.txt; git commit --quiet -m late");
        let script = story.sandbox().path().join("late.sh");
        fs::write(&script, lines).unwrap();
        let armed = format!("remove.marked=run:{},{point}", script.display());
        let died = story.cli.with_variable("SPINNEY_FAIL", armed).run(&["rm", "issue-1", "--force"]);
        assert_ne!(died.status, 0, "{point}");
        story.cli.run(&["ls"]).ok();
        assert_eq!(story.show("issue-1").text("status"), "trashed", "{point}");
        collect(&story);
        story.cli.run(&["restore", "issue-1"]).ok();
        assert_eq!(work.git(&["log", "-1", "--format=%s"]), "late", "{point}");
        assert_eq!(work.git(&["fsck", "--connectivity-only", "--no-dangling"]), "");
    }
}

#[test]
fn nothing_more_is_asked_of_git_when_nothing_changed() {
    let story = Story::new();
    let count = |issue: &str, script: Option<String>| {
        let git = GitWrapper::recording();
        let work = Work::new(&story, issue);
        let cli =
            script.map_or_else(|| story.cli.clone(), |script| at(&story, "remove.marked", &in_tree(&work, &script)));
        cli.with_path_first(git.directory()).run(&["rm", &work.name]).ok();
        git.calls().into_iter().filter(|call| call.contains("refs/spinney/rescue")).count()
    };
    assert_eq!(count("1", None), 1, "a quiet removal sets its ref once");
    assert!(count("2", Some("echo x > x; git add x".to_owned())) > 1, "a busy one is pinned again");
}

/// A git that lets another one collect garbage around the moment in which a rescue ref is set: what no ref leads to
/// just before is deleted just after, as by a `gc --prune=now` that looked before and deletes late.
fn collecting_git() -> GitWrapper {
    GitWrapper::new(
        r#"case "$*" in
*update-ref*refs/spinney/rescue*) ;;
*) exec "$GIT" "$@" ;;
esac
( cd "$GIT_DIR/objects" && find ?? -type f | tr -d / | sort ) > "$HERE/loose"
"$GIT" rev-list --objects --all --single-worktree | cut -d' ' -f1 | sort > "$HERE/reachable"
comm -23 "$HERE/loose" "$HERE/reachable" > "$HERE/garbage"
"$GIT" "$@"
status=$?
while read -r object; do
  rest=${object#??}
  rm -f "$GIT_DIR/objects/${object%"$rest"}/$rest"
done < "$HERE/garbage"
"$GIT" repack -a -d -q
exit $status
"#,
    )
}

#[test]
fn a_collection_of_garbage_around_the_pin_takes_nothing() {
    for staged in [false, true] {
        let story = Story::new();
        let work = Work::new(&story, "1");
        work.git(&["switch", "--quiet", "--detach"]);
        let kept = work.commit("kept.txt", "kept");
        if staged {
            work.write("staged.txt", "staged");
            work.git(&["add", "staged.txt"]);
        }
        let git = collecting_git();
        story.cli.with_path_first(git.directory()).run(&["rm", "issue-1", "--force"]).ok();
        collect(&story);
        story.repository.git(&["log", "--oneline", &rescue(&work), &kept]);
        let keeps = fs::read_dir(story.repository.path().join(".git/objects/pack")).unwrap();
        let keeps: Vec<_> = keeps.map(|entry| entry.unwrap().file_name()).collect();
        assert!(!keeps.iter().any(|name| name.to_string_lossy().ends_with(".keep")), "{keeps:?}");
        story.cli.run(&["restore", "issue-1"]).ok();
        assert_eq!(work.head(), kept);
        assert_eq!(work.git(&["status", "--porcelain"]).is_empty(), !staged);
    }
}

#[test]
fn garbage_is_collected_beside_many_removals() {
    let story = Story::new();
    let works: Vec<Work> = (1..=6).map(|issue| Work::new(&story, &issue.to_string())).collect();
    for work in &works {
        work.git(&["switch", "--quiet", "--detach"]);
        work.commit("kept.txt", &work.name);
        work.write("staged.txt", &work.name);
        work.git(&["add", "staged.txt"]);
    }
    let cli = story.cli.clone();
    let (sandbox, repository) = (story.sandbox().clone(), story.repository.path().to_owned());
    std::thread::scope(|scope| {
        let removals =
            scope.spawn(|| works.iter().map(|work| cli.run(&["rm", &work.name, "--force"])).collect::<Vec<_>>());
        while !removals.is_finished() {
            // It may meet a ref that is just being set; what it leaves is looked at below.
            let _ = sandbox.try_git(&repository, &["gc", "--quiet", "--prune=now"]);
        }
        removals.join().unwrap().into_iter().for_each(|ran| drop(ran.ok()));
    });
    collect(&story);
    for work in &works {
        story.cli.run(&["restore", &work.name]).ok();
        assert_eq!(work.git(&["show", "HEAD:kept.txt"]), work.name);
        assert_eq!(work.git(&["show", ":staged.txt"]), work.name);
    }
}
