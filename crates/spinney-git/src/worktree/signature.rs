//! Signatures on commits that are made here, as the person has them on their own.
//!
//! 1. Whether a commit is signed, how and with which key comes from the person's configuration (global and system) alone.
//!    An agent can write that of the repository: nothing of it is gone by, and every program that it names is overridden.
//! 2. Nobody sits there to type a passphrase: a key that asks for one finds no terminal, and has only so long.
//! 3. Where it can't be signed, the commit is made without a signature, and the reason is told.

use std::time::Duration;

use spinney_core::names::cut_for_message;

use crate::Result;
use crate::process::command::Command;
use crate::worktree::linked::Worktree;

/// Where the programs that ask for a passphrase would show themselves.
const SCREENS: [&str; 3] = ["GPG_TTY", "DISPLAY", "WAYLAND_DISPLAY"];
/// How git ends where a program could not sign.
const FAILED: [i32; 4] = [0, 1, 128, 255];
/// How much is told of what the program says.
const MAX_WORDS: usize = 300;

/// Why a commit has no signature although the configuration asks for one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unsigned {
    #[error("only the repository's own configuration sets `{key}`, which anybody who works in it can write")]
    OfRepository { key: &'static str },
    #[error("`gpg.format` is `ssh`, and `user.signingKey` is not set")]
    NoKey,
    #[error("`{program}` gave no signature within {}s", .after.as_secs())]
    NoAnswer { program: String, after: Duration },
    #[error("`{program}` gave no signature: {detail}")]
    Refused { program: String, detail: String },
}

/// How the person has commits signed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Signing {
    program: String,
    /// What stands above whatever the repository says.
    config: Vec<(String, String)>,
}

impl Signing {
    /// The same command, to be run so that it signs.
    pub(crate) fn go_with(&self, command: Command, timeout: Duration) -> Command {
        let command = self.config.iter().fold(command, |command, (key, value)| command.config(key, value));
        SCREENS.iter().fold(command, |command, name| command.env(name, "")).timeout(timeout).accept(&FAILED)
    }

    /// Why there is no signature, from how git ended; none where there is one.
    pub(crate) fn fault(&self, status: i32, stderr: &str) -> Option<Unsigned> {
        (status != 0).then(|| Unsigned::Refused { program: self.program.clone(), detail: words(stderr) })
    }

    pub(crate) fn timed_out(&self, after: Duration) -> Unsigned {
        Unsigned::NoAnswer { program: self.program.clone(), after }
    }
}

impl Worktree {
    /// How the person has commits signed here; none where they have not, and why not where it can't be as they wish.
    pub(crate) async fn load_signing(&self) -> Result<Option<std::result::Result<Signing, Unsigned>>> {
        let listed = self.command().args(["config", "-z", "--show-scope", "--list"]).run().await?.stdout;
        let listed = String::from_utf8_lossy(&listed);
        let settings = Settings::parse(&listed);
        if !settings.own("commit.gpgsign").is_some_and(is_true) {
            let asked = settings.of_repository("commit.gpgsign").is_some_and(is_true);
            return Ok(asked.then_some(Err(Unsigned::OfRepository { key: "commit.gpgSign" })));
        }
        Ok(Some(signing(&settings)))
    }
}

fn signing(settings: &Settings) -> std::result::Result<Signing, Unsigned> {
    let format = settings.own("gpg.format").unwrap_or("openpgp");
    let usual = match format {
        "ssh" => "ssh-keygen",
        "x509" => "gpgsm",
        _ => "gpg",
    };
    let key = format!("gpg.{format}.program");
    // The name that it had before there were other formats.
    let names = if format == "openpgp" { vec!["gpg.program", &*key] } else { vec![&*key] };
    let program = settings.last_own(&names).unwrap_or(usual).to_owned();
    let mut config = vec![("gpg.format".to_owned(), format.to_owned()), (key, program.clone())];
    match (settings.own("user.signingkey"), settings.own("gpg.ssh.defaultkeycommand")) {
        (Some(own), _) => config.push(("user.signingKey".to_owned(), own.to_owned())),
        (None, _) if settings.of_repository("user.signingkey").is_some() => {
            return Err(Unsigned::OfRepository { key: "user.signingKey" });
        }
        (None, Some(command)) => config.push(("gpg.ssh.defaultKeyCommand".to_owned(), command.to_owned())),
        (None, None) if format == "ssh" => return Err(Unsigned::NoKey),
        // By the name of who commits.
        (None, None) => {}
    }
    Ok(Signing { program, config })
}

/// What the configuration says, and whose it is.
struct Settings<'t>(Vec<(&'t str, &'t str, &'t str)>);

impl<'t> Settings<'t> {
    fn parse(text: &'t str) -> Self {
        let mut parts = text.split('\0');
        let mut settings = Vec::new();
        while let (Some(scope), Some(entry)) = (parts.next(), parts.next()) {
            // A key without a value is `true`.
            let (key, value) = entry.split_once('\n').unwrap_or((entry, "true"));
            settings.push((scope, key, value));
        }
        Self(settings)
    }

    fn own(&self, key: &str) -> Option<&'t str> {
        self.last_own(&[key])
    }

    fn last_own(&self, keys: &[&str]) -> Option<&'t str> {
        self.last(&["system", "global"], keys)
    }

    fn of_repository(&self, key: &str) -> Option<&'t str> {
        self.last(&["local", "worktree"], &[key])
    }

    fn last(&self, scopes: &[&str], keys: &[&str]) -> Option<&'t str> {
        let found = self.0.iter().rfind(|(scope, key, _)| scopes.contains(scope) && keys.contains(key));
        found.map(|(_, _, value)| *value).filter(|value| !value.is_empty())
    }
}

fn is_true(value: &str) -> bool {
    ["true", "yes", "on", "1"].contains(&value.to_ascii_lowercase().as_str())
}

/// What a program said that could not sign, without what git adds to it.
fn words(stderr: &str) -> String {
    let plain = |line: &str| {
        let line = line.trim();
        let line = line.strip_prefix("error: ").or_else(|| line.strip_prefix("fatal: ")).unwrap_or(line);
        line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>()
    };
    let is_said = |line: &String| {
        !line.is_empty() && !line.starts_with("[GNUPG:]") && !line.contains("failed to write commit object")
    };
    let said: Vec<_> = stderr.lines().map(plain).filter(is_said).collect();
    cut_for_message(&said.join(" "), MAX_WORDS)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn told(entries: &[(&str, &str, &str)]) -> std::result::Result<Signing, Unsigned> {
        signing(&Settings(entries.to_vec()))
    }

    fn config(entries: &[(&str, &str, &str)]) -> Vec<(String, String)> {
        told(entries).unwrap().config
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn every_program_is_the_persons_or_the_usual_one() {
        let evil = [
            ("local", "gpg.program", "evil"),
            ("local", "gpg.ssh.program", "evil"),
            ("worktree", "gpg.format", "x509"),
        ];
        assert_eq!(config(&evil), pairs(&[("gpg.format", "openpgp"), ("gpg.openpgp.program", "gpg")]));
        let ssh = [("global", "gpg.format", "ssh"), ("global", "user.signingkey", "~/.ssh/id")];
        let expected = [("gpg.format", "ssh"), ("gpg.ssh.program", "ssh-keygen"), ("user.signingKey", "~/.ssh/id")];
        assert_eq!(config(&[&ssh[..], &evil].concat()), pairs(&expected));
        let older = [("system", "gpg.openpgp.program", "a"), ("global", "gpg.program", "b")];
        assert_eq!(told(&older).unwrap().program, "b");
    }

    #[test]
    fn no_key_of_the_repositorys_choice_signs() {
        let local = ("local", "user.signingkey", "theirs");
        assert_eq!(told(&[local]), Err(Unsigned::OfRepository { key: "user.signingKey" }));
        let own = ("global", "user.signingkey", "mine");
        assert!(config(&[own, local]).contains(&("user.signingKey".to_owned(), "mine".to_owned())));
        let ssh = ("global", "gpg.format", "ssh");
        assert_eq!(told(&[ssh]), Err(Unsigned::NoKey));
        let command = ("local", "gpg.ssh.defaultkeycommand", "evil");
        assert_eq!(told(&[ssh, command]), Err(Unsigned::NoKey));
    }

    #[test]
    fn what_the_program_said_is_told_without_gits_own_words() {
        let said = "error: gpg failed to sign the data:\n[GNUPG:] KEY_CONSIDERED\ngpg: no\tsecret key\n\nfatal: failed to write commit object\n";
        assert_eq!(words(said), "gpg failed to sign the data: gpg: no secret key");
    }

    proptest! {
        #[test]
        fn no_output_makes_it_panic(listed in "(?s).{0,200}", stderr in "(?s).{0,400}") {
            let _ = signing(&Settings::parse(&listed));
            prop_assert!(!words(&stderr).contains(char::is_control));
        }
    }
}
