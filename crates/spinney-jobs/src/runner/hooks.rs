//! An agent's hooks: shell lines in the workspace, around its sessions.

use std::ffi::OsString;
use std::time::Duration;

use serde_json::json;
use spinney_core::{JobEvent, JobPhase, JobStatus, Stream};
use spinney_engine::executor::{Invocation, Tag};

use super::setup::JobPlace;
use super::{End, Run, Step};
use crate::Sink;
use crate::log::Log;
use crate::runner::control::{Control, Stop};
use crate::runner::process::{self, Lines, Ran};
use crate::told::{Detail, Failure, HookFault, Warning};

/// How long the hooks after a run may take; those before it share the agent's own time.
const CLOSING_TIMEOUT: Duration = Duration::from_secs(600);
/// The same where nobody wants to wait.
const HASTY_TIMEOUT: Duration = Duration::from_secs(5);
/// A longer text can't be a variable: the system takes 128 KiB, with the name.
const MAX_VARIABLE_BYTES: usize = 120 << 10;

/// Writes what a hook prints into the log.
#[derive(Debug)]
struct Listener<'a>(&'a mut Log);

impl Lines for Listener<'_> {
    fn line(&mut self, stream: Stream, line: &[u8], cut_bytes: u64) {
        let text = String::from_utf8_lossy(line).into_owned();
        self.0.emit(JobEvent::Output { stream, text, cut_bytes });
    }

    fn pause(&mut self) {
        self.0.flush();
    }
}

impl Run<'_> {
    /// Runs `before_run`; a failing line fails the job.
    pub(super) async fn run_opening_hooks(&mut self, place: &JobPlace) -> Step<()> {
        let lines = self.agent.config.hooks.before_run.clone();
        let control = self.control.clone();
        for line in lines {
            self.begin_with(JobPhase::BeforeRun, &Detail::Plain(line.clone()));
            let ran = self.run_hook(place, &line, Vec::new(), Vec::new(), &control).await?;
            if ran.stop != Stop::No {
                return Err(End::Stopped(ran.stop));
            }
            if let Some(fault) = fault(&ran) {
                return Err(End::failed(Failure::BeforeRun { line, fault }));
            }
        }
        Ok(())
    }

    /// Runs `after_run` or `on_error` with the job's result, and tells whether there are any. What fails here is told and
    /// changes nothing.
    pub(super) async fn run_closing_hooks(&mut self, place: &JobPlace, status: JobStatus) -> bool {
        let hooks = &self.agent.config.hooks;
        let (phase, lines) = match status {
            JobStatus::Completed => (JobPhase::AfterRun, hooks.after_run.clone()),
            _ => (JobPhase::OnError, hooks.on_error.clone()),
        };
        if lines.is_empty() {
            return false;
        }
        let mut result = self.result(place, status);
        let whole = result.to_string();
        if whole.len() > MAX_VARIABLE_BYTES {
            for list in ["escaped", "left_out", "shared"] {
                result[list] = json!([]);
            }
        }
        let variables = vec![
            (OsString::from("SPINNEY_JOB_STATUS"), OsString::from(status.as_str())),
            (OsString::from("SPINNEY_JOB_RESULT"), OsString::from(result.to_string())),
        ];
        // A job that was cancelled, or whose time was up, still has its say, but not for ever.
        let stop = self.control.stop();
        let control = self.control.beyond(stop.max(Stop::TimedOut));
        let within = if stop == Stop::AtOnce { HASTY_TIMEOUT } else { CLOSING_TIMEOUT };
        for line in lines {
            self.begin_with(phase, &Detail::Plain(line.clone()));
            let hook = self.run_hook(place, &line, variables.clone(), whole.clone().into_bytes(), &control);
            let told = match tokio::time::timeout(within, hook).await {
                Ok(Ok(ran)) => fault(&ran),
                Ok(Err(end)) => Some(HookFault::NotRun(end.why().failure)),
                Err(_) => Some(HookFault::TooSlow),
            };
            if let Some(fault) = told {
                self.warn(&Warning::Hook { phase, line, fault });
            }
        }
        true
    }

    async fn run_hook(
        &mut self,
        place: &JobPlace,
        line: &str,
        variables: Vec<(OsString, OsString)>,
        stdin: Vec<u8>,
        control: &Control,
    ) -> Step<Ran> {
        let mut environment = self.environment(place)?;
        environment.extend(variables);
        let tag = Some(Tag::Job(self.job.id.clone()));
        let invocation = Invocation { environment, tag, ..Invocation::shell(line, place.directory()) };
        let failed = |error| End::failed(Failure::HookUnstarted { line: line.to_owned(), error });
        let started = place.executor().start(&invocation).map_err(failed)?;
        process::run(started, stdin, control, &mut Listener(&mut self.log)).await.map_err(failed)
    }

    /// The job as its hooks see it.
    fn result(&self, place: &JobPlace, status: JobStatus) -> serde_json::Value {
        let outcome = &self.job.outcome;
        json!({
            "id": self.job.id,
            "agent": self.job.agent,
            "status": status,
            "repository": self.job.repository,
            "work_item": self.job.work.workspace_name(),
            "workspace": place.inside(),
            "branch": outcome.branch,
            "commit": outcome.commit,
            "commits": outcome.commits,
            "files": outcome.files,
            "push": outcome.push,
            "pull_request": outcome.pull_request,
            "summary": outcome.summary,
            "error": outcome.error,
            "escaped": outcome.escaped,
            "left_out": outcome.left_out,
            "shared": outcome.shared,
            "dropped": outcome.dropped,
            "held": outcome.held,
            "usage": outcome.usage,
        })
    }
}

/// How a hook failed; none when it did not.
fn fault(ran: &Ran) -> Option<HookFault> {
    match (ran.exit.status, ran.exit.signal) {
        (Some(0), _) => None,
        (Some(status), _) => Some(HookFault::Status { status, said: ran.exit.cause() }),
        (None, Some(signal)) => Some(HookFault::Signal(signal)),
        (None, None) => Some(HookFault::Unknown),
    }
}
