//! One turn of a session: starts the runtime's program, understands what it says, ends it when the job is to end.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use spinney_core::quantity::Share;
use spinney_core::{JobEvent, Session, Stream, Usage};
use spinney_engine::executor::{Invocation, Started, Tag};
use tokio::sync::Notify;
use tokio::time::timeout;

use super::setup::Place;
use super::tracker::Tracker;
use super::{End, Run, Step};
use crate::Sink;
use crate::control::Stop;
use crate::outage::through;
use crate::process::{self, Lines};
use crate::runtime::{Conversation, Dialogue, Exit, Failure, GitDirectories, Program, Protocol, Reader, Turn, TurnEnd};

/// How long an agent may take to leave after its dialogue is over.
const LEAVE_WITHIN: Duration = Duration::from_secs(5);

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
        place: &Place,
        session: Session,
        conversation: Conversation<'_>,
        prompt: &str,
        hand_off_at: Share,
    ) -> Step<Turned> {
        let prompt_file = self.jobs.places.prompt(&self.job.id);
        write_private(&prompt_file, prompt)
            .map_err(|error| End::failed(format!("its prompt can't be written: {error}")))?;
        let system_prompt = self.system_prompt(place);
        let inside = |path: &Path| place.executor().path_inside(path);
        let tree = place.workspace().and_then(|row| self.context.require_tree(row).ok());
        let directories = tree.map(|tree| (inside(tree.admin_dir()), inside(tree.common_dir())));
        let git = directories.as_ref().map(|(own, common)| GitDirectories { own, common });
        let environment: Vec<(OsString, OsString)> = self.environment(place);
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
            system_prompt: &system_prompt,
            conversation,
            spent,
            environment: &environment,
        };
        let Program { file, arguments, variables, stdin } = agent.runtime.program(&turn);
        let program = file.to_string_lossy().into_owned();
        let invocation = Invocation {
            arguments,
            environment: environment.iter().cloned().chain(variables).collect(),
            tag: Some(Tag::Job(self.job.id.clone())),
            ..Invocation::new(file, place.directory())
        };
        let started = place.executor().start(&invocation).map_err(|error| {
            End::failed(format!("`{program}`, the program of agent `{}`, could not be started: {error}", agent.name))
        })?;
        let control = self.control.clone();
        let store = self.jobs.engine.store().clone();
        let mut tracker = Tracker::new(&mut self.log, store, agent.runtime, session, hand_off_at);
        let failed = |error: std::io::Error| End::failed(format!("`{program}` could not be waited for: {error}"));
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
        let end = end.after_refusal(tracker.refused.as_deref());
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
        let mut tracker = self.tracker.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        tracker.emit(event);
        tracker.flush();
        if tracker.goes_on_full {
            self.full.notify_one();
        }
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
    control: &crate::control::Control,
    tracker: &mut Tracker<'_>,
) -> std::io::Result<(TurnEnd, Stop)> {
    // Its standard error is read as that of any other.
    let Some((stdin, stdout)) = started.take_stdin().zip(started.take_stdout()) else {
        return Ok((failure("its pipes are missing"), Stop::No));
    };
    let (tracker, full) = (Mutex::new(tracker), Notify::new());
    let mut sink = Shared { tracker: &tracker, full: &full };
    let mut lines = Shared { tracker: &tracker, full: &full };
    let mut running = std::pin::pin!(process::run(started, Vec::new(), control, &mut lines));
    let end = {
        // Its pipes close with the talk, which tells it to leave.
        let talk = dialogue.hold(Box::new(stdin), Box::new(stdout), &mut sink);
        tokio::select! {
            end = talk => Ok(end),
            () = full.notified() => Ok(failure("its context is full")),
            ran = &mut running => Err(ran?),
        }
    };
    match end {
        Err(ran) => Ok((failure(&ended_early(&ran.exit)), ran.stop)),
        Ok(end) => match timeout(LEAVE_WITHIN, running).await {
            Ok(ran) => Ok((end, ran?.stop)),
            // Dropped, it is ended with its whole group.
            Err(_) => Ok((end, control.stop())),
        },
    }
}

fn failure(text: &str) -> TurnEnd {
    TurnEnd { error: Some(Failure::Other(text.to_owned())), ..TurnEnd::default() }
}

fn ended_early(exit: &Exit) -> String {
    let how = match (exit.status, exit.signal) {
        (Some(status), _) => format!("its program ended with status {status} in the middle of the turn"),
        (None, Some(signal)) => format!("its program was ended by signal {signal}"),
        (None, None) => "its program ended".to_owned(),
    };
    match exit.stderr.lines().last() {
        Some(line) => format!("{how}: {line}"),
        None => how,
    }
}

fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let mut file = std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())
}
