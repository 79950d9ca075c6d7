//! What every request can reach.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use spinney_core::AccountName;
use spinney_core::config::PublicUrl;
use spinney_engine::Engine;
use spinney_jobs::schedules::Schedules;
use spinney_jobs::{Jobs, Launcher};
use tokio::sync::Notify;
use tokio_util::task::TaskTracker;

use crate::Stop;
use crate::auth::{Attempts, Caller};
use crate::error::Result;
use crate::events::Broadcaster;
use crate::hosts::Hosts;
use crate::metrics::Metrics;

/// The state of the server. Cheap to clone.
#[derive(Debug, Clone)]
pub struct App(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    engine: Arc<Engine>,
    /// An engine for each account that asked; they share one store and one git.
    engines: Mutex<HashMap<AccountName, Arc<Engine>>>,
    launcher: Launcher,
    hosts: Hosts,
    is_secure: bool,
    attempts: Attempts,
    metrics: Metrics,
    tasks: TaskTracker,
    broadcaster: Broadcaster,
    /// Told when somebody wants a schedule to run now, or a chore.
    schedules_asked: Notify,
    chores_asked: Notify,
    stop: Stop,
    /// Tells this process from those before it.
    boot: String,
}

impl App {
    /// The server over an engine of the account `local`. `is_secure`: browsers reach it by TLS.
    pub(crate) fn new(engine: Engine, launcher: Launcher, is_secure: bool, stop: Stop) -> Self {
        let server = &engine.config().server;
        let hosts = Hosts::new(server.public_url.as_ref().map(PublicUrl::as_str), &server.allowed_hosts);
        Self(Arc::new(Shared {
            engines: Mutex::default(),
            launcher,
            hosts,
            is_secure,
            attempts: Attempts::default(),
            metrics: Metrics::default(),
            tasks: TaskTracker::new(),
            broadcaster: Broadcaster::start(engine.store().clone(), stop.receiver()),
            schedules_asked: Notify::new(),
            chores_asked: Notify::new(),
            stop,
            boot: spinney_core::OperationId::generate().to_string(),
            engine: Arc::new(engine),
        }))
    }

    /// The engine of the account `local`: for what belongs to no account, as the store.
    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.0.engine
    }

    /// The engine of whoever asks.
    pub(crate) fn engine_of(&self, caller: &Caller) -> Arc<Engine> {
        self.engine_for(&caller.account)
    }

    pub(crate) fn engine_for(&self, account: &AccountName) -> Arc<Engine> {
        let mut engines = self.0.engines.lock().unwrap_or_else(PoisonError::into_inner);
        engines.entry(account.clone()).or_insert_with(|| Arc::new(self.0.engine.for_account(account))).clone()
    }

    /// Jobs of an engine's account.
    pub(crate) fn jobs<'e>(&self, engine: &'e Engine) -> Result<Jobs<'e>> {
        Ok(Jobs::open(engine, self.0.launcher.clone())?)
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

    pub(crate) fn stop(&self) -> &Stop {
        &self.0.stop
    }

    /// Whether other machines work on this store, too.
    pub(crate) async fn has_other_nodes(&self) -> Result<bool> {
        Ok(self.engine().store().read().await?.nodes().await?.len() > 1)
    }

    pub(crate) fn boot(&self) -> &str {
        &self.0.boot
    }
}
