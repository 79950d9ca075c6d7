//! The pin: one commit that keeps every object alive which a worktree's admin dir or its branch's log names.
//!
//! 1. Collect the names of objects from the admin dir, the branch, its log and its stash entries.
//! 2. The plain case: they all are commits that exist, and the tree of the whole index is written already. Then that is
//!    the commit's tree, and they are its parents. Git refuses to write a commit of anything else; then:
//! 3. Keep the names of what exists. Write the index as a tree, from a copy: `write-tree` would rewrite the real one.
//!    Where there are conflicts, each stage is a directory of its own. Write the commit: its parents are the commits, its
//!    tree holds the index and the other objects.
//! 4. Set the rescue ref. A pin that stood there before becomes a parent, so that doing it twice loses nothing.
//!
//! An index that git can't read names nothing, and is left out: the file is kept as it is.
//!
//! Everything is flushed to the disk before the ref is. Submodules' repositories move with the admin dir.

use std::collections::BTreeSet;
use std::path::Path;

use spinney_core::{BranchName, CommitId, names};

use crate::command::Command;
use crate::hidden::copy_index;
use crate::index_tree::load_whole_tree;
use crate::lock::RepositoryLock;
use crate::pin_sources::{HeadFile, head_in_file, load_named, may_have_own_refs, search_file};
use crate::repository::Repository;
use crate::{Error, Result};

/// A commit may have any number of parents, but some tools choke on thousands: more are gathered level by level.
const MAX_PARENTS: usize = 200;

/// Who our own commits are by.
pub(crate) fn identity(command: Command) -> Command {
    ["AUTHOR", "COMMITTER"].into_iter().fold(command, |command, role| {
        command.env(format!("GIT_{role}_NAME"), "Spinney").env(format!("GIT_{role}_EMAIL"), "spinney@localhost")
    })
}

#[derive(Debug, Default)]
pub(crate) struct Objects {
    pub commits: Vec<CommitId>,
    /// Kind and name of the rest.
    others: Vec<(String, String)>,
}

impl Repository {
    /// Pins everything that a worktree and its branch name under `rescue_ref`. The worktree's directory is not needed.
    pub async fn pin(
        &self,
        lock: &RepositoryLock,
        admin_dir: &Path,
        branch: Option<&BranchName>,
        rescue_ref: &str,
        message: &str,
    ) -> Result<CommitId> {
        let earlier = self.load_ref(rescue_ref).await?;
        let mut named = load_named(admin_dir)?;
        named.extend(self.load_other_names(admin_dir, branch).await?);
        named.extend(earlier.iter().map(ToString::to_string));
        let commit = match self.write_plain_pin(lock, admin_dir, &named, message).await? {
            Some(commit) => commit,
            None => self.write_full_pin(lock, admin_dir, named, message).await?,
        };
        let name = crate::refs::require_ref(rescue_ref)?;
        let none = "0".repeat(commit.as_str().len());
        let old = earlier.as_ref().map_or(none.as_str(), CommitId::as_str);
        let command = || durable(self.holding(lock)).args(["update-ref", "--no-deref", name, commit.as_str(), old]);
        self.run_patiently(command).await?;
        Ok(commit)
    }

    /// Writes the commit where every name is a commit and the index a tree; none where git says that it is not so.
    async fn write_plain_pin(
        &self,
        lock: &RepositoryLock,
        admin_dir: &Path,
        named: &BTreeSet<String>,
        message: &str,
    ) -> Result<Option<CommitId>> {
        let parents: Option<Vec<CommitId>> = named.iter().map(|name| name.parse().ok()).collect();
        let parents = parents.filter(|parents| (1..=MAX_PARENTS).contains(&parents.len()));
        let (Some(parents), Some(tree)) = (parents, load_whole_tree(admin_dir)) else { return Ok(None) };
        match self.write_commit(lock, &tree, &parents, message).await {
            Ok(commit) => Ok(Some(commit)),
            Err(Error::Timeout { command, after }) => Err(Error::Timeout { command, after }),
            Err(_) => Ok(None),
        }
    }

    /// Writes the commit whatever the names are, and whatever the index holds.
    async fn write_full_pin(
        &self,
        lock: &RepositoryLock,
        admin_dir: &Path,
        named: BTreeSet<String>,
        message: &str,
    ) -> Result<CommitId> {
        let (objects, index) = tokio::join!(self.load_existing(named), self.write_index(lock, admin_dir));
        let (mut objects, index) = (objects?, index?);
        objects.others.extend(index.map(|tree| ("tree".to_owned(), tree)));
        let tree = self.write_objects_tree(lock, &objects.others).await?;
        self.write_pin(lock, &tree, objects.commits, message).await
    }

    /// Names that no file of the admin dir need hold: HEAD's target, the branch with its log, refs in another store.
    pub(crate) async fn load_other_names(
        &self,
        admin_dir: &Path,
        branch: Option<&BranchName>,
    ) -> Result<BTreeSet<String>> {
        let mut named = BTreeSet::new();
        let inside = || self.command().env("GIT_DIR", admin_dir);
        match head_in_file(admin_dir) {
            Some(HeadFile::Commit) => {}
            Some(HeadFile::Ref(name)) => named.extend(self.load_ref(&name).await?.map(|commit| commit.to_string())),
            None => {
                let command = inside().args(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]);
                named.extend(command.accept(&[0, 1]).text().await?.lines().map(str::to_owned));
            }
        }
        if may_have_own_refs(admin_dir)? {
            let own = ["refs/worktree", "refs/bisect", "refs/rewritten"];
            let refs = inside().args(["for-each-ref", "--format=%(objectname)"]).args(own).text().await?;
            named.extend(refs.lines().map(str::to_owned));
        }
        let mut logged = Vec::new();
        if admin_dir.join("reftable").is_dir() {
            logged.push("HEAD".to_owned());
        }
        if let Some(branch) = branch {
            named.extend(self.load_branch(branch).await?.map(|commit| commit.to_string()));
            let stashes = self.load_stashes().await?.into_iter();
            let own = stashes.filter(|stash| stash.branch.as_deref() == Some(branch.as_str()));
            named.extend(own.map(|stash| stash.commit.to_string()));
            let log = self.common_dir().join("logs").join(branch.local_ref());
            if log.is_file() {
                search_file(&log, &mut named)?;
            } else {
                logged.push(branch.local_ref());
            }
        }
        for name in logged {
            let command = inside().args(["log", "--walk-reflogs", "--ignore-missing", "--format=%H", &name, "--"]);
            match command.text().await {
                Ok(log) => named.extend(log.lines().map(str::to_owned)),
                // A branch that is gone, or not born yet, has no log.
                Err(Error::MissingRef { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(named)
    }

    /// Sorts names into the commits and the other objects that exist.
    pub(crate) async fn load_existing(&self, named: BTreeSet<String>) -> Result<Objects> {
        let mut questions = String::new();
        for name in &named {
            questions.push_str(&format!("{name}\n"));
        }
        let command = self.command().args(["cat-file", "--batch-check=%(objectname) %(objecttype)"]);
        let answer = command.stdin_bytes(questions.into_bytes()).text().await?;
        let mut objects = Objects::default();
        for line in answer.lines() {
            match line.split_once(' ') {
                Some((name, "commit")) => objects.commits.extend(name.parse::<CommitId>().ok()),
                Some((name, kind @ ("tree" | "blob" | "tag"))) => {
                    objects.others.push((kind.to_owned(), name.to_owned()));
                }
                _ => {}
            }
        }
        Ok(objects)
    }

    /// Writes the index as a tree; none where there is no index, or none that can be read.
    async fn write_index(&self, lock: &RepositoryLock, admin_dir: &Path) -> Result<Option<String>> {
        let copy = copy_index(admin_dir, &self.require_state_dir()?)?;
        let index = copy.path().join("index");
        if !index.exists() {
            return Ok(None);
        }
        let with = |index: &Path| {
            let command = durable(self.holding(lock)).env("GIT_DIR", admin_dir).env("GIT_WORK_TREE", copy.path());
            command
                .env("GIT_INDEX_FILE", index)
                .config("core.splitIndex", "false")
                .config("core.sparseCheckout", "false")
        };
        // It fails on conflicts and on objects that are missing; then what is there is taken entry by entry.
        let whole = with(&index).arg("write-tree").accept(&[0, 128]).run().await?;
        if whole.status == 0 && with(&index).args(["ls-files", "-z", "--resolve-undo"]).run().await?.stdout.is_empty() {
            return Ok(Some(whole.text()));
        }
        let staged = match with(&index).args(["ls-files", "-z", "--stage"]).run().await {
            Ok(listed) => listed.stdout,
            // Nobody can tell what it named. The file itself goes where the admin dir goes, and comes back with it.
            Err(Error::DamagedIndex { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let undone = with(&index).args(["ls-files", "-z", "--resolve-undo"]).run().await?.stdout;
        let mut entries = parse_entries(&staged, "stage");
        entries.extend(parse_entries(&undone, "undo"));
        let existing = self.load_existing(entries.iter().map(|entry| entry.object.clone()).collect()).await?;
        let blobs: BTreeSet<&str> = existing.others.iter().map(|(_, name)| name.as_str()).collect();
        let mut lines = Vec::new();
        for entry in entries.iter().filter(|entry| blobs.contains(entry.object.as_str())) {
            lines.extend_from_slice(format!("{} {} 0\t{}/", entry.mode, entry.object, entry.directory).as_bytes());
            lines.extend_from_slice(&entry.path);
            lines.push(0);
        }
        let stages = copy.path().join("stages");
        with(&stages).args(["update-index", "-z", "--index-info"]).stdin_bytes(lines).run().await?;
        Ok(Some(with(&stages).arg("write-tree").text().await?))
    }

    /// Writes a tree that holds objects by their names. Tags can't be in a tree; their commits are named elsewhere.
    async fn write_objects_tree(&self, lock: &RepositoryLock, objects: &[(String, String)]) -> Result<String> {
        let mut lines = Vec::new();
        for (kind, name) in objects.iter().collect::<BTreeSet<_>>() {
            let mode = if kind == "tree" { "040000" } else { "100644" };
            if kind != "tag" {
                lines.extend_from_slice(format!("{mode} {kind} {name}\t{name}\0").as_bytes());
            }
        }
        durable(self.holding(lock)).args(["mktree", "-z"]).stdin_bytes(lines).text().await
    }

    /// Writes the commit, gathering its parents in groups where they are many.
    async fn write_pin(
        &self,
        lock: &RepositoryLock,
        tree: &str,
        mut parents: Vec<CommitId>,
        message: &str,
    ) -> Result<CommitId> {
        while parents.len() > MAX_PARENTS {
            let mut gathered = Vec::new();
            for group in parents.chunks(MAX_PARENTS) {
                gathered.push(self.write_commit(lock, tree, group, message).await?);
            }
            parents = gathered;
        }
        self.write_commit(lock, tree, &parents, message).await
    }

    async fn write_commit(
        &self,
        lock: &RepositoryLock,
        tree: &str,
        parents: &[CommitId],
        message: &str,
    ) -> Result<CommitId> {
        let command = identity(durable(self.holding(lock))).args(["commit-tree", tree]);
        let command = command.args(parents.iter().flat_map(|parent| ["-p", parent.as_str()]));
        let written = command.args(["-m", message]).text().await?;
        written.parse().map_err(|_| Error::Unexpected {
            command: "git commit-tree".to_owned(),
            detail: names::for_message(&written),
        })
    }
}

/// Makes what a process writes survive a loss of power.
fn durable(command: Command) -> Command {
    command.config("core.fsync", "all").config("core.fsyncMethod", "batch")
}

#[derive(Debug, PartialEq, Eq)]
struct IndexEntry {
    mode: String,
    object: String,
    directory: String,
    path: Vec<u8>,
}

/// Reads `<mode> <object> <stage>\t<path>\0`. Submodules' commits are not in this repository, and left out.
fn parse_entries(stdout: &[u8], directory: &str) -> Vec<IndexEntry> {
    let entry = |entry: &[u8]| {
        let tab = entry.iter().position(|byte| *byte == b'\t')?;
        let mut words = std::str::from_utf8(&entry[..tab]).ok()?.split(' ');
        let (mode, object, stage) = (words.next()?, words.next()?, words.next()?);
        (mode != "160000").then(|| IndexEntry {
            mode: mode.to_owned(),
            object: object.to_owned(),
            directory: format!("{directory}-{stage}"),
            path: entry[tab + 1..].to_vec(),
        })
    };
    stdout.split(|byte| *byte == 0).filter_map(entry).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn stages_become_directories_and_submodules_stay_out() {
        let id = "a".repeat(40);
        let entries = parse_entries(format!("100644 {id} 2\ta b\0160000 {id} 0\tsub\0").as_bytes(), "stage");
        assert_eq!(entries.len(), 1);
        assert_eq!((entries[0].directory.as_str(), entries[0].path.as_slice()), ("stage-2", b"a b".as_slice()));
    }

    proptest! {
        #[test]
        fn no_output_makes_it_panic(stdout in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse_entries(&stdout, "stage");
        }
    }
}
