//! How many workspaces there may be and how much disk must stay free; what makes room, and what is said when nothing does.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::support::common::{Story, Workspace, make, refused};
use spinney_core::Timestamp;
use spinney_testkit::Cli;

fn limited(story: &Story, limit: u32) -> Cli {
    let cli = story.cli.with_variable("SPINNEY_LIMITS__MAX_WORKSPACES", limit.to_string());
    cli.with_variable("SPINNEY_WORKSPACE__FETCH_MAX_AGE", "0")
}

/// Commits in a workspace and pushes its branch.
fn deliver(story: &Story, workspace: &Workspace) {
    let (tree, branch) = (workspace.path(), workspace.text("branch"));
    for file in ["one", "two"] {
        fs::write(tree.join(format!("{branch}-{file}.txt")), file).unwrap();
        story.sandbox().git(&tree, &["add", "."]);
        story.sandbox().git(&tree, &["commit", "--quiet", "--message", file]);
    }
    story.sandbox().git(&tree, &["push", "--quiet", "origin", branch]);
}

/// Makes a workspace look as if nobody had touched it for some days.
fn age(story: &Story, workspace: &Workspace, days: u64) {
    let then = Timestamp::now().as_millisecond() - i64::try_from(days).unwrap() * 86_400_000;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let url = spinney_store::StoreUrl::Sqlite(story.sandbox().spinney_home().join("spinney.db"));
        let store = spinney_store::Store::open(&url).await.unwrap();
        let mut db = store.write().await.unwrap();
        let id = workspace.text("id").parse().unwrap();
        let mut row = db.workspace(&id).await.unwrap().unwrap();
        row.last_activity_at = Timestamp::from_millisecond(then);
        assert!(db.update_workspace(&row, &[row.status]).await.unwrap());
        db.commit().await.unwrap();
    });
}

fn live(story: &Story) -> Vec<String> {
    let list = story.cli.run(&["ls", "--json"]).ok().json();
    let mut names: Vec<_> =
        list["workspaces"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

#[test]
fn only_workspaces_that_exist_count() {
    let story = Story::new();
    let cli = limited(&story, 2);
    make(&cli, &["--issue", "1"]);
    make(&cli, &["--issue", "2"]);
    refused(&cli, 3, &["new", "--issue", "3"]);
    // What is there already is answered at the limit too.
    assert_eq!(make(&cli, &["--issue", "2"]).text("method"), "reused");
    story.cli.run(&["rm", "issue-1"]).ok();
    make(&cli, &["--issue", "3"]);
    refused(&cli, 3, &["new", "--issue", "4"]);
    // A creation that was rolled back does not count.
    let more = limited(&story, 3);
    refused(&more.with_variable("SPINNEY_WORKSPACE__SETUP", "[\"exit 1\"]"), 1, &["new", "--issue", "5"]);
    make(&more, &["--issue", "6"]);
    assert_eq!(live(&story), ["issue-2", "issue-3", "issue-6"]);
    assert_eq!(story.worktrees().len(), 3);
}

#[test]
fn a_lost_workspace_does_not_count_until_it_is_made_again() {
    let story = Story::new();
    let cli = limited(&story, 1);
    let lost = make(&cli, &["--issue", "1"]);
    let aside = story.sandbox().path().join("vanished");
    fs::rename(lost.path(), &aside).unwrap();
    // Nobody has noticed yet; its own request does, and makes it again.
    assert_eq!(make(&cli, &["--issue", "1"]).path(), lost.path());
    refused(&cli, 3, &["new", "--issue", "2"]);
}

#[test]
fn at_the_limit_a_merged_workspace_makes_room_and_that_is_said() {
    for squash in [false, true] {
        let story = Story::new();
        let cli = limited(&story, 1);
        let merged = make(&cli, &["--issue", "1"]);
        deliver(&story, &merged);
        refused(&cli, 3, &["new", "--issue", "2"]).says(&["0 merged"]);
        if squash {
            story.remote().squash_merge("issue-1");
        } else {
            story.remote().merge("issue-1");
        }
        let next = make(&cli, &["--issue", "2"]);
        assert_eq!(next.identity(), ("issue-2", "issue-2", "created"));
        let said = next.said();
        assert!(said.contains("issue-1 went to the trash to make room"), "{said}");
        assert!(said.contains("spinney restore issue-1"), "{said}");
        assert_eq!(live(&story), ["issue-2"]);
        assert!(!merged.path().exists());
        // Nothing of it is lost.
        story.cli.run(&["restore", "issue-1"]).ok();
        assert!(merged.path().join("issue-1-two.txt").is_file());
    }
}

#[test]
fn a_merged_workspace_with_work_in_it_is_not_taken() {
    for kind in ["untracked", "dirty", "ignored"] {
        let story = Story::new();
        let cli = limited(&story, 1);
        let merged = make(&cli, &["--issue", "1"]);
        deliver(&story, &merged);
        story.remote().squash_merge("issue-1");
        let file = match kind {
            "untracked" => "notes.txt",
            "dirty" => "README.md",
            _ => ".env",
        };
        fs::write(merged.path().join(file), "only here").unwrap();
        let refusal = refused(&cli, 3, &["new", "--issue", "2"]);
        refusal.says(&["1 merged, 0 stale", "0 active"]).hints(&["spinney why issue-1"]);
        assert_eq!(fs::read_to_string(merged.path().join(file)).unwrap(), "only here");
        assert_eq!(live(&story), ["issue-1"]);
    }
}

#[test]
fn a_branch_without_commits_of_its_own_is_not_merged() {
    let story = Story::new();
    let cli = limited(&story, 1);
    make(&cli, &["--issue", "1"]);
    story.remote().advance("later.txt");
    refused(&cli, 3, &["new", "--issue", "2"]).says(&["0 merged", "1 active"]);
}

#[test]
fn only_as_many_go_as_room_is_needed_for_the_least_recent_first() {
    let story = Story::new();
    let all: Vec<_> = ["1", "2", "3"].iter().map(|number| story.make(&["--issue", number])).collect();
    for workspace in &all {
        deliver(&story, workspace);
        story.remote().squash_merge(workspace.text("branch"));
    }
    age(&story, &all[1], 3);
    let said = make(&limited(&story, 3), &["--issue", "4"]).said().to_owned();
    assert!(said.contains("issue-2 went to the trash"), "{said}");
    assert_eq!(live(&story), ["issue-1", "issue-3", "issue-4"]);
}

#[test]
fn a_full_repository_is_told_with_counts_and_commands() {
    let story = Story::new();
    let cli = limited(&story, 4);
    let merged = make(&cli, &["--issue", "1"]);
    deliver(&story, &merged);
    story.remote().squash_merge("issue-1");
    fs::write(merged.path().join("notes.txt"), "keeps it").unwrap();
    let stale = make(&cli, &["--issue", "2"]);
    age(&story, &stale, 20);
    make(&cli, &["--issue", "3"]);
    make(&cli, &["--issue", "4"]);
    let refusal = refused(&cli, 3, &["new", "--issue", "5"]);
    assert_eq!(
        refusal.message(),
        "local/app has 4 active workspaces (limit 4): 1 merged, 1 stale for 14+ days, 2 active"
    );
    refusal.hints(&["spinney why issue-1", "spinney rm issue-2", "spinney ls", "limits.max_workspaces"]);
    assert_eq!(refusal.0.stdout, "", "no other directory is offered instead");
    assert_eq!(live(&story).len(), 4);
    assert_eq!(story.branches().len(), 5);
}

#[test]
fn the_repositorys_own_file_may_set_the_limit() {
    let story = Story::new();
    story.change(|repository| repository.write("spinney.toml", "[limits]\nmax_workspaces = 1\n").fingerprint());
    story.make(&["--issue", "1"]);
    story.refused(3, &["--issue", "2"]).says(&["(limit 1)"]);
}

#[test]
fn each_repository_has_its_own_count() {
    let story = Story::new();
    let other = Story::of(story.sandbox().repository("other").with_remote());
    make(&limited(&story, 1), &["--issue", "1"]);
    make(&limited(&other, 1), &["--issue", "1"]);
    refused(&limited(&other, 1), 3, &["new", "--issue", "2"]).says(&["local/other has 1 active"]);
}

#[test]
fn many_at_once_never_exceed_the_limit() {
    let story = Story::new();
    let cli = limited(&story, 3);
    let running: Vec<_> = (1..=8).map(|number| cli.spawn(&["new", "--issue", &number.to_string()])).collect();
    let statuses: Vec<_> = running.into_iter().map(|one| one.wait().status).collect();
    assert_eq!(statuses.iter().filter(|status| **status == 0).count(), 3, "{statuses:?}");
    assert_eq!(statuses.iter().filter(|status| **status == 3).count(), 5, "{statuses:?}");
    assert_eq!(story.worktrees().len(), 3);
    assert_eq!(story.branches().len(), 4);
}

#[test]
fn too_little_disk_is_refused_before_anything_is_made() {
    let story = Story::new();
    let cli = story.cli.with_variable("SPINNEY_LIMITS__MIN_FREE_DISK", "100000TiB");
    refused(&cli, 3, &["new", "--issue", "1"]).says(&["free", "must stay free"]).hints(&["limits.min_free_disk"]);
    story.assert_nothing_made();
    make(&story.cli, &["--issue", "1"]);
    // What exists is answered, however full the disk is.
    assert_eq!(make(&cli, &["--issue", "1"]).text("method"), "reused");
}

#[test]
fn the_tree_itself_must_fit_beside_what_must_stay_free() {
    let story = Story::new();
    let free = story.cli.run(&["status", "--json"]).ok().json()["free_disk"].as_u64().unwrap();
    // A quarter of what is free is asked for, and a tree is not measured by guess: the files of the commit count.
    let kept = free / 4;
    let cli = story.cli.with_variable("SPINNEY_LIMITS__MIN_FREE_DISK", format!("{kept}B"));
    make(&cli, &["--issue", "1"]);
    let all = story.cli.with_variable("SPINNEY_LIMITS__MIN_FREE_DISK", format!("{}B", free.saturating_mul(2)));
    refused(&all, 3, &["new", "--issue", "2"]).says(&["its files need"]);
}

#[test]
fn a_workspace_in_use_makes_no_room() {
    let story = Story::new();
    let cli = limited(&story, 1);
    let merged = make(&cli, &["--issue", "1"]);
    deliver(&story, &merged);
    story.remote().squash_merge("issue-1");
    let ready = story.sandbox().path().join("ready");
    let script = format!("touch '{}'; sleep 600; true", ready.display());
    let inside = story.cli.spawn(&["exec", "issue-1", "--", "sh", "-c", &script]);
    spinney_testkit::wait_until(|| ready.exists(), Duration::from_secs(60));
    refused(&cli, 3, &["new", "--issue", "2"]).says(&["1 merged"]);
    assert!(Path::new(merged.text("path")).is_dir());
    drop(inside);
}
