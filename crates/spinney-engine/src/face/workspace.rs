//! A workspace of a repository.

use std::path::Path;
use std::sync::Arc;

use spinney_core::{Consent, Remover, Verdict};

use crate::{Context, Engine, Removed, Result};

/// A workspace, as its row was when it was found. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Workspace {
    engine: Engine,
    context: Arc<Context>,
    row: spinney_core::Workspace,
}

impl Workspace {
    pub(super) fn new(engine: Engine, context: Arc<Context>, row: spinney_core::Workspace) -> Self {
        Self { engine, context, row }
    }

    /// What the store says of it.
    #[must_use]
    pub fn row(&self) -> &spinney_core::Workspace {
        &self.row
    }

    /// Its directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.row.path
    }

    /// Judges whether a person's removal may take it, with every reason.
    pub async fn verdict(&self) -> Result<Verdict> {
        self.engine.judge(&self.context, &self.row, Remover::Person).await
    }

    /// Moves it to the trash, within the verdict and what the consent covers.
    pub async fn remove(&self, consent: &Consent) -> Result<Removed> {
        self.engine.remove(&self.context, &self.row, consent, &|_| {}).await
    }

    /// Brings it back from the trash or its archive.
    pub async fn restore(&self) -> Result<Self> {
        let row = self.engine.restore(&self.context, &self.row, None, &|_| {}).await?;
        Ok(Self { row, ..self.clone() })
    }
}
