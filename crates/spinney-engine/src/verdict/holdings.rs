//! What a tree holds that git would not give back, told apart by what becomes of it. The verdict, the archive, the pool
//! and the reclaiming of caches go by this one answer.
//!
//! It comes from a walk of every path on disk (`spinney_git::Survey`). Git's `status` says only which of the paths that
//! the index does not have are ignored, and adds what it finds: what it does not list is `untracked` all the same.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use async_recursion::async_recursion as boxed;
use spinney_core::config::Config;
use spinney_git::{Difference, Kind, ObjectFormat, Opaque, Status, StatusOptions, Survey, Unknown};

use crate::Result;
use crate::cleanup::is_cache;
use crate::tree::Tree;

#[derive(Debug, Default)]
pub(crate) struct Holdings {
    /// Tracked files that git says differ, and those that it was told not to look at and that do.
    pub dirty: Vec<PathBuf>,
    /// Tracked files that git takes for unchanged, and whose bytes only a conversion hides.
    pub converted: Vec<PathBuf>,
    /// Whether some of the dirty files are hidden from git itself.
    pub hidden: bool,
    /// Every tracked file that is there and is not as git would give it back.
    pub differing: Vec<PathBuf>,
    /// Tracked files whose content git-lfs has: a checkout may write their pointers only.
    pub large: Vec<PathBuf>,
    /// Tracked files that are not there.
    pub missing: Vec<PathBuf>,
    /// Files and links that are neither tracked nor ignored.
    pub untracked: Vec<PathBuf>,
    /// Ignored files, and directories that are ignored as a whole, but for caches.
    pub ignored: Vec<PathBuf>,
    /// Ignored directories with a cache's name.
    pub caches: Vec<PathBuf>,
    /// Directories with a `.git` in them, and bare repositories, wherever they lie; none below another one.
    pub repositories: Vec<PathBuf>,
    /// Each `.git` that lies beside tracked files.
    pub git_dirs: Vec<PathBuf>,
    /// Submodules that were checked out, and repositories that somebody added as if they were files.
    pub submodules: Vec<PathBuf>,
    /// Repositories inside that git was not run in, for it would run what they name.
    pub opaque: Vec<Opaque>,
    /// What has no content: pipes, and directories with nothing in them.
    pub hollow: Vec<PathBuf>,
    /// Every path of a file or link that the index does not have, but for those in caches and repositories.
    pub others: Vec<PathBuf>,
}

/// Where a tree stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stands {
    InItsPlace,
    /// Moved: the links between submodules and their repositories lead nowhere, and git would give no answer at all.
    Elsewhere,
}

impl Holdings {
    /// Looks at a tree. What can't be inspected is an error: unknown is never clean.
    #[boxed]
    pub async fn load(config: &Config, tree: &Tree, format: ObjectFormat, stands: Stands) -> Result<Self> {
        let everything = StatusOptions { untracked: true, ignored: true };
        let status = async {
            match stands {
                Stands::InItsPlace => tree.load_status(&everything).await,
                Stands::Elsewhere => tree.load_status_without_submodules().await,
            }
        };
        let (status, survey) = tokio::join!(status, tree.survey(format));
        let (status, survey) = (status?, survey?);
        let mut listed: Vec<PathBuf> = status.ignored.iter().map(|entry| without_slash(&entry.path)).collect();
        listed.sort();
        let (caches, ignored): (Vec<PathBuf>, Vec<PathBuf>) =
            listed.into_iter().partition(|path| is_cache(config, tree.path(), path));
        let left_out: BTreeSet<PathBuf> = caches.iter().cloned().collect();
        let (unknown, survey) = load_unknown(survey, left_out).await?;
        Ok(Self::of(&status, survey, unknown, ignored, caches))
    }

    fn of(status: &Status, survey: Survey, unknown: Unknown, ignored: Vec<PathBuf>, caches: Vec<PathBuf>) -> Self {
        let changed: BTreeSet<&Path> = status.changes.iter().map(|change| change.path.as_path()).collect();
        let opaque = status.opaque.clone();
        let mut held = Self { missing: survey.missing, submodules: survey.submodules, opaque, ..Self::default() };
        held.large = survey.large;
        held.dirty = changed.iter().map(|path| (*path).to_owned()).collect();
        for file in survey.differing {
            if file.hidden {
                held.hidden = true;
                held.dirty.push(file.path.clone());
            } else if file.difference == Difference::Content && !changed.contains(file.path.as_path()) {
                // Without a conversion, git did not look again: by its times the file is the one that it knows.
                let hides = if file.convertible { &mut held.converted } else { &mut held.dirty };
                hides.push(file.path.clone());
            }
            held.differing.push(file.path);
        }
        held.dirty.sort();
        held.dirty.dedup();

        (held.repositories, held.git_dirs) = (unknown.repositories, unknown.git_dirs);
        let listed = |path: &Path| path.ancestors().any(|part| is_in(&ignored, part) || is_in(&caches, part));
        for other in unknown.paths {
            match other.kind {
                // Nothing without who listens on it.
                Kind::Special => continue,
                Kind::Pipe => {
                    held.hollow.push(other.path);
                    continue;
                }
                _ if !listed(&other.path) => held.untracked.push(other.path.clone()),
                _ => {}
            }
            held.others.push(other.path);
        }
        // What git alone found has come since, or is a repository's.
        let in_repository = |path: &Path| path.ancestors().any(|part| is_in(&held.repositories, part));
        let added = status.untracked.iter().map(|entry| without_slash(&entry.path));
        held.untracked.extend(added.filter(|path| !in_repository(path)));
        held.untracked.sort();
        held.untracked.dedup();
        held.hollow.extend(unknown.empty_directories);
        (held.ignored, held.caches) = (ignored, caches);
        held
    }

    /// What an archive must hold: every path that git would not give back, but for caches.
    pub fn kept(&self) -> Vec<PathBuf> {
        let files = [&self.differing, &self.others, &self.untracked, &self.ignored, &self.hollow];
        let repositories = [&self.repositories, &self.git_dirs, &self.submodules];
        let mut kept: Vec<PathBuf> = files.into_iter().chain(repositories).flatten().cloned().collect();
        kept.sort();
        kept.dedup();
        // A directory among them is kept with all that is in it.
        let all = kept.clone();
        kept.retain(|path| !path.ancestors().skip(1).any(|part| is_in(&all, part)));
        kept
    }
}

/// Walks what the index does not have, on a thread of its own: there may be much of it.
async fn load_unknown(survey: Survey, left_out: BTreeSet<PathBuf>) -> Result<(Unknown, Survey)> {
    let walked = tokio::task::spawn_blocking(move || {
        let unknown = survey.load_unknown(&|path| left_out.contains(path))?;
        Ok::<_, spinney_git::Error>((unknown, survey))
    });
    Ok(walked.await.map_err(|error| crate::Error::Internal { what: error.to_string() })??)
}

/// Git ends the names of directories with a slash.
fn without_slash(path: &Path) -> PathBuf {
    path.components().collect()
}

fn is_in(sorted: &[PathBuf], path: &Path) -> bool {
    sorted.binary_search_by(|other| other.as_path().cmp(path)).is_ok()
}
