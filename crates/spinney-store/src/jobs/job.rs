//! Jobs. Whoever runs one holds its file lock; the row says what the rest of the world may know.

use serde_json::json;
use spinney_core::{
    Cancel, Job, JobId, JobStatus, NodeId, Outcome, RepositoryId, SessionStatus, Timestamp, WaitsFor, Work, WorkspaceId,
};
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;
use sqlx::query::Query;

use crate::database::page::Page;
use crate::database::row::Reader;
use crate::workspaces::workspace::{MIN_PREFIX_CHARS, parameters};
use crate::{Connection, Error, Fence};

macro_rules! jobs_sql {
    ($rest:literal) => {
        jobs_sql!("j.prompt", $rest)
    };
    ($prompt:literal, $rest:literal) => {
        concat!(
            "SELECT j.id, j.account, j.node, j.repository_id, r.owner, r.name AS repository_name, j.agent, j.kind, j.key,
                    j.title, ", $prompt, ", j.trigger_platform, j.status, j.waits_for, j.cancel, j.attempt, j.place,
                    j.workspace_id, j.parent, j.awaits_until, j.request, j.outcome, j.created_at, j.started_at, j.ended_at
             FROM jobs j JOIN repositories r ON r.id = j.repository_id ",
            $rest
        )
    };
}

fn job(row: &AnyRow) -> Result<Job, Error> {
    let mut row = Reader::new("jobs", row);
    Ok(Job {
        id: row.parsed()?,
        account: row.text()?,
        node: row.parsed()?,
        repository_id: row.parsed()?,
        repository: row.repository_name()?,
        agent: row.text()?,
        work: Work { kind: row.parsed()?, key: row.text()? },
        title: row.optional_text()?,
        prompt: row.text()?,
        trigger: row.parsed()?,
        status: row.parsed()?,
        waits_for: waits_for(row.optional_text()?),
        cancel: row.parsed()?,
        attempt: row.unsigned()?,
        place: row.optional_text()?,
        workspace_id: row.optional_parsed()?,
        parent: row.optional_parsed()?,
        awaits_until: row.optional_time()?,
        request: row.json()?,
        outcome: row.json()?,
        created_at: row.time()?,
        started_at: row.optional_time()?,
        ended_at: row.optional_time()?,
    })
}

/// Which jobs are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobFilter {
    pub account: String,
    /// On this node only.
    pub node: Option<NodeId>,
    /// Of this repository only.
    pub repository: Option<RepositoryId>,
    /// In one of these; none at all when it is empty.
    pub statuses: Vec<JobStatus>,
}

impl JobFilter {
    /// The condition, and the values of its parameters from `$1` on.
    fn condition(&self) -> (String, Vec<&str>) {
        let mut values = vec![self.account.as_str()];
        let mut condition = String::from("WHERE j.account = $1");
        if let Some(node) = &self.node {
            values.push(node.as_str());
            condition.push_str(&format!(" AND j.node = ${}", values.len()));
        }
        if let Some(repository) = &self.repository {
            values.push(repository.as_str());
            condition.push_str(&format!(" AND j.repository_id = ${}", values.len()));
        }
        condition.push_str(&format!(" AND j.status IN ({})", parameters(values.len() + 1, self.statuses.len())));
        values.extend(self.statuses.iter().map(|status| status.as_str()));
        (condition, values)
    }
}

/// Which jobs somebody looks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobSearch {
    pub filter: JobFilter,
    pub agent: Option<String>,
    pub workspace: Option<WorkspaceId>,
}

/// How many jobs have a status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobTally {
    pub status: JobStatus,
    pub count: u64,
    /// When the oldest of them was asked for.
    pub oldest: Timestamp,
}

/// What this version can't read is written anew by whoever looks at the queue: that the job is in the queue stays true.
fn waits_for(text: Option<String>) -> Option<WaitsFor> {
    text.map(|text| serde_json::from_str(&text).unwrap_or(WaitsFor::Record))
}

impl Connection {
    pub async fn insert_job(&mut self, job: &Job) -> Result<(), Error> {
        let query = sqlx::query(
            "INSERT INTO jobs
                 (id, account, node, repository_id, agent, kind, key, title, prompt, trigger_platform, status, waits_for,
                  cancel, attempt, place, workspace_id, parent, request, outcome, created_at, started_at, ended_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22)",
        )
        .bind(job.id.as_str())
        .bind(&job.account)
        .bind(job.node.as_str())
        .bind(job.repository_id.as_str())
        .bind(&job.agent)
        .bind(job.work.kind.as_str())
        .bind(&job.work.key)
        .bind(job.title.as_deref())
        .bind(&job.prompt)
        .bind(job.trigger.as_str())
        .bind(job.status.as_str())
        .bind(job.waits_for.as_ref().map(|waits_for| json!(waits_for).to_string()))
        .bind(job.cancel.as_str())
        .bind(i64::from(job.attempt))
        .bind(job.place.as_deref())
        .bind(job.workspace_id.as_ref().map(WorkspaceId::as_str))
        .bind(job.parent.as_ref().map(JobId::as_str))
        .bind(serde_json::json!(job.request).to_string())
        .bind(serde_json::json!(job.outcome).to_string())
        .bind(job.created_at.as_millisecond())
        .bind(job.started_at.map(Timestamp::as_millisecond))
        .bind(job.ended_at.map(Timestamp::as_millisecond));
        self.execute(query).await.map(drop)
    }

    /// Writes what changes of a job, if its status is still the one expected; `false` when it is not. One that starts gets a
    /// new fence. Whether somebody
    /// wants it cancelled is left as it is: only [`Connection::request_cancel`] and [`Connection::reopen_job`] say that. So is
    /// whether it waits for its children: [`Connection::await_children`] says that.
    ///
    /// [`Error::Conflict`] when it would run where another one runs.
    pub async fn update_job(&mut self, job: &Job, expected: JobStatus) -> Result<bool, Error> {
        let query = sqlx::query(
            "UPDATE jobs
             SET status = $2, waits_for = $3, attempt = $4, place = $5, workspace_id = $6, outcome = $7, started_at = $8,
                 ended_at = $9, title = $10,
                 fence = fence + CASE WHEN $2 = 'running' AND status = 'pending' THEN 1 ELSE 0 END
             WHERE id = $1 AND status = $11",
        )
        .bind(job.id.as_str())
        .bind(job.status.as_str())
        .bind(job.waits_for.as_ref().map(|waits_for| json!(waits_for).to_string()))
        .bind(i64::from(job.attempt))
        .bind(job.place.as_deref())
        .bind(job.workspace_id.as_ref().map(WorkspaceId::as_str))
        .bind(serde_json::json!(job.outcome).to_string())
        .bind(job.started_at.map(Timestamp::as_millisecond))
        .bind(job.ended_at.map(Timestamp::as_millisecond))
        .bind(job.title.as_deref())
        .bind(expected.as_str());
        Ok(self.execute(query).await? > 0)
    }

    /// The fence of a job's last start; none for one that is unknown.
    pub async fn fence_of_job(&mut self, id: &JobId) -> Result<Option<Fence>, Error> {
        let query = sqlx::query("SELECT id, fence FROM jobs WHERE id = $1").bind(id.as_str());
        let fence = |row| {
            let mut row = Reader::new("jobs", row);
            row.text()?;
            row.number().map(Fence)
        };
        self.fetch_optional(query).await?.as_ref().map(fence).transpose()
    }

    /// Notes that a job works on another repository than the one that it was asked for at.
    pub async fn move_job(&mut self, job: &Job) -> Result<(), Error> {
        let query = sqlx::query("UPDATE jobs SET repository_id = $2, request = $3 WHERE id = $1");
        let query = query.bind(job.id.as_str()).bind(job.repository_id.as_str());
        self.execute(query.bind(serde_json::json!(job.request).to_string())).await.map(drop)
    }

    /// Makes a job that has ended wait for its turn again; `false` when it has not ended.
    pub async fn reopen_job(&mut self, id: &JobId) -> Result<bool, Error> {
        let query = sqlx::query(
            "UPDATE jobs SET status = 'pending', cancel = 'no', waits_for = NULL, awaits_until = NULL, ended_at = NULL
             WHERE id = $1 AND status NOT IN ('pending', 'running')",
        );
        Ok(self.execute(query.bind(id.as_str())).await? > 0)
    }

    /// Notes what a job has come to so far.
    pub async fn record_outcome(&mut self, id: &JobId, outcome: &Outcome) -> Result<(), Error> {
        let query = sqlx::query("UPDATE jobs SET outcome = $2 WHERE id = $1").bind(id.as_str());
        self.execute(query.bind(serde_json::json!(outcome).to_string())).await.map(drop)
    }

    /// Loads the jobs that the agent of a job asked for, oldest first.
    pub async fn children_of(&mut self, parent: &JobId) -> Result<Vec<Job>, Error> {
        let query = sqlx::query(jobs_sql!("WHERE j.parent = $1 ORDER BY j.created_at, j.id")).bind(parent.as_str());
        self.fetch_all(query).await?.iter().map(job).collect()
    }

    /// Notes until when a running job counts as waiting for its children; none: it waits no more.
    pub async fn await_children(&mut self, id: &JobId, until: Option<Timestamp>) -> Result<(), Error> {
        let query = sqlx::query("UPDATE jobs SET awaits_until = $2 WHERE id = $1 AND status = 'running'");
        let query = query.bind(id.as_str()).bind(until.map(Timestamp::as_millisecond));
        self.execute(query).await.map(drop)
    }

    /// Asks a job to end; `false` when it has ended for good. What was asked for is never taken back.
    pub async fn request_cancel(&mut self, id: &JobId, cancel: Cancel) -> Result<bool, Error> {
        let query = sqlx::query(
            "UPDATE jobs SET cancel = CASE WHEN cancel = 'at_once' THEN cancel ELSE $2 END
             WHERE id = $1 AND status IN ('pending', 'running', 'interrupted')",
        );
        Ok(self.execute(query.bind(id.as_str()).bind(cancel.as_str())).await? > 0)
    }

    /// Loads a job by its id, and lets nobody else change its row until the transaction ends.
    pub async fn lock_job(&mut self, id: &JobId) -> Result<Option<Job>, Error> {
        self.require_transaction()?;
        // A write: SQLite has its one writer anyway, PostgreSQL locks the row.
        self.execute(sqlx::query("UPDATE jobs SET cancel = cancel WHERE id = $1").bind(id.as_str())).await?;
        self.job(id).await
    }

    /// Loads a job by its id.
    pub async fn job(&mut self, id: &JobId) -> Result<Option<Job>, Error> {
        let query = sqlx::query(jobs_sql!("WHERE j.id = $1")).bind(id.as_str());
        self.fetch_optional(query).await?.as_ref().map(job).transpose()
    }

    /// Loads jobs, newest first.
    pub async fn jobs(&mut self, filter: &JobFilter, limit: u32) -> Result<Vec<Job>, Error> {
        let (condition, values) = filter.condition();
        let sql = format!("{}{condition} ORDER BY j.created_at DESC, j.id LIMIT {limit}", jobs_sql!(""));
        let query = values.into_iter().fold(sqlx::query(AssertSqlSafe(sql)), Query::bind);
        self.fetch_all(query).await?.iter().map(job).collect()
    }

    /// Loads a part of the list of jobs that somebody looks for, newest first.
    pub async fn job_page(&mut self, search: &JobSearch, page: &Page) -> Result<Vec<Job>, Error> {
        let (mut condition, mut values) = search.filter.condition();
        let named =
            [("agent", search.agent.as_deref()), ("workspace_id", search.workspace.as_ref().map(WorkspaceId::as_str))];
        for (column, value) in named {
            if let Some(value) = value {
                values.push(value);
                condition.push_str(&format!(" AND j.{column} = ${}", values.len()));
            }
        }
        let rest = page.rest("j.created_at", "j.id", &mut values);
        let sql = format!("{}{condition}{rest}", jobs_sql!(""));
        let query = values.into_iter().fold(sqlx::query(AssertSqlSafe(sql)), Query::bind);
        self.fetch_all(query).await?.iter().map(job).collect()
    }

    /// Counts an account's jobs on a node, by status.
    pub async fn tally_jobs(&mut self, account: &str, node: &NodeId) -> Result<Vec<JobTally>, Error> {
        let query = sqlx::query(
            "SELECT status, COUNT(*), MIN(created_at) FROM jobs WHERE account = $1 AND node = $2 GROUP BY status",
        );
        let rows = self.fetch_all(query.bind(account).bind(node.as_str())).await?;
        let tally = |row| {
            let mut row = Reader::new("jobs", row);
            Ok(JobTally { status: row.parsed()?, count: row.unsigned()?, oldest: row.time()? })
        };
        rows.iter().map(tally).collect()
    }

    /// Counts an account's jobs on a node that wait, by what for.
    pub async fn tally_waits(&mut self, account: &str, node: &NodeId) -> Result<Vec<(Option<WaitsFor>, u64)>, Error> {
        let query = sqlx::query(
            "SELECT waits_for, COUNT(*) FROM jobs WHERE account = $1 AND node = $2 AND status = 'pending'
             GROUP BY waits_for",
        );
        let rows = self.fetch_all(query.bind(account).bind(node.as_str())).await?;
        let tally = |row| {
            let mut row = Reader::new("jobs", row);
            Ok((waits_for(row.optional_text()?), row.unsigned()?))
        };
        rows.iter().map(tally).collect()
    }

    /// Loads the jobs that a text can mean, newest first: by id or the beginning of an id.
    pub async fn find_jobs(&mut self, account: &str, text: &str) -> Result<Vec<Job>, Error> {
        if text.chars().count() < MIN_PREFIX_CHARS {
            return Ok(Vec::new());
        }
        let query = sqlx::query(jobs_sql!(
            "WHERE j.account = $1 AND substr(j.id, 1, length($2)) = $2 ORDER BY j.created_at DESC, j.id LIMIT 32"
        ));
        self.fetch_all(query.bind(account).bind(text)).await?.iter().map(job).collect()
    }

    /// Loads a node's jobs that have not ended, in the order of their turn.
    pub async fn unfinished_jobs(&mut self, node: &NodeId) -> Result<Vec<Job>, Error> {
        let query = sqlx::query(jobs_sql!(
            "WHERE j.node = $1 AND j.status IN ('pending', 'running') ORDER BY j.created_at, j.id"
        ));
        self.fetch_all(query.bind(node.as_str())).await?.iter().map(job).collect()
    }

    /// Loads the same without what they are to do: that may be long, and nobody needs it to tell whose turn it is.
    pub async fn queue_of(&mut self, node: &NodeId) -> Result<Vec<Job>, Error> {
        let query = sqlx::query(jobs_sql!(
            "'' AS prompt",
            "WHERE j.node = $1 AND j.status IN ('pending', 'running') ORDER BY j.created_at, j.id"
        ));
        self.fetch_all(query.bind(node.as_str())).await?.iter().map(job).collect()
    }

    /// Loads those of them that have a process, or must have one, and those in the queue that somebody cancelled.
    pub async fn attended_jobs(&mut self, node: &NodeId) -> Result<Vec<Job>, Error> {
        let query = sqlx::query(jobs_sql!(
            "'' AS prompt",
            "WHERE j.node = $1 AND j.status IN ('pending', 'running')
                 AND (j.status = 'running' OR j.waits_for IS NULL OR j.cancel <> 'no')
             ORDER BY j.created_at, j.id"
        ));
        self.fetch_all(query.bind(node.as_str())).await?.iter().map(job).collect()
    }

    /// Loads those of them that run.
    pub async fn running_of(&mut self, node: &NodeId) -> Result<Vec<Job>, Error> {
        let query = sqlx::query(jobs_sql!(
            "'' AS prompt",
            "WHERE j.node = $1 AND j.status IN ('pending', 'running') AND j.status = 'running' ORDER BY j.created_at, j.id"
        ));
        self.fetch_all(query.bind(node.as_str())).await?.iter().map(job).collect()
    }

    /// Tells whether jobs of a node are in the queue.
    pub async fn has_queue(&mut self, node: &NodeId) -> Result<bool, Error> {
        let query = sqlx::query(
            "SELECT id FROM jobs
             WHERE node = $1 AND status IN ('pending', 'running') AND status = 'pending' AND waits_for IS NOT NULL LIMIT 1",
        );
        Ok(self.fetch_optional(query.bind(node.as_str())).await?.is_some())
    }

    /// Tells whether a pending job of the node wants the work or the place of another one.
    pub async fn has_pending_rival(&mut self, of: &Job) -> Result<bool, Error> {
        let query = sqlx::query(
            "SELECT id FROM jobs
             WHERE node = $1 AND status IN ('pending', 'running') AND status = 'pending' AND id <> $2
                 AND ((repository_id = $3 AND kind = $4 AND key = $5) OR place = $6) LIMIT 1",
        );
        let query = query.bind(of.node.as_str()).bind(of.id.as_str()).bind(of.repository_id.as_str());
        let query = query.bind(of.work.kind.as_str()).bind(&of.work.key).bind(of.place.as_deref());
        Ok(self.fetch_optional(query).await?.is_some())
    }

    /// Tells which jobs run on a node, and in which workspaces.
    pub async fn running_jobs(&mut self, node: &NodeId) -> Result<Vec<(JobId, WorkspaceId)>, Error> {
        let query = sqlx::query(
            "SELECT id, workspace_id FROM jobs WHERE node = $1 AND status = 'running' AND workspace_id IS NOT NULL",
        );
        let place = |row| {
            let mut row = Reader::new("jobs", row);
            Ok((row.parsed()?, row.parsed()?))
        };
        self.fetch_all(query.bind(node.as_str())).await?.iter().map(place).collect()
    }

    /// Loads the job that runs in a workspace.
    pub async fn running_job_in(&mut self, workspace: &WorkspaceId) -> Result<Option<Job>, Error> {
        let query = sqlx::query(jobs_sql!("WHERE j.workspace_id = $1 AND j.status = 'running' LIMIT 1"));
        self.fetch_optional(query.bind(workspace.as_str())).await?.as_ref().map(job).transpose()
    }

    /// Loads the jobs of a workspace, newest first.
    pub async fn jobs_in(&mut self, workspace: &WorkspaceId, limit: u32) -> Result<Vec<Job>, Error> {
        let query = sqlx::query(jobs_sql!("WHERE j.workspace_id = $1 ORDER BY j.created_at DESC, j.id LIMIT $2"));
        let query = query.bind(workspace.as_str()).bind(i64::from(limit));
        self.fetch_all(query).await?.iter().map(job).collect()
    }

    /// Tells of every job of a node how it stands.
    pub async fn job_statuses(&mut self, node: &NodeId) -> Result<Vec<(JobId, JobStatus)>, Error> {
        let query = sqlx::query("SELECT id, status FROM jobs WHERE node = $1").bind(node.as_str());
        let status = |row| {
            let mut row = Reader::new("jobs", row);
            Ok((row.parsed()?, row.parsed()?))
        };
        self.fetch_all(query).await?.iter().map(status).collect()
    }

    /// Lets one process at a time decide which of a node's jobs may start, until the transaction ends.
    pub async fn lock_queue(&mut self, node: &NodeId) -> Result<(), Error> {
        self.require_transaction()?;
        // A write of the node's own row: SQLite has its one writer anyway, PostgreSQL locks the row.
        let query = sqlx::query("UPDATE nodes SET name = name WHERE id = $1").bind(node.as_str());
        self.execute(query).await.map(drop)
    }

    /// Forgets a node's jobs that ended before a time, with their sessions, and tells which they were.
    pub async fn delete_jobs_before(&mut self, node: &NodeId, before: Timestamp) -> Result<Vec<JobId>, Error> {
        self.require_transaction()?;
        // Written, not only read: who reopens one of them meanwhile waits, and then finds none.
        let query = sqlx::query(
            "UPDATE jobs SET status = status
             WHERE node = $1 AND status NOT IN ('pending', 'running') AND COALESCE(ended_at, created_at) < $2
             RETURNING id",
        );
        let old = self.fetch_all(query.bind(node.as_str()).bind(before.as_millisecond())).await?;
        let old = old.iter().map(|row| Reader::new("jobs", row).parsed()).collect::<Result<Vec<JobId>, Error>>()?;
        for id in &old {
            self.execute(sqlx::query("DELETE FROM sessions WHERE job_id = $1").bind(id.as_str())).await?;
            self.execute(sqlx::query("DELETE FROM jobs WHERE id = $1").bind(id.as_str())).await?;
        }
        Ok(old)
    }

    /// Ends the sessions of a job that are said to run.
    pub async fn end_sessions(&mut self, job: &JobId, status: SessionStatus) -> Result<(), Error> {
        let query =
            sqlx::query("UPDATE sessions SET status = $2, ended_at = $3 WHERE job_id = $1 AND status = 'running'");
        let query = query.bind(job.as_str()).bind(status.as_str()).bind(Timestamp::now().as_millisecond());
        self.execute(query).await.map(drop)
    }
}
