//! Takes over worktrees that other tools left: those that git lists, those in the places where tools keep them, and those
//! in the registries that tools keep of them.
//!
//! What a source tells is a hint, written by others: a path is believed only after the tree and its repository agree
//! about it, and the branch is the one that the tree is on. Nothing is moved or changed but for the marks that every
//! adopted tree gets. A source or entry that can't be used is reported, and stops nothing.

pub(crate) mod adopt;
mod archon;
mod candidate;
mod consider;
mod guess;
mod registry;
mod roots;

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use async_recursion::async_recursion as boxed;
pub use candidate::Left;
use candidate::{Candidate, Collected, tool};
use consider::Refusal::{Erred, Failed, Ours, Skipped};
use consider::Repositories;
use spinney_core::account::LOCAL;
use spinney_core::{BranchName, Platform, RepositoryName, Work, Workspace, in_full};
use spinney_store::{Archon, StoreUrl};

use crate::repositories::context::Context;
use crate::{Engine, Error, Result};

/// Every SQLite database begins so.
const SQLITE: &[u8] = b"SQLite format 3\0";
const NO_SERVER: &str = "it is no URL of PostgreSQL, as `postgres://USER@HOST/DATABASE`";
/// How the URL of a server begins, also one that has a mistake in it, and a password.
const SERVERS: [&str; 2] = ["postgres:", "postgresql:"];

/// What a person names as the only thing to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImportSource {
    /// A database of Archon, or a registry of worktrees.
    File(PathBuf),
    /// A database of Archon on a server.
    Server(StoreUrl),
}

impl ImportSource {
    /// A file, below a directory if its path has no root, or the URL of a server. What looks like such a URL is no file.
    ///
    /// # Errors
    ///
    /// If it is the URL of something else.
    pub fn parse(text: &OsStr, directory: &Path) -> Result<Self> {
        let url =
            text.to_str().filter(|text| text.contains("://") || SERVERS.iter().any(|name| text.starts_with(name)));
        let Some(url) = url else { return Ok(Self::File(directory.join(text))) };
        match StoreUrl::parse(url) {
            Ok(server @ StoreUrl::Postgres(_)) => Ok(Self::Server(server)),
            Ok(StoreUrl::Sqlite(path)) => Ok(Self::File(directory.join(path))),
            Err(spinney_store::Error::InvalidUrl { url: place }) => {
                Err(Error::ImportUnreadable { place, reason: NO_SERVER.to_owned() })
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// What an import is asked for.
#[derive(Debug, Default)]
pub struct Import {
    /// The person's home directory, in which tools keep things.
    pub user_home: Option<PathBuf>,
    /// Archon's own home.
    pub archon_home: Option<PathBuf>,
    /// The only thing to read.
    pub from: Option<ImportSource>,
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

impl Engine {
    /// Takes over what other tools left; `contexts` are the repositories whose own worktrees are looked at.
    #[boxed]
    pub async fn import(&self, contexts: Vec<Context>, import: &Import) -> Result<Imports> {
        // What lies in a person's home is that person's.
        if self.account != LOCAL {
            return Err(Error::ImportOfAccount { account: self.account.clone() });
        }
        let collected = self.collect(&contexts, import).await?;
        let mut report = Imports { skipped: collected.skipped, failed: collected.failed, ..Imports::default() };
        let mut repositories = Repositories::new(contexts, import.only_these);
        let mut seen = HashSet::new();
        for candidate in collected.candidates {
            let place = candidate.path.canonicalize().unwrap_or_else(|_| candidate.path.clone());
            // The source that knows most comes first.
            if !seen.insert(place) {
                continue;
            }
            let (path, from) = (candidate.path.clone(), candidate.from);
            match self.consider(candidate, &mut repositories, import).await {
                Ok((found, imported)) => {
                    report.found.push(found);
                    report.imported.extend(imported);
                }
                Err(Ours) => {}
                Err(Skipped(reason)) => report.skipped.push(Left { path, from, reason, advice: Vec::new() }),
                Err(Failed(reason)) => report.failed.push(Left { path, from, reason, advice: Vec::new() }),
                Err(Erred(error)) => {
                    let (reason, advice) = (in_full(error.as_ref()), error.advice());
                    report.failed.push(Left { path, from, reason, advice });
                }
            }
        }
        Ok(report)
    }

    /// Asks every source, the one that knows most first.
    async fn collect(&self, contexts: &[Context], import: &Import) -> Result<Collected> {
        let mut collected = Collected::default();
        let user_home = import.user_home.as_deref();
        if let Some(from) = &import.from {
            let (place, read) = match from {
                ImportSource::Server(url) => (url.shown(), self.read_archon(url, user_home, &mut collected).await),
                ImportSource::File(path) => {
                    let read = match self.is_database(path) {
                        Ok(true) => self.read_archon(&StoreUrl::Sqlite(path.clone()), user_home, &mut collected).await,
                        Ok(false) => registry::read(path, user_home, &mut collected),
                        Err(reason) => Err(reason),
                    };
                    (path.display().to_string(), read)
                }
            };
            read.map_err(|reason| Error::ImportUnreadable { place, reason })?;
            return Ok(collected);
        }
        let there = |home: Option<&Path>, file: &str| home.map(|home| home.join(file)).filter(|path| path.exists());
        if let Some(path) = there(import.archon_home.as_deref(), "archon.db") {
            let read = match self.is_database(&path) {
                Ok(true) => self.read_archon(&StoreUrl::Sqlite(path.clone()), user_home, &mut collected).await,
                Ok(false) => Err("it is no database".to_owned()),
                Err(reason) => Err(reason),
            };
            read.unwrap_or_else(|reason| collected.fail(path, tool::ARCHON, reason));
        }
        if let Some(path) = there(user_home, ".claude/worktree-registry.json") {
            let read = registry::read(&path, user_home, &mut collected);
            read.unwrap_or_else(|reason| collected.fail(path, tool::CLAUDE_WORKTREE_MANAGER, reason));
        }
        let in_home = roots::in_home(user_home, import.archon_home.as_deref());
        let in_checkouts = contexts.iter().filter_map(|context| context.root()).flat_map(roots::in_checkout);
        for (root, from) in in_home.into_iter().chain(in_checkouts) {
            roots::search(&root, from, &mut collected);
        }
        for context in contexts {
            match context.load_worktrees().await {
                Ok(entries) => {
                    let linked = entries.into_iter().filter(|entry| !entry.is_main && !entry.bare);
                    collected.candidates.extend(linked.map(|entry| Candidate::new(entry.path, tool::GIT)));
                }
                Err(error) => collected.fail(context.common_dir(), tool::GIT, in_full(&error)),
            }
        }
        Ok(collected)
    }

    /// Whether a file is a SQLite database, but not our own: to open and close that one would drop the locks of SQLite.
    fn is_database(&self, path: &Path) -> Result<bool, String> {
        let look = || -> std::io::Result<bool> {
            let file = std::fs::metadata(path)?;
            let identity = |metadata: &Metadata| (metadata.dev(), metadata.ino());
            let own = std::fs::metadata(self.home.database()).is_ok_and(|own| identity(&own) == identity(&file));
            // A pipe would be waited for.
            if own || !file.is_file() {
                return Err(std::io::Error::other("it is nothing that another tool left"));
            }
            let mut start = Vec::new();
            File::open(path)?.take(SQLITE.len() as u64).read_to_end(&mut start)?;
            Ok(start == SQLITE)
        };
        look().map_err(|error| error.to_string())
    }

    async fn read_archon(
        &self,
        url: &StoreUrl,
        user_home: Option<&Path>,
        collected: &mut Collected,
    ) -> Result<(), String> {
        let found = Archon::load(url).await.map_err(|error| match error {
            spinney_store::Error::InvalidUrl { .. } => NO_SERVER.to_owned(),
            error => in_full(&error),
        })?;
        archon::collect(found, Path::new(&url.shown()), user_home, &self.config.platforms, collected);
        Ok(())
    }
}
