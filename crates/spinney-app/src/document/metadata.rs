//! What else is known about a workspace's work.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

/// What else is known about a workspace's work; what is unknown is left out.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Metadata {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub related_issues: Vec<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub related_prs: Vec<u64>,
    /// Whether an import took it over from another tool.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub migrated: bool,
    /// The branch that was made for it; one that was there before is never deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub made_branch: Option<String>,
    /// Whether Spinney deleted that branch after the workspace had gone.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub branch_deleted: bool,
    /// Its pull request that was merged, as a message of its forge said.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub merged: Option<MergedPull>,
    /// The commit of it that was pushed last.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub pushed_commit: Option<String>,
    /// The job that it was made for; none where a person asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub made_by_job: Option<String>,
    /// Until when it is kept after its job, in milliseconds since the Unix epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub keep_until_ms: Option<i64>,
    /// Whether `setup` was not run in it, because what it holds came from a fork or is under review.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub setup_withheld: bool,
    /// When and by whom it was erased: nothing is left that could come back.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub erased: Option<Erased>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub warm: Option<Warm>,
}

/// When and by whom a workspace was erased.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Erased {
    /// In milliseconds since the Unix epoch.
    pub at_ms: i64,
    /// In words; empty where nobody knows.
    pub by: String,
}

/// A pull request that was merged.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct MergedPull {
    pub number: u64,
    /// The last commit of it that was merged.
    pub head: String,
}

/// How a workspace of the pool was prepared.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Warm {
    /// Hash of the settings that it was prepared with.
    pub settings: String,
    /// Whether it may be claimed.
    pub ready: bool,
    /// When its preparation ended, well or not, in milliseconds since the Unix epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub settled_at_ms: Option<i64>,
    /// Hash of what it held beside the files of its commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub listing: Option<String>,
    /// The tree of its commit, for a template.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub tree: Option<String>,
    /// Why its preparation failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub error: Option<String>,
    /// Whether others are filled from it; it is never handed out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub template: bool,
    /// The files that were carried over, each with its stamps.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub copied: BTreeMap<String, String>,
}

impl Metadata {
    #[must_use]
    pub fn of(metadata: &spinney_core::workspace::Metadata) -> Self {
        // Taken apart, so that nothing new is forgotten here.
        let spinney_core::workspace::Metadata {
            related_issues,
            related_prs,
            migrated,
            made_branch,
            branch_deleted,
            merged,
            pushed_commit,
            made_by_job,
            keep_until_ms,
            setup_withheld,
            erased,
            warm,
        } = metadata.clone();
        Self {
            related_issues,
            related_prs,
            migrated,
            made_branch: made_branch.map(|branch| branch.to_string()),
            branch_deleted,
            merged: merged.map(|merged| MergedPull { number: merged.number, head: merged.head.to_string() }),
            pushed_commit: pushed_commit.map(|commit| commit.to_string()),
            made_by_job: made_by_job.map(|job| job.to_string()),
            keep_until_ms,
            setup_withheld,
            erased: erased.map(Erased::of),
            warm: warm.map(Warm::of),
        }
    }
}

impl Erased {
    fn of(erased: spinney_core::Erased) -> Self {
        let spinney_core::Erased { at_ms, by } = erased;
        Self { at_ms, by }
    }
}

impl Warm {
    fn of(warm: spinney_core::Warm) -> Self {
        let spinney_core::Warm { settings, ready, settled_at_ms, listing, tree, error, template, copied } = warm;
        Self { settings, ready, settled_at_ms, listing, tree, error, template, copied }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::described::{assert_described, sample};

    #[test]
    fn metadata_are_what_their_schema_says_and_what_the_store_keeps() {
        for metadata in [sample::full_workspace().metadata, sample::bare_workspace().metadata] {
            let kept = serde_json::to_string(&metadata).unwrap();
            assert_eq!(serde_json::to_string(&Metadata::of(&metadata)).unwrap(), kept);
        }
        let (full, bare) = (sample::full_workspace().metadata, sample::bare_workspace().metadata);
        assert_described(&Metadata::of(&full), &Metadata::of(&bare));
        let erased = Erased::of(full.erased.clone().unwrap());
        assert_described(&erased, &erased);
        assert_described(&Metadata::of(&full).merged.unwrap(), &Metadata::of(&full).merged.unwrap());
        assert_described(&Warm::of(full.warm.unwrap()), &Warm::of(spinney_core::Warm::default()));
    }
}
