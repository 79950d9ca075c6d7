//! Keys by which a client may ask for the same thing again without it being done twice.

use spinney_core::{AccountName, Timestamp};
use sqlx::any::AnyRow;

use crate::database::row::Reader;
use crate::{Connection, Error};

/// A key, what was asked with it, and what was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey {
    pub account: AccountName,
    pub key: String,
    /// Of method, path, query and body.
    pub fingerprint: String,
    /// Which process answers it.
    pub boot: String,
    /// The id of what it makes, chosen before it is made: whoever answers it after a death makes the same.
    pub subject: String,
    /// None while it is being answered.
    pub answer: Option<RecordedAnswer>,
    pub created_at: Timestamp,
}

/// What is given again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedAnswer {
    pub status: u16,
    pub text: String,
    /// Where to go on.
    pub location: Option<String>,
}

fn idempotency_key(row: &AnyRow) -> Result<IdempotencyKey, Error> {
    let mut row = Reader::new("idempotency_keys", row);
    let (account, key) = (row.parsed()?, row.text()?);
    let (fingerprint, boot, subject) = (row.text()?, row.text()?, row.text()?);
    let status = row.optional_unsigned()?.and_then(|status| u16::try_from(status).ok());
    let (text, location) = (row.optional_text()?, row.optional_text()?);
    let answer = status.zip(text).map(|(status, text)| RecordedAnswer { status, text, location });
    Ok(IdempotencyKey { account, key, fingerprint, boot, subject, answer, created_at: row.time()? })
}

impl Connection {
    /// Records a key; `false` when it is known.
    pub async fn insert_idempotency_key(&mut self, key: &IdempotencyKey) -> Result<bool, Error> {
        let query = sqlx::query(
            "INSERT INTO idempotency_keys (account, key, fingerprint, boot, subject, created_at)
             VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING",
        )
        .bind(key.account.as_str())
        .bind(&key.key)
        .bind(&key.fingerprint)
        .bind(&key.boot)
        .bind(&key.subject)
        .bind(key.created_at.as_millisecond());
        Ok(self.execute(query).await? > 0)
    }

    pub async fn idempotency_key(&mut self, account: &AccountName, key: &str) -> Result<Option<IdempotencyKey>, Error> {
        let query = sqlx::query(
            "SELECT account, key, fingerprint, boot, subject, status, answer, location, created_at
             FROM idempotency_keys
             WHERE account = $1 AND key = $2",
        );
        let row = self.fetch_optional(query.bind(account.as_str()).bind(key)).await?;
        row.as_ref().map(idempotency_key).transpose()
    }

    /// Takes over a key that another process left unanswered; `false` when somebody else did.
    pub async fn take_idempotency_key(&mut self, key: &IdempotencyKey, boot: &str) -> Result<bool, Error> {
        let query = sqlx::query(
            "UPDATE idempotency_keys SET boot = $1 WHERE account = $2 AND key = $3 AND boot = $4 AND status IS NULL",
        );
        let query = query.bind(boot).bind(key.account.as_str()).bind(&key.key).bind(&key.boot);
        Ok(self.execute(query).await? > 0)
    }

    /// Records what was answered.
    pub async fn answer_idempotency_key(
        &mut self,
        account: &AccountName,
        key: &str,
        answer: &RecordedAnswer,
    ) -> Result<(), Error> {
        let query = sqlx::query(
            "UPDATE idempotency_keys SET status = $1, answer = $2, location = $3 WHERE account = $4 AND key = $5",
        );
        let query = query.bind(i64::from(answer.status)).bind(&answer.text).bind(answer.location.as_deref());
        self.execute(query.bind(account.as_str()).bind(key)).await.map(drop)
    }

    /// Forgets a key whose request was refused: it may be asked again.
    pub async fn delete_idempotency_key(&mut self, account: &AccountName, key: &str) -> Result<(), Error> {
        let query = sqlx::query("DELETE FROM idempotency_keys WHERE account = $1 AND key = $2");
        self.execute(query.bind(account.as_str()).bind(key)).await.map(drop)
    }

    pub async fn delete_idempotency_keys_before(&mut self, before: Timestamp) -> Result<u64, Error> {
        let query = sqlx::query("DELETE FROM idempotency_keys WHERE created_at < $1");
        self.execute(query.bind(before.as_millisecond())).await
    }
}
