//! A repository with schedules, and a daemon's eye on them.

use std::io;
use std::path::Path;
use std::process::Child;
use std::sync::Arc;
use std::time::Duration;

use spinney_core::config::Layers;
use spinney_core::{Job, JobStatus, Timestamp};
use spinney_engine::{Engine, EngineOptions};
use spinney_jobs::schedules::{Listed, Report, RunOutcome, Schedules, Selector};
use spinney_jobs::told::Facts;
use spinney_jobs::{Chore, JobStart, Jobs, Launcher, StartedJob};
use spinney_testkit::{Sandbox, TestForge, TestRepository};

/// When it all begins.
pub const START: i64 = 1_772_000_040_000;
pub const LINK: &str = "https://spinney.example";

/// Where the remote seems to be: the forge's API is on the same host.
const URL: &str = "http://127.0.0.1/acme/app.git";

pub fn at(minute: i64) -> Timestamp {
    Timestamp::from_millisecond(START + minute * 60_000)
}

pub struct Story {
    pub app: TestRepository,
    pub engine: Engine,
}

impl Story {
    /// The operator's agent `coder` works on the repository, and has these schedules.
    pub async fn new(schedules: &str) -> Self {
        Self::with(schedules, "").await
    }

    /// With further sections.
    pub async fn with(schedules: &str, sections: &str) -> Self {
        let app = Sandbox::new().repository("app").with_remote();
        let engine = engine(&app, &app.sandbox().spinney_home(), schedules, sections, None).await;
        engine.find_context(None, app.path()).await.unwrap();
        Self { app, engine }
    }

    /// Its repository is on a forge.
    pub async fn on(forge: &TestForge, schedules: &str) -> Self {
        let app = Sandbox::new().repository("app").with_remote();
        app.git(&["remote", "set-url", "origin", URL]);
        let home = app.sandbox().spinney_home();
        let engine = engine(&app, &home, schedules, &forge_section(forge), Some(forge)).await;
        engine.find_context(None, app.path()).await.unwrap();
        Self { app, engine }
    }

    pub fn schedules(&self) -> Schedules<'_> {
        schedules(&self.engine)
    }

    pub fn jobs(&self) -> Jobs<'_> {
        jobs(&self.engine)
    }

    pub async fn tick(&self, minute: i64) -> Timestamp {
        self.schedules().tick(at(minute)).await.unwrap()
    }

    /// Every job, oldest first.
    pub async fn all_jobs(&self) -> Vec<Job> {
        all_jobs(&self.engine).await
    }

    /// The schedule's jobs that have not ended.
    pub async fn open_job(&self) -> Job {
        let mut jobs = self.all_jobs().await;
        jobs.retain(|job| !job.status.is_final());
        assert_eq!(jobs.len(), 1, "{jobs:#?}");
        jobs.remove(0)
    }

    /// Ends a job as its process would.
    pub async fn end(&self, job: &Job, status: JobStatus, change: impl FnOnce(&mut Job)) {
        end(&self.engine, job, status, change).await;
    }

    pub async fn listed(&self, name: &str) -> Listed {
        let mut listed = self.schedules().list().await.unwrap().schedules;
        listed.retain(|listed| listed.schedule.key.name.as_str() == name);
        listed.pop().unwrap_or_else(|| panic!("`{name}` is not listed"))
    }

    pub async fn report(&self, name: &str) -> (RunOutcome, String) {
        let report = Report::read(&self.listed(name).await.schedule.last_report).unwrap();
        (report.outcome, report.message.unwrap_or_default())
    }
}

/// Another engine, with a home of its own or the same.
pub async fn engine(
    app: &TestRepository,
    home: &Path,
    schedules: &str,
    sections: &str,
    forge: Option<&TestForge>,
) -> Engine {
    let token = forge.map(|forge| ("GITHUB_TOKEN", forge.token()));
    engine_with(app, home, schedules, sections, token).await
}

/// With a token.
pub async fn engine_with(
    app: &TestRepository,
    home: &Path,
    schedules: &str,
    sections: &str,
    token: Option<(&str, &str)>,
) -> Engine {
    let path = app.path();
    let text = format!(
        "[agents.coder]\nruntime = 'command'\ncommand = ['true']\nmax_attempts = 1\nworking_directory = {path:?}\n{schedules}\n{sections}"
    );
    let mut layers = Layers::of(spinney_engine::schema());
    layers.file("config.toml".as_ref(), &text).unwrap();
    let mut environment = app.sandbox().environment();
    environment.extend(token.map(|(name, value)| (name.into(), value.into())));
    let options = EngineOptions { home: home.to_owned(), account: "local".to_owned(), layers, environment };
    Engine::open(options).await.unwrap()
}

pub fn forge_section(forge: &TestForge) -> String {
    format!("[forge.github]\napi_url = {:?}\n", forge.api_url())
}

/// The processes of jobs end at once, without a word.
#[derive(Debug)]
struct Stillborn;

impl Launcher for Stillborn {
    fn start_job(&self, _: &Engine, _: JobStart<'_>) -> io::Result<()> {
        Ok(())
    }

    fn start_supervisor(&self, _: &Engine, _: std::fs::File) -> io::Result<()> {
        Ok(())
    }

    fn environment(&self, _: &Engine) -> spinney_jobs::Variables {
        spinney_jobs::Variables::new()
    }

    fn start_chore(&self, _: &Engine, _: Chore<'_>) -> io::Result<Child> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn job_of(&self, _: &[&[u8]]) -> Option<StartedJob> {
        None
    }
}

pub fn jobs(engine: &Engine) -> Jobs<'_> {
    Jobs::open(engine, Arc::new(Stillborn), Arc::new(Facts)).unwrap()
}

pub fn schedules(engine: &Engine) -> Schedules<'_> {
    Schedules::new(jobs(engine), Some(LINK))
}

pub async fn all_jobs(engine: &Engine) -> Vec<Job> {
    let mut jobs = jobs(engine).list(None, JobStatus::ALL, 100).await.unwrap();
    jobs.reverse();
    jobs
}

pub async fn end(engine: &Engine, job: &Job, status: JobStatus, change: impl FnOnce(&mut Job)) {
    let mut ended = Job { status, ended_at: Some(Timestamp::now()), ..job.clone() };
    change(&mut ended);
    assert!(engine.store().read().await.unwrap().update_job(&ended, job.status).await.unwrap());
}

/// Calls the processes of jobs dead that are.
pub async fn bury(jobs: &Jobs<'_>) {
    let deadline = std::time::Instant::now() + Duration::from_secs(30);
    while jobs.recover().await.unwrap().is_empty() {
        assert!(std::time::Instant::now() < deadline, "no job died");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

pub fn which(name: &str) -> Selector {
    Selector { agent: "coder".parse().unwrap(), name: name.parse().unwrap(), repository: None }
}

/// A schedule of the agent.
pub fn every_5m(name: &str, more: &str) -> String {
    format!("[agents.coder.schedules.{name}]\ninterval = '5m'\n{more}\n")
}
