//! Whether a directory that a source names is a worktree to take over, and the taking over.

use std::collections::{HashMap, HashSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use spinney_core::workspace::Metadata;
use spinney_core::{BranchName, Workspace};
use spinney_git::{POINTER_BYTES, read_regular_text};

use super::candidate::Candidate;
use super::{Found, Import, guess};
use crate::import::adopt::{Origin, is_locked_by_spinney, reason};
use crate::repositories::context::Context;
use crate::resolve::request::Request;
use crate::tree::marker::Marker;
use crate::tree::{self, Tree};
use crate::{Engine, Error, Result};

/// Why a candidate is not taken over.
pub(super) enum Refusal {
    /// It is a workspace that Spinney made: nobody left it.
    Ours,
    /// It is nothing for us.
    Skipped(String),
    /// It should be, and can't.
    Failed(String),
    /// The same, for an error that knows what helps.
    Erred(Box<Error>),
}

use Refusal::{Erred, Failed, Ours, Skipped};

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        Erred(Box::new(error))
    }
}

/// The repositories that candidates turned out to belong to, by their common git dir.
pub(super) struct Repositories {
    /// Each with whether it has a row.
    contexts: HashMap<PathBuf, (Context, bool)>,
    /// Those whose worktrees alone are wanted.
    only: Option<HashSet<PathBuf>>,
}

impl Repositories {
    pub fn new(contexts: Vec<Context>, only_these: bool) -> Self {
        let contexts: HashMap<_, _> =
            contexts.into_iter().map(|context| (context.common_dir().to_owned(), (context, true))).collect();
        let only = only_these.then(|| contexts.keys().cloned().collect());
        Self { contexts, only }
    }

    /// Opens a repository as it is: one that nobody knows gets no row for being looked at.
    async fn look(&mut self, engine: &Engine, common_dir: &Path) -> Result<&Context> {
        if !self.contexts.contains_key(common_dir) {
            let opened = engine.repository_unregistered(common_dir).await?;
            self.contexts.insert(common_dir.to_owned(), opened);
        }
        self.opened(common_dir)
    }

    /// Gives a repository its row, as `repo add` would.
    async fn register(&mut self, engine: &Engine, common_dir: &Path) -> Result<&Context> {
        if !self.contexts.get(common_dir).is_some_and(|(_, registered)| *registered) {
            let context = engine.find_context(None, common_dir).await?;
            self.contexts.insert(common_dir.to_owned(), (context, true));
        }
        self.opened(common_dir)
    }

    fn opened(&self, common_dir: &Path) -> Result<&Context> {
        let opened = self.contexts.get(common_dir).map(|(context, _)| context);
        opened.ok_or_else(|| Error::Internal { what: format!("`{}` was not opened", common_dir.display()) })
    }
}

impl Engine {
    /// Looks whether a candidate is a worktree to take over and, unless nothing is to happen, takes it over.
    pub(super) async fn consider(
        &self,
        candidate: Candidate,
        repositories: &mut Repositories,
        import: &Import,
    ) -> Result<(Found, Option<Workspace>), Refusal> {
        let path = check_directory(&candidate.path)?;
        if let Some(known) = self.workspace_in(&path).await? {
            let ours = known.account == self.account && known.adopted_from.is_none();
            return Err(if ours { Ours } else { Skipped(format!("it is a workspace already: {}", known.name)) });
        }
        let common_dir = spinney_git::Repository::locate(&path)
            .ok_or_else(|| Failed("its `.git` file leads to no repository that it is a worktree of".to_owned()))?;
        if repositories.only.as_ref().is_some_and(|only| !only.contains(&common_dir)) {
            return Err(Skipped("it belongs to another repository".to_owned()));
        }
        let mut context = repositories.look(self, &common_dir).await?;
        let worktree = tree::linked(context, &path).map_err(|error| Failed(reason(&error)))?;
        self.check_unmarked(&worktree)?;
        let head = worktree.load_head().await.map_err(|error| Failed(reason(&error)))?;
        let Some(branch) = head.branch().cloned() else {
            return Err(Skipped("its HEAD is detached; `git switch -c NAME` gives it a branch".to_owned()));
        };
        self.base_of(context, &branch, import.base.as_ref()).await?;
        self.check_free(context, &branch).await?;
        if !import.dry_run {
            context = repositories.register(self, &common_dir).await?;
        }
        let work =
            candidate.work.unwrap_or_else(|| guess::work_of(&branch, &candidate.path, candidate.likely.as_ref()));
        let found = Found {
            path,
            from: candidate.from,
            repository: context.repository.name.clone(),
            work: self.free_work(context, &branch, Some(work)).await?,
            branch,
            title: candidate.title,
            platform: candidate.platform,
            related_issues: candidate.related_issues,
            related_prs: candidate.related_prs,
            conversations: candidate.conversations,
        };
        let workspace = match import.dry_run {
            true => None,
            false => Some(self.import_worktree(context, &worktree, &found, import.base.clone()).await?),
        };
        Ok((found, workspace))
    }

    async fn workspace_in(&self, path: &Path) -> Result<Option<Workspace>> {
        Ok(self.store.read().await?.workspace_at(self.home.node(), path).await?)
    }

    /// Refuses where a workspace has the branch.
    async fn check_free(&self, context: &Context, branch: &BranchName) -> Result<()> {
        match self.store.read().await?.workspace_on_branch(&context.repository.id, branch).await? {
            Some(Workspace { name, status, .. }) => {
                Err(Error::BranchOfWorkspace { branch: branch.clone(), name, status })
            }
            None => Ok(()),
        }
    }

    /// Leaves alone what carries Spinney's marks.
    fn check_unmarked(&self, worktree: &Tree) -> Result<(), Refusal> {
        if let Some(marker) = Marker::load(worktree.admin_dir()) {
            return Err(Skipped(if self.is_of_this_home(&marker) {
                "it is a workspace without a row in the store; a cleanup of orphans registers it again".to_owned()
            } else {
                "it is a workspace of another Spinney home or account".to_owned()
            }));
        }
        if is_locked_by_spinney(worktree) {
            return Err(Skipped("it is being made by Spinney, or was left half made".to_owned()));
        }
        Ok(())
    }

    /// Gives a worktree its row, with what is known about it.
    async fn import_worktree(
        &self,
        context: &Context,
        worktree: &Tree,
        found: &Found,
        base: Option<BranchName>,
    ) -> Result<Workspace> {
        let request =
            Request { title: found.title.clone(), platform: found.platform, base, ..Request::new(found.work.clone()) };
        let origin = Origin {
            from: found.from.to_owned(),
            metadata: Metadata {
                related_issues: found.related_issues.clone(),
                related_prs: found.related_prs.clone(),
                migrated: true,
                ..Metadata::default()
            },
            conversations: found.conversations.clone(),
        };
        self.require_adopted(context, worktree, found.branch.clone(), &request, origin).await
    }
}

/// Whether a `.git` file leads to a git dir that has no other: a submodule's, or one that lies apart from its checkout.
fn is_repository_of_its_own(path: &Path) -> bool {
    let text = read_regular_text(&path.join(".git"), POINTER_BYTES).unwrap_or_default();
    let Some(git_dir) = text.trim_end().strip_prefix("gitdir: ").map(|named| path.join(named)) else { return false };
    git_dir.join("HEAD").is_file() && !git_dir.join("commondir").exists()
}

/// The directory that a source names, in full, if it can be a linked worktree.
fn check_directory(given: &Path) -> Result<PathBuf, Refusal> {
    let skipped = |reason: &str| Err(Skipped(reason.to_owned()));
    if !given.is_absolute() {
        return Err(Failed("it is no path from the root".to_owned()));
    }
    let path = match given.canonicalize() {
        Ok(path) => path,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return skipped("it is gone");
        }
        Err(error) => return Err(Failed(error.to_string())),
    };
    match path.to_str() {
        None => return skipped("its path is not UTF-8"),
        Some(text) if text.contains(char::is_control) => return skipped("its path has control characters"),
        Some(_) => {}
    }
    if !path.is_dir() {
        return skipped("it is no directory");
    }
    match std::fs::symlink_metadata(path.join(".git")) {
        Ok(metadata) if metadata.is_file() && is_repository_of_its_own(&path) => {
            skipped("it is a submodule, or a checkout with a git dir of its own elsewhere")
        }
        Ok(metadata) if metadata.is_file() => Ok(path),
        Ok(metadata) if metadata.is_dir() => skipped("it is a main checkout, or a repository of its own"),
        Ok(_) => Err(Failed("its `.git` is neither a file nor a directory".to_owned())),
        Err(error) if error.kind() == ErrorKind::NotFound => skipped("it is no worktree: it has no `.git` file"),
        Err(error) => Err(Failed(error.to_string())),
    }
}
