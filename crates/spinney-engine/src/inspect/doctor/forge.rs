//! Whether the forges of the known repositories take the tokens that the environment has for them.

use std::collections::HashSet;

use spinney_core::ForgeError;
use spinney_core::forge::Access;
use spinney_forge::ForgeKind;

use super::Check;
use crate::repositories::context::Context;
use crate::repositories::forge::api_host;
use crate::{Engine, Result};

const NAME: &str = "forge";

impl Engine {
    /// Asks each forge about each repository on it; one that gives no answer, or does not take the token, only once.
    pub(super) async fn check_forges(&self) -> Result<Vec<Check>> {
        let mut checks = Vec::new();
        let mut given_up = HashSet::new();
        for repository in self.repositories().await? {
            // What is wrong with a repository itself is told elsewhere.
            let Ok(context) = self.known_repository(repository).await else { continue };
            let Ok(Some((located, _))) = self.locate_forge(&context).await else { continue };
            if given_up.contains(&located.api_url) {
                continue;
            }
            let (check, is_settled) = self.check_forge(&context, located.kind, api_host(&located.api_url)).await;
            checks.push(check);
            if is_settled {
                given_up.insert(located.api_url);
            }
        }
        Ok(checks)
    }

    /// Asks one forge about one repository; and whether there is no use in asking it about another.
    async fn check_forge(&self, context: &Context, kind: ForgeKind, host: &str) -> (Check, bool) {
        let name = &context.repository.name;
        let forge = match self.hasty_forge(context).await {
            Ok(Some(forge)) => forge,
            Ok(None) => return (Check::good(NAME, format!("{name} is on no configured forge")), false),
            Err(error) => {
                return (Check::bad(NAME, error.in_full(), format!("fix forge.{kind} in the configuration")), true);
            }
        };
        let source = self.token_source(context, kind);
        let token = source.as_deref().unwrap_or("its token");
        let needs = format!("needs `{}`, or set forge.{kind}.token_env", kind.scope);
        let or_none = format!("set {}, or forge.{kind}.token_env", kind.token_variables[0]);
        match forge.fetch_access().await {
            Ok(Access::Write) => {
                (Check::good(NAME, format!("{name} on {}: the token has write access", forge.name())), false)
            }
            Ok(Access::Read) => {
                let fact = format!("{name} on {} may only be read: no pull request can be opened", forge.name());
                (Check::notice(NAME, fact, if source.is_some() { needs } else { or_none }), false)
            }
            Err(ForgeError::Unauthorised { with_token: true, .. }) => {
                (Check::bad(NAME, format!("{token} is refused by {host} (401)"), needs), true)
            }
            Err(error @ (ForgeError::Unauthorised { .. } | ForgeError::NotFound { with_token: false, .. })) => {
                (Check::notice(NAME, error.to_string(), or_none), false)
            }
            Err(error @ (ForgeError::NotFound { .. } | ForgeError::Refused { .. })) => {
                (Check::bad(NAME, error.to_string(), needs), false)
            }
            Err(error @ (ForgeError::RateLimited { .. } | ForgeError::Unreachable { .. })) => {
                (Check::notice(NAME, error.to_string(), "try again later: spinney doctor"), true)
            }
            Err(error @ (ForgeError::Unexpected { .. } | ForgeError::Unsupported { .. })) => {
                (Check::bad(NAME, error.to_string(), format!("check forge.{kind}.api_url")), true)
            }
        }
    }
}
