//! Readers of the audit log that go on where they stopped, in whichever process they do.

use serde::Serialize;
use serde::de::DeserializeOwned;
use spinney_core::Recorded;

use crate::database::row::Reader;
use crate::{Connection, Error};

/// How many events are read at once.
const AT_ONCE: u32 = 500;

/// Where a reader of an account's events is, and what it made of all that it read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor<S> {
    name: &'static str,
    account: String,
    position: i64,
    pub state: S,
}

impl Connection {
    /// Loads a reader; a new one begins with the oldest event that there is.
    pub async fn cursor<S>(&mut self, name: &'static str, account: &str) -> Result<Cursor<S>, Error>
    where
        S: DeserializeOwned + Default,
    {
        let query = sqlx::query("SELECT position, state FROM cursors WHERE name = $1 AND account = $2");
        let row = self.fetch_optional(query.bind(name).bind(account)).await?;
        let (position, state) = match row {
            None => (0, S::default()),
            Some(row) => {
                let mut row = Reader::new("cursors", &row);
                (row.number()?, row.json()?)
            }
        };
        Ok(Cursor { name, account: account.to_owned(), position, state })
    }

    /// Reads the next events of a reader, oldest first; nothing when it has read all.
    pub async fn read_on<S>(&mut self, cursor: &Cursor<S>) -> Result<Vec<(i64, Recorded)>, Error> {
        self.events(&cursor.account, cursor.position, AT_ONCE).await
    }

    /// Notes that a reader has read up to an event, with what it made of it. `false` when somebody else read on with the
    /// same one: what was made of it counts for nothing then.
    pub async fn advance<S: Serialize>(&mut self, cursor: &mut Cursor<S>, to: i64) -> Result<bool, Error> {
        let state = serde_json::to_string(&cursor.state).unwrap_or_else(|_| "null".to_owned());
        let query = if cursor.position == 0 {
            sqlx::query(
                "INSERT INTO cursors (position, state, name, account) VALUES ($1, $2, $3, $4)
                 ON CONFLICT (name, account) DO NOTHING",
            )
        } else {
            sqlx::query(
                "UPDATE cursors SET position = $1, state = $2 WHERE name = $3 AND account = $4 AND position = $5",
            )
        };
        let query = query.bind(to).bind(state).bind(cursor.name).bind(cursor.account.clone());
        let query = if cursor.position == 0 { query } else { query.bind(cursor.position) };
        let is_own = self.execute(query).await? == 1;
        if is_own {
            cursor.position = to;
        }
        Ok(is_own)
    }
}
