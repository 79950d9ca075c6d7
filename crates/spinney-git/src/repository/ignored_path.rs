//! Whether git would see a path of the main checkout.

use std::path::Path;

use crate::Result;
use crate::repository::opened::Repository;

impl Repository {
    /// Whether git ignores a path of the main checkout, which need not exist.
    pub async fn is_ignored(&self, path: &Path) -> Result<bool> {
        let Some(root) = self.root() else { return Ok(false) };
        let command = self.git().command(root).env("GIT_DIR", self.common_dir()).env("GIT_WORK_TREE", root);
        // Joined, it is absolute, and can't be read as a pattern.
        let command =
            command.env("GIT_LITERAL_PATHSPECS", "0").args(["check-ignore", "--quiet", "--"]).arg(root.join(path));
        Ok(command.accept(&[0, 1]).run().await?.status == 0)
    }
}
