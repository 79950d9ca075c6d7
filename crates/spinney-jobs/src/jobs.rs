//! What can be asked about jobs, from wherever: recorded, started, looked at, cancelled, tried again.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use spinney_core::config::WorkingDirectory;
use spinney_core::names::cut_for_message;
use spinney_core::{
    Advice, AgentName, Cancel, Job, JobId, JobRequest, JobStatus, Outcome, Platform, RepositoryId, Session,
    SessionStatus, Timestamp, Work, WorkKind,
};
use spinney_engine::{Context, Engine, fail};
use spinney_store::{JobFilter, Ownable, Owned};
use tokio::time::{Instant, sleep};

use crate::launch::Launcher;
use crate::log::LogReader;
use crate::places::Places;
use crate::{Agent, Error, Result, events, queue};

/// Jobs of one home, as one account may have them.
#[derive(Debug)]
pub struct Jobs<'e> {
    pub(crate) engine: &'e Engine,
    pub(crate) places: Places,
    pub(crate) launcher: Arc<dyn Launcher>,
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

/// Why a job that has ended runs again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reopening<'m> {
    /// Somebody asked for it, with a mark of that wish or without.
    Asked { mark: Option<&'m JobId> },
    /// The daemon takes it up by itself, unless somebody cancelled it.
    TakenUp,
}

/// How long ago a job may have been interrupted for a daemon to take it up again.
const RESUMED_WITHIN: Duration = Duration::from_secs(60 * 60);
/// How often the process of a job is started that has not begun, whatever its agent says: nothing was tried yet, and who
/// asked for it may have died before there was one.
const STARTED_AT_MOST: u32 = 3;
/// How long a job's process may take to leave after it wrote how the job ended.
const LEAVES_WITHIN: Duration = Duration::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// How much of what a dying process said is told.
const MAX_LAST_WORDS: usize = 400;
/// More than a prompt that a person or a thread wrote.
const MAX_PROMPT_BYTES: usize = 1 << 20;

impl<'e> Jobs<'e> {
    pub fn open(engine: &'e Engine, launcher: Arc<dyn Launcher>) -> Result<Self> {
        Ok(Self { engine, places: Places::open(engine.home().root())?, launcher })
    }

    /// Records a job and starts its process, which waits for its turn by itself.
    pub async fn submit(&self, context: Context, new: NewJob, busy: Busy) -> Result<Job> {
        if let Some(id) = &new.id
            && let Some(known) = self.engine.store().read().await?.job(id).await?
        {
            return Ok(known);
        }
        let agent = Agent::find(&context, &new.agent)?;
        if new.prompt.len() > MAX_PROMPT_BYTES {
            return Err(Error::Refused {
                message: format!("the prompt has {} bytes, and {MAX_PROMPT_BYTES} is the most", new.prompt.len()),
                advice: Advice::PutPromptIntoFile,
            });
        }
        let configured_in = context.repository.name.clone();
        let (context, clone_url) = self.repository_of(context, &agent, new.names_repository).await?;
        let mut request = new.request;
        request.configured_in = (configured_in != context.repository.name).then_some(configured_in);
        request.max_concurrent = agent.config.max_concurrent;
        let place = agent.static_place(&context).filter(|_| clone_url.is_none());
        request.clone_url = clone_url;
        request.reads = !agent.config.requires_isolation && !agent.is_static();
        let id = new.id.unwrap_or_else(JobId::generate);
        let work = new.work.unwrap_or_else(|| Work { kind: WorkKind::Job, key: id.to_string() });
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
        self.start(&job, owned).await?;
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
        let other = self.engine.repository(Some(&place.to_string_lossy()), self.engine.home().root()).await?;
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
            return Ok(Some(self.engine.repository(Some(&name), self.engine.home().root()).await?));
        }
        if directory.auto_clone {
            return Ok(None);
        }
        Err(Error::Refused {
            message: format!("agent `{agent}` works on `{url}`, which is not cloned yet"),
            advice: Advice::CloneForAgent { url: url.to_owned() },
        })
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
        if busy == Busy::Refuse {
            let jobs = db.unfinished_jobs(&job.node).await?;
            if let Some(other) = jobs.iter().find(|other| queue::is_same_work(other, job)) {
                let what = job.work.workspace_name().to_string();
                let (id, agent, status) = (other.id.clone(), other.agent.clone(), other.status);
                return Err(Error::Held { what, job: id, agent, status });
            }
        }
        db.insert_job(job).await?;
        events::created(&mut db, job)?;
        db.commit().await?;
        Ok(())
    }

    /// Starts a job's process; a job that can't be started has failed.
    async fn start(&self, job: &Job, owned: Owned) -> Result<()> {
        let Err(error) = self.launch(&job.id, &owned) else { return Ok(()) };
        let mut failed = Job { status: JobStatus::Failed, ended_at: Some(Timestamp::now()), ..job.clone() };
        failed.outcome.error = Some(error.to_string());
        let mut db = self.engine.store().write().await?;
        if db.update_job(&failed, JobStatus::Pending).await? {
            events::ended(&mut db, &failed)?;
        }
        db.commit().await?;
        owned.discard();
        Err(error)
    }

    /// Finds a job by what a person typed: an id, or the beginning of one.
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
    pub async fn sessions(&self, id: &JobId) -> Result<Vec<Session>> {
        Ok(self.engine.store().read().await?.sessions_of(id).await?)
    }

    /// Asks a job to end, or ends it at once. One that was interrupted is over for good then: a daemon would take it up again.
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
            let mut ended = Job { status: JobStatus::Cancelled, ..before };
            let why = ended.outcome.error.unwrap_or_default();
            ended.outcome.error = Some(cancelled(&why));
            db.update_job(&ended, JobStatus::Interrupted).await?;
            events::ended(&mut db, &ended)?;
        }
        db.commit().await?;
        self.places.ring();
        Ok(())
    }

    /// Runs a job that has ended again: in the same workspace, and in the same session where its runtime can.
    pub async fn retry(&self, job: &Job) -> Result<Job> {
        self.reopen_asked(job, None).await
    }

    /// Delivers a job that is held for a person, although it is: its very commit, and no other.
    pub async fn accept_held(&self, job: &Job, mark: Option<&JobId>) -> Result<Job> {
        let mut known = self.load(&job.id).await?;
        if mark.is_some() && known.outcome.retried_by.as_ref() == mark {
            return Ok(known);
        }
        let Some(held) = &known.outcome.held else {
            return Err(Error::Refused {
                message: format!("job {} is not held for anybody", job.id),
                advice: Advice::Retry { job: job.id.clone() },
            });
        };
        known.outcome.accepted = Some(held.commit.clone());
        self.engine.store().read().await?.record_outcome(&job.id, &known.outcome).await?;
        self.reopen_asked(&known, mark).await
    }

    /// The same, once: who asks again with the same mark, because nobody told what came of it, finds it done.
    pub async fn retry_once(&self, job: &Job, mark: &JobId) -> Result<Job> {
        let known = self.load(&job.id).await?;
        if known.outcome.retried_by.as_ref() == Some(mark) {
            return Ok(known);
        }
        self.reopen_asked(job, Some(mark)).await
    }

    async fn reopen_asked(&self, job: &Job, mark: Option<&JobId>) -> Result<Job> {
        let reopened = self.reopen(job, Reopening::Asked { mark }).await?;
        reopened.ok_or_else(|| Error::UnknownJob { name: job.id.to_string() })
    }

    /// Makes a job that has ended wait again, and starts its process; none where it is not to be.
    async fn reopen(&self, job: &Job, why: Reopening<'_>) -> Result<Option<Job>> {
        if job.node != *self.engine.home().node() {
            return Err(Error::OtherNode { id: job.id.clone() });
        }
        let owned = self.take_ended(job).await?;
        let mut db = self.engine.store().write().await?;
        let Some(row) = db.lock_job(&job.id).await? else { return Ok(None) };
        if why == Reopening::TakenUp && (row.status != JobStatus::Interrupted || row.cancel != Cancel::No) {
            // Since it was looked at, somebody cancelled it or had it run again.
            return Ok(None);
        }
        if !db.reopen_job(&job.id).await? {
            // It waits or runs, and its process is dead: whoever finds it first settles it.
            drop((db, owned));
            self.settle_dead(job).await?;
            let Job { id, status, .. } = self.load(&job.id).await?;
            return Err(Error::NotEnded { id, status });
        }
        events::retried(&mut db, &row)?;
        let Some(mut job) = db.job(&job.id).await? else { return Ok(None) };
        if row.status == JobStatus::Completed {
            // There is nothing left to deliver: somebody wants it done once more.
            (job.outcome.finished, job.outcome.delivered) = (false, false);
            (job.outcome.shared, job.outcome.accepted) = (Vec::new(), None);
        }
        match why {
            Reopening::Asked { mark } => job.outcome.retried_by = mark.cloned(),
            Reopening::TakenUp => {
                job.outcome.retried_by = None;
                job.outcome.resumed += 1;
            }
        }
        db.record_outcome(&job.id, &job.outcome).await?;
        db.commit().await?;
        self.start(&job, owned).await?;
        Ok(Some(job))
    }

    /// Takes a job; none while somebody owns it.
    fn take(&self, id: &JobId) -> Result<Option<Owned>> {
        Ok(self.engine.ownership().take(Ownable::Job(id.clone()))?)
    }

    /// Takes a job that has ended. Its process may need a moment more to leave, and who only looks whether it has holds its
    /// lock for an instant.
    async fn take_ended(&self, job: &Job) -> Result<Owned> {
        let deadline = Instant::now() + LEAVES_WITHIN;
        loop {
            if let Some(owned) = self.take(&job.id)? {
                return Ok(owned);
            }
            let Job { id, status, .. } = self.load(&job.id).await?;
            if !status.is_final() || Instant::now() > deadline {
                return Err(Error::NotEnded { id, status });
            }
            sleep(LOOK_EVERY).await;
        }
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

    /// Whether this node's daemon takes a job up again: its process died lately, and it was not tried as often as it may be.
    pub async fn may_resume(&self, job: &Job) -> bool {
        let since = Timestamp::now().minus(RESUMED_WITHIN);
        let lately = job.ended_at.is_some_and(|ended| ended > since);
        if job.status != JobStatus::Interrupted || job.node != *self.engine.home().node() || !lately {
            return false;
        }
        let Ok(name) = job.agent.parse::<AgentName>() else { return false };
        let configured_in = job.request.configured_in.as_ref().unwrap_or(&job.repository).to_string();
        let Ok(context) = self.engine.repository(Some(&configured_in), self.engine.home().root()).await else {
            return false;
        };
        Agent::find(&context, &name).is_ok_and(|agent| {
            let most = agent.config.max_attempts;
            // A process that dies before it begins makes no attempt, and must not be started for ever.
            let most = if job.attempt == 0 { most.max(STARTED_AT_MOST) } else { most };
            job.attempt.max(job.outcome.resumed + 1) < most
        })
    }

    /// Takes a job up again that [`Self::may_resume`]; none when somebody cancelled it meanwhile.
    pub async fn resume(&self, job: &Job) -> Result<Option<Job>> {
        self.reopen(job, Reopening::TakenUp).await
    }

    /// Whether the job's process has ended: nothing more happens to the job, its workspace included. The lock of another
    /// machine's job is out of sight; its row tells.
    pub async fn is_over(&self, job: &Job) -> Result<bool> {
        if job.node != *self.engine.home().node() {
            return Ok(self.load(&job.id).await?.status.is_final());
        }
        Ok(!self.engine.ownership().is_owned(&Ownable::Job(job.id.clone())).unwrap_or(true))
    }

    /// Settles the jobs of this node whose processes died, whichever account's they are: ends what is left of their agents, keeps their work, and calls
    /// them interrupted, or cancelled where somebody wanted that. One indexed query when there is nothing. Tells which they were.
    pub async fn recover(&self) -> Result<Vec<Job>> {
        let unfinished = self.engine.store().read().await?.unfinished_jobs(self.engine.home().node()).await?;
        let mut settled = Vec::new();
        for job in unfinished {
            settled.extend(self.settle_dead(&job).await?);
        }
        Ok(settled)
    }

    /// The same, but for one's own; gives those that are left, in order.
    pub(crate) async fn recover_others(&self, own: &JobId) -> Result<Vec<Job>> {
        let unfinished = self.engine.store().read().await?.unfinished_jobs(self.engine.home().node()).await?;
        let mut left = Vec::new();
        for job in unfinished {
            if job.id == *own || self.settle_dead(&job).await?.is_none() {
                left.push(job);
            }
        }
        Ok(left)
    }

    /// Settles one job if its process is dead.
    async fn settle_dead(&self, job: &Job) -> Result<Option<Job>> {
        let Some(owned) = self.take(&job.id)? else { return Ok(None) };
        // It may have ended, and given up its lock, since its row was read.
        let mut job = self.load(&job.id).await?;
        if job.status.is_final() {
            owned.discard();
            return Ok(None);
        }
        let before = job.status;
        self.end_left(&job).await?;
        // Who tries again writes it anew.
        let _ = std::fs::remove_file(self.places.prompt(&job.id));
        let said = last_words(&self.places.last_words(&job.id));
        let _ = std::fs::remove_file(self.places.last_words(&job.id));
        let why = match (said, before) {
            (Some(said), _) => format!("its process died: {said}"),
            (None, JobStatus::Running) => "its process died; its work is as it was left".to_owned(),
            (None, _) => "its process died while it waited".to_owned(),
        };
        job.waits_for = None;
        job.ended_at = Some(Timestamp::now());
        let mut db = self.engine.store().write().await?;
        // Until here somebody may have cancelled it; from here on, whoever does finds it ended.
        let is_cancelled = db.lock_job(&job.id).await?.is_some_and(|row| row.cancel != Cancel::No);
        (job.status, job.outcome.error) = match is_cancelled {
            true => (JobStatus::Cancelled, Some(cancelled(&why))),
            false => (JobStatus::Interrupted, Some(why)),
        };
        job.outcome.advice.clear();
        db.end_sessions(&job.id, SessionStatus::Ended).await?;
        let settled = db.update_job(&job, before).await?;
        if settled {
            events::ended(&mut db, &job)?;
        }
        db.commit().await?;
        owned.discard();
        self.places.ring();
        Ok(settled.then_some(job))
    }
}

/// What is told of a job that was cancelled and had no process any more to say so.
fn cancelled(why: &str) -> String {
    if why.is_empty() { "cancelled".to_owned() } else { format!("cancelled; {why}") }
}

/// What a job's process said before it died; none when it said nothing.
fn last_words(path: &std::path::Path) -> Option<String> {
    use std::io::Read as _;
    let mut text = Vec::new();
    spinney_git::open_regular(path).ok()?.take(spinney_git::SETTINGS_BYTES).read_to_end(&mut text).ok()?;
    let text = String::from_utf8_lossy(&text);
    let said = text.trim().strip_prefix("error: ").unwrap_or(text.trim());
    (!said.is_empty()).then(|| cut_for_message(said, MAX_LAST_WORDS))
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::process::Child;

    use spinney_core::{Account, AccountName, Repository};
    use spinney_engine::EngineOptions;

    use super::*;
    use crate::{Chore, JobStart, StartedJob};

    /// Processes that end at once, without a word.
    #[derive(Debug)]
    struct Stillborn;

    impl Launcher for Stillborn {
        fn start_job(&self, _: &Engine, _: JobStart<'_>) -> io::Result<()> {
            Ok(())
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
        let jobs = Jobs::open(&acme, Arc::new(Stillborn)).unwrap();
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
        let open = |engine| Jobs::open(engine, Arc::new(Stillborn)).unwrap();
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
