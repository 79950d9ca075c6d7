//! What somebody began in a worktree and did not end.

use crate::worktree::linked::Worktree;

/// Git's state files, and the operation that each is of.
pub(crate) const STATES: [(&str, &str); 9] = [
    ("rebase-merge", "rebase"),
    ("rebase-apply/applying", "am"),
    ("rebase-apply", "rebase"),
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("sequencer", "cherry-pick"),
    ("BISECT_LOG", "bisect"),
    ("BISECT_START", "bisect"),
];

impl Worktree {
    /// The operation that is under way, read off git's state files.
    #[must_use]
    pub fn load_operation_in_progress(&self) -> Option<&'static str> {
        STATES.into_iter().find(|(name, _)| self.admin_dir().join(name).exists()).map(|(_, operation)| operation)
    }

    /// Whether a git process changes the index right now, or died while it did.
    #[must_use]
    pub fn has_index_lock(&self) -> bool {
        self.admin_dir().join("index.lock").exists()
    }
}
