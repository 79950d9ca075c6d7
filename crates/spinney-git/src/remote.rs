//! The remotes of a repository, as its configuration names them.

use spinney_core::BranchName;

use crate::repository::Repository;
use crate::{Error, Result, without_credentials};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remote {
    pub name: String,
    /// Without credentials.
    pub url: String,
}

impl Repository {
    /// Lists the remotes that have a URL, in the order of the configuration.
    pub async fn load_remotes(&self) -> Result<Vec<Remote>> {
        let command = self.command().args(["config", "-z", "--get-regexp", r"^remote\..*\.url$"]);
        Ok(parse_remotes(&command.accept(&[0, 1]).run().await?.stdout))
    }

    /// The URL that git really uses for a remote, after all rewriting; it may hold a secret.
    pub(crate) async fn load_remote_url(&self, remote: &str) -> Result<String> {
        self.command().args(["ls-remote", "--get-url", "--", require_remote(remote)?]).text().await
    }
}

/// Reads `remote.<name>.url\n<value>\0`; the first URL of a remote is the one it is fetched from.
fn parse_remotes(stdout: &[u8]) -> Vec<Remote> {
    let mut remotes: Vec<Remote> = Vec::new();
    for entry in String::from_utf8_lossy(stdout).split('\0') {
        let Some((key, url)) = entry.split_once('\n') else { continue };
        let Some(name) = key.strip_prefix("remote.").and_then(|key| key.strip_suffix(".url")) else { continue };
        if !remotes.iter().any(|remote| remote.name == name) {
            remotes.push(Remote { name: name.to_owned(), url: without_credentials(url) });
        }
    }
    remotes
}

/// Refuses a remote's name that git could take for an option, a path or a URL, or that can't be part of a ref.
pub(crate) fn require_remote(name: &str) -> Result<&str> {
    match name.parse::<BranchName>() {
        Ok(_) => Ok(name),
        Err(_) => Err(Error::Refused { what: "the name of a remote", name: name.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_first_url_counts_and_secrets_go() {
        let stdout =
            b"remote.origin.url\nhttps://me:pw@host/a.git\0remote.origin.url\n/other\0remote.up.stream.url\n/b c\0";
        let remotes = parse_remotes(stdout);
        assert_eq!(remotes.len(), 2);
        assert_eq!(remotes[0], Remote { name: "origin".into(), url: "https://host/a.git".into() });
        assert_eq!(remotes[1], Remote { name: "up.stream".into(), url: "/b c".into() });
    }

    #[test]
    fn names_that_mean_something_else_are_refused() {
        for name in ["", "--upload-pack=x", "-o", "https://host/a", "../a", "a b", "a\nb", "ext::sh -c x"] {
            assert!(require_remote(name).is_err(), "{name}");
        }
        assert!(require_remote("up.stream/x").is_ok());
    }

    proptest! {
        #[test]
        fn no_output_makes_it_panic(stdout in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse_remotes(&stdout);
        }
    }
}
