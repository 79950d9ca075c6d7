//! Submodules of a worktree. Their repositories live in the worktree's own admin dir, so no lock is needed.

use crate::checkout::with_lfs;
use crate::credential::Credential;
use crate::worktree::Worktree;
use crate::{Error, Result};

impl Worktree {
    /// Whether the checked-out commit declares submodules.
    #[must_use]
    pub fn has_submodules(&self) -> bool {
        std::fs::symlink_metadata(self.path().join(".gitmodules")).is_ok_and(|metadata| metadata.is_file())
    }

    /// Checks out all submodules, nested ones too. A credential goes to the origin of the URL it is given with.
    ///
    /// `submodule.active` for this call takes the place of `--init`, which would write the shared configuration.
    pub async fn update_submodules(&self, lfs: bool, credential: Option<(&str, &Credential)>) -> Result<()> {
        let (url, credential) = credential.map_or(("", None), |(url, credential)| (url, Some(credential)));
        let command = with_lfs(self.command(), lfs).network().credential(url, credential);
        let command = command.config("submodule.active", ".").args(["submodule", "--quiet", "update", "--recursive"]);
        match command.run().await {
            Ok(_) => Ok(()),
            Err(error @ (Error::NoSpace { .. } | Error::Timeout { .. } | Error::GitMissing { .. })) => Err(error),
            Err(Error::Failed { stderr, .. }) => Err(self.submodule_error(summary(&stderr)).await),
            Err(error) => Err(self.submodule_error(error.to_string()).await),
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
