//! Parts of lists.

use serde::Serialize;
use utoipa::ToSchema;

use super::{Event, Job, ListedWorkspace, Session};

/// A part of the list of workspaces, newest first.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct WorkspacePage {
    pub workspaces: Vec<ListedWorkspace>,
    /// The `cursor` of the next part; none: that was all.
    #[schema(required)]
    pub next: Option<String>,
}

/// A part of the list of jobs, newest first.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct JobPage {
    pub jobs: Vec<Job>,
    /// The `cursor` of the next part; none: that was all.
    #[schema(required)]
    pub next: Option<String>,
}

/// A part of the list of sessions, newest first.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct SessionPage {
    pub sessions: Vec<ListedSession>,
    /// The `cursor` of the next part; none: that was all.
    #[schema(required)]
    pub next: Option<String>,
}

/// A session in a list, with whose it is.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ListedSession {
    #[serde(flatten)]
    pub session: Session,
    pub job: String,
    #[schema(required)]
    pub workspace_id: Option<String>,
    pub agent: String,
}

impl ListedSession {
    #[must_use]
    pub fn of(session: &spinney_core::Session) -> Self {
        Self {
            session: Session::of(session),
            job: session.job_id.to_string(),
            workspace_id: session.workspace_id.as_ref().map(ToString::to_string),
            agent: session.agent.clone(),
        }
    }
}

/// A part of the audit log, newest first.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct EventPage {
    pub events: Vec<Event>,
    /// The `cursor` of the next part; none: that was all.
    #[schema(required)]
    pub next: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::described::{assert_described, sample};

    #[test]
    fn a_session_in_a_list_is_what_its_schema_says() {
        let full = spinney_core::Session {
            workspace_id: Some(spinney_core::WorkspaceId::generate()),
            ..sample::full_session()
        };
        let (full, bare) = (ListedSession::of(&full), ListedSession::of(&sample::bare_session()));
        assert_described(&full, &bare);
        let page = |sessions, next| SessionPage { sessions, next };
        assert_described(&page(vec![full], Some("1-a".to_owned())), &page(vec![], None));
    }
}
