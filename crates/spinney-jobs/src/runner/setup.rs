//! Gives a job its place: a workspace by the engine, a checkout to read in, or a directory as it is.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use spinney_core::config::{BranchValues, Fetch};
use spinney_core::variables::WorkspaceFacts;
use spinney_core::{
    BranchName, JobEvent, JobPhase, JobRequest, Method, Platform, Stream, Timestamp, Work, WorkKind, Workspace,
};
use spinney_engine::executor::Executor;
use spinney_engine::notice::Notice;
use spinney_engine::{Reading, Request, Resolution, Within};

use super::{End, Run, Step};
use crate::Sink;
use crate::runner::control::Stop;
use crate::told::{Detail, Failure, Warning};

/// Where a job's work is done.
#[derive(Debug)]
pub(crate) struct JobPlace {
    directory: PathBuf,
    held: Held,
    variables: Vec<(OsString, OsString)>,
    executor: Arc<dyn Executor>,
}

/// What a job has of its place.
#[derive(Debug)]
enum Held {
    /// A workspace of its own.
    Workspace(Box<Workspace>),
    /// The right to read where others may read too; nothing is delivered from there.
    Reading(Box<Reading>),
    /// A directory as it is.
    Directory,
}

impl JobPlace {
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The same, as the programs that run there name it.
    pub(super) fn inside(&self) -> PathBuf {
        self.executor.path_inside(&self.directory)
    }

    /// What runs programs there.
    pub(super) fn executor(&self) -> &Arc<dyn Executor> {
        &self.executor
    }

    pub(super) fn reading(
        directory: PathBuf,
        reading: Reading,
        variables: Vec<(OsString, OsString)>,
        executor: Arc<dyn Executor>,
    ) -> Self {
        Self { directory, held: Held::Reading(Box::new(reading)), variables, executor }
    }

    /// Where git has something of it; none where the work is done in a directory as it is.
    pub(super) fn row(&self) -> Option<&Workspace> {
        match &self.held {
            Held::Workspace(workspace) => Some(workspace),
            Held::Reading(reading) => Some(&reading.workspace),
            Held::Directory => None,
        }
    }

    /// The workspace that is this job's alone.
    pub(super) fn workspace(&self) -> Option<&Workspace> {
        match &self.held {
            Held::Workspace(workspace) => Some(workspace),
            Held::Reading(_) | Held::Directory => None,
        }
    }

    pub(super) fn as_reading(&self) -> Option<&Reading> {
        match &self.held {
            Held::Reading(reading) => Some(reading),
            Held::Workspace(_) | Held::Directory => None,
        }
    }

    pub(super) fn into_reading(self) -> Option<Reading> {
        match self.held {
            Held::Reading(reading) => Some(*reading),
            Held::Workspace(_) | Held::Directory => None,
        }
    }

    /// What names the place among those that jobs have to themselves; none for a shared one.
    pub(super) fn name(&self) -> Option<String> {
        match &self.held {
            Held::Workspace(workspace) => Some(workspace.id.to_string()),
            Held::Reading(_) => None,
            Held::Directory => Some(format!("directory {}", self.directory.display())),
        }
    }

    pub(super) fn variables(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }
}

/// What the engine told, until it can be written.
#[derive(Debug, Default)]
pub(super) struct Notes(Mutex<Vec<Notice>>);

impl Notes {
    pub(super) fn observer(&self) -> impl Fn(Notice) + Send + Sync {
        |notice| self.0.lock().unwrap_or_else(PoisonError::into_inner).push(notice)
    }
}

impl Run<'_> {
    pub(super) async fn set_up(&mut self) -> Step<JobPlace> {
        if self.agent.is_static() {
            return self.static_place();
        }
        if self.job.request.reads {
            return self.reading_place().await;
        }
        self.begin(JobPhase::SetUp);
        let engine = self.jobs.engine;
        let context = engine.find_context(Some(&self.job.repository.to_string()), engine.home().root()).await?;
        let context = context.for_agent(self.agent.name.clone(), self.workspace_settings());
        let at = Timestamp::now();
        let done = self.jobs.load_done_of_batch(&self.job).await?;
        self.tried =
            Some(spinney_core::TriedRoom { at_ms: at.as_millisecond(), again_at_ms: None, done: done.clone() });
        let request = Request { done, within: self.within().await?, ..self.request()? };
        let control = self.control.clone();
        let notes = Notes::default();
        let observer = notes.observer();
        let resolved = tokio::select! {
            resolved = engine.resolve(context, &request, &observer) => Ok(resolved.map_err(not_of_parent)?),
            stop = control.more_than(Stop::No) => Err(stop),
        };
        drop(observer);
        self.tell_all(notes);
        let (context, mut resolution) = match resolved {
            Ok(resolved) => resolved,
            Err(stop) => {
                // What was begun is undone, as after a death.
                engine.recover(&|_| {}).await?;
                return Err(End::Stopped(stop));
            }
        };
        engine.touch(&resolution.workspace).await?;
        // Who delivers it has it alone until that is over.
        if engine.is_under_delivery(&resolution.workspace).await? {
            let workspace = resolution.workspace.name.clone();
            self.begin_with(JobPhase::Waiting, &Detail::Delivered { workspace });
            let control = self.control.clone();
            tokio::select! {
                waited = engine.wait_for_delivery(&resolution.workspace) => waited?,
                stop = control.more_than(Stop::No) => return Err(End::Stopped(stop)),
            }
        }
        if resolution.method == Method::Created
            && let Err(error) = self.jobs.refill_pool(&self.context).await
        {
            self.warn(&Warning::PoolUnfilled(error.into()));
        }
        self.context = context;
        if resolution.method != Method::Created {
            resolution.workspace = self.return_to_branch(resolution.workspace).await?;
        }
        self.job.outcome.base_commit = Some(resolution.workspace.base_commit.clone());
        self.job.outcome.branch = Some(resolution.workspace.branch.to_string());
        self.job.outcome.method.get_or_insert(resolution.method);
        self.begin_with(JobPhase::SetUp, &placed(&resolution));
        let variables = engine.workspace_variables(&self.context, &resolution.workspace).await?;
        let workspace = resolution.workspace;
        let directory = self.start_in(&workspace.path);
        let executor = engine.executor(Some(&workspace));
        Ok(JobPlace { directory, held: Held::Workspace(Box::new(workspace)), variables, executor })
    }

    /// A job that the agent of another one asked for works in a workspace that is made for it, or was made for another such
    /// job of the same agent, and never in anybody else's.
    async fn within(&self) -> Step<Option<Within>> {
        let Some(parent) = &self.job.parent else { return Ok(None) };
        let siblings = self.jobs.children(parent).await?.into_iter();
        let made = siblings.filter(|job| job.outcome.method == Some(Method::Created));
        let ids = made.filter_map(|job| job.workspace_id).collect();
        // Where a try died, the next one finds what it made.
        let since = (self.job.attempt > 1).then_some(self.job.created_at);
        Ok(Some(Within { ids, since }))
    }

    /// The part of a tree that the agent starts in; one that this commit does not have is no place to start in.
    pub(super) fn start_in(&self, tree: &Path) -> PathBuf {
        let part = self.agent.subdirectory(&self.context).map(|part| tree.join(part));
        part.filter(|part| part.is_dir()).unwrap_or_else(|| tree.to_owned())
    }

    /// A directory as it is: no branch, no push, no teardown.
    fn static_place(&mut self) -> Step<JobPlace> {
        let directory = self.agent.directory(&self.context);
        if !directory.is_dir() {
            return Err(End::failed(Failure::NoDirectory(directory)));
        }
        self.begin_with(JobPhase::SetUp, &Detail::Directory(directory.clone()));
        let name = self.job.work.workspace_name();
        let executor = self.jobs.engine.executor(None);
        let path = executor.path_inside(&directory);
        let root = executor.path_inside(self.context.place());
        let told = WorkspaceFacts {
            path: &path,
            branch: "",
            base_branch: "",
            name: name.as_str(),
            item: &self.job.work.key,
            title: self.job.title.as_deref().unwrap_or_default(),
            root: &root,
            strategy: "static",
        };
        let variables = told.variables();
        Ok(JobPlace { directory, held: Held::Directory, variables, executor })
    }

    pub(super) fn workspace_settings(&self) -> spinney_core::config::WorkspaceConfig {
        let mut settings = self.agent.config.workspace.settings.clone();
        if !self.agent.config.workspace.fetch_before_setup {
            settings.fetch = Fetch::Never;
        }
        if let Some(branch) = &self.agent.config.working_directory.default_branch {
            settings.base.get_or_insert_with(|| branch.clone());
        }
        settings
    }

    fn request(&self) -> Step<Request> {
        let mut request = request_of(&self.job.work, &self.job.request, self.job.trigger);
        request.title = self.job.title.clone();
        request.job = Some(self.job.id.clone());
        request.pattern = self.branch_by_pattern()?;
        Ok(request)
    }

    /// The branch's name by the agent's pattern, for the kinds of work whose branch is ours to name.
    fn branch_by_pattern(&self) -> Step<Option<BranchName>> {
        if matches!(self.job.work.kind, WorkKind::Pr | WorkKind::Review) {
            return Ok(None);
        }
        let rand = spinney_core::JobId::generate();
        let values = BranchValues {
            agent: &self.agent.name,
            work: Some(&self.job.work),
            job_id: self.job.id.as_str(),
            schedule: self.job.request.schedule.as_ref().map(spinney_core::ScheduleName::as_str),
            at: self.job.created_at,
            rand: &rand.as_str()[..4],
        };
        let pattern = &self.agent.config.workspace.branch_pattern;
        pattern.render(&values).map(Some).map_err(|error| End::failed(Failure::NoBranch(error)))
    }

    pub(super) fn tell_all(&mut self, notes: Notes) {
        notes.0.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().for_each(|notice| self.tell(notice));
    }

    /// Writes what the engine told into the log.
    fn tell(&mut self, notice: Notice) {
        match notice {
            Notice::Phase(_) => {}
            Notice::SetupOutput(text) => {
                self.log.emit(JobEvent::Output { stream: Stream::Stdout, text, cut_bytes: 0 });
            }
            Notice::Warning(warning) => {
                let advice = warning.advice().into_iter().collect();
                self.warn_advised(&Warning::Engine(warning), advice);
            }
        }
    }
}

/// What a job asks the engine for, by its work and hints.
pub(crate) fn request_of(work: &Work, hints: &JobRequest, platform: Platform) -> Request {
    let hints = hints.clone();
    let mut request = Request::new(work.clone());
    request.base = hints.base;
    request.branch = hints.branch;
    request.head = hints.head;
    request.sha = hints.sha;
    request.fork = hints.fork;
    request.setup = hints.setup;
    request.links = hints.links;
    request.suggest = hints.suggest;
    request.conversation = hints.conversation;
    request.platform = platform;
    request
}

/// How the workspace came to be the answer.
fn placed(resolution: &Resolution) -> Detail {
    let Resolution { workspace, method, set_up_at, .. } = resolution;
    let start = resolution.started_from.clone().zip(resolution.start.clone());
    Detail::Placed {
        workspace: workspace.name.clone(),
        method: *method,
        branch: workspace.branch.clone(),
        base: workspace.base_branch.clone(),
        base_commit: workspace.base_commit.clone(),
        start: start.filter(|(_, commit)| *commit != workspace.base_commit),
        is_warm: set_up_at.is_some(),
    }
}

/// Why a workspace is not had, for the job of a parent.
fn not_of_parent(error: spinney_engine::Error) -> End {
    match error {
        spinney_engine::Error::OfOthers { name } => End::failed(Failure::NotOfParent { workspace: name }),
        other => other.into(),
    }
}
