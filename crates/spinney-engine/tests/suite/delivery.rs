//! What a job leaves behind: a pushed branch, a row that tells so, and in the end no workspace.

use spinney_core::{
    Consent, EvidenceKind, JobId, Merge, MergedPull, Reason, ReasonCode, Remover, Sweep, Work, Workspace,
    WorkspaceStatus,
};
use spinney_engine::{Context, Delivery, Error, ForgeWord, Removed, Request};
use spinney_git::Pushed;
use spinney_testkit::Sandbox;

use crate::setup::{Story, patterned};

fn codes(reasons: &[Reason]) -> Vec<ReasonCode> {
    reasons.iter().map(|reason| reason.code).collect()
}

/// Removes a workspace for its job.
async fn tear_down(story: &Story, context: &Context, workspace: &Workspace, job: &JobId) -> Result<Removed, Error> {
    story.engine.let_go(context, workspace, Sweep::Teardown, &Consent::None, Some(job), &|_| {}).await
}

/// Why it stays.
async fn kept(story: &Story, context: &Context, workspace: &Workspace, job: &JobId) -> Vec<ReasonCode> {
    match tear_down(story, context, workspace, job).await {
        Err(Error::Refused { reasons, .. }) => codes(&reasons),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn what_was_left_over_is_committed_pushed_and_known() {
    let story = Story::new().await;
    let context = story.context().await;
    let workspace = story.make(&patterned(1, "agent/coder/issue-1")).await;
    let job = story.run_job(&workspace).await;
    std::fs::write(workspace.path.join("new"), "x").unwrap();
    std::fs::write(workspace.path.join("STATE.json"), "{}").unwrap();
    assert_eq!(kept(&story, &context, &workspace, &job.id).await, [ReasonCode::Untracked]);

    let tree = context.require_tree(&workspace).unwrap();
    let commit = tree.commit_left_over(|_| vec!["new".into()], "agent: done").await.unwrap().unwrap().commit;
    assert_eq!(kept(&story, &context, &workspace, &job.id).await, [ReasonCode::Unpushed]);

    let pushed = story.engine.push(&context, &workspace, &commit, &workspace.branch).await.unwrap();
    assert_eq!(pushed, Some(Pushed::New));
    assert_eq!(story.app.remote().tip("agent/coder/issue-1"), commit.as_str());
    let delivery = Delivery { branch: Some(&workspace.branch), pushed: Some(&commit), pull_request: Some("7") };
    let row = story.engine.record_delivery(&context, &workspace, &delivery).await.unwrap();
    assert_eq!((row.pushed, row.pull_request.as_deref()), (true, Some("7")));
    assert_eq!(row.metadata.pushed_commit.as_ref(), Some(&commit));
    let mut db = story.engine.store().read().await.unwrap();
    let events = db.events("local", 0, 100).await.unwrap();
    let (_, event) = events.last().unwrap();
    let (kind, detail) = event.event.parts();
    assert_eq!(kind, "workspace.delivered");
    assert_eq!((detail["pushed"].as_str(), detail["pull_request"].as_str()), (Some(commit.as_str()), Some("7")));
    drop(db);
    let verdict = story.engine.judge(&context, &row, Remover::Person).await.unwrap();
    assert_eq!(codes(&verdict.reasons), [ReasonCode::Unmerged, ReasonCode::InUse]);

    // Another's job would stop it, the own one does not.
    let removed = tear_down(&story, &context, &row, &job.id).await.unwrap();
    assert_eq!(removed.workspace.status, WorkspaceStatus::Trashed);
    assert!(!workspace.path.exists());
}

#[tokio::test]
async fn anothers_job_keeps_a_workspace() {
    let story = Story::new().await;
    let context = story.context().await;
    let workspace = story.make(&Request::new(Work::issue(1))).await;
    story.run_job(&workspace).await;
    let other = JobId::generate();
    assert_eq!(kept(&story, &context, &workspace, &other).await, [ReasonCode::InUse]);
}

#[tokio::test]
async fn what_was_pushed_may_be_rewritten_and_pushed_again() {
    let story = Story::new().await;
    let context = story.context().await;
    let workspace = story.make(&Request::new(Work::issue(1))).await;
    let commit = story.commit(&workspace, "a");
    story.engine.push(&context, &workspace, &commit, &workspace.branch).await.unwrap();
    story.git(&workspace.path, &["commit", "--quiet", "--amend", "-m", "rewritten"]);
    let rewritten = story.git(&workspace.path, &["rev-parse", "HEAD"]).parse().unwrap();
    let refused = story.engine.push(&context, &workspace, &rewritten, &workspace.branch).await.unwrap_err();
    assert!(matches!(&refused, Error::Git(spinney_git::Error::PushRejected { .. })), "{refused:?}");
    let delivery = Delivery { pushed: Some(&commit), ..Delivery::default() };
    let row = story.engine.record_delivery(&context, &workspace, &delivery).await.unwrap();
    let pushed = story.engine.push(&context, &row, &rewritten, &row.branch).await.unwrap();
    assert_eq!(pushed, Some(Pushed::Updated));
}

#[tokio::test]
async fn the_row_follows_a_renamed_branch_unless_it_is_anothers() {
    let story = Story::new().await;
    let context = story.context().await;
    let workspace = story.make(&Request::new(Work::issue(1))).await;
    let other = story.make(&Request::new(Work::issue(2))).await;
    story.git(&workspace.path, &["branch", "-m", "renamed"]);
    let name = "renamed".parse().unwrap();
    let delivery = Delivery { branch: Some(&name), ..Delivery::default() };
    let row = story.engine.record_delivery(&context, &workspace, &delivery).await.unwrap();
    assert_eq!((row.branch.as_str(), row.pushed), ("renamed", false));
    let tree = context.require_tree(&workspace).unwrap();
    let marker = std::fs::read_to_string(tree.admin_dir().join("spinney.json")).unwrap();
    assert!(marker.contains("\"branch\": \"renamed\""), "{marker}");
    let delivery = Delivery { branch: Some(&other.branch), ..Delivery::default() };
    let row = story.engine.record_delivery(&context, &workspace, &delivery).await.unwrap();
    assert_eq!(row.branch.as_str(), "renamed");
}

#[tokio::test]
async fn without_a_remote_nothing_is_pushed() {
    let story = Story::of(Sandbox::new().repository("app")).await;
    let context = story.context().await;
    let request = Request { base: Some("main".parse().unwrap()), ..Request::new(Work::issue(1)) };
    let workspace = story.make(&request).await;
    let commit = story.commit(&workspace, "a");
    assert_eq!(story.engine.push(&context, &workspace, &commit, &workspace.branch).await.unwrap(), None);
}

#[tokio::test]
async fn what_a_forge_says_joins_the_verdict() {
    let story = Story::new().await;
    let context = story.context().await;
    let workspace = story.make(&Request::new(Work::issue(1))).await;
    let first = story.commit(&workspace, "a");
    let tip = story.commit(&workspace, "b");
    let merged = |head: &spinney_core::CommitId| ForgeWord {
        merged: Some(MergedPull { number: 7, head: head.clone() }),
        ..ForgeWord::default()
    };
    let judge = async |word: &ForgeWord| {
        let remover = Remover::Sweep(Sweep::Merged);
        story.engine.judge_told(&context, &workspace, remover, Some(word)).await.unwrap()
    };
    // What came after the merge is not merged, and a commit that nobody has here proves nothing.
    for head in [first, "d".repeat(40).parse().unwrap()] {
        let verdict = judge(&merged(&head)).await;
        assert_eq!(codes(&verdict.reasons), [ReasonCode::Unpushed, ReasonCode::Unmerged]);
    }
    let verdict = judge(&merged(&tip)).await;
    assert!(matches!(&verdict.merge, Merge::Merged(evidence) if evidence.kind == EvidenceKind::Forge));
    assert_eq!(codes(&verdict.reasons), []);
    let later = story.commit(&workspace, "c");
    story.git(&workspace.path, &["reset", "--quiet", "--hard", "HEAD^"]);
    assert!(judge(&merged(&later)).await.merge.is_merged());

    let open = ForgeWord { open: Some("pull request 7".to_owned()), ..merged(&tip) };
    let verdict = judge(&open).await;
    assert_eq!(codes(&verdict.reasons), [ReasonCode::OpenPullRequest]);
    assert_eq!(verdict.reasons[0].detail(), "pull request 7");
}
