//! Where a workspace starts: the base by flag, by configuration, by the remote's HEAD; and what fetching does for it.

use std::fs;
use std::path::Path;

use crate::support::common::{Story, make, refused};
use serde_json::json;
use spinney_testkit::{GitWrapper, Remote, Sandbox};

fn base(workspace: &crate::support::common::Workspace) -> (&str, &str) {
    (workspace.text("base_branch"), workspace.text("base_commit"))
}

/// The calls that cross the network.
fn network_calls(git: &GitWrapper) -> Vec<String> {
    let crosses =
        |call: &String| [" ls-remote ", " fetch ", " pull ", " clone "].iter().any(|word| call.contains(word));
    git.calls().into_iter().filter(crosses).collect()
}

#[test]
fn the_flag_wins_over_the_repositorys_file_and_that_over_the_persons_file() {
    let story = Story::new();
    let of = |branch: &str| story.remote().advance_branch(branch, &format!("{branch}.txt"));
    let (flag, theirs, mine) = (of("flag"), of("theirs"), of("mine"));
    story.sandbox().write_config("[workspace]\nbase = \"mine\"\n");
    assert_eq!(base(&story.make(&["--issue", "1"])), ("mine", mine.as_str()));
    story.change(|repository| repository.write("spinney.toml", "[workspace]\nbase = \"theirs\"\n").fingerprint());
    assert_eq!(base(&story.make(&["--issue", "2"])), ("theirs", theirs.as_str()));
    assert_eq!(base(&story.make(&["--issue", "3", "--base", "flag"])), ("flag", flag.as_str()));
    let by_environment = story.cli.with_variable("SPINNEY_WORKSPACE__BASE", "flag");
    assert_eq!(base(&make(&by_environment, &["--issue", "4"])), ("flag", flag.as_str()));
}

#[test]
fn the_remotes_head_is_asked_and_a_stale_copy_does_not_win() {
    let story = Story::new();
    let tip = story.remote().advance_branch("trunk", "trunk.txt");
    story.remote().git(&["symbolic-ref", "HEAD", "refs/heads/trunk"]);
    assert_eq!(story.repository.git(&["symbolic-ref", "--short", "refs/remotes/origin/HEAD"]), "origin/main");
    let workspace = story.make(&["--issue", "1"]);
    assert_eq!(base(&workspace), ("trunk", tip.as_str()));
    assert_eq!(story.sandbox().git(workspace.path(), &["rev-parse", "HEAD"]), tip);
}

#[test]
fn the_base_is_where_the_remote_stands_not_where_this_clone_does() {
    let story = Story::new();
    let behind = story.repository.head();
    let tip = story.remote().advance("new.txt");
    assert_eq!(base(&story.make(&["--issue", "1"])), ("main", tip.as_str()));
    assert_eq!(story.repository.git(&["rev-parse", "main"]), behind);
}

#[test]
fn the_base_commit_is_recorded_once() {
    let story = Story::new();
    let recorded = story.make(&["--issue", "1"]).text("base_commit").to_owned();
    story.remote().advance("new.txt");
    story.cli.run(&["repo", "sync"]).ok();
    assert_eq!(story.make(&["--issue", "1"]).text("base_commit"), recorded);
}

#[test]
fn a_tag_or_a_commit_can_be_the_base() {
    let story = Story::new();
    let first = story.repository.head();
    story.repository.git(&["tag", "--annotate", "--message", "one", "v1"]);
    story.change(|repository| repository.write("two.txt", "two").commit("second"));
    story.repository.push();
    assert_eq!(story.make(&["--issue", "1", "--base", "v1"]).text("base_commit"), first);
    assert_eq!(story.make(&["--issue", "2", "--base", &first]).text("base_commit"), first);
}

#[test]
fn a_missing_base_is_an_error_that_names_what_was_looked_for() {
    let story = Story::new();
    story.refused(4, &["--issue", "1", "--base", "nowhere"]).says(&[
        "`nowhere`",
        "`origin/nowhere`",
        "`refs/heads/nowhere`",
    ]);
    story.sandbox().write_config("[workspace]\nbase = \"develop\"\n");
    story.refused(4, &["--issue", "1"]).says(&["`develop`", "`origin/develop`"]);
    story.sandbox().write_config("");
    // A HEAD that names a branch which does not exist is no reason to guess one.
    story.remote().git(&["symbolic-ref", "HEAD", "refs/heads/unborn"]);
    let anew = story.cli.with_variable("SPINNEY_WORKSPACE__FETCH_MAX_AGE", "0");
    refused(&anew, 4, &["new", "--issue", "1"]).says(&["origin/HEAD"]);
    story.assert_nothing_made();
}

#[test]
fn what_is_named_for_work_that_is_there_is_looked_for_and_told() {
    let story = Story::new();
    story.remote().advance_branch("develop", "develop.txt");
    let workspace = story.make(&["--issue", "1"]);
    let recorded = base(&workspace);
    story.refused(4, &["--issue", "1", "--base", "nowhere"]).says(&["`nowhere`", "`origin/nowhere`"]);
    let last_touched = story.show("issue-1").text("last_activity_at").to_owned();
    assert_eq!(last_touched, workspace.text("last_activity_at"), "a request that is refused changes nothing");
    let told = format!("issue-1 keeps its base `main` {}: `develop` counts for new work only", &recorded.1[..7]);
    let ran = story.cli.run(&["new", "--issue", "1", "--base", "develop"]).ok();
    assert!(ran.stderr.contains(&told), "{}", ran.told());
    let kept = story.make(&["--issue", "1", "--base", "develop"]);
    assert_eq!((base(&kept), &kept.0["kept"]), (recorded, &json!([told])));
    for arguments in
        [&["--issue", "1"][..], &["--issue", "1", "--base", "main"], &["--issue", "1", "--base", "origin/main"]]
    {
        assert_eq!(story.make(arguments).0["kept"], json!([]), "{arguments:?}");
    }
    // One that came back from its branch has its base, too.
    fs::rename(workspace.path(), story.sandbox().path().join("aside")).unwrap();
    let again = story.make(&["--issue", "1", "--base", "develop"]);
    assert_eq!((base(&again), &again.0["kept"]), (recorded, &json!([told])));
}

#[test]
fn a_branch_or_commit_that_is_named_for_work_that_is_there_is_looked_for_and_told() {
    let story = Story::new();
    let first = story.remote().advance_branch("feature/auth", "auth.txt");
    story.remote().pull_request(7, "feature/auth");
    let review = story.make(&["--pr", "7"]);
    assert_eq!(review.text("branch"), "pr-7-review");
    story.refused(4, &["--pr", "7", "--head", "feature/none"]).says(&["`feature/none`", "`origin/feature/none`"]);
    let nowhere = "1234567890".repeat(4);
    story.refused(4, &["--pr", "7", "--sha", &nowhere]).says(&[&nowhere, "`pull/7/head`"]);
    let kept = |arguments: &[&str]| story.make(arguments).0["kept"].clone();
    assert_eq!(kept(&["--pr", "7", "--sha", &first]), json!([]), "it is there");
    let second = story.remote().advance_branch("feature/auth", "more.txt");
    story.remote().pull_request(7, "feature/auth");
    let told = format!("pr-7 stays where it is: `pr-7-review` does not have commit {}", &second[..7]);
    assert_eq!(kept(&["--pr", "7", "--sha", &second]), json!([told]), "the remote is asked for it");
    let told = "pr-7 stays on `pr-7-review`: the branch `feature/auth` counts for new work only";
    assert_eq!(kept(&["--pr", "7", "--head", "feature/auth"]), json!([told]));
}

#[test]
fn without_a_remote_the_base_is_the_current_branch() {
    let story = Story::of(Sandbox::new().repository("app"));
    let ran = story.cli.run(&["new", "--issue", "1"]).ok();
    assert!(ran.stderr.contains("(the current branch: there is no remote)"), "{}", ran.told());
    assert_eq!(base(&story.show("issue-1")), ("main", story.repository.head().as_str()));
    let head = story.change(|repository| {
        repository.git(&["switch", "--quiet", "-c", "develop"]);
        repository.write("dev.txt", "dev").commit("dev")
    });
    assert_eq!(base(&story.make(&["--issue", "2"])), ("develop", head.as_str()));
    let named = story.cli.run(&["new", "--issue", "3", "--base", "main"]).ok();
    assert!(!named.stderr.contains("current branch"), "{}", named.told());
    // On no branch there is nothing to take for the base.
    story.change(|repository| repository.git(&["switch", "--quiet", "--detach"]));
    story.refused(2, &["--issue", "4"]).says(&["local/app has no remote"]).hints(&["--base", "workspace.base"]);
}

#[test]
fn an_empty_repository_is_told() {
    let story = Story::of(Sandbox::new().empty_repository("app"));
    story.refused(2, &["--issue", "1"]).says(&["local/app has no commit yet"]);
}

#[test]
fn of_several_remotes_origin_counts_unless_another_is_named() {
    let story = Story::new();
    let upstream = Remote::make(story.sandbox(), "upstream/app.git");
    story.change(|repository| {
        repository.git(&["remote", "add", "upstream", upstream.url()]);
        repository.git(&["push", "--quiet", "upstream", "main"]);
    });
    let there = upstream.advance("upstream.txt");
    let here = story.remote().advance("origin.txt");
    assert_eq!(base(&story.make(&["--issue", "1"])), ("main", here.as_str()));
    let named = story.cli.with_variable("SPINNEY_WORKSPACE__REMOTE", "upstream");
    assert_eq!(base(&make(&named, &["--issue", "2"])), ("main", there.as_str()));
    let unknown = story.cli.with_variable("SPINNEY_WORKSPACE__REMOTE", "elsewhere");
    refused(&unknown, 2, &["new", "--issue", "3"]).says(&["`elsewhere`", "`origin`", "`upstream`"]);
}

#[test]
fn several_remotes_without_an_origin_are_ambiguous_and_a_single_one_is_not() {
    let story = Story::new();
    story.change(|repository| repository.git(&["remote", "rename", "origin", "forge"]));
    assert_eq!(story.make(&["--issue", "1"]).text("base_branch"), "main");
    story.change(|repository| repository.git(&["remote", "add", "second", story.remote().url()]));
    story.refused(2, &["--issue", "2"]).says(&["`forge`", "`second`"]).hints(&["workspace.remote"]);
}

#[test]
fn offline_is_a_warning_that_tells_the_age_of_what_is_known() {
    let story = Story::new();
    let known = story.remote().advance("known.txt");
    story.make(&["--issue", "1"]);
    fs::rename(story.remote().path(), story.sandbox().path().join("away")).unwrap();
    let cli = story.cli.with_variable("SPINNEY_WORKSPACE__FETCH_MAX_AGE", "0");
    let offline = make(&cli, &["--issue", "2"]);
    assert_eq!(base(&offline), ("main", known.as_str()));
    let said = offline.said();
    assert!(said.contains("could not fetch from `origin`"), "{said}");
    assert!(said.contains("fetched just now") || said.contains(" ago"), "{said}");
    // Another base than before changes nothing about how old what is here is.
    let other = make(&cli, &["--issue", "3", "--base", "main"]);
    assert!(other.said().contains("fetched just now") || other.said().contains(" ago"), "{}", other.said());
}

#[test]
fn offline_from_the_start_the_age_is_that_of_the_persons_own_fetch() {
    let story = Story::new();
    fs::rename(story.remote().path(), story.sandbox().path().join("away")).unwrap();
    let offline = story.make(&["--issue", "1"]);
    assert_eq!(base(&offline), ("main", story.repository.head().as_str()));
    assert!(offline.said().contains("could not fetch from `origin`"), "{}", offline.said());
    assert!(offline.said().contains("fetched just now") || offline.said().contains(" ago"), "{}", offline.said());
}

#[test]
fn offline_is_an_error_where_a_fetch_is_required() {
    let story = Story::new();
    let cli = story.cli.with_variable("SPINNEY_WORKSPACE__FETCH", "require");
    let tip = story.remote().advance("one.txt");
    assert_eq!(make(&cli, &["--issue", "1"]).text("base_commit"), tip);
    // What is required is never taken from memory.
    let tip = story.remote().advance("two.txt");
    assert_eq!(make(&cli, &["--issue", "2"]).text("base_commit"), tip);
    fs::rename(story.remote().path(), story.sandbox().path().join("away")).unwrap();
    refused(&cli, 1, &["new", "--issue", "3"]).says(&["could not fetch from `origin`"]);
    assert_eq!(story.names(), ["issue-1", "issue-2"]);
    assert_eq!(story.branches(), ["issue-1", "issue-2", "main"]);
}

#[test]
fn never_fetching_touches_no_network() {
    let story = Story::new();
    let here = story.repository.head();
    story.remote().advance("unseen.txt");
    let git = GitWrapper::recording();
    let cli = story.cli.with_path_first(git.directory()).with_variable("SPINNEY_WORKSPACE__FETCH", "never");
    assert_eq!(base(&make(&cli, &["--issue", "1"])), ("main", here.as_str()));
    assert!(!git.calls().is_empty());
    assert_eq!(network_calls(&git), Vec::<String>::new());
}

#[test]
fn within_fetch_max_age_the_network_is_asked_once_for_all_work() {
    let story = Story::new();
    let git = GitWrapper::recording();
    let cli = story.cli.with_path_first(git.directory());
    let first = make(&cli, &["--issue", "1"]);
    let asked = network_calls(&git).len();
    assert!(asked > 0);
    story.remote().advance("later.txt");
    for work in [["--issue", "2"], ["--task", "other"], ["--thread", "C1:2"]] {
        assert_eq!(make(&cli, &work).text("base_commit"), first.text("base_commit"));
    }
    assert_eq!(network_calls(&git).len(), asked, "{:?}", network_calls(&git));
    let young = cli.with_variable("SPINNEY_WORKSPACE__FETCH_MAX_AGE", "0");
    assert_eq!(make(&young, &["--issue", "3"]).text("base_commit"), story.remote().head());
}

#[test]
fn a_remote_branch_that_moved_is_continued_where_the_last_answer_saw_it() {
    let story = Story::new();
    story.remote().advance_branch("feature/there", "one.txt");
    story.cli.run(&["repo", "sync"]).ok();
    let moved = story.remote().advance_branch("feature/there", "two.txt");
    let young = story.cli.with_variable("SPINNEY_WORKSPACE__FETCH_MAX_AGE", "0");
    make(&young, &["--issue", "1"]);
    // The remote was asked a moment ago and told of the move: an older copy is no answer.
    let workspace = story.make(&["--branch", "feature/there"]);
    assert_eq!(story.sandbox().git(workspace.path(), &["rev-parse", "HEAD"]), moved);
}

#[test]
fn what_somebody_names_is_asked_for_again_when_the_last_answer_lacked_it() {
    let story = Story::new();
    story.make(&["--issue", "1"]);
    let there = story.remote().advance_branch("feature/there", "there.txt");
    let head = story.remote().advance_branch("feature/head", "head.txt");
    let base_tip = story.remote().advance_branch("develop", "develop.txt");
    let at =
        |workspace: &crate::support::common::Workspace| story.sandbox().git(workspace.path(), &["rev-parse", "HEAD"]);
    assert_eq!(at(&story.make(&["--branch", "feature/there"])), there);
    assert_eq!(at(&story.make(&["--pr", "2", "--head", "feature/head"])), head);
    assert_eq!(at(&story.make(&["--issue", "3", "--base", "develop"])), base_tip);
    story.refused(4, &["--pr", "4", "--fork"]);
    let fork = story.remote().fork_pull_request(4, "fork.txt");
    assert_eq!(at(&story.make(&["--pr", "4", "--fork"])), fork);
    // A commit that is not here yet, of a pull request that was fetched a moment ago.
    story.remote().fork_pull_request(5, "fork.txt");
    story.make(&["--review", "5"]);
    story.cli.run(&["rm", "pr-5-review", "--force"]).ok();
    story.repository.git(&["update-ref", "-d", "refs/heads/pr-5-review"]);
    let newer = story.remote().fork_pull_request(5, "fork.txt");
    assert_eq!(at(&story.make(&["--review", "5", "--sha", &newer])), newer);
}

#[test]
fn a_tracking_ref_that_the_remote_dropped_is_not_continued() {
    let story = Story::new();
    story.remote().advance_branch("issue-1", "old.txt");
    story.cli.run(&["repo", "sync"]).ok();
    story.remote().git(&["update-ref", "-d", "refs/heads/issue-1"]);
    let cli = story.cli.with_variable("SPINNEY_WORKSPACE__FETCH_MAX_AGE", "0");
    let workspace = make(&cli, &["--issue", "1"]);
    assert_eq!(story.sandbox().git(workspace.path(), &["rev-parse", "HEAD"]), story.repository.head());
}

#[test]
fn a_bare_repository_has_workspaces_too() {
    let story = Story::new();
    let bare = story.sandbox().path().join("bare clone.git");
    story
        .sandbox()
        .git(story.sandbox().path(), &["clone", "--quiet", "--bare", story.remote().url(), bare.to_str().unwrap()]);
    let config = fs::read(bare.join("config")).unwrap();
    let cli = story.cli.in_directory(&bare);
    let workspace = make(&cli, &["--issue", "1"]);
    assert_eq!(base(&workspace), ("main", story.repository.head().as_str()));
    assert!(workspace.path().join("README.md").is_file());
    assert_eq!(make(&cli.in_directory(workspace.path()), &["--issue", "1"]).text("id"), workspace.text("id"));
    assert_eq!(fs::read(bare.join("config")).unwrap(), config);
}

#[test]
fn a_separate_git_dir_works() {
    let sandbox = Sandbox::new();
    let source = sandbox.repository("app").with_remote();
    let (checkout, git_dir) = (sandbox.path().join("repositories/separate"), sandbox.path().join("elsewhere.git"));
    let arguments = ["clone", "--quiet", "--separate-git-dir", git_dir.to_str().unwrap(), source.remote().url()];
    sandbox.git(sandbox.path(), &[&arguments[..], &[checkout.to_str().unwrap()]].concat());
    let story = Story::of(sandbox.empty_repository("separate"));
    let workspace = story.make(&["--issue", "1"]);
    assert_eq!(base(&workspace), ("main", source.head().as_str()));
    // Asked from within a worktree it is the same repository.
    let inside = story.cli.in_directory(workspace.path());
    assert_eq!(make(&inside, &["--issue", "1"]).text("id"), workspace.text("id"));
    let second = make(&inside, &["--issue", "2"]);
    assert_eq!(second.text("repository"), workspace.text("repository"));
    assert_eq!(story.names(), ["issue-1", "issue-2"]);
}

#[test]
fn paths_with_spaces_and_letters_beyond_ascii_work() {
    let sandbox = Sandbox::new();
    let repository = sandbox.repository("größe und maß").with_remote();
    let home = sandbox.path().join("Spinney's héim");
    let story = Story::of(repository);
    let cli = story.cli.with_variable("SPINNEY_HOME", &home);
    let workspace = make(&cli, &["--task", "Größe ändern"]);
    assert!(workspace.path().starts_with(&home), "{}", workspace.path().display());
    assert_eq!(workspace.path().join("docs").read_dir().unwrap().count(), 1);
    assert_eq!(story.sandbox().git(workspace.path(), &["status", "--porcelain"]), "");
    assert_eq!(make(&cli.in_directory(workspace.path()), &["--task", "Größe ändern"]).text("method"), "reused");
    cli.run(&["rm", workspace.text("name")]).ok();
    cli.run(&["restore", workspace.text("name")]).ok();
    assert!(Path::new(workspace.text("path")).is_dir());
}
