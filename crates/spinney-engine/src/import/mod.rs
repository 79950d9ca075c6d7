//! Takes over worktrees that other tools left: those that git lists, those in the places where tools keep them, and those
//! in the registries that tools keep of them.
//!
//! What a source tells is a hint, written by others: a path is believed only after the tree and its repository agree
//! about it, and the branch is the one that the tree is on. Nothing is moved or changed but for the marks that every
//! adopted tree gets. A source or entry that can't be used is reported, and stops nothing.

mod archon;
mod candidate;
mod guess;
mod registry;
mod roots;

use std::collections::{HashMap, HashSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use candidate::{Candidate, Collected, tool};
pub use candidate::Left;
use spinney_core::account::LOCAL;
use spinney_core::workspace::Metadata;
use spinney_core::{BranchName, Platform, RepositoryName, Work, Workspace, in_full};
use spinney_git::Worktree;
use spinney_store::Archon;

use crate::adopt::{Origin, reason};
use crate::context::Context;
use crate::provider::marker::Marker;
use crate::request::Request;
use crate::{Engine, Error, Result};

/// Every SQLite database begins so.
const SQLITE: &[u8] = b"SQLite format 3\0";

/// What an import is asked for.
#[derive(Debug, Default)]
pub struct Import {
    /// The person's home directory, in which tools keep things.
    pub user_home: Option<PathBuf>,
    /// Archon's own home.
    pub archon_home: Option<PathBuf>,
    /// The only thing to read: a database of Archon, or a registry of worktrees.
    pub from: Option<PathBuf>,
    /// Whether worktrees of other repositories are left alone.
    pub only_these: bool,
    /// The branch that the worktrees are based on.
    pub base: Option<BranchName>,
    pub dry_run: bool,
}

/// What an import found and did.
#[derive(Debug, Default)]
pub struct Imports {
    /// What can be taken over.
    pub found: Vec<Found>,
    pub imported: Vec<Workspace>,
    pub skipped: Vec<Left>,
    pub failed: Vec<Left>,
}

/// A worktree that can be taken over, and what is known about it.
#[derive(Debug, Clone)]
pub struct Found {
    pub path: PathBuf,
    pub from: &'static str,
    pub repository: RepositoryName,
    pub branch: BranchName,
    pub work: Work,
    pub title: Option<String>,
    pub platform: Platform,
    pub related_issues: Vec<u64>,
    pub related_prs: Vec<u64>,
    pub conversations: Vec<(Platform, String)>,
}

/// Why a candidate is not taken over.
enum Refusal {
    /// It is a workspace that Spinney made: nobody left it.
    Ours,
    /// It is nothing for us.
    Skipped(String),
    /// It should be, and can't.
    Failed(String),
}

use Refusal::{Failed, Ours, Skipped};

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let hints = error.hints().into_iter().map(|hint| format!("; {hint}"));
        Failed(std::iter::once(in_full(&error)).chain(hints).collect())
    }
}

impl Engine {
    /// Takes over what other tools left; `contexts` are the repositories whose own worktrees are looked at.
    pub async fn import(&self, contexts: Vec<Context>, import: &Import) -> Result<Imports> {
        // What lies in a person's home is that person's.
        if self.account != LOCAL {
            return Err(Error::ImportOfAccount { account: self.account.clone() });
        }
        let collected = self.collect(&contexts, import).await?;
        let mut report = Imports { skipped: collected.skipped, failed: collected.failed, ..Imports::default() };
        let mut contexts: HashMap<PathBuf, Context> =
            contexts.into_iter().map(|context| (context.git.common_dir().to_owned(), context)).collect();
        let selected: Option<HashSet<PathBuf>> = import.only_these.then(|| contexts.keys().cloned().collect());
        let mut seen = HashSet::new();
        for candidate in collected.candidates {
            let place = candidate.path.canonicalize().unwrap_or_else(|_| candidate.path.clone());
            // The source that knows most comes first.
            if !seen.insert(place) {
                continue;
            }
            let (path, from) = (candidate.path.clone(), candidate.from);
            match self.consider(candidate, &mut contexts, selected.as_ref(), import).await {
                Ok((found, imported)) => {
                    report.found.push(found);
                    report.imported.extend(imported);
                }
                Err(Ours) => {}
                Err(Skipped(reason)) => report.skipped.push(Left { path, from, reason }),
                Err(Failed(reason)) => report.failed.push(Left { path, from, reason }),
            }
        }
        Ok(report)
    }

    /// Asks every source, the one that knows most first.
    async fn collect(&self, contexts: &[Context], import: &Import) -> Result<Collected> {
        let mut collected = Collected::default();
        let user_home = import.user_home.as_deref();
        if let Some(path) = &import.from {
            read_file(path, user_home, &mut collected)
                .await
                .map_err(|reason| Error::ImportUnreadable { path: path.clone(), reason })?;
            return Ok(collected);
        }
        let files = [
            (import.archon_home.as_ref().map(|home| home.join("archon.db")), tool::ARCHON),
            (user_home.map(|home| home.join(".claude/worktree-registry.json")), tool::CLAUDE_WORKTREE_MANAGER),
        ];
        for (path, from) in files {
            let Some(path) = path.filter(|path| path.exists()) else { continue };
            if let Err(reason) = read_file(&path, user_home, &mut collected).await {
                collected.fail(path, from, reason);
            }
        }
        let in_home = roots::in_home(user_home, import.archon_home.as_deref());
        let in_checkouts = contexts.iter().filter_map(|context| context.git.root()).flat_map(roots::in_checkout);
        for (root, from) in in_home.into_iter().chain(in_checkouts) {
            roots::search(&root, from, &mut collected);
        }
        for context in contexts {
            match context.git.load_worktrees().await {
                Ok(entries) => {
                    let linked = entries.into_iter().filter(|entry| !entry.is_main && !entry.bare);
                    collected.candidates.extend(linked.map(|entry| Candidate::new(entry.path, tool::GIT)));
                }
                Err(error) => collected.fail(context.git.common_dir(), tool::GIT, in_full(&error)),
            }
        }
        Ok(collected)
    }

    /// Looks whether a candidate is a worktree to take over and, unless nothing is to happen, takes it over.
    async fn consider(
        &self,
        candidate: Candidate,
        contexts: &mut HashMap<PathBuf, Context>,
        selected: Option<&HashSet<PathBuf>>,
        import: &Import,
    ) -> Result<(Found, Option<Workspace>), Refusal> {
        let path = check_directory(&candidate.path)?;
        if let Some(known) = self.workspace_in(&path).await? {
            let ours = known.account == self.account && known.adopted_from.is_none();
            return Err(if ours { Ours } else { Skipped(format!("it is a workspace already: {}", known.name)) });
        }
        if is_repository_of_its_own(&path) {
            return Err(Skipped("it is a submodule, or a checkout with a git dir of its own elsewhere".to_owned()));
        }
        let common_dir = spinney_git::Repository::locate(&path)
            .ok_or_else(|| Failed("its `.git` file leads to no repository that it is a worktree of".to_owned()))?;
        if selected.is_some_and(|selected| !selected.contains(&common_dir)) {
            return Err(Skipped("it belongs to another repository".to_owned()));
        }
        if !contexts.contains_key(&common_dir) {
            let context = if import.dry_run {
                self.repository_unregistered(&common_dir).await?
            } else {
                self.repository(None, &common_dir).await?
            };
            contexts.insert(common_dir.clone(), context);
        }
        let Some(context) = contexts.get(&common_dir) else { return Err(Failed("its repository is gone".to_owned())) };
        let worktree = Worktree::open(&context.git, &path).map_err(|error| Failed(reason(&error)))?;
        self.check_unmarked(&worktree)?;
        let head = worktree.load_head().await.map_err(|error| Failed(reason(&error)))?;
        let Some(branch) = head.branch().cloned() else {
            return Err(Skipped("its HEAD is detached".to_owned()));
        };
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
        if import.dry_run {
            self.base_of(context, &found.branch, import.base.as_ref()).await?;
            self.check_free(context, &found.branch).await?;
            return Ok((found, None));
        }
        let workspace = self.import_worktree(context, &worktree, &found, import.base.clone()).await?;
        Ok((found, Some(workspace)))
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
    fn check_unmarked(&self, worktree: &Worktree) -> Result<(), Refusal> {
        if let Some(marker) = Marker::load(worktree.admin_dir()) {
            return Err(Skipped(if self.is_of_this_home(&marker) {
                "it is a workspace that the store forgot; `spinney cleanup orphans` takes it in".to_owned()
            } else {
                "it is a workspace of another Spinney home or account".to_owned()
            }));
        }
        let lock = std::fs::read_to_string(worktree.admin_dir().join("locked")).unwrap_or_default();
        if lock.starts_with("spinney:") {
            return Err(Skipped("it is being made by Spinney, or was left half made".to_owned()));
        }
        Ok(())
    }

    /// Gives a worktree its row, with what is known about it.
    async fn import_worktree(
        &self,
        context: &Context,
        worktree: &Worktree,
        found: &Found,
        base: Option<BranchName>,
    ) -> Result<Workspace> {
        let request = Request {
            title: found.title.clone(),
            platform: found.platform,
            base,
            ..Request::new(found.work.clone())
        };
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

/// Reads a file that a tool keeps, by what is in it; the reason where it can't be read.
async fn read_file(path: &Path, user_home: Option<&Path>, collected: &mut Collected) -> Result<(), String> {
    if !is_database(path).map_err(|error| error.to_string())? {
        return registry::read(path, user_home, collected);
    }
    let found = Archon::load(path).await.map_err(|error| in_full(&error))?;
    archon::collect(found, path, user_home, collected);
    Ok(())
}

fn is_database(path: &Path) -> std::io::Result<bool> {
    use std::io::Read as _;
    // A pipe would be waited for.
    if !std::fs::metadata(path)?.is_file() {
        return Ok(false);
    }
    let mut start = Vec::new();
    std::fs::File::open(path)?.take(SQLITE.len() as u64).read_to_end(&mut start)?;
    Ok(start == SQLITE)
}

/// Whether a `.git` file leads to a git dir that has no other: a submodule's, or one that lies apart from its checkout.
fn is_repository_of_its_own(path: &Path) -> bool {
    let text = std::fs::read_to_string(path.join(".git")).unwrap_or_default();
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
        Ok(metadata) if metadata.is_file() => Ok(path),
        Ok(metadata) if metadata.is_dir() => skipped("it is a main checkout, or a repository of its own"),
        Ok(_) => Err(Failed("its `.git` is neither a file nor a directory".to_owned())),
        Err(error) if error.kind() == ErrorKind::NotFound => skipped("it is no worktree: it has no `.git` file"),
        Err(error) => Err(Failed(error.to_string())),
    }
}
