//! What the sections of the platforms have in common.

use serde::de::DeserializeOwned;

/// Whether a section can be read as its platform reads it.
pub(crate) fn check<T: DeserializeOwned>(table: toml::Table) -> Result<(), String> {
    table.try_into::<T>().map(drop).map_err(|error| error.message().to_owned())
}

/// For what is looked at as a part of its section only.
pub(crate) fn later(_: &str) -> Result<(), String> {
    Ok(())
}
