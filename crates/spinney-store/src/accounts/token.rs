//! Tokens, found by the hash of their secret. One that has expired is found no more.

use std::time::Duration;

use spinney_core::{AccountName, Timestamp, Token, TokenId, TokenKind, TokenName};
use sqlx::any::AnyRow;

use crate::database::row::Reader;
use crate::{Connection, Error};

/// How exactly the last use is kept: a request is not to cost a write each time.
const USED_EVERY: Duration = Duration::from_secs(60);

macro_rules! token_columns {
    () => {
        "id, account, kind, name, scope, created_at, expires_at, last_used_at"
    };
}

fn token(row: &AnyRow) -> Result<Token, Error> {
    let mut row = Reader::new("tokens", row);
    Ok(Token {
        id: row.parsed()?,
        account: row.parsed()?,
        kind: row.parsed()?,
        name: row.parsed()?,
        scope: row.parsed()?,
        created_at: row.time()?,
        expires_at: row.optional_time()?,
        last_used_at: row.optional_time()?,
    })
}

impl Connection {
    /// Inserts a token under the hash of its secret; `false` when its account has one of that name for programs.
    pub async fn insert_token(&mut self, token: &Token, hash: &str) -> Result<bool, Error> {
        let query = sqlx::query(
            "INSERT INTO tokens (id, account, kind, name, hash, scope, created_at, expires_at, last_used_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
             ON CONFLICT DO NOTHING",
        )
        .bind(token.id.as_str())
        .bind(token.account.as_str())
        .bind(token.kind.as_str())
        .bind(token.name.as_str())
        .bind(hash)
        .bind(token.scope.as_str())
        .bind(token.created_at.as_millisecond())
        .bind(token.expires_at.map(Timestamp::as_millisecond))
        .bind(token.last_used_at.map(Timestamp::as_millisecond));
        Ok(self.execute(query).await? > 0)
    }

    /// Loads the token of a secret, unless it has expired.
    pub async fn token_by_hash(&mut self, hash: &str, kind: TokenKind, now: Timestamp) -> Result<Option<Token>, Error> {
        let query = sqlx::query(concat!(
            "SELECT ",
            token_columns!(),
            " FROM tokens WHERE hash = $1 AND kind = $2 AND (expires_at IS NULL OR expires_at > $3)"
        ));
        let query = query.bind(hash).bind(kind.as_str()).bind(now.as_millisecond());
        self.fetch_optional(query).await?.as_ref().map(token).transpose()
    }

    /// Loads an account's tokens of a kind, oldest first; the expired ones too.
    pub async fn tokens(&mut self, account: &AccountName, kind: TokenKind) -> Result<Vec<Token>, Error> {
        let query = sqlx::query(concat!(
            "SELECT ",
            token_columns!(),
            " FROM tokens WHERE account = $1 AND kind = $2 ORDER BY created_at, id"
        ));
        self.fetch_all(query.bind(account.as_str()).bind(kind.as_str())).await?.iter().map(token).collect()
    }

    /// Takes the token of a one-time link: of many who come with it, one gets it, before it has expired.
    pub async fn take_login(&mut self, hash: &str, now: Timestamp) -> Result<Option<Token>, Error> {
        let query = sqlx::query(concat!(
            "DELETE FROM tokens
             WHERE hash = $1 AND kind = 'login' AND (expires_at IS NULL OR expires_at > $2) RETURNING ",
            token_columns!()
        ));
        // All rows are fetched, though there is one at most: a statement that is not run to its end may not last.
        let rows = self.fetch_all(query.bind(hash).bind(now.as_millisecond())).await?;
        rows.first().map(token).transpose()
    }

    /// Notes that a token was used, once a minute at most.
    pub async fn touch_token(&mut self, token: &Token, at: Timestamp) -> Result<(), Error> {
        let due = at.minus(USED_EVERY);
        if token.last_used_at.is_some_and(|used| used > due) {
            return Ok(());
        }
        let query = sqlx::query(
            "UPDATE tokens SET last_used_at = $2 WHERE id = $1 AND (last_used_at IS NULL OR last_used_at <= $3)",
        );
        let query = query.bind(token.id.as_str()).bind(at.as_millisecond()).bind(due.as_millisecond());
        self.execute(query).await.map(drop)
    }

    /// Forgets a token of an account; `false` when the account has none of that id.
    pub async fn delete_token(&mut self, account: &AccountName, id: &TokenId) -> Result<bool, Error> {
        let query = sqlx::query("DELETE FROM tokens WHERE account = $1 AND id = $2");
        Ok(self.execute(query.bind(account.as_str()).bind(id.as_str())).await? > 0)
    }

    /// Logs out the browsers that were logged in with a token of this name; tells how many there were.
    pub async fn delete_sessions_named(&mut self, account: &AccountName, name: &TokenName) -> Result<u64, Error> {
        let query = sqlx::query("DELETE FROM tokens WHERE account = $1 AND kind = 'session' AND name = $2");
        self.execute(query.bind(account.as_str()).bind(name.as_str())).await
    }

    /// Forgets the tokens of all accounts that have expired; tells how many there were.
    pub async fn delete_expired_tokens(&mut self, now: Timestamp) -> Result<u64, Error> {
        let query = sqlx::query("DELETE FROM tokens WHERE expires_at <= $1").bind(now.as_millisecond());
        self.execute(query).await
    }
}
