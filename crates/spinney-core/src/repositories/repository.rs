//! A repository that Spinney knows, and the clone of it on this machine.

use std::path::PathBuf;

use serde::Serialize;

use crate::{CloneId, NodeId, RepositoryId, RepositoryName, Timestamp};

/// A repository with its clone on one node. Clones of one remote on different nodes are one repository; two clones on one
/// node are two.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Repository {
    pub id: RepositoryId,
    pub account: String,
    pub name: RepositoryName,
    /// The remote's URL, without any credentials.
    pub url: Option<String>,
    /// The name of the environment variable that holds the token for this repository; never the token.
    pub token_env: Option<String>,
    pub node: NodeId,
    /// What its common git dir says that it is, wherever it stands; none until that was noted.
    #[serde(skip)]
    pub clone: Option<CloneId>,
    pub common_dir: PathBuf,
    /// The main checkout; none for a bare repository.
    pub root: Option<PathBuf>,
    /// Whether Spinney made the clone (`repo add URL`), in its home.
    pub managed: bool,
    /// The size of its tree when it was last measured.
    pub tree_bytes: Option<u64>,
    pub created_at: Timestamp,
}

impl Repository {
    /// The remote by which clones on different machines are one repository.
    #[must_use]
    pub fn remote(&self) -> Option<String> {
        self.url.as_deref().and_then(canonical_remote)
    }
}

/// `host/path` of a remote, the same for every way to write its address; none for a directory, which is another one on
/// another machine.
#[must_use]
pub fn canonical_remote(url: &str) -> Option<String> {
    let (host, path) = match url.split_once("://") {
        Some(("file", _)) => return None,
        Some((_, rest)) => rest.split_once('/')?,
        None if url.starts_with(['/', '.', '~']) => return None,
        None => url.split_once(':')?,
    };
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    let is_default = |port: &str| matches!(port, "22" | "80" | "443" | "9418" | "");
    let host = match host.rsplit_once(':') {
        Some((name, port)) if is_default(port) => name,
        _ => host,
    };
    let path = path.split(['?', '#']).next().unwrap_or_default().trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    (!host.is_empty() && !path.is_empty()).then(|| format!("{}/{path}", host.to_lowercase()))
}

/// `owner/name` that a canonical remote ends in, in small letters: forges tell names in any case.
#[must_use]
pub fn remote_slug(remote: &str) -> Option<String> {
    let (rest, name) = remote.rsplit_once('/')?;
    let (_, owner) = rest.rsplit_once('/')?;
    Some(format!("{owner}/{name}").to_lowercase())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_way_to_write_an_address_is_one_remote() {
        for url in [
            "https://github.com/acme/app",
            "https://github.com/acme/app.git",
            "https://user:secret@GitHub.com:443/acme/app.git/",
            "ssh://git@github.com/acme/app.git",
            "ssh://git@github.com:22/acme/app",
            "git@github.com:acme/app.git",
            "git@github.com:/acme/app",
            "git://github.com/acme/app.git",
        ] {
            assert_eq!(canonical_remote(url).as_deref(), Some("github.com/acme/app"), "{url}");
        }
        assert_eq!(canonical_remote("https://host:8443/a/b/c.git").as_deref(), Some("host:8443/a/b/c"));
        assert_eq!(remote_slug("host:8443/a/B/c").as_deref(), Some("b/c"));
        assert_eq!((remote_slug("github.com/app"), remote_slug("app")), (None, None));
        assert_ne!(canonical_remote("https://host/Acme/app"), canonical_remote("https://host/acme/app"));
    }

    #[test]
    fn a_directory_is_no_remote_of_two_machines() {
        for url in ["/srv/git/app.git", "file:///srv/git/app.git", "../app", "./a:b", "~/app", "https://host/", "app"] {
            assert_eq!(canonical_remote(url), None, "{url}");
        }
    }

    proptest! {
        #[test]
        fn no_address_makes_it_panic(url in "(?s).{0,60}") {
            let _ = canonical_remote(&url);
        }
    }
}
