//! A directory that another tool says is a worktree, and what it knows about it.

use std::path::{Path, PathBuf};

use spinney_core::{Advice, Platform, Work};

/// The tools that worktrees are taken over from, as `adopted_from` has them.
pub(super) mod tool {
    pub const ARCHON: &str = "archon";
    /// Claude Code itself.
    pub const CLAUDE: &str = "claude";
    /// The skill that keeps `~/.claude/worktree-registry.json`.
    pub const CLAUDE_WORKTREE_MANAGER: &str = "claude-worktree-manager";
    /// Whoever ran `git worktree add`.
    pub const GIT: &str = "git";
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Candidate {
    pub path: PathBuf,
    pub from: &'static str,
    /// What the tool says that it is for.
    pub work: Option<Work>,
    /// What it is for where no name tells.
    pub likely: Option<Work>,
    pub title: Option<String>,
    pub platform: Platform,
    pub related_issues: Vec<u64>,
    pub related_prs: Vec<u64>,
    pub conversations: Vec<(Platform, String)>,
}

impl Candidate {
    pub fn new(path: impl Into<PathBuf>, from: &'static str) -> Self {
        Self {
            path: path.into(),
            from,
            work: None,
            likely: None,
            title: None,
            platform: Platform::Cli,
            related_issues: Vec::new(),
            related_prs: Vec::new(),
            conversations: Vec::new(),
        }
    }
}

/// A directory that is left as it is, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    pub path: PathBuf,
    pub from: &'static str,
    pub reason: String,
    /// What helps.
    pub advice: Vec<Advice>,
}

/// What the sources told.
#[derive(Debug, Default)]
pub(super) struct Collected {
    pub candidates: Vec<Candidate>,
    pub skipped: Vec<Left>,
    pub failed: Vec<Left>,
}

impl Collected {
    pub fn skip(&mut self, path: impl Into<PathBuf>, from: &'static str, reason: impl Into<String>) {
        self.skipped.push(Left { path: path.into(), from, reason: reason.into(), advice: Vec::new() });
    }

    pub fn fail(&mut self, path: impl Into<PathBuf>, from: &'static str, reason: impl Into<String>) {
        self.failed.push(Left { path: path.into(), from, reason: reason.into(), advice: Vec::new() });
    }
}

/// A path as other tools write it, which may begin with `~`.
pub(super) fn expanded(path: &str, user_home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix("~/"), user_home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(path),
    }
}

/// A title as it may be kept: one line, not too long; nothing where it says nothing.
pub(super) fn title(text: &str) -> Option<String> {
    const MOST_CHARACTERS: usize = 200;
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.chars().filter(|c| !c.is_control()).take(MOST_CHARACTERS).collect())
}
