//! What a repository's own `spinney.toml` may say, and what of it a person must see first.
//!
//! The file is hostile until shown otherwise: whoever can push to the repository writes it. It never decides where
//! things are put on disk or what is deleted, and its shell lines count only after `spinney trust`.

use super::canonical;
use super::document::{self, Key, Setting};
use super::error::ConfigError;
use super::sections::Schema;
use super::variable_value::VariableValue;
use super::work_source::WorkSourceConfig;
use super::working_directory::WorkingDirectory;
use crate::AgentName;
use crate::names::{content_hash, for_message};

const SETUP: &str = "workspace.setup";
const WORKING_DIRECTORY: &str = "working_directory";
const WORK_SOURCE: &str = "work_source";
const ENV: &str = "env";
const MCP_SERVERS: &str = "mcp_servers";

/// What a person must see before it counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustRequest {
    /// The part in question, in one canonical form whatever the file's layout and comments: `setup`, then the agents.
    pub content: String,
    /// The hash that is remembered: other content must be shown again.
    pub hash: String,
    /// The shell lines of `workspace.setup`.
    pub setup: Vec<String>,
    /// The agents that the file says anything about.
    pub agents: Vec<AgentName>,
    /// What it says about them: the agents' part of the content.
    pub agents_content: String,
}

/// Says what of the repository's file needs a person's trust; none when nothing does.
pub fn needs_trust(schema: &'static Schema, place: &str, text: &str) -> Result<Option<TrustRequest>, ConfigError> {
    let settings = read(schema, place, text)?;
    let (setup, agents) = (setup_of(&settings), agents_of(&settings));
    if setup.is_empty() && agents.is_empty() {
        return Ok(None);
    }
    let agents_content = canonical::agents(&settings);
    let content = canonical::setup(&setup) + &agents_content;
    Ok(Some(TrustRequest { hash: content_hash(content.as_bytes()), content, setup, agents, agents_content }))
}

/// Reads the file, refusing what does not belong in it.
pub(super) fn read(schema: &'static Schema, place: &str, text: &str) -> Result<Vec<Setting>, ConfigError> {
    let settings = document::read(schema, place, text)?;
    match settings.iter().find_map(refusal) {
        Some(refusal) => Err(refusal),
        None => Ok(settings),
    }
}

/// Why a setting does not belong in a repository's file, if it does not.
fn refusal(setting: &Setting) -> Option<ConfigError> {
    let (place, key) = (setting.place.clone(), setting.key.to_string());
    match setting.key {
        Key::Plain(plain) => (!may_set(plain)).then_some(ConfigError::NotForRepositories { place, key }),
        Key::OfAgent(_, below) if !may_set_of_agent(below) => Some(ConfigError::NotForRepositories { place, key }),
        Key::OfAgent(_, key_of_agent @ (ENV | MCP_SERVERS)) => {
            // A header may begin with a word such as `Bearer`.
            let last_word = |text| str::rsplit(text, ' ').next().unwrap_or(text);
            let name = variable_in(&setting.value, &|text| if key_of_agent == ENV { text } else { last_word(text) })?;
            let message = format!(
                "`${0}` is a variable of whoever runs Spinney: a repository's own file can't refer to those, and the text is \
                 written `$${0}`",
                for_message(name)
            );
            Some(ConfigError::WrongValue { place, key, message, default: None })
        }
        Key::OfAgent(_, WORKING_DIRECTORY) => {
            let directory: WorkingDirectory = setting.value.clone().try_into().ok()?;
            let root = for_message(&directory.root);
            let message = format!("`{root}` may lie outside the checkout: a repository's own file can't set that");
            directory.leads_out().then_some(ConfigError::WrongValue { place, key, message, default: None })
        }
        Key::OfSchedule(_, _, WORK_SOURCE) => {
            let source: WorkSourceConfig = setting.value.clone().try_into().ok()?;
            let message = "its files may lie outside the checkout: a repository's own file can't set that".to_owned();
            source.leads_out().then_some(ConfigError::WrongValue { place, key, message, default: None })
        }
        Key::Agent(_) | Key::OfAgent(..) | Key::Schedule(..) | Key::OfSchedule(..) => None,
    }
}

/// A variable that some text within a value refers to with the part of it that can.
fn variable_in<'v>(value: &'v toml::Value, part: &dyn Fn(&'v str) -> &'v str) -> Option<&'v str> {
    match value {
        toml::Value::Table(table) => table.values().find_map(|value| variable_in(value, part)),
        toml::Value::Array(array) => array.iter().find_map(|value| variable_in(value, part)),
        toml::Value::String(text) => match VariableValue::read(part(text)) {
            VariableValue::Of(name) => Some(name),
            VariableValue::Text(_) => None,
        },
        _ => None,
    }
}

/// Whether a repository may set a key outside of agents.
pub(super) fn may_set(key: &str) -> bool {
    match key {
        "limits.max_workspaces" | "pool.size" => true,
        "workspace.path" | "workspace.strategy" => false,
        _ => key.starts_with("workspace."),
    }
}

/// Whether a repository may set a key of its agents.
pub(super) fn may_set_of_agent(key: &str) -> bool {
    !matches!(key, "pass" | "workspace.path" | "workspace.strategy")
}

/// Whether a setting counts only after a person's trust. A `setup` of no lines runs nothing.
pub(super) fn needs_a_person(setting: &Setting) -> bool {
    match setting.key {
        Key::Plain(SETUP) => setting.value.as_array().is_some_and(|lines| !lines.is_empty()),
        Key::Plain(_) => false,
        Key::Agent(_) | Key::OfAgent(..) | Key::Schedule(..) | Key::OfSchedule(..) => true,
    }
}

/// The shell lines among some settings.
pub(super) fn setup_of(settings: &[Setting]) -> Vec<String> {
    let lines = settings.iter().filter(|setting| setting.key == Key::Plain(SETUP));
    let lines = lines.filter_map(|setting| setting.value.as_array());
    lines.flatten().filter_map(|line| line.as_str().map(str::to_owned)).collect()
}

/// The agents that some settings are about, by name.
pub(super) fn agents_of(settings: &[Setting]) -> Vec<AgentName> {
    let mut agents: Vec<_> = settings.iter().filter_map(|setting| setting.key.agent().cloned()).collect();
    agents.sort();
    agents.dedup();
    agents
}

#[cfg(test)]
mod tests {
    use super::super::DEFAULTS;
    use super::super::sections::tests::trial;
    use super::*;
    use crate::Advice;

    #[test]
    fn only_the_documented_keys_are_for_repositories() {
        let refused: Vec<_> = trial()
            .keys
            .iter()
            .map(|known| known.key.as_str())
            .filter(|key| !may_set(key) && !key.starts_with("platforms."))
            .collect();
        assert!(!may_set("platforms.github.allowed_users"));
        assert_eq!(
            refused,
            [
                "workspace.strategy",
                "workspace.path",
                "limits.max_workers",
                "limits.min_free_disk",
                "cleanup.on_startup",
                "cleanup.interval",
                "cleanup.stale_after",
                "cleanup.idle_after",
                "cleanup.abandoned_after",
                "cleanup.max_age",
                "cleanup.adopted",
                "cleanup.persistent_platforms",
                "cleanup.delete_merged_branches",
                "cleanup.prune_unmerged_branches",
                "cleanup.caches",
                "cleanup.trash_for",
                "cleanup.trash_quota",
                "cleanup.archive_for",
                "cleanup.archive_quota",
                "cleanup.session_interval",
                "cleanup.session_retention",
                "cleanup.job_retention",
                "store.url",
                "server.listen",
                "server.socket",
                "server.public_url",
                "server.allowed_hosts",
                "server.tls_cert",
                "server.tls_key",
                "forge.github.api_url",
                "forge.github.token_env",
            ]
        );
    }

    #[test]
    fn what_does_not_belong_is_refused_and_told_where_it_belongs() {
        let error = read(trial(), "spinney.toml", "[workspace]\nbase = 'x'\n[cleanup]\ntrash_for = '1s'").unwrap_err();
        assert_eq!(error.to_string(), "spinney.toml:4: `cleanup.trash_for` can't be set by a repository");
        let hint = "set `cleanup.trash_for` in your own file, `$XDG_CONFIG_HOME/spinney/config.toml`";
        assert_eq!(error.advice(), Advice::Configuration(hint.to_owned()));
        assert!(read(trial(), "spinney.toml", DEFAULTS).is_err());
    }

    #[test]
    fn trust_is_about_content_not_about_layout() {
        let a = needs_trust(trial(), "x", "[workspace]\nsetup = ['npm ci', \"echo \\\"a\\\"\"]").unwrap().unwrap();
        let b = "# hi\n[limits]\nmax_workspaces = 3\n[workspace]\nsetup = [\n  'npm ci', # one\n  'echo \"a\"',\n]\n";
        let b = needs_trust(trial(), "y", b).unwrap().unwrap();
        assert_eq!(a, b);
        assert_eq!(a.setup, ["npm ci", "echo \"a\""]);
        assert_eq!(a.content, "[workspace]\nsetup = [\n  \"npm ci\",\n  \"echo \\\"a\\\"\",\n]\n");
        let canonical = needs_trust(trial(), "z", &a.content).unwrap().unwrap();
        assert_eq!(canonical, a, "the canonical text says the same as the file");
    }

    #[test]
    fn other_content_has_another_hash() {
        let hash =
            |setup: &str| needs_trust(trial(), "x", &format!("workspace.setup = {setup}")).unwrap().unwrap().hash;
        let hashes = [hash("['a', 'b']"), hash("['b', 'a']"), hash("['a\\nb']"), hash("[\"a\\nb\"]"), hash("['a b']")];
        for (index, one) in hashes.iter().enumerate() {
            assert!(!hashes[index + 1..].contains(one), "{index}");
        }
    }

    #[test]
    fn trust_in_set_up_alone_is_remembered_by_the_hash_it_always_had() {
        let request = needs_trust(trial(), "x", "[workspace]\nsetup = ['npm ci', 'echo ⚠️']").unwrap().unwrap();
        assert_eq!(request.content, "[workspace]\nsetup = [\n  \"npm ci\",\n  \"echo ⚠️\",\n]\n");
        assert_eq!(request.hash, content_hash(request.content.as_bytes()));
        assert_eq!((request.agents.as_slice(), request.agents_content.as_str()), (&[][..], ""));
    }

    #[test]
    fn agents_need_trust_whatever_they_say() {
        let agents = "[agents.coder]\n[agents.b]\nmodel = 'x'\nhooks.before_run = ['make']\nenv = { B = '2', A = '1' }";
        let request = needs_trust(trial(), "x", agents).unwrap().unwrap();
        assert_eq!(request.agents, ["b".parse().unwrap(), "coder".parse().unwrap()]);
        let content = "[agents.b]\nenv = { \"A\" = \"1\", \"B\" = \"2\" }\nhooks.before_run = [\n  \"make\",\n]\n\
            model = \"x\"\n[agents.coder]\n";
        assert_eq!((request.content.as_str(), request.agents_content.as_str()), (content, content));
        assert!(request.setup.is_empty());
        let both = needs_trust(trial(), "x", &format!("workspace.setup = ['make']\n{agents}")).unwrap().unwrap();
        assert_eq!(both.content, format!("[workspace]\nsetup = [\n  \"make\",\n]\n{content}"));
        assert_eq!(both.agents_content, content);
        assert_ne!(both.hash, request.hash);
    }

    #[test]
    fn agents_of_a_repository_stay_in_their_places() {
        for (text, message) in [
            ("agents.a.workspace.path = '/x/{id}'", "`agents.a.workspace.path` can't be set by a repository"),
            ("agents.a.workspace.strategy = 'static'", "`agents.a.workspace.strategy` can't be set by a repository"),
            ("workspace.strategy = 'static'", "`workspace.strategy` can't be set by a repository"),
            ("limits.max_workers = 100", "`limits.max_workers` can't be set by a repository"),
            ("forge.github.api_url = 'https://x'", "`forge.github.api_url` can't be set by a repository"),
            (
                "agents.a.working_directory = '/etc'",
                "wrong value for `agents.a.working_directory`: `/etc` may lie outside the checkout: a repository's own \
                 file can't set that",
            ),
            (
                "agents.a.working_directory = { root = 'a/../../b' }",
                "wrong value for `agents.a.working_directory`: `a/../../b` may lie outside the checkout: a repository's own \
                 file can't set that",
            ),
            ("agents.a.pass = ['SSH_AUTH_SOCK']", "`agents.a.pass` can't be set by a repository"),
            ("agents.a.pass = []", "`agents.a.pass` can't be set by a repository"),
            (
                "agents.a.env = { A = 'x', B = '$GITHUB_TOKEN' }",
                "wrong value for `agents.a.env`: `$GITHUB_TOKEN` is a variable of whoever runs Spinney: a repository's own \
                 file can't refer to those, and the text is written `$$GITHUB_TOKEN`",
            ),
            (
                "agents.a.mcp_servers = { x = { url = 'https://x.example', headers = { Authorization = 'Bearer $A' } } }",
                "wrong value for `agents.a.mcp_servers`: `$A` is a variable of whoever runs Spinney: a repository's own \
                 file can't refer to those, and the text is written `$$A`",
            ),
            (
                "agents.a.schedules.s.work_source = { type = 'file', path = '../tasks' }",
                "wrong value for `agents.a.schedules.s.work_source`: its files may lie outside the checkout: a \
                 repository's own file can't set that",
            ),
        ] {
            assert_eq!(needs_trust(trial(), "x", text).unwrap_err().to_string(), format!("x:1: {message}"));
        }
        for text in [
            "agents.a.working_directory = 'sub'",
            "agents.a.workspace.setup = ['x']",
            "agents.a.env = {}",
            "agents.a.env = { A = '$$HOME', B = '${HOME}', C = '$HOME/x' }",
            "agents.a.schedules.s.work_source = { type = 'file', path = 'tasks' }",
        ] {
            assert!(needs_trust(trial(), "x", text).unwrap().is_some(), "{text}");
        }
    }

    #[test]
    fn nothing_to_run_needs_no_trust() {
        for text in
            ["", "[workspace]\nsetup = []", "[workspace]\ncopy = ['.env']", "limits.max_workspaces = 3", "[agents]"]
        {
            assert_eq!(needs_trust(trial(), "x", text).unwrap(), None, "{text}");
        }
    }
}
