//! Why a branch counts as merged.

use serde::{Deserialize, Serialize};

use crate::CommitId;
use crate::workspace::words;

words!(
    /// Kinds of evidence, strongest first.
    EvidenceKind {
        /// The tip is an ancestor of base.
        Ancestor = "ancestor",
        /// Merging the branch into base would change nothing.
        AddsNothing = "adds_nothing",
        /// The whole branch's patch is a commit of base.
        Patch = "patch",
        /// The forge says merged, and its head commit contains the tip.
        Forge = "forge",
    }
);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    pub kind: EvidenceKind,
    pub detail: String,
}

/// How a branch stands to its base.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Merge {
    /// No commit of its own since the recorded base commit: not merged.
    Unstarted,
    Merged(Evidence),
    /// Not merged; the detail says what was looked at.
    Unmerged {
        base: CommitId,
        detail: String,
    },
    /// The question could not be answered.
    Unknown {
        detail: String,
    },
}

impl Merge {
    #[must_use]
    pub fn is_merged(&self) -> bool {
        matches!(self, Self::Merged(_))
    }

    #[must_use]
    pub fn is_unstarted(&self) -> bool {
        matches!(self, Self::Unstarted)
    }
}
