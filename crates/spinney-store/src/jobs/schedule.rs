//! Schedules. Whoever starts one says so first, if nobody else did meanwhile: of two daemons, one starts it.

use spinney_core::{JobId, JobStatus, NodeId, Schedule, ScheduleKey, Timestamp};
use sqlx::Any;
use sqlx::any::{AnyArguments, AnyRow};
use sqlx::query::Query;

use crate::database::row::Reader;
use crate::{Connection, Error};

macro_rules! schedules_sql {
    ($rest:literal) => {
        concat!(
            "SELECT name, account, node, repository_id, agent, timing, planned_at, asked, paused, pause_reason, failures,
                    last_started_at, last_job_id, last_status, last_report, updated_at
             FROM schedules ",
            $rest
        )
    };
}

fn schedule(row: &AnyRow) -> Result<Schedule, Error> {
    let mut row = Reader::new("schedules", row);
    let name = row.parsed()?;
    let key = ScheduleKey {
        account: row.text()?,
        node: row.parsed()?,
        repository_id: row.parsed_unless_empty()?,
        agent: row.parsed_unless_empty()?,
        name,
    };
    Ok(Schedule {
        key,
        timing: row.text()?,
        planned_at: row.optional_time()?,
        asked: row.boolean()?,
        paused: row.boolean()?,
        pause_reason: row.optional_text()?,
        failures: row.unsigned()?,
        last_started_at: row.optional_time()?,
        last_job_id: row.optional_parsed()?,
        last_status: row.optional_parsed()?,
        last_report: row.json()?,
        updated_at: row.time()?,
    })
}

type Asked<'q> = Query<'q, Any, AnyArguments>;

/// Binds a key to `$1` to `$5`.
fn with_key<'q>(query: Asked<'q>, key: &'q ScheduleKey) -> Asked<'q> {
    query
        .bind(&key.account)
        .bind(key.node.as_str())
        .bind(key.repository_id.as_ref().map_or("", |id| id.as_str()))
        .bind(key.agent.as_ref().map_or("", |agent| agent.as_str()))
        .bind(key.name.as_str())
}

impl Connection {
    /// Makes a schedule known; `false` when it is already.
    pub async fn insert_schedule(&mut self, schedule: &Schedule) -> Result<bool, Error> {
        let query = sqlx::query(
            "INSERT INTO schedules
                 (account, node, repository_id, agent, name, timing, planned_at, asked, paused, pause_reason, failures,
                  last_started_at, last_job_id, last_status, last_report, updated_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
             ON CONFLICT DO NOTHING",
        );
        let query = with_values(with_key(query, &schedule.key), schedule);
        Ok(self.execute(query).await? > 0)
    }

    /// Writes what changes of a schedule, if nobody changed it since it was read; `false` when somebody did.
    ///
    /// The time of the change is kept ahead of the one before, so that no two versions look alike.
    pub async fn update_schedule(&mut self, schedule: &mut Schedule) -> Result<bool, Error> {
        let before = schedule.updated_at;
        let ahead = Timestamp::from_millisecond(before.as_millisecond() + 1);
        let updated_at = Timestamp::now().max(ahead);
        let next = Schedule { updated_at, ..schedule.clone() };
        let query = sqlx::query(
            "UPDATE schedules
             SET timing = $6, planned_at = $7, asked = $8, paused = $9, pause_reason = $10, failures = $11,
                 last_started_at = $12, last_job_id = $13, last_status = $14, last_report = $15, updated_at = $16
             WHERE account = $1 AND node = $2 AND repository_id = $3 AND agent = $4 AND name = $5 AND updated_at = $17",
        );
        let query = with_values(with_key(query, &next.key), &next).bind(before.as_millisecond());
        let updated = self.execute(query).await? > 0;
        if updated {
            schedule.updated_at = updated_at;
        }
        Ok(updated)
    }

    pub async fn schedule(&mut self, key: &ScheduleKey) -> Result<Option<Schedule>, Error> {
        let query = sqlx::query(schedules_sql!(
            "WHERE account = $1 AND node = $2 AND repository_id = $3 AND agent = $4 AND name = $5"
        ));
        self.fetch_optional(with_key(query, key)).await?.as_ref().map(schedule).transpose()
    }

    /// Loads an account's schedules on a node, those of the configuration of old among them.
    pub async fn schedules(&mut self, account: &str, node: &NodeId) -> Result<Vec<Schedule>, Error> {
        let query = sqlx::query(schedules_sql!("WHERE account = $1 AND node = $2 ORDER BY repository_id, agent, name"));
        self.fetch_all(query.bind(account).bind(node.as_str())).await?.iter().map(schedule).collect()
    }
}

/// Binds the rest to `$6` to `$16`.
fn with_values<'q>(query: Asked<'q>, schedule: &'q Schedule) -> Asked<'q> {
    query
        .bind(&schedule.timing)
        .bind(schedule.planned_at.map(Timestamp::as_millisecond))
        .bind(i64::from(schedule.asked))
        .bind(i64::from(schedule.paused))
        .bind(schedule.pause_reason.as_deref())
        .bind(i64::from(schedule.failures))
        .bind(schedule.last_started_at.map(Timestamp::as_millisecond))
        .bind(schedule.last_job_id.as_ref().map(JobId::as_str))
        .bind(schedule.last_status.map(JobStatus::as_str))
        .bind(schedule.last_report.to_string())
        .bind(schedule.updated_at.as_millisecond())
}
