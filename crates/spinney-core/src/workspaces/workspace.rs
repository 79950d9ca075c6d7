//! A workspace: a directory, a branch and a recorded base commit, for one piece of work.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::{
    BranchName, CommitId, JobId, NodeId, Platform, RepositoryId, RepositoryName, Timestamp, Work, WorkKind,
    WorkspaceId, WorkspaceName,
};

/// Local cached state at a workspace's root: while untracked, never committed, never counted, never read as truth.
pub const STATE_FILE: &str = "STATE.json";

/// Declares an enum whose values are words in the store, in JSON and on the screen alike.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $($(#[$variant_doc])* #[serde(rename = $word)] $variant),+
        }

        impl $name {
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::workspace::UnknownWord;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::ALL.iter().copied().find(|word| word.as_str() == text).ok_or_else(|| $crate::workspace::UnknownWord {
                    word: text.to_owned(),
                    known: Self::ALL.iter().map(|word| word.as_str()).collect::<Vec<_>>().join("`, `"),
                })
            }
        }
    };
}
pub(crate) use words;

/// A word that stands for nothing here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is none of `{known}`", crate::names::for_message(.word))]
pub struct UnknownWord {
    pub word: String,
    pub known: String,
}

words!(
    WorkspaceStatus {
        /// Being made; its operation is in the journal.
        Creating = "creating",
        Active = "active",
        /// Prepared ahead of any work.
        Warm = "warm",
        /// A checkout of base that jobs share to read in; it is nobody's.
        Reading = "reading",
        Removing = "removing",
        Trashed = "trashed",
        Purged = "purged",
        /// Its directory vanished from outside; the branch is still in git.
        Lost = "lost",
        /// A person must look.
        Broken = "broken",
    }
);

impl WorkspaceStatus {
    /// Whether the row still holds its branch, path and work: everything before the trash.
    #[must_use]
    pub fn is_live(self) -> bool {
        !matches!(self, Self::Trashed | Self::Purged)
    }

    /// Whether it is live and some work's: neither of the pool nor one to read in.
    #[must_use]
    pub fn is_of_work(self) -> bool {
        self.is_live() && !matches!(self, Self::Warm | Self::Reading)
    }
}

#[cfg(not(feature = "fail-points"))]
words!(
    /// How a workspace is made on disk.
    Provider {
        Worktree = "worktree",
    }
);

#[cfg(feature = "fail-points")]
words!(
    /// How a workspace is made on disk.
    Provider {
        Worktree = "worktree",
        /// With a private git dir: for tests.
        Clone = "clone",
    }
);

words!(
    /// How a workspace's files get there.
    Populate {
        /// Git's own way.
        Checkout = "checkout",
        /// Cloned file by file from the template, sharing its blocks.
        Reflink = "reflink",
        /// A snapshot of the template by the file system.
        Snapshot = "snapshot",
    }
);

words!(
    /// How a request got its workspace.
    Method {
        Existing = "existing",
        Reused = "reused",
        Shared = "shared",
        Adopted = "adopted",
        Created = "created",
    }
);

/// One row of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    pub id: WorkspaceId,
    pub account: String,
    pub node: NodeId,
    pub repository_id: RepositoryId,
    /// The repository's name, joined in when a row is read.
    pub repository: RepositoryName,
    /// Its first work; others may share it.
    pub work: Work,
    pub name: WorkspaceName,
    pub title: Option<String>,
    pub provider: Provider,
    pub populate: Populate,
    pub path: PathBuf,
    pub branch: BranchName,
    pub base_branch: Option<BranchName>,
    /// Recorded when the workspace is made, and never derived again.
    pub base_commit: CommitId,
    pub status: WorkspaceStatus,
    /// Why it is `broken`, or what the last failed operation said.
    pub error: Option<String>,
    pub pushed: bool,
    pub pull_request: Option<String>,
    pub platform: Platform,
    pub pinned: bool,
    /// What it was adopted from: the tool that an import found it with, else the place where somebody had made it.
    pub adopted_from: Option<String>,
    pub metadata: Metadata,
    pub created_at: Timestamp,
    pub last_activity_at: Timestamp,
    pub removed_at: Option<Timestamp>,
    /// What its tree takes on disk, as far as it was ever measured.
    pub size: Option<Size>,
}

impl Workspace {
    /// Its pull request, unless that is known to be merged.
    #[must_use]
    pub fn open_pull_request(&self) -> Option<&str> {
        let merged = self.metadata.merged.as_ref().map(|merged| format!("/{}", merged.number));
        let is_merged = |url: &str| merged.as_ref().is_some_and(|merged| url.ends_with(merged.as_str()));
        self.pull_request.as_deref().filter(|url| !is_merged(url))
    }

    /// Whether its branch was made for it. Rows of older versions do not tell; their branches count as somebody's.
    #[must_use]
    pub fn made_its_branch(&self) -> bool {
        self.metadata.made_branch.as_ref() == Some(&self.branch)
    }
}

/// What a tree took on disk when it was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    pub bytes: u64,
    pub at: Timestamp,
}

/// What else is known about a workspace's work; grows without a migration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Metadata {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub related_issues: Vec<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub related_prs: Vec<u64>,
    /// Whether an import took it over from another tool.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub migrated: bool,
    /// The branch that we made for it. A branch that was there before is somebody's, and is never deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub made_branch: Option<BranchName>,
    /// Whether we deleted that branch after the workspace had gone: one of that name is somebody else's since.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub branch_deleted: bool,
    /// Its pull request that was merged, as its forge told without being asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merged: Option<MergedPull>,
    /// The commit of it that we pushed last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pushed_commit: Option<CommitId>,
    /// The job that it was made for; none where a person asked for it, and in rows of older versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub made_by_job: Option<JobId>,
    /// Until when it is kept after its job, in milliseconds since the Unix epoch; then it counts as stale.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_until_ms: Option<i64>,
    /// Whether `setup` was not run in it, because what it holds came from a fork or is under review.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub setup_withheld: bool,
    /// When and by whom it was erased: nothing is left that could come back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub erased: Option<Erased>,
    /// What a workspace of the pool, or one to read in, was prepared with; none once it is somebody's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warm: Option<Warm>,
}

impl Metadata {
    /// Notes issues and pull requests that a workspace has to do with.
    pub fn relate(&mut self, works: &[Work]) {
        for work in works {
            let related = match work.kind {
                WorkKind::Issue => &mut self.related_issues,
                WorkKind::Pr => &mut self.related_prs,
                _ => continue,
            };
            if let Ok(number) = work.key.parse()
                && !related.contains(&number)
            {
                related.push(number);
            }
        }
    }
}

/// When and by whom a workspace was erased.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Erased {
    /// In milliseconds since the Unix epoch.
    pub at_ms: i64,
    /// In words; empty where nobody knows.
    pub by: String,
}

impl Erased {
    #[must_use]
    pub fn at(&self) -> Timestamp {
        Timestamp::from_millisecond(self.at_ms)
    }
}

/// A pull request that was merged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergedPull {
    pub number: u64,
    /// The last commit of it that was merged.
    pub head: CommitId,
}

/// How a workspace of the pool was prepared.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warm {
    /// Hash of the settings that it was, or is being, prepared with.
    pub settings: String,
    /// Whether it may be claimed.
    pub ready: bool,
    /// When its preparation ended, well or not, in milliseconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled_at_ms: Option<i64>,
    /// Hash of what it held beside the files of its commit when its preparation ended; what differs since is somebody's
    /// work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listing: Option<String>,
    /// The tree of its commit, which its index had when its preparation ended; for a template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// Why its preparation failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The pristine tree that others are filled from; it is never handed out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub template: bool,
    /// The files that were carried over, each with a stamp of its source and one of the copy: where the source changed,
    /// it is carried over again.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub copied: BTreeMap<String, String>,
}

impl Warm {
    /// The same, not to be claimed any more for a reason that is not its preparation's: it counts as prepared under no
    /// settings, so that nobody takes a second one to fail as well.
    #[must_use]
    pub fn out_of_use(self, reason: impl Into<String>) -> Self {
        Self { ready: false, settings: String::new(), error: Some(reason.into()), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_older_versions_wrote_is_read() {
        let read: Metadata = serde_json::from_str(r#"{"keywords":["login"],"related_issues":[1]}"#).unwrap();
        assert_eq!(read, Metadata { related_issues: vec![1], ..Metadata::default() });
    }
}
