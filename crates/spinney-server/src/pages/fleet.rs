//! The fleet: a row an agent, a block a job, over the last day.

use std::collections::BTreeMap;
use std::time::Duration;

use askama::Template;
use axum::extract::State;
use spinney_core::{Job, JobStatus, Timestamp};

use super::answer::Result;
use super::frame::{Did, Frame};
use super::mark::Mark;
use super::render;
use super::rows::{JobRow, took};
use crate::app::App;
use crate::auth::Caller;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const HOUR_MS: i64 = 60 * 60 * 1000;
/// More jobs than anybody can tell apart.
const DRAWN: u32 = 1000;

// What is drawn, in units of the picture.
const WIDTH: i64 = 1060;
const TOP: i64 = 22;
const LANE: i64 = 20;
const BLOCK: i64 = 16;
/// Room for the sign in it.
const NARROWEST: i64 = 13;
const GAP: i64 = 2;
const BETWEEN_AGENTS: i64 = 10;

#[derive(Template)]
#[template(path = "fleet.html")]
struct FleetPage {
    frame: Frame,
    width: i64,
    height: i64,
    hours: Vec<(i64, String)>,
    agents: Vec<AgentRow>,
    legend: Vec<Mark>,
    count: usize,
}

struct AgentRow {
    name: String,
    label_y: i64,
    line_y: i64,
    blocks: Vec<Block>,
}

struct Block {
    id: String,
    kind: &'static str,
    shape: &'static str,
    title: String,
    x: i64,
    y: i64,
    width: i64,
    height: i64,
    middle: i64,
    baseline: i64,
}

pub(crate) async fn show(State(app): State<App>, caller: Caller) -> Result {
    let engine = app.engine_of(&caller);
    let now = Timestamp::now();
    let since = now.minus(DAY);
    let jobs = app.jobs(&engine)?.list(None, JobStatus::ALL, DRAWN).await?;
    let drawn: Vec<&Job> = jobs.iter().filter(|job| job.ended_at.is_none_or(|ended| ended > since)).collect();
    let (agents, height) = draw(&drawn, now);
    let legend = [
        JobStatus::Running,
        JobStatus::Pending,
        JobStatus::Completed,
        JobStatus::Failed,
        JobStatus::TimedOut,
        JobStatus::Cancelled,
    ];
    Ok(render(&FleetPage {
        frame: Frame::new(&caller, "Fleet", &Did::default()),
        width: WIDTH,
        height,
        hours: hours(now),
        agents,
        legend: legend.into_iter().map(Mark::job).collect(),
        count: drawn.len(),
    }))
}

/// Where a time lies.
fn place(at: Timestamp, now: Timestamp) -> i64 {
    let day = i64::try_from(DAY.as_millis()).unwrap_or(i64::MAX);
    let since = at.as_millisecond() - (now.as_millisecond() - day);
    since.clamp(0, day) * WIDTH / day
}

/// A line for every third hour of the clock.
fn hours(now: Timestamp) -> Vec<(i64, String)> {
    let last = now.as_millisecond() / HOUR_MS;
    let whole = (last - 23..=last).filter(|hour| hour % 3 == 0);
    whole
        .map(|hour| (place(Timestamp::from_millisecond(hour * HOUR_MS), now), format!("{:02}:00", hour % 24)))
        .collect()
}

/// Puts jobs into rows, those at the same time under each other; tells how high all of it is.
fn draw(jobs: &[&Job], now: Timestamp) -> (Vec<AgentRow>, i64) {
    let mut by_agent: BTreeMap<&str, Vec<&Job>> = BTreeMap::new();
    for job in jobs {
        by_agent.entry(&job.agent).or_default().push(job);
    }
    let mut rows = Vec::new();
    let mut y = TOP;
    for (name, mut own) in by_agent {
        own.sort_by_key(|job| job.started_at.unwrap_or(job.created_at));
        let mut lanes: Vec<i64> = Vec::new();
        let mut blocks = Vec::new();
        for job in own {
            let x = place(job.started_at.unwrap_or(job.created_at), now).min(WIDTH - NARROWEST);
            let width = (place(job.ended_at.unwrap_or(now), now) - x).max(NARROWEST);
            let lane = lanes.iter().position(|end| *end + GAP <= x).unwrap_or(lanes.len());
            lanes.resize(lanes.len().max(lane + 1), 0);
            lanes[lane] = x + width;
            let top = y + i64::try_from(lane).unwrap_or(0) * LANE;
            blocks.push(Block::new(job, x, top, width));
        }
        let height = i64::try_from(lanes.len()).unwrap_or(1) * LANE;
        rows.push(AgentRow {
            name: name.to_owned(),
            label_y: y + 12,
            line_y: y + height + BETWEEN_AGENTS / 2 - 2,
            blocks,
        });
        y += height + BETWEEN_AGENTS;
    }
    (rows, y)
}

impl Block {
    fn new(job: &Job, x: i64, y: i64, width: i64) -> Self {
        let row = JobRow::new(job);
        let took = took(job);
        let parts = [row.name.as_str(), row.mark.word.as_str(), took.as_str(), row.about.as_str()];
        let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        Self {
            title: parts.join(", "),
            id: row.id,
            kind: row.mark.kind,
            shape: row.mark.shape,
            x,
            y,
            width,
            height: BLOCK,
            middle: x + width / 2,
            baseline: y + 12,
        }
    }
}
