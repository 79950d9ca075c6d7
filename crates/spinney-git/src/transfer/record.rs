//! What was asked of a remote, when, and what it answered: `<common dir>/spinney/fetched.json`.
//!
//! It is replaced whole, by a rename; a damaged file means that nothing is known. Only who holds the remote's fetch
//! lock writes that remote's part, and the parts of several remotes are merged under the file's own lock.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use spinney_core::{BranchName, CommitId, Timestamp};

use crate::disk::regular::read_regular;
use crate::transfer::fetch::{Known, Wanted};
use crate::{Error, Result};

/// A record from this far in the future was written by another clock, and tells nothing.
const CLOCK_SLACK: Duration = Duration::from_secs(60);

/// More than the names of a remote with a million branches take.
const MOST_BYTES: u64 = 512 << 20;

#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Record {
    #[serde(default)]
    pub(crate) remotes: BTreeMap<String, RemoteRecord>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct RemoteRecord {
    #[serde(default)]
    pub(crate) default_branch: Option<BranchName>,
    /// When the default branch was asked for.
    #[serde(default)]
    pub(crate) head_at: Option<i64>,
    /// When all branches were listed: what is not below did not exist then.
    #[serde(default)]
    pub(crate) all_at: Option<i64>,
    /// By the remote's full names.
    #[serde(default)]
    pub(crate) refs: BTreeMap<String, RefRecord>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RefRecord {
    pub(crate) at: i64,
    /// None where the remote did not have it.
    pub(crate) commit: Option<CommitId>,
}

impl Record {
    pub(crate) fn load(path: &Path) -> Self {
        read_regular(path, MOST_BYTES).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    }

    pub(crate) fn save(&self, path: &Path) -> Result<()> {
        let directory = path.parent().unwrap_or(path);
        let failed = |source| Error::io("write", path, source);
        let mut file = tempfile::Builder::new().prefix(".fetched").tempfile_in(directory).map_err(failed)?;
        let bytes = serde_json::to_vec_pretty(self).map_err(|error| failed(error.into()))?;
        file.write_all(&bytes).map_err(failed)?;
        file.persist(path).map_err(|error| failed(error.error))?;
        Ok(())
    }
}

impl RemoteRecord {
    /// What is recorded of everything wanted; none where a part of it was never asked for.
    pub(crate) fn known(&self, wanted: &Wanted) -> Option<Known> {
        let mut at = i64::MAX;
        if wanted.default_branch || (wanted.branches.is_empty() && wanted.pulls.is_empty()) {
            at = at.min(self.head_at?);
        }
        let mut missing = Vec::new();
        let default = self.default_branch.iter().filter(|_| wanted.default_branch).map(BranchName::local_ref);
        for name in wanted.refs().chain(default) {
            let (asked_at, exists) = self.state(&name)?;
            at = at.min(asked_at);
            if !exists && !missing.contains(&name) {
                missing.push(name);
            }
        }
        Some(Known {
            default_branch: self.default_branch.clone(),
            at: Timestamp::from_millisecond(at),
            missing,
            fetched: false,
        })
    }

    /// When a ref was asked for last, and whether the remote had it.
    fn state(&self, name: &str) -> Option<(i64, bool)> {
        match (self.refs.get(name), self.all_at.filter(|_| name.starts_with("refs/heads/"))) {
            (Some(record), Some(all_at)) if record.at < all_at => Some((all_at, false)),
            (Some(record), _) => Some((record.at, record.commit.is_some())),
            (None, Some(all_at)) => Some((all_at, false)),
            (None, None) => None,
        }
    }
}

/// Whether an answer of that time is young enough, or came after we started to wait for it.
pub(crate) fn is_fresh(at: Timestamp, max_age: Duration, started: Timestamp) -> bool {
    at <= Timestamp::now().plus(CLOCK_SLACK) && (at >= started || (!max_age.is_zero() && at.elapsed() <= max_age))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(branch: &str) -> Wanted {
        Wanted { default_branch: false, branches: vec![branch.parse().unwrap()], pulls: vec![] }
    }

    #[test]
    fn what_was_never_asked_is_unknown_and_what_a_listing_lacks_is_missing() {
        let mut record = RemoteRecord::default();
        assert!(record.known(&wanted("x")).is_none());
        record.refs.insert("refs/heads/x".into(), RefRecord { at: 5, commit: Some("a".repeat(40).parse().unwrap()) });
        assert_eq!(record.known(&wanted("x")).unwrap().missing, Vec::<String>::new());
        assert!(record.known(&wanted("y")).is_none());
        record.all_at = Some(9);
        let known = record.known(&wanted("x")).unwrap();
        assert_eq!((known.missing, known.at.as_millisecond()), (vec!["refs/heads/x".to_owned()], 9));
        assert!(record.known(&Wanted { default_branch: false, branches: vec![], pulls: vec![7] }).is_none());
    }

    #[test]
    fn a_damaged_file_means_that_nothing_is_known() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("fetched.json");
        std::fs::write(&path, "{\"remotes\": {\"origin\": ").unwrap();
        assert!(Record::load(&path).remotes.is_empty());
        std::fs::write(&path, "{\"remotes\":{\"origin\":{\"default_branch\":\"--evil\"}}}").unwrap();
        assert!(Record::load(&path).remotes.is_empty());
    }

    #[test]
    fn freshness_ends_with_age_and_does_not_trust_another_clock() {
        let now = Timestamp::now();
        let minute = Duration::from_secs(60);
        let ago = |seconds: i64| Timestamp::from_millisecond(now.as_millisecond() - seconds * 1000);
        assert!(is_fresh(ago(30), minute, now));
        assert!(!is_fresh(ago(90), minute, now));
        assert!(!is_fresh(ago(30), Duration::ZERO, now));
        assert!(is_fresh(now, Duration::ZERO, ago(1)));
        assert!(!is_fresh(ago(-3600), minute, now));
    }
}
