//! The base mirror: a bare repository of what the remote's branches reach, and nothing else. Boxes read it.
//!
//! The repository's own objects are never shown to a box: they hold other agents' commits and rescued work. The mirror only
//! grows. A tip that a branch left, and each recorded base commit, stays below `refs/spinney/seen/`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use spinney_core::CommitId;

use crate::disk::file_lock::{FileLock, Wait};
use crate::git::Git;
use crate::refs::update::require_ref;
use crate::repository::opened::Repository;
use crate::{Command, Error, ObjectFormat, Result};

const SEEN: &str = "refs/spinney/seen";

/// The mirror of one repository.
#[derive(Debug, Clone)]
pub struct BaseMirror {
    git: Git,
    path: PathBuf,
}

impl BaseMirror {
    /// Opens the mirror at a path, and makes it if it is not there.
    pub async fn open_or_make(git: &Git, path: &Path, format: ObjectFormat) -> Result<Self> {
        let parent = path.parent().unwrap_or(path);
        std::fs::create_dir_all(parent).map_err(|source| Error::io("make the directory", parent, source))?;
        if !path.join("HEAD").is_file() {
            let format = if format == ObjectFormat::Sha1 { "sha1" } else { "sha256" };
            let init = git.command(parent).args(["init", "--quiet", "--bare", "--template="]);
            init.arg(format!("--object-format={format}")).arg("--").arg(path).run().await?;
        }
        let path = std::fs::canonicalize(path).map_err(|source| Error::io("open", path, source))?;
        Ok(Self { git: git.clone(), path })
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn command(&self) -> Command {
        self.git.command(&self.path).env("GIT_DIR", &self.path)
    }

    /// Brings what a remote's branches reach by now, as the repository knows them, and these commits.
    pub async fn update(&self, repository: &Repository, remote: Option<&str>, commits: &[CommitId]) -> Result<()> {
        let branches = match remote {
            Some(remote) => load_refs(repository.command(), &format!("refs/remotes/{remote}/")).await?,
            None => BTreeMap::new(),
        };
        let (place, wait) = (self.path.join("spinney.lock"), Wait::for_moment(self.git.options()));
        let _lock = FileLock::acquire(&place, "update the base mirror", &wait).await?;
        let tips: BTreeSet<&CommitId> = branches.values().chain(commits).collect();
        self.bring(repository, &tips).await?;

        let known = load_refs(self.command(), "refs/heads/").await?;
        let left = known.iter().filter(|(name, commit)| branches.get(*name) != Some(commit)).map(|(_, commit)| commit);
        let (mut first, mut then) = (String::new(), String::new());
        for commit in left.chain(commits) {
            first.push_str(&format!("update {SEEN}/{commit} {commit}\n"));
        }
        for name in known.keys().filter(|name| !branches.contains_key(*name)) {
            first.push_str(&format!("delete refs/heads/{name}\n"));
        }
        for (name, commit) in branches.iter().filter(|(name, commit)| known.get(*name) != Some(commit)) {
            then.push_str(&format!("update refs/heads/{name} {commit}\n"));
        }
        // A branch that goes may be in the way of one that comes.
        for lines in [first, then] {
            if !lines.is_empty() {
                self.command().args(["update-ref", "--stdin"]).stdin_bytes(lines.into_bytes()).run().await?;
            }
        }
        Ok(())
    }

    /// Every commit that a ref of the mirror is at: what they reach is what every box may have.
    pub(crate) async fn load_tips(&self) -> Result<BTreeSet<CommitId>> {
        Ok(load_refs(self.command(), "refs/").await?.into_values().collect())
    }

    /// The remote's branches, by their names.
    pub(crate) async fn load_branches(&self) -> Result<BTreeMap<String, CommitId>> {
        load_refs(self.command(), "refs/heads/").await
    }

    /// Copies what these commits reach and the mirror has not.
    async fn bring(&self, repository: &Repository, tips: &BTreeSet<&CommitId>) -> Result<()> {
        let missing = filter_missing(self.command(), tips.iter().copied()).await?;
        if missing.is_empty() {
            return Ok(());
        }
        let own = self.load_tips().await?;
        let unknown = filter_missing(repository.command(), own.iter()).await?;
        let mut wanted: String = missing.iter().map(|commit| format!("{commit}\n")).collect();
        wanted.extend(own.difference(&unknown).map(|commit| format!("^{commit}\n")));
        let pack = repository.command().args(["pack-objects", "--quiet", "--revs", "--thin", "--stdout"]).network();
        let pack = pack.arg("--delta-base-offset").stdin_bytes(wanted.into_bytes());
        let index = self.command().args(["index-pack", "--stdin", "--fix-thin"]).network();
        let (packed, indexed) = pack.run_into(index).await?;
        packed.and(indexed).map(drop)
    }
}

/// Refs by their names below a place.
async fn load_refs(command: Command, place: &str) -> Result<BTreeMap<String, CommitId>> {
    let format = "--format=%(objectname) %(symref) %(refname)";
    let listed = command.args(["for-each-ref", format]).arg(place.trim_end_matches('/')).text().await?;
    let line = |line: &str| {
        let mut parts = line.splitn(3, ' ');
        let (commit, symbolic, name) = (parts.next()?, parts.next()?, parts.next()?);
        require_ref(name).ok().filter(|_| symbolic.is_empty())?;
        Some((name.strip_prefix(place)?.to_owned(), commit.parse().ok()?))
    };
    Ok(listed.lines().filter_map(line).collect())
}

/// The commits that are not there.
async fn filter_missing<'a>(
    command: Command,
    commits: impl Iterator<Item = &'a CommitId>,
) -> Result<BTreeSet<CommitId>> {
    let asked: String = commits.map(|commit| format!("{commit}\n")).collect();
    let answer = command.args(["cat-file", "--batch-check"]).stdin_bytes(asked.into_bytes()).text().await?;
    let missing = answer.lines().filter_map(|line| line.strip_suffix(" missing")?.parse().ok());
    Ok(missing.collect())
}
