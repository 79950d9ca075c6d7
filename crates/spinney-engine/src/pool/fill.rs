//! Fills a pool: makes what is missing, brings up to date what is behind, takes out what is too much.

use async_recursion::async_recursion as boxed;
use serde::Serialize;
use spinney_core::{CommitId, Workspace};
use spinney_git::Head;

use super::retire::{Drained, HANDED_OUT, TOUCHED, is_handed_out};
use super::survey::{MemberState, fails_still, is_template, state};
use super::{Purpose, settings_hash};
use crate::create::plan::Base;
use crate::notice::Observer;
use crate::repositories::context::Context;
use crate::resolve::lookup::Among;
use crate::tree::{self, Opened};
use crate::{Engine, Error, Result};

/// How a filling meets another one, and what failed before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// A person asked: wait for another filling to end, and try again what failed.
    Person,
    /// Nobody waits: leave it to the other one, and do not repeat what failed under the same base and settings.
    Background,
}

/// What a filling did.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Filled {
    pub made: usize,
    pub refreshed: usize,
    /// Taken out: too many, or no longer good.
    pub retired: Drained,
    /// Ready in the end.
    pub ready: usize,
    /// Why it stopped before the pool was full.
    pub stopped: Option<String>,
}

impl Filled {
    /// Whether it changed anything; where it did not, another one would not either.
    #[must_use]
    pub fn did_something(&self) -> bool {
        self.made + self.refreshed + self.retired.deleted + self.retired.trashed.len() > 0
    }
}

impl Engine {
    /// Fills a repository's pool to its configured size. `None` when somebody else is at it.
    #[boxed]
    pub async fn fill_pool(
        &self,
        context: Context,
        patience: Patience,
        observer: &dyn Observer,
    ) -> Result<(Context, Option<Filled>)> {
        let repository = context.repository.id.clone();
        let lock = match patience {
            Patience::Person => self.lock_pool(&repository, observer).await?,
            Patience::Background => match self.try_lock_pool(&repository).await? {
                Some(lock) => lock,
                None => return Ok((context, None)),
            },
        };
        let (context, base) = match self.fresh_base(context, observer).await {
            Ok(fresh) => fresh,
            Err(error) => {
                self.record_failure(&repository, Some(&error.in_full()));
                return Err(error);
            }
        };
        let mut filled = Filled::default();
        let outcome = self.fill_to_size(&context, &base, patience, &mut filled, observer).await;
        if let Err(error) = &outcome {
            self.record_failure(&repository, Some(&error.in_full()));
        }
        outcome?;
        filled.ready = self.members(&context, &base, MemberState::Ready).await?.len();
        self.record_failure(&repository, filled.stopped.as_deref());
        drop(lock);
        Ok((context, Some(filled)))
    }

    async fn fill_to_size(
        &self,
        context: &Context,
        base: &Base,
        patience: Patience,
        filled: &mut Filled,
        observer: &dyn Observer,
    ) -> Result<()> {
        let size = usize::try_from(context.config().pool.size).unwrap_or(usize::MAX);
        match self.ensure_template(context, base, patience, &mut filled.retired, observer).await {
            Err(error @ Error::LowDisk { .. }) => {
                filled.stopped = Some(error.in_full());
                return Ok(());
            }
            ensured => ensured?,
        }
        // Members that are left where there is no pool any more are claimed, or drained by a person.
        if size == 0 && patience == Patience::Background {
            return Ok(());
        }
        self.set_aside_what_is_no_good(context, base).await?;
        for member in self.members(context, base, MemberState::Failed).await? {
            if size > 0 && patience == Patience::Background && fails_still(context, &member, Some(base)) {
                filled.stopped = failure_of(&member);
                return Ok(());
            }
            self.retire_member(context, &member, patience, &mut filled.retired, observer).await?;
        }
        // A member too many is not worth being brought up to date.
        let spare = self.claimable_count(context, base).await?.saturating_sub(size);
        let mut behind = self.members(context, base, MemberState::Behind).await?;
        for member in behind.drain(..spare.min(behind.len())) {
            self.retire_member(context, &member, patience, &mut filled.retired, observer).await?;
        }
        for member in behind {
            match self.refresh_member(context, &member, base, observer).await? {
                // A set-up need not be one that can be run twice: a new member shows whether it fails.
                Some(refreshed) if failure_of(&refreshed).is_some() => {
                    self.set_aside(&refreshed, failure_of(&refreshed).unwrap_or_default()).await?;
                    let aside = self.workspaces(Some(&context.repository.id), Among::Warm).await?;
                    for member in aside.iter().filter(|row| row.id == refreshed.id) {
                        self.retire_member(context, member, patience, &mut filled.retired, observer).await?;
                    }
                }
                Some(_) => filled.refreshed += 1,
                // Claimed meanwhile.
                None => {}
            }
        }
        while self.claimable_count(context, base).await? < size {
            if let Err(error) = self.check_disk(context, &base.tip).await {
                let Error::LowDisk { .. } = &error else { return Err(error) };
                filled.stopped = Some(error.in_full());
                return Ok(());
            }
            let made = self.make_member(context, base, Purpose::Claims, observer).await?;
            if let Some(error) = failure_of(&made) {
                filled.stopped = Some(error);
                return Ok(());
            }
            filled.made += 1;
        }
        let ready = self.members(context, base, MemberState::Ready).await?;
        for member in ready.iter().skip(size) {
            self.retire_member(context, member, patience, &mut filled.retired, observer).await?;
        }
        Ok(())
    }

    /// Members of a state that are to be handed out, oldest last.
    async fn members(&self, context: &Context, base: &Base, wanted: MemberState) -> Result<Vec<Workspace>> {
        let members = self.workspaces(Some(&context.repository.id), Among::Warm).await?;
        let is_wanted = |member: &Workspace| !is_template(member) && state(context, member, Some(base)) == wanted;
        Ok(members.into_iter().filter(is_wanted).collect())
    }

    async fn claimable_count(&self, context: &Context, base: &Base) -> Result<usize> {
        let ready = self.members(context, base, MemberState::Ready).await?.len();
        Ok(ready + self.members(context, base, MemberState::Behind).await?.len())
    }

    /// Takes members out of use that nobody can be given, or that can't be brought up to date: they do not count, and
    /// are retired like those that failed.
    async fn set_aside_what_is_no_good(&self, context: &Context, base: &Base) -> Result<()> {
        for wanted in [MemberState::Ready, MemberState::Behind] {
            for member in self.members(context, base, wanted).await? {
                let reason = match tree::open(context, &member) {
                    Opened::Missing => Some("its directory is gone".to_owned()),
                    // Its disk may not be mounted, and it may be whole.
                    Opened::RootMissing | Opened::Hidden(_) => None,
                    Opened::Damaged(error) => Some(error.to_string()),
                    Opened::Whole(tree) if is_handed_out(&tree) => Some(HANDED_OUT.to_owned()),
                    Opened::Whole(tree) => {
                        let stands = tree.load_head().await.is_ok_and(|head| is_at(&head, &member.base_commit));
                        let stuck = wanted == MemberState::Behind && self.is_touched(context, &member, &tree).await?;
                        (!stands || stuck).then(|| TOUCHED.to_owned())
                    }
                };
                if let Some(reason) = reason {
                    self.set_aside(&member, reason).await?;
                }
            }
        }
        Ok(())
    }

    /// Whether a member can't be brought up to date, since it contains changes.
    pub(super) async fn is_stuck(&self, context: &Context, member: &Workspace) -> Result<bool> {
        match tree::open(context, member) {
            Opened::Whole(tree) => self.is_touched(context, member, &tree).await,
            _ => Ok(true),
        }
    }

    /// Leaves a member where it is: nobody is given it, and `pool status` tells why.
    pub(super) async fn set_aside(&self, member: &Workspace, reason: String) -> Result<()> {
        let mut aside = member.clone();
        aside.metadata.warm = Some(member.metadata.warm.clone().unwrap_or_default().out_of_use(reason));
        let mut db = self.store.write().await?;
        db.lock_repository(&member.repository_id).await?;
        if db.workspace(&member.id).await?.is_some_and(|row| row.metadata.warm == member.metadata.warm) {
            db.update_workspace(&aside, &[member.status]).await?;
        }
        Ok(db.commit().await?)
    }
}

/// Whether a member was prepared, or failed to be, under the base and settings that hold now.
pub(super) fn is_current(context: &Context, member: &Workspace, base: &CommitId) -> bool {
    let settings = member.metadata.warm.as_ref().map(|warm| warm.settings.as_str());
    member.base_commit == *base && settings == Some(&settings_hash(context.config(), Purpose::of(member)))
}

/// Whether a HEAD stands on no branch, at a commit.
fn is_at(head: &Head, commit: &CommitId) -> bool {
    matches!(head, Head::Detached { commit: found, rebasing: None } if found == commit)
}

fn failure_of(member: &Workspace) -> Option<String> {
    member.metadata.warm.as_ref().and_then(|warm| warm.error.clone())
}
