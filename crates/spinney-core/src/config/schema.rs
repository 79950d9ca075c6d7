//! The configuration as typed values. Its keys are those of `defaults.toml`, no more and no less.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::agent::AgentConfig;
use super::document::Key;
use super::forge::ForgesConfig;
use super::keys::Keys;
use super::path_template::PathTemplate;
use super::platforms::PlatformsConfig;
use super::schedule::ScheduleConfig;
use super::sections::Schema;
use super::server::ServerConfig;
use super::store_url::StoreUrl;
use super::{defaults, values};
use crate::quantity::{Bytes, Span};
use crate::workspace::{UnknownWord, words};
use crate::{AgentName, BranchName, Platform};

/// The platforms whose workspaces never go stale.
const PERSISTENT_PLATFORMS: &str = "cleanup.persistent_platforms";

/// Everything that can be configured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    pub workspace: WorkspaceConfig,
    pub pool: PoolConfig,
    pub limits: LimitsConfig,
    pub cleanup: CleanupConfig,
    pub store: StoreConfig,
    pub server: ServerConfig,
    #[serde(default)]
    pub forge: ForgesConfig,
    #[serde(default)]
    pub platforms: PlatformsConfig,
    /// Not a part of the default file: each is read by itself, upon the defaults of `agent.toml`.
    #[serde(skip)]
    pub agents: BTreeMap<AgentName, AgentConfig>,
}

/// How a workspace is made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkspaceConfig {
    #[serde(deserialize_with = "values::word")]
    pub strategy: Strategy,
    #[serde(deserialize_with = "values::word")]
    pub populate: PopulateChoice,
    pub path: PathTemplate,
    /// None: the remote's HEAD.
    #[serde(with = "values::optional")]
    pub base: Option<BranchName>,
    /// A remote's name; none: `origin`, else the only one there is.
    #[serde(with = "values::remote")]
    pub remote: Option<String>,
    #[serde(deserialize_with = "values::word")]
    pub fetch: Fetch,
    /// Zero: fetch every time.
    pub fetch_max_age: Span,
    /// Zero: no limit.
    pub fetch_timeout: Span,
    /// Patterns of ignored files, relative to the main checkout and never leading out of it.
    #[serde(deserialize_with = "values::copy_patterns")]
    pub copy: Vec<String>,
    /// Directories, relative to the repository, that can be carried over as they are.
    #[serde(deserialize_with = "values::artifacts")]
    pub artifacts: Vec<String>,
    /// Shell lines, with no character that would hide from a person what they do.
    #[serde(deserialize_with = "values::shell_lines")]
    pub setup: Vec<String>,
    /// Zero: no limit.
    pub setup_timeout: Span,
    pub submodules: bool,
    #[serde(deserialize_with = "values::word")]
    pub lfs: Lfs,
    /// Unique names, each in lowercase with digits and single underscores.
    #[serde(deserialize_with = "values::port_names")]
    pub ports: Vec<String>,
}

/// Workspaces that are prepared ahead of any work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoolConfig {
    /// Zero: none.
    #[serde(deserialize_with = "values::pool_size")]
    pub size: u32,
}

/// When no further workspace is made, and no further job started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitsConfig {
    /// Per repository, at least one.
    #[serde(deserialize_with = "values::at_least_one")]
    pub max_workspaces: u32,
    /// Jobs at once on this node, at least one.
    #[serde(deserialize_with = "values::at_least_one")]
    pub max_workers: u32,
    pub min_free_disk: Bytes,
}

/// What goes by itself, and what stays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CleanupConfig {
    /// Whether the daemon begins with one.
    pub on_startup: bool,
    /// From one of the daemon's to the next; zero: none.
    pub interval: Span,
    /// Zero: never.
    pub stale_after: Span,
    /// How long nothing may have happened in a workspace that makes room for another one; zero: only what is merged does.
    pub idle_after: Span,
    /// How long nothing may have happened in the tree of a job that ended badly, until it goes whatever it holds; zero: never.
    pub abandoned_after: Span,
    /// Zero: no limit.
    pub max_age: Span,
    pub adopted: bool,
    #[serde(deserialize_with = "values::words")]
    pub persistent_platforms: Vec<Platform>,
    pub delete_merged_branches: bool,
    pub prune_unmerged_branches: bool,
    /// Plain names of directories.
    #[serde(deserialize_with = "values::directory_names")]
    pub caches: Vec<String>,
    pub trash_for: Span,
    /// Zero: no limit.
    pub trash_quota: Bytes,
    /// How long the archive of a purged workspace is kept, with its rescue ref; zero: until somebody erases it.
    pub archive_for: Span,
    /// Zero: no limit.
    pub archive_quota: Bytes,
    /// How often the daemon forgets old sessions and jobs; zero: never.
    pub session_interval: Span,
    /// Zero: for ever.
    pub session_retention: Span,
    /// Zero: for ever.
    pub job_retention: Span,
}

/// Where the state is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoreConfig {
    /// None: SQLite in the home.
    #[serde(with = "values::optional")]
    pub url: Option<StoreUrl>,
}

words!(
    /// Where the jobs of an agent work.
    Strategy {
        GitWorktree = "git_worktree",
        /// In a person's directory as it is, one at a time.
        Static = "static",
    }
);

words!(
    /// Whether to fetch before a workspace is made.
    Fetch {
        /// When what is known is too old; a failure is a warning.
        Auto = "auto",
        Never = "never",
        /// As `auto`, but a failure is an error.
        Require = "require",
    }
);

words!(
    /// How a workspace's files are to get there.
    PopulateChoice {
        /// The best that the file system offers.
        Auto = "auto",
        Checkout = "checkout",
        Reflink = "reflink",
    }
);

words!(
    /// What to do about Git LFS pointers.
    Lfs {
        Skip = "skip",
        Pull = "pull",
    }
);

impl Default for Config {
    fn default() -> Self {
        defaults::table(defaults::keys()).try_into().expect("the built-in defaults are valid")
    }
}

/// Says what is wrong with one value, looking at it alone among the defaults.
pub(super) fn fault(schema: &Schema, key: &Key, value: &toml::Value) -> Option<String> {
    match key {
        Key::Plain(PERSISTENT_PLATFORMS) => unknown_platform(schema, value),
        Key::Plain(key) => fault_in::<Config>(&schema.keys, key, value).or_else(|| schema.fault(key, value)),
        Key::OfAgent(_, key) => fault_in::<AgentConfig>(defaults::agent_keys(), key, value),
        Key::OfSchedule(_, _, key) => fault_in::<ScheduleConfig>(defaults::schedule_keys(), key, value),
        Key::Agent(_) | Key::Schedule(..) => None,
    }
}

/// Which platforms there are is known by the schema alone. What the default names is right though nobody declared it.
fn unknown_platform(schema: &Schema, names: &toml::Value) -> Option<String> {
    let texts = |value: &toml::Value| -> Vec<String> {
        value.as_array().into_iter().flatten().filter_map(toml::Value::as_str).map(str::to_owned).collect()
    };
    let known: Vec<_> = schema.origins().map(|platform| platform.to_string()).collect();
    let usual = schema.keys.find(PERSISTENT_PLATFORMS).map(|known| texts(&known.default)).unwrap_or_default();
    let unknown = texts(names).into_iter().find(|name| !known.contains(name) && !usual.contains(name))?;
    Some(UnknownWord { word: unknown, known: known.join("`, `") }.to_string())
}

fn fault_in<T: DeserializeOwned>(keys: &Keys, key: &str, value: &toml::Value) -> Option<String> {
    let mut table = defaults::table(keys);
    defaults::set(&mut table, key, value.clone());
    table.try_into::<T>().err().map(|error| error.message().to_owned())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// What is wrong with a value of a key outside of agents.
    pub fn plain_fault(key: &'static str, value: &toml::Value) -> Option<String> {
        fault(Schema::own(), &Key::Plain(key), value)
    }

    /// What is wrong with a value of an agent's key.
    pub fn agent_fault(key: &'static str, value: &toml::Value) -> Option<String> {
        fault(Schema::own(), &Key::OfAgent("coder".parse().unwrap(), key), value)
    }

    /// What is wrong with a value of a schedule's key.
    pub fn schedule_fault(key: &'static str, value: &toml::Value) -> Option<String> {
        fault(Schema::own(), &Key::OfSchedule("coder".parse().unwrap(), "nightly".parse().unwrap(), key), value)
    }

    #[test]
    fn schema_and_default_files_have_the_same_keys_and_values() {
        let typed = toml::Table::try_from(Config::default()).unwrap();
        let declared = ["forge", "platforms"].map(|name| (name.to_owned(), toml::Table::new().into()));
        let own: toml::Table = defaults::table(defaults::keys()).into_iter().chain(declared).collect();
        assert_eq!(typed, own, "a key or a value is missing from defaults.toml");
        let agent = defaults::table(defaults::agent_keys());
        let typed = toml::Table::try_from(agent.clone().try_into::<AgentConfig>().unwrap()).unwrap();
        assert_eq!(typed, agent, "a key or a value is missing from agent.toml");
        let schedule = defaults::table(defaults::schedule_keys());
        let typed = toml::Table::try_from(schedule.clone().try_into::<ScheduleConfig>().unwrap()).unwrap();
        assert_eq!(typed, schedule, "a key or a value is missing from schedule.toml");
    }

    #[test]
    fn every_key_is_required_so_that_no_default_hides_in_the_schema() {
        fn without(table: &mut toml::Table, key: &str) {
            match key.split_once('.') {
                None => drop(table.remove(key)),
                Some((section, key)) => without(table[section].as_table_mut().unwrap(), key),
            }
        }
        for known in defaults::keys().iter() {
            let mut table = defaults::table(defaults::keys());
            without(&mut table, &known.key);
            assert!(table.try_into::<Config>().is_err(), "{} has a second default in the schema", known.key);
        }
        for known in defaults::agent_keys().iter() {
            let mut table = defaults::table(defaults::agent_keys());
            without(&mut table, &known.key);
            assert!(table.try_into::<AgentConfig>().is_err(), "{} has a second default in the schema", known.key);
        }
        for known in defaults::schedule_keys().iter() {
            let mut table = defaults::table(defaults::schedule_keys());
            without(&mut table, &known.key);
            assert!(table.try_into::<ScheduleConfig>().is_err(), "{} has a second default in the schema", known.key);
        }
    }
}
