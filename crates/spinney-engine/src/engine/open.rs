//! The engine: one home, one store, one git, for one account.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_recursion::async_recursion as boxed;
use spinney_core::account::LOCAL;
use spinney_core::config::{Config, Layers, Resolved};
use spinney_core::{AccountName, Actor};
use spinney_git::{Git, GitOptions, OnWait};
use spinney_store::{Ownership, Store, StoreUrl};
use tokio::sync::OnceCell;

use crate::home::layout::Home;
use crate::{Error, Result};

/// What the engine is opened with. The library reads no environment of its own: the caller hands it over.
#[derive(Debug)]
pub struct EngineOptions {
    pub home: PathBuf,
    pub account: String,
    /// All layers of the configuration but the repository's.
    pub layers: Layers,
    pub environment: Vec<(OsString, OsString)>,
}

impl EngineOptions {
    /// The owner's engine of a home, with the defaults alone and an empty environment.
    #[must_use]
    pub fn of(home: PathBuf) -> Self {
        Self { home, account: LOCAL.to_owned(), layers: Layers::new(), environment: Vec::new() }
    }
}

/// What it does and finds is one account's. What accounts have in common is shared with the engines of others. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Engine {
    pub(crate) account: String,
    pub(crate) home: Home,
    pub(crate) layers: Arc<Layers>,
    pub(crate) environment: Arc<[(OsString, OsString)]>,
    /// The configuration without any repository's part.
    pub(crate) config: Arc<Config>,
    pub(crate) store: Store,
    pub(crate) ownership: Ownership,
    git: Arc<OnceCell<Git>>,
    on_wait: Option<OnWait>,
}

impl Engine {
    #[boxed]
    pub async fn open(options: EngineOptions) -> Result<Self> {
        Self::open_patiently(options, Duration::ZERO).await
    }

    /// The same, which waits so long for a database server that can't be reached: now, and whenever it needs it.
    #[boxed]
    pub async fn open_patiently(options: EngineOptions, patience: Duration) -> Result<Self> {
        let config = options.layers.resolve()?.config;
        let home = Home::open(&options.home)?;
        let url = match &config.store.url {
            None => StoreUrl::Sqlite(home.database()),
            Some(url) => StoreUrl::parse(url.expose())?,
        };
        let store = Store::open_patiently(&url, patience).await?;
        let ownership = Ownership::of_home(home.root());
        let EngineOptions { account, layers, environment, .. } = options;
        let engine = Self {
            account,
            home,
            layers: Arc::new(layers),
            environment: environment.into(),
            config: Arc::new(config),
            store,
            ownership,
            git: Arc::default(),
            on_wait: None,
        };
        let since = Instant::now();
        // Done twice it is as good as done once.
        while let Err(error) = engine.follow_home().await {
            if !error.is_cut_off() || since.elapsed() >= patience {
                return Err(error);
            }
        }
        Ok(engine)
    }

    /// The same, which tells whom a repository's lock is waited for. To be said before git is first used.
    #[must_use]
    pub fn telling_waits(self, on_wait: OnWait) -> Self {
        Self { on_wait: Some(on_wait), ..self }
    }

    /// The engine of another account: on the same home and store, with the same configuration and git.
    #[must_use]
    pub fn for_account(&self, account: &AccountName) -> Self {
        Self { account: account.to_string(), ..self.clone() }
    }

    /// The same engine, for somebody whom the audit log is to name.
    #[must_use]
    pub fn acting_as(&self, actor: Actor) -> Self {
        Self { store: self.store.acting_as(actor), ..self.clone() }
    }

    /// The same engine with another configuration. The store stays the one that was opened; git is set up anew.
    pub fn reconfigured(&self, layers: Layers) -> Result<Self> {
        let config = layers.resolve()?.config;
        Ok(Self { layers: Arc::new(layers), config: Arc::new(config), git: Arc::default(), ..self.clone() })
    }

    #[must_use]
    pub fn home(&self) -> &Home {
        &self.home
    }

    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Who may act on what in this home.
    #[must_use]
    pub fn ownership(&self) -> &Ownership {
        &self.ownership
    }

    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The configuration that counts outside of any repository, with where each value comes from.
    pub fn resolve_configuration(&self) -> Result<Resolved> {
        Ok(self.layers.resolve()?)
    }

    #[must_use]
    pub fn account(&self) -> &str {
        &self.account
    }

    /// The environment that the engine was opened with.
    #[must_use]
    pub fn environment(&self) -> &[(OsString, OsString)] {
        &self.environment
    }

    /// The git of this engine, found and checked on first use.
    pub async fn git(&self) -> Result<&Git> {
        let open = async || {
            let secrets = self.secrets().await?;
            let names = self.environment.iter().map(|(name, _)| name).filter(|name| secrets.contains(name));
            let options = GitOptions {
                remembered: Some(self.home.git()),
                secrets: names.cloned().collect(),
                silence: Some(self.config.workspace.fetch_timeout.0).filter(|limit| !limit.is_zero()),
                on_wait: self.on_wait.clone(),
                ..GitOptions::new(self.environment.to_vec())
            };
            Git::open(options).await.map_err(Error::Git)
        };
        self.git.get_or_try_init(open).await
    }

    /// A variable of the environment that the engine was opened with.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        let (_, value) = self.environment.iter().find(|(key, _)| key == name)?;
        value.to_str().filter(|value| !value.is_empty()).map(ToOwned::to_owned)
    }
}
