//! Submodules of a worktree. Their repositories live in the worktree's own admin dir, so no lock is needed.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::settings::executing::Runs;
use crate::settings::nested::has_repository;
use crate::transfer::credential::Credential;
use crate::worktree::checkout::with_lfs;
use crate::worktree::linked::{Worktree, read_pointer};
use crate::{Error, Result};

impl Worktree {
    /// Whether the checked-out commit declares submodules.
    #[must_use]
    pub fn has_submodules(&self) -> bool {
        std::fs::symlink_metadata(self.path().join(".gitmodules")).is_ok_and(|metadata| metadata.is_file())
    }

    /// Whether a directory is a submodule whose repository git keeps with its own: its `.git` is a file that leads there.
    #[must_use]
    pub fn is_own_submodule(&self, path: &Path) -> bool {
        let directory = self.path().join(path);
        let is_file = directory.join(".git").symlink_metadata().is_ok_and(|found| found.is_file());
        let named = is_file.then(|| read_pointer(&directory.join(".git"))).flatten();
        let named = named.as_deref().and_then(|text| text.strip_prefix("gitdir: "));
        let leads_to = named.and_then(|named| std::fs::canonicalize(directory.join(named)).ok());
        leads_to.is_some_and(|place| place.starts_with(self.repository().common_dir()) && place.join("HEAD").is_file())
    }

    /// Lists the paths that the index knows as other repositories and that have a `.git` of their own: submodules that
    /// were checked out, and repositories that somebody added as if they were files.
    pub async fn load_gitlinks(&self) -> Result<Vec<PathBuf>> {
        let listed = self.command().args(["ls-files", "--stage", "-z"]).run().await?.stdout;
        let mut paths = parse_gitlinks(&listed);
        paths.retain(|path| has_repository(&self.path().join(path)));
        // A path in conflict comes once for each side.
        paths.dedup();
        Ok(paths)
    }

    /// Checks out all submodules, nested ones too. A credential goes to the origin of the repository's known URL.
    ///
    /// `submodule.active` for this call takes the place of `--init`, which would write the shared configuration.
    pub async fn update_submodules(&self, lfs: bool, credential: Option<&Credential>) -> Result<()> {
        for (name, git_dir) in self.load_modules()? {
            self.require_harmless_module(&name, &git_dir).await?;
        }
        let secrets = self.secrets(credential).await?;
        let command = secrets.go_with(with_lfs(self.command(), lfs).running(Runs::FILES.and(Runs::REMOTES)).network());
        let command = command.config("submodule.active", ".").args(["submodule", "--quiet", "update", "--recursive"]);
        match command.run().await {
            Ok(_) => Ok(()),
            Err(
                error @ (Error::NoSpace { .. }
                | Error::Timeout { .. }
                | Error::GitMissing { .. }
                | Error::TransportNotAllowed { .. }),
            ) => Err(error),
            Err(Error::Failed { stderr, .. }) => Err(self.submodule_error(summary(&stderr)).await),
            Err(error) => Err(self.submodule_error(secrets.explain(error).to_string()).await),
        }
    }

    /// Names the submodule where the update stopped: the first that is not here yet.
    async fn submodule_error(&self, detail: String) -> Error {
        let status = self.command().config("submodule.active", ".").args(["submodule", "status"]).text().await;
        let text = status.unwrap_or_default();
        let missing = text.lines().filter_map(|line| line.strip_prefix('-')?.split_once(' ')).map(|(_, path)| path);
        match missing.into_iter().next() {
            Some(path) => Error::Submodule { detail: format!("`{path}`: {detail}") },
            None => Error::Submodule { detail },
        }
    }
}

/// Reads `<mode> <object> <stage>\t<path>\0` and keeps the entries that are no files of this repository.
pub(crate) fn parse_gitlinks(stdout: &[u8]) -> Vec<PathBuf> {
    let entry = |entry: &[u8]| {
        let tab = entry.iter().position(|byte| *byte == b'\t')?;
        entry.starts_with(b"160000 ").then(|| PathBuf::from(OsStr::from_bytes(&entry[tab + 1..])))
    };
    stdout.split(|byte| *byte == 0).filter_map(entry).collect()
}

/// The first thing that went wrong; what follows only repeats it for each level.
fn summary(stderr: &str) -> String {
    let lines = || stderr.lines().map(str::trim).filter(|line| !line.is_empty());
    let first =
        lines().find(|line| line.starts_with("fatal:") || line.starts_with("error:")).or_else(|| lines().next());
    first
        .map(|line| line.trim_start_matches("fatal: ").trim_start_matches("error: "))
        .unwrap_or("no message")
        .to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hostile;

    #[test]
    fn only_other_repositories_are_gitlinks() {
        let id = "a".repeat(40);
        let text = format!("100644 {id} 0\ta\0160000 {id} 0\tb c\0120000 {id} 0\td\0");
        assert_eq!(parse_gitlinks(text.as_bytes()), [PathBuf::from("b c")]);
    }

    proptest! {
        #[test]
        fn no_output_makes_it_panic(stdout in hostile::output(&["160000 ", "100644 ", "0\t", "fatal: "])) {
            let _ = (parse_gitlinks(&stdout), summary(&String::from_utf8_lossy(&stdout)));
        }

        #[test]
        fn what_git_writes_is_read_back(
            entries in proptest::collection::vec((hostile::path(), hostile::commit(), any::<bool>()), 0..6)
        ) {
            let entry = |(path, object, is_link): &(Vec<u8>, spinney_core::CommitId, bool)| {
                let mode = if *is_link { "160000" } else { "100644" };
                [format!("{mode} {object} 0\t").as_bytes(), path.as_slice(), b"\0"].concat()
            };
            let read = parse_gitlinks(&entries.iter().flat_map(entry).collect::<Vec<u8>>());
            let links = entries.iter().filter(|(_, _, is_link)| *is_link);
            let links: Vec<_> = links.map(|(path, ..)| PathBuf::from(OsStr::from_bytes(path))).collect();
            prop_assert_eq!(read, links);
        }
    }

    #[test]
    fn much_is_read_in_time() {
        hostile::assert_fast(&["160000 \t", "fatal: "], |stdout| {
            let _ = (parse_gitlinks(stdout), summary(&String::from_utf8_lossy(stdout)));
        });
    }
}
