//! Fetching: one at a time for a remote, however many ask, and only what is wanted and not here yet.
//!
//! 1. What was recorded is young enough: answer with it.
//! 2. Wait for the remote's fetch lock; look at the record again, for another may have asked while we waited.
//! 3. Ask the remote once for its default branch, all its branches and the wanted pull requests: whoever wants another
//!    branch within the same time need not ask again.
//! 4. Fetch those that differ from what is here, by explicit refspecs.
//! 5. Record the answer with the time at which it was asked for.
//!
//! The repository's lock is not taken: remote-tracking refs are nobody's work, and a network is slow. Where a fetch
//! meets somebody who is making a worktree, it is tried again.

use std::collections::BTreeSet;
use std::time::Duration;

use spinney_core::{BranchName, CommitId, Timestamp, names};

use crate::disk::file_lock::{FileLock, Wait};
use crate::process::retry::Retry;
use crate::repository::opened::Repository;
use crate::transfer::credential::Credential;
use crate::transfer::network::{self, Listing};
use crate::transfer::record::{Record, RefRecord, RemoteRecord, is_fresh};
use crate::transfer::remote::require_remote;
use crate::transfer::secrets::{Errand, Secrets};
use crate::{Error, Result};

const BRANCHES: &str = "refs/heads/";
const ALL_BRANCHES: &str = "refs/heads/*";
const ALL_REFS: &str = "refs/*";
/// How often a remote that changes between the question and the fetch is asked anew.
const ROUNDS: u32 = 3;

/// What must be known of a remote.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    pub default_branch: bool,
    pub branches: Vec<BranchName>,
    /// Numbers of pull requests; their heads come to `refs/spinney/pull/<number>`.
    pub pulls: Vec<u64>,
}

impl Wanted {
    /// Full names at the remote.
    pub(crate) fn refs(&self) -> impl Iterator<Item = String> {
        let pulls = self.pulls.iter().map(|number| format!("refs/pull/{number}/head"));
        self.branches.iter().map(BranchName::local_ref).chain(pulls)
    }
}

/// What is known of a remote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    pub default_branch: Option<BranchName>,
    /// When the oldest part of what was wanted was asked for.
    pub at: Timestamp,
    /// Full names that the remote does not have.
    pub missing: Vec<String>,
    /// Whether the network was used for this answer.
    pub fetched: bool,
}

impl Repository {
    /// Makes sure that what is wanted of a remote is here and was asked for within `max_age`.
    pub async fn fetch(
        &self,
        remote: &str,
        wanted: &Wanted,
        max_age: Duration,
        credential: Option<&Credential>,
    ) -> Result<Known> {
        let started = Timestamp::now();
        require_remote(remote)?;
        if let Some(known) = self.load_fresh(remote, wanted, max_age, started).await? {
            return Ok(known);
        }
        let _lock = self.fetch_lock(remote).await?;
        if let Some(known) = self.load_fresh(remote, wanted, max_age, started).await? {
            return Ok(known);
        }
        self.require_answer(remote, started)?;
        let secrets = self.secrets(Errand::Fetch(remote), credential).await?;
        let pulls = || wanted.refs().filter(|name| !name.starts_with(BRANCHES));
        let patterns: Vec<String> = pulls().chain([ALL_BRANCHES.to_owned()]).collect();
        let mut round = 1;
        let (at, listing) = loop {
            let at = Timestamp::now();
            let listing = self.list(remote, &patterns, &secrets).await?;
            match self.fetch_listed(remote, wanted, &listing, &secrets).await {
                Err(Error::MissingRemoteRef { .. }) if round < ROUNDS => round += 1,
                result => break result.map(|()| (at, listing))?,
            }
        };
        let asked = listed(at, &listing, pulls());
        let record = self.save_record(remote, asked).await?;
        let known = record.known(wanted).ok_or_else(|| unexpected("the answer lacks what was asked for"))?;
        Ok(Known { fetched: true, ..known })
    }

    /// What was recorded last, however old. Never uses the network.
    #[must_use]
    pub fn load_known(&self, remote: &str, wanted: &Wanted) -> Option<Known> {
        Record::load(&self.record_path()).remotes.get(remote)?.known(wanted)
    }

    /// The commits that a remote's branches were at when it was asked last, as far as they are here. Never uses the network.
    pub async fn load_fetched_tips(&self, remote: &str) -> Result<Vec<CommitId>> {
        let record = Record::load(&self.record_path()).remotes.remove(remote).unwrap_or_default();
        let commits: BTreeSet<CommitId> = record.refs.into_values().filter_map(|known| known.commit).collect();
        self.load_commits_here(&commits).await
    }

    /// Those of the commits that are here.
    pub async fn load_commits_here(&self, commits: &BTreeSet<CommitId>) -> Result<Vec<CommitId>> {
        if commits.is_empty() {
            return Ok(Vec::new());
        }
        Ok(self.load_existing(commits.iter().map(ToString::to_string).collect()).await?.commits)
    }

    /// When somebody fetched or cloned by hand, as far as git's own files tell.
    #[must_use]
    pub fn load_fetched_by_hand(&self, remote: &str) -> Option<Timestamp> {
        let places = ["FETCH_HEAD".to_owned(), format!("logs/refs/remotes/{remote}/HEAD")];
        let modified = |place: &String| std::fs::metadata(self.common_dir().join(place)).ok()?.modified().ok();
        let latest = places.iter().filter_map(modified).max()?.duration_since(std::time::UNIX_EPOCH).ok()?;
        Some(Timestamp::from_millisecond(i64::try_from(latest.as_millis()).ok()?))
    }

    /// Fetches all branches of a remote and forgets those that it no longer has.
    pub async fn sync(&self, remote: &str, credential: Option<&Credential>) -> Result<Known> {
        let started = Timestamp::now();
        require_remote(remote)?;
        let _lock = self.fetch_lock(remote).await?;
        let everything = Wanted { default_branch: true, ..Wanted::default() };
        let recorded = Record::load(&self.record_path()).remotes.remove(remote);
        if let Some(record) = recorded
            && record.all_at.is_some_and(|at| at >= started.as_millisecond())
            && let Some(known) = record.known(&everything)
        {
            return Ok(known);
        }
        let secrets = self.secrets(Errand::Fetch(remote), credential).await?;
        let at = Timestamp::now();
        let listing = self.list(remote, &[ALL_BRANCHES.to_owned()], &secrets).await?;
        self.fetch_all(remote, &secrets).await?;
        let asked = listed(at, &listing, std::iter::empty());
        let record = self.save_record(remote, asked).await?;
        let known = record.known(&everything).ok_or_else(|| unexpected("the answer lacks what was asked for"))?;
        Ok(Known { fetched: true, ..known })
    }

    /// The commits that a remote's refs are at, by its own word and where a push goes, as far as they are here. What
    /// `refs/remotes` says of it anybody could have written.
    pub async fn load_remote_tips(&self, remote: &str, credential: Option<&Credential>) -> Result<Vec<CommitId>> {
        let url = self.command().args(["remote", "get-url", "--push", "--", require_remote(remote)?]).text().await?;
        let secrets = self.secrets(Errand::Push(remote), credential).await?;
        let command = secrets.go_with(self.command()).silence(self.silence());
        let listed = network::list(command, &url, &[ALL_REFS.to_owned()]).await;
        let listing = listed.map_err(|error| secrets.explain(error))?;
        let tips = listing.refs.values().map(ToString::to_string).collect();
        Ok(self.load_existing(tips).await?.commits)
    }

    async fn list(&self, remote: &str, patterns: &[String], secrets: &Secrets<'_>) -> Result<Listing> {
        let listed = network::list(secrets.go_with(self.command()).silence(self.silence()), remote, patterns).await;
        if let Err(Error::NoAnswer { .. }) = &listed {
            self.save_silence(remote);
        }
        listed.map_err(|error| secrets.explain(error))
    }

    /// Brings the listed refs that are wanted and differ from what is here.
    async fn fetch_listed(
        &self,
        remote: &str,
        wanted: &Wanted,
        listing: &Listing,
        secrets: &Secrets<'_>,
    ) -> Result<()> {
        let default = listing.default_branch.iter().filter(|_| wanted.default_branch).map(BranchName::local_ref);
        let mut pairs: Vec<(String, String, &CommitId)> = wanted
            .refs()
            .chain(default)
            .filter_map(|name| Some((name.clone(), local_name(remote, &name)?, listing.refs.get(&name)?)))
            .collect();
        pairs.sort();
        pairs.dedup();
        let names: Vec<&str> = pairs.iter().map(|(_, local, _)| local.as_str()).collect();
        let here = self.load_refs(&names).await?;
        let differ =
            |local: &str, commit: &CommitId| !here.iter().any(|own| own.name == local && own.commit == *commit);
        let refspecs: Vec<String> = pairs
            .iter()
            .filter(|(_, local, commit)| differ(local, commit))
            .map(|(name, local, _)| format!("+{name}:{local}"))
            .collect();
        if refspecs.is_empty() {
            return Ok(());
        }
        let arguments: Vec<&str> =
            ["--no-tags", "--no-prune", "--", remote].into_iter().chain(refspecs.iter().map(String::as_str)).collect();
        match self.run_fetch(remote, &arguments, secrets).await {
            // A branch that the remote no longer has stands where a directory must be, or the reverse.
            Err(Error::RefConflict { .. }) => {
                self.fetch_all(remote, secrets).await?;
                self.run_fetch(remote, &arguments, secrets).await
            }
            result => result,
        }
    }

    async fn fetch_all(&self, remote: &str, secrets: &Secrets<'_>) -> Result<()> {
        let refspec = format!("+refs/heads/*:refs/remotes/{remote}/*");
        // In a person's repository tags are theirs to fetch; in a clone of ours nobody else does.
        let tags = if self.is_bare() { "--no-prune-tags" } else { "--no-tags" };
        self.run_fetch(remote, &["--prune", tags, "--", remote, &refspec], secrets).await
    }

    async fn run_fetch(&self, remote: &str, arguments: &[&str], secrets: &Secrets<'_>) -> Result<()> {
        let mut retry = Retry::default();
        loop {
            let command = secrets.go_with(self.command()).silence(network::silence_of_fetch(self.silence()));
            let command = network::fetch(command, remote);
            // It names no ref of ours: one that it misses was just deleted by somebody else.
            let fetched = command.args(arguments).run().await.map_err(|error| match error {
                Error::MissingRef { name } => Error::LockContention { what: name },
                error => secrets.explain(error),
            });
            if !retry.again(&fetched).await {
                return fetched.map(drop);
            }
        }
    }

    /// The record's answer, if it is young enough and the refs it speaks of are here as it says.
    async fn load_fresh(
        &self,
        remote: &str,
        wanted: &Wanted,
        max_age: Duration,
        started: Timestamp,
    ) -> Result<Option<Known>> {
        let Some(record) = Record::load(&self.record_path()).remotes.remove(remote) else { return Ok(None) };
        let Some(known) = record.known(wanted).filter(|known| is_fresh(known.at, max_age, started)) else {
            return Ok(None);
        };
        let default = known.default_branch.iter().filter(|_| wanted.default_branch).map(BranchName::local_ref);
        let there = wanted.refs().chain(default).filter(|name| !known.missing.contains(name));
        let expected: Vec<(String, Option<CommitId>)> = there
            .filter_map(|name| Some((local_name(remote, &name)?, record.refs.get(&name)?.commit.clone())))
            .collect();
        for (name, commit) in &expected {
            if commit.is_none() || self.load_ref(name).await? != *commit {
                return Ok(None);
            }
        }
        Ok(Some(known))
    }

    async fn fetch_lock(&self, remote: &str) -> Result<FileLock> {
        let wait = Wait::for_network(self.git().options(), self.silence());
        FileLock::acquire(&self.fetch_file(remote, "lock")?, &format!("fetch {remote}"), &wait).await
    }

    fn fetch_file(&self, remote: &str, ending: &str) -> Result<std::path::PathBuf> {
        Ok(self.require_state_dir()?.join(format!("fetch-{}.{ending}", names::short_hash(remote))))
    }

    /// Notes that a remote did not answer, for all who wait to ask it.
    fn save_silence(&self, remote: &str) {
        // Only a help: who does not find it asks by itself.
        let _ = self.fetch_file(remote, "silent").map(|path| std::fs::write(path, Timestamp::now().to_string()));
    }

    /// Fails where somebody else found the remote silent since a time: many who wait do not ask it one after the other.
    fn require_answer(&self, remote: &str, since: Timestamp) -> Result<()> {
        let found = std::fs::metadata(self.fetch_file(remote, "silent")?).and_then(|found| found.modified());
        let after = found.ok().and_then(|found| found.duration_since(std::time::UNIX_EPOCH).ok());
        let is_later = |found: Duration| found.as_millis() > since.as_millisecond().unsigned_abs().into();
        match (after.is_some_and(is_later), self.silence()) {
            (true, Some(after)) => Err(Error::NoAnswer { after }),
            _ => Ok(()),
        }
    }

    fn record_path(&self) -> std::path::PathBuf {
        self.state_dir().join("fetched.json")
    }

    /// Lays an answer over what is recorded of a remote.
    pub(crate) async fn save_record(&self, remote: &str, asked: RemoteRecord) -> Result<RemoteRecord> {
        let lock = self.require_state_dir()?.join("fetched.lock");
        let _lock = FileLock::acquire(&lock, "record a fetch", &Wait::for_moment(self.git().options())).await?;
        let mut record = Record::load(&self.record_path());
        let known = record.remotes.entry(remote.to_owned()).or_default();
        known.default_branch = asked.default_branch;
        known.head_at = asked.head_at;
        if asked.all_at.is_some() {
            known.all_at = asked.all_at;
            known.refs.retain(|name, _| !name.starts_with("refs/heads/"));
        }
        known.refs.extend(asked.refs);
        let known = known.clone();
        record.save(&self.record_path())?;
        Ok(known)
    }
}

/// What an answer with all branches tells, and of which pull requests.
pub(crate) fn listed(at: Timestamp, listing: &Listing, pulls: impl Iterator<Item = String>) -> RemoteRecord {
    let at = at.as_millisecond();
    let branches = listing.refs.keys().filter(|name| name.starts_with(BRANCHES)).cloned();
    let record = |name: String| (name.clone(), RefRecord { at, commit: listing.refs.get(&name).cloned() });
    RemoteRecord {
        default_branch: listing.default_branch.clone(),
        head_at: Some(at),
        all_at: Some(at),
        refs: branches.chain(pulls).map(record).collect(),
    }
}

/// Where a remote's ref is kept here.
fn local_name(remote: &str, name: &str) -> Option<String> {
    if let Some(branch) = name.strip_prefix("refs/heads/") {
        return Some(format!("refs/remotes/{remote}/{branch}"));
    }
    let number = name.strip_prefix("refs/pull/")?.strip_suffix("/head")?;
    Some(format!("refs/spinney/pull/{number}"))
}

fn unexpected(detail: &str) -> Error {
    Error::Unexpected { command: "git ls-remote".to_owned(), detail: detail.to_owned() }
}
