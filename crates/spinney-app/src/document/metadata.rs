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
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keywords: Vec<String>,
    /// Whether an import took it over from another tool.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub migrated: bool,
    /// The branch that was made for it; one that was there before is never deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub made_branch: Option<String>,
    /// The commit of it that was pushed last.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub pushed_commit: Option<String>,
    /// Until when it is kept after its job, in milliseconds since the Unix epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub keep_until_ms: Option<i64>,
    /// Whether `setup` was not run in it, because what it holds came from a fork or is under review.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub setup_withheld: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub warm: Option<Warm>,
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
            keywords,
            migrated,
            made_branch,
            pushed_commit,
            keep_until_ms,
            setup_withheld,
            warm,
        } = metadata.clone();
        Self {
            related_issues,
            related_prs,
            keywords,
            migrated,
            made_branch: made_branch.map(|branch| branch.to_string()),
            pushed_commit: pushed_commit.map(|commit| commit.to_string()),
            keep_until_ms,
            setup_withheld,
            warm: warm.map(Warm::of),
        }
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
        assert_described(&Warm::of(full.warm.unwrap()), &Warm::of(spinney_core::Warm::default()));
    }
}
