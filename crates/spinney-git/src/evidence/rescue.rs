//! What refs of Spinney's own keep alive: what else leads to it, and what goes with them.

use std::collections::{BTreeMap, BTreeSet};

use spinney_core::{BranchName, CommitId};

use crate::Result;
use crate::pin::keep::{KEPT_ALIVE, VANISHED};
use crate::refs::broken_refs::LEFT;
use crate::repository::opened::Repository;

/// Who writes the commits that pins are.
pub(crate) const PINNER: &str = "spinney@localhost";

/// A ref, by its whole name, and the commit that it leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedRef {
    pub name: String,
    pub commit: CommitId,
}

/// Commits that some refs alone lead to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OnlyHere {
    pub count: u64,
    /// The newest of them, each with its subject.
    pub newest: Vec<(CommitId, String)>,
}

/// What a commit keeps: itself, or its parents where it was only written to be a pin.
#[derive(Debug)]
struct Kept {
    commit: String,
    tree: String,
    parents: Vec<String>,
    is_pin: bool,
}

impl Kept {
    fn parents(&self) -> impl Iterator<Item = &str> {
        self.parents.iter().map(String::as_str)
    }

    fn commits(&self) -> impl Iterator<Item = &str> {
        let own = (!self.is_pin).then_some(self.commit.as_str());
        own.into_iter().chain(self.parents().filter(|_| self.is_pin))
    }
}

impl Repository {
    /// Lists the refs below some names, as far as they lead to a commit by themselves. Looks at no object: one that leads to
    /// nothing is listed, too.
    pub async fn load_refs_below(&self, below: &[&str]) -> Result<Vec<NamedRef>> {
        let command = self.command().args(["for-each-ref", "--format=%(objectname) %(refname)"]);
        let listed = command.args(below.iter().copied()).text().await?;
        let parse = |line: &str| {
            let (commit, name) = line.split_once(' ')?;
            Some(NamedRef { name: name.to_owned(), commit: commit.parse().ok()? })
        };
        Ok(listed.lines().filter_map(parse).collect())
    }

    /// Lists the commits that tags lead to.
    pub async fn load_tagged(&self) -> Result<Vec<CommitId>> {
        let format = "--format=%(objecttype) %(objectname) %(*objecttype) %(*objectname)";
        let listed = self.command().args(["for-each-ref", format, "refs/tags/"]).text().await?;
        let parse = |line: &str| {
            let mut words = line.split(' ');
            let (kind, object, of_kind, of_object) = (words.next()?, words.next()?, words.next()?, words.next()?);
            match (kind, of_kind) {
                ("commit", _) => object.parse().ok(),
                (_, "commit") => of_object.parse().ok(),
                _ => None,
            }
        };
        Ok(listed.lines().filter_map(parse).collect())
    }

    /// Names those of these refs that keep nothing alive which `elsewhere` does not lead to: no commit, and nothing that was
    /// only staged. A few walks for all of them. What git does not answer is an error, and none of them is needless.
    pub async fn load_needless<'a>(&self, refs: &'a [NamedRef], elsewhere: &[CommitId]) -> Result<Vec<&'a NamedRef>> {
        if refs.is_empty() || elsewhere.is_empty() {
            return Ok(Vec::new());
        }
        let own = self.load_kept(refs.iter().map(|one| one.commit.as_str())).await?;
        let kept: BTreeSet<&str> = own.values().flat_map(Kept::commits).collect();
        let mut questions: String = kept.iter().map(|commit| format!("{commit}\n")).collect();
        elsewhere.iter().for_each(|commit| questions.push_str(&format!("^{commit}\n")));
        let command = self.command().args(["rev-list", "--stdin"]).stdin_bytes(questions.into_bytes());
        let listed = command.text().await?;
        let only_here: BTreeSet<&str> = listed.lines().collect();
        let trees = self.load_kept(own.values().flat_map(Kept::parents)).await?;
        let is_needless = |one: &&NamedRef| {
            own.get(one.commit.as_str()).is_some_and(|kept| {
                // The index was that of one of the commits: nothing was staged beside it.
                let is_plain = !kept.is_pin
                    || kept.parents().any(|parent| trees.get(parent).is_some_and(|found| found.tree == kept.tree));
                is_plain && kept.commits().all(|commit| !only_here.contains(commit))
            })
        };
        Ok(refs.iter().filter(is_needless).collect())
    }

    /// Reads what commits keep.
    async fn load_kept<'a>(&self, commits: impl Iterator<Item = &'a str>) -> Result<BTreeMap<String, Kept>> {
        let questions: String = commits.map(|commit| format!("{commit}\n")).collect();
        if questions.is_empty() {
            return Ok(BTreeMap::new());
        }
        let command = self.command().args([
            "log",
            "--no-walk=unsorted",
            "--ignore-missing",
            "--stdin",
            "--format=%H %T %P%x00%ce%x00%s",
        ]);
        let told = command.stdin_bytes(questions.into_bytes()).text().await?;
        let parse = |line: &str| {
            let (ids, rest) = line.split_once('\0')?;
            let (committer, subject) = rest.split_once('\0')?;
            let mut ids = ids.split(' ').filter(|id| !id.is_empty()).map(ToOwned::to_owned);
            let (commit, tree) = (ids.next()?, ids.next()?);
            // A commit that was only written to be a pin is nobody's work; a branch's tip that is one may be.
            let is_pin = committer == PINNER && is_pin_subject(subject);
            Some((commit.clone(), Kept { commit, tree, parents: ids.collect(), is_pin }))
        };
        Ok(told.lines().filter_map(parse).collect())
    }

    /// Counts the commits that these refs lead to and no other ref does, and names the newest. Refs that `go_too` lead to
    /// nothing that stays. Pins themselves do not count.
    pub async fn load_only_in(&self, refs: &[NamedRef], go_too: &[NamedRef], newest: usize) -> Result<OnlyHere> {
        let commits = refs.iter().map(|one| &one.commit);
        let excluded = refs.iter().chain(go_too).map(|one| format!("--exclude={}", one.name));
        self.load_beside(commits, excluded.chain(["--all".to_owned()]), newest).await
    }

    /// Counts the commits that a branch leads to and no other branch, remote or tag does, and names the newest.
    pub async fn load_only_on(&self, branch: &BranchName, tip: &CommitId, newest: usize) -> Result<OnlyHere> {
        let others = [format!("--exclude={branch}"), "--branches".into(), "--remotes".into(), "--tags".into()];
        self.load_beside([tip].into_iter(), others.into_iter(), newest).await
    }

    /// Counts what some commits lead to and `others` do not.
    async fn load_beside(
        &self,
        commits: impl Iterator<Item = &CommitId>,
        others: impl Iterator<Item = String>,
        newest: usize,
    ) -> Result<OnlyHere> {
        let questions: String = commits.map(|commit| format!("{commit}\n")).collect();
        if questions.is_empty() {
            return Ok(OnlyHere::default());
        }
        let command = self.command().args(["log", "--stdin", "--ignore-missing", "--format=%H %ce%x00%s", "--not"]);
        let listed = command.args(others).stdin_bytes(questions.into_bytes()).text().await?;
        let mut found = OnlyHere::default();
        for line in listed.lines() {
            let (head, subject) = line.split_once('\0').unwrap_or((line, ""));
            let Some((commit, committer)) = head.split_once(' ') else { continue };
            if committer == PINNER && is_pin_subject(subject) {
                continue;
            }
            found.count += 1;
            if found.newest.len() < newest
                && let Ok(commit) = commit.parse()
            {
                found.newest.push((commit, subject.to_owned()));
            }
        }
        Ok(found)
    }
}

/// Whether a commit with this subject was written by a pin.
pub(crate) fn is_pin_subject(subject: &str) -> bool {
    [KEPT_ALIVE, VANISHED, LEFT].iter().any(|end| subject.ends_with(end))
}
