//! What can be asked about jobs, from wherever: recorded, started, looked at, cancelled; tried again ([`reopen`]) and, where
//! their processes died, settled ([`settle`]).

pub(crate) mod reopen;
mod settle;

use std::path::PathBuf;
use std::sync::Arc;

use async_recursion::async_recursion as boxed;
use spinney_core::config::WorkingDirectory;
use spinney_core::{
    AgentName, Cancel, Job, JobId, JobRequest, JobStatus, Outcome, Platform, RepositoryId, Session, Timestamp, Work,
    WorkKind,
};
use spinney_engine::{Context, Engine, fail, work_meant};
use spinney_store::{JobFilter, Ownable, Owned};

use crate::launch::Launcher;
use crate::log::LogReader;
use crate::places::Places;
use crate::runner::{queue, setup};
use crate::told::{Failure, Words};
use crate::{Agent, Error, Result, children, events};

/// Jobs of one home, as one account may have them.
#[derive(Debug)]
pub struct Jobs<'e> {
    pub(crate) engine: &'e Engine,
    pub(crate) places: Places,
    pub(crate) launcher: Arc<dyn Launcher>,
    pub(crate) words: Arc<dyn Words>,
}

/// What somebody asks for.
#[derive(Debug, Clone)]
pub struct NewJob {
    /// Chosen by who asks, so that asking again asks for the same job; none: a new one.
    pub id: Option<JobId>,
    pub agent: AgentName,
    /// None: the job is its own work.
    pub work: Option<Work>,
    pub title: Option<String>,
    pub prompt: String,
    pub trigger: Platform,
    pub request: JobRequest,
    /// Whether somebody named the repository, so that the job is for that one or for none. Else it is the one at hand, and
    /// the agent's `working_directory` may lead to another.
    pub names_repository: bool,
}

/// What to do when the same work is being done already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Busy {
    Refuse,
    /// Take the place behind it.
    Wait,
}

/// More than a prompt that a person or a thread wrote.
const MAX_PROMPT_BYTES: usize = 1 << 20;

impl<'e> Jobs<'e> {
    pub fn open(engine: &'e Engine, launcher: Arc<dyn Launcher>, words: Arc<dyn Words>) -> Result<Self> {
        Ok(Self { engine, places: Places::open(engine.home().root())?, launcher, words })
    }

    /// What starts processes for these jobs.
    #[must_use]
    pub fn launcher(&self) -> &dyn Launcher {
        &*self.launcher
    }

    /// Records a job, and starts its process if it can begin at once; else the job waits in the queue.
    #[boxed]
    pub async fn submit(&self, context: Context, new: NewJob, busy: Busy) -> Result<Job> {
        self.submit_of(None, context, new, busy).await
    }

    /// The same for the agent of a running job: it may ask for a few jobs, and those for none.
    pub async fn submit_child(&self, parent: &JobId, context: Context, new: NewJob, busy: Busy) -> Result<Job> {
        self.submit_of(Some(parent), context, new, busy).await
    }

    async fn submit_of(&self, parent: Option<&JobId>, context: Context, new: NewJob, busy: Busy) -> Result<Job> {
        if let Some(id) = &new.id
            && let Some(known) = self.engine.store().read().await?.job(id).await?
        {
            return Ok(known);
        }
        let agent = Agent::find(&context, &new.agent)?;
        if new.prompt.len() > MAX_PROMPT_BYTES {
            return Err(Error::PromptTooLong { bytes: new.prompt.len(), most: MAX_PROMPT_BYTES });
        }
        let configured_in = context.repository.name.clone();
        let (context, clone_url) = self.repository_of(context, &agent, new.names_repository).await?;
        let mut request = new.request;
        request.configured_in = (configured_in != context.repository.name).then_some(configured_in);
        request.max_concurrent = agent.config.max_concurrent;
        let place = agent.static_place(&context).filter(|_| clone_url.is_none());
        request.clone_url = clone_url;
        request.reads = !agent.config.requires_isolation && !agent.is_static();
        let mut work = new.work;
        if let Some(branch) = &request.branch
            && request.clone_url.is_none()
        {
            // The row names the work that its workspace will be for. What is not cloned yet tells its remote later.
            let meant = self.engine.branch_meant(&context, branch).await?;
            work = work.map(|work| work_meant(work, branch, &meant));
        }
        let id = new.id.unwrap_or_else(JobId::generate);
        let work = work.unwrap_or_else(|| Work { kind: WorkKind::Job, key: id.to_string() });
        // Who does not wait for room learns at once that there is none.
        if !request.waits_for_room && !request.reads && place.is_none() && request.clone_url.is_none() {
            let asked = setup::request_of(&work, &request, new.trigger);
            self.engine.require_room(&context, &asked, &|_| {}).await?;
        }
        let mut job = Job {
            account: context.repository.account.clone(),
            node: self.engine.home().node().clone(),
            repository_id: context.repository.id.clone(),
            repository: context.repository.name.clone(),
            agent: new.agent.to_string(),
            work,
            title: new.title,
            prompt: new.prompt,
            trigger: new.trigger,
            status: JobStatus::Pending,
            waits_for: None,
            cancel: Cancel::No,
            attempt: 0,
            place,
            workspace_id: None,
            parent: parent.cloned(),
            awaits_until: None,
            request,
            outcome: Outcome::default(),
            created_at: Timestamp::now(),
            started_at: None,
            ended_at: None,
            id,
        };
        // Nobody else knows the id yet.
        let Some(owned) = self.take(&job.id)? else { return Err(Error::NotEnded { id: job.id, status: job.status }) };
        let inserted = self.insert(&mut job, busy).await;
        if let Err(error) = inserted {
            owned.discard();
            return Err(error);
        }
        fail::point("job.recorded")?;
        self.set_going(&job, owned).await?;
        Ok(job)
    }

    /// The repository that an agent works on: the one at hand, the one that its `working_directory` lies in, or a managed
    /// clone of its `url`. A clone takes long, and is for the job's own process to make: until then, the repository at hand
    /// stands for it, and the URL says so. An error where the repository was named, and the agent works on another.
    async fn repository_of(
        &self,
        context: Context,
        agent: &Agent,
        is_named: bool,
    ) -> Result<(Context, Option<String>)> {
        if is_named {
            agent.check_repository(&context)?;
        }
        let directory = &agent.config.working_directory;
        if let Some(url) = &directory.url {
            return Ok(match self.known_clone(&agent.name, directory, url).await? {
                Some(clone) => (clone, None),
                None => (context, Some(url.clone())),
            });
        }
        let place = agent.directory(&context);
        if agent.is_static() || context.root().is_none_or(|root| place.starts_with(root)) {
            return Ok((context, None));
        }
        let other = self.engine.find_context(Some(&place.to_string_lossy()), self.engine.home().root()).await?;
        if is_named && other.repository.id != context.repository.id {
            return Err(agent.works_on(format!("`{}`", other.repository.name), &context));
        }
        Ok((other, None))
    }

    /// The managed clone of an agent's `url`; none where it is still to be made, and may be.
    pub(crate) async fn known_clone(
        &self,
        agent: &AgentName,
        directory: &WorkingDirectory,
        url: &str,
    ) -> Result<Option<Context>> {
        let known = self.engine.repositories().await?;
        if let Some(clone) = known.into_iter().find(|known| known.managed && known.url.as_deref() == Some(url)) {
            let name = clone.name.to_string();
            return Ok(Some(self.engine.find_context(Some(&name), self.engine.home().root()).await?));
        }
        if directory.auto_clone {
            return Ok(None);
        }
        Err(Error::NeverCloned { agent: agent.clone(), url: url.to_owned() })
    }

    /// The managed clone of an agent's `url`; made, where it is not there.
    pub(crate) async fn clone_of(&self, agent: &AgentName, directory: &WorkingDirectory, url: &str) -> Result<Context> {
        if let Some(clone) = self.known_clone(agent, directory, url).await? {
            return Ok(clone);
        }
        let add = spinney_engine::AddRepository { depth: directory.clone_depth, ..Default::default() };
        Ok(self.engine.add_repository(url, self.engine.home().root(), &add, &|_| {}).await?)
    }

    async fn insert(&self, job: &mut Job, busy: Busy) -> Result<()> {
        let mut db = self.engine.store().write().await?;
        db.lock_queue(&job.node).await?;
        if job.request.clone_url.is_none()
            && let Some(workspace) = db.workspace_of_work(&job.repository_id, &job.work).await?
            && job.place.is_none()
            && !job.request.reads
        {
            job.place = Some(workspace.id.to_string());
        }
        if let Some(parent) = &job.parent {
            children::admit(&mut db, parent, job).await?;
        }
        if busy == Busy::Refuse {
            let jobs = db.unfinished_jobs(&job.node).await?;
            if let Some(other) = jobs.iter().find(|other| queue::is_same_work(other, job)) {
                let what = job.work.workspace_name().to_string();
                let (id, agent, status) = (other.id.clone(), other.agent.clone(), other.status);
                return Err(Error::Held { what, job: id, agent, status });
            }
        }
        job.waits_for = self.decide(&mut db, job).await?;
        db.insert_job(job).await?;
        events::created(&mut db, job)?;
        if job.is_queued() {
            events::waiting(&mut db, job)?;
        }
        db.commit().await?;
        Ok(())
    }

    /// Starts a job's process, or lets it wait in the queue; a job that can't be started has failed.
    async fn set_going(&self, job: &Job, owned: Owned) -> Result<()> {
        if job.is_queued() {
            return self.put_in_queue(job, owned).await;
        }
        let Err(error) = self.launch(&job.id, &owned) else { return Ok(()) };
        self.fail_to_start(job, owned, &error).await?;
        Err(error)
    }

    /// Settles a job whose process could not be started.
    pub(crate) async fn fail_to_start(&self, job: &Job, owned: Owned, error: &Error) -> Result<()> {
        let ended_at = Some(Timestamp::now());
        let mut failed = Job { status: JobStatus::Failed, waits_for: None, ended_at, ..job.clone() };
        failed.outcome.error = Some(error.to_string());
        let mut db = self.engine.store().write().await?;
        if db.update_job(&failed, JobStatus::Pending).await? {
            events::ended(&mut db, &failed)?;
        }
        db.commit().await?;
        owned.discard();
        Ok(())
    }

    /// Finds a job by what a person typed: an id, or the beginning of one.
    #[boxed]
    pub async fn find(&self, text: &str) -> Result<Job> {
        let mut found = self.engine.store().read().await?.find_jobs(self.engine.account(), text).await?;
        match found.len() {
            0 => Err(Error::UnknownJob { name: text.to_owned() }),
            1 => Ok(found.remove(0)),
            _ => {
                let candidates =
                    found.iter().map(|job| format!("{} ({})", job.id, job.work.workspace_name())).collect();
                Err(Error::AmbiguousJob { name: text.to_owned(), candidates })
            }
        }
    }

    /// Loads a job of this account.
    #[boxed]
    pub async fn require(&self, id: &JobId) -> Result<Job> {
        let job = self.load(id).await?;
        if job.account == self.engine.account() { Ok(job) } else { Err(Error::UnknownJob { name: id.to_string() }) }
    }

    /// Loads a job, whichever account's it is: for one that is known already, and for the node's own affairs.
    pub(crate) async fn load(&self, id: &JobId) -> Result<Job> {
        let job = self.engine.store().read().await?.job(id).await?;
        job.ok_or_else(|| Error::UnknownJob { name: id.to_string() })
    }

    /// Loads jobs, newest first.
    #[boxed]
    pub async fn list(
        &self,
        repository: Option<&RepositoryId>,
        statuses: &[JobStatus],
        limit: u32,
    ) -> Result<Vec<Job>> {
        let filter = JobFilter {
            account: self.engine.account().to_owned(),
            node: None,
            repository: repository.cloned(),
            statuses: statuses.to_vec(),
        };
        Ok(self.engine.store().read().await?.jobs(&filter, limit).await?)
    }

    /// Loads the sessions of a job that the caller was given, oldest first.
    #[boxed]
    pub async fn sessions(&self, id: &JobId) -> Result<Vec<Session>> {
        Ok(self.engine.store().read().await?.sessions_of(id).await?)
    }

    /// Asks a job to end, or ends it at once. One that was interrupted is over for good then: a daemon would take it up again.
    #[boxed]
    pub async fn cancel(&self, job: &Job, cancel: Cancel) -> Result<()> {
        let mut db = self.engine.store().write().await?;
        let before = db.lock_job(&job.id).await?.ok_or_else(|| Error::UnknownJob { name: job.id.to_string() })?;
        if !db.request_cancel(&job.id, cancel).await? {
            return Err(Error::NotRunning { id: before.id, status: before.status });
        }
        // Who asks again for the same changes nothing.
        if cancel > before.cancel {
            events::cancelling(&mut db, &before, cancel)?;
        }
        if before.status == JobStatus::Interrupted {
            let mut ended = Job { status: JobStatus::Cancelled, ..before.clone() };
            let why = ended.outcome.error.unwrap_or_default();
            ended.outcome.error = Some(self.words.failure(&cancelled(why)));
            db.update_job(&ended, JobStatus::Interrupted).await?;
            events::ended(&mut db, &ended)?;
        }
        db.commit().await?;
        if before.is_queued() {
            // It has no process that would hear of it. Where one is just being started, that one does.
            self.settle_dead(&before).await?;
        }
        self.places.ring();
        Ok(())
    }

    /// Takes a job; none while somebody owns it.
    pub(crate) fn take(&self, id: &JobId) -> Result<Option<Owned>> {
        Ok(self.engine.ownership().take(Ownable::Job(id.clone()))?)
    }

    /// The log of a job that the caller was given, from its beginning.
    #[must_use]
    pub fn log(&self, id: &JobId) -> LogReader {
        LogReader::new(self.log_path(id))
    }

    #[must_use]
    pub fn log_path(&self, id: &JobId) -> PathBuf {
        self.places.log(id)
    }

    /// Whether the job is over, or its process has ended: nothing more happens to the job, its workspace included. One in the
    /// queue has no process yet. The lock of another machine's job is out of sight; its row tells.
    #[boxed]
    pub async fn is_over(&self, job: &Job) -> Result<bool> {
        if job.node != *self.engine.home().node() {
            return Ok(self.load(&job.id).await?.status.is_final());
        }
        let is_owned = || self.engine.ownership().is_owned(&Ownable::Job(job.id.clone())).unwrap_or(true);
        // It may have been started between the two looks at its lock.
        Ok(!is_owned() && !self.load(&job.id).await?.is_queued() && !is_owned())
    }
}

/// What is told of a job that was cancelled and had no process any more to say so.
fn cancelled(why: String) -> Failure {
    if why.is_empty() { Failure::Cancelled } else { Failure::CancelledAfter(why) }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::process::Child;

    use spinney_core::{Account, AccountName, Repository};
    use spinney_engine::EngineOptions;

    use super::*;
    use crate::told::Facts;
    use crate::{Chore, JobStart, StartedJob, Variables};

    /// Processes that end at once, without a word.
    #[derive(Debug)]
    struct Stillborn;

    impl Launcher for Stillborn {
        fn start_job(&self, _: &Engine, _: JobStart<'_>) -> io::Result<()> {
            Ok(())
        }

        fn start_supervisor(&self, _: &Engine, _: std::fs::File) -> io::Result<()> {
            Ok(())
        }

        fn environment(&self, _: &Engine) -> Variables {
            Variables::new()
        }

        fn start_chore(&self, _: &Engine, _: Chore<'_>) -> io::Result<Child> {
            Err(io::ErrorKind::Unsupported.into())
        }

        fn job_of(&self, _: &[&[u8]]) -> Option<StartedJob> {
            None
        }
    }

    async fn engine(home: &std::path::Path) -> Engine {
        let (account, layers) = (AccountName::local().to_string(), spinney_core::config::Layers::new());
        let options = EngineOptions { home: home.to_owned(), account, layers, environment: Vec::new() };
        Engine::open(options).await.unwrap()
    }

    /// A waiting job of account `acme`, whose process is dead.
    async fn their_job(engine: &Engine, acme: &AccountName) -> Job {
        let mut job = queue::tests::jobs(&[("coder", 1, JobStatus::Pending)]).remove(0);
        job.account = acme.to_string();
        job.node = engine.home().node().clone();
        let repository = Repository {
            id: job.repository_id.clone(),
            account: job.account.clone(),
            node: job.node.clone(),
            clone: None,
            name: job.repository.clone(),
            common_dir: "/nowhere".into(),
            root: None,
            url: None,
            managed: true,
            token_env: None,
            tree_bytes: None,
            created_at: Timestamp::now(),
        };
        let mut db = engine.store().write().await.unwrap();
        db.ensure_node(&job.node, "here").await.unwrap();
        db.insert_account(&Account { name: acme.clone(), created_at: Timestamp::now() }).await.unwrap();
        db.insert_repository(&repository).await.unwrap();
        db.insert_job(&job).await.unwrap();
        db.commit().await.unwrap();
        job
    }

    #[tokio::test]
    async fn what_is_asked_twice_with_one_mark_is_tried_again_once() {
        let home = tempfile::tempdir().unwrap();
        let (local, name) = (engine(home.path()).await, "acme".parse().unwrap());
        let job = their_job(&local, &name).await;
        let acme = local.for_account(&name);
        let jobs = Jobs::open(&acme, Arc::new(Stillborn), Arc::new(Facts)).unwrap();
        let bury = async || while jobs.recover().await.unwrap().is_empty() {};
        bury().await;
        let mark = JobId::generate();
        assert_eq!(jobs.retry_once(&job, &mark).await.unwrap().status, JobStatus::Pending);
        bury().await;
        let again = jobs.retry_once(&job, &mark).await.unwrap();
        assert_eq!((again.status, again.id), (JobStatus::Interrupted, job.id.clone()), "it was tried again once");
        assert_eq!(jobs.retry_once(&job, &JobId::generate()).await.unwrap().status, JobStatus::Pending);
        bury().await;
    }

    #[tokio::test]
    async fn a_job_is_found_by_its_own_account_and_settled_by_any() {
        let home = tempfile::tempdir().unwrap();
        let (local, name) = (engine(home.path()).await, "acme".parse().unwrap());
        let job = their_job(&local, &name).await;
        let acme = local.for_account(&name);
        let open = |engine| Jobs::open(engine, Arc::new(Stillborn), Arc::new(Facts)).unwrap();
        let (own, others) = (open(&acme), open(&local));
        assert_eq!(own.require(&job.id).await.unwrap(), job);
        assert_eq!(own.find(job.id.as_str()).await.unwrap(), job);
        assert_eq!(own.list(None, JobStatus::ALL, 10).await.unwrap(), std::slice::from_ref(&job));
        for refused in [others.require(&job.id).await, others.find(job.id.as_str()).await] {
            assert!(matches!(refused, Err(Error::UnknownJob { .. })), "{refused:?}");
        }
        assert_eq!(others.list(None, JobStatus::ALL, 10).await.unwrap(), []);
        assert_eq!(others.list(Some(&job.repository_id), JobStatus::ALL, 10).await.unwrap(), []);

        let settled = others.recover().await.unwrap();
        assert_eq!(
            settled.iter().map(|job| (&job.id, job.status)).collect::<Vec<_>>(),
            [(&job.id, JobStatus::Interrupted)]
        );
        assert_eq!(own.require(&job.id).await.unwrap().status, JobStatus::Interrupted);
    }
}
