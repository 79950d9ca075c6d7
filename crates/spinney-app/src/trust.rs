//! What a person agrees to before a repository's own settings count.

use async_recursion::async_recursion as boxed;
use spinney_core::CommitId;
use spinney_core::config::TrustRequest;
use spinney_engine::{Context, Engine};
use spinney_git::{Executing, OwnSettings};

use crate::Result;

/// What a repository would run, and nobody agreed to yet.
#[derive(Debug)]
pub struct Asked {
    /// Its set-up and agents.
    pub request: Option<TrustRequest>,
    /// Settings of its own git configuration that execute something, and are new since it was last trusted.
    pub settings: Vec<Executing>,
    /// All of those settings.
    pub own: OwnSettings,
}

impl Asked {
    /// Whether there is nothing to agree to.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.request.is_none() && self.settings.is_empty()
    }
}

/// Loads what a repository asks to be trusted with.
///
/// # Errors
///
/// If its configuration can't be read.
#[boxed]
pub async fn load(engine: &Engine, context: &Context) -> Result<Asked> {
    let (own, settings) = engine.load_own_settings(context).await?;
    Ok(Asked { request: context.untrusted.clone(), settings, own })
}

/// Agrees to all that was asked, until it changes.
///
/// # Errors
///
/// If that can't be written.
#[boxed]
pub async fn agree(engine: &Engine, context: &Context, asked: &Asked) -> Result<()> {
    if let Some(request) = &asked.request {
        engine.trust(context, request).await?;
    }
    if !asked.settings.is_empty() {
        engine.trust_settings(context, &asked.own)?;
    }
    Ok(())
}

/// Agrees to run `setup` with what one commit holds, though a stranger wrote it.
///
/// # Errors
///
/// If that can't be written.
#[boxed]
pub async fn agree_to_commit(engine: &Engine, context: &Context, commit: &CommitId) -> Result<()> {
    Ok(engine.trust_commit(context, commit).await?)
}
