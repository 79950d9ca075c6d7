//! A workspace in a list, and one shown with all that belongs to it.

use serde::Serialize;
use serde_json::{Map, Value};
use spinney_core::JobId;
use spinney_engine::{Engine, Shown};
use utoipa::ToSchema;

use super::{Details, JobInBrief, Work, Workspace, WorkspaceDetails};

/// A workspace in a list.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ListedWorkspace {
    #[serde(flatten)]
    pub workspace: Workspace,
    /// The job that runs in it.
    #[schema(required)]
    pub job: Option<String>,
}

impl ListedWorkspace {
    #[must_use]
    pub fn of(engine: &Engine, workspace: &spinney_core::Workspace, job: Option<&JobId>) -> Self {
        Self { workspace: Workspace::of(engine, workspace), job: job.map(ToString::to_string) }
    }

    /// The same, with what git says about it.
    #[must_use]
    pub fn with_details(
        mut self,
        workspace: &spinney_core::Workspace,
        details: &spinney_engine::Details,
    ) -> ListedDetails {
        self.workspace.pushed |= details.pushed;
        ListedDetails { listed: self, details: Details::of(workspace, details) }
    }
}

/// A workspace in a list, with what git says about it.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ListedDetails {
    #[serde(flatten)]
    pub listed: ListedWorkspace,
    #[serde(flatten)]
    pub details: Details,
}

/// A workspace with all that belongs to it.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ShownWorkspace {
    #[serde(flatten)]
    pub workspace: WorkspaceDetails,
    /// All work that it is for.
    pub works: Vec<Work>,
    /// Its ports, by their names.
    #[schema(value_type = HashMap<String, u16>)]
    pub ports: Map<String, Value>,
    /// Its last jobs, newest first.
    pub jobs: Vec<JobInBrief>,
}

impl ShownWorkspace {
    #[must_use]
    pub fn of(engine: &Engine, workspace: &spinney_core::Workspace, shown: &Shown, jobs: &[spinney_core::Job]) -> Self {
        Self::with(WorkspaceDetails::of(engine, workspace, &shown.details), shown, jobs)
    }

    fn with(workspace: WorkspaceDetails, shown: &Shown, jobs: &[spinney_core::Job]) -> Self {
        Self {
            workspace,
            works: shown.works.iter().map(Work::of).collect(),
            ports: shown.ports.iter().map(|port| (port.name.clone(), port.port.into())).collect(),
            jobs: jobs.iter().map(JobInBrief::of).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::described::{assert_described, sample};

    #[test]
    fn a_listed_workspace_is_what_its_schema_says() {
        let row = sample::bare_workspace();
        let listed = |job| ListedWorkspace { workspace: Workspace::linked(&row, None), job };
        let (busy, idle) = (listed(Some("7f3k2a9999".to_owned())), listed(None));
        assert_described(&busy, &idle);
        let with = |listed: ListedWorkspace| listed.with_details(&row, &sample::details());
        assert_described(&with(busy), &with(idle));
    }

    #[test]
    fn a_shown_workspace_is_what_its_schema_says() {
        let row = sample::bare_workspace();
        let port = |name: &str, port| spinney_store::Port { port, name: name.to_owned(), workspace_id: row.id.clone() };
        let shown = |works, ports, jobs: &[_]| {
            let shown = Shown { details: sample::details(), works, ports, link: None };
            let details = Details::of(&row, &shown.details);
            ShownWorkspace::with(WorkspaceDetails { workspace: Workspace::linked(&row, None), details }, &shown, jobs)
        };
        let ports = vec![port("web", 20_000), port("api", 20_001)];
        let full = shown(vec![row.work.clone()], ports, &[sample::full_job()]);
        assert_described(&full, &shown(vec![], vec![], &[]));
        assert_eq!(full.ports.keys().collect::<Vec<_>>(), ["web", "api"], "in the order of their numbers");
    }
}
