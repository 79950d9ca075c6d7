//! Follows a session's events: into the log, and into what is known of the session.

use std::sync::Arc;
use std::time::Duration;

use spinney_core::quantity::Share;
use spinney_core::{AgentName, JobEvent, Session, Usage};
use spinney_store::Store;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::Sink;
use crate::log::Log;
use crate::runtime::{Conversation, Runtime};
use crate::told::{Refusal, Words};

/// As many denials as anybody reads.
const MAX_DENIALS: usize = 100;
/// How often what a session took is written, at most: a death loses no more than this.
const WRITE_EVERY: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct Tracker<'a> {
    log: &'a mut Log,
    store: Store,
    runtime: &'static dyn Runtime,
    pub session: Session,
    /// What the session took before this turn.
    before: Usage,
    pub denied: Vec<String>,
    /// What the agent was refused last, while it has said nothing since.
    pub refused: Option<Refusal>,
    /// At which share of the window, as far as its program fills it, a hand-off is due; zero: never.
    hand_off_at: Share,
    is_full: bool,
    /// The context is full and the session has not come to its end: it went on after that.
    pub goes_on_full: bool,
    /// The session's row is being written.
    remembering: Option<JoinHandle<()>>,
    /// When what it took was written last.
    usage_written: Option<Instant>,
}

impl<'a> Tracker<'a> {
    pub(super) fn new(
        log: &'a mut Log,
        store: Store,
        runtime: &'static dyn Runtime,
        session: Session,
        hand_off_at: Share,
    ) -> Self {
        Self {
            log,
            store,
            runtime,
            before: session.usage,
            session,
            denied: Vec::new(),
            refused: None,
            hand_off_at,
            is_full: false,
            goes_on_full: false,
            remembering: None,
            usage_written: None,
        }
    }

    pub(super) fn flush(&mut self) {
        self.log.flush();
    }

    /// What the session took, once a turn has ended and told what it alone took.
    pub(super) fn count(&mut self, turn: Usage) {
        if turn != Usage::default() {
            self.session.usage = self.before.plus(turn);
        }
    }

    /// Remembers the conversation's name at once: who has to go on after a death needs it.
    fn remember(&mut self, conversation: String) {
        if self.session.conversation.as_ref() == Some(&conversation) {
            return;
        }
        self.session.conversation = Some(conversation);
        self.write();
    }

    /// Writes what the session took so far, unless that was done just now.
    fn write_usage(&mut self) {
        if self.usage_written.is_none_or(|written| written.elapsed() >= WRITE_EVERY) {
            self.usage_written = Some(Instant::now());
            self.write();
        }
    }

    /// Writes the session's row, behind what is being written of it.
    fn write(&mut self) {
        let (store, session) = (self.store.clone(), self.session.clone());
        let before = self.remembering.take();
        self.remembering = Some(tokio::spawn(async move {
            if let Some(before) = before {
                let _ = before.await;
            }
            if let Ok(mut db) = store.read().await {
                let _ = db.put_session(&session).await;
            }
        }));
    }

    /// What is known of the session, once nothing writes its row any more.
    pub(super) async fn finish(mut self) -> (Session, Vec<String>) {
        if let Some(remembering) = self.remembering.take() {
            let _ = remembering.await;
        }
        self.flush();
        (self.session, self.denied)
    }
}

impl Sink for Tracker<'_> {
    fn emit(&mut self, mut event: JobEvent) {
        match &mut event {
            JobEvent::SessionStarted { conversation: Some(conversation), .. } => self.remember(conversation.clone()),
            JobEvent::Usage { usage, context_tokens, context_window } => {
                *usage = self.before.plus(*usage);
                self.session.usage = *usage;
                self.session.context_tokens = context_tokens.or(self.session.context_tokens);
                self.session.context_window = context_window.or(self.session.context_window);
                if let (Some(used), Some(window)) = (self.session.context_tokens, self.session.context_window) {
                    let due = self.hand_off_at.of(self.runtime.usable(window));
                    self.is_full = !self.hand_off_at.is_zero() && used >= due;
                }
                self.write_usage();
            }
            JobEvent::PermissionDenied { tool, detail } => {
                self.refused = Some(Refusal { tool: tool.clone(), detail: detail.clone() });
                if self.denied.len() < MAX_DENIALS {
                    self.denied.push(format!("{tool}: {detail}"));
                }
            }
            JobEvent::Text { text } if !text.trim().is_empty() => self.refused = None,
            JobEvent::ToolUse { .. } | JobEvent::ToolResult { .. } if self.is_full => self.goes_on_full = true,
            _ => {}
        }
        self.log.emit(event);
    }

    fn words(&self) -> Arc<dyn Words> {
        self.log.words()
    }
}

/// The row of a session that begins.
pub(super) fn new_session(
    job: &spinney_core::Job,
    agent: &AgentName,
    runtime: &str,
    conversation: Conversation<'_>,
) -> Session {
    let (name, resumed) = match conversation {
        Conversation::New(name) => (name, false),
        Conversation::Resumed(name) => (Some(name), true),
    };
    Session {
        id: spinney_core::SessionId::generate(),
        job_id: job.id.clone(),
        workspace_id: job.workspace_id.clone(),
        agent: agent.to_string(),
        work: job.work.clone(),
        runtime: runtime.to_owned(),
        conversation: name.map(ToOwned::to_owned),
        resumed,
        status: spinney_core::SessionStatus::Running,
        usage: Usage::default(),
        context_tokens: None,
        context_window: None,
        started_at: spinney_core::Timestamp::now(),
        ended_at: None,
    }
}
