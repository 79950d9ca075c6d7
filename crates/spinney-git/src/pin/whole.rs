//! The pin of a worktree whose history is broken already: what leads to nothing that is missing is kept.

use std::collections::BTreeSet;
use std::path::Path;

use spinney_core::{BranchName, CommitId};

use crate::repository::lock::RepositoryLock;
use crate::repository::opened::Repository;
use crate::{Error, Result};

/// A pin, and what could not be kept because it was missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pinned {
    pub commit: CommitId,
    pub missing: Vec<String>,
}

impl Repository {
    /// The same where objects are missing already: pins what is whole, and tells what is missing.
    pub async fn pin_what_is_whole(
        &self,
        lock: &RepositoryLock,
        admin_dir: &Path,
        branch: Option<&BranchName>,
        rescue_ref: &str,
        message: &str,
    ) -> Result<Pinned> {
        let mut missing = match self.pin(lock, admin_dir, branch, rescue_ref, message).await {
            Ok(commit) => return Ok(Pinned { commit, missing: Vec::new() }),
            Err(Error::MissingObjects { objects }) => objects.into_iter().collect(),
            Err(error) => return Err(error),
        };
        let earlier = self.load_ref(rescue_ref).await?;
        let named = self.load_all_names(admin_dir, branch, earlier.as_ref()).await?;
        let scratch = self.with_scratch_objects()?;
        let index = scratch.write_index(lock, admin_dir, &mut missing).await?;
        let commit = scratch.write_whole_part(lock, named, index, rescue_ref, message, &mut missing).await?;
        self.set_pin(lock, &scratch, rescue_ref, &commit, earlier.as_ref()).await?;
        Ok(Pinned { commit, missing: missing.into_iter().collect() })
    }

    /// Writes a commit of those objects that lead to nothing that is missing.
    pub(crate) async fn write_whole_part(
        &self,
        lock: &RepositoryLock,
        named: BTreeSet<String>,
        index: Option<String>,
        rescue_ref: &str,
        message: &str,
        missing: &mut BTreeSet<String>,
    ) -> Result<CommitId> {
        let existing = self.load_existing(named.into_iter().chain(index).collect()).await?;
        let commits = existing.commits.iter().map(ToString::to_string);
        let others = existing.others.iter().map(|(_, name)| name.clone());
        let whole = self.filter_whole(commits.chain(others).collect(), rescue_ref, missing).await?;
        let commits = existing.commits.into_iter().filter(|commit| whole.contains(commit.as_str())).collect();
        let others: Vec<_> = existing.others.into_iter().filter(|(_, name)| whole.contains(name)).collect();
        let tree = self.write_objects_tree(lock, &others).await?;
        self.write_pin(lock, &tree, commits, message).await
    }

    /// Which of these objects lead to nothing that is missing: a group that does is looked at half by half.
    async fn filter_whole(
        &self,
        objects: Vec<String>,
        rescue_ref: &str,
        missing: &mut BTreeSet<String>,
    ) -> Result<BTreeSet<String>> {
        let (mut groups, mut whole) = (vec![objects], BTreeSet::new());
        while let Some(mut group) = groups.pop() {
            match self.load_exclusive(&group, rescue_ref).await {
                Ok(_) => whole.extend(group),
                Err(Error::MissingObjects { objects }) => {
                    missing.extend(objects);
                    if group.len() > 1 {
                        groups.push(group.split_off(group.len() / 2));
                        groups.push(group);
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(whole)
    }
}
