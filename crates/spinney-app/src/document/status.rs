//! Counts, limits and free disk space.

use serde::Serialize;
use spinney_core::RepositoryName;
use spinney_engine::stands;
use spinney_store::WorkspaceTally;
use utoipa::ToSchema;

/// Counts, limits and free disk space.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Status {
    pub repositories: Vec<RepositoryStatus>,
    /// Free bytes where the workspaces are.
    #[schema(required)]
    pub free_disk: Option<u64>,
    pub archives: Archives,
}

/// What is left of purged workspaces.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub struct Archives {
    /// How many workspaces have one.
    pub count: u64,
    /// What they take on disk.
    pub bytes: u64,
    /// Whether they take more than the live trees, and nothing but a person bounds them.
    pub outgrow: bool,
}

impl Archives {
    #[must_use]
    pub fn of(archives: &crate::housekeeping::Archives, cleanup: &spinney_core::config::CleanupConfig) -> Self {
        Self { count: archives.count, bytes: archives.bytes, outgrow: archives.outgrow(cleanup) }
    }
}

/// What a repository has.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct RepositoryStatus {
    /// `owner/name`.
    pub repository: String,
    /// How many live workspaces it may have; zero: no limit.
    pub limit: u32,
    pub workspaces: Counts,
    pub size: Sizes,
}

impl RepositoryStatus {
    #[must_use]
    pub fn of(repository: &RepositoryName, limit: u32, workspaces: &[spinney_core::Workspace]) -> Self {
        Self {
            repository: repository.to_string(),
            limit,
            workspaces: Counts::of(workspaces),
            size: Sizes::of(&spinney_engine::Sizes::of(workspaces)),
        }
    }
}

impl RepositoryStatus {
    /// The same from what the store counted.
    #[must_use]
    pub fn tallied(repository: &RepositoryName, limit: u32, tallies: &[WorkspaceTally]) -> Self {
        let number = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        let mut workspaces = Counts::default();
        let mut size = Sizes { bytes: 0, known: 0, of: 0 };
        for tally in tallies {
            *workspaces.of_status(tally.status) += number(tally.count);
            if stands(tally.status) {
                size.bytes = size.bytes.saturating_add(tally.bytes);
                size.known += number(tally.known);
                size.of += number(tally.count);
            }
        }
        Self { repository: repository.to_string(), limit, workspaces, size }
    }
}

/// How many workspaces have which status, in the order of a workspace's life.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct Counts {
    pub creating: usize,
    pub active: usize,
    pub warm: usize,
    /// Checkouts of base that jobs share to read in.
    pub reading: usize,
    pub removing: usize,
    pub trashed: usize,
    pub purged: usize,
    pub lost: usize,
    pub broken: usize,
}

impl Counts {
    #[must_use]
    pub fn of(workspaces: &[spinney_core::Workspace]) -> Self {
        let mut counts = Self::default();
        for workspace in workspaces {
            *counts.of_status(workspace.status) += 1;
        }
        counts
    }

    fn of_status(&mut self, status: spinney_core::WorkspaceStatus) -> &mut usize {
        use spinney_core::WorkspaceStatus;
        match status {
            WorkspaceStatus::Creating => &mut self.creating,
            WorkspaceStatus::Active => &mut self.active,
            WorkspaceStatus::Warm => &mut self.warm,
            WorkspaceStatus::Reading => &mut self.reading,
            WorkspaceStatus::Removing => &mut self.removing,
            WorkspaceStatus::Trashed => &mut self.trashed,
            WorkspaceStatus::Purged => &mut self.purged,
            WorkspaceStatus::Lost => &mut self.lost,
            WorkspaceStatus::Broken => &mut self.broken,
        }
    }
}

/// What is known of some workspaces' sizes.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub struct Sizes {
    /// The sum of those that are known.
    pub bytes: u64,
    /// How many are known.
    pub known: usize,
    /// How many have a tree at all.
    pub of: usize,
}

impl Sizes {
    #[must_use]
    pub fn of(sizes: &spinney_engine::Sizes) -> Self {
        Self { bytes: sizes.bytes, known: sizes.known, of: sizes.trees }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::described::{assert_described, sample};

    #[test]
    fn a_status_is_what_its_schema_says() {
        let name = "acme/app".parse().unwrap();
        let repository = RepositoryStatus::of(&name, 5, &[sample::full_workspace()]);
        assert_described(&repository, &repository);
        assert_described(&repository.workspaces, &repository.workspaces);
        assert_described(&repository.size, &repository.size);
        let archives = Archives { count: 1, bytes: 2, outgrow: false };
        assert_described(&archives, &archives);
        let status = |repositories, free_disk| Status { repositories, free_disk, archives };
        assert_described(&status(vec![repository], Some(1)), &status(vec![], None));
    }

    #[test]
    fn every_status_is_counted_under_its_own_word() {
        for status in spinney_core::WorkspaceStatus::ALL {
            let workspace = spinney_core::Workspace { status: *status, ..sample::bare_workspace() };
            let counts = serde_json::to_value(Counts::of(&[workspace.clone(), workspace])).unwrap();
            assert_eq!(counts[status.as_str()], 2, "{status}");
        }
        let told = serde_json::to_string(&Counts::default()).unwrap();
        let places = spinney_core::WorkspaceStatus::ALL.iter().map(|status| told.find(status.as_str()).unwrap());
        assert!(places.is_sorted(), "{told}");
    }
}
