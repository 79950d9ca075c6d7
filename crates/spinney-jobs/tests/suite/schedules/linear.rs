//! Issues of a team on Linear. What is the same as on a forge is proved there.

use std::path::Path;
use std::time::Duration;

use spinney_core::JobStatus;
use spinney_engine::Engine;
use spinney_jobs::schedules::RunOutcome;
use spinney_testkit::{LinearTrouble, TestLinear};

use crate::schedules::story::{self, LINK, Story, at, engine_with, every_5m, schedules};

const SOURCE: &str = "work_source = { type = 'linear', team = 'ENG', exclude_labels = ['Blocked'] }";
const LABELS: [&str; 3] = ["ready", "agent-working", "blocked"];

async fn engine(linear: &TestLinear, story: &Story, home: &Path) -> Engine {
    let section = format!("[forge.linear]\napi_url = {:?}\n", linear.api_url());
    let token = Some(("LINEAR_API_KEY", linear.token()));
    engine_with(&story.app, home, &every_5m("issues", SOURCE), &section, token).await
}

async fn watching(linear: &TestLinear) -> Story {
    let story = Story::new("").await;
    let engine = engine(linear, &story, &story.app.sandbox().spinney_home()).await;
    let story = Story { engine, app: story.app };
    story.tick(0).await;
    story
}

#[tokio::test]
async fn a_ready_issue_is_taken_and_given_back_when_its_job_fails() {
    let linear = TestLinear::new("ENG", &LABELS);
    linear.add_issue("Blocked", "", &["ready", "blocked"]);
    linear.add_issue("Login fails", "It says `no`.", &["ready"]);
    linear.add_issue("Later", "", &["ready"]);
    let story = watching(&linear).await;
    story.tick(5).await;
    let job = story.open_job().await;
    assert_eq!((job.work.to_string().as_str(), job.title.as_deref()), ("task eng-2", Some("Login fails")));
    assert_eq!(job.prompt, "Login fails\n\nIt says `no`.");
    assert_eq!(linear.labels(2), ["agent-working"]);
    let [comment] = linear.comments(2).try_into().unwrap();
    assert!(comment.starts_with(&format!("`spinney:claim {}`\n", job.id)), "{comment}");
    assert!(comment.contains(&format!("{LINK}/jobs/{}", job.id)), "{comment}");
    assert!(linear.comments(1).is_empty() && linear.comments(3).is_empty());

    story.end(&job, JobStatus::Failed, |_| {}).await;
    story.tick(6).await;
    assert_eq!((linear.labels(2), linear.state(2).as_str()), (vec!["ready".to_owned()], "state-todo"));
    let [comment] = linear.comments(2).try_into().unwrap();
    assert!(comment.contains("GivenBack(Failed)"), "{comment}");
    story.tick(10).await;
    assert_eq!(story.open_job().await.work, job.work, "it can be taken again");
}

#[tokio::test]
async fn an_issue_is_done_or_linked_to_its_pull_request() {
    for (pull_request, labels, state) in
        [(None, &[][..], "state-done"), (Some("https://example/pull/9"), &["agent-working"], "state-todo")]
    {
        let linear = TestLinear::new("ENG", &LABELS);
        linear.add_issue("One", "", &["ready"]);
        let story = watching(&linear).await;
        story.tick(5).await;
        let job = story.open_job().await;
        let done = |job: &mut spinney_core::Job| job.outcome.pull_request = pull_request.map(ToOwned::to_owned);
        story.end(&job, JobStatus::Completed, done).await;
        story.tick(6).await;
        assert_eq!(
            (linear.labels(1), linear.state(1).as_str()),
            (labels.iter().map(ToString::to_string).collect(), state)
        );
        let [comment] = linear.comments(1).try_into().unwrap();
        assert!(comment.contains(&format!("pull_request: {pull_request:?}")), "{comment}");
    }
}

#[tokio::test]
async fn two_daemons_never_take_the_same_issue() {
    let linear = TestLinear::new("ENG", &LABELS);
    linear.add_issue("One", "", &["ready"]);
    linear.add_issue("Two", "", &["ready"]);
    linear.comment(2, "guest", true, "`spinney:claim 0123456789`\nmine");
    let story = watching(&linear).await;
    let other = engine(&linear, &story, &story.app.sandbox().path().join("other-home")).await;
    let (mine, others) = (story.schedules(), schedules(&other));
    others.tick(at(0)).await.unwrap();
    for minute in [5, 10] {
        let (one, two) = tokio::join!(mine.tick(at(minute)), others.tick(at(minute)));
        one.unwrap();
        two.unwrap();
    }
    let jobs = [story.all_jobs().await, story::all_jobs(&other).await].concat();
    let mut works: Vec<_> = jobs.iter().map(|job| job.work.to_string()).collect();
    works.sort();
    assert_eq!(works, ["task eng-1", "task eng-2"]);
    for (issue, comments) in [(1, 1), (2, 2)] {
        assert_eq!((linear.labels(issue), linear.comments(issue).len()), (vec!["agent-working".to_owned()], comments));
    }
}

#[tokio::test]
async fn a_rate_limit_postpones_and_what_is_configured_wrong_fails() {
    let linear = TestLinear::new("ENG", &["ready"]);
    linear.add_issue("One", "", &["ready"]);
    let story = watching(&linear).await;
    linear.trouble(None, LinearTrouble::RateLimited(Duration::from_secs(3600)));
    story.tick(5).await;
    let (outcome, message) = story.report("issues").await;
    assert_eq!((outcome, story.listed("issues").await.schedule.failures), (RunOutcome::Postponed, 0), "{message}");
    story.tick(66).await;
    let (outcome, message) = story.report("issues").await;
    assert_eq!(outcome, RunOutcome::Failed);
    assert!(message.ends_with("team ENG has no label `agent-working`"), "{message}");
    assert!(linear.comments(1).is_empty());

    let story = Story::new(&every_5m("issues", SOURCE)).await;
    story.tick(0).await;
    story.tick(5).await;
    let (outcome, message) = story.report("issues").await;
    assert_eq!(outcome, RunOutcome::Failed);
    assert!(message.contains("`LINEAR_API_KEY` is not set"), "{message}");
}
