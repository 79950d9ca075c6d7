//! When schedules start, and that they start once.

use spinney_core::{JobStatus, Platform, WorkKind};
use spinney_jobs::schedules::RunOutcome;
use spinney_jobs::told::{Facts, Idle, Words};

use crate::schedules::story::{Story, at, engine, every_5m, schedules};

#[tokio::test]
async fn a_schedule_starts_an_interval_after_it_was_first_seen_and_then_from_start_to_start() {
    let story = Story::new(&every_5m("look", "prompt = 'look around'")).await;
    assert_eq!(story.tick(0).await, at(1), "the configuration is looked at again");
    assert_eq!(story.tick(4).await, at(5));
    assert!(story.all_jobs().await.is_empty());
    story.tick(7).await;
    let job = story.open_job().await;
    assert_eq!((job.agent.as_str(), job.prompt.as_str(), job.trigger), ("coder", "look around", Platform::Schedule));
    assert_eq!(job.request.schedule.as_ref().unwrap().as_str(), "look");
    assert_eq!((job.work.kind, job.work.key.as_str()), (WorkKind::Job, job.id.as_str()));
    let listed = story.listed("look").await.schedule;
    assert_eq!((listed.planned_at, listed.last_started_at), (Some(at(12)), Some(at(7))));
    assert_eq!((listed.last_job_id, listed.last_status), (Some(job.id.clone()), Some(JobStatus::Pending)));

    story.end(&job, JobStatus::Completed, |job| job.outcome.summary = Some("all is well".into())).await;
    assert_eq!(story.tick(11).await, at(12));
    assert_eq!(story.report("look").await, (RunOutcome::Completed, "all is well".to_owned()));
    assert_eq!(story.listed("look").await.schedule.last_status, Some(JobStatus::Completed));
    story.tick(12).await;
    assert_eq!(story.all_jobs().await.len(), 2);
}

#[tokio::test]
async fn what_was_missed_while_nobody_looked_runs_once() {
    let cron = "[agents.coder.schedules.hourly]\ntype = 'cron'\ncron = '0 * * * *'\nprompt = 'hi'\n";
    let story = Story::new(&format!("{}{cron}", every_5m("look", "prompt = 'x'"))).await;
    story.tick(0).await;
    for minute in [3000, 3001] {
        story.tick(minute).await;
        assert_eq!(story.all_jobs().await.len(), 2, "one of each schedule");
    }
}

#[tokio::test]
async fn a_schedule_has_one_job_at_a_time_and_says_so() {
    let story = Story::new(&every_5m("look", "prompt = 'x'")).await;
    story.tick(0).await;
    story.tick(5).await;
    let job = story.open_job().await;
    story.tick(10).await;
    assert_eq!(story.open_job().await.id, job.id);
    let still_at_it = Facts.idle(&Idle::StillAtIt(job.id.clone()));
    assert_eq!(story.report("look").await, (RunOutcome::Skipped, still_at_it));
    assert_eq!(story.listed("look").await.schedule.planned_at, Some(at(15)));
    story.end(&job, JobStatus::Completed, |_| {}).await;
    story.tick(15).await;
    assert_ne!(story.open_job().await.id, job.id);
}

#[tokio::test]
async fn of_two_daemons_on_one_home_one_starts_it() {
    let configured = every_5m("look", "prompt = 'x'");
    let story = Story::new(&configured).await;
    let home = story.app.sandbox().spinney_home();
    let other = engine(&story.app, &home, &configured, "", None).await;
    story.tick(0).await;
    let (mine, others) = (story.schedules(), schedules(&other));
    for _ in 0..5 {
        let (one, two) = tokio::join!(mine.tick(at(5)), others.tick(at(5)));
        one.unwrap();
        two.unwrap();
    }
    assert_eq!(story.all_jobs().await.len(), 1);
}

#[tokio::test]
async fn one_that_resumes_has_one_lasting_work() {
    let story = Story::new(&every_5m("look", "prompt = 'x'\nresume_session = true")).await;
    story.tick(0).await;
    for minute in [5, 10] {
        story.tick(minute).await;
        let job = story.open_job().await;
        assert_eq!(job.work.to_string(), "task schedule-coder.look");
        story.end(&job, JobStatus::Completed, |_| {}).await;
    }
}

#[tokio::test]
async fn another_interval_counts_at_once() {
    let story = Story::new("[agents.coder.schedules.look]\ninterval = '1d'\nprompt = 'x'").await;
    story.tick(0).await;
    let home = story.app.sandbox().spinney_home();
    let changed = engine(&story.app, &home, &every_5m("look", "prompt = 'x'"), "", None).await;
    schedules(&changed).tick(at(1)).await.unwrap();
    schedules(&changed).tick(at(6)).await.unwrap();
    assert_eq!(story.all_jobs().await.len(), 1);
}
