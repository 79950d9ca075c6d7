//! An agent's environment: built, not inherited, so that no secret of Spinney's or of a forge reaches it but those that the
//! operator's own file names for it.
//!
//! What is passed on comes from the process that runs the job: the one that submitted it started that, or the daemon that
//! took the job up again.

use std::ffi::{OsStr, OsString};

use super::Run;
use super::setup::JobPlace;
use crate::Result;

/// What everything gets of the caller's environment.
const COMMON: [&str; 5] = ["PATH", "HOME", "LANG", "TERM", "TMPDIR"];

type Variables = Vec<(OsString, OsString)>;

impl Run<'_> {
    /// The environment of the agent and of its hooks, but for the job's tag.
    pub(super) fn environment(&self, place: &JobPlace) -> Result<Variables> {
        let mut variables = Variables::new();
        // What git is not given here, nothing is, whatever asks for it.
        let secrets = &self.context.git_options().secrets;
        let wanted = self.agent.runtime.variables();
        for (name, value) in self.jobs.engine.environment() {
            let Some(text) = name.to_str() else { continue };
            let asked = COMMON.contains(&text) || wanted.iter().any(|pattern| matches(pattern, text));
            // Only the operator's file can name it.
            let named = self.agent.config.pass.iter().any(|passed| passed.as_str() == text);
            if named || asked && !secrets.contains(name) {
                variables.push((name.clone(), value.clone()));
            }
        }
        let mut set = |name: &OsStr, value: &OsStr| {
            variables.retain(|(known, _)| known != name);
            variables.push((name.to_owned(), value.to_owned()));
        };
        for (name, value) in self.agent.own_variables(self.jobs.engine.environment())? {
            set(name.as_ref(), &value);
        }
        for (name, value) in place.variables() {
            set(name, value);
        }
        set("PWD".as_ref(), place.inside().as_os_str());
        Ok(variables)
    }
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
