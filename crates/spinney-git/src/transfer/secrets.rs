//! Whether a process that crosses the network is given secrets: the caller's tokens in its environment, a credential.
//!
//! An agent can write the configuration of the repository that it works in. So that no secret goes to a program or a
//! place that only this configuration names:
//!
//! 1. A process that stays here is given none at all: filters that the configuration names run in `add`, `status` and
//!    every checkout.
//! 2. One that crosses the network is given none where the repository's own configuration names a program for that, or
//!    another way than the person's.
//! 3. Nor where the remote leads to another origin than the repository's known one, or to none of HTTP: nothing there
//!    asks for a token, and pushing to a directory runs that directory's hooks.
//! 4. A credential is bound to its origin by git itself, so that a remote which is changed meanwhile gets none.

use crate::process::command::Command;
use crate::repository::opened::Repository;
use crate::settings::executing::{Runs, runs};
use crate::transfer::credential::{Credential, origin};
use crate::transfer::remote::require_remote;
use crate::worktree::linked::Worktree;
use crate::{Error, Result};

/// What a process does out there.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Errand<'a> {
    Fetch(&'a str),
    Push(&'a str),
    /// It brings what a checkout needs, and writes files.
    Checkout,
}

/// Where an errand leads.
#[derive(Debug)]
enum Way {
    Known,
    /// To a directory, or by ssh.
    WithoutToken,
    /// And why it is thought so.
    Elsewhere(String),
}

/// The secrets of an errand.
#[derive(Debug, Default)]
pub(crate) struct Secrets<'a> {
    given: bool,
    /// The credential, and a URL of the origin that it is for.
    credential: Option<(String, &'a Credential)>,
    /// Why there are none although there are some.
    withheld: Option<String>,
}

impl<'a> Secrets<'a> {
    /// Those that a clone is made with: there is no configuration yet but the person's.
    pub(crate) fn of_clone(url: &str, credential: Option<&'a Credential>) -> Self {
        Self { given: true, credential: credential.map(|credential| (url.to_owned(), credential)), withheld: None }
    }

    pub(crate) fn go_with(&self, command: Command) -> Command {
        let command = if self.given { command.with_secrets() } else { command };
        match &self.credential {
            Some((url, credential)) => credential.go_with(command, url),
            None => command,
        }
    }

    /// The error of an errand; one that a missing secret may be the reason for says that it was withheld.
    pub(crate) fn explain(&self, error: Error) -> Error {
        match (error, &self.withheld) {
            (Error::Auth { detail }, Some(reason)) => {
                Error::Auth { detail: format!("{detail}; no token was sent, because {reason}") }
            }
            (error, _) => error,
        }
    }

    /// A text without them.
    pub(crate) fn redact(&self, text: &str) -> String {
        self.credential.as_ref().map_or_else(|| text.to_owned(), |(_, credential)| credential.redact(text))
    }
}

impl Repository {
    /// Decides about the secrets of an errand.
    pub(crate) async fn secrets<'a>(
        &self,
        errand: Errand<'_>,
        credential: Option<&'a Credential>,
    ) -> Result<Secrets<'a>> {
        self.secrets_with(&|| self.command(), errand, credential).await
    }

    async fn secrets_with<'a>(
        &self,
        command: &(dyn Fn() -> Command + Sync),
        errand: Errand<'_>,
        credential: Option<&'a Credential>,
    ) -> Result<Secrets<'a>> {
        if credential.is_none() && !self.git().has_secrets() {
            return Ok(Secrets::default());
        }
        let known = self.load_known_origin().await?;
        let settings = command().args(["config", "-z", "--show-scope", "--list"]).run().await?.stdout;
        let way = match find_diversion(&settings, errand) {
            Some(key) => Way::Elsewhere(format!("the repository's own configuration sets `{key}`")),
            None => self.load_way(errand, known.as_deref()).await?,
        };
        Ok(match way {
            Way::Known => {
                let nowhere = || "it is not known where this repository's remote is".to_owned();
                let withheld = (known.is_none() && credential.is_some()).then(nowhere);
                Secrets { given: true, credential: known.zip(credential), withheld }
            }
            Way::WithoutToken => Secrets::default(),
            Way::Elsewhere(reason) => Secrets { withheld: Some(reason), ..Secrets::default() },
        })
    }

    /// The origin that the repository's remote is known to have, as the person's own configuration rewrites it.
    async fn load_known_origin(&self) -> Result<Option<String>> {
        let Some(url) = self.known_url() else { return Ok(None) };
        let outside = self.git().command(std::path::Path::new("/")).env("GIT_CEILING_DIRECTORIES", "/");
        let url = outside.args(["ls-remote", "--get-url", "--", url]).text().await?;
        Ok(origin(&url))
    }

    /// Whether a remote leads where the repository's is known to be. Of several addresses each must.
    async fn load_way(&self, errand: Errand<'_>, known: Option<&str>) -> Result<Way> {
        let question = match errand {
            Errand::Fetch(remote) => self.command().args(["ls-remote", "--get-url", "--", require_remote(remote)?]),
            Errand::Push(remote) => {
                self.command().args(["remote", "get-url", "--push", "--all", "--", require_remote(remote)?])
            }
            Errand::Checkout => return Ok(Way::Known),
        };
        let urls = question.text().await?;
        let origins: Vec<_> = urls.lines().map(|url| origin(url).filter(|_| url.starts_with("http"))).collect();
        if origins.contains(&None) {
            return Ok(Way::WithoutToken);
        }
        let elsewhere = |found: &&String| self.known_url().is_some() && known != Some(found.as_str());
        Ok(match origins.iter().flatten().find(elsewhere) {
            Some(found) => {
                let known = known.or(self.known_url()).unwrap_or_default();
                Way::Elsewhere(format!("the remote points to `{found}`, but the repository was added with `{known}`"))
            }
            None => Way::Known,
        })
    }
}

impl Worktree {
    /// Decides about the secrets of an errand that writes files.
    pub(crate) async fn secrets<'a>(&self, credential: Option<&'a Credential>) -> Result<Secrets<'a>> {
        self.repository().secrets_with(&|| self.command(), Errand::Checkout, credential).await
    }

    /// Those of a checkout: only for what LFS keeps elsewhere it crosses the network.
    pub(crate) async fn checkout_secrets(&self, lfs: bool) -> Result<Secrets<'static>> {
        if lfs { self.secrets(None).await } else { Ok(Secrets::default()) }
    }
}

/// Finds the setting of the repository's own that names a program, or another way, for an errand.
fn find_diversion(stdout: &[u8], errand: Errand<'_>) -> Option<String> {
    let text = String::from_utf8_lossy(stdout);
    let mut parts = text.split('\0');
    while let (Some(scope), Some(entry)) = (parts.next(), parts.next()) {
        // A key without a value is `true`.
        let (key, value) = entry.split_once('\n').unwrap_or((entry, "true"));
        if matches!(scope, "local" | "worktree") && is_diversion(key, value, errand) {
            return Some(key.to_owned());
        }
    }
    None
}

/// Whether a setting has a say in what runs, or where a secret goes.
fn is_diversion(key: &str, value: &str, errand: Errand<'_>) -> bool {
    let counts = match errand {
        Errand::Checkout => Runs::REMOTES.and(Runs::FILES),
        Errand::Fetch(_) | Errand::Push(_) => Runs::REMOTES,
    };
    runs(key, value).meets(counts)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn programs_and_ways_of_the_repositorys_own_are_found() {
        let fetch = Errand::Fetch("origin");
        for key in [
            "core.sshcommand",
            "core.gitproxy",
            "credential.helper",
            "credential.https://host.example/.helper",
            "http.proxy",
            "http.sslverify",
            "http.https://host.example/a.git.sslverify",
            "http.curloptresolve",
            "remote.origin.uploadpack",
            "remote.a.b.vcs",
            "alias.lfs",
            "lfs.customtransfer.x.path",
            "lfs.standalonetransferagent",
        ] {
            assert!(is_diversion(key, "x", fetch), "{key}");
        }
        for key in [
            "core.bare",
            "credential.username",
            "http.https://github.com/.extraheader",
            "http.postbuffer",
            "remote.origin.url",
            "alias.co",
            "lfs.repositoryformatversion",
            "filter.nbstripout.clean",
            "submodule.x.update",
        ] {
            assert!(!is_diversion(key, "x", fetch), "{key}");
        }
        assert!(is_diversion("submodule.x.update", "!x", fetch));
    }

    #[test]
    fn filters_count_where_files_are_written() {
        assert!(is_diversion("filter.x.smudge", "x", Errand::Checkout));
        assert!(is_diversion("filter.lfs.smudge", "env; git-lfs smudge -- %f", Errand::Checkout));
        assert!(!is_diversion("filter.lfs.smudge", "git-lfs smudge -- %f", Errand::Checkout));
        assert!(!is_diversion("filter.lfs.required", "true", Errand::Checkout));
    }

    #[test]
    fn the_persons_own_settings_are_theirs() {
        let text = |scope: &str| format!("{scope}\0core.bare\0{scope}\0credential.helper\n!x\0").into_bytes();
        let found = |scope: &str| find_diversion(&text(scope), Errand::Push("origin"));
        assert_eq!(found("local").as_deref(), Some("credential.helper"));
        assert_eq!(found("worktree").as_deref(), Some("credential.helper"));
        for scope in ["system", "global", "command"] {
            assert_eq!(found(scope), None, "{scope}");
        }
    }

    proptest! {
        #[test]
        fn no_output_makes_it_panic(stdout in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = find_diversion(&stdout, Errand::Checkout);
        }
    }
}
