//! What every request can reach.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use spinney_core::AccountName;
use spinney_core::config::PublicUrl;
use spinney_engine::{Engine, EngineThreads};
use spinney_jobs::schedules::Schedules;
use spinney_jobs::{Jobs, Launcher};
use spinney_platforms::Orchestrator;
use tokio::sync::Notify;
use tokio::task::JoinError;
use tokio_util::task::TaskTracker;

use crate::Stop;
use crate::auth::{Attempts, Caller};
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
    engine: Arc<Engine>,
    orchestrator: Orchestrator,
    /// An engine for each account that asked; they share one store and one git.
    engines: Mutex<HashMap<AccountName, Arc<Engine>>>,
    launcher: Arc<dyn Launcher>,
    hosts: Hosts,
    is_secure: bool,
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

impl App {
    /// The server over an engine of the account `local`, asked at an address and found by people at a URL.
    pub(crate) fn new(engine: Engine, launcher: Arc<dyn Launcher>, address: SocketAddr, url: &str, stop: Stop) -> Self {
        let engine = Arc::new(engine);
        let (adapters, faults) = spinney_platforms::adapters(&engine);
        for fault in faults {
            tracing::error!(platform = %fault.platform, reason = fault.reason, "it can't be used");
        }
        let threads = EngineThreads::new(MAX_THREADS);
        let orchestrator =
            Orchestrator::new(engine.clone(), threads.clone(), launcher.clone(), adapters, url.to_owned());
        let server = &engine.config().server;
        let hosts = Hosts::new(server.public_url.as_ref().map(PublicUrl::as_str), &server.allowed_hosts, address.ip());
        Self(Arc::new(Shared {
            engines: Mutex::default(),
            launcher,
            hosts,
            // Then browsers reach it by TLS.
            is_secure: url.starts_with("https:"),
            orchestrator,
            attempts: Attempts::default(),
            metrics: Metrics::default(),
            tasks: TaskTracker::new(),
            threads,
            broadcaster: Broadcaster::start(engine.store().clone(), stop.receiver()),
            schedules_asked: Notify::new(),
            chores_asked: Notify::new(),
            answering: Mutex::default(),
            stop,
            boot: spinney_core::OperationId::generate().to_string(),
            engine,
        }))
    }

    /// The engine of the account `local`: for what belongs to no account, as the store.
    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.0.engine
    }

    /// The engine of whoever asks.
    pub(crate) fn engine_of(&self, caller: &Caller) -> Arc<Engine> {
        Arc::new(self.0.engine.for_account(&caller.account).acting_as(caller.actor()))
    }

    pub(crate) fn engine_for(&self, account: &AccountName) -> Arc<Engine> {
        let mut engines = self.0.engines.lock().unwrap_or_else(PoisonError::into_inner);
        engines.entry(account.clone()).or_insert_with(|| Arc::new(self.0.engine.for_account(account))).clone()
    }

    /// Jobs of an engine's account.
    pub(crate) fn jobs<'e>(&self, engine: &'e Engine) -> Result<Jobs<'e>> {
        Ok(Jobs::open(engine, self.0.launcher.clone())?)
    }

    /// The one of all conversations on platforms.
    pub(crate) fn orchestrator(&self) -> &Orchestrator {
        &self.0.orchestrator
    }

    pub(crate) fn hosts(&self) -> &Hosts {
        &self.0.hosts
    }

    /// Whether cookies are for TLS only.
    pub(crate) fn is_secure(&self) -> bool {
        self.0.is_secure
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
