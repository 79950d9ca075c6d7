//! Fills a pool: makes what is missing, brings up to date what is behind, takes out what is too much.

use serde::Serialize;
use spinney_core::Workspace;

use super::retire::Drained;
use super::survey::{MemberState, fails_still, state};
use crate::context::Context;
use crate::lookup::Among;
use crate::notice::Observer;
use crate::plan::Base;
use crate::provider::worktree::{self, Tree};
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
    pub async fn fill_pool(
        &self,
        context: Context,
        patience: Patience,
        observer: Observer<'_>,
    ) -> Result<(Context, Option<Filled>)> {
        let repository = context.repository.id.clone();
        let lock = match patience {
            Patience::Person => self.lock_pool(&repository).await?,
            Patience::Background => match self.try_lock_pool(&repository).await? {
                Some(lock) => lock,
                None => return Ok((context, None)),
            },
        };
        let (context, base) = self.fresh_base(context, observer).await?;
        let mut filled = Filled::default();
        let outcome = self.fill_to_size(&context, &base, patience, &mut filled, observer).await;
        if let Err(error) = &outcome {
            self.record_failure(&context, Some(&error.in_full()));
        }
        outcome?;
        filled.ready = self.members(&context, &base, MemberState::Ready).await?.len();
        self.record_failure(&context, filled.stopped.as_deref());
        drop(lock);
        Ok((context, Some(filled)))
    }

    async fn fill_to_size(
        &self,
        context: &Context,
        base: &Base,
        patience: Patience,
        filled: &mut Filled,
        observer: Observer<'_>,
    ) -> Result<()> {
        let size = usize::try_from(context.config().pool.size).unwrap_or(usize::MAX);
        for member in self.members(context, base, MemberState::Failed).await? {
            if size > 0 && patience == Patience::Background && fails_still(context, &member, Some(base)) {
                filled.stopped = failure_of(&member);
                return Ok(());
            }
            self.retire_member(context, &member, &mut filled.retired, observer).await?;
        }
        self.forget_missing(context, base, filled, observer).await?;
        // A member too many is not worth being brought up to date.
        let spare = self.claimable_count(context, base).await?.saturating_sub(size);
        let mut behind = self.members(context, base, MemberState::Behind).await?;
        for member in behind.drain(..spare.min(behind.len())) {
            self.retire_member(context, &member, &mut filled.retired, observer).await?;
        }
        for member in behind {
            if self.is_stuck(context, &member).await? {
                self.retire_member(context, &member, &mut filled.retired, observer).await?;
                continue;
            }
            match self.refresh_member(context, &member, base, observer).await? {
                Some(refreshed) if failure_of(&refreshed).is_some() => {
                    filled.stopped = failure_of(&refreshed);
                    return Ok(());
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
            let made = self.make_member(context, base, observer).await?;
            if let Some(error) = failure_of(&made) {
                filled.stopped = Some(error);
                return Ok(());
            }
            filled.made += 1;
        }
        let ready = self.members(context, base, MemberState::Ready).await?;
        for member in ready.iter().skip(size) {
            self.retire_member(context, member, &mut filled.retired, observer).await?;
        }
        Ok(())
    }

    /// Members of a state, oldest last.
    async fn members(&self, context: &Context, base: &Base, wanted: MemberState) -> Result<Vec<Workspace>> {
        let members = self.workspaces(Some(&context.repository.id), Among::Warm).await?;
        Ok(members.into_iter().filter(|member| state(context, member, Some(base)) == wanted).collect())
    }

    async fn claimable_count(&self, context: &Context, base: &Base) -> Result<usize> {
        let ready = self.members(context, base, MemberState::Ready).await?.len();
        Ok(ready + self.members(context, base, MemberState::Behind).await?.len())
    }

    /// Forgets members whose directory is gone.
    async fn forget_missing(
        &self,
        context: &Context,
        base: &Base,
        filled: &mut Filled,
        observer: Observer<'_>,
    ) -> Result<()> {
        for wanted in [MemberState::Ready, MemberState::Behind] {
            for member in self.members(context, base, wanted).await? {
                if let Tree::Missing = worktree::open(context, &member.path) {
                    self.retire_member(context, &member, &mut filled.retired, observer).await?;
                }
            }
        }
        Ok(())
    }

    /// Whether a member can't be brought up to date, since somebody put something into it.
    async fn is_stuck(&self, context: &Context, member: &Workspace) -> Result<bool> {
        match worktree::open(context, &member.path) {
            Tree::Whole(tree) => self.is_touched(context, member, &tree).await,
            _ => Ok(true),
        }
    }
}

fn failure_of(member: &Workspace) -> Option<String> {
    member.metadata.warm.as_ref().and_then(|warm| warm.error.clone())
}
