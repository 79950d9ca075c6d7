//! Which workspaces would conflict with each other, or with base, were they merged now.
//!
//! 1. Each live workspace's HEAD is read from its tree: an agent may have renamed its branch or left it.
//! 2. What is unstarted or merged already has nothing to conflict.
//! 3. The rest is tried against its base, and in pairs against each other, where their changes can meet at all.
//!
//! Committed work is judged; what is not committed yet is counted, and told beside. Nothing is fetched, no tree, index
//! or ref is touched, and the objects that a try makes go with it. What can't be judged is told, never left out.

use std::path::{Path, PathBuf};

use async_recursion::async_recursion as boxed;
use spinney_core::{BranchName, CommitId, Merge, STATE_FILE, Workspace, WorkspaceName, WorkspaceStatus};
use spinney_git::{ChangedPaths, MergeAttempt, Repository, StatusOptions};

use crate::inspect::crowd::ask_all;
use crate::repositories::context::Context;
use crate::resolve::lookup::Among;
use crate::tree::{self, Opened, Tree, open};

use crate::{Engine, Result};

/// How many tries are kept in mind at once; each takes some memory before it begins.
const AT_A_TIME: usize = 256;

/// What was found among the workspaces of one repository.
#[derive(Debug, Default)]
pub struct Conflicts {
    pub found: Vec<Conflict>,
    /// Workspaces with work of their own, which were compared.
    pub compared: usize,
    /// Workspaces with files that are not committed, and how many: these were not judged.
    pub uncommitted: Vec<(WorkspaceName, usize)>,
    /// What could not be judged, and why.
    pub unknown: Vec<(WorkspaceName, String)>,
}

impl Conflicts {
    /// Forgets what is not only about these workspaces.
    pub fn retain_among(&mut self, names: &[WorkspaceName]) {
        let is_seen = |opponent: &Opponent| match opponent {
            Opponent::Workspace(name) => names.contains(name),
            Opponent::Base(_) => true,
        };
        self.found.retain(|conflict| names.contains(&conflict.workspace) && is_seen(&conflict.with));
        self.uncommitted.retain(|(name, _)| names.contains(name));
        self.unknown.retain(|(name, _)| names.contains(name));
        self.compared = self.compared.min(names.len());
    }
}

/// Two that would conflict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    pub workspace: WorkspaceName,
    pub with: Opponent,
    /// Sorted; git may find a conflict that is in no file.
    pub files: Vec<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opponent {
    Workspace(WorkspaceName),
    Base(BranchName),
}

/// A workspace's own work.
struct Line {
    name: WorkspaceName,
    tip: CommitId,
    /// The tip of its base, where that is known.
    base: Option<(BranchName, CommitId)>,
    changes: ChangedPaths,
}

/// What a look at one workspace found.
#[derive(Default)]
struct Look {
    line: Option<Line>,
    uncommitted: usize,
    unknown: Vec<String>,
}

impl Engine {
    /// Tries the live workspaces of a repository against base and against each other.
    #[boxed]
    pub async fn conflicts(&self, context: &Context) -> Result<Conflicts> {
        let mut workspaces = self.workspaces(Some(&context.repository.id), Among::Live).await?;
        workspaces.retain(|workspace| has_work(workspace.status));
        workspaces.sort_by(|a, b| a.name.cmp(&b.name));
        let git = context.with_scratch_objects()?;
        let mut conflicts = Conflicts::default();
        let mut lines = Vec::new();
        let questions: Vec<_> = workspaces.iter().map(|workspace| self.look_at(context, &git, workspace)).collect();
        let looks = ask_all(questions).await;
        for (workspace, look) in workspaces.iter().zip(looks) {
            if look.uncommitted > 0 {
                conflicts.uncommitted.push((workspace.name.clone(), look.uncommitted));
            }
            conflicts.unknown.extend(look.unknown.into_iter().map(|why| (workspace.name.clone(), why)));
            lines.extend(look.line);
        }
        conflicts.compared = lines.len();
        conflicts.compare(&git, &lines).await;
        Ok(conflicts)
    }

    /// Looks at one workspace: what of it is to be compared, and what can't be.
    async fn look_at(&self, context: &Context, git: &Repository, workspace: &Workspace) -> Look {
        let mut look = Look::default();
        let worktree = match open(context, workspace) {
            Opened::Whole(worktree) => worktree,
            Opened::Missing => return look.without("its directory is gone"),
            Opened::RootMissing => return look.without("its disk is not mounted"),
            Opened::Damaged(error) | Opened::Hidden(error) => return look.without(error),
        };
        match count_uncommitted(&worktree).await {
            Ok(count) => look.uncommitted = count,
            Err(error) => look.unknown.push(format!("what is not committed: {error}")),
        }
        let tip = match worktree.load_head().await {
            Ok(head) => head.commit().cloned(),
            Err(error) => return look.without(error),
        };
        let Some(tip) = tip else { return look.without("it has no commit") };
        if let Err(error) = tree::bring_in(context, workspace).await {
            return look.without(error);
        }
        let base = self.base_tip(context, workspace).await;
        match line(git, workspace, tip, base).await {
            Ok(line) => look.line = line,
            Err(error) => return look.without(error),
        }
        if look.line.as_ref().is_some_and(|line| line.base.is_none()) {
            return look.without("its base branch is gone, so it was compared with the others only");
        }
        look
    }
}

impl Look {
    fn without(mut self, why: impl std::fmt::Display) -> Self {
        self.unknown.push(why.to_string());
        self
    }
}

impl Conflicts {
    async fn compare(&mut self, git: &Repository, lines: &[Line]) {
        let with_base = lines.iter().filter_map(|line| {
            let (branch, tip) = line.base.as_ref()?;
            Some((line, tip, Opponent::Base(branch.clone())))
        });
        let pairs = lines.iter().enumerate().flat_map(|(place, line)| {
            let others = lines[place + 1..].iter().filter(|other| line.changes.may_conflict_with(&other.changes));
            others.map(move |other| (line, &other.tip, Opponent::Workspace(other.name.clone())))
        });
        let pairs: Vec<_> = with_base.chain(pairs).collect();
        for some in pairs.chunks(AT_A_TIME) {
            // Made before any is tried: a closure over borrowed lines can't be kept by a task that moves between threads.
            let tries: Vec<_> = some.iter().map(|(line, tip, with)| attempt(git, line, tip, with)).collect();
            for (line, with, attempt) in ask_all(tries).await {
                match attempt {
                    Ok(MergeAttempt::Clean) => {}
                    Ok(MergeAttempt::Conflicted { files }) => {
                        self.found.push(Conflict { workspace: line.name.clone(), with: with.clone(), files });
                    }
                    Err(error) => self.unknown.push((line.name.clone(), format!("against {}: {error}", with.as_str()))),
                }
            }
        }
    }
}

async fn attempt<'l>(
    git: &Repository,
    line: &'l Line,
    tip: &CommitId,
    with: &'l Opponent,
) -> (&'l Line, &'l Opponent, spinney_git::Result<MergeAttempt>) {
    (line, with, git.attempt_merge(tip, &line.tip).await)
}

impl Opponent {
    /// The workspace's or the branch's name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Workspace(name) => name.as_str(),
            Self::Base(branch) => branch.as_str(),
        }
    }
}

/// What is being made or removed has no work to compare; what is lost or broken is looked at, and told.
fn has_work(status: WorkspaceStatus) -> bool {
    matches!(status, WorkspaceStatus::Active | WorkspaceStatus::Lost | WorkspaceStatus::Broken)
}

/// The work of a workspace that is not in base yet, none where there is none; or why that can't be told.
async fn line(
    git: &Repository,
    workspace: &Workspace,
    tip: CommitId,
    base: Option<CommitId>,
) -> std::result::Result<Option<Line>, String> {
    let untold = |error: spinney_git::Error| error.to_string();
    let fork = match &base {
        Some(base) => match git.load_merge(&tip, base, &workspace.base_commit).await.map_err(untold)? {
            Merge::Unstarted | Merge::Merged(_) => return Ok(None),
            Merge::Unmerged { .. } | Merge::Unknown { .. } => {
                let fork = git.load_merge_base(&tip, base).await.map_err(untold)?;
                fork.ok_or_else(|| "it shares no history with base".to_owned())?
            }
        },
        None => workspace.base_commit.clone(),
    };
    let changes = git.load_changed_paths(&fork, &tip).await.map_err(untold)?;
    if changes.is_empty() {
        return Ok(None);
    }
    let base = workspace.base_branch.clone().zip(base);
    Ok(Some(Line { name: workspace.name.clone(), tip, base, changes }))
}

async fn count_uncommitted(worktree: &Tree) -> spinney_git::Result<usize> {
    let status = worktree.load_status(&StatusOptions { untracked: true, ignored: false }).await?.require_known()?;
    let untracked = status.untracked.iter().filter(|entry| entry.path != Path::new(STATE_FILE)).count();
    Ok(status.changes.len() + untracked)
}
