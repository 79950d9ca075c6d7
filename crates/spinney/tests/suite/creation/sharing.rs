//! The order in which a request finds its workspace: existing, reused, shared, adopted, created.

use crate::support::common::{Story, make};

#[test]
fn the_same_work_has_one_workspace() {
    let story = Story::new();
    let made = story.make(&["--issue", "1", "--title", "first"]);
    let again = story.make(&["--issue", "1", "--title", "other", "--base", "main"]);
    assert_eq!(again.identity(), ("issue-1", "issue-1", "reused"));
    assert_eq!((again.text("id"), again.path()), (made.text("id"), made.path()));
    assert_eq!(again.text("title"), "first");
    assert_eq!(story.names(), ["issue-1"]);
}

#[test]
fn a_conversation_keeps_its_workspace_whatever_it_asks_for() {
    let story = Story::new();
    let first = story.make(&["--issue", "1", "--conversation", "C1"]);
    story.make(&["--issue", "2"]);
    let again = story.make(&["--issue", "2", "--conversation", "C1"]);
    assert_eq!((again.text("method"), again.text("id")), ("existing", first.text("id")));
    // The same id on another platform is another conversation.
    let elsewhere = story.make(&["--issue", "2", "--conversation", "C1", "--platform", "slack"]);
    assert_eq!(elsewhere.identity(), ("issue-2", "issue-2", "reused"));
    // It is bound from now on.
    let bound = story.make(&["--issue", "3", "--conversation", "C1", "--platform", "slack"]);
    assert_eq!(bound.identity(), ("issue-2", "issue-2", "existing"));
}

#[test]
fn a_conversation_whose_workspace_is_gone_starts_anew() {
    let story = Story::new();
    story.make(&["--issue", "1", "--conversation", "C1"]);
    story.cli.run(&["rm", "issue-1"]).ok();
    assert_eq!(story.make(&["--issue", "2", "--conversation", "C1"]).identity(), ("issue-2", "issue-2", "created"));
    assert_eq!(story.make(&["--issue", "3", "--conversation", "C1"]).identity(), ("issue-2", "issue-2", "existing"));
}

#[test]
fn a_conversation_about_another_repository_starts_anew_here() {
    let story = Story::new();
    let other = Story::of(story.sandbox().repository("other").with_remote());
    story.make(&["--issue", "1", "--conversation", "C1"]);
    let there = other.make(&["--issue", "1", "--conversation", "C1"]);
    assert_eq!((there.text("method"), there.text("repository")), ("created", "local/other"));
}

#[test]
fn reused_comes_before_shared() {
    let story = Story::new();
    story.make(&["--issue", "1"]);
    let own = story.make(&["--issue", "2"]);
    let again = story.make(&["--issue", "2", "--links", "1"]);
    assert_eq!((again.text("method"), again.text("id")), ("reused", own.text("id")));
}

#[test]
fn a_linked_issue_is_shared_before_a_linked_pull_request() {
    let story = Story::new();
    story.remote().fork_pull_request(9, "fork.txt");
    let pull_request = story.make(&["--pr", "9", "--fork"]);
    let issue = story.make(&["--issue", "42"]);
    let shared = story.make(&["--task", "both", "--links", "pr:9,42"]);
    assert_eq!((shared.text("method"), shared.text("id")), ("shared", issue.text("id")));
    let shared = story.make(&["--task", "one", "--links", "7,pr:9"]);
    assert_eq!((shared.text("method"), shared.text("id")), ("shared", pull_request.text("id")));
    // From now on it is the work's own.
    assert_eq!(story.make(&["--task", "both"]).identity(), ("issue-42", "issue-42", "reused"));
    let works = story.show("issue-42").0["works"].to_string();
    assert!(works.contains(r#""key":"both""#), "{works}");
    assert_eq!(story.names(), ["issue-42", "pr-9"]);
}

#[test]
fn shared_comes_before_adopted() {
    let story = Story::new();
    let issue = story.make(&["--issue", "42"]);
    story.foreign_worktree("foreign", "feature/auth");
    let shared = story.make(&["--task", "x", "--links", "42", "--suggest", "feature/auth"]);
    assert_eq!((shared.text("method"), shared.text("id")), ("shared", issue.text("id")));
}

#[test]
fn adopted_comes_before_created() {
    let story = Story::new();
    let foreign = story.foreign_worktree("foreign", "feature/auth");
    let adopted = story.make(&["--task", "x", "--suggest", "feature/auth"]);
    assert_eq!(adopted.identity(), ("task-x", "feature/auth", "adopted"));
    assert_eq!(adopted.path(), foreign);
    // A suggestion that nobody has is passed over.
    assert_eq!(story.make(&["--task", "y", "--suggest", "nobody/has"]).identity(), ("task-y", "task-y", "created"));
}

#[test]
fn a_review_shares_the_workspace_of_a_pull_request_from_a_fork() {
    let story = Story::new();
    story.remote().fork_pull_request(9, "fork.txt");
    let pull_request = story.make(&["--pr", "9", "--fork"]);
    let review = story.make(&["--review", "9"]);
    assert_eq!(review.identity(), ("pr-9", "pr-9-review", "shared"));
    assert_eq!(review.text("id"), pull_request.text("id"));

    story.remote().fork_pull_request(10, "fork.txt");
    let review = story.make(&["--review", "10"]);
    let pull_request = story.make(&["--pr", "10", "--fork"]);
    assert_eq!(pull_request.identity(), ("pr-10-review", "pr-10-review", "shared"));
    assert_eq!(review.text("id"), pull_request.text("id"));
}

#[test]
fn a_review_does_not_share_the_workspace_of_a_pull_request_on_its_own_branch() {
    let story = Story::new();
    story.remote().advance_branch("feature/auth", "auth.txt");
    let tip = story.remote().pull_request(9, "feature/auth");
    let own = story.make(&["--pr", "9", "--head", "feature/auth"]);
    let review = story.make(&["--review", "9"]);
    assert_eq!(review.identity(), ("pr-9-review", "pr-9-review", "created"));
    assert_ne!(review.text("id"), own.text("id"));
    assert_eq!(story.sandbox().git(review.path(), &["rev-parse", "HEAD"]), tip);

    story.remote().pull_request(10, "feature/auth");
    let review = story.make(&["--review", "10"]);
    story.remote().advance_branch("feature/other", "other.txt");
    let own = story.make(&["--pr", "10", "--head", "feature/other"]);
    assert_eq!(own.identity(), ("pr-10", "feature/other", "created"));
    assert_ne!(review.text("id"), own.text("id"));
}

#[test]
fn a_stale_row_is_no_answer() {
    let story = Story::new();
    let first = story.make(&["--issue", "1"]);
    story.cli.run(&["rm", "issue-1"]).ok();
    let second = story.make(&["--issue", "1"]);
    assert_eq!(second.identity(), ("issue-1", "issue-1", "created"));
    assert_ne!(second.text("id"), first.text("id"));
    assert!(!first.path().exists());
}

#[test]
fn repositories_do_not_share() {
    let story = Story::new();
    let other = Story::of(story.sandbox().repository("other").with_remote());
    let here = story.make(&["--issue", "1"]);
    let there = other.make(&["--issue", "2", "--links", "1"]);
    assert_eq!(there.identity(), ("issue-2", "issue-2", "created"));
    assert_ne!(make(&other.cli, &["--issue", "1"]).text("id"), here.text("id"));
}

#[test]
fn the_branch_of_a_lost_workspace_is_not_given_to_other_work() {
    let story = Story::new();
    let lost = story.make(&["--issue", "1"]);
    let aside = story.sandbox().path().join("aside");
    std::fs::rename(lost.path(), &aside).unwrap();
    story
        .refused(5, &["--branch", "issue-1"])
        .says(&["`issue-1`", "belongs to issue-1"])
        .hints(&["spinney show issue-1"]);
    std::fs::rename(&aside, lost.path()).unwrap();
    assert_eq!(story.make(&["--branch", "issue-1"]).identity(), ("issue-1", "issue-1", "shared"));
}
