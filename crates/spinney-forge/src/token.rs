//! Where a token comes from: the environment, which the caller hands in, or GitHub's own command line tool.

use std::process::Stdio;
use std::time::Duration;

use spinney_core::Secret;
use tokio::process::Command;

use crate::ForgeKind;

/// `gh` reads a file or asks the system's key ring.
const GH_TIMEOUT: Duration = Duration::from_secs(5);
/// What `gh` needs to find its files and the key ring. Tokens in the environment were looked at before.
const GH_ENVIRONMENT: [&str; 8] =
    ["PATH", "HOME", "USER", "GH_CONFIG_DIR", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "LANG"];

/// Whether `token_env` names no variable beside the usual ones.
fn is_usual(kind: ForgeKind, token_env: &str) -> bool {
    token_env.is_empty() || kind.token_variables.contains(&token_env)
}

/// The variable that holds a token: `token_env`, or, where that is empty or one of the usual ones, the first of those
/// that is set.
#[must_use]
pub fn variable<'a>(kind: ForgeKind, environment: &[(String, String)], token_env: &'a str) -> Option<&'a str> {
    let others = if is_usual(kind, token_env) { kind.token_variables } else { &[] };
    std::iter::once(token_env).chain(others.iter().copied()).find(|name| of_variable(environment, name).is_some())
}

/// The token that the environment holds, in that variable.
#[must_use]
pub fn from_environment(kind: ForgeKind, environment: &[(String, String)], token_env: &str) -> Option<Secret> {
    of_variable(environment, variable(kind, environment, token_env)?)
}

/// The token that a variable holds.
#[must_use]
pub fn of_variable(environment: &[(String, String)], name: &str) -> Option<Secret> {
    let (_, value) = environment.iter().find(|(given, _)| given == name)?;
    secret(value)
}

/// A forge's token: from the environment, else, where it may know one, what `gh` is signed in with on this host.
///
/// A variable of its own stands for an account of its own: where it is not set, nobody else's token is taken.
pub async fn find(kind: ForgeKind, environment: &[(String, String)], token_env: &str, host: &str) -> Option<Secret> {
    match from_environment(kind, environment, token_env) {
        None if kind.is_known_to_gh && is_usual(kind, token_env) => from_gh(environment, host, GH_TIMEOUT).await,
        found => found,
    }
}

/// Asks `gh`; none where it is missing, knows no such host, or takes too long.
async fn from_gh(environment: &[(String, String)], host: &str, timeout: Duration) -> Option<Secret> {
    #[expect(clippy::disallowed_methods, reason = "`gh` is the only one who knows where it keeps its token")]
    let mut command = Command::new("gh");
    command.args(["auth", "token", "--hostname", host]).env_clear().kill_on_drop(true);
    command.envs(environment.iter().filter(|(name, _)| GH_ENVIRONMENT.contains(&name.as_str())).cloned());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let output = tokio::time::timeout(timeout, command.output()).await.ok()?.ok()?;
    if !output.status.success() {
        return None;
    }
    secret(std::str::from_utf8(&output.stdout).ok()?)
}

/// A text as a token, unless there is none in it.
fn secret(text: &str) -> Option<Secret> {
    let text = text.trim();
    (!text.is_empty() && !text.contains(char::is_control)).then(|| Secret::new(text))
}

#[cfg(test)]
mod tests {

    use std::time::Instant;

    use spinney_testkit::{Sandbox, write_program};

    use super::*;
    use crate::{FORGEJO, GITHUB, GITLAB};

    /// An environment whose only `gh` is this script.
    fn with_gh(sandbox: &Sandbox, script: &str) -> Vec<(String, String)> {
        let program = sandbox.path().join("gh");
        write_program(&program, format!("#!/bin/sh\n{script}\n"));
        variables(&[("PATH", sandbox.path().to_str().unwrap()), ("GH_TOKEN", ""), ("SECRET", "x")])
    }

    #[tokio::test]
    async fn gh_is_asked_for_this_host_and_sees_no_more_than_it_needs() {
        let sandbox = Sandbox::new();
        let environment = with_gh(&sandbox, r#"echo "$*-$SECRET-${GH_TOKEN-unset}""#);
        let token = find(&GITHUB, &environment, "GITHUB_TOKEN", "ghe.example.com").await.unwrap();
        assert_eq!(token.expose(), "auth token --hostname ghe.example.com--unset");
        let environment = [&environment[..], &variables(&[("GITHUB_TOKEN", "mine")])].concat();
        assert_eq!(find(&GITHUB, &environment, "GITHUB_TOKEN", "github.com").await.unwrap().expose(), "mine");
        assert_eq!(find(&GITHUB, &environment, "WORK_TOKEN", "github.com").await, None);
    }

    #[tokio::test]
    async fn a_gh_that_fails_hangs_or_is_missing_has_no_token() {
        let sandbox = Sandbox::new();
        assert_eq!(find(&GITHUB, &with_gh(&sandbox, "echo no; exit 1"), "", "github.com").await, None);
        let start = Instant::now();
        let environment = with_gh(&sandbox, "exec /bin/sleep 60");
        assert_eq!(from_gh(&environment, "github.com", Duration::from_millis(200)).await, None);
        assert!(start.elapsed() < Duration::from_secs(30));
        assert_eq!(find(&GITHUB, &variables(&[("PATH", "/nonexistent")]), "", "github.com").await, None);
    }

    fn variables(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn found(kind: ForgeKind, pairs: &[(&str, &str)], token_env: &str) -> Option<String> {
        from_environment(kind, &variables(pairs), token_env).map(|token| token.expose().to_owned())
    }

    #[test]
    fn the_usual_variables_are_looked_at_in_order() {
        let both = [("GH_TOKEN", "second"), ("GITHUB_TOKEN", " first\n")];
        assert_eq!(found(&GITHUB, &both, "GITHUB_TOKEN").unwrap(), "first");
        assert_eq!(found(&GITHUB, &both, "GH_TOKEN").unwrap(), "second");
        assert_eq!(found(&GITHUB, &both[..1], "GITHUB_TOKEN").unwrap(), "second");
        assert_eq!(found(&GITHUB, &[("GITHUB_TOKEN", ""), ("GH_TOKEN", "x")], "").unwrap(), "x");
        assert_eq!(found(&GITLAB, &[("GITLAB_TOKEN", "x")], "").unwrap(), "x");
        assert_eq!(found(&FORGEJO, &[("GITEA_TOKEN", "x")], "FORGEJO_TOKEN").unwrap(), "x");
        assert_eq!(found(&GITLAB, &both, ""), None);
    }

    #[test]
    fn a_variable_that_was_named_is_the_only_one() {
        let environment = [("GITHUB_TOKEN", "usual"), ("WORK_TOKEN", "work")];
        assert_eq!(found(&GITHUB, &environment, "WORK_TOKEN").unwrap(), "work");
        assert_eq!(found(&GITHUB, &environment, "OTHER_TOKEN"), None);
    }
}
