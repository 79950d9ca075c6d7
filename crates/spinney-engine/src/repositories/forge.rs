//! The forge that a repository's remote is on, with the token that the environment has for it.

use std::sync::LazyLock;
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use spinney_core::config::Schema;
use spinney_core::forge::PullRequestState;
use spinney_core::{Forge, MergedPull, Workspace};
use spinney_forge::{
    FORGES, ForgeKind, ForgeOptions, KindOptions, Linear, LinearOptions, Located, Patience, locate, token,
};

use crate::repositories::context::Context;
use crate::repositories::proxy::proxy_for;
use crate::verdict::ForgeWord;
use crate::{Engine, Error, Result};

/// Whose tokens the environment holds, where no repository names its own.
pub(super) const OPERATORS_ACCOUNT: &str = "local";
/// How long a sweep waits for a forge: what it does not say only makes the sweep keep more.
const SWEEPS_WAIT: Duration = Duration::from_secs(10);

/// The keys of the configuration that the engine understands: Spinney's own and the forges'.
#[must_use]
pub fn schema() -> &'static Schema {
    static SCHEMA: LazyLock<Schema> = LazyLock::new(|| Schema::new(spinney_forge::sections()));
    &SCHEMA
}

impl Engine {
    /// The forge of a repository, which waits outages and limits out; none where its remote is on none that is configured.
    #[boxed]
    pub async fn forge(&self, context: &Context) -> Result<Option<Box<dyn Forge>>> {
        self.forge_with(context, Patience::default()).await
    }

    /// The same, for a sweep.
    #[boxed]
    pub async fn hasty_forge(&self, context: &Context) -> Result<Option<Box<dyn Forge>>> {
        self.forge_with(context, Patience { total: SWEEPS_WAIT, ..Patience::default() }).await
    }

    /// The issues of a team on Linear, for who looks again anyway. Its key is the operator's, and no other account's.
    pub fn linear(&self, team: &str) -> Result<Linear> {
        let fault = |reason: String| Error::Linear { reason };
        if self.account() != OPERATORS_ACCOUNT {
            return Err(fault(format!("its key is for account `{OPERATORS_ACCOUNT}` alone")));
        }
        let config = self.config.forge.of("linear").cloned().unwrap_or_default();
        let api_url = config.api_url.as_ref().ok_or_else(|| fault("`forge.linear.api_url` is empty".to_owned()))?;
        let environment = self.texts();
        let variable = config.token_env.as_ref().map(ToString::to_string).unwrap_or_default();
        let token = token::of_variable(&environment, &variable);
        let token = token.ok_or_else(|| fault(format!("`{variable}` is not set, which holds its key")))?;
        let options = LinearOptions {
            api_url: api_url.to_string(),
            token,
            patience: Patience { total: SWEEPS_WAIT, ..Patience::default() },
            proxy: proxy_for(&environment, api_url.as_str()),
        };
        Linear::open(team, &options).map_err(|error| fault(error.to_string()))
    }

    async fn forge_with(&self, context: &Context, patience: Patience) -> Result<Option<Box<dyn Forge>>> {
        let Some((located, mut options)) = self.locate_forge(context).await? else { return Ok(None) };
        options.patience = patience;
        let environment = self.texts();
        let variable = token_variable(context, located.kind);
        let host = web_host(&located.api_url);
        options.of_mut(located.kind).token = token::find(located.kind, &environment, &variable, host).await;
        let opened = spinney_forge::open(&located, &options);
        opened.map(Some).map_err(|error| Error::Forge { kind: located.kind, reason: error.to_string() })
    }

    /// Whether a repository's remote is on a forge that is configured.
    #[boxed]
    pub async fn has_forge(&self, context: &Context) -> Result<bool> {
        Ok(self.locate_forge(context).await?.is_some())
    }

    /// Where a repository is on which forge; none where its remote is on none that is configured.
    #[boxed]
    pub async fn forge_place(&self, context: &Context) -> Result<Option<Located>> {
        Ok(self.locate_forge(context).await?.map(|(located, _)| located))
    }

    /// Where a repository is on which forge, and how the forges are spoken to, without their tokens.
    pub(crate) async fn locate_forge(&self, context: &Context) -> Result<Option<(Located, ForgeOptions)>> {
        let Some(remote) = self.remote(context).await? else { return Ok(None) };
        let options = self.forge_options(context);
        Ok(locate(&remote.url, &options).map(|located| {
            let proxy = proxy_for(&self.texts(), &located.api_url);
            (located, ForgeOptions { proxy, ..options })
        }))
    }

    /// Where the forges are, without their tokens.
    pub(super) fn forge_options(&self, context: &Context) -> ForgeOptions {
        let mut options = ForgeOptions::default();
        for kind in FORGES {
            let api_url = context.config().forge.of(kind.name).and_then(|forge| forge.api_url.as_ref());
            let api_url = api_url.map(ToString::to_string).unwrap_or_default();
            options = options.with(kind, KindOptions { api_url, ..KindOptions::default() });
        }
        options
    }

    /// The variable that a forge's token is in; none where there is no token, or another program knows it.
    pub(crate) fn token_source(&self, context: &Context, kind: ForgeKind) -> Option<String> {
        token::variable(kind, &self.texts(), &token_variable(context, kind)).map(ToOwned::to_owned)
    }

    /// What a forge says of a workspace's branch. One that was never pushed has no pull request. Where the forge gives no
    /// answer, a pull request that is known is taken for open, unless the forge told before that it is merged.
    #[boxed]
    pub async fn forge_word(forge: &dyn Forge, workspace: &Workspace) -> (ForgeWord, Option<String>) {
        if !workspace.pushed && workspace.pull_request.is_none() {
            return (ForgeWord::default(), None);
        }
        match forge.fetch_pull_request_of(&workspace.branch).await {
            Ok(None) => (ForgeWord::default(), None),
            Ok(Some(found)) => {
                let open = (found.state == PullRequestState::Open).then(|| found.url.clone());
                let closed = (found.state == PullRequestState::Closed).then(|| found.url.clone());
                let merged = found.merged_head().map(|head| MergedPull { number: found.number, head: head.clone() });
                (ForgeWord { open, closed, merged }, None)
            }
            Err(error) => {
                let open = workspace.open_pull_request().map(ToOwned::to_owned);
                (ForgeWord { open, ..ForgeWord::default() }, Some(error.to_string()))
            }
        }
    }

    /// What a repository's forge says of a workspace with a pull request that is known; of another it is not asked. Where
    /// there is no answer, why: the pull request is taken for open then.
    #[boxed]
    pub async fn ask_forge(&self, context: &Context, workspace: &Workspace) -> (Option<ForgeWord>, Option<String>) {
        if workspace.pull_request.is_none() {
            return (None, None);
        }
        let fault = match self.hasty_forge(context).await {
            Ok(Some(forge)) => {
                let (word, fault) = Self::forge_word(&*forge, workspace).await;
                return (Some(word), fault);
            }
            Ok(None) => "the remote is on none of the configured forges".to_owned(),
            Err(error) => error.in_full(),
        };
        let open = workspace.open_pull_request().map(ToOwned::to_owned);
        (Some(ForgeWord { open, ..ForgeWord::default() }), Some(fault))
    }

    /// The environment as far as it is text.
    #[must_use]
    pub fn texts(&self) -> Vec<(String, String)> {
        let text = |(name, value): &(std::ffi::OsString, std::ffi::OsString)| {
            Some((name.to_str()?.to_owned(), value.to_str()?.to_owned()))
        };
        self.environment.iter().filter_map(text).collect()
    }
}

/// The variable that the configuration names for a forge's token.
pub(super) fn token_variable(context: &Context, kind: ForgeKind) -> String {
    let forge = context.config().forge.of(kind.name);
    forge.and_then(|forge| forge.token_env.as_ref()).map(ToString::to_string).unwrap_or_default()
}

/// The host of an API: `api.github.com` for `https://api.github.com`.
pub(crate) fn api_host(api_url: &str) -> &str {
    let host = api_url.split_once("://").map_or(api_url, |(_, rest)| rest);
    host.split('/').next().unwrap_or(host)
}

/// The host of the pages that belong to an API: `github.com` for `https://api.github.com`.
pub(super) fn web_host(api_url: &str) -> &str {
    let host = api_host(api_url);
    host.strip_prefix("api.").unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_and_api_may_have_different_hosts() {
        assert_eq!(web_host("https://api.github.com"), "github.com");
        assert_eq!(web_host("https://ghe.example.com/api/v3"), "ghe.example.com");
    }
}
