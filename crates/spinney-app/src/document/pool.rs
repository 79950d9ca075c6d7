//! The workspaces that are prepared ahead of any work.

use serde::Serialize;
use utoipa::ToSchema;

use super::{Populate, Timestamp, path_text, texts};

/// How a repository's pool stands.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Pool {
    /// `owner/name`.
    pub repository: String,
    /// How many are to be kept ready, as configured.
    pub size: u32,
    /// Those that a claim takes: at base or behind.
    pub ready: usize,
    pub behind: usize,
    pub failed: usize,
    #[schema(required)]
    pub base: Option<String>,
    #[schema(required)]
    pub base_commit: Option<String>,
    /// Whether somebody fills it now.
    pub filling: bool,
    /// Why the last filling stopped early.
    #[schema(required)]
    pub error: Option<String>,
    pub members: Vec<PoolMember>,
}

impl Pool {
    #[must_use]
    pub fn of(pool: &spinney_engine::PoolStatus) -> Self {
        Self {
            repository: pool.repository.to_string(),
            size: pool.size,
            ready: pool.ready,
            behind: pool.behind,
            failed: pool.failed,
            base: pool.base.clone(),
            base_commit: pool.base_commit.as_ref().map(ToString::to_string),
            filling: pool.filling,
            error: pool.error.clone(),
            members: pool.members.iter().map(PoolMember::of).collect(),
        }
    }
}

/// A workspace of the pool.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct PoolMember {
    pub name: String,
    pub state: MemberState,
    pub path: String,
    pub commit: String,
    pub populate: Populate,
    #[schema(required)]
    pub error: Option<String>,
    #[schema(required)]
    pub prepared_at: Option<Timestamp>,
}

impl PoolMember {
    fn of(member: &spinney_engine::PoolMember) -> Self {
        Self {
            name: member.name.to_string(),
            state: member.state.into(),
            path: path_text(&member.path),
            commit: member.commit.to_string(),
            populate: member.populate.into(),
            error: member.error.clone(),
            prepared_at: member.prepared_at.map(Into::into),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum MemberState {
    /// At base, prepared.
    Ready,
    /// Prepared, but base or settings have moved on.
    Behind,
    /// Somebody prepares it.
    Preparing,
    Failed,
    /// What others are filled from.
    Template,
}

impl From<spinney_engine::MemberState> for MemberState {
    fn from(state: spinney_engine::MemberState) -> Self {
        match state {
            spinney_engine::MemberState::Ready => Self::Ready,
            spinney_engine::MemberState::Behind => Self::Behind,
            spinney_engine::MemberState::Preparing => Self::Preparing,
            spinney_engine::MemberState::Failed => Self::Failed,
            spinney_engine::MemberState::Template => Self::Template,
        }
    }
}

/// What a filling did.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Filled {
    pub made: usize,
    /// Brought up to date.
    pub refreshed: usize,
    /// Taken out: too many, or no longer good.
    pub retired: Drained,
    /// Ready in the end.
    pub ready: usize,
    /// Why it stopped before the pool was full.
    #[schema(required)]
    pub stopped: Option<String>,
}

impl Filled {
    #[must_use]
    pub fn of(filled: &spinney_engine::Filled) -> Self {
        Self {
            made: filled.made,
            refreshed: filled.refreshed,
            retired: Drained::of(&filled.retired),
            ready: filled.ready,
            stopped: filled.stopped.clone(),
        }
    }
}

/// What became of workspaces that were taken out of the pool.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Drained {
    /// How many were deleted: nobody had touched them.
    pub deleted: usize,
    /// In the trash: somebody had.
    pub trashed: Vec<String>,
    /// Still there: the name of each, and the reason.
    pub kept: Vec<[String; 2]>,
}

impl Drained {
    #[must_use]
    pub fn of(drained: &spinney_engine::Drained) -> Self {
        Self {
            deleted: drained.deleted,
            trashed: texts(&drained.trashed),
            kept: drained.kept.iter().map(|(name, reason)| [name.to_string(), reason.clone()]).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use spinney_core::WorkspaceName;

    use super::*;
    use crate::document::described::{assert_described, sample};

    fn member(error: Option<String>) -> spinney_engine::PoolMember {
        spinney_engine::PoolMember {
            name: WorkspaceName::new("warm-1"),
            state: spinney_engine::MemberState::Failed,
            path: "/warm".into(),
            commit: sample::commit(),
            populate: spinney_core::Populate::Reflink,
            prepared_at: error.as_ref().map(|_| sample::at(1)),
            error,
        }
    }

    #[test]
    fn a_pool_is_what_its_schema_says() {
        let error = Some("`npm ci` failed".to_owned());
        let full = spinney_engine::PoolStatus {
            repository: "acme/app".parse().unwrap(),
            size: 2,
            ready: 0,
            behind: 0,
            failed: 1,
            base: Some("main".to_owned()),
            base_commit: Some(sample::commit()),
            filling: false,
            error: error.clone(),
            members: vec![member(error.clone()), member(None)],
        };
        let bare =
            spinney_engine::PoolStatus { base: None, base_commit: None, error: None, members: vec![], ..full.clone() };
        assert_described(&Pool::of(&full), &Pool::of(&bare));
        assert_described(&PoolMember::of(&member(error)), &PoolMember::of(&member(None)));
    }

    #[test]
    fn a_filling_is_what_its_schema_says() {
        let name = || WorkspaceName::new("warm-1");
        let retired = spinney_engine::Drained {
            deleted: 1,
            trashed: vec![name()],
            kept: vec![(name(), "somebody is in it".to_owned())],
        };
        let stopped = Some("the disk is full".to_owned());
        let full = spinney_engine::Filled { retired, stopped, ..spinney_engine::Filled::default() };
        let bare = spinney_engine::Filled::default();
        assert_described(&Filled::of(&full), &Filled::of(&bare));
        assert_described(&Drained::of(&full.retired), &Drained::of(&bare.retired));
    }
}
