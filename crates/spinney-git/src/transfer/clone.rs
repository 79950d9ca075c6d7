//! Bare clones that Spinney manages.
//!
//! 1. Take the lock beside the destination; whoever comes second finds the clone made.
//! 2. Remove what an interrupted attempt left; make the clone in a directory beside the destination.
//! 3. Rename it to the destination: it is there whole or not at all.
//!
//! The clone has `refs/remotes/origin/*` and the refspec that keeps them, but no local branches: a bare clone's usual
//! ones would pass for somebody's work. Its URL has no credentials.

use std::path::{Path, PathBuf};

use spinney_core::Timestamp;

use crate::disk::file_lock::{FileLock, Wait};
use crate::git::Git;
use crate::repository::opened::Repository;
use crate::transfer::credential::Credential;
use crate::transfer::fetch::listed;
use crate::transfer::network;
use crate::transfer::secrets::Secrets;
use crate::{Error, Result, without_credentials};

const REFSPEC: &str = "+refs/heads/*:refs/remotes/origin/*";

impl Git {
    /// Clones a URL into a bare repository: with so many commits of each branch, or with depth zero all of them. `false`
    /// where somebody else made it first.
    pub async fn clone_bare(
        &self,
        url: &str,
        destination: &Path,
        depth: u32,
        credential: Option<&Credential>,
    ) -> Result<bool> {
        if url.is_empty() || url.starts_with('-') || url.contains(char::is_control) {
            return Err(Error::Refused { what: "a URL", name: without_credentials(url) });
        }
        let (Some(parent), Some(name)) = (destination.parent(), destination.file_name()) else {
            return Err(Error::Refused { what: "a place for a clone", name: destination.display().to_string() });
        };
        std::fs::create_dir_all(parent).map_err(|source| Error::io("make the directory", parent, source))?;
        let beside = |ending: &str| parent.join(format!(".{}.{ending}", name.to_string_lossy()));
        let options = self.options();
        let wait = Wait::for_network(options, options.silence);
        let lock = FileLock::acquire(&beside("lock"), &format!("clone {}", without_credentials(url)), &wait).await?;
        if destination.exists() {
            lock.remove();
            return Ok(false);
        }
        let unfinished = Unfinished(beside("clone"));
        let made = self.make_clone(url, &unfinished, depth, credential).await;
        let made = made.and_then(|()| {
            std::fs::rename(&unfinished.0, destination)
                .map_err(|source| Error::io("move the clone to", destination, source))
        });
        drop(unfinished);
        lock.remove();
        made.map(|()| true)
    }

    async fn make_clone(
        &self,
        url: &str,
        place: &Unfinished,
        depth: u32,
        credential: Option<&Credential>,
    ) -> Result<()> {
        place.clear()?;
        let directory = place.0.as_path();
        let parent = directory.parent().unwrap_or(directory);
        let stored = without_credentials(url);
        let embedded = credential.is_none().then(|| Credential::embedded(url)).flatten();
        let credential = credential.or(embedded.as_ref());

        let at = Timestamp::now();
        let secrets = Secrets::of_clone(&stored, credential);
        let asked = self.command(parent).env("GIT_CEILING_DIRECTORIES", parent);
        let asked = secrets.go_with(asked).silence(self.options().silence);
        let listing = network::list(asked, &stored, &["refs/heads/*".to_owned()]).await?;
        let format = if listing.refs.values().any(|commit| commit.as_str().len() == 64) { "sha256" } else { "sha1" };
        let init = self.command(parent).args(["init", "--quiet", "--bare", "--template="]);
        init.arg(format!("--object-format={format}")).arg("--").arg(directory).run().await?;

        let repository = Repository::open_bare(self, directory)?;
        for (key, value) in [("remote.origin.url", stored.as_str()), ("remote.origin.fetch", REFSPEC)] {
            repository.command().args(["config", "--add", key, value]).run().await?;
        }
        if let Some(branch) = &listing.default_branch {
            repository.command().args(["symbolic-ref", "HEAD", &branch.local_ref()]).run().await?;
        }
        let command = secrets.go_with(repository.command()).silence(network::silence_of_fetch(self.options().silence));
        let fetch = network::fetch(command, "origin");
        let shallow = (depth > 0).then(|| format!("--depth={depth}"));
        fetch.args(shallow).args(["--tags", "--no-prune", "--", "origin", REFSPEC]).run().await?;
        repository.command().args(["pack-refs", "--all"]).run().await?;
        repository.save_record("origin", listed(at, &listing, std::iter::empty())).await.map(drop)
    }
}

/// A clone in the making, removed unless it was moved to its place.
struct Unfinished(PathBuf);

impl Unfinished {
    #[expect(clippy::disallowed_methods, reason = "a half-made clone of our own, which no workspace can belong to yet")]
    fn clear(&self) -> Result<()> {
        match std::fs::remove_dir_all(&self.0) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => Err(Error::io("remove", &self.0, source)),
            _ => Ok(()),
        }
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // What stays is removed by the next attempt.
        let _ = self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transfer::network::Listing;

    #[test]
    fn a_new_clone_knows_what_its_remote_has() {
        let mut listing = Listing { default_branch: Some("main".parse().unwrap()), ..Listing::default() };
        listing.refs.insert("refs/heads/main".into(), "a".repeat(40).parse().unwrap());
        let record = listed(Timestamp::from_millisecond(7), &listing, std::iter::empty());
        let wanted = crate::Wanted { default_branch: true, branches: vec!["x".parse().unwrap()], pulls: vec![] };
        assert_eq!(record.known(&wanted).unwrap().missing, ["refs/heads/x"]);
    }
}
