//! The remotes of a repository, as its configuration names them.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use spinney_core::BranchName;

use crate::repository::opened::Repository;
use crate::transfer::remote_cache::RemoteCache;
use crate::{Error, Result, without_credentials};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Remote {
    pub name: String,
    /// Without credentials.
    pub url: String,
}

impl Repository {
    /// Where a push to a remote goes, without credentials: to every URL in the answer.
    pub async fn load_push_url(&self, remote: &str) -> Result<String> {
        let command = self.command().args(["remote", "get-url", "--push", "--all", "--", require_remote(remote)?]);
        let urls: Vec<_> = command.text().await?.lines().map(without_credentials).collect();
        Ok(urls.join(" "))
    }

    /// Lists the remotes that have a URL, in the order of the configuration.
    pub async fn load_remotes(&self) -> Result<Vec<Remote>> {
        if let Some(remotes) = RemoteCache::load(self) {
            return Ok(remotes);
        }
        let watched = RemoteCache::watch(self);
        let command = self.command().args(["config", "-z", "--show-origin", "--list"]);
        let settings = parse_settings(&command.run().await?.stdout);
        let remotes = find_remotes(&settings);
        // What a branch switch includes is no matter of files alone.
        if !settings.iter().any(|setting| setting.key.starts_with("includeif.onbranch:")) {
            let directory = self.root().unwrap_or(self.common_dir());
            let mut sources: Vec<PathBuf> =
                settings.iter().filter_map(|setting| setting.file.as_ref()).map(|file| directory.join(file)).collect();
            sources.dedup();
            RemoteCache::save(self, watched, &sources, &remotes);
        }
        Ok(remotes)
    }
}

/// One line of the configuration; without a file when it came from the command line.
#[derive(Debug)]
struct Setting {
    file: Option<PathBuf>,
    key: String,
    value: String,
}

/// Reads `file:<path>\0<key>\n<value>\0`.
fn parse_settings(stdout: &[u8]) -> Vec<Setting> {
    let text = String::from_utf8_lossy(stdout);
    let mut parts = text.split('\0');
    let mut settings = Vec::new();
    while let (Some(origin), Some(entry)) = (parts.next(), parts.next()) {
        // A key without a value is `true`.
        let (key, value) = entry.split_once('\n').unwrap_or((entry, "true"));
        let file = origin.strip_prefix("file:").map(PathBuf::from);
        settings.push(Setting { file, key: key.to_owned(), value: value.to_owned() });
    }
    settings
}

/// The first URL of a remote is the one it is fetched from.
fn find_remotes(settings: &[Setting]) -> Vec<Remote> {
    let mut remotes: Vec<Remote> = Vec::new();
    for Setting { key, value, .. } in settings {
        let Some(name) = key.strip_prefix("remote.").and_then(|key| key.strip_suffix(".url")) else { continue };
        if !remotes.iter().any(|remote| remote.name == name) {
            remotes.push(Remote { name: name.to_owned(), url: without_credentials(value) });
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
    use crate::hostile;

    #[test]
    fn the_first_url_counts_and_secrets_go() {
        let stdout = b"file:.git/config\0remote.origin.url\nhttps://me:pw@host/a.git\0file:.git/config\0remote.origin.url\n/other\0\
            command line:\0core.bare\0file:/x\0remote.up.stream.url\n/b c\0";
        let remotes = find_remotes(&parse_settings(stdout));
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
            let _ = find_remotes(&parse_settings(&stdout));
        }
    }

    #[test]
    fn much_is_read_in_time() {
        hostile::assert_fast(&["remote.a.url\n"], |stdout| drop(find_remotes(&parse_settings(stdout))));
    }
}
