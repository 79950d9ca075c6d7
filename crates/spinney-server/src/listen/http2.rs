//! HTTP/2, for clients that ask for it in the handshake of TLS. A browser opens any number of streams on one connection.
//!
//! A client that takes nothing of one response while it takes all of another is not seen in what is written to the connection.
//! So each connection is looked at now and then ([`Watch`]), and ends when
//!
//! - a client took nothing of a part of a response for [`WRITE_TIMEOUT`];
//! - no request is under way, and nothing was asked or taken for [`IDLE_TIMEOUT`].

use std::convert::Infallible;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::header::HOST;
use axum::http::uri::PathAndQuery;
use axum::http::{HeaderValue, Uri};
use axum::response::{IntoResponse, Response};
use hyper::body::{Frame, SizeHint};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::graceful::Watcher;
use tokio::time::{Instant, sleep};
use tower::ServiceExt;

use super::{Impatient, Peer, Stream, WRITE_TIMEOUT};
use crate::error::ApiError;

/// How many requests of one connection are under way at most.
const MAX_STREAMS: u32 = 64;
/// How much waits here for a slow client, of each response.
const WAITING_BYTES: usize = 32 << 10;
/// How long the head of a request may be.
const MAX_HEAD_BYTES: u32 = 32 << 10;
/// How long a connection is kept on which nothing is asked.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);
/// How often connections are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// Answers the requests of a connection until it ends.
pub(super) async fn converse(stream: Box<dyn Stream>, peer: Peer, router: Router, watcher: Watcher) {
    let stream = Impatient::new(stream, WRITE_TIMEOUT);
    let watch = Arc::new(Watch::new(stream.taken()));
    let seen = Arc::clone(&watch);
    let service = hyper::service::service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
        let (asked, router) = (seen.open(), router.clone());
        async move {
            Ok::<_, Infallible>(answer(request.map(Body::new), peer, router).await.map(|body| Watched { body, asked }))
        }
    });
    let mut builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS)
        .max_send_buf_size(WAITING_BYTES)
        .max_header_list_size(MAX_HEAD_BYTES);
    let mut connection = pin!(watcher.watch(builder.serve_connection(TokioIo::new(stream), service)));
    loop {
        tokio::select! {
            // A client that went away is no news.
            _ = &mut connection => return,
            () = sleep(LOOK_EVERY) => {
                if watch.is_over() {
                    return;
                }
            }
        }
    }
}

async fn answer(mut request: Request, peer: Peer, router: Router) -> Response {
    if let Err(error) = name_host(&mut request) {
        return error.into_response();
    }
    let peer = peer.behind_proxy(request.headers());
    request.extensions_mut().insert(peer);
    match router.oneshot(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

/// Writes a request as it would have come over HTTP/1.1: the host in its header, and in the address only the path.
fn name_host(request: &mut Request) -> Result<(), ApiError> {
    if let Some(authority) = request.uri().authority().cloned() {
        let named = HeaderValue::from_str(authority.as_str());
        let named = named.map_err(|_| ApiError::usage("`:authority` is not the name of a host"))?;
        if request.headers().get_all(HOST).iter().any(|host| *host != named) {
            return Err(ApiError::usage("`:authority` and the `Host` header name different hosts"));
        }
        request.headers_mut().insert(HOST, named);
    }
    let path = request.uri().path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
    *request.uri_mut() = Uri::from(path);
    Ok(())
}

/// What is known of a connection.
#[derive(Debug)]
struct Watch {
    /// How many bytes the client has taken.
    taken: Arc<AtomicU64>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The requests that are under way.
    asked: Vec<Weak<Asked>>,
    /// When there was one last, or something was taken last, and how much had been taken by then.
    heard: (Instant, u64),
}

/// A request that is under way.
#[derive(Debug, Default)]
struct Asked {
    /// Since when a part of its response waits for the client.
    waits: Mutex<Option<Instant>>,
}

impl Watch {
    fn new(taken: Arc<AtomicU64>) -> Self {
        Self { taken, state: Mutex::new(State { asked: Vec::new(), heard: (Instant::now(), 0) }) }
    }

    fn open(&self) -> Arc<Asked> {
        let asked = Arc::<Asked>::default();
        lock(&self.state).asked.push(Arc::downgrade(&asked));
        asked
    }

    /// Whether the connection is to end.
    fn is_over(&self) -> bool {
        let (now, taken) = (Instant::now(), self.taken.load(Ordering::Relaxed));
        let mut state = lock(&self.state);
        state.asked.retain(|asked| asked.strong_count() > 0);
        if !state.asked.is_empty() || state.heard.1 != taken {
            state.heard = (now, taken);
        }
        let waits = |asked: &Weak<Asked>| asked.upgrade().and_then(|asked| *lock(&asked.waits));
        let is_stuck = state.asked.iter().filter_map(waits).any(|since| now.duration_since(since) > WRITE_TIMEOUT);
        is_stuck || now.duration_since(state.heard.0) > IDLE_TIMEOUT
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The body of a response. The next part of it is asked for when the client has begun to take the one before.
struct Watched {
    body: Body,
    asked: Arc<Asked>,
}

impl HttpBody for Watched {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        *lock(&self.asked.waits) = matches!(polled, Poll::Ready(Some(Ok(_)))).then(Instant::now);
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::routing::get;
    use futures_util::stream;
    use h2::client::{Builder, ResponseFuture, SendRequest};
    use hyper_util::server::graceful::GracefulShutdown;
    use tokio::task::JoinHandle;
    use tokio::time::timeout;

    use super::*;

    /// A client of somebody who tells without an end at `/endless`, and which host was asked at `/host`.
    struct Client {
        requests: SendRequest<Bytes>,
        server: JoinHandle<()>,
        _graceful: GracefulShutdown,
    }

    impl Client {
        async fn connect() -> Self {
            let (near, far) = tokio::io::duplex(1024);
            let chunks = || async { Body::from_stream(stream::repeat(Ok::<_, Infallible>(vec![b'x'; 4096]))) };
            let host = |request: Request| async move {
                let named: Vec<_> = request.headers().get_all(HOST).iter().map(|host| host.to_str().unwrap()).collect();
                format!("{} {}", named.join(","), request.uri())
            };
            let router = Router::new().route("/endless", get(chunks)).route("/host", get(host));
            let graceful = GracefulShutdown::new();
            let server = tokio::spawn(converse(Box::new(far), Peer::Owner, router, graceful.watcher()));
            // A response that is not taken leaves room for others, as with a browser.
            let mut client = Builder::new();
            client.initial_connection_window_size(1 << 20);
            let (requests, connection) = client.handshake(near).await.unwrap();
            tokio::spawn(connection);
            Self { requests, server, _graceful: graceful }
        }

        async fn ask(&mut self, path: &str, host: Option<&str>) -> ResponseFuture {
            let request = axum::http::Request::get(format!("https://localhost:7{path}"));
            let request = host.into_iter().fold(request, |request, host| request.header(HOST, host));
            let mut requests = self.requests.clone().ready().await.unwrap();
            requests.send_request(request.body(()).unwrap(), true).unwrap().0
        }

        async fn text(&mut self, path: &str, host: Option<&str>) -> (u16, String) {
            let mut response = self.ask(path, host).await.await.unwrap();
            let data = response.body_mut().data().await.unwrap().unwrap();
            response.body_mut().flow_control().release_capacity(data.len()).unwrap();
            (response.status().as_u16(), String::from_utf8(data.to_vec()).unwrap())
        }
    }

    #[tokio::test]
    async fn a_request_is_as_over_http1() {
        let mut client = Client::connect().await;
        assert_eq!(client.text("/host?a=b", None).await, (200, "localhost:7 /host?a=b".to_owned()));
        assert_eq!(client.text("/host", Some("localhost:7")).await, (200, "localhost:7 /host".to_owned()));
        let (status, text) = client.text("/host", Some("evil.example")).await;
        assert!(status == 400 && text.contains("name different hosts"), "{status} {text}");
    }

    #[tokio::test(start_paused = true)]
    async fn who_takes_nothing_of_one_response_is_let_go() {
        let mut client = Client::connect().await;
        let response = client.ask("/endless", None).await.await.unwrap();
        // What is asked beside it is answered.
        for _ in 0..5 {
            sleep(WRITE_TIMEOUT / 10).await;
            assert_eq!(client.text("/host", None).await.0, 200);
        }
        timeout(2 * WRITE_TIMEOUT, client.server).await.expect("the connection is held").unwrap();
        drop(response);
    }

    #[tokio::test(start_paused = true)]
    async fn who_takes_slowly_is_told_on() {
        let mut client = Client::connect().await;
        let mut response = client.ask("/endless", None).await.await.unwrap();
        for _ in 0..40 {
            sleep(WRITE_TIMEOUT / 2).await;
            let data = response.body_mut().data().await.unwrap().unwrap();
            response.body_mut().flow_control().release_capacity(data.len()).unwrap();
        }
        assert!(!client.server.is_finished());
    }

    #[tokio::test(start_paused = true)]
    async fn who_asks_nothing_is_let_go() {
        let mut client = Client::connect().await;
        for _ in 0..3 {
            sleep(IDLE_TIMEOUT - 2 * LOOK_EVERY).await;
            assert_eq!(client.text("/host", None).await.0, 200);
        }
        timeout(2 * IDLE_TIMEOUT, client.server).await.expect("the connection is held").unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn who_says_nothing_at_all_is_let_go() {
        let (near, far) = tokio::io::duplex(1024);
        let graceful = GracefulShutdown::new();
        let server = tokio::spawn(converse(Box::new(far), Peer::Owner, Router::new(), graceful.watcher()));
        timeout(2 * IDLE_TIMEOUT, server).await.expect("the connection is held").unwrap();
        drop(near);
    }
}
