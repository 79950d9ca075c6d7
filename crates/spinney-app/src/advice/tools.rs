//! Advice in the terms of the MCP server's tools. Nothing here tells an agent how to force what a person should decide.

use spinney_core::Advice;

/// An advice that a tool can carry out.
pub(super) fn terms(advice: &Advice) -> Option<String> {
    Some(match advice {
        Advice::ListWorkspaces => "`workspace_list` lists them".to_owned(),
        Advice::ListRepositories => "`context` lists the repositories".to_owned(),
        Advice::ShowWorkspace { workspace } => format!("`workspace_why` with the name `{workspace}` tells more"),
        Advice::Restore { id, .. } => format!("`workspace_restore` with the name `{id}` brings it back"),
        Advice::RestoreOnBranch { .. } => "`branch` names a new one to restore it on".to_owned(),
        Advice::AllowReasons => {
            "commit and deliver what is left there, or leave the workspace to a person: this tool never forces"
                .to_owned()
        }
        Advice::MakeRoom { workspace, .. } => {
            format!("`workspace_why` with the name `{workspace}` tells what keeps it, `workspace_remove` lets it go")
        }
        Advice::WaitBehind { job } => format!("`job_wait` waits for the job {job}"),
        Advice::Cancel { job } => format!("`job_cancel` ends the job {job}"),
        Advice::NameAgent => "`agent` names one; `context` lists them".to_owned(),
        Advice::NameWorkspaceById => "use its id".to_owned(),
        Advice::ListJobs => "`context` and `workspace_list` tell of jobs".to_owned(),
        Advice::RaiseLimit => "`workspace_list` lists all; `limits.max_workspaces` raises the limit".to_owned(),
        Advice::NameRepositoryOfAgent => "or name the repository that it works on".to_owned(),
        _ => return None,
    })
}

/// Whether an advice of the API makes no sense without its requests.
pub(super) fn is_of_requests(text: &str) -> bool {
    ["/api/", "`force`", "`allow`", "accept_held"].iter().any(|word| text.contains(word))
}
