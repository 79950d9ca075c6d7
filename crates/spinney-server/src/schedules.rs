//! Schedules of agents and chores of the daemon, as one list that can be asked and told.

use spinney_app::document;
use spinney_core::{Event, Schedule};
use spinney_engine::Engine;
use spinney_jobs::schedules::{Listed, Selector, write_change};

use crate::app::App;
use crate::daemon::maintenance::{self, Chore};
use crate::error::{ApiError, Result};

/// What stands in a path for the agent of a chore.
pub(crate) const NO_AGENT: &str = "-";

/// What is to happen to a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    RunNow,
    Pause,
    Resume,
}

/// The rows of all schedules and chores of an account that ran or were planned.
pub(crate) async fn rows(engine: &Engine) -> Result<Vec<Schedule>> {
    Ok(engine.store().read().await?.schedules(engine.account(), engine.home().node()).await?)
}

/// Loads all of an account: first the agents', then the daemon's own.
pub(crate) async fn load(app: &App, engine: &Engine) -> Result<document::Schedules> {
    let listing = app.schedules(engine)?.list().await?;
    let mut schedules: Vec<_> = listing.schedules.iter().map(document::Schedule::of).collect();
    for chore in Chore::ALL {
        schedules.push(document::Schedule::of_chore(&maintenance::row(engine, chore).await?));
    }
    Ok(document::Schedules {
        schedules,
        problems: listing.problems.iter().map(document::ScheduleProblem::of).collect(),
    })
}

/// Changes one, and wakes who runs it.
pub(crate) async fn change(
    app: &App,
    engine: &Engine,
    (agent, name): (&str, &str),
    repository: Option<&str>,
    change: Change,
) -> Result<document::Schedule> {
    let unknown = || ApiError::not_found("there is no such schedule");
    if agent == NO_AGENT {
        let chore = Chore::ALL.into_iter().find(|chore| chore.name() == name).ok_or_else(unknown)?;
        return change_chore(app, engine, chore, change).await;
    }
    let which = Selector {
        agent: agent.parse().map_err(|_| unknown())?,
        name: name.parse().map_err(|_| unknown())?,
        repository: repository.map(str::parse).transpose().map_err(|_| unknown())?,
    };
    let schedules = app.schedules(engine)?;
    let changed: Listed = match change {
        Change::RunNow => schedules.run_now(&which).await?,
        Change::Pause => schedules.pause(&which, "paused by a person").await?,
        Change::Resume => schedules.resume(&which).await?,
    };
    app.schedules_asked().notify_one();
    Ok(document::Schedule::of(&changed))
}

async fn change_chore(app: &App, engine: &Engine, chore: Chore, change: Change) -> Result<document::Schedule> {
    loop {
        let mut row = maintenance::row(engine, chore).await?;
        match change {
            Change::RunNow => row.asked = true,
            Change::Pause => (row.paused, row.pause_reason) = (true, Some("paused by a person".to_owned())),
            Change::Resume => (row.paused, row.pause_reason, row.failures) = (false, None, 0),
        }
        let what = match change {
            Change::RunNow => Event::ScheduleAsked,
            Change::Pause => Event::SchedulePaused,
            Change::Resume => Event::ScheduleResumed,
        };
        if write_change(engine, &mut row, what).await? {
            app.chores_asked().notify_one();
            return Ok(document::Schedule::of_chore(&row));
        }
    }
}
