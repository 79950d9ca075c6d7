//! Accounts: who there is beside the owner of the home, and what they may not have of it.

use std::path::Path;

use async_recursion::async_recursion as boxed;
use spinney_core::account::{InvalidAccountName, LOCAL};
use spinney_core::{Account, AccountName, Timestamp};
use spinney_git::without_credentials;

use crate::journal::events;
use crate::{AddRepository, Engine, Error, Result};

impl Engine {
    /// Adds an account, with nothing of its own yet.
    #[boxed]
    pub async fn add_account(&self, name: AccountName) -> Result<Account> {
        let account = Account { name, created_at: Timestamp::now() };
        let mut db = self.store.write().await?;
        if !db.insert_account(&account).await? {
            return Err(Error::AccountTaken { name: account.name });
        }
        events::record_account_added(&mut db, &self.account, &account)?;
        db.commit().await?;
        Ok(account)
    }

    /// Loads all accounts, by name.
    #[boxed]
    pub async fn accounts(&self) -> Result<Vec<Account>> {
        Ok(self.store.read().await?.accounts().await?)
    }

    /// Loads an account.
    #[boxed]
    pub async fn require_account(&self, name: &AccountName) -> Result<Account> {
        let account = self.store.read().await?.account(name).await?;
        account.ok_or_else(|| Error::UnknownAccount { name: name.clone() })
    }

    /// The account that this engine works for.
    pub(crate) fn account_name(&self) -> Result<AccountName> {
        account_name(&self.account)
    }

    /// Refuses the clones that Spinney manages for other accounts, which lie in the home by accounts.
    pub(crate) fn check_owner(&self, common_dir: &Path) -> Result<()> {
        let clones = self.home.managed_clones();
        if common_dir.starts_with(&clones) && !common_dir.starts_with(clones.join(&self.account)) {
            return Err(Error::OfAnotherAccount { path: common_dir.to_owned() });
        }
        Ok(())
    }

    /// Refuses what an account may not add: with the exception of the home's owner, all add what they reach over the
    /// network by themselves. A path is the owner's, and so is every variable of the environment.
    pub fn check_addition(&self, place: &str, add: &AddRepository) -> Result<()> {
        if self.account == LOCAL {
            return Ok(());
        }
        if !is_encrypted_url(place) {
            return Err(Error::UnusableUrl {
                url: without_credentials(place),
                reason: "it is not an `https` or `ssh` URL, and only the owner of the home adds paths",
            });
        }
        match &add.token_env {
            None => Ok(()),
            Some(variable) => Err(Error::VariableOfOwner { variable: variable.clone(), account: self.account.clone() }),
        }
    }
}

/// A row's account, which was checked before it was written.
pub(crate) fn account_name(text: &str) -> Result<AccountName> {
    text.parse().map_err(|error: InvalidAccountName| Error::Internal { what: error.to_string() })
}

/// Whether a text is `https://…`, `ssh://…` or `user@host:path`, as git reads it.
fn is_encrypted_url(text: &str) -> bool {
    match text.split_once("://") {
        Some((scheme, rest)) => ["https", "ssh"].contains(&scheme) && !rest.starts_with('/'),
        // A colon before any slash makes it ssh; two name a helper.
        None => text.split_once(':').is_some_and(|(host, path)| {
            let plain = |c: char| c.is_ascii_alphanumeric() || ".-_@".contains(c);
            let is_scheme = ["https", "http", "ssh", "git", "file"].contains(&host);
            !host.is_empty() && !is_scheme && host.chars().all(plain) && !path.is_empty() && !path.starts_with(':')
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leads_to_this_machine_is_no_encrypted_url() {
        for url in
            ["https://example.org/acme/app.git", "ssh://git@example.org/app", "git@example.org:acme/app", "h:app"]
        {
            assert!(is_encrypted_url(url), "{url}");
        }
        for place in [
            "",
            ".",
            "/srv/app",
            "../other/app",
            "app",
            "acme/app",
            "./h:app",
            "/srv/h:app",
            "a/b:c",
            "file:///srv/app",
            "file://localhost/srv/app",
            "http://example.org/app",
            "git://example.org/app",
            "ext::sh -c id",
            "https:/x",
            "https:///srv/app",
            "HTTPS://example.org",
            ":app",
            "h:",
            "~/app:x",
        ] {
            assert!(!is_encrypted_url(place), "{place}");
        }
    }
}
