//! What a schedule has come to, and who holds which item of a work source.

use serde_json::Value;

use crate::config::WorkSourceConfig;
use crate::values::checked_text::checked_text;
use crate::{AgentName, JobId, JobStatus, NodeId, RepositoryId, Timestamp};

const MAX_NAME_BYTES: usize = 40;

checked_text!(
    /// A schedule's name, as `nightly`: safe in a branch, in a URL and in a key of the configuration.
    ScheduleName,
    is_schedule_name,
    /// A text that can't name a schedule.
    InvalidScheduleName: "`{}` is not a schedule's name: at most 40 lowercase letters, digits, `-` and `_`, a letter or digit first"
);

fn is_schedule_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.len() <= MAX_NAME_BYTES && text.starts_with(plain) && text.chars().all(|c| plain(c) || "-_".contains(c))
}

/// Which schedule is meant.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScheduleKey {
    pub account: String,
    /// A repository is one node's, and so are its schedules.
    pub node: NodeId,
    /// None for what a node does for itself.
    pub repository_id: Option<RepositoryId>,
    /// None likewise.
    pub agent: Option<AgentName>,
    pub name: ScheduleName,
}

/// One row of the store.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    pub key: ScheduleKey,
    /// What its plan was made by; another text, another plan.
    pub timing: String,
    /// When it starts next; none where it never does.
    pub planned_at: Option<Timestamp>,
    /// Whether somebody wants it to run now, paused or not.
    pub asked: bool,
    pub paused: bool,
    pub pause_reason: Option<String>,
    /// In a row, up to now.
    pub failures: u32,
    pub last_started_at: Option<Timestamp>,
    pub last_job_id: Option<JobId>,
    /// As far as it was looked at.
    pub last_status: Option<JobStatus>,
    pub last_report: Value,
    pub updated_at: Timestamp,
}

/// An item of a work source that a job has to itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The place that the item is in, whatever the schedule.
    pub source: String,
    /// The item's name there.
    pub item: String,
    pub schedule: ScheduleKey,
    /// Set before the job is recorded; it marks this claim from every other on the item.
    pub job_id: JobId,
    /// How to reach the source, whatever became of the configuration.
    pub work_source: WorkSourceConfig,
    pub since: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BranchName;

    #[test]
    fn a_schedules_name_can_be_part_of_a_branch() {
        for name in ["nightly", "7", "process-issues_2"] {
            assert_eq!(name.parse::<ScheduleName>().unwrap().as_str(), name);
            assert!(format!("agent/{name}/x").parse::<BranchName>().is_ok(), "{name}");
        }
        let long = "x".repeat(MAX_NAME_BYTES + 1);
        for name in ["", "Nightly", "-x", "a.b", "a/b", "a b", "..", &long] {
            assert!(name.parse::<ScheduleName>().is_err(), "{name}");
        }
    }
}
