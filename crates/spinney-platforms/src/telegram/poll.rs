//! Asks Telegram what happened, over and over.
//!
//! Telegram forgets what was before the offset of the next question. So nothing is asked until all of the answer before is
//! written down: what a death cuts off is told again, and counts once.

use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::{mpsc, watch};

use super::bot_api::Me;
use super::update::{self, Bot};
use super::{PLATFORM, Shared};
use crate::http::fault;
use crate::{Heard, Received, Refusal, SendError};

/// How long Telegram waits for something to happen.
const WAIT: Duration = Duration::from_secs(30);
/// Between two answers that Telegram did not wait with.
const REST: Duration = Duration::from_millis(300);
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Learns the bot's name, however long that takes.
pub(super) async fn learn_name(shared: &Shared) -> String {
    let mut pause = Pause::default();
    loop {
        match shared.name().await {
            Ok(name) => return name,
            Err(error) => pause.after(&error, "the bot does not know its own name yet").await,
        }
    }
}

/// Hands on what happens, for as long as somebody takes it.
pub(super) async fn listen(shared: &Shared, heard: mpsc::Sender<Heard>) {
    let name = learn_name(shared).await;
    let bot = Bot { id: shared.id, name: Some(&name) };
    let mut written = shared.written.subscribe();
    let mut pause = Pause::default();
    let mut offset = None;
    let mut is_called = true;
    while !heard.is_closed() {
        let asked_at = Instant::now();
        // With a webhook Telegram answers nobody who asks.
        let answer = match is_called {
            true => shared.api.delete_webhook().await.map(|()| Vec::new()),
            false => shared.api.updates(offset, WAIT).await,
        };
        let updates = match answer {
            Ok(updates) => updates,
            Err(error) => {
                is_called = true;
                pause.after(&error, "Telegram can't be asked what happened").await;
                continue;
            }
        };
        let is_idle = updates.is_empty() && !is_called;
        (is_called, pause) = (false, Pause::default());
        let mut last = None;
        for update in &updates {
            let Some(id) = update["update_id"].as_i64() else {
                tracing::warn!("an update of Telegram's has no number");
                continue;
            };
            offset = offset.max(Some(id.saturating_add(1)));
            for one in read(update, bot) {
                last = one.as_ref().map(|inbound| inbound.delivery.clone()).ok().or(last);
                if heard.send(one).await.is_err() {
                    return;
                }
            }
        }
        if !wait_for(&mut written, last, &heard).await {
            return;
        }
        if is_idle && asked_at.elapsed() < REST {
            tokio::time::sleep(REST).await;
        }
    }
}

fn read(update: &Value, bot: Bot<'_>) -> Vec<Heard> {
    match update::read_value(update, bot) {
        Ok(Received { inbound, ignored, .. }) => inbound.into_iter().map(Ok).chain(ignored.map(Err)).collect(),
        // It would come again and again.
        Err(Refusal::Malformed) => {
            let body = update.to_string();
            vec![Err(fault::unread(PLATFORM, body.as_bytes(), update::fault(body.as_bytes())))]
        }
        Err(refusal) => {
            tracing::warn!(why = %refusal, "an update of Telegram's is left out");
            Vec::new()
        }
    }
}

/// Waits until the last that was handed on is written down; tells whether somebody still takes more.
async fn wait_for(
    written: &mut watch::Receiver<Option<String>>,
    last: Option<String>,
    heard: &mpsc::Sender<Heard>,
) -> bool {
    if last.is_none() {
        return true;
    }
    tokio::select! {
        written = written.wait_for(|written| *written == last) => written.is_ok(),
        () = heard.closed() => false,
    }
}

/// Longer each time.
#[derive(Default)]
struct Pause(Option<Duration>);

impl Pause {
    async fn after(&mut self, error: &SendError, what: &'static str) {
        let next = self.0.map_or(FIRST_PAUSE, |pause| (pause * 2).min(LONGEST_PAUSE));
        self.0 = Some(next);
        let pause = match error {
            SendError::RateLimited { after, .. } => *after,
            _ => next,
        };
        tracing::warn!(cause = %spinney_core::in_full(error), ?pause, what);
        tokio::time::sleep(pause).await;
    }
}

impl Shared {
    /// The bot's name, which stays; asked for once.
    pub(super) async fn name(&self) -> Result<String, SendError> {
        if let Some(name) = self.name.get() {
            return Ok(name.clone());
        }
        let Me { id, name } = self.api.me().await?;
        if id != self.id {
            return Err(self.api.refused("the token is another bot's"));
        }
        Ok(self.name.get_or_init(|| name).clone())
    }
}
