//! The forge that a repository's remote is on, with the token that the environment has for it.

use std::time::Duration;

use spinney_core::config::ForgeConfig;
use spinney_core::forge::PullRequestState;
use spinney_core::{Forge, ForgeKind, Workspace};
use spinney_forge::{ForgeOptions, KindOptions, Patience, locate, token};

use crate::context::Context;
use crate::verdict::ForgeWord;
use crate::{Engine, Error, Result};

/// How long a sweep waits for a forge: what it does not say only makes the sweep keep more.
const SWEEPS_WAIT: Duration = Duration::from_secs(10);

impl Engine {
    /// The forge of a repository, which waits outages and limits out; none where its remote is on none that is configured.
    pub async fn forge(&self, context: &Context) -> Result<Option<Box<dyn Forge>>> {
        self.forge_with(context, Patience::default()).await
    }

    /// The same, for a sweep.
    pub async fn hasty_forge(&self, context: &Context) -> Result<Option<Box<dyn Forge>>> {
        self.forge_with(context, Patience { total: SWEEPS_WAIT, ..Patience::default() }).await
    }

    async fn forge_with(&self, context: &Context, patience: Patience) -> Result<Option<Box<dyn Forge>>> {
        let Some(remote) = self.remote(context).await? else { return Ok(None) };
        let config = &context.config().forge;
        let kind = |forge: &ForgeConfig| KindOptions {
            api_url: forge.api_url.as_ref().map(ToString::to_string).unwrap_or_default(),
            token: None,
        };
        let mut options = ForgeOptions {
            github: kind(&config.github),
            gitlab: kind(&config.gitlab),
            forgejo: kind(&config.forgejo),
            patience,
            ..ForgeOptions::default()
        };
        let Some(located) = locate(&remote.url, &options) else { return Ok(None) };
        let environment = self.texts();
        let variable = |forge: &ForgeConfig| forge.token_env.as_ref().map(ToString::to_string).unwrap_or_default();
        match located.kind {
            ForgeKind::Github => {
                let host = web_host(&located.api_url);
                options.github.token = token::github(&environment, &variable(&config.github), host).await;
            }
            ForgeKind::Gitlab => {
                options.gitlab.token = token::from_environment(located.kind, &environment, &variable(&config.gitlab));
            }
            ForgeKind::Forgejo => {
                options.forgejo.token = token::from_environment(located.kind, &environment, &variable(&config.forgejo));
            }
        }
        let opened = spinney_forge::open(&located, &options);
        opened.map(Some).map_err(|error| Error::Forge { kind: located.kind, reason: error.to_string() })
    }

    /// What a forge says of a workspace's branch. One that was never pushed has no pull request. Where the forge gives no
    /// answer, a pull request that is known is taken for open.
    pub async fn forge_word(forge: &dyn Forge, workspace: &Workspace) -> (ForgeWord, Option<String>) {
        if !workspace.pushed && workspace.pull_request.is_none() {
            return (ForgeWord::default(), None);
        }
        match forge.fetch_pull_request_of(&workspace.branch).await {
            Ok(None) => (ForgeWord::default(), None),
            Ok(Some(found)) => {
                let open = (found.state == PullRequestState::Open).then(|| found.url.clone());
                let closed = (found.state == PullRequestState::Closed).then(|| found.url.clone());
                (ForgeWord { open, closed, merged_head: found.merged_head().cloned() }, None)
            }
            Err(error) => {
                let word = ForgeWord { open: workspace.pull_request.clone(), ..ForgeWord::default() };
                (word, Some(error.to_string()))
            }
        }
    }

    /// The environment as far as it is text.
    fn texts(&self) -> Vec<(String, String)> {
        let text = |(name, value): &(std::ffi::OsString, std::ffi::OsString)| {
            Some((name.to_str()?.to_owned(), value.to_str()?.to_owned()))
        };
        self.environment.iter().filter_map(text).collect()
    }
}

/// The host of the pages that belong to an API: `github.com` for `https://api.github.com`.
fn web_host(api_url: &str) -> &str {
    let host = api_url.split_once("://").map_or(api_url, |(_, rest)| rest);
    let host = host.split('/').next().unwrap_or(host);
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
