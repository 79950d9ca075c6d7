//! Pushing one commit to one branch of a remote.
//!
//! 1. Contents that LFS keeps elsewhere go first: a forge refuses pointers to what it does not have.
//! 2. The commit goes to the branch by an explicit refspec. What a fast-forward is, needs no leave.
//! 3. What is none may only replace what was pushed from here before: a lease says what that is.
//! 4. The remote-tracking branch must say the same, though the person fetches only some branches.
//!
//! No upstream is written, no tag, option or signature goes along, no submodule is pushed, no hook runs, whatever the
//! configuration says.

use std::time::Duration;

use spinney_core::names::cut_for_message;
use spinney_core::{BranchName, CommitId};

use crate::process::classify::classify;
use crate::process::command::{Command, Output};
use crate::repository::opened::Repository;
use crate::settings::executing::Runs;
use crate::transfer::credential::Credential;
use crate::transfer::fetch::Wanted;
use crate::transfer::push_parse::{Answer, parse_push, parse_words};
use crate::transfer::remote::require_remote;
use crate::transfer::secrets::{Errand, Secrets};
use crate::{Error, Result};

/// How git and git-lfs end, well or not: what they say then is read here.
const ANY: [i32; 4] = [0, 1, 2, 128];
/// How much of what a remote says is told.
const MAX_WORDS: usize = 600;

/// What a push may replace at the remote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lease {
    /// Nothing: it was never pushed from here.
    Absent,
    /// The commit that was pushed from here last.
    At(CommitId),
}

/// What a push did to the branch of the remote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pushed {
    New,
    Updated,
    UpToDate,
}

impl Repository {
    /// Pushes a commit to a branch of a remote. Pushing the same again changes nothing.
    pub async fn push(
        &self,
        remote: &str,
        commit: &CommitId,
        branch: &BranchName,
        lease: &Lease,
        credential: Option<&Credential>,
    ) -> Result<Pushed> {
        require_remote(remote)?;
        let secrets = self.secrets(Errand::Push(remote), credential).await?;
        let target = Target { remote, commit, branch, secrets: &secrets };
        self.push_lfs(&target).await?;
        let pushed = match (self.run_push(&target, None).await, lease) {
            (Err(Error::PushRejected { .. }), Lease::At(pushed)) => self.run_push(&target, Some(pushed)).await?,
            (pushed, _) => pushed?,
        };
        if self.load_remote_branch(remote, branch).await?.as_ref() != Some(commit) {
            let wanted = Wanted { branches: vec![branch.clone()], ..Wanted::default() };
            // The push arrived; that it is known here can wait for the next fetch.
            if let Err(error) = self.fetch(remote, &wanted, Duration::ZERO, credential).await {
                tracing::debug!(%error, "what was pushed could not be fetched");
            }
        }
        Ok(pushed)
    }

    async fn run_push(&self, target: &Target<'_>, lease: Option<&CommitId>) -> Result<Pushed> {
        let Target { remote, commit, branch, .. } = target;
        let full_name = branch.local_ref();
        let lease = lease.map(|pushed| format!("--force-with-lease={full_name}:{pushed}"));
        let command = target
            .command(self)
            .config(format!("remote.{remote}.mirror"), "false")
            .config("push.useForceIfIncludes", "false")
            .config("push.pushOption", "")
            .args(["push", "--porcelain", "--no-progress", "--no-verify", "--no-signed", "--no-follow-tags"])
            .arg("--recurse-submodules=no")
            .args(lease)
            .args(["--", remote, &format!("{commit}:{full_name}")]);
        let output = command.accept(&ANY).run().await?;
        let refused = |detail: String| {
            let words = parse_words(&output.stderr).join(" ");
            let told = if words.is_empty() { detail } else { format!("{detail}: {words}") };
            Error::PushRefused { detail: target.shown(&told) }
        };
        match parse_push(&output.stdout) {
            Some(Answer::Pushed(pushed)) if output.status == 0 => Ok(pushed),
            Some(Answer::Rejected(detail)) => {
                Err(Error::PushRejected { branch: full_name, detail: target.shown(&detail) })
            }
            Some(Answer::Refused(detail)) => Err(refused(detail)),
            Some(Answer::Lost(detail)) => Err(Error::Network { detail: target.shown(&detail) }),
            _ => Err(target.classify(self, "git push", &output)),
        }
    }

    /// Brings what LFS pointers stand for to the remote: git's own hook for that is off.
    async fn push_lfs(&self, target: &Target<'_>) -> Result<()> {
        // Nothing was ever added by LFS here.
        if !self.common_dir().join("lfs/objects").is_dir() {
            return Ok(());
        }
        let push = target.command(self).args(["lfs", "push", target.remote, target.commit.as_str()]);
        let output = push.accept(&ANY).run().await?;
        if output.status == 0 {
            return Ok(());
        }
        match target.classify(self, "git lfs push", &output) {
            // Without it there is nobody who could, and a remote that minds says so.
            Error::LfsMissing => Ok(()),
            Error::Failed { stderr, .. } => Err(Error::PushRefused { detail: target.shown(&stderr) }),
            error => Err(error),
        }
    }
}

/// What goes where.
struct Target<'a> {
    remote: &'a str,
    commit: &'a CommitId,
    branch: &'a BranchName,
    secrets: &'a Secrets<'a>,
}

impl Target<'_> {
    fn command(&self, repository: &Repository) -> Command {
        self.secrets.go_with(repository.command().running(Runs::REMOTES).network())
    }

    /// The error that a failed process is. A remote may repeat our secret.
    fn classify(&self, repository: &Repository, shown: &str, output: &Output) -> Error {
        let stderr = self.secrets.redact(&output.stderr);
        self.secrets.explain(classify(shown, repository.common_dir(), output.status, &stderr))
    }

    /// What a remote says, as it may be told: on one line, not too long.
    fn shown(&self, text: &str) -> String {
        cut_for_message(&self.secrets.redact(text), MAX_WORDS)
    }
}
