//! How a pool stands: which members are ready, which are behind, which failed.

use std::fs;
use std::path::PathBuf;

use async_recursion::async_recursion as boxed;
use serde::{Deserialize, Serialize};
use spinney_core::{CommitId, Populate, RepositoryId, RepositoryName, Timestamp, Warm, Workspace, WorkspaceName};

use super::{Purpose, settings_hash};
use crate::create::plan::Base;
use crate::repositories::context::Context;
use crate::resolve::lookup::Among;
use crate::{Engine, Error, Result};

/// What a member is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MemberState {
    /// At base, prepared.
    Ready,
    /// Prepared, but base or settings have moved on. Where only base has, a claim takes it and moves what differs.
    Behind,
    /// Somebody prepares it.
    Preparing,
    Failed,
    /// What others are filled from.
    Template,
}

#[derive(Debug, Clone, Serialize)]
pub struct PoolMember {
    pub name: WorkspaceName,
    pub state: MemberState,
    pub path: PathBuf,
    pub commit: CommitId,
    pub populate: Populate,
    pub error: Option<String>,
    pub prepared_at: Option<Timestamp>,
}

/// How a repository's pool stands.
#[derive(Debug, Clone, Serialize)]
pub struct PoolStatus {
    pub repository: RepositoryName,
    /// As configured.
    pub size: u32,
    /// Those that a claim takes: at base or behind.
    pub ready: usize,
    pub behind: usize,
    pub failed: usize,
    pub base: Option<String>,
    pub base_commit: Option<CommitId>,
    /// Whether somebody fills it now.
    pub filling: bool,
    /// Why the last filling stopped early.
    pub error: Option<String>,
    pub members: Vec<PoolMember>,
}

/// Why a filling stopped early, kept until one does not.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct LastFailure {
    error: String,
}

/// The pools of all repositories that could be looked at, and why the others could not.
#[derive(Debug)]
pub struct PoolStatuses {
    pub pools: Vec<PoolStatus>,
    pub failed: Vec<(RepositoryName, Error)>,
}

impl Engine {
    /// Looks at the pools of all repositories; one that can't be opened hides no other.
    #[boxed]
    pub async fn pool_statuses(&self) -> Result<PoolStatuses> {
        let (mut pools, mut failed) = (Vec::new(), Vec::new());
        for repository in self.repositories().await? {
            let name = repository.name.clone();
            let looked = async { self.pool_status(&self.known_repository(repository).await?).await };
            match looked.await {
                Ok(pool) => pools.push(pool),
                Err(error) => failed.push((name, error)),
            }
        }
        Ok(PoolStatuses { pools, failed })
    }

    /// Looks at a repository's pool, from the store and what is known of base.
    #[boxed]
    pub async fn pool_status(&self, context: &Context) -> Result<PoolStatus> {
        let base = self.known_start(context, None).await.ok();
        let members = self.workspaces(Some(&context.repository.id), Among::Warm).await?;
        let seen: Vec<PoolMember> =
            members.iter().map(|member| describe(member, state(context, member, base.as_ref()))).collect();
        let count = |state: MemberState| seen.iter().filter(|member| member.state == state).count();
        Ok(PoolStatus {
            repository: context.repository.name.clone(),
            size: context.config().pool.size,
            ready: count(MemberState::Ready) + count(MemberState::Behind),
            behind: count(MemberState::Behind),
            failed: count(MemberState::Failed),
            base: base.as_ref().map(|base| base.shown.clone()),
            base_commit: base.map(|base| base.tip),
            filling: self.is_pool_locked(&context.repository.id)?,
            error: self.last_failure(context),
            members: seen,
        })
    }

    /// Whether a filling would find something to do, and nobody is at it already: cheap enough to ask after each claim.
    #[boxed]
    pub async fn pool_wants_filling(&self, context: &Context) -> Result<bool> {
        let size = usize::try_from(context.config().pool.size).unwrap_or(usize::MAX);
        let base = self.known_start(context, None).await.ok();
        if self.template_wants_work(context, base.as_ref()).await? {
            return Ok(!self.is_pool_locked(&context.repository.id)?);
        }
        // Members that are left where there is no pool any more are claimed, or drained by a person.
        if size == 0 {
            return Ok(false);
        }
        let mut members = self.workspaces(Some(&context.repository.id), Among::Warm).await?;
        members.retain(|member| !is_template(member));
        let states: Vec<_> = members.iter().map(|member| state(context, member, base.as_ref())).collect();
        let count = |state: MemberState| states.iter().filter(|found| **found == state).count();
        // One that failed is a person's to look at; as long as nothing changed, no second one is tried.
        let in_vain = members.iter().any(|member| fails_still(context, member, base.as_ref()));
        let good = count(MemberState::Ready);
        let wants = count(MemberState::Behind) > 0 || (good < size && !in_vain) || good > size;
        Ok(wants && !self.is_pool_locked(&context.repository.id)?)
    }

    /// Keeps why a filling stopped, for `pool status`; forgets it after one that did not.
    pub(super) fn record_failure(&self, repository: &RepositoryId, error: Option<&str>) {
        let place = self.pool_place(repository, "json");
        // Only for a person to see: nothing depends on it.
        let _ = match error {
            Some(error) => {
                let failure = LastFailure { error: error.to_owned() };
                serde_json::to_vec(&failure).map_err(Into::into).and_then(|text| fs::write(place, text))
            }
            None => fs::remove_file(place),
        };
    }

    fn last_failure(&self, context: &Context) -> Option<String> {
        let text =
            spinney_git::read_regular(&self.pool_place(&context.repository.id, "json"), spinney_git::SETTINGS_BYTES)
                .ok()?;
        serde_json::from_slice::<LastFailure>(&text).ok().map(|failure| failure.error)
    }
}

pub(super) fn is_template(member: &Workspace) -> bool {
    member.metadata.warm.as_ref().is_some_and(|warm| warm.template)
}

/// What a member is good for, judged by its row.
pub(super) fn state(context: &Context, member: &Workspace, base: Option<&Base>) -> MemberState {
    let Some(warm) = &member.metadata.warm else { return MemberState::Failed };
    match warm {
        Warm { error: Some(_), .. } => MemberState::Failed,
        Warm { ready: false, .. } => MemberState::Preparing,
        Warm { template: true, .. } => MemberState::Template,
        Warm { settings, .. } => {
            let current = base.is_none_or(|base| base.tip == member.base_commit)
                && *settings == settings_hash(context.config(), Purpose::of(member));
            if current { MemberState::Ready } else { MemberState::Behind }
        }
    }
}

/// Whether a member's preparation failed under the base and settings that hold now: another's would, too.
pub(super) fn fails_still(context: &Context, member: &Workspace, base: Option<&Base>) -> bool {
    let settings = member.metadata.warm.as_ref().map(|warm| warm.settings.as_str());
    state(context, member, base) == MemberState::Failed
        && settings == Some(&settings_hash(context.config(), Purpose::of(member)))
        && base.is_none_or(|base| base.tip == member.base_commit)
}

fn describe(member: &Workspace, state: MemberState) -> PoolMember {
    let warm = member.metadata.warm.as_ref();
    PoolMember {
        name: member.name.clone(),
        state,
        path: member.path.clone(),
        commit: member.base_commit.clone(),
        populate: member.populate,
        error: warm.and_then(|warm| warm.error.clone()),
        prepared_at: warm.and_then(|warm| warm.settled_at_ms).map(Timestamp::from_millisecond),
    }
}
