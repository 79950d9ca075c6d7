//! Commits what was left uncommitted in a workspace.

use std::path::PathBuf;

use spinney_git::{Committed, Files, Identity, Result};

use super::Tree;

impl Tree {
    /// Lists what is left uncommitted, if it can be committed.
    pub async fn load_left_over(&self) -> Result<Files> {
        self.git.load_left_over().await
    }

    /// Commits those of the files that could be committed which `choose` names; none where that changes nothing. A person's
    /// own name is on the commit, where git knows one.
    pub async fn commit_left_over(
        &self,
        choose: impl FnOnce(&Files) -> Vec<PathBuf>,
        message: &str,
    ) -> Result<Option<Committed>> {
        let files = self.git.load_left_over().await?;
        let wanted = choose(&files);
        let fallback = Identity { name: "Spinney".to_owned(), email: "spinney@localhost".to_owned() };
        self.git.commit_files(&files, &wanted, message, &fallback).await
    }
}
