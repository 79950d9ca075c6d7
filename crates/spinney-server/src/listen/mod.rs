//! Connections: over TCP, with TLS or without, and over a Unix socket for whoever owns the home.

mod http2;
mod impatient;
mod peer;
mod socket;
mod tls;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt;

use self::impatient::Impatient;
use crate::Stop;

pub use peer::Peer;
pub(crate) use socket::bind as bind_socket;
pub(crate) use tls::Certificates;
pub use tls::{TlsError, acceptor};

/// How long a client may take to send the head of a request, or to shake hands.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a client may take nothing of what is sent to it.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// How much waits for a slow client here, and again in the system.
const WAITING_BYTES: usize = 128 << 10;
/// How many connections there are at most; whoever comes later waits.
const MAX_CONNECTIONS: usize = 2048;
/// How long requests that are under way may take when everything ends.
const DRAIN: Duration = Duration::from_secs(8);
/// How long to wait when no connection can be taken, as without file descriptors.
const BREATH: Duration = Duration::from_millis(100);

/// A place where connections arrive.
pub(crate) enum Listener {
    Tcp(TcpListener),
    Tls(TcpListener, Certificates),
    Socket(UnixListener, PathBuf),
}

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Tcp(_) => "Tcp",
            Self::Tls(..) => "Tls",
            Self::Socket(..) => "Socket",
        })
    }
}

/// Serves connections until everything is to end, and lets requests that are under way finish.
pub(crate) async fn serve(listener: Listener, router: Router, stop: Stop) {
    let graceful = GracefulShutdown::new();
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let permit = tokio::select! {
            permit = permits.clone().acquire_owned() => permit,
            () = stop.asked() => break,
        };
        let Ok(permit) = permit else { break };
        let accepted = tokio::select! {
            accepted = accept(&listener) => accepted,
            () = stop.asked() => break,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "a connection could not be taken");
                tokio::time::sleep(BREATH).await;
                continue;
            }
        };
        let (router, watcher) = (router.clone(), graceful.watcher());
        tokio::spawn(async move {
            let _permit = permit;
            let stream = match stream {
                Accepted::Plain(stream) => stream,
                Accepted::Tls(stream, acceptor) => match timeout(HEAD_TIMEOUT, acceptor.accept(stream)).await {
                    Ok(Ok(stream)) if tls::is_http2(&stream) => {
                        return http2::converse(Box::new(stream), peer, router, watcher).await;
                    }
                    Ok(Ok(stream)) => Box::new(stream) as Box<dyn Stream>,
                    // Whoever speaks no TLS, or a port scanner.
                    Ok(Err(_)) | Err(_) => return,
                },
            };
            converse(stream, peer, router, watcher).await;
        });
    }
    if let Listener::Socket(_, path) = &listener {
        let _ = std::fs::remove_file(path);
    }
    drop(listener);
    let _ = timeout(DRAIN, graceful.shutdown()).await;
}

/// Answers the requests of a connection over HTTP/1.1 until it ends.
async fn converse(stream: Box<dyn Stream>, peer: Peer, router: Router, watcher: Watcher) {
    let service = hyper::service::service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
        let mut request: Request = request.map(Body::new);
        let peer = peer.behind_proxy(request.headers());
        request.extensions_mut().insert(peer);
        router.clone().oneshot(request)
    });
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT).max_buf_size(WAITING_BYTES);
    let stream = TokioIo::new(Impatient::new(stream, WRITE_TIMEOUT));
    // A client that went away, or that reads nothing, is no news.
    let _ = watcher.watch(builder.serve_connection(stream, service)).await;
}

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

enum Accepted {
    Plain(Box<dyn Stream>),
    Tls(TcpStream, TlsAcceptor),
}

async fn accept(listener: &Listener) -> io::Result<(Accepted, Peer)> {
    match listener {
        Listener::Tcp(listener) => {
            let (stream, peer) = listener.accept().await?;
            set_up(&stream);
            Ok((Accepted::Plain(Box::new(stream)), Peer::Network(peer)))
        }
        Listener::Tls(listener, certificates) => {
            let (stream, peer) = listener.accept().await?;
            set_up(&stream);
            Ok((Accepted::Tls(stream, certificates.now()), Peer::Network(peer)))
        }
        Listener::Socket(listener, _) => loop {
            let (stream, _) = listener.accept().await?;
            if socket::is_owner(&stream) {
                return Ok((Accepted::Plain(Box::new(stream)), Peer::Owner));
            }
        },
    }
}

/// Sends what there is at once, and keeps no more of it for a slow client than is said.
fn set_up(stream: &TcpStream) {
    // A connection that refuses to be set up is about to end.
    let _ = stream.set_nodelay(true);
    let _ = rustix::net::sockopt::set_socket_send_buffer_size(stream, WAITING_BYTES);
}

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use futures_util::stream;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";

    /// A connection to somebody who tells without an end, what its server does, and what would end that.
    fn endless() -> (tokio::io::DuplexStream, tokio::task::JoinHandle<()>, GracefulShutdown) {
        let (client, server) = tokio::io::duplex(1024);
        let chunks =
            || async { Body::from_stream(stream::repeat(Ok::<_, std::convert::Infallible>(vec![b'x'; 4096]))) };
        let router = Router::new().route("/", get(chunks));
        let graceful = GracefulShutdown::new();
        let conversation = converse(Box::new(server), Peer::Owner, router, graceful.watcher());
        (client, tokio::spawn(conversation), graceful)
    }

    #[tokio::test(start_paused = true)]
    async fn who_reads_nothing_is_let_go() {
        let (mut client, conversation, _graceful) = endless();
        client.write_all(REQUEST).await.unwrap();
        timeout(2 * WRITE_TIMEOUT, conversation).await.expect("the connection is held").unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn who_reads_slowly_is_told_on() {
        let (mut client, conversation, _graceful) = endless();
        client.write_all(REQUEST).await.unwrap();
        for _ in 0..20 {
            tokio::time::sleep(WRITE_TIMEOUT / 2).await;
            assert!(client.read(&mut [0; 512]).await.unwrap() > 0);
        }
        assert!(!conversation.is_finished());
    }
}
