//! Repositories inside of a tree: submodules that are checked out, and repositories that somebody added as if they were
//! files (gitlinks).
//!
//! Git itself goes into each of them when it is asked for the status of the tree, or adds its files, and runs what their
//! own configuration names, without the flags that it was given. So no call of ours lets it: they are asked one by one,
//! and only after their configuration was read. This is the one place that decides about it.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::process::command::Command;
use crate::settings::executing::Executing;
use crate::settings::own_config::OwnConfig;
use crate::worktree::linked::{Worktree, read_pointer};
use crate::worktree::status::{Change, Status, SubmoduleChange, seeing_all};
use crate::worktree::status_parse::parse_status;
use crate::worktree::submodule::parse_gitlinks;
use crate::{Error, Result};

/// How deep repositories may lie in each other.
const MOST_LEVELS: usize = 10;

/// A repository inside of the tree that git is not run in, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opaque {
    /// In the tree.
    pub path: PathBuf,
    why: Why,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Why {
    Runs(Executing),
    Place(String),
    /// Git would read it, too, or wait for it.
    Unreadable(String),
}

impl fmt::Display for Opaque {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = spinney_core::names::for_message(&self.path.to_string_lossy());
        match &self.why {
            Why::Runs(setting) => write!(f, "in the configuration of the repository `{path}` {setting}"),
            Why::Place(reason) | Why::Unreadable(reason) => write!(f, "of the repository `{path}` {reason}"),
        }
    }
}

/// The repositories inside of a tree.
#[derive(Debug, Default)]
pub(crate) struct Nested {
    /// By its path, with those inside of it.
    harmless: Vec<(PathBuf, Vec<Harmless>)>,
    opaque: Vec<Opaque>,
}

impl Nested {
    /// How far git may look at them by itself: not even at their HEADs, where one's configuration would be read.
    pub(crate) fn option(&self) -> &'static str {
        if self.opaque.is_empty() { "--ignore-submodules=dirty" } else { "--ignore-submodules=all" }
    }
}

/// A git dir whose configuration runs nothing, and the files that it is for.
#[derive(Debug)]
struct Harmless {
    git_dir: PathBuf,
    files: PathBuf,
}

impl Worktree {
    /// Finds what lies in each repository inside of the tree, before git itself comes near one.
    pub(crate) async fn find_nested(&self) -> Result<Nested> {
        let mut nested = Nested::default();
        for path in self.load_gitlinks().await? {
            match self.find_inside(&path).await? {
                Ok(inside) => nested.harmless.push((path, inside)),
                Err(opaque) if matches!(opaque.why, Why::Unreadable(_)) => return Err(Error::Opaque(Box::new(opaque))),
                Err(opaque) => nested.opaque.push(opaque),
            }
        }
        Ok(nested)
    }

    /// One of them, and all inside of it.
    async fn find_inside(&self, path: &Path) -> Result<Result<Vec<Harmless>, Opaque>> {
        let mut inside = Vec::new();
        let mut waiting = vec![(path.to_owned(), 1)];
        while let Some((path, level)) = waiting.pop() {
            if level > MOST_LEVELS {
                let why = Why::Place("it is not known what it holds: it lies too deep".to_owned());
                return Ok(Err(Opaque { path, why }));
            }
            let found = match self.require_harmless(&path).await? {
                Ok(found) => found,
                Err(opaque) => return Ok(Err(opaque)),
            };
            let listed = self.command_in(&found).args(["ls-files", "--stage", "-z"]).run().await?.stdout;
            let links = parse_gitlinks(&listed).into_iter().filter(|link| has_repository(&found.files.join(link)));
            waiting.extend(links.map(|link| (path.join(link), level + 1)));
            inside.push(found);
        }
        Ok(Ok(inside))
    }

    /// Adds to a status what changed in the repositories inside of the tree.
    pub(crate) async fn add_nested(&self, status: &mut Status, nested: Nested) -> Result<()> {
        for (path, inside) in nested.harmless {
            let Some(change) = self.load_changes(&inside).await? else { continue };
            match status.changes.iter_mut().find(|known| known.path == path) {
                Some(known) => {
                    let commit = known.submodule.is_some_and(|known| known.commit);
                    known.submodule = Some(SubmoduleChange { commit, ..change });
                    known.unstaged = true;
                }
                None => status.changes.push(Change {
                    path,
                    staged: false,
                    unstaged: true,
                    conflicted: false,
                    submodule: Some(change),
                }),
            }
        }
        status.opaque = nested.opaque;
        Ok(())
    }

    /// What changed in one and in those inside of it; none where nothing did.
    async fn load_changes(&self, inside: &[Harmless]) -> Result<Option<SubmoduleChange>> {
        let mut sum = SubmoduleChange { commit: false, modified: false, untracked: false };
        for found in inside {
            let status = parse_status(&seeing_all(self.command_in(found)).args(STATUS).run().await?.stdout);
            sum.modified |= !status.changes.is_empty();
            sum.untracked |= !status.untracked.is_empty();
        }
        Ok((sum.modified || sum.untracked).then_some(sum))
    }

    /// Finds the git dir of a repository at a path of the tree, if its configuration runs nothing.
    async fn require_harmless(&self, path: &Path) -> Result<Result<Harmless, Opaque>> {
        let files = self.path().join(path);
        let opaque = |reason: &str| Opaque { path: path.to_owned(), why: Why::Place(reason.to_owned()) };
        let pointer = files.join(".git");
        let kind = std::fs::symlink_metadata(&pointer).map_err(|source| Error::io("open", &pointer, source))?;
        let git_dir = if kind.is_dir() {
            pointer
        } else {
            let named = read_pointer(&pointer).filter(|_| kind.is_file());
            let named = named.and_then(|text| Some(files.join(text.strip_prefix("gitdir: ")?)));
            let Some(git_dir) = named.and_then(|named| std::fs::canonicalize(named).ok()) else {
                return Ok(Err(opaque("`.git` leads nowhere")));
            };
            if !git_dir.starts_with(self.admin_dir().join("modules")) && !git_dir.starts_with(self.path()) {
                return Ok(Err(opaque("`.git` leads out of the workspace")));
            }
            git_dir
        };
        Ok(self.check_git_dir(path, &git_dir).await?.map(|()| Harmless { git_dir, files }))
    }

    /// Whether a git dir's own configuration runs nothing.
    async fn check_git_dir(&self, path: &Path, git_dir: &Path) -> Result<Result<(), Opaque>> {
        let opaque = |why| Ok(Err(Opaque { path: path.to_owned(), why }));
        if std::fs::symlink_metadata(git_dir.join("commondir")).is_ok() {
            return opaque(Why::Place("`commondir` leads to another one".to_owned()));
        }
        let roots = ["config", "config.worktree"].map(|name| git_dir.join(name));
        match OwnConfig::load(self.repository().git(), &roots).await {
            Ok(found) => match found.executing.into_iter().next() {
                Some(setting) => opaque(Why::Runs(setting)),
                None => Ok(Ok(())),
            },
            Err(error) => opaque(Why::Unreadable(format!("the configuration is not usable ({error})"))),
        }
    }

    /// Fails where the configuration of a submodule's git dir runs something.
    pub(crate) async fn require_harmless_module(&self, name: &Path, git_dir: &Path) -> Result<()> {
        self.check_git_dir(name, git_dir).await?.map_err(|opaque| Error::Opaque(Box::new(opaque)))
    }

    fn command_in(&self, found: &Harmless) -> Command {
        let command = self.repository().git().command(&found.files);
        command.env("GIT_DIR", &found.git_dir).env("GIT_WORK_TREE", &found.files)
    }
}

const STATUS: [&str; 7] = [
    "status",
    "--porcelain=v2",
    "-z",
    "--no-ahead-behind",
    "--no-renames",
    "--untracked-files=normal",
    "--ignore-submodules=dirty",
];

/// Whether a repository lies at a path.
pub(crate) fn has_repository(path: &Path) -> bool {
    std::fs::symlink_metadata(path.join(".git")).is_ok()
}
