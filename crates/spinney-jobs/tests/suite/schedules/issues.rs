//! Issues on a forge, which several daemons may watch.

use spinney_core::{JobStatus, Push};
use spinney_jobs::schedules::RunOutcome;
use spinney_testkit::{TestForge, Trouble};

use crate::schedules::story::{self, LINK, Story, at, engine, every_5m, forge_section, schedules};

pub const SOURCE: &str = "work_source = { type = 'github', repo = 'Acme/App', exclude_labels = ['Blocked'] }";

fn forge(issues: &[&[&str]]) -> TestForge {
    let forge = TestForge::github("acme/app");
    for (index, labels) in issues.iter().enumerate() {
        let number = forge.add_issue(&format!("Issue {}", index + 1), "It says `no`.");
        forge.label_issue(number, labels);
    }
    forge
}

async fn watching(forge: &TestForge) -> Story {
    let story = Story::on(forge, &every_5m("issues", SOURCE)).await;
    story.tick(0).await;
    story
}

fn comment(forge: &TestForge, issue: u64) -> String {
    let comments = forge.comments(issue);
    assert_eq!(comments.len(), 1, "{comments:#?}");
    comments[0].body.clone()
}

/// A request to the repository, without what it was asked with.
fn told(asked: &spinney_testkit::Exchange) -> String {
    format!("{} {}", asked.method, asked.path.trim_start_matches("/repos/acme/app/"))
}

/// What was changed of an issue, by request.
fn changes(forge: &TestForge, issue: u64) -> Vec<String> {
    let exchanges = forge.exchanges();
    let changes = exchanges.iter().filter(|asked| asked.method != "GET").map(told);
    changes.filter(|told| told.contains(&format!("issues/{issue}/"))).collect()
}

#[tokio::test]
async fn a_ready_issue_is_taken_and_everybody_can_see_by_whom() {
    let forge = forge(&[&["bug"], &["ready", "blocked"], &["ready", "agent-working"], &["Ready", "bug"], &["ready"]]);
    let story = watching(&forge).await;
    story.tick(5).await;
    let job = story.open_job().await;
    assert_eq!((job.work.to_string().as_str(), job.title.as_deref()), ("issue 4", Some("Issue 4")));
    assert_eq!(job.prompt, "Issue 4\n\nIt says `no`.");
    assert_eq!(forge.labels(4), ["agent-working", "bug"]);
    let comment = comment(&forge, 4);
    assert!(comment.starts_with(&format!("<!-- spinney:claim {} -->\n", job.id)), "{comment}");
    assert!(comment.contains(&format!("{LINK}/jobs/{}", job.id)), "{comment}");
    for (issue, labels) in
        [(1, &["bug"][..]), (2, &["blocked", "ready"]), (3, &["agent-working", "ready"]), (5, &["ready"])]
    {
        assert_eq!(forge.labels(issue), labels);
        assert!(forge.comments(issue).is_empty());
    }
}

#[tokio::test]
async fn an_issue_whose_job_failed_is_given_back_and_says_so_without_details() {
    let forge = forge(&[&["ready"]]);
    let story = watching(&forge).await;
    story.tick(5).await;
    let job = story.open_job().await;
    story.end(&job, JobStatus::Failed, |job| job.outcome.error = Some("secret path /srv/x".into())).await;
    story.tick(6).await;
    assert_eq!(forge.labels(1), ["ready"]);
    let told = comment(&forge, 1);
    assert!(told.contains("GivenBack(Failed)") && !told.contains("/srv/x"), "{told}");

    // It can be taken again.
    story.tick(10).await;
    let again = story.open_job().await;
    assert_ne!(again.id, job.id);
    assert_eq!((forge.labels(1), forge.comments(1).len()), (vec!["agent-working".to_owned()], 2));
}

#[tokio::test]
async fn with_a_pull_request_the_issue_waits_for_that() {
    let forge = forge(&[&["ready"]]);
    let story = watching(&forge).await;
    story.tick(5).await;
    let job = story.open_job().await;
    let url = "https://example/pull/9";
    let done = |job: &mut spinney_core::Job| job.outcome.pull_request = Some(url.into());
    story.end(&job, JobStatus::Completed, done).await;
    story.tick(6).await;
    assert_eq!(forge.labels(1), ["agent-working"]);
    assert!(comment(&forge, 1).contains(&format!("pull_request: Some({url:?})")));
    story.tick(10).await;
    assert_eq!(story.report("issues").await.0, RunOutcome::Idle);
}

#[tokio::test]
async fn without_a_pull_request_the_issue_is_nobodys_any_more() {
    for push in [Push::Pushed, Push::Nothing, Push::Off] {
        let forge = forge(&[&["ready"]]);
        let story = watching(&forge).await;
        story.tick(5).await;
        let job = story.open_job().await;
        let done = |job: &mut spinney_core::Job| {
            (job.outcome.push, job.outcome.branch) = (Some(push), Some("agent/coder/issue-1".into()));
        };
        story.end(&job, JobStatus::Completed, done).await;
        story.tick(10).await;
        assert_eq!(forge.labels(1), Vec::<String>::new());
        let told = comment(&forge, 1);
        assert!(told.contains(&format!("push: Some({push:?})")) && told.contains("agent/coder/issue-1"), "{told}");
    }
}

#[tokio::test]
async fn a_strangers_comment_claims_nothing_and_a_colleagues_does() {
    let forge = forge(&[&["ready"], &["ready"]]);
    forge.comment(1, "colleague", "MEMBER", "<!-- spinney:claim 0123456789 -->\nmine");
    forge.comment(2, "stranger", "NONE", "<!-- spinney:claim 0123456789 -->\nmine");
    let story = watching(&forge).await;
    story.tick(5).await;
    assert_eq!(story.open_job().await.work.to_string(), "issue 2");
    assert_eq!(forge.comments(1).len(), 1);
    assert_eq!(changes(&forge, 1), Vec::<String>::new(), "who came second says nothing at all");
}

/// The order in which it is done: whoever dies in between, or comes at the same time, is judged by it.
#[tokio::test]
async fn an_issue_is_looked_at_labelled_commented_on_once_and_looked_at_again() {
    let forge = forge(&[&["ready"]]);
    let story = watching(&forge).await;
    let before = forge.exchanges().len();
    story.tick(5).await;
    let asked: Vec<_> = forge.exchanges()[before..].iter().map(told).collect();
    assert_eq!(
        asked,
        [
            "GET issues",
            "GET issues/1",
            "GET issues/1/comments",
            "POST issues/1/labels",
            "POST issues/1/comments",
            "GET issues/1/comments",
            "GET issues/1",
            "DELETE issues/1/labels/ready",
        ]
    );
}

#[tokio::test]
async fn what_a_person_takes_back_at_the_last_moment_is_left() {
    for (labels, left) in
        [(&["blocked", "ready", "agent-working"][..], &["blocked", "ready"][..]), (&["agent-working"], &[])]
    {
        let forge = forge(&[&["ready"]]);
        let story = watching(&forge).await;
        // The label is set, and the comment about to be.
        let gates = [forge.hold("POST"), forge.hold("POST")];
        let person = async {
            let [label, comment] = gates;
            let comment = tokio::task::spawn_blocking(move || {
                label.wait();
                drop(label);
                comment.wait();
                comment
            });
            let comment = comment.await.unwrap();
            forge.label_issue(1, labels);
            drop(comment);
        };
        tokio::join!(story.tick(5), person);
        assert!(story.all_jobs().await.is_empty());
        assert_eq!(forge.labels(1), left);
        assert!(forge.comments(1).is_empty());
        assert_eq!(story.report("issues").await.0, RunOutcome::Skipped);
    }
}

/// More than are looked at in one run have claims of others that nobody ends.
#[tokio::test]
async fn what_is_behind_many_that_others_hold_comes_up() {
    let forge = forge(&[&["ready"][..]; 50]);
    for issue in 1..=45 {
        forge.comment(issue, "colleague", "MEMBER", "<!-- spinney:claim 0123456789 -->\nmine");
    }
    let story = watching(&forge).await;
    for run in 1..=2 {
        story.tick(5 * run).await;
        assert!(story.all_jobs().await.is_empty(), "so many are not looked at in one run");
        assert_eq!(story.report("issues").await.0, RunOutcome::Skipped);
    }
    story.tick(15).await;
    let job = story.open_job().await;
    assert_eq!(job.work.to_string(), "issue 46");
    story.end(&job, JobStatus::Completed, |_| {}).await;
    forge.label_issue(1, &["ready"]);
    story.tick(20).await;
    story.tick(25).await;
    story.tick(30).await;
    assert_eq!(story.open_job().await.work.to_string(), "issue 47");
}

/// What jobs of this store are at costs no request, and no try.
#[tokio::test]
async fn what_our_own_jobs_are_at_is_passed_over() {
    let forge = forge(&[&["ready"][..]; 25]);
    let story = watching(&forge).await;
    for issue in 1..=24 {
        let context = story.engine.find_context(None, story.app.path()).await.unwrap();
        let new = spinney_jobs::NewJob {
            id: None,
            agent: "coder".parse().unwrap(),
            work: Some(spinney_core::Work::issue(issue)),
            title: None,
            prompt: "mine".into(),
            trigger: spinney_core::Platform::Cli,
            request: spinney_core::JobRequest::default(),
            names_repository: false,
        };
        story.jobs().submit(context, new, spinney_jobs::Busy::Refuse).await.unwrap();
    }
    story.tick(5).await;
    let jobs = story.all_jobs().await;
    assert_eq!(jobs.last().unwrap().work.to_string(), "issue 25");
    assert!((1..=24).all(|issue| changes(&forge, issue).is_empty()));
}

#[tokio::test]
async fn an_outage_postpones_is_no_failure_and_is_waited_out_for_longer_each_time() {
    let forge = forge(&[&["ready"]]);
    let story =
        Story::on(&forge, "[agents.coder.schedules.issues]\ninterval = '5s'\nWORK".replace("WORK", SOURCE).as_str())
            .await;
    story.tick(0).await;
    let mut minute = 1;
    for (times, pause) in [(1, 1), (2, 2), (3, 4), (4, 8), (5, 16), (6, 32)] {
        forge.trouble(Trouble::RetryAfter(503, 600));
        story.tick(minute).await;
        let (outcome, message) = story.report("issues").await;
        assert_eq!(outcome, RunOutcome::Postponed, "{message}");
        assert!(message.starts_with("GitHub at 127.0.0.1:") && message.contains("status 503"), "{message}");
        let schedule = story.listed("issues").await.schedule;
        assert_eq!((schedule.failures, schedule.paused), (0, false), "{times}");
        assert_eq!(schedule.planned_at, Some(at(minute + pause)), "{times}");
        let asked = forge.exchanges().len();
        story.tick(minute + pause - 1).await;
        assert_eq!(forge.exchanges().len(), asked, "it is left alone until then");
        minute += pause;
    }
    story.tick(minute).await;
    let job = story.open_job().await;
    story.end(&job, JobStatus::Failed, |_| {}).await;
    for _ in 0..10 {
        forge.trouble(Trouble::RetryAfter(503, 600));
    }
    story.tick(minute + 1).await;
    assert_eq!(forge.labels(1), ["agent-working"]);
    forge.calm();
    story.tick(minute + 2).await;
    assert!(forge.comments(1)[0].body.contains("GivenBack"), "what could not be given back is, in the end");
}

#[tokio::test]
async fn a_rate_limit_is_kept_as_long_as_the_forge_says() {
    let forge = forge(&[&["ready"]]);
    let story = watching(&forge).await;
    forge.trouble(Trouble::LimitReached(std::time::Duration::from_secs(3600)));
    story.tick(5).await;
    let (outcome, message) = story.report("issues").await;
    assert_eq!((outcome, story.listed("issues").await.schedule.failures), (RunOutcome::Postponed, 0), "{message}");
    let asked = forge.exchanges().len();
    story.tick(60).await;
    assert_eq!(forge.exchanges().len(), asked, "nothing is asked before that");
    story.tick(66).await;
    story.open_job().await;
}

/// A token that is not accepted does not pass by itself.
#[tokio::test]
async fn a_forge_that_refuses_is_a_failure() {
    let forge = forge(&[&["ready"]]);
    let story = watching(&forge).await;
    forge.trouble(Trouble::Forbidden("Resource not accessible by personal access token".into()));
    story.tick(5).await;
    let (outcome, message) = story.report("issues").await;
    assert_eq!((outcome, story.listed("issues").await.schedule.failures), (RunOutcome::Failed, 1), "{message}");
}

#[tokio::test]
async fn other_forges_and_other_repositories_are_problems_that_are_told() {
    let forge = forge(&[&["ready"]]);
    let source = SOURCE.replace("Acme/App", "acme/other");
    let story = Story::on(&forge, &every_5m("issues", &source)).await;
    story.tick(0).await;
    story.tick(5).await;
    let (outcome, message) = story.report("issues").await;
    assert_eq!(outcome, RunOutcome::Failed);
    assert!(message.contains("it has the issues of `acme/other`, and the agent works on `acme/app`"), "{message}");
    let story = Story::new(&every_5m("issues", SOURCE)).await;
    story.tick(0).await;
    story.tick(5).await;
    assert!(story.report("issues").await.1.contains("is on no forge that is configured"));
}

/// Two daemons with stores of their own, held up so that neither sees by the labels that the other is there.
#[tokio::test]
async fn two_daemons_never_take_the_same_issue() {
    let forge = forge(&[&["ready"]]);
    let story = watching(&forge).await;
    let other_home = story.app.sandbox().path().join("other-home");
    let configured = every_5m("issues", SOURCE);
    let other = engine(&story.app, &other_home, &configured, &forge_section(&forge), Some(&forge)).await;
    schedules(&other).tick(at(0)).await.unwrap();

    // Both have looked at the issue, and are about to label it; then both have commented, and neither has moved it yet.
    let labels = [forge.hold("POST"), forge.hold("POST")];
    let moves = [forge.hold("DELETE"), forge.hold("DELETE")];
    let (mine, others) = (story.schedules(), schedules(&other));
    let let_go = tokio::task::spawn_blocking(move || {
        for gates in [labels, moves] {
            gates.iter().for_each(spinney_testkit::Gate::wait);
        }
    });
    let (one, two) = tokio::join!(mine.tick(at(5)), others.tick(at(5)));
    one.unwrap();
    two.unwrap();
    let_go.await.unwrap();
    let jobs = [story.all_jobs().await, story::all_jobs(&other).await].concat();
    assert_eq!(jobs.len(), 1, "{jobs:#?}");
    assert!(comment(&forge, 1).contains(&format!("<!-- spinney:claim {} -->", jobs[0].id)));
    assert_eq!(forge.labels(1), ["agent-working"]);
}

#[tokio::test]
async fn who_comes_to_an_issue_that_was_ended_meanwhile_leaves_it() {
    for (pull_request, labels) in [(None, &[][..]), (Some("https://example/pull/9".to_owned()), &["agent-working"])] {
        let forge = forge(&[&["ready"]]);
        let story = watching(&forge).await;
        let other_home = story.app.sandbox().path().join("other-home");
        let configured = every_5m("issues", SOURCE);
        let other = engine(&story.app, &other_home, &configured, &forge_section(&forge), Some(&forge)).await;
        let others = schedules(&other);
        others.tick(at(0)).await.unwrap();

        // The other has looked at the issue, and is about to label it; meanwhile we do all of it.
        let gate = forge.hold("POST");
        let late = async {
            others.tick(at(5)).await.unwrap();
        };
        let whole = async {
            let gate = tokio::task::spawn_blocking(move || {
                gate.wait();
                gate
            });
            let gate = gate.await.unwrap();
            story.tick(5).await;
            let job = story.open_job().await;
            story.end(&job, JobStatus::Completed, |job| job.outcome.pull_request = pull_request).await;
            story.tick(6).await;
            drop(gate);
        };
        tokio::join!(late, whole);
        assert!(story::all_jobs(&other).await.is_empty());
        assert!(comment(&forge, 1).contains("Done("), "the other's comment is gone again");
        assert_eq!(forge.labels(1), labels);
    }
}
