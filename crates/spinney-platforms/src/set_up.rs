//! The adapters of the platforms whose secrets are there.

use std::sync::Arc;

use spinney_core::config::VariableName;
use spinney_core::{Platform, Secret};
use spinney_engine::Engine;

use crate::table::{Descriptor, Made, PLATFORMS};
use crate::{Adapter, standing};

/// A platform that is configured, but can't be used as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub platform: Platform,
    pub reason: String,
}

/// Makes the adapters of all platforms that are set up, and tells what is wrong with the others.
#[must_use]
pub fn adapters(engine: &Engine) -> (Vec<Arc<dyn Adapter>>, Vec<Fault>) {
    let (mut adapters, mut faults) = (Vec::new(), Vec::new());
    for row in PLATFORMS {
        match adapter(engine, row) {
            Ok(adapter) => adapters.extend(adapter),
            Err(reason) => faults.push(Fault { platform: row.platform, reason }),
        }
    }
    (adapters, faults)
}

/// A platform's adapter; none where it is not set up.
pub(crate) fn adapter(engine: &Engine, row: &Descriptor) -> Made {
    row.config(engine.config()).map_or(Ok(None), |config| (row.open)(engine, config))
}

/// Tells a platform where to call from now on; none where its API can't be told that, or it is not to call.
pub async fn announce(engine: &Engine, row: &Descriptor) -> Option<Result<(), String>> {
    let url = standing::webhook_url(engine.config(), row)?;
    let adapter = match adapter(engine, row) {
        Ok(adapter) => adapter?,
        Err(reason) => return Some(Err(reason)),
    };
    let told = adapter.set_webhook(&url)?.await;
    Some(told.map_err(|error| error.to_string()))
}

pub(crate) fn required(engine: &Engine, name: Option<&VariableName>) -> Result<Secret, String> {
    let missing = || match name {
        Some(name) => format!("`{name}` is not set"),
        None => "`token_env` names no variable".to_owned(),
    };
    secret(engine, name).ok_or_else(missing)
}

/// What the environment holds in a variable that the configuration names; an empty one holds nothing.
pub(crate) fn secret(engine: &Engine, name: Option<&VariableName>) -> Option<Secret> {
    let name = name?.to_string();
    let (_, value) = engine.environment().iter().find(|(given, _)| given.to_str() == Some(&name))?;
    value.to_str().map(str::trim).filter(|value| !value.is_empty()).map(Secret::new)
}
