//! The configuration is read again while the daemon runs: when its files change, and on SIGHUP.
//!
//! 1. All files are read and checked, the certificates too. An error ends it here: what counted before still does.
//! 2. What follows from them takes the place of what was there, as a whole; requests that are under way keep theirs.
//! 3. What can't change while the daemon runs is named.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use spinney_core::config::{Config, ConfigError};
use spinney_core::in_full;
use tokio::signal::unix::Signal;

use super::configuration::{ConfigSource, Fixed, Standing};
use super::serve::tell_url;
use crate::TlsError;
use crate::app::App;
use crate::listen::{self, Certificates};

/// How often the files are looked at. One that changed is read when it stayed as it is from one look to the next: whoever
/// writes it is done then.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What is needed to read the configuration again.
#[derive(Debug)]
pub(super) struct Reloader {
    pub app: App,
    pub source: ConfigSource,
    pub fixed: Fixed,
    /// None where the daemon was started without TLS.
    pub certificates: Option<Certificates>,
}

/// Why the files as they are do not count.
#[derive(Debug, thiserror::Error)]
enum ReloadError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Engine(#[from] spinney_engine::Error),
    #[error("TLS can't be set up")]
    Tls(#[from] TlsError),
    #[error("an internal error interrupted it")]
    Broken,
}

/// Which state of the files was looked at: of each, when it was changed, its size and its inode.
type Print = Vec<(PathBuf, Option<(i64, i64, u64, u64)>)>;

impl Reloader {
    /// Reads the configuration again whenever there is reason to, until the server ends.
    pub(super) async fn run(self, mut hung_up: Signal) {
        let own = Arc::new(self);
        let mut read = own.print().await;
        let mut last = read.clone();
        loop {
            let is_asked = tokio::select! {
                () = tokio::time::sleep(LOOK_EVERY) => false,
                _ = hung_up.recv() => true,
                () = own.app.stop().asked() => return,
            };
            let now = own.print().await;
            let is_settled = now == std::mem::replace(&mut last, now.clone());
            if !is_asked && (now == read || !is_settled) {
                continue;
            }
            own.reload(is_asked).await;
            // With the files of the new configuration; what changed while it was read is read again.
            let listed = own.print().await;
            let is_same = |(path, print): &(PathBuf, _)| {
                now.iter().find(|(before, _)| before == path).is_none_or(|(_, before)| before == print)
            };
            read = if listed.iter().all(is_same) { listed.clone() } else { now };
            last = listed;
        }
    }

    /// Reads the configuration; lets it count, or tells why it does not.
    async fn reload(self: &Arc<Self>, wants_new_adapters: bool) {
        let own = Arc::clone(self);
        let loaded = self.app.on_thread(move || async move { own.load(wants_new_adapters) }).await;
        let standing = match loaded.unwrap_or(Err(ReloadError::Broken)) {
            Ok(needs_restart) => {
                tracing::info!("configuration reloaded");
                if !needs_restart.is_empty() {
                    tracing::warn!(keys = needs_restart.join(", "), "changed keys count after a restart of the daemon");
                }
                Standing { error: None, needs_restart }
            }
            Err(error) => {
                let error = in_full(&error);
                tracing::error!(cause = error, "configuration not reloaded, the one before still counts");
                Standing { error: Some(error), needs_restart: self.app.standing().needs_restart }
            }
        };
        standing.write(self.app.engine().home().root());
        self.app.set_standing(standing);
    }

    /// Lets the configuration count as it is now; gives the keys that can't.
    fn load(&self, wants_new_adapters: bool) -> Result<Vec<String>, ReloadError> {
        let before = self.app.configured();
        let engine = before.engine.reconfigured((self.source.read)()?)?;
        let (config, old) = (engine.config().clone(), before.engine.config());
        let acceptor = match (&self.certificates, &config.server.tls_cert, &config.server.tls_key) {
            (Some(_), Some(certificate), Some(key)) => Some(listen::acceptor(certificate, key)?),
            _ => None,
        };
        let wants_new_adapters = wants_new_adapters || config.platforms != old.platforms || config.forge != old.forge;
        let next = before.next(engine, self.app.place(), wants_new_adapters);
        // From here on nothing fails.
        if let (Some(certificates), Some(acceptor)) = (&self.certificates, acceptor) {
            certificates.replace(acceptor);
        }
        self.app.reconfigure(next, wants_new_adapters);
        tell_url(&self.app);
        Ok(self.fixed.changed(&config))
    }

    async fn print(self: &Arc<Self>) -> Print {
        let own = Arc::clone(self);
        let print = move || async move { own.files().map(|path| (path.clone(), print_of(&path))).collect() };
        self.app.on_thread(print).await.unwrap_or_default()
    }

    /// The files that the configuration is made of, as it is now.
    fn files(&self) -> impl Iterator<Item = PathBuf> {
        let engine = self.app.engine();
        let certificates = self.certificates.as_ref().map(|_| certificate_files(engine.config())).unwrap_or_default();
        self.source.files.clone().into_iter().chain(certificates)
    }
}

fn certificate_files(config: &Config) -> Vec<PathBuf> {
    config.server.tls_cert.iter().chain(&config.server.tls_key).cloned().collect()
}

/// None where there is no such file.
fn print_of(path: &Path) -> Option<(i64, i64, u64, u64)> {
    let found = std::fs::metadata(path).ok()?;
    Some((found.mtime(), found.mtime_nsec(), found.size(), found.ino()))
}
