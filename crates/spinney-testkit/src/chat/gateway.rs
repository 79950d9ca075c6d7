//! Discord's gateway: a web socket that greets, takes a token, tells what happens, and resumes where it broke off.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{broadcast, oneshot};
use tokio_websockets::{CloseCode, Message, ServerBuilder, WebSocketStream};

use super::server::lock;

const HEARTBEAT_EVERY: Duration = Duration::from_millis(200);
const SESSION: &str = "session-1";
const HELLO: u64 = 10;
const IDENTIFY: u64 = 2;
const RESUME: u64 = 6;
const HEARTBEAT: u64 = 1;
const HEARTBEAT_ACK: u64 = 11;
const RECONNECT: u64 = 7;
const AUTHENTICATION_FAILED: u16 = 4004;

/// A gateway; it stops when dropped.
#[derive(Debug)]
pub struct TestGateway {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    serving: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    token: &'static str,
    bot: &'static str,
    application: &'static str,
    url: String,
    seen: Mutex<Seen>,
    /// Wakes the connections.
    news: broadcast::Sender<News>,
}

#[derive(Debug, Clone, Copy)]
enum News {
    Dispatched,
    Reconnect,
    Drop,
}

#[derive(Debug, Default)]
struct Seen {
    /// What was dispatched, from the first number on.
    dispatched: Vec<Value>,
    identified: Vec<Value>,
    resumed: Vec<Value>,
    heartbeats: u64,
}

impl TestGateway {
    pub(super) fn start(token: &'static str, bot: &'static str, application: &'static str) -> Self {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback can be listened on");
        listener.set_nonblocking(true).expect("the listener can be waited for");
        let address = listener.local_addr().expect("the listener has an address");
        let (news, _) = broadcast::channel(1000);
        let (url, seen) = (format!("ws://{address}"), Mutex::default());
        let shared = Arc::new(Shared { token, bot, application, url, seen, news });
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = thread::spawn({
            let shared = Arc::clone(&shared);
            move || {
                // A runtime of its own: who starts it may be in another.
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                runtime.expect("a runtime starts").block_on(async {
                    let listener = TcpListener::from_std(listener).expect("the listener is one");
                    tokio::select! { () = accept(&listener, &shared) => {}, _ = stopped => {} }
                });
            }
        });
        Self { address, shared, stop: Some(stop), serving: Some(serving) }
    }

    #[must_use]
    pub fn url(&self) -> String {
        format!("ws://{}", self.address)
    }

    /// Tells everybody who is connected, and later those who resume, that something happened.
    pub fn dispatch(&self, name: &str, data: &Value) {
        lock(&self.shared.seen).push(name, data);
        // Nobody may be there.
        let _ = self.shared.news.send(News::Dispatched);
    }

    /// Asks all connections to come again.
    pub fn ask_to_reconnect(&self) {
        let _ = self.shared.news.send(News::Reconnect);
    }

    /// Breaks all connections off.
    pub fn break_off(&self) {
        let _ = self.shared.news.send(News::Drop);
    }

    /// What those sent who came anew.
    #[must_use]
    pub fn identified(&self) -> Vec<Value> {
        lock(&self.shared.seen).identified.clone()
    }

    /// What those sent who came again.
    #[must_use]
    pub fn resumed(&self) -> Vec<Value> {
        lock(&self.shared.seen).resumed.clone()
    }

    #[must_use]
    pub fn heartbeats(&self) -> u64 {
        lock(&self.shared.seen).heartbeats
    }
}

impl Drop for TestGateway {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(serving) = self.serving.take() {
            serving.join().ok();
        }
    }
}

impl Seen {
    fn push(&mut self, name: &str, data: &Value) {
        let number = self.dispatched.len() + 1;
        self.dispatched.push(json!({ "op": 0, "s": number, "t": name, "d": data }));
    }
}

async fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    let mut connections = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let shared = Arc::clone(shared);
        connections.spawn(async move {
            // Whoever breaks off has a reason.
            let _ = serve(stream, &shared).await;
        });
    }
}

async fn serve(stream: TcpStream, shared: &Shared) -> Result<(), tokio_websockets::Error> {
    let (_, mut socket) = ServerBuilder::new().accept(stream).await?;
    let mut news = shared.news.subscribe();
    let interval = u64::try_from(HEARTBEAT_EVERY.as_millis()).expect("it is short");
    send(&mut socket, &json!({ "op": HELLO, "s": null, "t": null, "d": { "heartbeat_interval": interval } })).await?;
    // How much of what was dispatched this connection knows; none before it is known who it is.
    let mut known: Option<usize> = None;
    loop {
        tokio::select! {
            message = socket.next() => {
                let Some(message) = message.transpose()? else { return Ok(()) };
                let Some(sent) = message.as_text().and_then(|text| serde_json::from_str::<Value>(text).ok()) else { continue };
                match sent["op"].as_u64() {
                    Some(IDENTIFY | RESUME) if !shared.is_token(&sent["d"]["token"]) => {
                        let code = CloseCode::try_from(AUTHENTICATION_FAILED).expect("it is a code");
                        return socket.send(Message::close(Some(code), "Authentication failed.")).await;
                    }
                    Some(IDENTIFY) => known = Some(shared.identify(&sent["d"])),
                    Some(RESUME) => {
                        lock(&shared.seen).resumed.push(sent["d"].clone());
                        known = Some(usize::try_from(sent["d"]["seq"].as_u64().unwrap_or(0)).expect("it is small"));
                    }
                    Some(HEARTBEAT) => {
                        lock(&shared.seen).heartbeats += 1;
                        send(&mut socket, &json!({ "op": HEARTBEAT_ACK })).await?;
                    }
                    _ => {}
                }
            }
            told = news.recv() => match told {
                Ok(News::Drop) => return Ok(()),
                Ok(News::Reconnect) => send(&mut socket, &json!({ "op": RECONNECT, "d": null })).await?,
                _ => {}
            },
        }
        if let Some(from) = &mut known {
            let fresh = lock(&shared.seen).dispatched.get(*from..).unwrap_or_default().to_vec();
            *from += fresh.len();
            for event in &fresh {
                send(&mut socket, event).await?;
            }
        }
    }
}

impl Shared {
    fn is_token(&self, token: &Value) -> bool {
        token.as_str().is_some_and(|token| token.strip_prefix("Bot ").unwrap_or(token) == self.token)
    }

    /// Greets who came anew: nothing from before is told.
    fn identify(&self, sent: &Value) -> usize {
        let mut seen = lock(&self.seen);
        seen.identified.push(sent.clone());
        let ready = json!({
            "v": 10, "user": { "id": self.bot, "username": "spinney", "discriminator": "0", "bot": true, "avatar": null },
            "guilds": [], "session_id": SESSION, "resume_gateway_url": self.url, "shard": [0, 1],
            "application": { "id": self.application, "flags": 0 },
        });
        let before = seen.dispatched.len();
        seen.push("READY", &ready);
        before
    }
}

async fn send(socket: &mut WebSocketStream<TcpStream>, value: &Value) -> Result<(), tokio_websockets::Error> {
    socket.send(Message::text(value.to_string())).await
}
