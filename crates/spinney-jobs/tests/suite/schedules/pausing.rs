//! What a person, or failing again and again, does to a schedule.

use spinney_core::config::Layers;
use spinney_core::{Actor, Event, JobStatus};
use spinney_engine::{Engine, EngineOptions};
use spinney_jobs::Error;
use spinney_jobs::schedules::RunOutcome;
use spinney_jobs::told::{Facts, Words};
use spinney_testkit::Sandbox;

use crate::schedules::story::{Story, at, bury, every_5m, which};

#[tokio::test]
async fn what_keeps_failing_is_paused_and_says_why() {
    let story = Story::new(&every_5m("look", "prompt = 'x'")).await;
    story.tick(0).await;
    for run in 1..=5 {
        story.tick(5 * run).await;
        if run == 2 {
            // Its process dies, however often it is started.
            loop {
                bury(&story.jobs()).await;
                let died = story.all_jobs().await.into_iter().find(|job| job.status == JobStatus::Interrupted).unwrap();
                if !story.jobs().may_resume(&died).await {
                    break;
                }
                story.jobs().resume(&died).await.unwrap();
            }
        } else {
            let job = story.open_job().await;
            story.end(&job, JobStatus::Failed, |job| job.outcome.error = Some(format!("no {run}"))).await;
        }
        story.tick(5 * run).await;
        let schedule = story.listed("look").await.schedule;
        assert_eq!((i64::from(schedule.failures), schedule.paused), (run, run == 5), "{schedule:?}");
    }
    let schedule = story.listed("look").await.schedule;
    assert_eq!(schedule.pause_reason.as_deref(), Some(Facts.pause(5, Some("no 5")).as_str()));
    assert_eq!(story.tick(100).await, at(101));
    assert_eq!(story.all_jobs().await.len(), 5, "it is not started any more");

    let resumed = story.schedules().resume(&which("look")).await.unwrap().schedule;
    assert_eq!((resumed.paused, resumed.failures, resumed.pause_reason), (false, 0, None));
    let mut events = story.engine.store().read().await.unwrap().events("local", 0, 1000).await.unwrap();
    let by_schedule = Actor::Schedule { agent: Some("coder".parse().unwrap()), name: "look".parse().unwrap() };
    let created = events.iter().filter(|(_, event)| matches!(event.event, Event::JobCreated { .. }));
    assert!(created.clone().count() == 5 && created.map(|(_, event)| &event.actor).all(|actor| *actor == by_schedule));
    events.retain(|(_, event)| event.event.kind().starts_with("schedule."));
    let told: Vec<_> = events.iter().map(|(_, event)| event.event.parts()).collect();
    let detail = |reason: Option<String>| serde_json::json!({ "agent": "coder", "name": "look", "reason": reason });
    let paused = detail(schedule.pause_reason.clone());
    assert_eq!(told, [("schedule.paused".to_owned(), paused), ("schedule.resumed".to_owned(), detail(None))]);
    assert_eq!(events[0].1.repository_id, schedule.key.repository_id);
    assert!(resumed.planned_at > Some(spinney_core::Timestamp::now()), "it is planned from now on");
}

#[tokio::test]
async fn a_success_forgives_and_a_cancelled_job_counts_for_nothing() {
    let story = Story::new(&every_5m("look", "prompt = 'x'")).await;
    story.tick(0).await;
    let ends = [(JobStatus::Failed, 1), (JobStatus::TimedOut, 2), (JobStatus::Cancelled, 2), (JobStatus::Completed, 0)];
    for (run, (status, failures)) in (1..).zip(ends) {
        story.tick(5 * run).await;
        let job = story.open_job().await;
        story.end(&job, status, |_| {}).await;
        story.tick(5 * run).await;
        assert_eq!(story.listed("look").await.schedule.failures, failures, "{status}");
    }
}

#[tokio::test]
async fn a_person_pauses_resumes_and_runs_it_now() {
    let story = Story::new(&every_5m("look", "prompt = 'x'")).await;
    let schedules = story.schedules();
    let paused = schedules.pause(&which("look"), "for the holidays").await.unwrap().schedule;
    assert_eq!(paused.pause_reason.as_deref(), Some("for the holidays"));
    story.tick(1_000_000_000).await;
    assert!(story.all_jobs().await.is_empty());

    schedules.run_now(&which("look")).await.unwrap();
    story.tick(0).await;
    story.tick(0).await;
    let job = story.open_job().await;
    story.end(&job, JobStatus::Completed, |_| {}).await;
    story.tick(1).await;
    let schedule = story.listed("look").await.schedule;
    assert!(schedule.paused && schedule.last_status == Some(JobStatus::Completed), "it ran once and is paused still");
    assert_eq!(story.all_jobs().await.len(), 1);

    let error = schedules.run_now(&which("nothing")).await.unwrap_err();
    assert!(matches!(error, Error::UnknownSchedule { .. }), "{error}");
}

#[tokio::test]
async fn a_job_that_can_not_be_had_is_a_failure_and_says_why() {
    let settings = "[agents.broken]\nruntime = 'nonesuch'\nworking_directory = 'PATH'\n[agents.broken.schedules.s]\nprompt = 'x'\n";
    let story = Story::new(&every_5m("look", "prompt = 'x'")).await;
    let home = story.app.sandbox().spinney_home();
    let settings = settings.replace("PATH", story.app.path().to_str().unwrap());
    let configured = format!("{}{settings}", every_5m("look", "prompt = 'x'"));
    let engine = crate::schedules::story::engine(&story.app, &home, &configured, "", None).await;
    let schedules = crate::schedules::story::schedules(&engine);
    schedules.tick(at(0)).await.unwrap();
    schedules.tick(at(5)).await.unwrap();
    assert_eq!(story.all_jobs().await.len(), 1, "the other one runs");
    let listed = schedules.list().await.unwrap().schedules;
    let broken = listed.iter().find(|listed| listed.schedule.key.name.as_str() == "s").unwrap();
    let report = spinney_jobs::schedules::Report::read(&broken.schedule.last_report).unwrap();
    assert_eq!((report.outcome, broken.schedule.failures), (RunOutcome::Failed, 1));
    assert!(report.message.unwrap().contains("`nonesuch` is none of"), "{broken:?}");
    assert_eq!(broken.schedule.last_job_id, None);
}

#[tokio::test]
async fn a_job_that_a_daemon_takes_up_again_is_no_failure_yet() {
    let app = Sandbox::new().repository("app").with_remote();
    let schedule = every_5m("look", "prompt = 'x'");
    let text = format!(
        "[agents.coder]\nruntime = 'command'\ncommand = ['true']\nmax_attempts = 2\nworking_directory = {:?}\n{schedule}",
        app.path()
    );
    let mut layers = Layers::of(spinney_engine::schema());
    layers.file("config.toml".as_ref(), &text).unwrap();
    let (home, environment) = (app.sandbox().spinney_home(), app.sandbox().environment());
    let options = EngineOptions { home, account: "local".to_owned(), layers, environment };
    let story = Story { engine: Engine::open(options).await.unwrap(), app };
    story.tick(0).await;
    story.tick(5).await;
    // One that dies before it begins is started three times.
    for died in 1..=3 {
        bury(&story.jobs()).await;
        story.tick(10).await;
        let [job] = story.all_jobs().await.try_into().unwrap();
        let schedule = story.listed("look").await.schedule;
        let is_over = died == 3;
        assert_eq!(schedule.last_status.is_some_and(JobStatus::is_final), is_over, "{schedule:?}");
        assert_eq!((schedule.failures, story.jobs().may_resume(&job).await), (u32::from(is_over), !is_over));
        if !is_over {
            story.jobs().resume(&job).await.unwrap();
        }
    }
}
