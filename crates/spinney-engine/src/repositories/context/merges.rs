//! How commits were found to stand to each other, so that a sweep need not ask git the same of every branch again.
//!
//! What git answered in this process is proved. What an earlier process wrote down (`spinney/merges.json` in the common
//! git dir) is only remembered: it rules workspaces out, and before anything goes it is proved again. The file holds what
//! the last sweep asked and nothing else, so that it is bounded by the workspaces that there are, and forgets with them.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use spinney_core::{CommitId, Merge};
use spinney_git::{Unpushed, read_regular};

use super::Context;
use crate::home::disk;

/// A million workspaces would take more.
const MOST_BYTES: u64 = 256 * 1024 * 1024;

/// A tip, the tip of its base, and the commit that it was made from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
struct Question {
    tip: CommitId,
    base: CommitId,
    base_commit: CommitId,
}

/// A tip, and the commit that it was made from.
type Range = [CommitId; 2];

#[derive(Debug, Default)]
pub(crate) struct Merges {
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    proved: HashMap<Question, Merge>,
    remembered: BTreeMap<Question, Merge>,
    /// Counted by what the remotes have now.
    unpushed: HashMap<Range, Unpushed>,
    /// What was asked since the file was read, and is to be remembered.
    asked: BTreeMap<Question, Merge>,
    asked_unpushed: BTreeMap<Range, Unpushed>,
    /// What the remotes are known to have.
    remotes: String,
    /// What was read.
    file: Option<File>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct File {
    /// The version that judged: another one may judge otherwise.
    version: String,
    /// What the remotes were known to have when `unpushed` was counted.
    remotes: String,
    merges: Vec<(Question, Merge)>,
    unpushed: Vec<(Range, Unpushed)>,
}

impl Merges {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Context {
    /// How a tip stands to its base and its base commit, as git proves it. What was proved once is not asked again.
    pub(crate) async fn load_merge(
        &self,
        tip: &CommitId,
        base: &CommitId,
        base_commit: &CommitId,
    ) -> spinney_git::Result<Merge> {
        let question = Question { tip: tip.clone(), base: base.clone(), base_commit: base_commit.clone() };
        if let Some(merge) = self.merges.known().proved.get(&question) {
            return Ok(merge.clone());
        }
        let merge = self.git.load_merge(tip, base, base_commit).await?;
        if !matches!(merge, Merge::Unknown { .. }) {
            self.merges.known().proved.insert(question, merge.clone());
        }
        Ok(merge)
    }

    /// The same, by what is remembered where it is: to rule out, and never to let go.
    pub(crate) async fn recall_merge(
        &self,
        tip: &CommitId,
        base: &CommitId,
        base_commit: &CommitId,
    ) -> spinney_git::Result<Merge> {
        let question = Question { tip: tip.clone(), base: base.clone(), base_commit: base_commit.clone() };
        let remembered = self.merges.known().remembered.get(&question).cloned();
        let merge = match remembered {
            Some(merge) => merge,
            None => self.load_merge(tip, base, base_commit).await?,
        };
        // What has no commit of its own takes no question.
        if tip != base_commit && !matches!(merge, Merge::Unknown { .. }) {
            self.merges.known().asked.insert(question, merge.clone());
        }
        Ok(merge)
    }

    /// What of a tip no remote has, by what is remembered where it is: to rule out, and never to let go.
    pub(crate) async fn recall_unpushed(
        &self,
        tip: &CommitId,
        base_commit: &CommitId,
    ) -> spinney_git::Result<Unpushed> {
        let range = [tip.clone(), base_commit.clone()];
        let remembered = self.merges.known().unpushed.get(&range).cloned();
        let unpushed = match remembered {
            Some(unpushed) => unpushed,
            None => self.count_unpushed(tip, base_commit).await?,
        };
        let mut known = self.merges.known();
        known.unpushed.insert(range.clone(), unpushed.clone());
        known.asked_unpushed.insert(range, unpushed.clone());
        Ok(unpushed)
    }

    /// Reads what an earlier sweep wrote down. What can't be read is asked again.
    pub(crate) async fn load_remembered(&self) {
        let file = read_regular(&self.merges_file(), MOST_BYTES).ok();
        let file: Option<File> = file.and_then(|text| serde_json::from_slice(&text).ok());
        let file = file.filter(|file| file.version == env!("CARGO_PKG_VERSION"));
        let remotes = self.load_remotes_print().await.ok();
        let mut known = self.merges.known();
        *known = Known { proved: std::mem::take(&mut known.proved), ..Known::default() };
        if let Some(file) = file {
            if remotes.as_ref() == Some(&file.remotes) {
                known.unpushed = file.unpushed.iter().cloned().collect();
            }
            known.remembered = file.merges.iter().cloned().collect();
            known.file = Some(file);
        }
        known.remotes = remotes.unwrap_or_default();
    }

    /// Writes down what was asked since, and only that. It is a help: where it can't be written, git is asked again.
    pub(crate) fn save_remembered(&self) {
        let known = self.merges.known();
        let file = File {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            remotes: known.remotes.clone(),
            merges: known.asked.clone().into_iter().collect(),
            unpushed: known.asked_unpushed.clone().into_iter().collect(),
        };
        if known.file.as_ref() == Some(&file) || !self.state_dir().is_dir() {
            return;
        }
        let text = serde_json::to_vec(&file).map_err(std::io::Error::other);
        if let Err(error) = text.and_then(|text| disk::write_among_others(&self.merges_file(), &text)) {
            tracing::debug!(%error, "what is known of merges could not be written down");
        }
    }

    fn merges_file(&self) -> PathBuf {
        self.state_dir().join("merges.json")
    }
}
