//! The daemon from its start to its end.
//!
//! 1. It becomes the one daemon of its home, and settles what processes left that died.
//! 2. It listens; from here on it is asked.
//! 3. Asked to end, it takes no more requests, lets short work end and leaves running jobs to their own processes: the
//!    next daemon follows them on.

use std::io::{self, IsTerminal};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use spinney_core::{AccountName, Scope, Timestamp, Token, TokenKind, TokenSecret};
use spinney_engine::Engine;
use spinney_jobs::Launcher;
use spinney_store::{Ownable, Owned, Ownership, OwnershipError};
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::app::App;
use crate::daemon::configuration::{ConfigSource, Fixed, Place};
use crate::daemon::loops;
use crate::daemon::reload::Reloader;
use crate::error::ApiError;
use crate::listen::{self, Certificates, Listener};
use crate::{Stopper, TlsError, routes};

/// How long short work may take to end.
const SHORT_WORK: Duration = Duration::from_secs(15);
/// Tells where the daemon of a home is, for as long as its lock is held.
const URL_FILE: &str = "serve.url";
/// How long the first link is good for.
const LINK_FOR: Duration = Duration::from_secs(60 * 60);

/// What the daemon is started with.
#[derive(Debug)]
pub struct ServeOptions {
    /// Of the account `local`.
    pub engine: Engine,
    /// What the engine's configuration was read from, and is read from again.
    pub source: ConfigSource,
    pub launcher: Arc<dyn Launcher>,
    /// Instead of what is configured.
    pub listen: Option<SocketAddr>,
    pub socket: Option<PathBuf>,
}

/// Where the daemon can be asked.
#[derive(Debug, Clone)]
pub struct Listening {
    pub address: SocketAddr,
    /// As a browser on this machine is told, without a slash at its end.
    pub url: String,
    pub socket: PathBuf,
    /// Logs a browser in, once: for as long as nobody has logged in.
    pub link: Option<String>,
}

/// Why the daemon could not start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("another daemon serves the home `{}`", .0.display())]
    Taken(PathBuf),
    #[error("can't listen on `{place}`")]
    Listen {
        place: String,
        #[source]
        source: io::Error,
    },
    #[error("TLS can't be set up")]
    Tls(#[from] TlsError),
    #[error("`{}` can't be opened", path.display())]
    Lock {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("signals can't be received")]
    Signals(#[source] io::Error),
    #[error("{}", .0.message)]
    Start(ApiError),
}

impl From<ApiError> for ServeError {
    fn from(error: ApiError) -> Self {
        Self::Start(error)
    }
}

impl From<spinney_store::Error> for ServeError {
    fn from(error: spinney_store::Error) -> Self {
        Self::Start(error.into())
    }
}

/// Serves until it is asked to end.
pub async fn serve(options: ServeOptions, on_listening: impl FnOnce(&Listening)) -> Result<(), ServeError> {
    let ServeOptions { engine, source, launcher, listen, socket } = options;
    let _daemon = become_daemon(&engine)?;
    let server = engine.config().server.clone();
    let mut ended = signal(SignalKind::terminate()).map_err(ServeError::Signals)?;
    let mut interrupted = signal(SignalKind::interrupt()).map_err(ServeError::Signals)?;
    let mut terminal = Terminal::listen().map_err(ServeError::Signals)?;
    let hung_up = signal(SignalKind::hangup()).map_err(ServeError::Signals)?;
    let fixed = Fixed::of(engine.config(), listen.is_some(), socket.is_some());

    let address = listen.unwrap_or(server.listen);
    let refused = |place: String| move |source| ServeError::Listen { place, source };
    let tcp = TcpListener::bind(address).await.map_err(refused(address.to_string()))?;
    let address = tcp.local_addr().map_err(refused(address.to_string()))?;
    let path = socket.or(server.socket).unwrap_or_else(|| engine.home().root().join("serve.socket"));
    let unix = listen::bind_socket(&path).map_err(refused(path.display().to_string()))?;
    let certificates = match (&server.tls_cert, &server.tls_key) {
        (Some(certificate), Some(key)) => Some(Certificates::new(listen::acceptor(certificate, key)?)),
        _ => None,
    };
    let place = Place { address, is_tls: certificates.is_some() };
    let url = place.url(&engine.config().server);

    let (stopper, stop) = Stopper::new();
    let app = App::new(engine, launcher, place, stop.clone());
    loops::settle(&app).await?;
    let link = first_link(&app).await?.map(|secret| format!("{url}/login?key={}", secret.expose()));
    tell_url(&app);
    app.standing().write(app.engine().home().root());
    let router = routes::router(&app);
    let network = match certificates.clone() {
        Some(certificates) => Listener::Tls(tcp, certificates),
        None => Listener::Tcp(tcp),
    };
    let reloader = Reloader { app: app.clone(), source, fixed, certificates };
    let reloading = tokio::spawn(reloader.run(hung_up));
    let network = tokio::spawn(listen::serve(network, router.clone(), stop.clone()));
    let local = tokio::spawn(listen::serve(Listener::Socket(unix, path.clone()), router, stop.clone()));
    let work = tokio::spawn(loops::run(app.clone()));
    on_listening(&Listening { address, url, socket: path, link });

    tokio::select! {
        _ = ended.recv() => {},
        _ = interrupted.recv() => {},
        () = terminal.closed() => {},
    }
    tracing::info!("asked to end");
    stopper.stop();
    // A schedule that asks a forge may take longer; whatever it is at, the next start goes on with it.
    let _ = tokio::time::timeout(SHORT_WORK, async { tokio::join!(network, local, work, reloading) }).await;
    app.tasks().close();
    if tokio::time::timeout(SHORT_WORK, app.tasks().wait()).await.is_err() {
        tracing::warn!("work that goes on is left; the next start finishes or undoes it");
    }
    Ok(())
}

/// Where the daemon of a home is to be found, if one runs.
#[must_use]
pub fn running_url(home: &Path) -> Option<String> {
    if !Ownership::of_home(home).is_owned(&Ownable::Daemon).unwrap_or(false) {
        return None;
    }
    spinney_git::read_regular_text(&home.join(URL_FILE), spinney_git::POINTER_BYTES).ok().filter(|url| !url.is_empty())
}

/// Owns the daemon's work in this home for as long as this process lives.
fn become_daemon(engine: &Engine) -> Result<Owned, ServeError> {
    let owned = engine.ownership().take(Ownable::Daemon);
    let owned = owned.map_err(|OwnershipError { path, source, .. }| ServeError::Lock { path, source })?;
    owned.ok_or_else(|| ServeError::Taken(engine.home().root().to_owned()))
}

/// A link for the first person, while there is neither a token nor a browser that is logged in.
async fn first_link(app: &App) -> Result<Option<TokenSecret>, ServeError> {
    let account = AccountName::local();
    let mut db = app.engine().store().write().await?;
    for kind in [TokenKind::Api, TokenKind::Session] {
        if !db.tokens(&account, kind).await?.is_empty() {
            return Ok(None);
        }
    }
    let secret = TokenSecret::generate();
    let token = Token::new(account, TokenKind::Login, TokenKind::Login.into(), Scope::Admin, Some(LINK_FOR));
    db.insert_token(&token, &secret.hash()).await?;
    db.delete_expired_tokens(Timestamp::now()).await?;
    db.commit().await?;
    Ok(Some(secret))
}

/// The terminal that the daemon was started in. It ends with it; without one, SIGHUP means only that the configuration
/// is to be read again.
struct Terminal {
    was_there: bool,
    hung_up: Signal,
}

impl Terminal {
    fn listen() -> io::Result<Self> {
        Ok(Self { was_there: io::stdin().is_terminal(), hung_up: signal(SignalKind::hangup())? })
    }

    async fn closed(&mut self) {
        loop {
            if self.hung_up.recv().await.is_none() {
                std::future::pending::<()>().await;
            }
            if self.was_there && !io::stdin().is_terminal() {
                return;
            }
        }
    }
}

/// Tells other processes of this home where the daemon is.
pub(super) fn tell_url(app: &App) {
    let engine = app.engine();
    let url = app.place().url(&engine.config().server);
    if let Err(error) = std::fs::write(engine.home().root().join(URL_FILE), url) {
        tracing::warn!(%error, "others are not told where this daemon is");
    }
}
