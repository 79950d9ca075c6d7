//! What a job warns of.

use spinney_core::{LeftOutReason, in_full};
use spinney_engine::escapes_in_words;
use spinney_jobs::told::{NoNote, Warning};

use super::failure::{failure, hook_fault};
use super::{dropped, left, named, turn};

pub(super) fn warning(warning: &Warning) -> String {
    match warning {
        Warning::Engine(warning) => warning.to_string(),
        Warning::Error(error) => error.to_string(),
        Warning::Turn(failure) => turn::failure(failure),
        Warning::OtherEnvironment => {
            "the process that kept this job's environment ended while the job waited: it runs with the \
             environment of the process that took over (`PATH`, the agent's own keys)"
                .to_owned()
        }
        Warning::LogFull => "what the agent prints from here on is not kept: the log is full".to_owned(),
        Warning::CheckoutUnwatched(error) => {
            format!("the main checkout could not be watched: {}", in_full(error.as_ref()))
        }
        Warning::CheckoutChanged { paths } => {
            format!("the main checkout changed meanwhile: {}", escapes_in_words(paths))
        }
        Warning::ReadingUnseen(error) => format!("what it read in could not be looked at: {}", in_full(error.as_ref())),
        Warning::ReadingChanged { paths, workspace } => format!(
            "the checkout that it read in changed meanwhile: {}; it goes to the trash as {workspace}",
            escapes_in_words(paths)
        ),
        Warning::ReadingStays(error) => format!("the checkout that it read in stays: {}", in_full(error.as_ref())),
        Warning::PoolUnfilled(error) => format!("the pool is not filled up again: {}", in_full(error.as_ref())),
        Warning::TrashUnseen(error) => format!("the trash could not be purged: {}", in_full(error.as_ref())),
        Warning::Stays { workspace, error } => format!("{workspace} stays: {}", in_full(error.as_ref())),
        Warning::KeepUnnoted { workspace, error } => {
            format!("how long {workspace} is to be kept could not be recorded: {error}")
        }
        Warning::NotPushed(error) => format!("not pushed: {}", in_full(error.as_ref())),
        Warning::PushesAgain { after, error } => {
            format!("the push failed, and is tried again in {} s: {}", after.as_secs(), in_full(error.as_ref()))
        }
        Warning::StartsFresh => "the conversation of the session before is gone; this one starts fresh".to_owned(),
        Warning::NoNote(why) => no_note(*why).to_owned(),
        Warning::Copied { workspace, paths } => {
            format!("commits of {workspace} have files that Spinney copied from the main checkout: {}", named(paths))
        }
        Warning::Dropped(lost) => dropped(lost),
        Warning::Unsigned(why) => format!("its commit is not signed: {why}"),
        Warning::LeftOut { reason, paths } => format!("not committed, as {}: {}", left_out(*reason), named(paths)),
        Warning::Shared { paths } => {
            format!("its commits contain changes that were uncommitted before the agent started: {}", named(paths))
        }
        Warning::LeftUnnoted(why) => format!("what its agent left could not be recorded: {}", failure(why)),
        Warning::BackOnBranch { from, branch } => format!("it was left {}, and is back on `{branch}`", left(from)),
        Warning::BranchRenamed { from, to } => format!("its branch is `{to}` now: somebody renamed `{from}`"),
        Warning::Hook { phase, line, fault } => format!("{phase} `{line}` {}", hook_fault(fault)),
    }
}

fn no_note(why: NoNote) -> &'static str {
    match why {
        NoNote::Nameless => {
            "its context is full, and its runtime told no name to go on with: there is no hand-off note"
        }
        NoNote::ConversationGone => "its context is full and its conversation is gone: there is no hand-off note",
        NoNote::Unwritten => "its context is full, and it wrote no hand-off note",
    }
}

fn left_out(reason: LeftOutReason) -> &'static str {
    match reason {
        LeftOutReason::ThereBefore => "there before its agent began",
        LeftOutReason::Copied => "copied by Spinney",
        LeftOutReason::SetUp => "made by `setup`",
        LeftOutReason::Repository => "repositories of their own",
    }
}
