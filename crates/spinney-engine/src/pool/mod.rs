//! The warm pool: workspaces that are prepared ahead of any work.
//!
//! A member is a workspace like any other, with the status `warm`: it has its final directory, its tree stands on no
//! branch at the base commit, and `copy`, submodules and `setup` are done. Work and branch are placeholders that no one
//! else can have. Claiming it is a lock, a branch, HEAD and the row; nothing is made or moved but the files that differ.
//!
//! The checkouts that jobs share to read in ([`reading`]) are made and taken out in the same way, with a status of their own.
//!
//! Nothing here deletes what somebody may have put into a member: one that was touched since its preparation ended goes
//! to the trash, as any workspace does.

mod claim;
mod fill;
mod listing;
mod lock;
mod member;
mod reading;
mod retire;
mod survey;
mod template;

pub use fill::{Filled, Patience};
pub(crate) use lock::PoolLock;
pub use reading::Reading;
pub use retire::Drained;
pub use survey::{MemberState, PoolMember, PoolStatus, PoolStatuses};

use spinney_core::config::Config;
use spinney_core::names::content_hash;
use spinney_core::{BranchName, Work, WorkKind, Workspace, WorkspaceId, WorkspaceName, WorkspaceStatus};

use crate::tree::marker::Marker;
use crate::{Error, Result};

/// What a member is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// To be handed out.
    Claims,
    /// To fill others from.
    Template,
    /// To be read in, by several at once.
    Reading,
}

impl Purpose {
    fn of(member: &Workspace) -> Self {
        match member.status {
            WorkspaceStatus::Reading => Self::Reading,
            _ if survey::is_template(member) => Self::Template,
            _ => Self::Claims,
        }
    }

    fn status(self) -> WorkspaceStatus {
        match self {
            Self::Reading => WorkspaceStatus::Reading,
            Self::Claims | Self::Template => WorkspaceStatus::Warm,
        }
    }
}

/// What stands for work, name and branch as long as a workspace is nobody's.
fn placeholder(id: &WorkspaceId, status: WorkspaceStatus) -> Result<(Work, WorkspaceName, BranchName)> {
    let branch = format!("spinney/{status}/{id}").parse();
    let branch = branch.map_err(|_| Error::Internal { what: format!("no placeholder can be made of `{id}`") })?;
    let name = format!("{status}-{id}");
    Ok((Work { kind: WorkKind::Task, key: name.clone() }, WorkspaceName::new(name), branch))
}

/// Makes a row a member's again, or for the first time.
pub(crate) fn as_member(workspace: Workspace, status: WorkspaceStatus) -> Result<Workspace> {
    let (work, name, branch) = placeholder(&workspace.id, status)?;
    Ok(Workspace { work, name, branch, title: None, pull_request: None, error: None, status, ..workspace })
}

/// The status of a member which was never handed out, by its marker; none for any other workspace.
pub(crate) fn member_status(marker: &Marker) -> Option<WorkspaceStatus> {
    let is_of =
        |status: &WorkspaceStatus| !marker.ready && marker.branch.as_str() == format!("spinney/{status}/{}", marker.id);
    [WorkspaceStatus::Warm, WorkspaceStatus::Reading].into_iter().find(is_of)
}

/// Hash of all settings that a member's preparation depends on: under others it must be prepared again.
fn settings_hash(config: &Config, purpose: Purpose) -> String {
    let workspace = &config.workspace;
    if purpose == Purpose::Reading {
        let parts = (workspace.submodules, workspace.lfs);
        return content_hash(serde_json::json!(parts).to_string().as_bytes());
    }
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
