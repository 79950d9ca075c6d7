//! Where a token comes from: the environment, which the caller hands in, or GitHub's own command line tool.

use std::process::Stdio;
use std::time::Duration;

use spinney_core::{ForgeKind, Secret};
use tokio::process::Command;

/// `gh` reads a file or asks the system's key ring.
const GH_TIMEOUT: Duration = Duration::from_secs(5);
/// What `gh` needs to find its files and the key ring. Tokens in the environment were looked at before.
const GH_ENVIRONMENT: [&str; 8] = [
    "PATH",
    "HOME",
    "USER",
    "GH_CONFIG_DIR",
    "XDG_CONFIG_HOME",
    "XDG_RUNTIME_DIR",
    "DBUS_SESSION_BUS_ADDRESS",
    "LANG",
];

/// The variables that a kind's own tools read, in their order.
fn usual_variables(kind: ForgeKind) -> &'static [&'static str] {
    match kind {
        ForgeKind::Github => &["GITHUB_TOKEN", "GH_TOKEN"],
        ForgeKind::Gitlab => &["GITLAB_TOKEN"],
        ForgeKind::Forgejo => &["FORGEJO_TOKEN", "GITEA_TOKEN"],
    }
}

/// The token that the environment holds: in the variable `token_env`, or, where that is empty or one of the usual
/// ones, in the first of those that is set.
#[must_use]
pub fn from_environment(kind: ForgeKind, environment: &[(String, String)], token_env: &str) -> Option<Secret> {
    let usual = usual_variables(kind);
    let others = if token_env.is_empty() || usual.contains(&token_env) { usual } else { &[] };
    std::iter::once(token_env).chain(others.iter().copied()).find_map(|name| {
        let (_, value) = environment.iter().find(|(given, _)| given == name)?;
        secret(value)
    })
}

/// GitHub's token: from the environment, else what `gh` is signed in with on this host.
pub async fn github(environment: &[(String, String)], token_env: &str, host: &str) -> Option<Secret> {
    match from_environment(ForgeKind::Github, environment, token_env) {
        Some(token) => Some(token),
        None => from_gh(environment, host).await,
    }
}

/// Asks `gh`; none where it is missing, knows no such host, or takes too long.
async fn from_gh(environment: &[(String, String)], host: &str) -> Option<Secret> {
    #[expect(clippy::disallowed_methods, reason = "`gh` is the only one who knows where it keeps its token")]
    let mut command = Command::new("gh");
    command.args(["auth", "token", "--hostname", host]).env_clear().kill_on_drop(true);
    command.envs(environment.iter().filter(|(name, _)| GH_ENVIRONMENT.contains(&name.as_str())).cloned());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let output = tokio::time::timeout(GH_TIMEOUT, command.output()).await.ok()?.ok()?;
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
    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn found(kind: ForgeKind, pairs: &[(&str, &str)], token_env: &str) -> Option<String> {
        from_environment(kind, &variables(pairs), token_env).map(|token| token.expose().to_owned())
    }

    #[test]
    fn the_usual_variables_are_looked_at_in_order() {
        let both = [("GH_TOKEN", "second"), ("GITHUB_TOKEN", " first\n")];
        assert_eq!(found(ForgeKind::Github, &both, "GITHUB_TOKEN").unwrap(), "first");
        assert_eq!(found(ForgeKind::Github, &both, "GH_TOKEN").unwrap(), "second");
        assert_eq!(found(ForgeKind::Github, &both[..1], "GITHUB_TOKEN").unwrap(), "second");
        assert_eq!(found(ForgeKind::Github, &[("GITHUB_TOKEN", ""), ("GH_TOKEN", "x")], "").unwrap(), "x");
        assert_eq!(found(ForgeKind::Gitlab, &[("GITLAB_TOKEN", "x")], "").unwrap(), "x");
        assert_eq!(found(ForgeKind::Forgejo, &[("GITEA_TOKEN", "x")], "FORGEJO_TOKEN").unwrap(), "x");
        assert_eq!(found(ForgeKind::Gitlab, &both, ""), None);
    }

    #[test]
    fn a_variable_that_was_named_is_the_only_one() {
        let environment = [("GITHUB_TOKEN", "usual"), ("WORK_TOKEN", "work")];
        assert_eq!(found(ForgeKind::Github, &environment, "WORK_TOKEN").unwrap(), "work");
        assert_eq!(found(ForgeKind::Github, &environment, "OTHER_TOKEN"), None);
    }
}
