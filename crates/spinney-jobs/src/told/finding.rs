//! What a look at agents and jobs finds.

use spinney_core::{AgentName, JobId};

use crate::Error;

/// What was found.
#[derive(Debug)]
pub enum Finding {
    /// An agent can't be used as it is configured.
    AgentUnusable(Error),
    AgentRuns {
        agent: AgentName,
        program: String,
    },
    /// What it is started with is not there.
    AgentUnstartable(Error),
    UnderWay(usize),
    /// Jobs that wait for somebody to go on with them.
    Interrupted(Vec<JobId>),
}
