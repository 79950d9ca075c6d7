//! The sessions of jobs.

use spinney_core::{JobId, NodeId, Session, Timestamp, Usage, Work, WorkspaceId};
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;
use sqlx::query::Query;

use crate::database::page::Page;
use crate::database::row::Reader;
use crate::workspaces::workspace::parameters;
use crate::{Connection, Error};

macro_rules! sessions_sql {
    ($rest:literal) => {
        concat!(
            "SELECT id, job_id, workspace_id, agent, kind, key, runtime, conversation, resumed, status, usage,
                    context_tokens, context_window, started_at, ended_at
             FROM sessions ",
            $rest
        )
    };
}

macro_rules! select_sessions {
    ($rest:literal) => {
        sqlx::query(sessions_sql!($rest))
    };
}

/// Which sessions somebody looks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSearch {
    pub account: String,
    pub workspace: Option<WorkspaceId>,
    pub job: Option<JobId>,
}

fn session(row: &AnyRow) -> Result<Session, Error> {
    let mut row = Reader::new("sessions", row);
    Ok(Session {
        id: row.parsed()?,
        job_id: row.parsed()?,
        workspace_id: row.optional_parsed()?,
        agent: row.text()?,
        work: Work { kind: row.parsed()?, key: row.text()? },
        runtime: row.text()?,
        conversation: row.optional_text()?,
        resumed: row.boolean()?,
        status: row.parsed()?,
        usage: row.json()?,
        context_tokens: row.optional_unsigned()?,
        context_window: row.optional_unsigned()?,
        started_at: row.time()?,
        ended_at: row.optional_time()?,
    })
}

fn signed(number: Option<u64>) -> Option<i64> {
    number.map(|number| i64::try_from(number).unwrap_or(i64::MAX))
}

impl Connection {
    /// Writes a session, new or changed.
    pub async fn put_session(&mut self, session: &Session) -> Result<(), Error> {
        let query = sqlx::query(
            "INSERT INTO sessions
                 (id, job_id, workspace_id, agent, kind, key, runtime, conversation, resumed, status, usage,
                  context_tokens, context_window, started_at, ended_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
             ON CONFLICT (id) DO UPDATE
             SET conversation = excluded.conversation, status = excluded.status, usage = excluded.usage,
                 context_tokens = excluded.context_tokens, context_window = excluded.context_window,
                 ended_at = excluded.ended_at",
        )
        .bind(session.id.as_str())
        .bind(session.job_id.as_str())
        .bind(session.workspace_id.as_ref().map(WorkspaceId::as_str))
        .bind(&session.agent)
        .bind(session.work.kind.as_str())
        .bind(&session.work.key)
        .bind(&session.runtime)
        .bind(session.conversation.as_deref())
        .bind(i64::from(session.resumed))
        .bind(session.status.as_str())
        .bind(serde_json::json!(session.usage).to_string())
        .bind(signed(session.context_tokens))
        .bind(signed(session.context_window))
        .bind(session.started_at.as_millisecond())
        .bind(session.ended_at.map(Timestamp::as_millisecond));
        self.execute(query).await.map(drop)
    }

    /// Loads a job's sessions, oldest first.
    pub async fn sessions_of(&mut self, job: &JobId) -> Result<Vec<Session>, Error> {
        let query = select_sessions!("WHERE job_id = $1 ORDER BY started_at, id").bind(job.as_str());
        self.fetch_all(query).await?.iter().map(session).collect()
    }

    /// Loads the sessions of several jobs, oldest first.
    pub async fn sessions_of_all(&mut self, jobs: &[&JobId]) -> Result<Vec<Session>, Error> {
        let list = parameters(1, jobs.len());
        let sql = format!("{} IN ({list}) ORDER BY started_at, id", sessions_sql!("WHERE job_id"));
        let query = jobs.iter().fold(sqlx::query(AssertSqlSafe(sql)), |query, id| query.bind(id.as_str()));
        self.fetch_all(query).await?.iter().map(session).collect()
    }

    /// Loads a part of the list of sessions that somebody looks for, newest first.
    pub async fn session_page(&mut self, search: &SessionSearch, page: &Page) -> Result<Vec<Session>, Error> {
        let mut values = vec![search.account.as_str()];
        let mut sql = sessions_sql!("WHERE job_id IN (SELECT id FROM jobs WHERE account = $1)").to_owned();
        let named = [
            ("workspace_id", search.workspace.as_ref().map(WorkspaceId::as_str)),
            ("job_id", search.job.as_ref().map(JobId::as_str)),
        ];
        for (column, value) in named {
            if let Some(value) = value {
                values.push(value);
                sql.push_str(&format!(" AND {column} = ${}", values.len()));
            }
        }
        sql.push_str(&page.rest("started_at", "id", &mut values));
        let query = values.into_iter().fold(sqlx::query(AssertSqlSafe(sql)), Query::bind);
        self.fetch_all(query).await?.iter().map(session).collect()
    }

    /// Loads the newest session of an agent in a workspace, on a piece of work or on any, that can have a conversation to go on
    /// with.
    pub async fn latest_session(
        &mut self,
        workspace: &WorkspaceId,
        agent: &str,
        work: Option<&Work>,
    ) -> Result<Option<Session>, Error> {
        let query = select_sessions!(
            "WHERE workspace_id = $1 AND agent = $2 AND ($3 = '' OR (kind = $3 AND key = $4)) AND conversation IS NOT NULL
             ORDER BY started_at DESC, id LIMIT 1"
        );
        let (kind, key) = work.map_or(("", ""), |work| (work.kind.as_str(), work.key.as_str()));
        let query = query.bind(workspace.as_str()).bind(agent).bind(kind).bind(key);
        self.fetch_optional(query).await?.as_ref().map(session).transpose()
    }

    /// What all sessions of a conversation took together.
    pub async fn spent_in(&mut self, conversation: &str) -> Result<Usage, Error> {
        let query = select_sessions!("WHERE conversation = $1").bind(conversation);
        let rows = self.fetch_all(query).await?;
        rows.iter().try_fold(Usage::default(), |sum, row| Ok(sum.plus(session(row)?.usage)))
    }

    /// What all sessions of a job took together.
    pub async fn spent_by(&mut self, job: &JobId) -> Result<Usage, Error> {
        let query = select_sessions!("WHERE job_id = $1").bind(job.as_str());
        let rows = self.fetch_all(query).await?;
        rows.iter().try_fold(Usage::default(), |sum, row| Ok(sum.plus(session(row)?.usage)))
    }

    /// Forgets the conversations of a node's sessions that ended before a time, so that none of them is gone on with;
    /// tells how many there were.
    pub async fn forget_conversations_before(&mut self, node: &NodeId, before: Timestamp) -> Result<u64, Error> {
        let query = sqlx::query(
            "UPDATE sessions SET conversation = NULL
             WHERE conversation IS NOT NULL AND ended_at < $2 AND job_id IN (SELECT id FROM jobs WHERE node = $1)",
        );
        self.execute(query.bind(node.as_str()).bind(before.as_millisecond())).await
    }
}
