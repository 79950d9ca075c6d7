//! What a configuration makes of the server, and how its files stand to it.

use std::collections::HashMap;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use spinney_core::AccountName;
use spinney_core::config::{Config, ConfigError, Layers, PublicUrl, ServerConfig};
use spinney_engine::{Engine, EngineThreads};
use spinney_jobs::Launcher;
use spinney_platforms::{Adapter, Orchestrator};
use spinney_store::{Ownable, Ownership};

use crate::hosts::Hosts;

/// Tells others how the configuration stands, for as long as the daemon's lock is held.
const FILE: &str = "serve.configuration";
const MOST_BYTES: u64 = 64 << 10;

/// Where the configuration is read from.
pub struct ConfigSource {
    /// Looked at for changes.
    pub files: Vec<PathBuf>,
    /// Reads all layers but the repositories'.
    pub read: Box<dyn Fn() -> Result<Layers, ConfigError> + Send + Sync>,
}

impl fmt::Debug for ConfigSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConfigSource").field("files", &self.files).finish_non_exhaustive()
    }
}

/// Where the daemon is asked. It stays for as long as the daemon lives.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub address: SocketAddr,
    pub is_tls: bool,
}

impl Place {
    /// As a browser is told, without a slash at its end.
    pub(crate) fn url(&self, server: &ServerConfig) -> String {
        let scheme = if self.is_tls { "https" } else { "http" };
        let own = || format!("{scheme}://{}", for_person(self.address));
        server.public_url.as_ref().map_or_else(own, ToString::to_string)
    }
}

/// Everywhere is no place that a browser can go to.
fn for_person(address: SocketAddr) -> SocketAddr {
    match address.ip().is_unspecified() {
        true => SocketAddr::new(Ipv4Addr::LOCALHOST.into(), address.port()),
        false => address,
    }
}

/// What follows from a configuration. It never changes; another one takes its place.
#[derive(Debug)]
pub(crate) struct Configured {
    /// Of the account `local`.
    pub engine: Arc<Engine>,
    /// One for each account that asked; they share one store and one git.
    engines: Mutex<HashMap<AccountName, Arc<Engine>>>,
    pub orchestrator: Orchestrator,
    pub hosts: Hosts,
    /// Whether cookies are for TLS only.
    pub is_secure: bool,
}

impl Configured {
    /// That of a daemon that starts.
    pub(crate) fn first(engine: Engine, place: &Place, threads: &EngineThreads, launcher: &Arc<dyn Launcher>) -> Self {
        let engine = Arc::new(engine);
        let url = place.url(&engine.config().server);
        let adapters = adapters(&engine);
        let orchestrator = Orchestrator::new(engine.clone(), threads.clone(), launcher.clone(), adapters, url.clone());
        Self::of(engine, orchestrator, place, &url)
    }

    /// The one after this. Adapters stay, with what they are connected to, unless new ones are wanted.
    pub(crate) fn next(&self, engine: Engine, place: &Place, wants_new_adapters: bool) -> Self {
        let engine = Arc::new(engine);
        let url = place.url(&engine.config().server);
        let adapters = wants_new_adapters.then(|| adapters(&engine));
        let orchestrator = self.orchestrator.reconfigured(engine.clone(), adapters, url.clone());
        Self::of(engine, orchestrator, place, &url)
    }

    fn of(engine: Arc<Engine>, orchestrator: Orchestrator, place: &Place, url: &str) -> Self {
        let server = &engine.config().server;
        let public_url = server.public_url.as_ref().map(PublicUrl::as_str);
        Self {
            hosts: Hosts::new(public_url, &server.allowed_hosts, place.address.ip()),
            // Then browsers reach it by TLS.
            is_secure: url.starts_with("https:"),
            engines: Mutex::default(),
            orchestrator,
            engine,
        }
    }

    pub(crate) fn engine_for(&self, account: &AccountName) -> Arc<Engine> {
        let mut engines = self.engines.lock().unwrap_or_else(PoisonError::into_inner);
        engines.entry(account.clone()).or_insert_with(|| Arc::new(self.engine.for_account(account))).clone()
    }
}

/// The adapters of all platforms that can be used.
fn adapters(engine: &Engine) -> Vec<Arc<dyn Adapter>> {
    let (adapters, faults) = spinney_platforms::adapters(engine);
    for fault in faults {
        tracing::error!(platform = %fault.platform, reason = fault.reason, "it can't be used");
    }
    adapters
}

/// How the configuration's files stand to what counts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// Why the files as they are now do not count; what counted before still does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Keys that were changed and that count from the next start on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs_restart: Vec<String>,
}

impl Standing {
    /// Whether all of what the files say counts.
    pub(crate) fn is_good(&self) -> bool {
        *self == Self::default()
    }

    /// Tells other processes; there is nothing to tell where all is good.
    pub(crate) fn write(&self, home: &Path) {
        let path = home.join(FILE);
        let written = match self.is_good() {
            true => match std::fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            },
            false => serde_json::to_vec(self).map_err(Into::into).and_then(|text| std::fs::write(&path, text)),
        };
        if let Err(error) = written {
            tracing::warn!(%error, "others are not told how the configuration stands");
        }
    }
}

/// How the configuration of the daemon of a home stands, if one runs and something is to be said.
#[must_use]
pub fn running_standing(home: &Path) -> Option<Standing> {
    if !Ownership::of_home(home).is_owned(&Ownable::Daemon).unwrap_or(false) {
        return None;
    }
    let text = spinney_git::read_regular_text(&home.join(FILE), MOST_BYTES).ok()?;
    serde_json::from_str(&text).ok()
}

/// What of a configuration a running daemon can't take on.
#[derive(Debug, Clone)]
pub(crate) struct Fixed {
    /// None where the command line says it.
    listen: Option<SocketAddr>,
    socket: Option<Option<PathBuf>>,
    store: Option<String>,
    is_tls: bool,
}

impl Fixed {
    /// Of the configuration that the daemon was started with.
    pub(crate) fn of(config: &Config, listen_is_named: bool, socket_is_named: bool) -> Self {
        Self {
            listen: (!listen_is_named).then_some(config.server.listen),
            socket: (!socket_is_named).then(|| config.server.socket.clone()),
            store: store(config),
            is_tls: config.server.tls_cert.is_some(),
        }
    }

    /// The keys that say something else now.
    pub(crate) fn changed(&self, config: &Config) -> Vec<String> {
        let server = &config.server;
        let changed = [
            ("server.listen", self.listen.is_some_and(|listen| listen != server.listen)),
            ("server.socket", self.socket.as_ref().is_some_and(|socket| *socket != server.socket)),
            ("server.tls_cert", self.is_tls != server.tls_cert.is_some()),
            ("store.url", self.store != store(config)),
        ];
        changed.into_iter().filter(|(_, is_changed)| *is_changed).map(|(key, _)| key.to_owned()).collect()
    }
}

fn store(config: &Config) -> Option<String> {
    config.store.url.as_ref().map(|url| url.expose().to_owned())
}
