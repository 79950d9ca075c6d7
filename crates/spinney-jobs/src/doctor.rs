//! Looks at agents and jobs, and says what to do where it is not good. Changes nothing.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use spinney_core::{AgentName, Job, JobStatus};
use spinney_engine::{Check, Context};

use crate::runtime::{Conversation, Turn};
use crate::{Agent, Jobs, Result};

/// As many jobs as anybody types.
const MAX_NAMED: usize = 3;

impl Jobs<'_> {
    pub async fn diagnose(&self) -> Result<Vec<Check>> {
        let mut checks = vec![self.check_jobs().await?];
        let mut told = BTreeSet::new();
        for repository in self.engine.repositories().await? {
            let name = repository.name.to_string();
            // What is wrong with a repository itself is told elsewhere.
            let Ok(context) = self.engine.repository(Some(&name), self.engine.home().root()).await else { continue };
            let agents = context.config().agents.keys().map(|agent| self.check_agent(&context, agent));
            // An agent that every repository has is told once.
            checks.extend(agents.filter(|check| told.insert(check.fact.clone())));
        }
        Ok(checks)
    }

    /// Whether an agent's program is there.
    fn check_agent(&self, context: &Context, name: &AgentName) -> Check {
        let agent = match Agent::find(context, name) {
            Ok(agent) => agent,
            Err(error) => return Check::bad("agent", error.to_string(), "spinney config validate"),
        };
        let turn = Turn::new(&agent.settings, Path::new(""), Conversation::New(None));
        let program = agent.runtime.program(&turn).file;
        let shown = Path::new(&program).display();
        let own = agent.config.env.iter().find(|(key, _)| *key == "PATH").map(|(_, path)| OsStr::new(path));
        let inherited =
            || self.engine.environment().iter().find(|(key, _)| key == "PATH").map(|(_, path)| path.as_os_str());
        match is_found(&program, own.or_else(inherited)) {
            true => Check::good("agent", format!("{name} runs `{shown}`")),
            false => {
                let fix = format!("install it, or set agents.{name}.command");
                Check::bad("agent", format!("`{shown}`, the program of {name}, is not there"), fix)
            }
        }
    }

    /// Which jobs wait for somebody to go on with them.
    async fn check_jobs(&self) -> Result<Check> {
        let under_way = self.list(None, &[JobStatus::Pending, JobStatus::Running], u32::MAX).await?.len();
        let mut interrupted = Vec::new();
        for job in self.list(None, &[JobStatus::Interrupted], u32::MAX).await? {
            if !self.is_overtaken(&job).await? {
                interrupted.push(format!("spinney retry {}", job.id));
            }
        }
        if interrupted.is_empty() {
            return Ok(Check::good("jobs", format!("{under_way} under way")));
        }
        let fact = format!("{} interrupted", interrupted.len());
        let fix = match interrupted.len() {
            ..=MAX_NAMED => interrupted.join(", "),
            _ => "spinney jobs --all --status interrupted, then spinney retry".to_owned(),
        };
        Ok(Check::notice("jobs", fact, fix))
    }

    /// Whether a job's workspace is gone, or another job has gone on in it.
    async fn is_overtaken(&self, job: &Job) -> Result<bool> {
        let Some(workspace) = job.own_workspace_id() else { return Ok(false) };
        let mut db = self.engine.store().read().await?;
        let is_live = db.workspace(workspace).await?.is_some_and(|workspace| workspace.status.is_live());
        let newest = db.jobs_in(workspace, 1).await?.pop();
        Ok(!is_live || newest.is_some_and(|newest| newest.id != job.id))
    }
}

/// Whether a program would be found; one that is named relative to the workspace is known there only.
fn is_found(program: &OsStr, path: Option<&OsStr>) -> bool {
    let program = Path::new(program);
    if program.components().count() > 1 || program.is_absolute() {
        return !program.is_absolute() || is_executable(program);
    }
    path.is_some_and(|path| std::env::split_paths(path).any(|directory| is_executable(&directory.join(program))))
}

fn is_executable(file: &Path) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}
