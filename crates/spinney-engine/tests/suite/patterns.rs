//! A name from a pattern is new, whatever is there, and however many ask at once.

use spinney_core::Work;
use spinney_engine::{Error, Request};
use spinney_testkit::GitWrapper;

use crate::setup::{Story, patterned};

#[tokio::test]
async fn a_taken_name_gets_a_number_and_a_workspace_keeps_its_own() {
    let story = Story::new().await;
    let base = story.app.head();
    let first = story.make(&patterned(1, "agent/coder/x")).await;
    assert_eq!((first.name.as_str(), first.branch.as_str()), ("issue-1", "agent/coder/x"));
    assert_eq!(first.base_commit.as_str(), base);
    // The same work is the same workspace, whatever the pattern says by now.
    assert_eq!(story.make(&patterned(1, "agent/other")).await.branch, first.branch);
    assert_eq!(story.make(&patterned(2, "agent/coder/x")).await.branch.as_str(), "agent/coder/x-2");
    // A branch here, one at the remote that was never fetched, and one that stands where a directory must be.
    story.app.git(&["branch", "agent/coder/x-3"]);
    story.app.remote().git(&["branch", "agent/coder/x-4", "main"]);
    story.app.remote().git(&["branch", "agent/coder/x-5/below", "main"]);
    story.app.git(&["branch", "agent/coder/x-6/below"]);
    story.engine.sync_repository(&story.context().await, &|_| {}).await.unwrap();
    story.app.git(&["update-ref", "-d", "refs/remotes/origin/agent/coder/x-4"]);
    assert_eq!(story.make(&patterned(3, "agent/coder/x")).await.branch.as_str(), "agent/coder/x-7");
    assert_eq!(story.make(&patterned(4, "agent/coder")).await.branch.as_str(), "agent/coder-2");
}

#[tokio::test]
async fn what_a_workspace_has_on_record_is_taken_although_git_does_not_know_it() {
    let story = Story::new().await;
    let first = story.make(&patterned(1, "agent/x")).await;
    story.git(&first.path, &["branch", "-m", "renamed"]);
    assert_eq!(story.make(&patterned(2, "agent/x")).await.branch.as_str(), "agent/x-2");
    assert_eq!(story.make(&patterned(3, "agent")).await.branch.as_str(), "agent-2");
    let error = story.try_make(&patterned(4, "agent/x/y")).await.unwrap_err();
    assert!(matches!(&error, Error::BranchConflict { existing, .. } if existing == "agent/x"), "{error:?}");
}

#[tokio::test]
async fn a_name_that_somebody_takes_at_the_last_moment_is_left_to_them() {
    let take = "\"$GIT\" branch agent/x \"$(\"$GIT\" commit-tree -m theirs HEAD^{tree})\"";
    let script = format!(
        "case \"$*\" in *'worktree add'*) mkdir \"$HERE/once\" 2>/dev/null && {take} ;; esac\nexec \"$GIT\" \"$@\"\n"
    );
    let wrapper = GitWrapper::new(&script);
    let story = Story::with_git(&wrapper).await;
    assert_eq!(story.make(&patterned(1, "agent/x")).await.branch.as_str(), "agent/x-2");
    assert_eq!(story.app.git(&["log", "--format=%s", "agent/x"]), "theirs");
}

#[tokio::test]
async fn no_number_helps_where_a_branch_is_the_directory() {
    let story = Story::new().await;
    story.app.git(&["branch", "agent"]);
    let error = story.try_make(&patterned(1, "agent/coder/x")).await.unwrap_err();
    assert!(matches!(&error, Error::BranchConflict { existing, .. } if existing == "agent"), "{error:?}");
    assert!(story.app.git(&["worktree", "list"]).lines().count() == 1);
}

#[tokio::test]
async fn only_work_without_a_branch_of_its_own_follows_a_pattern() {
    let story = Story::new().await;
    // The work's own name is somebody's: it is neither continued nor adopted, nor does it stand in the way.
    story.app.git(&["checkout", "--quiet", "-b", "issue-7"]);
    let patterned_one = story.make(&patterned(7, "agent/x")).await;
    assert_eq!(patterned_one.branch.as_str(), "agent/x");
    let named = Request {
        branch: Some("feature".parse().unwrap()),
        ..Request {
            pattern: Some("agent/y".parse().unwrap()),
            ..Request::new(Work::branch(&"feature".parse().unwrap()))
        }
    };
    assert_eq!(story.make(&named).await.branch.as_str(), "feature");
    story.app.remote().advance_branch("pr-head", "a");
    story.app.remote().pull_request(9, "pr-head");
    let pull = Request { pattern: Some("agent/z".parse().unwrap()), ..Request::new(Work::review(9)) };
    assert_eq!(story.make(&pull).await.branch.as_str(), "pr-9-review");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_at_once_end_with_many_names() {
    let story = Story::new().await;
    let ask = |number: u64| {
        let app = story.app.clone();
        tokio::spawn(async move {
            let story = Story::of(app).await;
            story.make(&patterned(number, "agent/coder/x")).await.branch.to_string()
        })
    };
    let mut branches = Vec::new();
    for task in (1..=8).map(ask).collect::<Vec<_>>() {
        branches.push(task.await.unwrap());
    }
    branches.sort();
    let expected: Vec<String> =
        (1..=8).map(|n| if n == 1 { "agent/coder/x".to_owned() } else { format!("agent/coder/x-{n}") }).collect();
    assert_eq!(branches, expected);
}
