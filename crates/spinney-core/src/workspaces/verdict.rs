//! The answer to "may this workspace go?", with every reason against it at once.

use std::collections::BTreeSet;

use crate::workspace::words;
use crate::{Evidence, JobId, Merge};

words!(
    ReasonCode {
        Dirty = "dirty",
        Untracked = "untracked",
        PreciousIgnored = "precious_ignored",
        Stash = "stash",
        DetachedCommits = "detached_commits",
        OperationInProgress = "operation_in_progress",
        NestedRepository = "nested_repository",
        SubmoduleUnpushed = "submodule_unpushed",
        Unpushed = "unpushed",
        Unmerged = "unmerged",
        Converted = "converted",
        OpenPullRequest = "open_pull_request",
        Shared = "shared",
        Locked = "locked",
        Pinned = "pinned",
        Adopted = "adopted",
        Persistent = "persistent",
        Unverifiable = "unverifiable",
        InUse = "in_use",
        Leased = "leased",
        MountInside = "mount_inside",
        MainCheckout = "main_checkout",
    }
);

words!(
    /// Why a sweep takes workspaces without a person naming them.
    Sweep {
        Merged = "merged",
        Stale = "stale",
        MakeRoom = "make_room",
        Close = "close",
        Teardown = "teardown",
        Abandoned = "abandoned",
    }
);

/// Who asks for a removal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remover {
    Person,
    Sweep(Sweep),
}

impl ReasonCode {
    /// Whether this reason stops that remover, unless it is overridden.
    #[must_use]
    pub fn blocks(self, remover: Remover) -> bool {
        match self {
            // What only a conversion hides from git is moved with the tree, and archived.
            Self::Converted => false,
            Self::Unmerged => remover == Remover::Sweep(Sweep::Merged),
            // What a job left behind that ended badly goes whole, long after anybody touched it.
            Self::Dirty | Self::Untracked | Self::Unpushed => remover != Remover::Sweep(Sweep::Abandoned),
            Self::Persistent | Self::OpenPullRequest | Self::Pinned | Self::Adopted => {
                matches!(remover, Remover::Sweep(_))
            }
            _ => true,
        }
    }

    /// Whether a person may override it at all.
    #[must_use]
    pub fn overridable(self) -> bool {
        !matches!(
            self,
            Self::InUse
                | Self::Leased
                | Self::MountInside
                | Self::MainCheckout
                | Self::Unmerged
                | Self::Converted
                | Self::Persistent
        )
    }

    /// `file`, `files`: what it counts.
    #[must_use]
    pub fn noun(self, count: usize) -> &'static str {
        let (one, many) = match self {
            Self::Dirty | Self::Untracked | Self::PreciousIgnored | Self::Converted => ("file", "files"),
            Self::Unpushed | Self::DetachedCommits | Self::Unmerged => ("commit", "commits"),
            Self::Stash => ("entry", "entries"),
            Self::NestedRepository => ("repository", "repositories"),
            Self::SubmoduleUnpushed => ("submodule", "submodules"),
            Self::MountInside => ("mount", "mounts"),
            Self::InUse => ("process", "processes"),
            Self::Shared => ("piece of work", "pieces of work"),
            _ => ("thing", "things"),
        };
        if count == 1 { one } else { many }
    }

    /// Whether somebody else holds the workspace, rather than something in it.
    #[must_use]
    pub fn is_held(self) -> bool {
        matches!(self, Self::InUse | Self::Leased)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    pub code: ReasonCode,
    /// How many things of the code's own sort, where it counts some.
    pub count: Option<usize>,
    /// What else is to be said: behind the count, or instead of one.
    pub note: Option<String>,
    /// Which, the first few: paths, commits, processes.
    pub items: Vec<String>,
    pub blocks: bool,
    pub overridable: bool,
    /// The job that runs in it, where that is the reason.
    pub job: Option<JobId>,
}

impl Reason {
    /// `3 files`, `2 commits on no branch`, or what else is to be said.
    #[must_use]
    pub fn detail(&self) -> String {
        let counted = self.count.map(|count| format!("{count} {}", self.code.noun(count)));
        counted.iter().chain(&self.note).cloned().collect::<Vec<_>>().join(" ")
    }

    /// Whether a person can agree to it by its code: what may be overridden, and a mere process inside. A job is cancelled
    /// first.
    #[must_use]
    pub fn allowable(&self) -> bool {
        self.overridable || (self.code == ReasonCode::InUse && self.job.is_none())
    }
}

/// What a person agreed to let go.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Consent {
    #[default]
    None,
    Codes(BTreeSet<ReasonCode>),
    /// All that is overridable.
    Force,
}

impl Consent {
    /// Whether the consent covers a reason. `in_use` is no part of `--force`: it is named, for a mere process.
    #[must_use]
    pub fn covers(&self, reason: &Reason) -> bool {
        match self {
            Self::None => false,
            Self::Codes(codes) => codes.contains(&reason.code) && reason.allowable(),
            Self::Force => reason.overridable,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    pub reasons: Vec<Reason>,
    pub merge: Merge,
}

impl Verdict {
    /// The reasons that stand in the way, given what was agreed to.
    pub fn blockers<'a>(&'a self, consent: &'a Consent) -> impl Iterator<Item = &'a Reason> {
        self.reasons.iter().filter(move |reason| reason.blocks && !consent.covers(reason))
    }

    #[must_use]
    pub fn removable(&self, consent: &Consent) -> bool {
        self.blockers(consent).next().is_none()
    }

    pub fn evidence(&self) -> impl Iterator<Item = &Evidence> {
        match &self.merge {
            Merge::Merged(evidence) => Some(evidence),
            _ => None,
        }
        .into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(code: ReasonCode, remover: Remover) -> Reason {
        Reason {
            code,
            count: None,
            note: None,
            items: vec![],
            blocks: code.blocks(remover),
            overridable: code.overridable(),
            job: None,
        }
    }

    #[test]
    fn force_covers_all_but_what_can_not_be_overridden() {
        for code in ReasonCode::ALL {
            let reason = reason(*code, Remover::Person);
            let held = matches!(
                code,
                ReasonCode::InUse | ReasonCode::Leased | ReasonCode::MountInside | ReasonCode::MainCheckout
            );
            assert_eq!(reason.blocks && !Consent::Force.covers(&reason), held, "{code}");
        }
    }

    #[test]
    fn every_reason_of_a_loss_blocks_every_sweep() {
        let telling = [ReasonCode::Unmerged, ReasonCode::Converted];
        let left_behind = [ReasonCode::Dirty, ReasonCode::Untracked, ReasonCode::Unpushed];
        for code in ReasonCode::ALL.iter().filter(|code| !telling.contains(code)) {
            for sweep in Sweep::ALL {
                let goes = *sweep == Sweep::Abandoned && left_behind.contains(code);
                assert_eq!(code.blocks(Remover::Sweep(*sweep)), !goes, "{code} {sweep}");
            }
        }
    }

    #[test]
    fn what_is_pushed_but_not_merged_stops_the_sweep_for_what_is_merged_alone() {
        assert!(!ReasonCode::Unmerged.blocks(Remover::Person));
        for sweep in Sweep::ALL {
            assert_eq!(ReasonCode::Unmerged.blocks(Remover::Sweep(*sweep)), *sweep == Sweep::Merged, "{sweep}");
        }
    }

    #[test]
    fn a_person_is_not_stopped_by_what_only_sweeps_respect() {
        for code in [ReasonCode::Pinned, ReasonCode::Adopted, ReasonCode::Persistent, ReasonCode::OpenPullRequest] {
            assert!(!code.blocks(Remover::Person), "{code}");
        }
        assert!(ReasonCode::Shared.blocks(Remover::Person) && ReasonCode::Locked.blocks(Remover::Person));
    }

    #[test]
    fn a_process_inside_can_be_allowed_by_name_only() {
        let reason = reason(ReasonCode::InUse, Remover::Person);
        assert!(!Consent::Force.covers(&reason));
        assert!(Consent::Codes([ReasonCode::InUse].into()).covers(&reason));
        let job = Reason { job: Some(JobId::generate()), ..reason };
        assert!(!Consent::Force.covers(&job) && !Consent::Codes([ReasonCode::InUse].into()).covers(&job));
    }
}
