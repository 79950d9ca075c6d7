//! What a program calls that builds on the engine: [`Engine`] → [`Repository`] → [`Workspace`].
//!
//! Each value names one thing and has the few verbs that belong to it. Behind them are the engine's own functions, which take a
//! context and an observer besides; the fronts of Spinney use those.

mod repository;
mod workspace;

use std::path::Path;

pub use repository::Repository;
pub use workspace::Workspace;

use crate::{Engine, Result};

impl Engine {
    /// Finds a repository by `owner/name` or by a path in it, and registers it when it is new. What dead processes left open is
    /// finished or undone first.
    pub async fn repository(&self, name_or_path: &str) -> Result<Repository> {
        self.recover(&|_| {}).await?;
        let context = self.find_context(Some(name_or_path), Path::new("")).await?;
        Ok(Repository::new(self.clone(), context))
    }
}
