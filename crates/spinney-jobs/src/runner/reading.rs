//! Read-only work: a job whose agent needs no isolation reads in a checkout of base that others read in too. It has no branch,
//! delivers nothing and tears nothing down.

use spinney_core::JobPhase;
use spinney_core::variables::WorkspaceFacts;

use super::setup::{JobPlace, Notes};
use super::{End, Run, Step};
use crate::runner::control::Stop;
use crate::told::{Detail, Warning};

impl Run<'_> {
    /// Gives a job that only reads its place.
    pub(super) async fn reading_place(&mut self) -> Step<JobPlace> {
        self.begin(JobPhase::SetUp);
        let engine = self.jobs.engine;
        let context = engine.find_context(Some(&self.job.repository.to_string()), engine.home().root()).await?;
        let mut settings = self.workspace_settings();
        settings.base = self.job.request.base.clone().or(settings.base);
        let context = context.for_agent(self.agent.name.clone(), settings);
        let control = self.control.clone();
        let notes = Notes::default();
        let observer = notes.observer();
        let read = tokio::select! {
            read = engine.read_base(context, &observer) => Ok(read?),
            stop = control.more_than(Stop::No) => Err(stop),
        };
        drop(observer);
        self.tell_all(notes);
        let (context, reading) = match read {
            Ok(read) => read,
            Err(stop) => {
                // What was begun is undone, as after a death.
                engine.recover(&|_| {}).await?;
                return Err(End::Stopped(stop));
            }
        };
        self.context = context;
        let workspace = &reading.workspace;
        let (base, commit) = (workspace.base_branch.clone(), workspace.base_commit.clone());
        self.begin_with(JobPhase::SetUp, &Detail::Reads { base, commit });
        self.job.outcome.base_commit = Some(workspace.base_commit.clone());
        self.job.outcome.branch = None;
        let executor = engine.executor(Some(workspace));
        let path = executor.path_inside(&workspace.path);
        let root = executor.path_inside(self.context.place());
        let name = self.job.work.workspace_name();
        let told = WorkspaceFacts {
            path: &path,
            branch: "",
            base_branch: workspace.base_branch.as_ref().map_or("", |branch| branch.as_str()),
            name: name.as_str(),
            item: &self.job.work.key,
            title: self.job.title.as_deref().unwrap_or_default(),
            root: &root,
            strategy: "reading",
        };
        let variables = told.variables();
        let directory = self.start_in(&workspace.path);
        Ok(JobPlace::reading(directory, reading, variables, executor))
    }

    /// Reports by path what changed in the checkout that the job reads in.
    pub(super) async fn note_changes(&mut self, place: &JobPlace) {
        let Some(reading) = place.as_reading() else { return };
        let told = match self.jobs.engine.load_changes_in(&self.context, reading).await {
            Ok(told) => told,
            Err(error) => return self.warn(&Warning::ReadingUnseen(error.into())),
        };
        if told.is_empty() {
            return;
        }
        let workspace = reading.workspace.name.clone();
        self.warn(&Warning::ReadingChanged { paths: told.clone(), workspace });
        let escaped = &mut self.job.outcome.escaped;
        let news: Vec<_> = told.into_iter().filter(|path| !escaped.contains(path)).collect();
        escaped.extend(news);
    }

    /// Lets the checkout go that the job read in.
    pub(super) async fn stop_reading(&mut self, place: JobPlace) {
        let Some(reading) = place.into_reading() else { return };
        let notes = Notes::default();
        let stopped = self.jobs.engine.stop_reading(&self.context, reading, &notes.observer()).await;
        self.tell_all(notes);
        if let Err(error) = stopped {
            self.warn(&Warning::ReadingStays(error.into()));
        }
    }
}
