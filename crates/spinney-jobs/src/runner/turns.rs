//! One turn of a session: starts the runtime's program, understands what it says, ends it when the job is to end.

use std::ffi::OsString;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use spinney_core::quantity::Share;
use spinney_core::{JobEvent, Session, Stream, Usage};
use spinney_engine::executor::{Invocation, Started, Tag};
use tokio::sync::Notify;
use tokio::time::timeout;

use super::setup::JobPlace;
use super::tracker::Tracker;
use super::{End, Run, Step};
use crate::Sink;
use crate::maintenance::outage::through;
use crate::runner::control::Stop;
use crate::runner::process::{self, Lines};
use crate::runtime::{Conversation, Dialogue, GitDirectories, Program, Protocol, Reader, Turn, TurnEnd};
use crate::told::{Failure, TurnFailure, Words};

/// How long an agent whose dialogue is over may take to leave by itself: some don't notice that nobody talks to them any
/// more, and are asked to end.
const LEAVE_WITHIN: Duration = Duration::from_millis(500);
/// How long what a program said last is still read after it has ended.
const READ_FOR: Duration = Duration::from_secs(1);

/// What a turn came to.
#[derive(Debug)]
pub(super) struct Turned {
    pub end: TurnEnd,
    pub session: Session,
    pub denied: Vec<String>,
    pub stop: Stop,
    /// It was ended because its context was full.
    pub full: bool,
}

/// Hands lines to a runtime's reader, and what is none of its own to the log.
struct Listener<'a, 'b> {
    reader: Box<dyn Reader>,
    tracker: &'a mut Tracker<'b>,
}

impl Lines for Listener<'_, '_> {
    fn line(&mut self, stream: Stream, line: &[u8], cut_bytes: u64) {
        if stream == Stream::Stdout && cut_bytes == 0 {
            return self.reader.line(line, self.tracker);
        }
        let text = String::from_utf8_lossy(line).into_owned();
        self.tracker.emit(JobEvent::Output { stream, text, cut_bytes });
    }

    fn pause(&mut self) {
        self.tracker.flush();
    }

    fn wants_end(&self) -> bool {
        self.tracker.goes_on_full
    }
}

impl Run<'_> {
    /// Takes one turn. `hand_off_at` of zero lets it run to its end however full its context is.
    pub(super) async fn take_turn(
        &mut self,
        place: &JobPlace,
        session: Session,
        conversation: Conversation<'_>,
        prompt: &str,
        hand_off_at: Share,
    ) -> Step<Turned> {
        let prompt_file = self.jobs.places.prompt(&self.job.id);
        write_private(&prompt_file, prompt.as_bytes()).map_err(|error| End::failed(Failure::PromptUnwritten(error)))?;
        let system_prompt = self.system_prompt(place);
        let inside = |path: &Path| place.executor().path_inside(path);
        let tree = place.workspace().and_then(|row| self.context.require_tree(row).ok());
        let directories = tree.map(|tree| (inside(tree.admin_dir()), inside(tree.common_dir())));
        let git = directories.as_ref().map(|(own, common)| GitDirectories { own, common });
        let environment: Vec<(OsString, OsString)> = self.environment(place)?;
        let mcp_servers = self.mcp_servers(&environment)?;
        let mcp_file = self.jobs.places.mcp(&self.job.id);
        let spent = match conversation {
            Conversation::Resumed(name) => {
                let store = self.jobs.engine.store();
                through(async || Ok::<_, End>(store.read().await?.spent_in(name).await?)).await?
            }
            Conversation::New(_) => Usage::default(),
        };
        let agent = self.agent.clone();
        let turn = Turn {
            settings: &agent.settings,
            directory: &place.inside(),
            git,
            prompt,
            prompt_file: &inside(&prompt_file),
            mcp_servers: &mcp_servers,
            mcp_file: &inside(&mcp_file),
            system_prompt: &system_prompt,
            conversation,
            spent,
            environment: &environment,
        };
        let Program { file, arguments, variables, mcp, stdin } = agent.runtime.program(&turn);
        if let Some(mcp) = mcp {
            write_private(&mcp_file, &mcp).map_err(|error| End::failed(Failure::PromptUnwritten(error)))?;
        }
        let program = file.to_string_lossy().into_owned();
        let invocation = Invocation {
            arguments,
            environment: environment.iter().cloned().chain(variables).collect(),
            tag: Some(Tag::Job(self.job.id.clone())),
            ..Invocation::new(file, place.directory())
        };
        let unstarted = |error| {
            End::failed(Failure::ProgramUnstarted { program: program.clone(), agent: agent.name.clone(), error })
        };
        let started = place.executor().start(&invocation).map_err(unstarted)?;
        let control = self.control.clone();
        let store = self.jobs.engine.store().clone();
        let mut tracker = Tracker::new(&mut self.log, store, agent.runtime, session, hand_off_at);
        let failed = |error| End::failed(Failure::ProgramUnwatched { program: program.clone(), error });
        let (end, stop, full) = match agent.runtime.protocol(&turn) {
            Protocol::Lines(reader) => {
                let mut listener = Listener { reader, tracker: &mut tracker };
                let ran = process::run(started, stdin, &control, &mut listener).await.map_err(failed)?;
                let end = listener.reader.end(&ran.exit);
                // One that came to its end although its context was full has ended.
                let full = ran.ended_by_listener && ran.stop == Stop::No && end.error.is_some();
                (end, ran.stop, full)
            }
            Protocol::Dialogue(dialogue) => {
                let (end, stop) = hold(started, dialogue, &control, &mut tracker).await.map_err(failed)?;
                let full = tracker.goes_on_full && stop == Stop::No && end.error.is_some();
                (end, stop, full)
            }
        };
        let end = end.after_refusal(tracker.refused.clone());
        tracker.count(end.usage);
        let (session, denied) = tracker.finish().await;
        Ok(Turned { end, session, denied, stop, full })
    }
}

/// Events of a dialogue and lines of its standard error come from two sides.
struct Shared<'a, 'b> {
    tracker: &'a Mutex<&'a mut Tracker<'b>>,
    /// Told when the session goes on although its context is full.
    full: &'a Notify,
}

impl Sink for Shared<'_, '_> {
    fn emit(&mut self, event: JobEvent) {
        let mut tracker = self.tracker.lock().unwrap_or_else(PoisonError::into_inner);
        tracker.emit(event);
        tracker.flush();
        if tracker.goes_on_full {
            self.full.notify_one();
        }
    }

    fn words(&self) -> Arc<dyn Words> {
        self.tracker.lock().unwrap_or_else(PoisonError::into_inner).words()
    }
}

impl Lines for Shared<'_, '_> {
    fn line(&mut self, stream: Stream, line: &[u8], cut_bytes: u64) {
        self.emit(JobEvent::Output { stream, text: String::from_utf8_lossy(line).into_owned(), cut_bytes });
    }
}

/// Lets a runtime talk with its program until the turn is over, its context is full, the program has ended, or the job is
/// to end.
async fn hold(
    mut started: Started,
    dialogue: Box<dyn Dialogue>,
    control: &crate::runner::control::Control,
    tracker: &mut Tracker<'_>,
) -> std::io::Result<(TurnEnd, Stop)> {
    // Its standard error is read as that of any other.
    let Some((stdin, stdout)) = started.take_stdin().zip(started.take_stdout()) else {
        return Ok((failure(TurnFailure::NoPipes), Stop::No));
    };
    let (tracker, full, over) = (Mutex::new(tracker), Notify::new(), Notify::new());
    let mut sink = Shared { tracker: &tracker, full: &full };
    let mut lines = Shared { tracker: &tracker, full: &full };
    let leave = async {
        over.notified().await;
        tokio::time::sleep(LEAVE_WITHIN).await;
    };
    let mut running = std::pin::pin!(process::run_until(started, Vec::new(), control, &mut lines, leave));
    let (end, ran) = {
        // Its pipes close with the talk, which tells it to leave.
        let mut talk = dialogue.hold(Box::new(stdin), Box::new(stdout), &mut sink);
        tokio::select! {
            end = &mut talk => (Some(end), None),
            () = full.notified() => (Some(failure(TurnFailure::ContextFull)), None),
            ran = &mut running => {
                let ran = ran?;
                // What it said before it ended may not be read yet; what it started may hold its output open.
                (timeout(READ_FOR, talk).await.ok(), Some(ran))
            }
        }
    };
    let ran = match ran {
        Some(ran) => ran,
        None => {
            over.notify_one();
            running.await?
        }
    };
    let end = match end {
        None => failure(TurnFailure::ExitInTurn(ran.exit.ended())),
        // The talk broke off because the program ended, and how it did says more.
        Some(end) if end.error == Some(TurnFailure::ClosedEarly) && !ran.ended_by_listener => {
            TurnEnd { error: Some(TurnFailure::ExitInTurn(ran.exit.ended())), ..end }
        }
        Some(end) => end,
    };
    Ok((end, ran.stop))
}

fn failure(failure: TurnFailure) -> TurnEnd {
    TurnEnd { error: Some(failure), ..TurnEnd::default() }
}

fn write_private(path: &Path, content: &[u8]) -> std::io::Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let mut file = std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(content)
}
