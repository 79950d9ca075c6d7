//! An agent's environment: built, not inherited, so that no secret of Spinney's or of a forge reaches it.

use std::ffi::{OsStr, OsString};

use spinney_core::config::Config;

use super::Run;
use super::setup::Place;
use crate::family::JOB_VARIABLE;

/// What everything gets of the caller's environment.
const COMMON: [&str; 4] = ["PATH", "HOME", "LANG", "TERM"];
/// What nothing gets, whatever asks for it.
const SECRET: [&str; 5] = ["GITHUB_TOKEN", "GH_TOKEN", "GITLAB_TOKEN", "FORGEJO_TOKEN", "SPINNEY_DATABASE_URL"];

type Variables = Vec<(OsString, OsString)>;

impl Run<'_> {
    /// The environment of the agent and of its hooks.
    pub(super) fn environment(&self, place: &Place) -> Variables {
        let mut variables = Variables::new();
        let secret = secrets(self.context.config(), self.context.repository.token_env.as_deref());
        let wanted = self.agent.runtime.variables();
        for (name, value) in self.jobs.engine.environment() {
            let Some(text) = name.to_str() else { continue };
            let asked = COMMON.contains(&text) || wanted.iter().any(|pattern| matches(pattern, text));
            if asked && !secret.iter().any(|secret| secret == text) {
                variables.push((name.clone(), value.clone()));
            }
        }
        let mut set = |name: &OsStr, value: &OsStr| {
            variables.retain(|(known, _)| known != name);
            variables.push((name.to_owned(), value.to_owned()));
        };
        for (name, value) in self.agent.config.env.iter() {
            set(name.as_ref(), value.as_ref());
        }
        for (name, value) in place.variables() {
            set(name, value);
        }
        set("PWD".as_ref(), place.directory().as_os_str());
        set(JOB_VARIABLE.as_ref(), self.job.id.as_str().as_ref());
        variables
    }
}

fn secrets(config: &Config, token_env: Option<&str>) -> Vec<String> {
    let forges = [&config.forge.github, &config.forge.gitlab, &config.forge.forgejo];
    let configured = forges.into_iter().filter_map(|forge| forge.token_env.as_ref()).map(ToString::to_string);
    SECRET.iter().map(ToString::to_string).chain(configured).chain(token_env.map(ToOwned::to_owned)).collect()
}

/// Whether a name is meant by a pattern, which is a name or the beginning of names followed by `*`.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning),
        None => name == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_a_name_or_a_beginning() {
        assert!(matches("ANTHROPIC_*", "ANTHROPIC_API_KEY") && matches("HOME", "HOME"));
        assert!(!matches("HOME", "HOMEPAGE") && !matches("ANTHROPIC_*", "OPENAI_API_KEY"));
    }
}
