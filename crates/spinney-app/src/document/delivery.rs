//! What came of a delivery that somebody asked for.

use serde::Serialize;
use spinney_engine::Engine;
use utoipa::ToSchema;

use super::{Held, LeftOut, Workspace};
use crate::workspaces::deliver::{Delivered, Offer, PushState};
use crate::{Front, words};

/// A workspace that was delivered, or would be.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Delivery {
    pub workspace: Workspace,
    /// The branch that was pushed.
    pub branch: String,
    /// The commit that the branch has; of a dry run, without what would be committed.
    #[schema(required)]
    pub commit: Option<String>,
    /// The paths that were committed.
    pub committed: Vec<String>,
    /// Why their commit has no signature although git is configured to sign, for people.
    #[schema(required)]
    pub unsigned: Option<String>,
    /// Files that differ from the commit and are not in it.
    pub left_out: Vec<LeftOut>,
    /// Commits of its own since the base.
    pub commits: u64,
    pub files: u64,
    pub insertions: u64,
    pub deletions: u64,
    pub remote: String,
    pub push: DeliveryPush,
    #[schema(required)]
    pub pull_request: Option<String>,
    /// Whether the pull request was opened now.
    pub opened: bool,
    /// Why there is no pull request, for people.
    #[schema(required)]
    pub no_pull_request: Option<String>,
    /// What of a dry run would be held for a person.
    #[schema(required)]
    pub held: Option<Held>,
    /// Whether nothing was done, and only told.
    pub dry_run: bool,
}

/// What became of the push.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryPush {
    /// There is nothing that the base has not.
    Nothing,
    Pushed,
    UpToDate,
    /// A dry run pushes nothing.
    Planned,
}

impl Delivery {
    #[must_use]
    pub fn of(engine: &Engine, delivered: &Delivered, front: Front) -> Self {
        Self::with(Workspace::of(engine, &delivered.workspace), delivered, front)
    }

    fn with(workspace: Workspace, delivered: &Delivered, front: Front) -> Self {
        Self {
            workspace,
            branch: delivered.branch.to_string(),
            commit: delivered.commit.as_ref().map(ToString::to_string),
            committed: delivered.committed.clone(),
            unsigned: delivered.unsigned.as_ref().map(ToString::to_string),
            left_out: delivered.left_out.iter().map(LeftOut::of).collect(),
            commits: delivered.changes.commits,
            files: delivered.changes.files,
            insertions: delivered.changes.insertions,
            deletions: delivered.changes.deletions,
            remote: delivered.remote.clone(),
            push: match delivered.push {
                PushState::Nothing => DeliveryPush::Nothing,
                PushState::Pushed => DeliveryPush::Pushed,
                PushState::UpToDate => DeliveryPush::UpToDate,
                PushState::Planned => DeliveryPush::Planned,
            },
            pull_request: match &delivered.offer {
                Offer::Opened(url) | Offer::Found(url) => Some(url.clone()),
                Offer::Planned | Offer::None(_) => None,
            },
            opened: matches!(delivered.offer, Offer::Opened(_)),
            no_pull_request: match &delivered.offer {
                Offer::None(why) => words::no_pull_request(why, front),
                Offer::Opened(_) | Offer::Found(_) | Offer::Planned => None,
            },
            held: delivered.held.as_ref().map(Held::of),
            dry_run: delivered.dry_run,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::described::{assert_described, sample};
    use crate::workspaces::deliver::NoOffer;

    fn delivered(offer: Offer, push: PushState) -> Delivered {
        let job = sample::full_job();
        Delivered {
            workspace: sample::full_workspace(),
            branch: "issue-42".parse().unwrap(),
            commit: Some(sample::commit()),
            committed: vec!["a.txt".to_owned()],
            unsigned: Some(spinney_git::Unsigned::NoKey),
            left_out: job.outcome.left_out,
            changes: Default::default(),
            remote: "origin".to_owned(),
            push,
            offer,
            held: job.outcome.held,
            dry_run: false,
        }
    }

    #[test]
    fn a_delivery_is_what_its_schema_says() {
        let told = |delivered: &Delivered| {
            Delivery::with(Workspace::linked(&delivered.workspace, None), delivered, Front::Api)
        };
        let url = "https://github.com/acme/app/pull/1".to_owned();
        let full = told(&delivered(Offer::Opened(url), PushState::Pushed));
        let bare = Delivered {
            commit: None,
            unsigned: None,
            held: None,
            ..delivered(Offer::None(NoOffer::NoBase), PushState::Nothing)
        };
        assert!(full.opened && full.pull_request.is_some() && full.no_pull_request.is_none());
        assert_described(&full, &told(&bare));
    }

    #[test]
    fn what_is_missing_is_told_with_what_helps() {
        let none = |why, front| words::delivery(&delivered(Offer::None(why), PushState::Pushed), front).join("\n");
        assert!(none(NoOffer::NoForge, Front::CommandLine).contains("[forge.github]"));
        assert!(!none(NoOffer::NotWanted, Front::CommandLine).contains("pull request"));
    }
}
