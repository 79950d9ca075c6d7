//! The forge that a repository's remote is on, with the token that the environment has for it.

use spinney_core::config::ForgeConfig;
use spinney_core::{Forge, ForgeKind};
use spinney_engine::Context;
use spinney_forge::{ForgeOptions, KindOptions, locate, token};

use crate::{Error, Jobs, Result};

impl Jobs<'_> {
    /// The forge of a repository; none where its remote is on none that is configured.
    pub async fn forge(&self, context: &Context) -> Result<Option<Box<dyn Forge>>> {
        let Some(remote) = self.engine.remote(context).await? else { return Ok(None) };
        let config = &context.config().forge;
        let kind = |forge: &ForgeConfig| KindOptions {
            api_url: forge.api_url.as_ref().map(ToString::to_string).unwrap_or_default(),
            token: None,
        };
        let mut options = ForgeOptions {
            github: kind(&config.github),
            gitlab: kind(&config.gitlab),
            forgejo: kind(&config.forgejo),
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
        opened.map(Some).map_err(|error| Error::Refused {
            message: error.to_string(),
            hint: format!("`forge.{}.api_url` says where it is", located.kind),
        })
    }

    /// The environment as far as it is text.
    fn texts(&self) -> Vec<(String, String)> {
        let text = |(name, value): &(std::ffi::OsString, std::ffi::OsString)| {
            Some((name.to_str()?.to_owned(), value.to_str()?.to_owned()))
        };
        self.engine.environment().iter().filter_map(text).collect()
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
