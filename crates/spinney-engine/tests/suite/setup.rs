//! A repository that a person works in, and an engine beside it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use spinney_core::config::Layers;
use spinney_core::{Cancel, Job, JobId, JobRequest, JobStatus, Outcome, Platform, Timestamp, Work, Workspace};
use spinney_engine::{Context, Engine, EngineOptions, Request, Result};
use spinney_testkit::{GitWrapper, Sandbox, TestRepository};

pub struct Story {
    pub engine: Engine,
    pub app: TestRepository,
}

impl Story {
    /// A repository `app` with a remote.
    pub async fn new() -> Self {
        Self::of(Sandbox::new().repository("app").with_remote()).await
    }

    pub async fn of(app: TestRepository) -> Self {
        let engine = Self::engine(&app).await;
        Self { engine, app }
    }

    /// With a program of ours before the real git.
    pub async fn with_git(wrapper: &GitWrapper) -> Self {
        let app = Sandbox::new().repository("app").with_remote();
        let mut environment = app.sandbox().environment();
        let path = environment.iter_mut().find(|(key, _)| key == "PATH").unwrap();
        let places = std::iter::once(wrapper.directory().to_owned()).chain(std::env::split_paths(&path.1));
        path.1 = std::env::join_paths(places.collect::<Vec<_>>()).unwrap();
        Self { engine: Self::engine_in(&app, environment).await, app }
    }

    /// Another engine on the same home, as another process has.
    pub async fn engine(app: &TestRepository) -> Engine {
        Self::engine_in(app, app.sandbox().environment()).await
    }

    async fn engine_in(app: &TestRepository, environment: Vec<(OsString, OsString)>) -> Engine {
        let home = app.sandbox().spinney_home();
        let options = EngineOptions { home, account: "local".to_owned(), layers: Layers::new(), environment };
        Engine::open(options).await.unwrap()
    }

    pub async fn context(&self) -> Context {
        self.engine.find_context(None, self.app.path()).await.unwrap()
    }

    /// Resolves a request to its workspace.
    pub async fn make(&self, request: &Request) -> Workspace {
        self.try_make(request).await.unwrap()
    }

    pub async fn try_make(&self, request: &Request) -> Result<Workspace> {
        let (_, resolution) = self.engine.resolve(self.context().await, request, &|_| {}).await?;
        Ok(resolution.workspace)
    }

    /// Records a job that runs in a workspace.
    pub async fn run_job(&self, workspace: &Workspace) -> Job {
        let job = Job {
            id: JobId::generate(),
            account: "local".into(),
            node: workspace.node.clone(),
            repository_id: workspace.repository_id.clone(),
            repository: workspace.repository.clone(),
            agent: "coder".into(),
            work: workspace.work.clone(),
            title: None,
            prompt: String::new(),
            trigger: Platform::Cli,
            status: JobStatus::Running,
            waits_for: None,
            cancel: Cancel::No,
            attempt: 1,
            place: Some(workspace.id.to_string()),
            workspace_id: Some(workspace.id.clone()),
            parent: None,
            awaits_until: None,
            request: JobRequest::default(),
            outcome: Outcome::default(),
            created_at: Timestamp::now(),
            started_at: Some(Timestamp::now()),
            ended_at: None,
        };
        let mut db = self.engine.store().write().await.unwrap();
        db.insert_job(&job).await.unwrap();
        db.commit().await.unwrap();
        job
    }

    pub async fn end_job(&self, job: &Job) {
        let mut db = self.engine.store().write().await.unwrap();
        let ended = Job { status: JobStatus::Completed, ..job.clone() };
        assert!(db.update_job(&ended, JobStatus::Running).await.unwrap());
        db.commit().await.unwrap();
    }

    /// Commits a file in a workspace, as an agent does; gives the commit.
    pub fn commit(&self, workspace: &Workspace, file: &str) -> spinney_core::CommitId {
        std::fs::write(workspace.path.join(file), "x").unwrap();
        self.git(&workspace.path, &["add", file]);
        self.git(&workspace.path, &["commit", "--quiet", "-m", file]);
        self.git(&workspace.path, &["rev-parse", "HEAD"]).parse().unwrap()
    }

    pub fn git(&self, directory: &Path, arguments: &[&str]) -> String {
        self.app.sandbox().git(directory, arguments)
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.app.path().join(name)
    }
}

/// A request for an issue, with a name from a pattern.
pub fn patterned(number: u64, pattern: &str) -> Request {
    Request { pattern: Some(pattern.parse().unwrap()), ..Request::new(Work::issue(number)) }
}
