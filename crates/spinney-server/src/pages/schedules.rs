//! What starts by itself: agents at their times, and the daemon's own chores.

use askama::Template;
use axum::extract::State;
use serde::Deserialize;
use spinney_app::words;
use spinney_core::config::ScheduleKind;
use spinney_core::quantity::Span;
use spinney_core::{Schedule, Timestamp};
use spinney_jobs::schedules::{Listed, Problem, Report};

use super::answer::{Asked, Form, Result, lead, patiently};
use super::audit::in_words;
use super::frame::{Did, Frame};
use super::mark::Mark;
use super::render;
use crate::app::App;
use crate::auth::Caller;
use crate::daemon::maintenance::{self, Chore};
use crate::operations::Begun;
use crate::schedules::{self, Change, NO_AGENT};

#[derive(Template)]
#[template(path = "schedules.html")]
struct SchedulesPage {
    frame: Frame,
    rows: Vec<ScheduleRow>,
    problems: Vec<(String, String)>,
    chores: Vec<ScheduleRow>,
}

struct ScheduleRow {
    name: String,
    /// [`NO_AGENT`] for a chore.
    agent: String,
    repository: String,
    repository_id: String,
    mark: Mark,
    timing: String,
    next: String,
    last: String,
    report: String,
    job: Option<String>,
    is_paused: bool,
}

pub(crate) async fn list(State(app): State<App>, caller: Caller, Asked(did): Asked<Did>) -> Result {
    let engine = app.engine_of(&caller);
    let (own, of) = (app.clone(), engine.clone());
    let listing = patiently(&app, move || async move { Ok(own.schedules(&of)?.list().await?) }).await?;
    let mut chores = Vec::new();
    for chore in Chore::ALL {
        let row = maintenance::row(&engine, chore).await?;
        let interval = chore.interval(&engine.config().cleanup);
        let timing = interval.map_or_else(|| "never".to_owned(), |interval| format!("every {}", Span(interval)));
        let report = Some(in_words(&row.last_report)).filter(|text| !text.is_empty());
        let idle = || if row.last_started_at.is_some() { "nothing to do".to_owned() } else { String::new() };
        let row = ScheduleRow::new(&row, timing, report.unwrap_or_else(idle));
        chores.push(ScheduleRow { name: chore.name().to_owned(), ..row });
    }
    Ok(render(&SchedulesPage {
        frame: Frame::new(&caller, "Schedules", &did),
        rows: listing.schedules.iter().map(ScheduleRow::listed).collect(),
        problems: listing.problems.iter().map(told).collect(),
        chores,
    }))
}

/// What is wrong, and with what.
fn told(problem: &Problem) -> (String, String) {
    let parts = [
        problem.repository.as_ref().map(ToString::to_string),
        problem.agent.as_ref().map(ToString::to_string),
        problem.schedule.as_ref().map(ToString::to_string),
    ];
    (parts.into_iter().flatten().collect::<Vec<_>>().join(" "), problem.message.clone())
}

impl ScheduleRow {
    fn new(row: &Schedule, timing: String, report: String) -> Self {
        let (mark, next) = match row.planned_at {
            _ if row.asked => (Mark::state("running"), "now".to_owned()),
            _ if row.paused => (Mark::state("stale"), "paused".to_owned()),
            Some(at) => (Mark::state("idle"), until(at)),
            None => (Mark::state("purged"), "never".to_owned()),
        };
        let word = if row.asked {
            "asked"
        } else if row.paused {
            "paused"
        } else {
            "on"
        };
        Self {
            name: row.key.name.to_string(),
            agent: row.key.agent.as_ref().map_or_else(|| NO_AGENT.to_owned(), ToString::to_string),
            repository: String::new(),
            repository_id: row.key.repository_id.as_ref().map(ToString::to_string).unwrap_or_default(),
            mark: Mark { word: word.to_owned(), ..mark },
            timing,
            next,
            last: row.last_started_at.map(words::ago).unwrap_or_default(),
            report,
            job: row.last_job_id.as_ref().map(ToString::to_string),
            is_paused: row.paused,
        }
    }

    /// What can be done with it, and what that is called.
    fn actions(&self) -> [(&'static str, &'static str); 2] {
        let other = if self.is_paused { ("resume", "Resume") } else { ("pause", "Pause") };
        [("run", "Run now"), other]
    }

    fn listed(listed: &Listed) -> Self {
        let config = &listed.config;
        let timing = match (config.kind, &config.cron) {
            (ScheduleKind::Cron, Some(cron)) => match &config.timezone {
                Some(zone) => format!("{cron} in {zone}"),
                None => format!("{cron} in UTC"),
            },
            _ => format!("every {}", config.interval),
        };
        let row = &listed.schedule;
        let report = match (&row.pause_reason, Report::read(&row.last_report)) {
            (Some(reason), _) if row.paused => reason.clone(),
            (_, Some(report)) => {
                let outcome = serde_json::to_value(report.outcome).ok();
                let outcome = outcome.as_ref().and_then(|word| word.as_str()).unwrap_or_default().to_owned();
                [Some(outcome), report.item, report.message].into_iter().flatten().collect::<Vec<_>>().join(", ")
            }
            _ => String::new(),
        };
        Self { repository: listed.repository.to_string(), ..Self::new(row, timing, report) }
    }
}

/// `in 4m`.
fn until(at: Timestamp) -> String {
    let now = Timestamp::now();
    match at <= now {
        true => "now".to_owned(),
        false => format!("in {}", words::age(now.minus(words::between(now, at)))),
    }
}

/// Which schedule is meant.
#[derive(Debug, Deserialize)]
pub(crate) struct ScheduleFields {
    #[serde(default)]
    repository: String,
    #[serde(default)]
    agent: String,
    #[serde(default)]
    name: String,
}

pub(crate) async fn run(State(app): State<App>, caller: Caller, Form(form): Form<ScheduleFields>) -> Result {
    change(&app, &caller, form, Change::RunNow).await?;
    lead(&caller, "/schedules", "ran")
}

pub(crate) async fn pause(State(app): State<App>, caller: Caller, Form(form): Form<ScheduleFields>) -> Result {
    change(&app, &caller, form, Change::Pause).await?;
    lead(&caller, "/schedules", "paused")
}

pub(crate) async fn resume(State(app): State<App>, caller: Caller, Form(form): Form<ScheduleFields>) -> Result {
    change(&app, &caller, form, Change::Resume).await?;
    lead(&caller, "/schedules", "resumed")
}

async fn change(app: &App, caller: &Caller, form: ScheduleFields, change: Change) -> Result<()> {
    let (engine, own) = (app.engine_of(caller), app.clone());
    let begun = Begun::new(app, move || async move {
        let repository = Some(form.repository.as_str()).filter(|name| !name.is_empty());
        schedules::change(&own, &engine, (&form.agent, &form.name), repository, change).await
    });
    begun.end().await?;
    Ok(())
}
