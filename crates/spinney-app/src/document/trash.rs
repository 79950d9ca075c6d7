//! What is in the trash, and what was purged from it.

use serde::Serialize;
use spinney_engine::{Engine, Erasable, Erasure, Purged, Trashed};
use utoipa::ToSchema;

use super::{Timestamp, Workspace, path_text};

/// A workspace in the trash.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct TrashedWorkspace {
    #[serde(flatten)]
    pub workspace: Workspace,
    /// When it will be purged by itself.
    pub until: Timestamp,
    /// What it takes on disk, where that was asked for.
    #[schema(required)]
    pub bytes: Option<u64>,
}

impl TrashedWorkspace {
    #[must_use]
    pub fn of(engine: &Engine, trashed: &Trashed) -> Self {
        Self { workspace: Workspace::of(engine, &trashed.workspace), until: trashed.until.into(), bytes: trashed.bytes }
    }
}

/// A workspace whose tree was freed.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct PurgedWorkspace {
    #[serde(flatten)]
    pub workspace: Workspace,
    /// The archive of what only its tree held; none where that was nothing.
    #[schema(required)]
    pub archive: Option<String>,
    /// Bytes.
    pub freed: u64,
}

impl PurgedWorkspace {
    #[must_use]
    pub fn of(engine: &Engine, purged: &Purged) -> Self {
        Self {
            workspace: Workspace::of(engine, &purged.workspace),
            archive: purged.archive.as_deref().map(path_text),
            freed: purged.freed,
        }
    }
}

/// What is left of a workspace, and would be gone for good.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ErasableWorkspace {
    #[serde(flatten)]
    pub workspace: Workspace,
    /// What all of it takes on disk.
    pub bytes: u64,
    /// The files that git does not have; none where that can't be told, and all of its files count.
    #[schema(required)]
    pub files: Option<Vec<String>>,
    /// Those of them that are repositories of their own: what they have committed is not counted.
    pub repositories: Vec<String>,
    /// How many commits no branch, tag or other ref leads to that stays.
    pub commits: u64,
    /// The newest of these.
    pub newest: Vec<LostCommit>,
    /// Whether its commits are in a bundle beside its files alone.
    pub bundled: bool,
    pub archives: Vec<String>,
    /// Whether its branch is there, which stays.
    pub branch_stays: bool,
}

/// A commit that nothing would lead to any more.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct LostCommit {
    pub commit: String,
    pub subject: String,
}

impl ErasableWorkspace {
    #[must_use]
    pub fn of(engine: &Engine, erasable: &Erasable) -> Self {
        Self::with(Workspace::of(engine, &erasable.workspace), erasable)
    }

    fn with(workspace: Workspace, erasable: &Erasable) -> Self {
        let commit = |(commit, subject): &(spinney_core::CommitId, String)| LostCommit {
            commit: commit.to_string(),
            subject: subject.clone(),
        };
        Self {
            workspace,
            bytes: erasable.bytes,
            files: erasable.files.as_ref().map(|files| files.iter().map(|file| path_text(file)).collect()),
            repositories: erasable.repositories.iter().map(|path| path_text(path)).collect(),
            commits: erasable.commits,
            newest: erasable.newest.iter().map(commit).collect(),
            bundled: erasable.is_bundled,
            archives: erasable.archives.iter().map(|place| path_text(place)).collect(),
            branch_stays: erasable.has_branch,
        }
    }
}

/// A workspace of which nothing is left.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ErasedWorkspace {
    #[serde(flatten)]
    pub workspace: Workspace,
    /// Bytes.
    pub freed: u64,
}

impl ErasedWorkspace {
    #[must_use]
    pub fn of(engine: &Engine, erasure: &Erasure) -> Self {
        Self { workspace: Workspace::of(engine, &erasure.workspace), freed: erasure.freed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::described::{assert_described, sample};

    #[test]
    fn what_is_or_was_in_the_trash_is_what_its_schema_says() {
        let workspace = || Workspace::linked(&sample::bare_workspace(), None);
        let trashed = |bytes| TrashedWorkspace { workspace: workspace(), until: sample::at(1).into(), bytes };
        assert_described(&trashed(Some(1)), &trashed(None));
        let purged = |archive| PurgedWorkspace { workspace: workspace(), archive, freed: 1 };
        assert_described(&purged(Some("/archive".to_owned())), &purged(None));
        let erasable = |files| Erasable {
            workspace: sample::bare_workspace(),
            files,
            repositories: vec!["nested".into()],
            commits: 1,
            newest: vec![(sample::commit(), "Add it".to_owned())],
            is_bundled: false,
            bytes: 1,
            archives: vec!["/archive".into()],
            has_branch: true,
        };
        let told = |files| ErasableWorkspace::with(workspace(), &erasable(files));
        let full = told(Some(vec![".env".into()]));
        assert_described(&full, &told(None));
        assert_described(&full.newest[0], &full.newest[0]);
        let erased = ErasedWorkspace { workspace: workspace(), freed: 1 };
        assert_described(&erased, &erased);
    }
}
