//! What each kind of request gives: its name, its branch, where that starts, and what it refuses.

use std::fs;

use crate::support::common::{Story, make};
use spinney_testkit::Ran;

#[test]
fn every_kind_of_work_has_its_name_and_branch() {
    let story = Story::new();
    story.remote().fork_pull_request(99, "fork.txt");
    story.remote().fork_pull_request(100, "fork.txt");
    let expected = [
        (vec!["--issue", "42"], "issue-42", "issue-42", "issue", "42"),
        (vec!["--pr", "99", "--fork"], "pr-99", "pr-99-review", "pr", "99"),
        (vec!["--review", "100"], "pr-100-review", "pr-100-review", "review", "100"),
        (vec!["--task", "Add dark mode"], "task-add-dark-mode", "task-add-dark-mode", "task", "add-dark-mode"),
        (vec!["--branch", "feature/Search"], "task-feature-search", "feature/Search", "task", "feature-search"),
    ];
    for (arguments, name, branch, kind, key) in expected {
        let workspace = story.make(&arguments);
        assert_eq!(workspace.identity(), (name, branch, "created"), "{arguments:?}");
        assert_eq!((workspace.text("kind"), workspace.text("key")), (kind, key));
        let checked_out = story.sandbox().git(workspace.path(), &["symbolic-ref", "--short", "HEAD"]);
        assert_eq!(checked_out, branch);
        assert_eq!(story.sandbox().git(workspace.path(), &["status", "--porcelain", "--ignored"]), "");
        assert!(workspace.path().ends_with(workspace.text("id")));
        assert_eq!(fs::read_link(workspace.text("link")).unwrap(), workspace.path());
        assert!(workspace.text("link").ends_with(name));
    }
    assert_eq!(story.names().len(), 5);
}

#[test]
fn the_path_alone_goes_to_stdout() {
    let story = Story::new();
    let ran = story.cli.run(&["new", "--issue", "42"]).ok();
    let workspace = story.show("issue-42");
    assert_eq!(ran.stdout, format!("{}\n", workspace.text("link")), "by its name, for people");
    // An agent gets the directory itself.
    let agent = story.cli.with_variable("SPINNEY_JOB_ID", "x1").run(&["new", "--issue", "42"]).ok();
    assert_eq!(agent.stdout, format!("{}\n", workspace.text("path")));
    assert!(ran.stderr.contains("issue-42: new on `issue-42` from `origin/main`"), "{}", ran.stderr);
}

#[test]
fn the_same_thread_has_the_same_hash_and_long_ids_stay_apart() {
    let story = Story::new();
    let first = story.make(&["--thread", "C123:17.5"]);
    let (name, branch, _) = first.identity();
    let hash = name.strip_prefix("thread-").unwrap();
    assert!(hash.len() == 8 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()), "{name}");
    assert_eq!(branch, name);
    assert_eq!(story.make(&["--thread", "C123:17.5"]).identity(), (name, name, "reused"));

    // The hash is the thread's own, not this home's: another machine gives the same.
    let other = Story::new();
    assert_eq!(other.make(&["--thread", "C123:17.5"]).text("name"), name);

    let prefix = "x".repeat(500);
    let one = story.make(&["--thread", &format!("{prefix}1")]);
    let two = story.make(&["--thread", &format!("{prefix}2")]);
    assert_ne!(one.text("name"), two.text("name"));
    assert_ne!(one.path(), two.path());
}

#[test]
fn long_tasks_with_a_shared_beginning_stay_apart() {
    let story = Story::new();
    let beginning = "word ".repeat(60);
    let one = story.make(&["--task", &format!("{beginning} one")]);
    let two = story.make(&["--task", &format!("{beginning} two")]);
    assert_ne!(one.text("branch"), two.text("branch"));
    assert!(one.text("branch").len() <= 100, "{}", one.text("branch"));
    assert_eq!(
        story.make(&["--task", &format!("{beginning} one")]).identity(),
        (one.text("name"), one.text("branch"), "reused")
    );
}

#[test]
fn a_pull_request_of_this_repository_is_worked_on_on_its_own_branch() {
    let story = Story::new();
    let tip = story.remote().advance_branch("feature/auth", "auth.txt");
    story.remote().pull_request(7, "feature/auth");
    let workspace = story.make(&["--pr", "7", "--head", "feature/auth"]);
    assert_eq!(workspace.identity(), ("pr-7", "feature/auth", "created"));
    assert_eq!(story.sandbox().git(workspace.path(), &["rev-parse", "HEAD"]), tip);
    assert_eq!(workspace.text("base_commit"), story.repository.head(), "where it left main");
    // A push of that branch updates the pull request.
    fs::write(workspace.path().join("more.txt"), "more").unwrap();
    story.sandbox().git(workspace.path(), &["add", "."]);
    story.sandbox().git(workspace.path(), &["commit", "--quiet", "--message", "more"]);
    story.sandbox().git(workspace.path(), &["push", "--quiet", "origin", "feature/auth"]);
    assert_eq!(story.remote().tip("feature/auth"), story.sandbox().git(workspace.path(), &["rev-parse", "HEAD"]));
}

#[test]
fn a_pull_request_from_a_fork_starts_at_its_head_or_at_the_given_commit() {
    let story = Story::new();
    story.remote().fork_pull_request(8, "fork.txt");
    let second = story.remote().fork_pull_request(8, "fork.txt");
    let at_head = story.make(&["--pr", "8", "--head", "feature/auth", "--fork"]);
    assert_eq!(at_head.identity(), ("pr-8", "pr-8-review", "created"));
    assert_eq!(story.sandbox().git(at_head.path(), &["rev-parse", "HEAD"]), second);

    let ninth = story.remote().fork_pull_request(9, "fork.txt");
    story.remote().fork_pull_request(9, "fork.txt");
    let at_commit = story.make(&["--pr", "9", "--fork", "--sha", &ninth]);
    assert_eq!(at_commit.identity(), ("pr-9", "pr-9-review", "created"));
    assert_eq!(story.sandbox().git(at_commit.path(), &["rev-parse", "HEAD"]), ninth);

    let tenth = story.remote().fork_pull_request(10, "fork.txt");
    story.remote().fork_pull_request(10, "fork.txt");
    let review = story.make(&["--review", "10", "--sha", &tenth]);
    assert_eq!(review.identity(), ("pr-10-review", "pr-10-review", "created"));
    assert_eq!(story.sandbox().git(review.path(), &["rev-parse", "HEAD"]), tenth);
}

#[test]
fn a_pull_request_whose_head_is_unknown_is_looked_at_on_the_review_branch() {
    let story = Story::new();
    story.remote().advance_branch("feature/auth", "auth.txt");
    let tip = story.remote().pull_request(7, "feature/auth");
    let workspace = story.make(&["--pr", "7"]);
    assert_eq!(workspace.identity(), ("pr-7", "pr-7-review", "created"));
    assert_eq!(story.sandbox().git(workspace.path(), &["rev-parse", "HEAD"]), tip);
}

#[test]
fn a_branch_called_as_the_remotes_is_the_remotes() {
    let story = Story::new();
    let tip = story.remote().advance_branch("feature/auth", "auth.txt");
    let workspace = story.make(&["--branch", "origin/feature/auth"]);
    assert_eq!(workspace.identity(), ("task-feature-auth", "feature/auth", "created"));
    assert_eq!(story.sandbox().git(workspace.path(), &["rev-parse", "HEAD"]), tip);
    for name in ["origin/feature/auth", "feature/auth"] {
        assert_eq!(story.make(&["--branch", name]).text("id"), workspace.text("id"), "{name}");
    }
    story
        .refused(4, &["--branch", "origin/feature/none"])
        .says(&["`feature/none` of `origin`", "`origin/feature/none`"]);
    story.remote().pull_request(7, "feature/auth");
    let other = story.remote().advance_branch("feature/other", "other.txt");
    let head = story.make(&["--pr", "8", "--head", "origin/feature/other", "--base", "origin/feature/auth"]);
    assert_eq!((head.text("branch"), head.text("base_branch")), ("feature/other", "feature/auth"));
    assert_eq!(story.sandbox().git(head.path(), &["rev-parse", "HEAD"]), other);
    // A branch here that has the longer name is meant by it; `upstream` is no remote.
    story.repository.git(&["branch", "origin/mine"]);
    assert_eq!(story.make(&["--branch", "origin/mine"]).text("branch"), "origin/mine");
    assert_eq!(story.make(&["--branch", "upstream/mine"]).text("branch"), "upstream/mine");
    assert_eq!(story.branches(), ["feature/auth", "feature/other", "main", "origin/mine", "upstream/mine"]);
}

#[test]
fn a_missing_head_is_an_error_that_names_what_was_looked_for() {
    let story = Story::new();
    story.refused(4, &["--pr", "7", "--head", "feature/none"]).says(&[
        "pull request 7",
        "origin/feature/none",
        "refs/heads/feature/none",
    ]);
    story.refused(4, &["--pr", "7"]).says(&["pull request 7", "pull/7/head"]);
    story.refused(4, &["--review", "7"]).says(&["pull/7/head"]);
    let nowhere = "1234567890".repeat(4);
    story.remote().fork_pull_request(7, "fork.txt");
    story.refused(4, &["--pr", "7", "--fork", "--sha", &nowhere]).says(&[&nowhere, "pull/7/head"]);
    story.assert_nothing_made();
}

#[test]
fn a_review_says_where_it_starts() {
    let story = Story::new();
    let first = story.remote().fork_pull_request(99, "fork.txt");
    let second = story.remote().fork_pull_request(99, "fork.txt");
    let ran = story.cli.run(&["new", "--review", "99"]).ok();
    let says = |ran: &Ran, text: String| assert!(ran.stderr.contains(&text), "`{text}`: {}", ran.told());
    says(&ran, format!("new on `pr-99-review` from `pull/99/head` {} (fetched", &second[..7]));
    story.cli.run(&["rm", "pr-99-review", "--force"]).ok();
    story.repository.git(&["branch", "--quiet", "-D", "pr-99-review"]);
    let ran = story.cli.run(&["new", "--review", "99", "--sha", &first]).ok();
    says(&ran, format!("new on `pr-99-review` from `pull/99/head` {} (fetched", &first[..7]));
    let ran = story.cli.run(&["new", "--issue", "1"]).ok();
    says(&ran, format!("new on `issue-1` from `origin/main` {} (fetched", &story.repository.head()[..7]));
}

#[test]
fn a_branch_that_a_person_names_is_taken_exactly() {
    let story = Story::new();
    for branch in ["Feature/UPPER_case.1", "größe/maß", "a+b=c"] {
        let workspace = story.make(&["--branch", branch]);
        assert_eq!(workspace.text("branch"), branch);
        assert_eq!(story.make(&["--branch", branch]).text("id"), workspace.text("id"));
    }
}

#[test]
fn two_branches_with_one_slug_are_two_workspaces() {
    let story = Story::new();
    let slash = story.make(&["--branch", "a/b"]);
    let dash = story.make(&["--branch", "a-b"]);
    assert_eq!((slash.text("branch"), dash.text("branch")), ("a/b", "a-b"));
    assert_ne!(slash.text("name"), dash.text("name"));
    assert_eq!(story.make(&["--branch", "a-b"]).text("id"), dash.text("id"));
    assert_eq!(story.make(&["--branch", "a/b"]).text("id"), slash.text("id"));
}

#[test]
fn two_branches_with_one_slug_asked_for_at_once_are_two_workspaces() {
    let story = Story::new();
    let wanted = ["a/b", "a-b", "a+b", "A-b"];
    let running: Vec<_> = wanted.iter().map(|branch| story.cli.spawn(&["new", "--json", "--branch", branch])).collect();
    let got: Vec<_> =
        running.into_iter().map(|one| one.wait().ok().json()["branch"].as_str().unwrap().to_owned()).collect();
    assert_eq!(got, wanted);
}

#[test]
fn a_worktree_whose_branch_has_the_same_slug_is_not_taken_for_a_named_branch() {
    let story = Story::new();
    let foreign = story.foreign_worktree("foreign", "a/b");
    let workspace = story.make(&["--branch", "a-b"]);
    assert_eq!((workspace.text("branch"), workspace.text("method")), ("a-b", "created"));
    assert_ne!(workspace.path(), foreign);
}

#[test]
fn no_upstream_is_set() {
    let story = Story::new();
    story.remote().advance_branch("there", "there.txt");
    for arguments in [["--issue", "1"], ["--branch", "there"], ["--branch", "new"]] {
        let workspace = story.make(&arguments);
        let upstream = ["rev-parse", "--abbrev-ref", "@{upstream}"];
        assert_ne!(story.sandbox().try_git(workspace.path(), &upstream).status, 0, "{arguments:?}");
    }
}

#[test]
fn a_branch_that_only_the_remote_has_is_continued() {
    let story = Story::new();
    let tip = story.remote().advance_branch("issue-5", "five.txt");
    let workspace = story.make(&["--issue", "5"]);
    assert_eq!(story.sandbox().git(workspace.path(), &["rev-parse", "HEAD"]), tip);
    assert_eq!(workspace.text("base_commit"), story.repository.head());

    let other = story.remote().advance_branch("feature/there", "there.txt");
    let ran = story.cli.run(&["new", "--branch", "feature/there"]).ok();
    assert!(ran.stderr.contains("continues `origin/feature/there`"), "{}", ran.stderr);
    assert_eq!(story.repository.git(&["rev-parse", "feature/there"]), other);
}

#[test]
fn a_local_branch_is_continued_at_its_tip_and_that_is_said() {
    let story = Story::new();
    let tip = story.change(|repository| {
        repository.git(&["switch", "--quiet", "-c", "issue-6"]);
        let tip = repository.write("six.txt", "six").commit("six");
        repository.git(&["switch", "--quiet", "main"]);
        tip
    });
    let ran = story.cli.run(&["new", "--issue", "6"]).ok();
    assert!(ran.stderr.contains("continues the branch `issue-6`"), "{}", ran.stderr);
    let workspace = story.show("issue-6");
    assert_eq!(story.sandbox().git(workspace.path(), &["rev-parse", "HEAD"]), tip);
    assert_eq!(workspace.text("base_commit"), story.repository.head());
    assert_eq!(fs::read_to_string(workspace.path().join("six.txt")).unwrap(), "six");
}

#[test]
fn a_branch_in_the_main_checkout_is_refused() {
    let story = Story::new();
    story.refused(5, &["--branch", "main"]).says(&[
        "`main`",
        "main checkout",
        story.repository.path().to_str().unwrap(),
    ]);
    story.change(|repository| repository.git(&["switch", "--quiet", "-c", "issue-7"]));
    story.refused(5, &["--issue", "7"]).says(&["`issue-7`", "main checkout"]);
    assert!(story.names().is_empty() && story.worktrees().is_empty());
}

#[test]
fn a_conflict_of_directory_and_file_is_found_before_anything_happens() {
    let story = Story::new();
    story.repository.git(&["branch", "agent"]);
    story.repository.git(&["branch", "team/one/two"]);
    story.refused(2, &["--branch", "agent/coder"]).says(&["`agent/coder`", "`agent`"]);
    story.refused(2, &["--branch", "team/one"]).says(&["`team/one`", "`team/one/two`"]);
    assert!(story.names().is_empty() && story.worktrees().is_empty());
    assert_eq!(story.branches(), ["agent", "main", "team/one/two"]);
    assert!(!story.sandbox().spinney_home().join("trees").exists());
}

#[test]
fn a_workspace_is_asked_for_from_anywhere_in_the_repository() {
    let story = Story::new();
    let subdirectory = make(&story.cli.in_directory(story.repository.path().join("docs")), &["--issue", "1"]);
    let inside = make(&story.cli.in_directory(subdirectory.path().join("src")), &["--issue", "2"]);
    let by_path = make(
        &story.cli.in_directory(story.sandbox().path()),
        &["--issue", "3", "--repo", story.repository.path().to_str().unwrap()],
    );
    let by_name = make(&story.cli.in_directory(story.sandbox().path()), &["--issue", "4", "--repo", "local/app"]);
    for workspace in [&subdirectory, &inside, &by_path, &by_name] {
        assert_eq!(workspace.text("repository"), "local/app");
        assert_eq!(workspace.path().parent(), subdirectory.path().parent());
    }
    assert_eq!(story.names().len(), 4);
}
