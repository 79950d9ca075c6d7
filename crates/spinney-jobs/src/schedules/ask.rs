//! What can be asked about schedules, from wherever. Nothing here is slow: to run one now is to have the next tick do it.

use async_recursion::async_recursion as boxed;
use spinney_core::config::ScheduleConfig;
use spinney_core::{AgentName, Event, RepositoryName, Schedule, ScheduleName, Timestamp};
use spinney_engine::{Check, Engine, Mark};

use super::configured::{Configured, Problem};
use super::{Schedules, plan};
use crate::events::ScheduleChange;
use crate::{Error, Result, events};

/// Which schedule is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selector {
    pub agent: AgentName,
    pub name: ScheduleName,
    /// None: whichever repository has it, if it is one.
    pub repository: Option<RepositoryName>,
}

/// A schedule as it is configured, and as far as it has come.
#[derive(Debug, Clone)]
pub struct Listed {
    pub repository: RepositoryName,
    pub config: ScheduleConfig,
    pub schedule: Schedule,
}

/// Every schedule of an account on this node, and what is wrong with others.
#[derive(Debug, Clone)]
pub struct Listing {
    pub schedules: Vec<Listed>,
    pub problems: Vec<Problem>,
}

impl Schedules<'_> {
    /// Lists what is configured. One that no tick has seen yet is told as it would be planned now.
    #[boxed]
    pub async fn list(&self) -> Result<Listing> {
        let engine = self.jobs.engine;
        let found = self.load_configured(false).await?;
        let rows = engine.store().read().await?.schedules(engine.account(), engine.home().node()).await?;
        let now = Timestamp::now();
        let listed = |configured: Configured| {
            let row = rows.iter().find(|row| row.key == configured.key).cloned();
            let schedule = row.unwrap_or_else(|| plan::first(&configured, now));
            Listed { repository: configured.repository, config: configured.config, schedule }
        };
        let mut schedules: Vec<_> = found.schedules.into_iter().map(listed).collect();
        schedules.sort_by_key(|listed| {
            let key = &listed.schedule.key;
            (listed.repository.to_string(), key.agent.clone(), key.name.clone())
        });
        Ok(Listing { schedules, problems: found.problems })
    }

    /// Tells of each schedule that can't run, until somebody does something about it.
    #[boxed]
    pub async fn diagnose(&self) -> Result<Vec<Check>> {
        let problems = self.load_configured(false).await?.problems;
        // What is wrong with a whole repository is told elsewhere.
        let problems = problems.into_iter().filter(|problem| problem.lasts && problem.schedule.is_some());
        Ok(problems.map(|problem| Check::advised(Mark::Bad, "schedule", problem.to_string(), problem.advice)).collect())
    }

    /// Has the next tick start it, paused or not.
    #[boxed]
    pub async fn run_now(&self, which: &Selector) -> Result<Listed> {
        self.change(which, Event::ScheduleAsked, |_, row| row.asked = true).await
    }

    /// Pauses it.
    #[boxed]
    pub async fn pause(&self, which: &Selector, reason: &str) -> Result<Listed> {
        self.change(which, Event::SchedulePaused, |_, row| {
            (row.paused, row.pause_reason) = (true, Some(reason.to_owned()));
        })
        .await
    }

    /// Resumes it, from now on.
    #[boxed]
    pub async fn resume(&self, which: &Selector) -> Result<Listed> {
        let resumed = |configured: &Configured, row: &mut Schedule| {
            (row.paused, row.pause_reason, row.failures) = (false, None, 0);
            row.planned_at = plan::next(&configured.config, &configured.key, Timestamp::now());
        };
        self.change(which, Event::ScheduleResumed, resumed).await
    }

    /// Changes a row, again on what somebody else made of it.
    async fn change(
        &self,
        which: &Selector,
        what: ScheduleChange,
        change: impl Fn(&Configured, &mut Schedule),
    ) -> Result<Listed> {
        let configured = self.find(which).await?;
        loop {
            let mut row = self.row(&configured, Timestamp::now()).await?;
            change(&configured, &mut row);
            if write_change(self.jobs.engine, &mut row, what).await? {
                let Configured { repository, config, .. } = configured;
                return Ok(Listed { repository, config, schedule: row });
            }
        }
    }

    async fn find(&self, which: &Selector) -> Result<Configured> {
        let is_meant = |configured: &Configured| {
            let right_repository = which.repository.as_ref().is_none_or(|name| *name == configured.repository);
            right_repository && configured.key.agent.as_ref() == Some(&which.agent) && configured.key.name == which.name
        };
        let mut found = self.load_configured(false).await?.schedules;
        found.retain(is_meant);
        let (agent, name) = (which.agent.to_string(), which.name.to_string());
        match found.len() {
            0 => Err(Error::UnknownSchedule { agent, name }),
            1 => Ok(found.remove(0)),
            _ => {
                let repositories = found.iter().map(|configured| format!("`{}`", configured.repository)).collect();
                Err(Error::AmbiguousSchedule { agent, name, repositories })
            }
        }
    }
}

/// Writes what a person did to a schedule, or to a chore, into its row and into the audit log; `false` when somebody else
/// changed it meanwhile.
#[boxed]
pub async fn write_change(engine: &Engine, row: &mut Schedule, what: ScheduleChange) -> Result<bool> {
    let mut db = engine.store().write().await?;
    if !db.update_schedule(row).await? {
        return Ok(false);
    }
    events::schedule(&mut db, row, what)?;
    db.commit().await?;
    Ok(true)
}
