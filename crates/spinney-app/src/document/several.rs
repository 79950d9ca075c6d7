//! Lists that only the command line prints, which has no pages, and may be asked for several things at once.

use serde::Serialize;

use super::{Failure, Job, ListedDetails, ListedWorkspace, Workspace};

/// Workspaces, and what failed of those that were named.
#[derive(Debug, Clone, Serialize)]
pub struct Workspaces {
    pub workspaces: Vec<Workspace>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<Vec<Failure>>,
}

/// Jobs, and what failed of those that were named.
#[derive(Debug, Clone, Serialize)]
pub struct Jobs {
    pub jobs: Vec<Job>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<Vec<Failure>>,
}

/// The workspaces of a list.
#[derive(Debug, Clone, Serialize)]
pub struct Listed {
    pub workspaces: Vec<ListedRow>,
}

/// A workspace in a list, with what git says of it where that was asked for.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum ListedRow {
    Plain(Box<ListedWorkspace>),
    Detailed(Box<ListedDetails>),
}

/// A workspace that came back.
#[derive(Debug, Clone, Serialize)]
pub struct RestoredWorkspace {
    #[serde(flatten)]
    pub workspace: Workspace,
    /// The commit that it is at, where it is on no branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detached_at: Option<String>,
    /// What it was called before, where another workspace has that name by now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name_before: Option<String>,
    /// The branch that it was on before, where it is on another now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch_before: Option<String>,
}
