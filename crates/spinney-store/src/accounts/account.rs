//! Accounts. Every other row belongs to one.

use spinney_core::{Account, AccountName};
use sqlx::any::AnyRow;

use crate::database::row::Reader;
use crate::{Connection, Error};

fn account(row: &AnyRow) -> Result<Account, Error> {
    let mut row = Reader::new("accounts", row);
    Ok(Account { name: row.parsed()?, created_at: row.time()? })
}

impl Connection {
    /// Inserts an account; `false` when its name is taken.
    pub async fn insert_account(&mut self, account: &Account) -> Result<bool, Error> {
        let query = sqlx::query("INSERT INTO accounts (name, created_at) VALUES ($1, $2) ON CONFLICT DO NOTHING");
        let query = query.bind(account.name.as_str()).bind(account.created_at.as_millisecond());
        Ok(self.execute(query).await? > 0)
    }

    /// Loads an account by its name.
    pub async fn account(&mut self, name: &AccountName) -> Result<Option<Account>, Error> {
        let query = sqlx::query("SELECT name, created_at FROM accounts WHERE name = $1").bind(name.as_str());
        self.fetch_optional(query).await?.as_ref().map(account).transpose()
    }

    /// Loads all accounts, by name.
    pub async fn accounts(&mut self) -> Result<Vec<Account>, Error> {
        let query = sqlx::query("SELECT name, created_at FROM accounts ORDER BY name");
        self.fetch_all(query).await?.iter().map(account).collect()
    }
}
