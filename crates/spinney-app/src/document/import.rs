//! What was taken over from other tools.

use serde::Serialize;
use spinney_engine::{Engine, Found, Imports, Left};

use super::{Platform, WorkKind, Workspace, path_text};
use crate::{Front, words};

/// What an import did, or would do.
#[derive(Debug, Clone, Serialize)]
pub struct Import {
    pub dry_run: bool,
    pub found: Vec<FoundWorktree>,
    pub imported: Vec<Workspace>,
    pub skipped: Vec<LeftWorktree>,
    pub failed: Vec<LeftWorktree>,
}

/// A worktree of another tool.
#[derive(Debug, Clone, Serialize)]
pub struct FoundWorktree {
    pub path: String,
    pub adopted_from: String,
    pub repository: String,
    pub branch: String,
    pub kind: WorkKind,
    pub key: String,
    pub title: Option<String>,
    pub platform: Platform,
    pub conversations: Vec<Conversation>,
}

/// A conversation that had the worktree.
#[derive(Debug, Clone, Serialize)]
pub struct Conversation {
    pub platform: Platform,
    pub id: String,
}

/// A directory that was left as it is, and why.
#[derive(Debug, Clone, Serialize)]
pub struct LeftWorktree {
    pub path: String,
    pub adopted_from: String,
    pub reason: String,
}

impl Import {
    #[must_use]
    pub fn of(engine: &Engine, imports: &Imports, dry_run: bool, front: Front) -> Self {
        let left = |left: &Left| LeftWorktree::of(left, front);
        Self {
            dry_run,
            found: imports.found.iter().map(FoundWorktree::of).collect(),
            imported: imports.imported.iter().map(|workspace| Workspace::of(engine, workspace)).collect(),
            skipped: imports.skipped.iter().map(left).collect(),
            failed: imports.failed.iter().map(left).collect(),
        }
    }
}

impl FoundWorktree {
    fn of(found: &Found) -> Self {
        let conversation = |(platform, id): &(spinney_core::Platform, String)| Conversation {
            platform: (*platform).into(),
            id: id.clone(),
        };
        Self {
            path: path_text(&found.path),
            adopted_from: found.from.to_owned(),
            repository: found.repository.to_string(),
            branch: found.branch.to_string(),
            kind: found.work.kind.into(),
            key: found.work.key.clone(),
            title: found.title.clone(),
            platform: found.platform.into(),
            conversations: found.conversations.iter().map(conversation).collect(),
        }
    }
}

impl LeftWorktree {
    fn of(left: &Left, front: Front) -> Self {
        Self {
            path: path_text(&left.path),
            adopted_from: left.from.to_owned(),
            reason: words::with_advice(&left.reason, &left.advice, front),
        }
    }
}
