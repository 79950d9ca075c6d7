//! The forges that are spoken to: one row each, from which configuration, detection, tokens and advice are made.
//!
//! A new forge is a file with its dialect and its row, and one line in [`FORGES`].

use std::fmt;

use spinney_core::config::{ForgeConfig, Section};

use crate::dialect::Dialect;
use crate::url::Url;
use crate::{forgejo, github, gitlab, linear};

/// All of them, in the order in which a remote is looked for.
pub static FORGES: &[ForgeKind] = &[&github::GITHUB, &gitlab::GITLAB, &forgejo::FORGEJO];

/// Which forge: a row of the table.
pub type ForgeKind = &'static Kind;

/// One kind of forge.
pub struct Kind {
    /// As it stands in the configuration and in JSON.
    pub name: &'static str,
    /// As its makers write it.
    pub title: &'static str,
    /// Its section of the configuration.
    pub section: Section,
    /// The API that is meant where the configuration names none.
    pub public_api_url: &'static str,
    /// The variables in which its own tools look for a token, in their order.
    pub token_variables: &'static [&'static str],
    /// Further variables by which its tools, or its CI, hand tokens on.
    pub other_secrets: &'static [&'static str],
    /// What a token must be allowed, to open pull requests.
    pub scope: &'static str,
    /// Whether GitHub's own tool, `gh`, may know a token for it.
    pub is_known_to_gh: bool,
    /// Whether an app can stand in for a token.
    pub has_apps: bool,
    /// Whether repositories lie in groups within groups, as `group/subgroup/app`.
    pub has_subgroups: bool,
    /// Whether an API is that of the host which a remote is on.
    pub(crate) serves: fn(api: &Url, host: &str) -> bool,
    /// How a repository of this owner and name is spoken of.
    pub(crate) dialect: fn(owner: &str, name: &str) -> Box<dyn Dialect>,
}

/// Rows are known by their names.
impl PartialEq for Kind {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Kind {}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Kind").field(&self.name).finish()
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name)
    }
}

/// The sections that forges, and Linear beside them, have in the configuration.
pub fn sections() -> impl Iterator<Item = Section> {
    FORGES.iter().map(|kind| kind.section).chain([linear::SECTION])
}

/// The section of a forge: every forge's has the same keys.
pub(crate) const fn section(path: &'static str, defaults: &'static str) -> Section {
    Section { path, defaults, check, takes_numbers: false }
}

fn check(table: toml::Table) -> Result<(), String> {
    table.try_into::<ForgeConfig>().map(drop).map_err(|error| error.message().to_owned())
}

/// An API on the same host as the repositories.
pub(crate) fn same_host(api: &Url, host: &str) -> bool {
    api.host == host
}

#[cfg(test)]
mod tests {
    use spinney_core::config::{Layers, Schema, named_variables};

    use super::*;

    #[test]
    fn every_forge_can_be_configured_and_its_variable_is_known_as_a_secret() {
        let schema: &'static Schema = Box::leak(Box::new(Schema::new(sections())));
        let mut layers = Layers::of(schema);
        for kind in FORGES {
            let text = format!("[forge.{kind}]\napi_url = 'https://{kind}.example.com'\ntoken_env = 'MY_{kind}'\n");
            layers.file(kind.name.as_ref(), &text).unwrap();
            assert!(schema.usual_variables().contains(&kind.token_variables[0]), "{kind}");
        }
        let config = layers.resolve().unwrap().config;
        for kind in FORGES {
            let url = config.forge.of(kind.name).unwrap().api_url.as_ref().unwrap().to_string();
            assert_eq!(url, format!("https://{kind}.example.com"));
            assert!(named_variables(&config).contains(&format!("MY_{kind}")), "{kind}");
        }
        assert!(config.forge.of("linear").is_some());
    }

    #[test]
    fn every_key_is_explained() {
        for section in sections() {
            let blocks = section.defaults.trim().split("\n\n");
            assert!(blocks.clone().count() >= 2, "{}", section.path);
            assert!(blocks.into_iter().all(|block| block.starts_with("# ")), "{}", section.path);
        }
    }
}
