//! The adapters of the platforms whose secrets are there.

use std::sync::Arc;

use spinney_core::Secret;
use spinney_core::config::VariableName;
use spinney_engine::Engine;

use crate::Adapter;

/// A platform that is configured, but can't be used as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub platform: spinney_core::Platform,
    pub reason: String,
}

/// Makes the adapters of all platforms that are set up, and tells what is wrong with the others.
#[must_use]
pub fn adapters(_engine: &Engine) -> (Vec<Arc<dyn Adapter>>, Vec<Fault>) {
    (Vec::new(), Vec::new())
}

/// What the environment holds in a variable that the configuration names; an empty one holds nothing.
#[must_use]
pub fn secret(engine: &Engine, name: Option<&VariableName>) -> Option<Secret> {
    let name = name?.to_string();
    let (_, value) = engine.environment().iter().find(|(given, _)| given.to_str() == Some(&name))?;
    value.to_str().map(str::trim).filter(|value| !value.is_empty()).map(Secret::new)
}
