//! The sessions of a job: it goes on with the conversation that it has, or begins one; hands off when the context is
//! full; and starts fresh, saying so, when a conversation is gone.

use spinney_core::quantity::Share;
use spinney_core::{JobEvent, JobPhase, Session, SessionStatus, Timestamp};
use spinney_engine::fail;

use super::prompt::HAND_OFF;
use super::setup::JobPlace;
use super::tracker::new_session;
use super::turns::Turned;
use super::{End, Run, Step};
use crate::events;
use crate::maintenance::outage::through;
use crate::runner::control::Stop;
use crate::runtime::{Conversation, Resuming};
use crate::told::{Detail, Failure, NoNote, TurnFailure, Warning};

/// More hand-offs than a task needs that comes to an end.
const MAX_HAND_OFFS: usize = 10;
/// What is kept of the last thing that an agent says.
const MAX_SUMMARY_BYTES: usize = 8 << 10;

impl Run<'_> {
    /// Runs sessions until one comes to its end.
    pub(super) async fn run_sessions(&mut self, place: &JobPlace) -> Step<()> {
        let mut resumed = self.conversation_to_resume().await?;
        let mut prompt = self.first_prompt(resumed.is_some());
        for hand_offs in 0.. {
            let turned = self.run_session(place, resumed.take(), &prompt, hand_offs < MAX_HAND_OFFS).await?;
            if !turned.full {
                return self.conclude(turned);
            }
            let note = self.ask_for_note(place, turned).await?;
            prompt = self.next_prompt(note.as_deref());
        }
        Ok(())
    }

    /// The conversation of the last job of this agent on this work in this very workspace; where people talk about it, on
    /// whatever work: those who share a workspace talk to one agent.
    async fn conversation_to_resume(&mut self) -> Step<Option<String>> {
        if self.agent.runtime.resuming() == Resuming::Never {
            return Ok(None);
        }
        let Some(workspace) = &self.job.workspace_id else { return Ok(None) };
        let work = if self.job.request.conversation.is_some() { None } else { Some(&self.job.work) };
        let latest = through(async || {
            let mut db = self.jobs.engine.store().read().await?;
            Ok::<_, End>(db.latest_session(workspace, self.agent.name.as_str(), work).await?)
        })
        .await?;
        let runtime = self.agent.runtime.name();
        Ok(latest.filter(|session| session.runtime == runtime).and_then(|session| session.conversation))
    }

    /// Runs one session; where the conversation that it should go on with is gone, a fresh one instead.
    async fn run_session(
        &mut self,
        place: &JobPlace,
        resumed: Option<String>,
        prompt: &str,
        may_hand_off: bool,
    ) -> Step<Turned> {
        let hand_off_at = if may_hand_off { self.hand_off_at() } else { Share::ZERO };
        if let Some(conversation) = resumed {
            let conversation = Conversation::Resumed(&conversation);
            let session = self.begin_session(conversation).await?;
            let turned = self.take_turn(place, session, conversation, prompt, hand_off_at).await?;
            if turned.end.error != Some(TurnFailure::ConversationGone) {
                return self.end_session(turned).await;
            }
            let mut gone = turned;
            gone.session.conversation = None;
            self.end_session(gone).await?;
            self.warn(&Warning::StartsFresh);
        }
        let named = (self.agent.runtime.resuming() == Resuming::ByOurName).then(|| uuid::Uuid::new_v4().to_string());
        let conversation = Conversation::New(named.as_deref());
        let session = self.begin_session(conversation).await?;
        let turned = self.take_turn(place, session, conversation, prompt, hand_off_at).await?;
        self.end_session(turned).await
    }

    fn hand_off_at(&self) -> Share {
        match self.agent.runtime.resuming() {
            Resuming::Never => Share::ZERO,
            _ => self.agent.config.handoff_at,
        }
    }

    async fn begin_session(&mut self, conversation: Conversation<'_>) -> Step<Session> {
        let runtime = self.agent.runtime.name();
        let session = new_session(&self.job, &self.agent.name, runtime, conversation);
        self.record_session(&session).await?;
        fail::point("job.session")?;
        self.begin_with(JobPhase::Session, &Detail::Plain(runtime.to_owned()));
        Ok(session)
    }

    /// Writes that a session begins, or how it ended.
    async fn record_session(&self, session: &Session) -> Step<()> {
        through(async || {
            let mut db = self.jobs.engine.store().write().await?;
            db.put_session(session).await?;
            events::session(&mut db, &self.job, session)?;
            Ok(db.commit().await?)
        })
        .await
    }

    /// Writes how a session ended, and adds it to what the job took. One that is full has a note to write yet.
    async fn end_session(&mut self, mut turned: Turned) -> Step<Turned> {
        self.job.outcome.denied.append(&mut turned.denied);
        if turned.full {
            let store = self.jobs.engine.store();
            through(async || Ok::<_, End>(store.read().await?.put_session(&turned.session).await?)).await?;
            return Ok(turned);
        }
        let status = match (&turned.end.error, turned.stop) {
            (_, stop) if stop != Stop::No => SessionStatus::Ended,
            (Some(_), _) => SessionStatus::Failed,
            (None, _) => SessionStatus::Finished,
        };
        self.end_session_as(turned, status).await
    }

    async fn end_session_as(&mut self, mut turned: Turned, status: SessionStatus) -> Step<Turned> {
        turned.session.status = status;
        turned.session.ended_at = Some(Timestamp::now());
        self.record_session(&turned.session).await?;
        self.job.outcome.usage = self.job.outcome.usage.plus(turned.session.usage);
        let error = match &turned.end.error {
            None | Some(TurnFailure::ConversationGone) => None,
            Some(_) if turned.stop != Stop::No => None,
            Some(failure) => Some(self.words().turn_failure(failure)),
        };
        let summary = turned.end.summary.clone();
        self.emit(JobEvent::SessionFinished { summary, error });
        Ok(turned)
    }

    /// Asks a session that was ended because its context was full for a note to its successor: its last turn. There is
    /// none where its conversation can't be gone on with.
    async fn ask_for_note(&mut self, place: &JobPlace, full: Turned) -> Step<Option<String>> {
        let Some(conversation) = full.session.conversation.clone() else {
            self.warn(&Warning::NoNote(NoNote::Nameless));
            self.end_session_as(full, SessionStatus::HandedOff).await?;
            return Ok(None);
        };
        self.begin_with(JobPhase::Session, &Detail::AsksForNote);
        let resumed = Conversation::Resumed(&conversation);
        let mut turned = self.take_turn(place, full.session, resumed, HAND_OFF, Share::ZERO).await?;
        self.job.outcome.denied.append(&mut turned.denied);
        if turned.stop != Stop::No {
            let stop = turned.stop;
            self.end_session_as(turned, SessionStatus::Ended).await?;
            return Err(End::Stopped(stop));
        }
        let note = turned.end.summary.clone().filter(|note| !note.trim().is_empty());
        match turned.end.error.clone() {
            Some(TurnFailure::ConversationGone) => self.warn(&Warning::NoNote(NoNote::ConversationGone)),
            Some(failure) => {
                self.end_session_as(turned, SessionStatus::Failed).await?;
                return Err(End::failed(Failure::HandOff(failure)));
            }
            None if note.is_none() => self.warn(&Warning::NoNote(NoNote::Unwritten)),
            None => {}
        }
        self.end_session_as(turned, SessionStatus::HandedOff).await?;
        if let Some(note) = note.clone() {
            self.emit(JobEvent::HandOff { note });
        }
        Ok(note)
    }

    /// What the last session means for the job.
    fn conclude(&mut self, turned: Turned) -> Step<()> {
        if turned.stop != Stop::No {
            return Err(End::Stopped(turned.stop));
        }
        let mut summary = turned.end.summary;
        if let Some(text) = &mut summary {
            text.truncate(text.floor_char_boundary(MAX_SUMMARY_BYTES));
        }
        self.job.outcome.summary = summary.filter(|text| !text.trim().is_empty());
        match turned.end.error {
            None => Ok(()),
            Some(failure) => Err(End::failed(Failure::Turn(failure))),
        }
    }
}
