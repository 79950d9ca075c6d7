//! What a tip changed, as a patch.

use spinney_core::CommitId;

use crate::Result;
use crate::repository::opened::Repository;

/// A patch, or its beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    /// Bytes that are no UTF-8 are replaced.
    pub text: String,
    /// Whether there is more.
    pub truncated: bool,
}

impl Repository {
    /// Loads what a tip changed since it left a base, as a pull request shows it; of more than so many bytes, the
    /// beginning. Nothing that the repository names is run for it.
    pub async fn load_patch(&self, base: &CommitId, tip: &CommitId, max_bytes: usize) -> Result<Patch> {
        let fork = self.load_merge_base(base, tip).await?.unwrap_or_else(|| base.clone());
        let diff = self.command().args(["diff-tree", "-p", "-r", "--find-renames", "--no-color"]);
        let diff = diff.args(["--no-ext-diff", "--no-textconv", fork.as_str(), tip.as_str(), "--"]);
        Ok(Patch::cut(diff.stdout_up_to(max_bytes).run().await?.stdout, max_bytes))
    }
}

impl Patch {
    /// What was read of it, up to the last whole line where there is more.
    pub(crate) fn cut(mut bytes: Vec<u8>, max_bytes: usize) -> Self {
        let truncated = bytes.len() > max_bytes;
        bytes.truncate(max_bytes);
        if truncated {
            // A line that is cut says something else than it did.
            let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
            bytes.truncate(whole);
        }
        Self { text: String::from_utf8_lossy(&bytes).into_owned(), truncated }
    }
}
