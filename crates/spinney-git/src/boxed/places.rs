//! Where things are in a box, and so in the jail: what a git dir names by its path is found at the same place in both.

use std::path::PathBuf;

/// Where the host's directories are seen in a box.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoxPlaces {
    /// The tree.
    pub workdir: PathBuf,
    /// The private git dir.
    pub git_dir: PathBuf,
    /// The base mirror.
    pub base: PathBuf,
}

impl Default for BoxPlaces {
    fn default() -> Self {
        let [workdir, git_dir, base] = ["/workspace", "/.spinney/git", "/.spinney/base.git"].map(PathBuf::from);
        Self { workdir, git_dir, base }
    }
}

/// Where the jail has the one directory that can be written.
pub(crate) const SCRATCH: &str = "/.spinney/scratch";
/// Where the jail has what came out of a box and is not yet part of the repository.
pub(crate) const QUARANTINE: &str = "/.spinney/quarantine";
