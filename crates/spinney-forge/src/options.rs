//! Where forges are, and how they are spoken to.

use std::sync::{Arc, LazyLock};

use spinney_core::Secret;

use crate::{App, ForgeKind, Patience};

/// The configured forges, one of each kind.
#[derive(Debug, Clone, Default)]
pub struct ForgeOptions {
    pub kinds: Vec<(ForgeKind, KindOptions)>,
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

/// What counts for a kind of which nothing is said.
static PUBLIC: LazyLock<KindOptions> = LazyLock::new(KindOptions::default);

impl ForgeOptions {
    /// With this for a kind, whatever was said of it before.
    #[must_use]
    pub fn with(mut self, kind: ForgeKind, options: KindOptions) -> Self {
        *self.of_mut(kind) = options;
        self
    }

    #[must_use]
    pub fn of(&self, kind: ForgeKind) -> &KindOptions {
        self.kinds.iter().find(|(of, _)| *of == kind).map_or(&*PUBLIC, |(_, options)| options)
    }

    pub fn of_mut(&mut self, kind: ForgeKind) -> &mut KindOptions {
        let at = self.kinds.iter().position(|(of, _)| *of == kind).unwrap_or_else(|| {
            self.kinds.push((kind, KindOptions::default()));
            self.kinds.len() - 1
        });
        &mut self.kinds[at].1
    }

    /// The address of a kind's API, without a slash at its end.
    #[must_use]
    pub fn api_url(&self, kind: ForgeKind) -> &str {
        match self.of(kind).api_url.trim_end_matches('/') {
            "" => kind.public_api_url,
            url => url,
        }
    }
}
