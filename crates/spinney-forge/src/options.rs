//! Where forges are, and how they are spoken to.

use std::sync::Arc;

use spinney_core::{ForgeKind, Secret};

use crate::{App, Patience};

/// The configured forges, one of each kind.
#[derive(Debug, Clone, Default)]
pub struct ForgeOptions {
    pub github: KindOptions,
    pub gitlab: KindOptions,
    pub forgejo: KindOptions,
    pub patience: Patience,
    /// The URL of a proxy for HTTPS.
    pub proxy: Option<Secret>,
}

#[derive(Debug, Clone, Default)]
pub struct KindOptions {
    /// Empty for the kind's public one, as `https://api.github.com`.
    pub api_url: String,
    pub token: Option<Secret>,
    /// Where there is one, its tokens are used instead; GitHub alone has apps.
    pub app: Option<Arc<App>>,
}

impl ForgeOptions {
    #[must_use]
    pub fn of(&self, kind: ForgeKind) -> &KindOptions {
        match kind {
            ForgeKind::Github => &self.github,
            ForgeKind::Gitlab => &self.gitlab,
            ForgeKind::Forgejo => &self.forgejo,
        }
    }

    /// The address of a kind's API, without a slash at its end.
    #[must_use]
    pub fn api_url(&self, kind: ForgeKind) -> &str {
        match self.of(kind).api_url.trim_end_matches('/') {
            "" => public_api_url(kind),
            url => url,
        }
    }
}

fn public_api_url(kind: ForgeKind) -> &'static str {
    match kind {
        ForgeKind::Github => "https://api.github.com",
        ForgeKind::Gitlab => "https://gitlab.com/api/v4",
        ForgeKind::Forgejo => "https://codeberg.org/api/v1",
    }
}
