//! A new row for a workspace, from what its marker says.

use spinney_core::workspace::Metadata;
use spinney_core::{Platform, Populate, Timestamp, Workspace, WorkspaceStatus};

use crate::Engine;
use crate::repositories::context::Context;
use crate::tree::marker::Marker;

impl Engine {
    /// The row of a workspace of this repository and node; what a request knows besides is filled in by the caller.
    pub(crate) fn new_row(&self, context: &Context, marker: Marker, status: WorkspaceStatus) -> Workspace {
        let now = Timestamp::now();
        Workspace {
            name: marker.work.workspace_name(),
            id: marker.id,
            account: self.account.clone(),
            node: self.home.node().clone(),
            repository_id: context.repository.id.clone(),
            repository: context.repository.name.clone(),
            work: marker.work,
            title: None,
            provider: marker.provider,
            populate: Populate::Checkout,
            path: marker.path,
            branch: marker.branch,
            base_branch: marker.base_branch,
            base_commit: marker.base_commit,
            status,
            error: None,
            pushed: false,
            pull_request: None,
            platform: Platform::Cli,
            pinned: false,
            adopted_from: None,
            metadata: Metadata::default(),
            created_at: now,
            last_activity_at: now,
            removed_at: None,
            size: None,
        }
    }
}
