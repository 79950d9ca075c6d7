//! Which variables of the environment hold secrets: tokens of forges and platforms, and what opens the store.
//!
//! No agent is given them, nor anything that runs what an agent wrote.

use std::ffi::OsStr;

use spinney_core::config::named_variables;
use spinney_forge::{FORGES, ForgeKind};

use crate::{Engine, Result};

/// What opens the store.
const OF_STORE: [&str; 3] = ["PGPASSWORD", "SPINNEY_DATABASE_URL", "SPINNEY_STORE__URL"];
/// How the names of Spinney's own secrets end.
const OWN: [&str; 2] = ["_SECRET", "_TOKEN"];

/// The names of secrets.
#[derive(Debug)]
pub(crate) struct Secrets {
    /// Those that the configuration and the repositories name, and those that they would name by default. What the tools
    /// of a forge read is here too.
    named: Vec<String>,
}

impl Secrets {
    pub(crate) fn contains(&self, name: impl AsRef<OsStr>) -> bool {
        let Some(name) = name.as_ref().to_str() else { return false };
        let own = || name.starts_with("SPINNEY_") && OWN.iter().any(|ending| name.ends_with(ending));
        OF_STORE.contains(&name) || self.named.iter().any(|named| named == name) || own()
    }
}

impl Engine {
    /// The secrets that the environment may hold, whichever account's repositories name them.
    pub(crate) async fn secrets(&self) -> Result<Secrets> {
        let mut named = named_variables(&self.config);
        named.extend(self.layers.schema().usual_variables().into_iter().map(str::to_owned));
        let of_forge = |kind: &ForgeKind| kind.token_variables.iter().chain(kind.other_secrets);
        named.extend(FORGES.iter().flat_map(of_forge).map(|name| (*name).to_owned()));
        named.extend(self.store.read().await?.token_variables(self.home.node()).await?);
        Ok(Secrets { named })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_known_by_its_name() {
        let secrets = Secrets { named: vec!["WORK".to_owned()] };
        for name in ["PGPASSWORD", "SPINNEY_DATABASE_URL", "SPINNEY_GITHUB_WEBHOOK_SECRET", "SPINNEY_TOKEN", "WORK"] {
            assert!(secrets.contains(name), "{name}");
        }
        for name in ["PATH", "SPINNEY_HOME", "SPINNEY_JOB_ID", "ANTHROPIC_API_KEY", "SSH_AUTH_SOCK", "WORKING"] {
            assert!(!secrets.contains(name), "{name}");
        }
    }
}
