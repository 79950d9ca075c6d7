//! What a sweep did, or would do.

use serde::Serialize;
use spinney_engine::Engine;
use utoipa::ToSchema;

use super::{Reason, Workspace, path_text};
use crate::{Front, housekeeping, words};

/// What a sweep did, or with a dry run would do.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Cleanup {
    pub dry_run: bool,
    /// What went to the trash.
    pub removed: Vec<Swept>,
    pub kept: Vec<Kept>,
    /// Branches that Spinney had made and that were deleted, of workspaces that had gone before.
    pub branches: Vec<DroppedBranch>,
    pub failed: Vec<CleanupFailure>,
    /// What store, git and disk disagreed about.
    pub findings: Vec<Finding>,
    pub caches: Vec<CleanedCaches>,
    /// Purged workspaces whose archives were kept no longer: nothing of them is left.
    pub erased: Vec<ErasedArchive>,
    pub forgotten: Forgotten,
}

/// A workspace that a sweep took.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Swept {
    #[serde(flatten)]
    pub workspace: Workspace,
    /// Why it could go.
    pub why: String,
}

/// A workspace that a sweep left, and why.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Kept {
    pub workspace: Workspace,
    pub reasons: Vec<Reason>,
}

/// A branch that a sweep deleted, of a workspace that had gone before.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct DroppedBranch {
    pub branch: String,
    /// Where it was.
    pub commit: String,
    /// The workspace that it was made for.
    pub workspace: Workspace,
    /// Why it could go.
    pub why: String,
}

/// What a sweep could not do.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct CleanupFailure {
    pub name: String,
    pub error: String,
}

/// Something that store, git and disk disagreed about.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Finding {
    pub what: String,
    /// What was done about it; none when it was only seen.
    #[schema(required)]
    pub done: Option<String>,
}

/// Regenerable directories of a workspace that were deleted.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct CleanedCaches {
    pub workspace: String,
    pub directories: Vec<String>,
    pub bytes: u64,
}

/// A purged workspace whose archive was kept no longer.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ErasedArchive {
    #[serde(flatten)]
    pub workspace: Workspace,
    pub why: String,
    /// Bytes.
    pub freed: u64,
}

/// How many old jobs, conversations and events were forgotten, and purged workspaces of which nothing is left.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub struct Forgotten {
    pub jobs: usize,
    pub workspaces: u64,
    pub conversations: u64,
    pub events: u64,
    /// Small files that belonged to nothing any more.
    pub files: u64,
}

impl Cleanup {
    #[must_use]
    pub fn of(engine: &Engine, swept: &housekeeping::Swept, dry_run: bool, front: Front) -> Self {
        Self::with(swept, dry_run, front, |workspace| Workspace::of(engine, workspace))
    }

    fn with(
        swept: &housekeeping::Swept,
        dry_run: bool,
        front: Front,
        told: impl Fn(&spinney_core::Workspace) -> Workspace,
    ) -> Self {
        let housekeeping::Swept { report, erased, forgotten } = swept;
        let removed = report.removed.iter();
        let kept = report.kept.iter();
        let failed = report.failed.iter();
        Self {
            dry_run,
            removed: removed.map(|(row, why)| Swept { workspace: told(row), why: why.clone() }).collect(),
            kept: kept
                .map(|kept| Kept { workspace: told(&kept.workspace), reasons: Reason::all(&kept.reasons) })
                .collect(),
            branches: report.branches.iter().map(|dropped| DroppedBranch::of(dropped, &told)).collect(),
            failed: failed.map(|(name, error)| CleanupFailure { name: name.clone(), error: error.clone() }).collect(),
            findings: report.findings.iter().map(|finding| Finding::of(finding, front)).collect(),
            caches: report.caches.iter().map(CleanedCaches::of).collect(),
            erased: erased
                .iter()
                .map(|one| ErasedArchive { workspace: told(&one.workspace), why: one.why.clone(), freed: one.bytes })
                .collect(),
            forgotten: Forgotten {
                jobs: forgotten.jobs,
                workspaces: forgotten.workspaces,
                conversations: forgotten.conversations,
                events: forgotten.events,
                files: forgotten.files,
            },
        }
    }
}

impl DroppedBranch {
    fn of(dropped: &spinney_engine::DroppedBranch, told: impl Fn(&spinney_core::Workspace) -> Workspace) -> Self {
        Self {
            branch: dropped.branch.to_string(),
            commit: dropped.commit.to_string(),
            workspace: told(&dropped.workspace),
            why: dropped.why.clone(),
        }
    }
}

impl Finding {
    fn of(finding: &spinney_core::Finding, front: Front) -> Self {
        Self { what: words::found(finding, front), done: finding.done.clone() }
    }
}

impl CleanedCaches {
    fn of(cleaned: &spinney_engine::CleanedCaches) -> Self {
        Self {
            workspace: cleaned.workspace.name.to_string(),
            directories: cleaned.directories.iter().map(|directory| path_text(directory)).collect(),
            bytes: cleaned.bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use spinney_engine::Report;

    use super::*;
    use crate::document::described::{assert_described, sample};

    #[test]
    fn a_cleanup_is_what_its_schema_says() {
        let finding = |done| spinney_core::Finding { what: "a tree without a row".to_owned(), done, advice: None };
        let workspace = sample::bare_workspace;
        let report = Report {
            removed: vec![(workspace(), "merged".to_owned())],
            kept: vec![spinney_engine::Kept { workspace: workspace(), reasons: vec![sample::full_reason()] }],
            branches: vec![spinney_engine::DroppedBranch {
                workspace: workspace(),
                branch: workspace().branch,
                commit: workspace().base_commit,
                why: "merged".to_owned(),
            }],
            failed: vec![("issue-1".to_owned(), "git failed".to_owned())],
            findings: vec![finding(Some("recorded".to_owned())), finding(None)],
            caches: vec![spinney_engine::CleanedCaches {
                workspace: workspace(),
                directories: vec!["target".into()],
                bytes: 1,
            }],
            bytes: 0,
        };
        let told = |report| {
            let erased = housekeeping::ErasedArchive { workspace: workspace(), bytes: 1, why: "old".to_owned() };
            let forgotten = spinney_jobs::Forgotten::default();
            let swept = housekeeping::Swept { report, erased: vec![erased], forgotten };
            Cleanup::with(&swept, false, Front::Api, |row| Workspace::linked(row, None))
        };
        let full = told(report);
        assert_described(&full, &told(Report::default()));
        assert_described(&full.removed[0], &full.removed[0]);
        assert_described(&full.kept[0], &full.kept[0]);
        assert_described(&full.branches[0], &full.branches[0]);
        assert_described(&full.failed[0], &full.failed[0]);
        assert_described(&full.findings[0], &full.findings[1]);
        assert_described(&full.caches[0], &full.caches[0]);
        assert_described(&full.erased[0], &full.erased[0]);
        assert_described(&full.forgotten, &full.forgotten);
    }
}
