//! A schedule: an agent's, or a chore of the daemon itself.

use serde::Serialize;
use serde_json::Value;
use spinney_jobs::schedules::{Listed, Problem};
use utoipa::ToSchema;

use super::{JobStatus, Timestamp};
use crate::{Front, advise_all};

/// Something that is done again and again.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Schedule {
    /// Null for a chore of the daemon; in a path that is `-`.
    #[schema(required)]
    pub agent: Option<String>,
    pub name: String,
    #[schema(required)]
    pub repository: Option<String>,
    /// When it runs, for people: `every 5m`, `cron 0 3 * * *`.
    pub timing: String,
    #[schema(required)]
    pub prompt: Option<String>,
    /// Where its work comes from, as `github acme/app`.
    #[schema(required)]
    pub work_source: Option<String>,
    pub resume_session: bool,
    pub paused: bool,
    #[schema(required)]
    pub pause_reason: Option<String>,
    /// In a row, up to now.
    pub failures: u32,
    #[schema(required)]
    pub planned_at: Option<Timestamp>,
    #[schema(required)]
    pub last_started_at: Option<Timestamp>,
    #[schema(required)]
    pub last_job_id: Option<String>,
    #[schema(required)]
    pub last_status: Option<JobStatus>,
    /// The outcome of the last run.
    pub last_report: Value,
}

/// Something that is configured and can't run.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ScheduleProblem {
    #[schema(required)]
    pub repository: Option<String>,
    #[schema(required)]
    pub agent: Option<String>,
    #[schema(required)]
    pub schedule: Option<String>,
    pub message: String,
    pub hints: Vec<String>,
}

/// All schedules of an account on this node.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Schedules {
    pub schedules: Vec<Schedule>,
    pub problems: Vec<ScheduleProblem>,
}

impl Schedule {
    #[must_use]
    pub fn of(listed: &Listed) -> Self {
        let config = &listed.config;
        Self {
            repository: Some(listed.repository.to_string()),
            prompt: (!config.prompt.is_empty()).then(|| config.prompt.clone()),
            work_source: config.work_source.as_ref().map(ToString::to_string),
            resume_session: config.resume_session,
            timing: config.timing(),
            ..Self::of_chore(&listed.schedule)
        }
    }

    /// A chore of the daemon.
    #[must_use]
    pub fn of_chore(row: &spinney_core::Schedule) -> Self {
        Self {
            agent: row.key.agent.as_ref().map(ToString::to_string),
            name: row.key.name.to_string(),
            repository: None,
            timing: row.timing.clone(),
            prompt: None,
            work_source: None,
            resume_session: false,
            paused: row.paused,
            pause_reason: row.pause_reason.clone(),
            failures: row.failures,
            planned_at: row.planned_at.map(Into::into),
            last_started_at: row.last_started_at.map(Into::into),
            last_job_id: row.last_job_id.as_ref().map(ToString::to_string),
            last_status: row.last_status.map(Into::into),
            last_report: row.last_report.clone(),
        }
    }
}

impl ScheduleProblem {
    #[must_use]
    pub fn of(problem: &Problem) -> Self {
        Self {
            repository: problem.repository.as_ref().map(ToString::to_string),
            agent: problem.agent.as_ref().map(ToString::to_string),
            schedule: problem.schedule.as_ref().map(ToString::to_string),
            message: problem.message.clone(),
            hints: advise_all(&problem.advice, Front::Api),
        }
    }
}
