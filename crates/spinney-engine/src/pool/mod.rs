//! The warm pool: workspaces that are prepared ahead of any work.
//!
//! A member is a workspace like any other, with the status `warm`: it has its final directory, its tree stands on no
//! branch at the base commit, and `copy`, submodules and `setup` are done. Work and branch are placeholders that no one
//! else can have. Claiming it is a lock, a branch, HEAD and the row; nothing is made or moved but the files that differ.
//!
//! Nothing here deletes what somebody may have put into a member: one that was touched since its preparation ended goes
//! to the trash, as any workspace does.

mod claim;
mod fill;
mod listing;
mod lock;
mod member;
mod retire;
mod survey;
mod template;

pub use fill::{Filled, Patience};
pub(crate) use lock::PoolLock;
pub use retire::Drained;
pub use survey::{MemberState, PoolMember, PoolStatus, PoolStatuses};

use spinney_core::config::Config;
use spinney_core::names::content_hash;
use spinney_core::{BranchName, Work, WorkKind, Workspace, WorkspaceId, WorkspaceName, WorkspaceStatus};

use crate::provider::marker::Marker;
use crate::{Error, Result};

const PLACEHOLDER: &str = "spinney/warm/";

/// What stands for work, name and branch as long as a workspace is nobody's.
fn placeholder(id: &WorkspaceId) -> Result<(Work, WorkspaceName, BranchName)> {
    let branch = format!("{PLACEHOLDER}{id}").parse();
    let branch = branch.map_err(|_| Error::Internal { what: format!("no placeholder can be made of `{id}`") })?;
    let work = Work { kind: WorkKind::Task, key: format!("warm-{id}") };
    Ok((work, WorkspaceName::new(format!("warm-{id}")), branch))
}

/// Makes a row a member's again, or for the first time.
pub(crate) fn as_member(workspace: Workspace) -> Result<Workspace> {
    let (work, name, branch) = placeholder(&workspace.id)?;
    Ok(Workspace {
        work,
        name,
        branch,
        title: None,
        pull_request: None,
        error: None,
        status: WorkspaceStatus::Warm,
        ..workspace
    })
}

/// Whether a marker is that of a member which was never handed out.
pub(crate) fn is_member(marker: &Marker) -> bool {
    !marker.ready && marker.branch.as_str() == format!("{PLACEHOLDER}{}", marker.id)
}

/// Hash of all settings that a member's preparation depends on: under others it must be prepared again.
fn settings_hash(config: &Config) -> String {
    let workspace = &config.workspace;
    let parts = (
        &workspace.copy,
        &workspace.artifacts,
        &workspace.setup,
        workspace.submodules,
        workspace.lfs,
        &workspace.ports,
    );
    content_hash(serde_json::json!(parts).to_string().as_bytes())
}
