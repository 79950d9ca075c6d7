//! What git says about a workspace.

use serde::Serialize;
use spinney_engine::Engine;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;
use utoipa::{PartialSchema, ToSchema};

use super::Workspace;
use super::word::one_of;

/// What a look into a workspace's tree found; `null` where git gave no answer.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Details {
    pub state: WorkspaceState,
    /// Tracked files that differ from HEAD.
    #[schema(required)]
    pub changed: Option<usize>,
    #[schema(required)]
    pub untracked: Option<usize>,
    /// Commits that base does not have.
    #[schema(required)]
    pub ahead: Option<u64>,
    /// Commits that only base has.
    #[schema(required)]
    pub behind: Option<u64>,
    /// Why the tree can't be used.
    #[schema(required)]
    pub fault: Option<String>,
    /// The branch that HEAD is on now, when it is not the recorded one; or `detached`.
    #[schema(required)]
    pub head: Option<String>,
}

impl Details {
    #[must_use]
    pub fn of(workspace: &spinney_core::Workspace, details: &spinney_engine::Details) -> Self {
        Self {
            state: WorkspaceState(details.state(workspace)),
            changed: details.changed,
            untracked: details.untracked,
            ahead: details.distance.map(|(ahead, _)| ahead),
            behind: details.distance.map(|(_, behind)| behind),
            fault: details.fault.clone(),
            head: details.head.clone(),
        }
    }
}

/// One word for how a workspace stands, the most telling first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct WorkspaceState(pub &'static str);

impl PartialSchema for WorkspaceState {
    fn schema() -> RefOr<Schema> {
        use spinney_core::WorkspaceStatus;
        // An active one is told more exactly.
        let statuses = WorkspaceStatus::ALL.iter().filter(|status| **status != WorkspaceStatus::Active);
        one_of(["idle", "merged", "stale"].into_iter().chain(statuses.map(|status| status.as_str())))
    }
}

impl ToSchema for WorkspaceState {}

/// A workspace, with what git says about it.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct WorkspaceDetails {
    #[serde(flatten)]
    pub workspace: Workspace,
    #[serde(flatten)]
    pub details: Details,
}

impl WorkspaceDetails {
    #[must_use]
    pub fn of(engine: &Engine, workspace: &spinney_core::Workspace, details: &spinney_engine::Details) -> Self {
        let mut told = Workspace::of(engine, workspace);
        told.pushed |= details.pushed;
        Self { workspace: told, details: Details::of(workspace, details) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::described::{assert_described, sample};

    #[test]
    fn details_are_what_their_schema_says() {
        let workspace = sample::bare_workspace();
        let full = Details::of(&workspace, &sample::details());
        let bare = Details::of(&workspace, &spinney_engine::Details::default());
        assert_described(&full, &bare);
        let with = |details| WorkspaceDetails { workspace: Workspace::linked(&workspace, None), details };
        assert_described(&with(full), &with(bare));
    }

    #[test]
    fn every_state_is_listed() {
        use spinney_engine::Details as Look;
        let fault = Some("broken".to_owned());
        let looks = [
            Look::default(),
            Look { lost: true, ..Look::default() },
            Look { fault, ..Look::default() },
            Look { merged: true, ..Look::default() },
            Look { stale: true, ..Look::default() },
        ];
        for status in spinney_core::WorkspaceStatus::ALL {
            let workspace = spinney_core::Workspace { status: *status, ..sample::bare_workspace() };
            for look in &looks {
                let details = Details::of(&workspace, look);
                assert_described(&Details::of(&workspace, &sample::details()), &details);
            }
        }
    }
}
