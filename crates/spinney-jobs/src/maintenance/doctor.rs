//! Looks at agents and jobs, and says what to do where it is not good. Changes nothing.

use std::collections::BTreeSet;
use std::path::Path;

use async_recursion::async_recursion as boxed;
use spinney_core::{Job, JobStatus};
use spinney_engine::Check;

use crate::told::Finding;
use crate::{Agent, Jobs, Result};

impl Jobs<'_> {
    #[boxed]
    pub async fn diagnose(&self) -> Result<Vec<Check>> {
        let mut checks = vec![self.words.check(&self.check_jobs().await?)];
        let mut contexts = Vec::new();
        for repository in self.engine.repositories().await? {
            let name = repository.name.to_string();
            // What is wrong with a repository itself is told elsewhere.
            contexts.extend(self.engine.find_context(Some(&name), self.engine.home().root()).await);
        }
        let mut findings = Vec::new();
        for context in &contexts {
            let agents = context.config().agents.keys();
            findings.extend(agents.map(|name| self.check_agent(Agent::find(context, name))));
        }
        if contexts.is_empty() {
            // Those that every repository will have.
            let resolved = self.engine.resolve_configuration()?;
            let agents = resolved.config.agents.iter();
            findings.extend(agents.map(|(name, config)| self.check_agent(Agent::of(&resolved, name, config))));
        }
        let mut told = BTreeSet::new();
        let agents = findings.iter().map(|finding| self.words.check(finding));
        // An agent that every repository has is told once.
        checks.extend(agents.filter(|check| told.insert(check.fact.clone())));
        Ok(checks)
    }

    /// Whether what an agent is started with is there.
    fn check_agent(&self, agent: Result<Agent>) -> Finding {
        let agent = match agent {
            Ok(agent) => agent,
            Err(error) => return Finding::AgentUnusable(error),
        };
        match agent.require_start(self.engine.environment()) {
            Ok(()) => {
                let program = Path::new(&agent.program()).display().to_string();
                Finding::AgentRuns { agent: agent.name, program }
            }
            Err(error) => Finding::AgentUnstartable(error),
        }
    }

    /// Which jobs wait for somebody to go on with them.
    async fn check_jobs(&self) -> Result<Finding> {
        let under_way = self.list(None, &[JobStatus::Pending, JobStatus::Running], u32::MAX).await?.len();
        let mut interrupted = Vec::new();
        for job in self.list(None, &[JobStatus::Interrupted], u32::MAX).await? {
            if !self.is_overtaken(&job).await? {
                interrupted.push(job.id);
            }
        }
        Ok(if interrupted.is_empty() { Finding::UnderWay(under_way) } else { Finding::Interrupted(interrupted) })
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
