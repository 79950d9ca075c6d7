//! What every request can reach.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use spinney_core::AccountName;
use spinney_core::config::PublicUrl;
use spinney_engine::{Engine, EngineThreads};
use spinney_jobs::schedules::Schedules;
use spinney_jobs::{Jobs, Launcher};
use spinney_platforms::Orchestrator;
use tokio::sync::{Notify, watch};
use tokio::task::JoinError;
use tokio_util::task::TaskTracker;

use crate::Stop;
use crate::auth::{Attempts, Caller};
use crate::daemon::configuration::{Configured, Place, Standing};
use crate::error::Result;
use crate::events::Broadcaster;
use crate::hosts::Hosts;
use crate::metrics::Metrics;

/// How many may be at work of the engine at once: requests, messages and chores.
const MAX_THREADS: usize = 32;

/// The state of the server. Cheap to clone.
#[derive(Debug, Clone)]
pub struct App(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// What the configuration makes of the server: replaced as a whole when that changes.
    configured: RwLock<Arc<Configured>>,
    /// How the configuration's files stand to what counts.
    standing: Mutex<Standing>,
    /// Counts the configurations, and those that brought other adapters.
    generation: watch::Sender<Generation>,
    place: Place,
    launcher: Arc<dyn Launcher>,
    attempts: Attempts,
    metrics: Metrics,
    tasks: TaskTracker,
    /// On which all work of the engine is done, but for questions to the store alone.
    threads: EngineThreads,
    broadcaster: Broadcaster,
    /// Told when somebody wants a schedule to run now, or a chore.
    schedules_asked: Notify,
    chores_asked: Notify,
    /// The keys of requests that are being answered.
    answering: Mutex<HashSet<(AccountName, String)>>,
    stop: Stop,
    /// Tells this process from those before it.
    boot: String,
}

/// How often the configuration was replaced.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Generation {
    pub configuration: u64,
    pub adapters: u64,
}

impl App {
    /// The server over an engine of the account `local`, at a place.
    pub(crate) fn new(engine: Engine, launcher: Arc<dyn Launcher>, place: Place, stop: Stop) -> Self {
        let threads = EngineThreads::new(MAX_THREADS);
        let configured = Configured::first(engine, &place, &threads, &launcher);
        let store = configured.engine.store().clone();
        Self(Arc::new(Shared {
            configured: RwLock::new(Arc::new(configured)),
            standing: Mutex::default(),
            generation: watch::Sender::new(Generation::default()),
            place,
            launcher,
            attempts: Attempts::default(),
            metrics: Metrics::default(),
            tasks: TaskTracker::new(),
            threads,
            broadcaster: Broadcaster::start(store, stop.receiver()),
            schedules_asked: Notify::new(),
            chores_asked: Notify::new(),
            answering: Mutex::default(),
            stop,
            boot: spinney_core::OperationId::generate().to_string(),
        }))
    }

    /// What the configuration that counts now makes of the server.
    pub(crate) fn configured(&self) -> Arc<Configured> {
        self.0.configured.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Lets another configuration count from here on.
    pub(crate) fn reconfigure(&self, configured: Configured, has_new_adapters: bool) {
        *self.0.configured.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(configured);
        self.0.generation.send_modify(|generation| {
            generation.configuration += 1;
            generation.adapters += u64::from(has_new_adapters);
        });
        // New schedules are planned, and chores that come at other times.
        self.schedules_asked().notify_one();
        self.chores_asked().notify_one();
    }

    /// Tells when the configuration was replaced.
    pub(crate) fn generation(&self) -> watch::Receiver<Generation> {
        self.0.generation.subscribe()
    }

    /// How the configuration's files stand to what counts.
    pub(crate) fn standing(&self) -> Standing {
        self.0.standing.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_standing(&self, standing: Standing) {
        *self.0.standing.lock().unwrap_or_else(PoisonError::into_inner) = standing;
    }

    /// Where the daemon is asked.
    pub(crate) fn place(&self) -> &Place {
        &self.0.place
    }

    /// The engine of the account `local`: for what belongs to no account, as the store.
    pub(crate) fn engine(&self) -> Arc<Engine> {
        self.configured().engine.clone()
    }

    /// The engine of whoever asks.
    pub(crate) fn engine_of(&self, caller: &Caller) -> Arc<Engine> {
        Arc::new(self.engine().for_account(&caller.account).acting_as(caller.actor()))
    }

    pub(crate) fn engine_for(&self, account: &AccountName) -> Arc<Engine> {
        self.configured().engine_for(account)
    }

    /// Jobs of an engine's account.
    pub(crate) fn jobs<'e>(&self, engine: &'e Engine) -> Result<Jobs<'e>> {
        Ok(spinney_app::jobs::open(engine, self.0.launcher.clone())?)
    }

    pub(crate) fn launcher(&self) -> Arc<dyn Launcher> {
        self.0.launcher.clone()
    }

    pub(crate) fn threads(&self) -> EngineThreads {
        self.0.threads.clone()
    }

    /// The one of all conversations on platforms.
    pub(crate) fn orchestrator(&self) -> Orchestrator {
        self.configured().orchestrator.clone()
    }

    pub(crate) fn hosts(&self) -> Hosts {
        self.configured().hosts.clone()
    }

    /// Whether cookies are for TLS only.
    pub(crate) fn is_secure(&self) -> bool {
        self.configured().is_secure
    }

    pub(crate) fn attempts(&self) -> &Attempts {
        &self.0.attempts
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    /// What goes on by itself; the server ends when it has.
    pub(crate) fn tasks(&self) -> &TaskTracker {
        &self.0.tasks
    }

    /// Schedules of an engine's account.
    pub(crate) fn schedules<'e>(&self, engine: &'e Engine) -> Result<Schedules<'e>> {
        let public_url = engine.config().server.public_url.as_ref().map(PublicUrl::as_str);
        Ok(Schedules::new(self.jobs(engine)?, public_url))
    }

    pub(crate) fn broadcaster(&self) -> &Broadcaster {
        &self.0.broadcaster
    }

    pub(crate) fn schedules_asked(&self) -> &Notify {
        &self.0.schedules_asked
    }

    pub(crate) fn chores_asked(&self) -> &Notify {
        &self.0.chores_asked
    }

    /// Does work of the engine on one of its threads, once there is one for it. The server ends when it has.
    pub(crate) async fn on_thread<T, F>(&self, work: impl FnOnce() -> F + Send + 'static) -> Result<T, JoinError>
    where
        T: Send + 'static,
        F: Future<Output = T>,
    {
        let token = self.tasks().token();
        let work = move || async move {
            let _token = token;
            work().await
        };
        self.0.threads.run(work).await
    }

    pub(crate) fn stop(&self) -> &Stop {
        &self.0.stop
    }

    /// Notes that a request with a key is being answered, until the guard goes; none when one is already.
    pub(crate) fn begin_answer(&self, account: &AccountName, key: &str) -> Option<Answering> {
        let key = (account.clone(), key.to_owned());
        let is_new = self.0.answering.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone());
        is_new.then(|| Answering { app: self.clone(), key })
    }

    pub(crate) fn boot(&self) -> &str {
        &self.0.boot
    }
}

/// A request with a key is being answered.
#[derive(Debug)]
pub(crate) struct Answering {
    app: App,
    key: (AccountName, String),
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.app.0.answering.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
    }
}
