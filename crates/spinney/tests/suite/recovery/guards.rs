//! What must never go: things that look like Spinney's and are not, or that nobody has judged.

use std::fs;

use crate::support::common::{Story, Workspace};

/// Commits a file in a workspace.
fn commit(story: &Story, workspace: &Workspace, file: &str) {
    fs::write(workspace.path().join(file), file).unwrap();
    story.sandbox().git(workspace.path(), &["add", "--force", file]);
    story.sandbox().git(workspace.path(), &["commit", "--quiet", "-m", file]);
}

fn remove(story: &Story, name: &str) {
    story.cli.run(&["rm", name, "--force"]).ok();
}

fn archives(story: &Story) -> Vec<String> {
    let directory = story.sandbox().spinney_home().join("archives");
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().into_string().unwrap()).collect()
}

#[test]
fn a_directory_that_stands_where_a_lost_workspace_was_is_left_alone() {
    let story = Story::new();
    let workspace = story.make(&["--issue", "1"]);
    let away = story.sandbox().path().join("away");
    fs::rename(workspace.path(), &away).unwrap();
    story.cli.run(&["cleanup", "orphans"]).ok();
    fs::create_dir(workspace.path()).unwrap();
    fs::write(workspace.path().join("work.txt"), "precious").unwrap();

    story.refused(1, &["--issue", "1"]);

    assert_eq!(fs::read_to_string(workspace.path().join("work.txt")).unwrap(), "precious");
    fs::remove_file(workspace.path().join("work.txt")).unwrap();
    fs::remove_dir(workspace.path()).unwrap();
    fs::rename(&away, workspace.path()).unwrap();
    assert_eq!(story.make(&["--issue", "1"]).path(), workspace.path());
}

#[test]
fn a_tree_root_behind_a_link_hides_no_process() {
    let story = Story::new();
    let real = story.sandbox().path().join("real");
    fs::create_dir(&real).unwrap();
    std::os::unix::fs::symlink(&real, story.sandbox().path().join("link")).unwrap();
    let template = format!("{}/link/{{id}}", story.sandbox().path().display());
    let cli = story.cli.with_variable("SPINNEY_WORKSPACE__PATH", template);
    let workspace = crate::support::common::make(&cli, &["--issue", "1"]);
    assert!(workspace.path().starts_with(real.canonicalize().unwrap()));

    let mut inside = story.sandbox().command("sleep");
    let mut inside = inside.arg("60").current_dir(workspace.path()).spawn().unwrap();
    cli.run(&["rm", "issue-1", "--force"]).exits(5);
    inside.kill().unwrap();
    inside.wait().unwrap();
    cli.run(&["rm", "issue-1", "--force"]).ok();
}

#[test]
fn a_stale_sweep_prunes_only_the_workspaces_own_branch_where_it_is_pinned() {
    let story = Story::new();
    let workspace = story.make(&["--issue", "1"]);
    commit(&story, &workspace, "pushed.txt");
    story.sandbox().git(workspace.path(), &["push", "--quiet", "origin", "HEAD"]);
    story.sandbox().git(workspace.path(), &["switch", "--quiet", "-c", "other"]);
    // A person goes on with the branch in the main checkout.
    story.change(|repository| {
        repository.git(&["switch", "--quiet", "issue-1"]);
        repository.write("later.txt", "later").commit("later");
    });

    let cli = story.cli.with_variable("SPINNEY_CLEANUP__PRUNE_UNMERGED_BRANCHES", "true");
    let cli = cli.with_variable("SPINNEY_CLEANUP__MAX_AGE", "1ms");
    cli.run(&["cleanup", "stale"]).ok();

    assert!(story.branches().contains(&"issue-1".to_owned()));
    assert_eq!(story.repository.git(&["log", "-1", "--format=%s"]), "later");
    story.change(|repository| repository.git(&["switch", "--quiet", "main"]));
}

#[test]
fn an_ignored_file_beside_tracked_ones_is_precious_whatever_its_directory_is_called() {
    let story = Story::new();
    story.change(|repository| {
        repository.write("src/target/mod.rs", "// tracked").write(".gitignore", "*.env\n");
        repository.git(&["add", "--force", "--all"]);
        repository.commit("a module called target");
        repository.push();
    });
    let workspace = story.make(&["--issue", "1"]);
    fs::write(workspace.path().join("src/target/my.env"), "KEY=1").unwrap();

    let refusal = story.cli.run(&["rm", "issue-1", "--json"]).exits(3).error_json();
    assert_eq!(refusal["error"]["reasons"][0]["code"], "precious_ignored");
    remove(&story, "issue-1");
    story.cli.run(&["trash", "purge", "--all"]).ok();
    story.cli.run(&["restore", "issue-1"]).ok();
    assert_eq!(fs::read_to_string(workspace.path().join("src/target/my.env")).unwrap(), "KEY=1");
}

#[test]
fn a_repository_that_replaced_the_pointer_comes_back_beside_it() {
    let story = Story::new();
    let workspace = story.make(&["--issue", "1"]);
    fs::remove_file(workspace.path().join(".git")).unwrap();
    story.sandbox().git(workspace.path(), &["init", "--quiet"]);
    commit(&story, &workspace, "inner.txt");
    let inner = story.sandbox().git(workspace.path(), &["rev-parse", "HEAD"]);

    remove(&story, "issue-1");
    story.cli.run(&["trash", "purge", "--all"]).ok();
    story.cli.run(&["restore", "issue-1"]).ok();

    let found = workspace.path().join(format!(".git.found-{}", workspace.text("id")));
    assert_eq!(story.sandbox().git(&found, &["--git-dir", ".", "rev-parse", "HEAD"]), inner);
    story.cli.run(&["show", "issue-1"]).ok();
}

#[test]
fn a_branch_without_a_common_history_is_all_its_own() {
    let story = Story::new();
    story.change(|repository| {
        repository.git(&["switch", "--quiet", "--orphan", "pages"]);
        repository.write("index.html", "pages").commit("pages");
        repository.git(&["switch", "--quiet", "main"]);
    });
    story.make(&["--branch", "pages"]);

    let verdict = story.cli.run(&["why", "pages", "--json"]).ok().json();
    assert_eq!(verdict["removable"], false);
    assert_eq!(verdict["reasons"][0]["code"], "unpushed");
    remove(&story, "pages");
    assert!(story.branches().contains(&"pages".to_owned()));
}

#[test]
fn a_branch_that_head_happens_to_be_on_is_somebody_elses() {
    let story = Story::new();
    let workspace = story.make(&["--issue", "1"]);
    story.change(|repository| repository.git(&["switch", "--quiet", "-c", "side"]));
    story.sandbox().git(workspace.path(), &["switch", "--quiet", "main"]);

    story.cli.run(&["rm", "issue-1"]).ok();

    assert_eq!(story.branches(), ["issue-1", "main", "side"]);
}

#[test]
fn a_detached_workspace_stays_detached_when_it_is_restored_under_another_name() {
    let story = Story::new();
    let workspace = story.make(&["--issue", "1"]);
    story.sandbox().git(workspace.path(), &["checkout", "--quiet", "--detach"]);
    commit(&story, &workspace, "detached.txt");
    let head = story.sandbox().git(workspace.path(), &["rev-parse", "HEAD"]);
    remove(&story, "issue-1");

    story.cli.run(&["restore", "issue-1", "--branch", "found"]).ok();

    assert_eq!(story.sandbox().git(workspace.path(), &["rev-parse", "HEAD"]), head);
    assert_eq!(story.repository.git(&["rev-parse", "found"]), head);
    assert!(story.sandbox().try_git(workspace.path(), &["symbolic-ref", "HEAD"]).status != 0);
}

#[test]
fn an_archive_counts_no_longer_once_its_workspace_is_back() {
    let story = Story::new();
    let workspace = story.make(&["--issue", "1"]);
    fs::write(workspace.path().join("first.txt"), "first").unwrap();
    remove(&story, "issue-1");
    story.cli.run(&["trash", "purge", "--all"]).ok();
    story.cli.run(&["restore", "issue-1"]).ok();
    assert!(archives(&story).iter().all(|name| name.ends_with(".restored.tar.zst")));

    fs::write(workspace.path().join("second.txt"), "second").unwrap();
    remove(&story, "issue-1");
    story.cli.run(&["trash", "purge", "--all"]).ok();
    story.cli.run(&["restore", "issue-1"]).ok();
    assert_eq!(fs::read_to_string(workspace.path().join("second.txt")).unwrap(), "second");
    assert_eq!(fs::read_to_string(workspace.path().join("first.txt")).unwrap(), "first");
}

#[test]
fn sharing_and_removing_at_once_leave_no_work_without_a_workspace() {
    let story = Story::new();
    for round in 0..6 {
        story.make(&["--issue", "1"]);
        let issue = format!("10{round}");
        let sharer = story.cli.spawn(&["new", "--issue", &issue, "--links", "1"]);
        let remover = story.cli.spawn(&["rm", "issue-1", "--force"]);
        sharer.wait().ok();
        remover.wait();
        let workspace = story.make(&["--issue", &issue]);
        assert!(workspace.path().join("src/lib.rs").is_file());
    }
}

#[test]
fn another_homes_workspaces_are_left_alone() {
    let story = Story::new();
    let workspace = story.make(&["--issue", "1"]);
    commit(&story, &workspace, "merged.txt");
    story.sandbox().git(workspace.path(), &["push", "--quiet", "origin", "HEAD:main"]);
    story.cli.run(&["pin", "issue-1"]).ok();

    let other = story.cli.with_variable("SPINNEY_HOME", story.sandbox().path().join("other-home"));
    let report = other.run(&["cleanup", "--json"]).ok().json();

    assert_eq!(report["removed"].as_array().unwrap().len(), 0);
    assert!(report["findings"].to_string().contains("another Spinney home"), "{report}");
    assert!(workspace.path().join("merged.txt").is_file());
}

#[test]
fn a_clean_merged_workspace_leaves_nothing_behind_when_it_is_purged() {
    let story = Story::new();
    let workspace = story.make(&["--issue", "1"]);
    commit(&story, &workspace, "merged.txt");
    story.sandbox().git(workspace.path(), &["push", "--quiet", "origin", "HEAD:main"]);
    story.cli.run(&["cleanup", "merged"]).ok();
    // Asked again after the removal, the remote has it still.
    story.cli.run(&["repo", "sync"]).ok();
    story.cli.run(&["trash", "purge", "--all"]).ok();

    assert_eq!(archives(&story), Vec::<String>::new());
    assert_eq!(story.repository.git(&["for-each-ref", "refs/spinney"]), "");
    let state = story.repository.path().join(".git/spinney");
    let left: Vec<_> =
        crate::support::common::files_below(&state, 0).into_iter().filter(|path| path.is_dir()).collect();
    assert_eq!(left, [state.join("homes")], "the home stays known");
}

#[test]
fn a_repository_that_is_gone_can_be_forgotten_with_its_workspaces() {
    let story = Story::new();
    let workspace = story.make(&["--issue", "1"]);
    let name = workspace.text("repository").to_owned();
    let (place, away) = (story.repository.path().to_owned(), story.sandbox().path().join("away"));
    fs::rename(&place, &away).unwrap();
    let cli = story.cli.in_directory(story.sandbox().path());
    cli.run(&["repo", "rm", &name]).exits(3);
    cli.run(&["repo", "rm", &name, "--force"]).ok();
    assert!(workspace.path().join("src/lib.rs").is_file());
    fs::rename(&away, &place).unwrap();
}

#[test]
fn a_set_up_that_failed_is_not_called_whole_by_a_sweep() {
    let story = Story::new();
    let setup = r#"["git commit --quiet --allow-empty -m made-by-setup", "false"]"#;
    let cli = story.cli.with_variable("SPINNEY_WORKSPACE__SETUP", setup);
    cli.run(&["new", "--issue", "1"]).exits(1);
    assert_eq!(story.show("issue-1").text("status"), "broken");

    story.cli.run(&["cleanup", "orphans"]).ok();

    assert_eq!(story.show("issue-1").text("status"), "broken");
    story.refused(1, &["--issue", "1"]);
    remove(&story, "issue-1");
}
