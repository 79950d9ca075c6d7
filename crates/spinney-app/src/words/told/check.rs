//! What `doctor` shows of agents and jobs.

use spinney_engine::{Check, Mark};
use spinney_jobs::told::Finding;

/// As many jobs as anybody types.
const MAX_NAMED: usize = 3;

pub(super) fn check(finding: &Finding) -> Check {
    match finding {
        Finding::AgentUnusable(error) => Check::bad("agent", error.to_string(), "spinney config validate"),
        Finding::AgentRuns { agent, program } => Check::good("agent", format!("{agent} runs `{program}`")),
        Finding::AgentUnstartable(error) => Check::advised(Mark::Bad, "agent", error.to_string(), error.advice()),
        Finding::UnderWay(jobs) => Check::good("jobs", format!("{jobs} under way")),
        Finding::Interrupted(jobs) => {
            let retries = || jobs.iter().map(|job| format!("spinney retry {job}")).collect::<Vec<_>>().join(", ");
            let fix = match jobs.len() {
                ..=MAX_NAMED => retries(),
                _ => "spinney jobs --all --status interrupted, then spinney retry".to_owned(),
            };
            Check::notice("jobs", format!("{} interrupted", jobs.len()), fix)
        }
    }
}
