//! Refs and the commits they lead to. A ref changes only by its old value and only under the repository's lock.

use std::collections::BTreeMap;

use spinney_core::names::content_hash;
use spinney_core::{BranchName, CommitId};

use crate::refs::files::Answer;
use crate::repository::lock::RepositoryLock;
use crate::repository::opened::Repository;
use crate::{Error, Result};

/// A ref that exists: its full name, and the commit it leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ref {
    pub(crate) name: String,
    pub(crate) commit: CommitId,
}

impl Repository {
    /// The commit that a revision names; none where it names nothing or no commit.
    pub async fn load_commit(&self, revision: &str) -> Result<Option<CommitId>> {
        if revision.is_empty()
            || revision.starts_with(['-', '^'])
            || revision.contains(char::is_control)
            || revision.len() > 4096
        {
            return Ok(None);
        }
        let question = format!("{revision}^{{commit}}");
        let command = self.command().args(["rev-parse", "--verify", "--quiet", "--end-of-options", &question]);
        match command.accept(&[0, 1]).text().await {
            Ok(answer) => Ok(answer.parse().ok()),
            // Some revisions, as `@{u}` without an upstream, are fatal although git was told to be quiet.
            Err(Error::MissingRef { .. } | Error::Failed { status: 128, .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub async fn load_branch(&self, branch: &BranchName) -> Result<Option<CommitId>> {
        self.load_ref(&branch.local_ref()).await
    }

    /// All branches, each with its commit.
    pub async fn load_branches(&self) -> Result<BTreeMap<BranchName, CommitId>> {
        let own = |found: Ref| Some((found.name.strip_prefix("refs/heads/")?.parse().ok()?, found.commit));
        let format = "--format=%(refname)%00%(objectname)%00%(*objectname)";
        let command = self.command().args(["for-each-ref", format, "--", "refs/heads"]);
        Ok(parse_refs(&command.run().await?.stdout).into_iter().filter_map(own).collect())
    }

    /// A print of what the remotes are known to have: another one when any of it changed.
    pub async fn load_remotes_print(&self) -> Result<String> {
        let places = ["refs/remotes", "refs/spinney/pull"];
        let command = self.command().args(["for-each-ref", "--format=%(objectname) %(refname)", "--"]).args(places);
        Ok(content_hash(&command.run().await?.stdout))
    }

    /// A remote's branch as it was when it was fetched last.
    pub async fn load_remote_branch(&self, remote: &str, branch: &BranchName) -> Result<Option<CommitId>> {
        self.load_ref(&branch.remote_ref(remote)).await
    }

    /// The commit of a ref given by its full name; no other name is tried.
    pub async fn load_ref(&self, full_name: &str) -> Result<Option<CommitId>> {
        let answer = self.ref_files().map_or(Answer::Unknown, |files| files.read(require_ref(full_name).unwrap_or("")));
        match answer {
            Answer::Commit(commit) => return Ok(Some(commit)),
            Answer::None => return Ok(None),
            Answer::Unknown => {}
        }
        let refs = self.load_refs(&[full_name]).await?;
        Ok(refs.into_iter().find(|found| found.name == full_name).map(|found| found.commit))
    }

    /// The refs with these full names, and those below them.
    pub(crate) async fn load_refs(&self, full_names: &[&str]) -> Result<Vec<Ref>> {
        for name in full_names {
            require_ref(name)?;
        }
        if full_names.is_empty() {
            return Ok(Vec::new());
        }
        let command =
            self.command().args(["for-each-ref", "--format=%(refname)%00%(objectname)%00%(*objectname)", "--"]);
        Ok(parse_refs(&command.args(full_names).run().await?.stdout))
    }

    /// An existing branch that the new one can't stand beside: `a` for `a/b`, or `a/b` for `a`.
    pub async fn branch_conflict(&self, branch: &BranchName) -> Result<Option<String>> {
        let own = branch.local_ref();
        let shown = |name: String| name.trim_start_matches("refs/heads/").to_owned();
        if let Some(Ok(conflict)) = self.ref_files().map(|files| files.conflict(&own)) {
            return Ok(conflict.map(shown));
        }
        let above: Vec<&str> = own
            .match_indices('/')
            .map(|(index, _)| &own[..index])
            .filter(|name| name.starts_with("refs/heads/"))
            .collect();
        let below = format!("{own}/");
        let mut asked = above.clone();
        asked.push(&own);
        let found = self.load_refs(&asked).await?.into_iter().map(|found| found.name);
        let mut conflicts = found.filter(|name| name.starts_with(&below) || above.contains(&name.as_str()));
        Ok(conflicts.next().map(shown))
    }

    /// Whether a remote had a branch of this name, or others below it, when it was fetched last.
    pub async fn is_taken_at(&self, remote: &str, branch: &BranchName) -> Result<bool> {
        let name = branch.remote_ref(remote);
        if let Some(Ok(below)) = self.ref_files().map(|files| files.conflict(&name)) {
            return Ok(below.is_some() || self.load_ref(&name).await?.is_some());
        }
        Ok(!self.load_refs(&[&name]).await?.is_empty())
    }

    /// Whether HEAD names a branch without any commit, as in a repository that was just made.
    pub async fn is_unborn(&self) -> Result<bool> {
        Ok(self.load_commit("HEAD").await?.is_none())
    }

    /// Whether any ref leads to a commit.
    pub async fn has_commits(&self) -> Result<bool> {
        if self.ref_files().is_some_and(|files| files.any()) {
            return Ok(true);
        }
        let found = self.command().args(["for-each-ref", "--count=1", "--format=%(objectname)"]).text().await?;
        Ok(!found.is_empty() || !self.is_unborn().await?)
    }

    /// Sets a ref. `old` is the value it must have; none means that it must not exist.
    pub async fn update_ref(
        &self,
        lock: &RepositoryLock,
        name: &str,
        new: &CommitId,
        old: Option<&CommitId>,
    ) -> Result<()> {
        let none = "0".repeat(new.as_str().len());
        let old = old.map_or(none.as_str(), CommitId::as_str);
        let name = require_ref(name)?;
        let command = || self.holding(lock).args(["update-ref", "--no-deref", name, new.as_str(), old]);
        self.run_patiently(command).await.map(drop)
    }

    /// Deletes a ref that has this value.
    pub async fn delete_ref(&self, lock: &RepositoryLock, name: &str, old: &CommitId) -> Result<()> {
        let name = require_ref(name)?;
        let command = || self.holding(lock).args(["update-ref", "--no-deref", "-d", name, old.as_str()]);
        self.run_patiently(command).await.map(drop)
    }

    /// Starts building a call that changes the repository, with its lock.
    pub(crate) fn holding(&self, lock: &RepositoryLock) -> crate::Command {
        // A private git dir lies in the one whose objects it borrows, and has its lock.
        debug_assert!(self.common_dir().starts_with(lock.common_dir()), "the lock of another repository");
        self.command().holding(lock)
    }
}

/// Refuses a name that is not a plain full name of a ref.
pub(crate) fn require_ref(name: &str) -> Result<&str> {
    let plain = name.strip_prefix("refs/").is_some_and(|rest| rest.parse::<BranchName>().is_ok() && rest.contains('/'));
    // The stash is the one ref directly below `refs/`.
    if plain || name == "refs/stash" {
        Ok(name)
    } else {
        Err(Error::Refused { what: "the name of a ref", name: name.to_owned() })
    }
}

/// Reads lines of name, object and peeled object, separated by NUL.
fn parse_refs(stdout: &[u8]) -> Vec<Ref> {
    let text = String::from_utf8_lossy(stdout);
    let line = |line: &str| {
        let mut parts = line.split('\0');
        let (name, object, peeled) = (parts.next()?, parts.next()?, parts.next().unwrap_or_default());
        let commit = if peeled.is_empty() { object } else { peeled };
        Some(Ref { name: name.to_owned(), commit: commit.parse().ok()? })
    };
    text.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hostile;

    #[test]
    fn a_tag_is_its_commit() {
        let (a, b) = ("a".repeat(40), "b".repeat(40));
        let refs = parse_refs(format!("refs/heads/x\0{a}\0\nrefs/tags/v\0{a}\0{b}\nbroken\n").as_bytes());
        assert_eq!(refs.len(), 2);
        assert_eq!((refs[0].name.as_str(), refs[0].commit.as_str()), ("refs/heads/x", a.as_str()));
        assert_eq!(refs[1].commit.as_str(), b);
    }

    #[test]
    fn only_full_names_are_refs() {
        for name in ["HEAD", "main", "-d", "refs/", "refs/heads", "refs/heads/../x", "refs/heads/a b", "refs/x\n/y"] {
            assert!(require_ref(name).is_err(), "{name}");
        }
        for name in ["refs/heads/a/b", "refs/spinney/rescue/k3v9", "refs/stash", "refs/remotes/origin/größe"] {
            assert!(require_ref(name).is_ok(), "{name}");
        }
    }

    proptest! {
        #[test]
        fn no_output_makes_it_panic(stdout in hostile::output(&["refs/heads/", "refs/tags/", "\0", "\n"])) {
            let _ = parse_refs(&stdout);
        }

        #[test]
        fn what_git_writes_is_read_back(
            refs in proptest::collection::vec(("refs/[a-z]{1,9}/[a-zß日]{1,9}", hostile::commit(), any::<bool>()), 0..6)
        ) {
            let line = |(name, commit, is_tag): &(String, CommitId, bool)| match is_tag {
                true => format!("{name}\0{}\0{commit}\n", "f".repeat(40)),
                false => format!("{name}\0{commit}\0\n"),
            };
            let read = parse_refs(refs.iter().map(line).collect::<String>().as_bytes());
            let read: Vec<_> = read.into_iter().map(|read| (read.name, read.commit)).collect();
            let expected: Vec<_> = refs.into_iter().map(|(name, commit, _)| (name, commit)).collect();
            prop_assert_eq!(read, expected);
        }

        #[test]
        fn no_name_makes_it_panic(name in "(refs/)?(heads/|stash|\\PC){0,20}") {
            let _ = require_ref(&name);
        }
    }

    #[test]
    fn much_is_read_in_time() {
        hostile::assert_fast(&["refs/heads/x\0"], |stdout| drop(parse_refs(stdout)));
    }
}
