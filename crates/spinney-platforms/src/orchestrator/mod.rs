//! The one engine of all conversations.
//!
//! It goes through what the inbox holds, in the order in which it came: a conversation's messages one after the other,
//! different conversations at the same time. What asks for work becomes a job, which waits for its workspace like any
//! other; what the job comes to is told where it was asked for. All that lasts is in the store: a delivery stays open until
//! it is answered, and each of its steps can be done again after a death.

mod answer;
mod close;
mod follow;
mod handle;
mod prompt;
mod say;

pub(crate) use say::{advised, which_repository};

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use spinney_core::{Actor, Delivery, DeliveryStatus, Platform};
use spinney_engine::{Engine, EngineThreads};
use spinney_jobs::{Jobs, Launcher};
use spinney_store::{Ownable, Owned};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::Instant;

use crate::{Adapter, Error, Inbound, Inbox, Result};

/// How many messages are looked at at once.
const AT_ONCE: usize = 8;
/// Little is heard ahead of what is written down.
const HEARD_AT_ONCE: usize = 16;
/// How often what is being worked on is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Between two looks, whatever comes.
const LOOK_APART: Duration = Duration::from_millis(20);
/// When nothing is open.
const REST: Duration = Duration::from_secs(60);
/// From one try to the next, when a platform can't be reached.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Cheap to clone.
#[derive(Debug, Clone)]
pub struct Orchestrator {
    shared: Arc<Shared>,
    engine: Arc<Engine>,
}

#[derive(Debug)]
struct Shared {
    threads: EngineThreads,
    launcher: Arc<dyn Launcher>,
    adapters: Vec<Arc<dyn Adapter>>,
    inbox: Inbox,
    /// What links to a job begin with.
    url: String,
    /// Of one place, whatever the configuration.
    busy: Arc<Mutex<Busy>>,
    permits: Arc<Semaphore>,
}

/// What is being attended to, and what is left alone for a while.
#[derive(Debug, Default)]
struct Busy {
    /// A message has an owner besides: it may change its lane while it is attended to.
    lanes: HashSet<String>,
    pauses: HashMap<String, (Instant, Duration)>,
    /// Platforms that want to be left alone.
    quiet: HashMap<Platform, Instant>,
    /// How many jobs are followed on each.
    followed: HashMap<Platform, u32>,
}

impl Orchestrator {
    /// Over the engine of one account. `url`: where people find the daemon, without a slash at its end.
    #[must_use]
    pub fn new(
        engine: Arc<Engine>,
        threads: EngineThreads,
        launcher: Arc<dyn Launcher>,
        adapters: Vec<Arc<dyn Adapter>>,
        url: String,
    ) -> Self {
        let inbox = Inbox::new(engine.clone());
        let permits = Arc::new(Semaphore::new(AT_ONCE));
        let shared = Shared { threads, launcher, adapters, inbox, url, busy: Arc::default(), permits };
        Self { shared: Arc::new(shared), engine }
    }

    /// The same with another configuration, and with other adapters where they are given. What the one before is at
    /// goes on, and is not begun again.
    #[must_use]
    pub fn reconfigured(&self, engine: Arc<Engine>, adapters: Option<Vec<Arc<dyn Adapter>>>, url: String) -> Self {
        let before = &self.shared;
        let shared = Shared {
            threads: before.threads.clone(),
            launcher: before.launcher.clone(),
            adapters: adapters.unwrap_or_else(|| before.adapters.clone()),
            inbox: before.inbox.reconfigured(engine.clone()),
            url,
            busy: Arc::clone(&before.busy),
            permits: Arc::clone(&before.permits),
        };
        Self { shared: Arc::new(shared), engine }
    }

    #[must_use]
    pub fn inbox(&self) -> &Inbox {
        &self.shared.inbox
    }

    #[must_use]
    pub fn adapter(&self, platform: Platform) -> Option<&Arc<dyn Adapter>> {
        self.shared.adapters.iter().find(|adapter| adapter.platform() == platform)
    }

    fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// The same, for who wrote what is being answered.
    fn acting_for(&self, delivery: &Delivery) -> Self {
        let actor = Actor::PlatformUser { platform: delivery.platform, user: delivery.author.clone() };
        Self { shared: Arc::clone(&self.shared), engine: Arc::new(self.engine.acting_as(actor)) }
    }

    fn jobs(&self) -> Result<Jobs<'_>> {
        Ok(spinney_app::jobs::open(&self.engine, self.shared.launcher.clone())?)
    }

    /// Hears those platforms that do not call, until it is to end. What was heard by then is written down.
    pub async fn listen(&self, end: impl Future<Output = ()>) {
        let (sender, mut heard) = mpsc::channel(HEARD_AT_ONCE);
        let listening: Vec<_> =
            self.shared.adapters.iter().filter_map(|adapter| adapter.listen(sender.clone())).collect();
        drop(sender);
        let listening = async {
            tokio::select! {
                _ = futures_util::future::join_all(listening) => {},
                () = end => {},
            }
        };
        let written = async {
            while let Some(heard) = heard.recv().await {
                let inbound = match heard {
                    Ok(inbound) => inbound,
                    Err(ignored) => {
                        if let Err(error) = self.shared.inbox.ignore(&ignored).await {
                            let cause = spinney_core::in_full(&error);
                            tracing::warn!(cause, "why a message is ignored could not be recorded");
                        }
                        continue;
                    }
                };
                // What is not written down is lost, unless the platform tells it again.
                while let Err(error) = self.shared.inbox.accept(std::slice::from_ref(&inbound)).await {
                    tracing::error!(cause = %spinney_core::in_full(&error), "an inbox message could not be recorded");
                    tokio::time::sleep(FIRST_PAUSE).await;
                }
                if let Some(adapter) = self.adapter(inbound.platform) {
                    adapter.written(&inbound);
                }
            }
        };
        tokio::join!(written, listening);
    }

    /// Attends to what comes, until the future is dropped. What is under way then goes on, and is taken up by the next.
    pub async fn attend(&self) {
        loop {
            let open = match self.tick().await {
                Ok(open) => open,
                Err(error) => {
                    tracing::error!(cause = %spinney_core::in_full(&error), "deliveries could not be read");
                    true
                }
            };
            // However much comes at once, it is looked through so often and no more.
            tokio::time::sleep(LOOK_APART).await;
            tokio::select! {
                () = tokio::time::sleep(if open { LOOK_EVERY } else { REST }) => {},
                () = self.shared.inbox.bell.notified() => {},
            }
        }
    }

    /// Starts on what is open and not being attended to; tells whether anything is open.
    async fn tick(&self) -> Result<bool> {
        let mut db = self.engine().store().read().await?;
        let open = db.open_deliveries(self.engine().home().node()).await?;
        drop(db);
        let is_followed = |delivery: &&Delivery| delivery.status == DeliveryStatus::Working;
        let mut followed = HashMap::new();
        open.iter().filter(is_followed).for_each(|delivery| *followed.entry(delivery.platform).or_default() += 1);
        self.busy().followed = followed;
        for delivery in &open {
            let lane = lane(delivery);
            if !self.is_quiet(delivery.platform)
                && let Some(owned) = self.take(delivery, &lane)
            {
                self.attend_to(delivery.clone(), lane, owned);
            }
        }
        Ok(!open.is_empty())
    }

    /// Does the next step of a delivery on one of the engine's threads.
    fn attend_to(&self, delivery: Delivery, lane: String, owned: Owned) {
        let this = self.clone();
        tokio::spawn(async move {
            // Nobody closes it.
            let permit = this.shared.permits.clone().acquire_owned().await;
            let own = this.clone();
            let (platform, id) = (delivery.platform, delivery.id.clone());
            let stepped = this.shared.threads.run(move || async move {
                let _permit = permit;
                let taken = Taken { orchestrator: &own, lane: &lane, _owned: owned };
                own.step(&delivery, &lane).await;
                drop(taken);
                // The next of its lane can be attended to.
                if delivery.status == DeliveryStatus::Received {
                    own.shared.inbox.bell.notify_one();
                }
            });
            if let Err(error) = stepped.await {
                tracing::error!(%platform, delivery = id, %error, "an internal error interrupted it");
                if let Err(error) = this.give_up(platform, &id, &Error::Broken).await {
                    tracing::error!(%platform, delivery = id, cause = %error, "the outcome could not be recorded");
                }
            }
        });
    }

    async fn step(&self, delivery: &Delivery, lane: &str) {
        let (platform, id) = (delivery.platform, delivery.id.as_str());
        match self.do_step(delivery).await {
            Ok(()) => self.go_on(lane),
            Err(Error::Crowded { .. }) => self.pause(lane, &Error::Crowded { jobs: 0 }),
            Err(error) if error.is_temporary() => {
                tracing::warn!(%platform, delivery = id, cause = %spinney_core::in_full(&error), "tried again later");
                self.pause(lane, &error);
            }
            Err(error) => {
                tracing::error!(%platform, delivery = id, cause = %spinney_core::in_full(&error), "it can't be answered");
                if let Err(error) = self.give_up(platform, id, &error).await {
                    tracing::error!(%platform, delivery = id, cause = %error, "the outcome could not be recorded");
                    self.pause(lane, &error);
                }
            }
        }
    }

    /// Does it with what stands in the store now: since it was looked for, another may have attended to it.
    async fn do_step(&self, looked_for: &Delivery) -> Result<()> {
        let mut db = self.engine().store().read().await?;
        let now = db.delivery(looked_for.platform, &looked_for.id).await?;
        drop(db);
        match now.filter(|now| now.status == looked_for.status) {
            Some(delivery) if delivery.status == DeliveryStatus::Received => {
                self.acting_for(&delivery).handle(delivery).await
            }
            Some(delivery) => self.follow(delivery).await,
            None => Ok(()),
        }
    }

    /// Marks a delivery that can't be answered, and says so in the audit log.
    async fn give_up(&self, platform: Platform, id: &str, error: &Error) -> Result<()> {
        let mut db = self.engine().store().write().await?;
        if let Some(mut delivery) = db.delivery(platform, id).await?
            && !delivery.status.is_final()
        {
            let before = delivery.status;
            let told = inbound(&delivery).ok();
            answer::end(&mut delivery, DeliveryStatus::Failed, None);
            db.update_delivery(&delivery, before).await?;
            answer::record(&mut db, &delivery, &spinney_core::in_full(error))?;
            db.commit().await?;
            self.apologize(&delivery, told.as_ref()).await;
            return Ok(());
        }
        Ok(db.commit().await?)
    }

    /// Tries once to say that it did not work, where somebody may expect an answer.
    async fn apologize(&self, delivery: &Delivery, told: Option<&Inbound>) {
        let Some((inbound, adapter)) = told.zip(self.adapter(delivery.platform)) else { return };
        let is_listed = self.policy(delivery.platform).is_some_and(|policy| policy.allows(&inbound.author));
        if !matches!(inbound.event, crate::Event::Asked(_)) || !is_listed {
            return;
        }
        if let Err(error) = adapter.post(&inbound.place, &delivery.id, &say::broken()).await {
            tracing::warn!(platform = %delivery.platform, cause = %error, "the failure could not be reported either");
        }
    }

    fn busy(&self) -> std::sync::MutexGuard<'_, Busy> {
        self.shared.busy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// None while somebody is at it or in its lane, or it is to be left alone.
    fn take(&self, delivery: &Delivery, lane: &str) -> Option<Owned> {
        let mut busy = self.busy();
        let rests = busy.pauses.get(lane).is_some_and(|(until, _)| *until > Instant::now());
        if rests || busy.lanes.contains(lane) {
            return None;
        }
        let message = Ownable::Message { platform: delivery.platform, id: delivery.id.clone() };
        let owned = self.engine().ownership().take(message).ok().flatten()?;
        busy.lanes.insert(lane.to_owned());
        Some(owned)
    }

    fn leave(&self, lane: &str) {
        self.busy().lanes.remove(lane);
    }

    fn is_quiet(&self, platform: Platform) -> bool {
        self.busy().quiet.get(&platform).is_some_and(|until| *until > Instant::now())
    }

    /// How many jobs are followed on a platform, at least one.
    fn followed(&self, platform: Platform) -> u32 {
        self.busy().followed.get(&platform).copied().unwrap_or(1).max(1)
    }

    fn pause(&self, lane: &str, error: &Error) {
        let mut busy = self.busy();
        let last = busy.pauses.get(lane).map_or(FIRST_PAUSE, |(_, pause)| (*pause * 2).min(LONGEST_PAUSE));
        let (pause, next) = match error {
            Error::Send(crate::SendError::RateLimited { after, platform }) => {
                busy.quiet.insert(*platform, Instant::now() + *after);
                (*after, last)
            }
            Error::NoAdapter(_) => (LONGEST_PAUSE, LONGEST_PAUSE),
            Error::Crowded { .. } => (LOOK_EVERY, FIRST_PAUSE),
            _ => (last, last),
        };
        busy.pauses.insert(lane.to_owned(), (Instant::now() + pause, next));
    }

    fn go_on(&self, lane: &str) {
        self.busy().pauses.remove(lane);
    }
}

/// What must be done one after the other: the messages of a conversation, and beside them those that wait in a crowd, so
/// that commands pass them; what is being worked on is followed by itself.
fn lane(delivery: &Delivery) -> String {
    let (what, of) = match delivery.status {
        DeliveryStatus::Received if delivery.job_id.is_some() => ("crowd", &delivery.conversation),
        DeliveryStatus::Received => ("talk", &delivery.conversation),
        _ => ("job", &delivery.id),
    };
    format!("{} {what} {of}", delivery.platform)
}

/// Gives a delivery and its lane back, whatever happens there.
struct Taken<'a> {
    orchestrator: &'a Orchestrator,
    lane: &'a str,
    _owned: Owned,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.orchestrator.leave(self.lane);
    }
}

/// What was understood of a delivery when it came.
fn inbound(delivery: &Delivery) -> Result<Inbound> {
    serde_json::from_value(delivery.event.clone()).map_err(Error::Unreadable)
}
