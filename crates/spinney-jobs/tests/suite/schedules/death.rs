//! A daemon that dies between any two steps: nothing is run twice, and nothing stays claimed by nobody.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use spinney_core::{Job, JobStatus};
use spinney_engine::fail::POINTS;
use spinney_testkit::TestForge;

use crate::schedules::story::{self, Story, at, engine, every_5m, forge_section, schedules};
use crate::schedules::{files, issues};

/// Set for the process that is to die: what it needs to know, a line each.
const TOLD: &str = "SPINNEY_TEST_DEATH";

const NO_TOKEN: &str = "none";

/// A process of its own, that ticks and dies.
#[test]
fn dies() {
    #[expect(clippy::disallowed_methods, reason = "tells a test's own process what to do")]
    let Ok(told) = std::env::var(TOLD) else { return };
    let [point, minute, home, config, token] = told.lines().collect::<Vec<_>>().try_into().unwrap();
    spinney_engine::fail::arm(point);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut layers = spinney_core::config::Layers::of(spinney_engine::schema());
        layers.file("c".as_ref(), &std::fs::read_to_string(config).unwrap()).unwrap();
        let mut environment: Vec<_> = std::env::vars_os().filter(|(name, _)| name != TOLD).collect();
        environment.push(("GITHUB_TOKEN".into(), token.into()));
        let options = spinney_engine::EngineOptions { home: home.into(), account: "local".into(), layers, environment };
        let engine = spinney_engine::Engine::open(options).await.unwrap();
        let jobs = story::jobs(&engine);
        let schedules = spinney_jobs::schedules::Schedules::new(jobs, Some(story::LINK));
        let _ = schedules.tick(at(minute.parse().unwrap())).await;
    });
}

/// Has another process tick, and die there; tells whether it came so far.
fn die_at(story: &Story, point: &str, minute: i64, config: &str, token: &str) -> bool {
    let file = story.app.sandbox().path().join("death.toml");
    std::fs::write(&file, config).unwrap();
    let home = story.app.sandbox().spinney_home();
    let told = format!("{point}\n{minute}\n{}\n{}\n{token}", home.display(), file.display());
    #[expect(clippy::disallowed_methods, reason = "this very test, as a daemon that dies")]
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "schedules::death::dies", "--nocapture"])
        .env_clear()
        .envs(story.app.sandbox().environment());
    command.env(TOLD, told).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().unwrap().signal() == Some(rustix::process::Signal::ABORT.as_raw())
}

fn points() -> impl Iterator<Item = &'static str> {
    let of_a_run = |point: &&'static str| point.starts_with("schedule.") || **point == *"job.recorded";
    POINTS.iter().copied().filter(of_a_run)
}

fn of_settling(point: &str) -> bool {
    matches!(point, "schedule.returned" | "schedule.settled")
}

/// Lets a schedule die at a point, and tells its jobs after all was looked at again by another daemon.
async fn after_a_death(story: &Story, point: &str, config: &str, token: &str) -> Vec<Job> {
    story.tick(0).await;
    if of_settling(point) {
        story.tick(5).await;
        let job = story.open_job().await;
        story.end(&job, JobStatus::Completed, |_| {}).await;
        assert!(die_at(story, point, 6, config, token), "{point} is not passed");
        story.tick(7).await;
        story.tick(10).await;
        return story.all_jobs().await;
    }
    assert!(die_at(story, point, 5, config, token), "{point} is not passed");
    // The daemon comes back, and with it those who settle what died and take up what may be.
    for job in story.jobs().recover().await.unwrap() {
        if story.jobs().may_resume(&job).await {
            story.jobs().resume(&job).await.unwrap();
        }
    }
    story.tick(6).await;
    let jobs = story.all_jobs().await;
    let open = jobs.iter().filter(|job| !job.status.is_final()).count();
    assert!(open <= 1, "{point}: {jobs:#?}");
    if open == 0 {
        // It was interrupted before it began, and is tried again in its time.
        story.tick(10).await;
        story.tick(11).await;
    }
    let job = story.open_job().await;
    story.end(&job, JobStatus::Completed, |_| {}).await;
    story.tick(15).await;
    story.tick(20).await;
    story.all_jobs().await
}

fn completed(jobs: &[Job]) -> usize {
    jobs.iter().filter(|job| job.status == JobStatus::Completed).count()
}

#[tokio::test]
async fn a_task_survives_a_death_at_every_step() {
    for point in points().filter(|point| !matches!(*point, "schedule.commented" | "schedule.labelled")) {
        let (story, directory) = files::story(&[("1.md", "# One")]).await;
        let config = config(&story, &files::configured(&directory), "");
        let jobs = after_a_death(&story, point, &config, NO_TOKEN).await;
        assert_eq!(completed(&jobs), 1, "{point}: {jobs:#?}");
        assert!(jobs.len() <= 2 && jobs.iter().all(|job| job.status.is_final()), "{point}: {jobs:#?}");
        assert_eq!(files::files(&directory), ["done/1.md"], "{point}");
        assert_eq!(claims(&story).await, 0, "{point}");
    }
}

#[tokio::test]
async fn an_issue_survives_a_death_at_every_step() {
    for point in points() {
        let forge = TestForge::github("acme/app");
        let number = forge.add_issue("One", "");
        forge.label_issue(number, &["ready"]);
        let configured = every_5m("issues", issues::SOURCE);
        let story = Story::on(&forge, &configured).await;
        let config = config(&story, &configured, &forge_section(&forge));
        let jobs = after_a_death(&story, point, &config, forge.token()).await;
        assert_eq!(completed(&jobs), 1, "{point}: {jobs:#?}");
        assert!(jobs.len() <= 2 && jobs.iter().all(|job| job.status.is_final()), "{point}: {jobs:#?}");
        assert_eq!(forge.labels(number), Vec::<String>::new(), "{point}");
        let standing = forge.comments(number).iter().filter(|one| one.body.contains("spinney:claim")).count();
        assert_eq!((standing, claims(&story).await), (0, 0), "{point}");
    }
}

#[tokio::test]
async fn a_prompt_survives_a_death_at_every_step() {
    let configured = every_5m("look", "prompt = 'x'");
    for point in ["schedule.taken", "job.recorded"] {
        let story = Story::new(&configured).await;
        let config = config(&story, &configured, "");
        story.tick(0).await;
        assert!(die_at(&story, point, 5, &config, NO_TOKEN), "{point} is not passed");
        story.jobs().recover().await.unwrap();
        story.tick(6).await;
        let jobs = story.all_jobs().await;
        assert_eq!(jobs.len(), 1, "{point}: {jobs:#?}");
    }
}

/// What the dying process is configured with.
fn config(story: &Story, schedules: &str, sections: &str) -> String {
    let path = story.app.path();
    format!(
        "[agents.coder]\nruntime = 'command'\ncommand = ['true']\nmax_attempts = 1\nworking_directory = {path:?}\n{schedules}\n{sections}"
    )
}

async fn claims(story: &Story) -> usize {
    let mut db = story.engine.store().read().await.unwrap();
    db.claims_to_settle("local", story.engine.home().node()).await.unwrap().len()
}

/// The claims of a node that is gone for good are settled by another, once they ran out.
#[tokio::test]
async fn a_claim_of_a_node_that_is_gone_is_settled_by_another() {
    let forge = TestForge::github("acme/app");
    let number = forge.add_issue("One", "");
    forge.label_issue(number, &["ready"]);
    let configured = every_5m("issues", issues::SOURCE);
    let story = Story::on(&forge, &configured).await;
    story.tick(0).await;
    story.tick(5).await;
    let job = story.open_job().await;
    story.end(&job, JobStatus::TimedOut, |_| {}).await;

    let home = story.app.sandbox().path().join("other-home");
    let url = format!("[store]\nurl = 'sqlite:{}'\n", story.engine.home().database().display());
    let sections = format!("{}{url}", forge_section(&forge));
    let other = engine(&story.app, &home, "", &sections, Some(&forge)).await;
    other.find_context(None, story.app.path()).await.unwrap();
    let others = schedules(&other);
    others.tick(at(6)).await.unwrap();
    assert_eq!(forge.labels(number), ["agent-working"], "it is the other node's as long as its lease holds");
    let mut db = story.engine.store().read().await.unwrap();
    db.renew_claims("local", story.engine.home().node(), std::time::Duration::ZERO).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    others.tick(at(7)).await.unwrap();
    assert_eq!(forge.labels(number), ["ready"]);
    assert_eq!(claims(&story).await, 0);
}

/// Who comes second, and dies before it noticed, takes nothing from who came first.
#[tokio::test]
async fn a_daemon_that_dies_with_a_claim_that_never_counted_only_takes_its_own_comment_back() {
    let forge = TestForge::github("acme/app");
    let number = forge.add_issue("One", "");
    forge.label_issue(number, &["ready"]);
    let configured = every_5m("issues", issues::SOURCE);
    let story = Story::on(&forge, &configured).await;
    story.tick(0).await;
    let config = config(&story, &configured, &forge_section(&forge));
    // It has looked, and is about to set the label.
    let gate = forge.hold("POST");
    let first = std::thread::scope(|scope| {
        let first = scope.spawn(|| {
            gate.wait();
            let first = forge.comment(number, "colleague", "MEMBER", "<!-- spinney:claim 0123456789 -->\nmine");
            drop(gate);
            first
        });
        assert!(die_at(&story, "schedule.commented", 5, &config, forge.token()));
        first.join().unwrap()
    });
    assert_eq!(forge.comments(number).len(), 2);
    forge.label_issue(number, &["agent-working"]);
    story.tick(6).await;
    assert_eq!(forge.comments(number).iter().map(|comment| comment.id).collect::<Vec<_>>(), [first]);
    assert_eq!(forge.labels(number), ["agent-working"]);
    assert_eq!(claims(&story).await, 0);
}

/// Who died with a label and without a comment leaves the label to who is at work on the issue by now.
#[tokio::test]
async fn a_daemon_that_dies_before_its_comment_takes_no_label_from_who_has_a_claim() {
    let forge = TestForge::github("acme/app");
    let number = forge.add_issue("One", "");
    forge.label_issue(number, &["ready"]);
    let configured = every_5m("issues", issues::SOURCE);
    let story = Story::on(&forge, &configured).await;
    story.tick(0).await;
    let config = config(&story, &configured, &forge_section(&forge));
    assert!(die_at(&story, "schedule.labelled", 5, &config, forge.token()));
    assert_eq!(forge.labels(number), ["agent-working", "ready"]);
    forge.comment(number, "colleague", "MEMBER", "<!-- spinney:claim 0123456789 -->\nmine");
    story.tick(6).await;
    assert_eq!(forge.labels(number), ["agent-working", "ready"]);
    assert!(story.all_jobs().await.is_empty());
    assert_eq!(claims(&story).await, 0);
}
