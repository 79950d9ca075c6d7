//! Why a job does not complete.

use spinney_core::in_full;
use spinney_jobs::told::{Failure, HookFault, LeftWith, McpFault};

use super::{dropped, left, named, turn};

pub(super) fn failure(failure: &Failure) -> String {
    match failure {
        Failure::Error(error) => in_full(error),
        Failure::NotOfParent { workspace } => {
            format!("{workspace} was there before: a job that an agent asked for works in a workspace of its own")
        }
        Failure::NoRoom(why) => why.clone(),
        Failure::TimedOut => "it reached its timeout".to_owned(),
        Failure::Terminated => "its process was told to end".to_owned(),
        Failure::Cancelled => "cancelled".to_owned(),
        Failure::CancelledAfter(why) => format!("cancelled; {why}"),
        Failure::Died { said: Some(said), .. } => format!("its process died: {said}"),
        Failure::Died { said: None, has_run: true } => "its process died; its work is as it was left".to_owned(),
        Failure::Died { said: None, has_run: false } => "its process died while it waited".to_owned(),
        Failure::NotWaiting => "its record says that it does not wait any more".to_owned(),
        Failure::NotRunning => "its record says that it does not run any more".to_owned(),
        Failure::TimeUnknown { path, error } => format!("`{}` can't be written: {error}", path.display()),
        Failure::PromptUnwritten(error) => format!("its prompt can't be written: {error}"),
        Failure::ProgramUnstarted { program, agent, error } => {
            format!("`{program}`, the program of agent `{agent}`, could not be started: {error}")
        }
        Failure::McpServer { name, fault } => format!("its MCP server `{name}` can't be used: {}", mcp_fault(fault)),
        Failure::ProgramUnwatched { program, error } => format!("`{program}` could not be waited for: {error}"),
        Failure::BeforeRun { line, fault } => format!("before_run `{line}` {}", hook_fault(fault)),
        Failure::HookUnstarted { line, error } => format!("hook `{line}` could not be run: {error}"),
        Failure::NoDirectory(path) => format!("its directory `{}` does not exist", path.display()),
        Failure::NoBranch(error) => format!("`branch_pattern` gives no branch: {error}"),
        Failure::Turn(failure) => turn::failure(failure),
        Failure::HandOff(failure) => {
            format!("its context is full, and asking it for a hand-off note failed: {}", turn::failure(failure))
        }
        Failure::Held { copied, dropped: lost } => {
            let copied = copied.as_ref().map(|copied| {
                format!(
                    "commits of {} have files that Spinney copied from the main checkout, and nothing is pushed: {} \
                     (first in {})",
                    copied.workspace,
                    named(&copied.paths),
                    copied.first.short()
                )
            });
            copied.into_iter().chain(lost.as_ref().map(dropped)).collect::<Vec<_>>().join("; ")
        }
        Failure::PushesElsewhere { now, before } => format!(
            "nothing is pushed: the push would go to {} instead of {}, where it went before the agent started; if the new address is \
             right, start a new job on the same work",
            address(now.as_deref()),
            address(before.as_deref())
        ),
        Failure::NoForge => "`create_pr` is set, but no configured forge has this remote; set `api_url` in \
                             `[forge.github]`, `[forge.gitlab]` or `[forge.forgejo]`"
            .to_owned(),
        Failure::NoBase => "a pull request is wanted, and no base branch is known".to_owned(),
        Failure::LacksCommits { at, branch } => {
            format!("its agent left HEAD on no branch at {}, which lacks commits of `{branch}`", at.short())
        }
        Failure::Dirty { workspace, paths } => {
            format!(
                "{workspace} has uncommitted changes from before the job, and `on_dirty` is `refuse`: {}",
                named(paths)
            )
        }
        Failure::LeftElsewhere { workspace, head, branch, with } => {
            let with = match with {
                LeftWith::UncommittedChanges => "with changes that are not committed",
                LeftWith::CommitsOnNoBranch => "with commits that are on no branch",
            };
            format!("{workspace} was left {}, not on its `{branch}`, {with}", left(head))
        }
        Failure::NotOwnBranch { branch, owner } => {
            format!("its agent went to `{branch}`, which is {owner}: nothing is committed or pushed there")
        }
    }
}

/// How a hook failed, as it follows the hook's line.
pub(super) fn hook_fault(fault: &HookFault) -> String {
    match fault {
        HookFault::Status { status, said: Some(said) } => format!("failed with status {status}: {said}"),
        HookFault::Status { status, said: None } => format!("failed with status {status}"),
        HookFault::Signal(signal) => format!("was ended by signal {signal}"),
        HookFault::Unknown => "did not end".to_owned(),
        HookFault::TooSlow => "did not end in time".to_owned(),
        HookFault::NotRun(why) => failure(why),
    }
}

fn mcp_fault(fault: &McpFault) -> String {
    match fault {
        McpFault::ProgramMissing { program } => format!("its program `{program}` was not found"),
        McpFault::VariableUnset { variable } => {
            format!("the variable `{variable}`, which its configuration names, is not set where Spinney runs")
        }
        McpFault::VariableOfSpinney { variable } => format!(
            "`{variable}` is a secret of Spinney's own, which no agent is given; set the value under another name too"
        ),
    }
}

fn address(url: Option<&str>) -> String {
    url.map_or_else(|| "nowhere".to_owned(), |url| format!("`{url}`"))
}

#[cfg(test)]
mod tests {
    use std::io;

    use spinney_core::{Dropped, DroppedCommit};
    use spinney_git::Head;
    use spinney_jobs::told::{BranchOwner, Copied};

    use super::*;

    fn workspace() -> spinney_core::WorkspaceName {
        spinney_core::Work::issue(1).workspace_name()
    }

    fn commit(digit: &str) -> spinney_core::CommitId {
        digit.repeat(40).parse().unwrap()
    }

    #[test]
    fn what_a_process_said_before_it_died_is_told() {
        let died = |said: Option<&str>, has_run| failure(&Failure::Died { said: said.map(ToOwned::to_owned), has_run });
        assert_eq!(died(Some("no room"), true), "its process died: no room");
        assert_eq!(died(None, true), "its process died; its work is as it was left");
        assert_eq!(died(None, false), "its process died while it waited");
        assert_eq!(failure(&Failure::CancelledAfter("it failed".to_owned())), "cancelled; it failed");
    }

    #[test]
    fn a_program_that_does_not_start_is_named() {
        let error = || io::Error::other("no such file");
        let unstarted =
            Failure::ProgramUnstarted { program: "x".into(), agent: "coder".parse().unwrap(), error: error() };
        let told = "`x`, the program of agent `coder`, could not be started: no such file";
        assert_eq!(failure(&unstarted), told);
        let hook = Failure::HookUnstarted { line: "make".into(), error: error() };
        assert_eq!(failure(&hook), "hook `make` could not be run: no such file");
        let fault = HookFault::Status { status: 2, said: Some("no rule".into()) };
        let failed = Failure::BeforeRun { line: "make".into(), fault };
        assert_eq!(failure(&failed), "before_run `make` failed with status 2: no rule");
    }

    #[test]
    fn an_mcp_server_that_is_missing_something_is_named() {
        let told = |fault| failure(&Failure::McpServer { name: "docs".into(), fault });
        assert_eq!(
            told(McpFault::ProgramMissing { program: "x".into() }),
            "its MCP server `docs` can't be used: its program `x` was not found"
        );
        assert!(told(McpFault::VariableUnset { variable: "KEY".into() }).contains("the variable `KEY`, which"));
        assert!(
            told(McpFault::VariableOfSpinney { variable: "KEY".into() }).contains("`KEY` is a secret of Spinney's")
        );
    }

    #[test]
    fn what_is_held_is_told_with_its_commits() {
        let paths = (1..=6).map(|number| format!("{number}.env")).collect();
        let copied = Copied { workspace: workspace(), paths, first: commit("a") };
        let lost = DroppedCommit { commit: commit("b"), subject: "Fix it\n\nAll of it.".into() };
        let dropped = Dropped { refs: vec!["refs/x".into()], count: 5, commits: vec![lost] };
        let told = failure(&Failure::Held { copied: Some(copied), dropped: Some(dropped) });
        let (first, lost) = (commit("a"), commit("b"));
        let (first, lost) = (first.short(), lost.short());
        assert_eq!(
            told,
            format!(
                "commits of issue-1 have files that Spinney copied from the main checkout, and nothing is pushed: `1.env`, \
                 `2.env`, `3.env`, `4.env`, `5.env`, 1 more (first in {first}); the branch lost 5 commits that no remote has: \
                 {lost} (Fix it) and 2 more"
            )
        );
    }

    #[test]
    fn a_branch_is_told_with_whose_it_is() {
        let went = |owner| failure(&Failure::NotOwnBranch { branch: "main".parse().unwrap(), owner });
        let told =
            |what: &str| format!("its agent went to `main`, which is {what}: nothing is committed or pushed there");
        assert_eq!(went(BranchOwner::Base), told("its base"));
        assert_eq!(went(BranchOwner::CheckedOutAt("/w".into())), told("checked out at `/w` too"));
        assert_eq!(went(BranchOwner::Workspace(workspace())), told("the branch of issue-1"));
        assert_eq!(went(BranchOwner::Remote("origin".into())), told("a branch that `origin` has already"));
        let head = Head::Detached { commit: commit("c"), rebasing: None };
        let (workspace, branch) = (workspace(), "own".parse().unwrap());
        let left = Failure::LeftElsewhere { workspace, head, branch, with: LeftWith::CommitsOnNoBranch };
        let at = commit("c");
        assert_eq!(
            failure(&left),
            format!(
                "issue-1 was left on no branch at {}, not on its `own`, with commits that are on no branch",
                at.short()
            )
        );
    }

    #[test]
    fn a_push_that_would_go_elsewhere_is_told_with_both_places() {
        let told = failure(&Failure::PushesElsewhere { now: None, before: Some("https://forge.example/x".into()) });
        assert_eq!(
            told,
            "nothing is pushed: the push would go to nowhere instead of `https://forge.example/x`, where it went before the \
             agent started; if the new address is right, start a new job on the same work"
        );
    }
}
