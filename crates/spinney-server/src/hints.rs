//! What helps, in the API's words. The hints that come with an error name what a person types; where a request has a field
//! or a route for the same, that is named instead.

use spinney_engine::Error;
use spinney_git::Error as Git;

/// What helps whoever sent a request.
pub(crate) fn of_engine(error: &Error) -> Vec<String> {
    let hint = |text: &str| vec![text.to_owned()];
    match error {
        Error::Refused { .. } => {
            hint("`allow` names the codes of the reasons that are let go, `force` lets all go that can be overridden")
        }
        Error::Clone { source: Git::Auth { .. }, .. } | Error::Git(Git::Auth { .. }) => hint(
            "set up git's credential helper for this host, or name the variable that holds a token with `token_env`",
        ),
        Error::Git(Git::NotARepository { .. }) => hint("`path` is the directory of a repository"),
        Error::InTrash { id, .. } => vec![format!("`POST /api/v1/workspaces/{id}/restore` brings it back")],
        Error::RestoreBranchTaken { .. } => hint("`branch` names a new one to restore it on"),
        Error::BranchConflict { .. } => hint("choose another with `branch`, or rename the one that is there"),
        Error::NoFreeBranch { .. } => hint("choose one with `branch`, or change the agent's `branch_pattern`"),
        Error::BranchInMainCheckout { .. } => {
            hint("switch the main checkout to another branch, or choose another with `branch`")
        }
        Error::MissingHead { .. } => {
            hint("`POST /api/v1/repositories/{id}/sync` fetches all branches; `sha` names a commit")
        }
        Error::MissingBase { .. } => hint("`POST /api/v1/repositories/{id}/sync` fetches all branches"),
        Error::NoBase { .. } => hint("name the base with `base`, or set `workspace.base` in `spinney.toml`"),
        Error::RepositoryNameTaken { .. } => hint("give it another with `name`"),
        Error::RepositoryInUse { missing: true, .. } => {
            hint("put the repository back; where it is gone for good, `force` forgets them")
        }
        Error::UnknownRepository { .. } => hint("`GET /api/v1/repositories` lists them"),
        Error::UnknownWorkspace { .. } => hint("`GET /api/v1/workspaces` lists them"),
        Error::AccountTaken { .. } => hint("`GET /api/v1/accounts` lists them"),
        Error::TokenTaken { .. } => hint("give it another name, or let the old one go: `DELETE /api/v1/tokens/{id}`"),
        error => error.hints(),
    }
}

/// The same for errors of jobs.
pub(crate) fn of_jobs(error: &spinney_jobs::Error) -> Vec<String> {
    use spinney_jobs::Error;
    match error {
        Error::Engine(error) => of_engine(error),
        Error::NoAgent { known } if !known.is_empty() => vec!["`agent` names one".to_owned()],
        Error::UnknownJob { .. } => vec!["`GET /api/v1/jobs` lists them".to_owned()],
        Error::Held { job, .. } => vec![format!("`POST /api/v1/jobs/{job}/cancel` ends it")],
        Error::NotEnded { id, .. } => vec![format!("`POST /api/v1/jobs/{id}/cancel` ends it")],
        Error::NotRunning { id, .. } => vec![format!("`POST /api/v1/jobs/{id}/retry` runs it again")],
        Error::AmbiguousSchedule { .. } => vec!["`repository` names the one that is meant".to_owned()],
        error => error.hints(),
    }
}

#[cfg(test)]
mod tests {
    use spinney_core::{JobId, JobStatus, WorkspaceName};

    use super::*;

    #[test]
    fn hints_name_fields_and_routes_instead_of_flags_and_commands() {
        let repository = || "acme/app".parse().unwrap();
        let name = || WorkspaceName::new("issue-42");
        let errors = [
            Error::Refused { name: name(), reasons: Vec::new() },
            Error::RepositoryNameTaken { name: repository(), place: "/".into() },
            Error::UnknownRepository { name: "x".to_owned() },
            Error::UnknownWorkspace { name: "x".to_owned() },
        ];
        let id = JobId::generate;
        let of_jobs = [
            spinney_jobs::Error::NoAgent { known: vec!["coder".to_owned()] },
            spinney_jobs::Error::NotEnded { id: id(), status: JobStatus::Running },
            spinney_jobs::Error::NotRunning { id: id(), status: JobStatus::Failed },
            spinney_jobs::Error::UnknownJob { name: "x".to_owned() },
        ];
        let hints = errors.iter().map(of_engine).chain(of_jobs.iter().map(super::of_jobs));
        for hints in hints {
            let text = hints.join(" ");
            assert!(!text.is_empty() && !text.contains("--") && !text.contains("spinney "), "{text}");
        }
        let full = Error::DiskFull { path: "/".into() };
        assert_eq!(of_engine(&full), full.hints(), "what is the same for both is said once");
    }
}
