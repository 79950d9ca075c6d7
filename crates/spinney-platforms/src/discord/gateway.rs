//! Listens to Discord's gateway: twilight keeps the connection, its heartbeats and its session.
//!
//! Reading and handing on are two tasks in one: a channel that must be looked at first holds up no heartbeat.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use futures_util::StreamExt;
use rustls::RootCertStore;
use spinney_core::Timestamp;
use spinney_forge::http::Call;
use tokio::sync::mpsc;
use twilight_gateway::{ConfigBuilder, Intents, Message as Frame, Shard, ShardId};

use super::dispatch::{self, Message, Sent};
use crate::http::api::Api;
use crate::{Heard, SendError};

/// What waits to be handed on.
const QUEUE: usize = 1000;
/// Kinds of channels that are remembered, and messages that asked for something.
const MAX_REMEMBERED: usize = 10_000;
const LOOK_TRIES: u32 = 5;
/// Announcements', public and private.
const THREADS: [u64; 3] = [10, 11, 12];
/// The first moment of Discord's ids.
const EPOCH_MS: u64 = 1_420_070_400_000;

#[derive(Debug)]
pub(super) struct Gateway {
    pub api: Api,
    /// None: Discord's own.
    pub url: Option<String>,
    pub token: spinney_core::Secret,
}

impl Gateway {
    pub async fn listen(self, heard: mpsc::Sender<Heard>) {
        // twilight takes them for granted.
        if !has_roots() {
            tracing::error!("the system has no root certificates: Discord is not listened to");
            return;
        }
        // No privileged intent: Discord shows the words of messages that mention the bot, or are sent to it.
        let intents = Intents::GUILD_MESSAGES | Intents::DIRECT_MESSAGES;
        let mut config = ConfigBuilder::new(self.token.expose().to_owned(), intents);
        if let Some(url) = &self.url {
            config = config.proxy_url(url.clone());
        }
        let shard = Shard::with_config(ShardId::ONE, config.build());
        let (sender, receiver) = mpsc::channel(QUEUE);
        tokio::select! {
            () = read(shard, sender, heard.clone()) => tracing::error!("Discord closed the connection for good: check the bot's token and intents"),
            () = hand_on(&self.api, receiver, heard) => {}
        }
    }
}

/// Reads until Discord refuses for good.
async fn read(mut shard: Shard, sender: mpsc::Sender<Message>, heard: mpsc::Sender<Heard>) {
    let mut bot: Option<String> = None;
    while let Some(frame) = shard.next().await {
        let text = match frame {
            Ok(Frame::Text(text)) => text,
            Ok(Frame::Close(frame)) => {
                tracing::debug!(code = frame.map(|frame| frame.code), "Discord's gateway closed");
                continue;
            }
            Err(error) => {
                tracing::warn!(error = spinney_core::in_full(&error), "Discord's gateway can't be reached");
                continue;
            }
        };
        let message = match dispatch::read(&text, bot.as_deref()) {
            Some(Sent::Message(message)) => message,
            Some(Sent::Ready(user)) => {
                tracing::debug!(user, "listening to Discord");
                bot = Some(user);
                continue;
            }
            // In a crowd some are not noted: nothing else may wait for them.
            Some(Sent::Ignored(ignored)) => {
                let _ = heard.try_send(Err(ignored));
                continue;
            }
            None => continue,
        };
        if sender.send(message).await.is_err() {
            return;
        }
    }
}

/// Hands messages on, for as long as somebody takes them.
async fn hand_on(api: &Api, mut messages: mpsc::Receiver<Message>, heard: mpsc::Sender<Heard>) {
    let mut kinds: HashMap<String, bool> = HashMap::new();
    let mut asked = Asked::new();
    while let Some(message) = messages.recv().await {
        if message.asks() {
            asked.add(&message.id);
        } else if !asked.may_have(&message.id) {
            continue;
        }
        let is_thread = match kinds.get(&message.channel) {
            Some(is_thread) => *is_thread,
            None if message.is_direct => false,
            None => match look(api, &message.channel).await {
                Ok(is_thread) => {
                    if kinds.len() >= MAX_REMEMBERED {
                        kinds.clear();
                    }
                    kinds.insert(message.channel.clone(), is_thread);
                    is_thread
                }
                Err(error) => {
                    tracing::warn!(
                        channel = message.channel,
                        error = spinney_core::in_full(&error),
                        "a message is lost"
                    );
                    continue;
                }
            },
        };
        if let Some(inbound) = message.inbound(is_thread)
            && heard.send(Ok(inbound)).await.is_err()
        {
            return;
        }
    }
}

/// Whether a channel is a thread.
async fn look(api: &Api, channel: &str) -> Result<bool, SendError> {
    let mut tries = 0;
    loop {
        let pause = match api.ask(Call::get(format!("/channels/{channel}"))).await {
            Ok(reply) if reply.is_success() => {
                let kind = reply.json().ok().and_then(|channel| channel["type"].as_u64());
                let kind = kind.ok_or_else(|| api.refused("it tells no kind of channel"))?;
                return Ok(THREADS.contains(&kind));
            }
            Ok(reply) => return Err(api.refusal(&reply)),
            Err(SendError::RateLimited { after, .. }) if tries < LOOK_TRIES => after,
            Err(SendError::Unreachable { .. }) if tries < LOOK_TRIES => Duration::from_secs(1 << tries),
            Err(error) => return Err(error),
        };
        tries += 1;
        tokio::time::sleep(pause).await;
    }
}

/// The messages that asked for something. Others are edited and deleted all the time, and nobody here cares.
#[derive(Debug)]
struct Asked {
    ids: VecDeque<String>,
    since_ms: u64,
}

impl Asked {
    fn new() -> Self {
        let since_ms = u64::try_from(Timestamp::now().as_millisecond()).unwrap_or_default();
        Self { ids: VecDeque::new(), since_ms }
    }

    fn add(&mut self, id: &str) {
        if self.ids.len() >= MAX_REMEMBERED {
            self.ids.pop_front();
        }
        self.ids.push_back(id.to_owned());
    }

    /// Whether a message asked, or was written before anybody listened here. An id tells its time.
    fn may_have(&self, id: &str) -> bool {
        let written_ms = id.parse::<u64>().map_or(0, |id| (id >> 22) + EPOCH_MS);
        written_ms < self.since_ms || self.ids.iter().any(|asked| asked == id)
    }
}

/// Whether the system's root certificates are there, and each of them is one.
fn has_roots() -> bool {
    let roots = rustls_native_certs::load_native_certs().certs;
    let mut store = RootCertStore::empty();
    !roots.is_empty() && roots.into_iter().all(|root| store.add(root).is_ok())
}
