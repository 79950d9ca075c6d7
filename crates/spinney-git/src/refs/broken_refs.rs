//! Refs of ours that lead to what is missing: git then fails for everybody, in `fetch`, `gc` and `log --all`.

use std::collections::BTreeSet;
use std::fs;
use std::io;

use spinney_core::CommitId;

use crate::repository::lock::RepositoryLock;
use crate::repository::opened::Repository;
use crate::{Error, Result};

/// Where ours are, and what was set aside lies in the state dir.
const OURS: &str = "refs/spinney";
/// How the message of a pin of the rest ends.
pub(crate) const LEFT: &str = "what is left of it";
const ASIDE: &str = "broken-refs";

/// A ref that leads to what is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenRef {
    pub name: String,
    /// Its value; none where the ref itself can't be read.
    pub commit: Option<CommitId>,
    /// Objects that are missing, as far as git told.
    pub missing: Vec<String>,
}

impl Repository {
    /// Finds the refs of ours that lead to what is missing.
    pub async fn load_broken_refs(&self) -> Result<Vec<BrokenRef>> {
        let command = self.command().args(["for-each-ref", "--format=%(refname) %(objectname)", OURS]);
        let output = command.run().await?;
        let mut broken: Vec<BrokenRef> = parse_unreadable(&output.stderr)
            .map(|name| BrokenRef { name: name.to_owned(), commit: None, missing: Vec::new() })
            .collect();
        let listed = output.text();
        let refs: Vec<(&str, CommitId)> = listed
            .lines()
            .filter_map(|line| line.split_once(' '))
            .filter_map(|(name, commit)| Some((name, commit.parse().ok()?)))
            .collect();
        if refs.is_empty() || self.are_whole(&refs).await? {
            return Ok(broken);
        }
        for (name, commit) in refs {
            match self.require_reachable(&commit).await {
                Ok(()) => {}
                Err(Error::MissingObjects { objects }) => {
                    broken.push(BrokenRef { name: name.to_owned(), commit: Some(commit), missing: objects });
                }
                Err(error) => return Err(error),
            }
        }
        Ok(broken)
    }

    /// Whether nothing is missing at all; the question that is asked most is one question for all refs.
    async fn are_whole(&self, refs: &[(&str, CommitId)]) -> Result<bool> {
        let mut questions = String::new();
        for (_, commit) in refs {
            questions.push_str(&format!("{commit}\n"));
        }
        match self.walk(questions).await {
            Ok(()) => Ok(true),
            Err(Error::MissingObjects { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn require_reachable(&self, commit: &CommitId) -> Result<()> {
        let there = self.load_existing(BTreeSet::from([commit.to_string()])).await?;
        if there.commits.is_empty() && there.others.is_empty() {
            return Err(Error::MissingObjects { objects: vec![commit.to_string()] });
        }
        self.walk(format!("{commit}\n")).await
    }

    /// Walks all that commits lead to, and branches, remotes and tags do not.
    async fn walk(&self, commits: String) -> Result<()> {
        let command = self.command().config("core.commitGraph", "false").args(["rev-list", "--objects", "--quiet"]);
        let command = if self.has_promised_objects() { command.arg("--exclude-promisor-objects") } else { command };
        let command = command.args(["--stdin", "--not", "--branches", "--remotes", "--tags"]);
        let walked = command.stdin_bytes(commits.into_bytes()).run().await;
        walked.map(drop).map_err(crate::pin::pack::missing_objects)
    }

    /// Takes a broken ref away and notes what it was. What it leads to and is whole is pinned in its place; tells whether
    /// anything is.
    pub async fn set_ref_aside(&self, lock: &RepositoryLock, broken: &BrokenRef) -> Result<bool> {
        let name = crate::refs::update::require_ref(&broken.name)?;
        let directory = self.require_state_dir()?.join(ASIDE);
        let note = directory.join(name.replace('/', "-"));
        let value = broken.commit.as_ref().map(ToString::to_string).unwrap_or_default();
        let text = format!("{value} {name}\nmissing: {}\n", broken.missing.join(" "));
        let written = fs::create_dir_all(&directory).and_then(|()| fs::write(&note, text));
        written.map_err(|source| Error::io("write", &note, source))?;
        let Some(commit) = &broken.commit else {
            let file = self.common_dir().join(name);
            let moved = fs::rename(&file, note.with_extension("file"));
            return match moved {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io("move", &file, error)),
                _ => Ok(false),
            };
        };
        self.delete_ref(lock, name, commit).await?;
        let parents = self.load_parents(commit).await?;
        if parents.is_empty() {
            return Ok(false);
        }
        let (mut missing, message) = (BTreeSet::new(), format!("{commit}: {LEFT}"));
        let scratch = self.with_scratch_objects()?;
        let rest = scratch.write_whole_part(lock, parents, None, name, &message, &mut missing).await?;
        if scratch.load_parents(&rest).await?.is_empty() {
            return Ok(false);
        }
        self.set_pin(lock, &scratch, name, &rest, None).await?;
        Ok(true)
    }

    /// The parents and the tree of a commit; none where it is missing.
    async fn load_parents(&self, commit: &CommitId) -> Result<BTreeSet<String>> {
        let command = self.command().args(["cat-file", "commit", commit.as_str()]).accept(&[0, 128]);
        let text = command.text().await?;
        let parents = text.lines().take_while(|line| !line.is_empty()).filter_map(|line| line.strip_prefix("parent "));
        Ok(parents.map(str::to_owned).collect())
    }
}

/// Reads the names of refs whose files hold no object's name.
fn parse_unreadable(stderr: &str) -> impl Iterator<Item = &str> {
    stderr.lines().filter_map(|line| line.trim().strip_prefix("warning: ignoring broken ref "))
}
