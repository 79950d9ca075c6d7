//! A workspace.

use serde::Serialize;
use spinney_engine::{Engine, Resolution, has_tree};
use utoipa::ToSchema;

use super::{Metadata, Method, Platform, Populate, Provider, Timestamp, WorkKind, WorkspaceStatus, path_text};

/// A directory, a branch and a recorded base commit, for one piece of work.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Workspace {
    pub id: String,
    pub name: String,
    #[schema(required)]
    pub title: Option<String>,
    /// Its repository, as `owner/name`.
    pub repository: String,
    pub kind: WorkKind,
    pub key: String,
    pub path: String,
    /// The readable link to it, while it is there.
    #[schema(required)]
    pub link: Option<String>,
    pub branch: String,
    #[schema(required)]
    pub base_branch: Option<String>,
    /// The commit that it was made from.
    pub base_commit: String,
    pub provider: Provider,
    pub populate: Populate,
    pub status: WorkspaceStatus,
    /// Why it is broken, or what the last failed operation said.
    #[schema(required)]
    pub error: Option<String>,
    /// Where the request for it came from.
    pub platform: Platform,
    pub pushed: bool,
    #[schema(required)]
    pub pull_request: Option<String>,
    pub pinned: bool,
    /// What it was adopted from: the tool that an import found it with, else the place where somebody had made it.
    #[schema(required)]
    pub adopted_from: Option<String>,
    pub metadata: Metadata,
    pub created_at: Timestamp,
    pub last_activity_at: Timestamp,
    #[schema(required)]
    pub removed_at: Option<Timestamp>,
    /// What its tree took on disk when it was last measured.
    #[schema(required)]
    pub size_bytes: Option<u64>,
    #[schema(required)]
    pub size_at: Option<Timestamp>,
}

impl Workspace {
    #[must_use]
    pub fn of(engine: &Engine, workspace: &spinney_core::Workspace) -> Self {
        Self::linked(workspace, engine.link_of(workspace).as_deref().map(path_text))
    }

    pub(super) fn linked(workspace: &spinney_core::Workspace, link: Option<String>) -> Self {
        let size = workspace.size.filter(|_| has_tree(workspace));
        Self {
            id: workspace.id.to_string(),
            name: workspace.name.to_string(),
            title: workspace.title.clone(),
            repository: workspace.repository.to_string(),
            kind: workspace.work.kind.into(),
            key: workspace.work.key.clone(),
            path: path_text(&workspace.path),
            link,
            branch: workspace.branch.to_string(),
            base_branch: workspace.base_branch.as_ref().map(ToString::to_string),
            base_commit: workspace.base_commit.to_string(),
            provider: workspace.provider.into(),
            populate: workspace.populate.into(),
            status: workspace.status.into(),
            error: workspace.error.clone(),
            platform: workspace.platform.into(),
            pushed: workspace.pushed,
            pull_request: workspace.pull_request.clone(),
            pinned: workspace.pinned,
            adopted_from: workspace.adopted_from.clone(),
            metadata: Metadata::of(&workspace.metadata),
            created_at: workspace.created_at.into(),
            last_activity_at: workspace.last_activity_at.into(),
            removed_at: workspace.removed_at.map(Into::into),
            size_bytes: size.map(|size| size.bytes),
            size_at: size.map(|size| size.at.into()),
        }
    }
}

/// A piece of work that a workspace is for.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Work {
    pub kind: WorkKind,
    pub key: String,
}

impl Work {
    #[must_use]
    pub fn of(work: &spinney_core::Work) -> Self {
        Self { kind: work.kind.into(), key: work.key.clone() }
    }
}

/// The workspace that a request got, and how.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ResolvedWorkspace {
    #[serde(flatten)]
    pub workspace: Workspace,
    pub method: Method,
    /// Whether it came from the pool.
    pub warm: bool,
    /// The commit that it was set up at, when it came from the pool.
    #[schema(required)]
    pub set_up_at: Option<String>,
    /// What it keeps though the request named another base, branch or commit: each a sentence.
    pub kept: Vec<String>,
}

impl ResolvedWorkspace {
    #[must_use]
    pub fn of(engine: &Engine, resolution: &Resolution) -> Self {
        Self::with(Workspace::of(engine, &resolution.workspace), resolution)
    }

    fn with(workspace: Workspace, resolution: &Resolution) -> Self {
        Self {
            workspace,
            method: resolution.method.into(),
            warm: resolution.set_up_at.is_some(),
            set_up_at: resolution.set_up_at.as_ref().map(ToString::to_string),
            kept: resolution.kept.iter().map(|kept| format!("{} {kept}", resolution.workspace.name)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::described::{assert_described, sample};

    #[test]
    fn a_workspace_is_what_its_schema_says() {
        let full = Workspace::linked(&sample::full_workspace(), Some("/links/issue-42".to_owned()));
        let bare = Workspace::linked(&sample::bare_workspace(), None);
        assert_described(&full, &bare);
    }

    #[test]
    fn a_size_is_told_only_of_a_tree() {
        let mut purged = sample::full_workspace();
        purged.status = spinney_core::WorkspaceStatus::Purged;
        assert!(Workspace::linked(&purged, None).size_bytes.is_none());
    }

    #[test]
    fn the_answer_to_a_request_is_what_its_schema_says() {
        let resolved = |workspace: spinney_core::Workspace, set_up_at| {
            let resolution = Resolution {
                workspace,
                method: spinney_core::Method::Created,
                continued: None,
                started_from: None,
                start: None,
                on_current: false,
                fetched: None,
                set_up_at,
                kept: Vec::new(),
            };
            ResolvedWorkspace::with(Workspace::linked(&resolution.workspace, None), &resolution)
        };
        let warm = resolved(sample::full_workspace(), Some(sample::commit()));
        assert!(warm.warm);
        assert_described(&warm, &resolved(sample::bare_workspace(), None));
    }

    #[test]
    fn a_piece_of_work_is_what_its_schema_says() {
        let work = Work::of(&spinney_core::Work::issue(42));
        assert_described(&work, &work);
    }
}
