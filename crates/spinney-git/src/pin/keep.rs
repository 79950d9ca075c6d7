//! The pin: one commit that keeps every object alive which a worktree's admin dir or its branch's log names.
//!
//! 1. Collect the names of objects from the admin dir, the branch, its log and its stash entries.
//! 2. The plain case: HEAD's branch leads to all of them and to the whole index. Then its tip is the pin, and nothing has
//!    to be written.
//! 3. Else they all are commits that exist, and the tree of the whole index is written already. Then that is the commit's
//!    tree, and they are its parents. Git refuses to write a commit of anything else; then:
//! 4. Keep the names of what exists. Write the index as a tree, from a copy: `write-tree` would rewrite the real one.
//!    Where there are conflicts, each stage is a directory of its own. Write the commit: its parents are the commits, its
//!    tree holds the index and the other objects.
//! 5. Pack what only the commit leads to, safe from every gc (`pin_pack`), and set the rescue ref. A pin that stood there
//!    before becomes a parent, so that doing it twice loses nothing. Look whether all that it leads to is there; a ref
//!    that leads to what is missing breaks git for everybody, and goes again.
//!
//! An index that git can't read names nothing, and is left out: the file is kept as it is. Where objects are missing
//! already, the pin fails; [`Repository::pin_what_is_whole`] pins the rest.
//!
//! Everything is flushed to the disk before the ref is. Submodules' repositories move with the admin dir.

use std::collections::BTreeSet;
use std::path::Path;

use spinney_core::{BranchName, CommitId, names};

use crate::index::tree::load_whole_tree;
use crate::pin::pack::{KeptPack, missing_objects};
use crate::pin::sources::{HeadFile, head_in_file, load_named, may_have_own_refs, names_only_commits, search_file};
use crate::process::command::Command;
use crate::repository::lock::RepositoryLock;
use crate::repository::opened::Repository;
use crate::worktree::linked::read_pointer;
use crate::{Error, Result};

/// A commit may have any number of parents, but some tools choke on thousands: more are gathered level by level.
const MAX_PARENTS: usize = 200;
/// How often a pin is written anew when something of it vanished meanwhile.
const ATTEMPTS: usize = 3;

/// How the message of a pin ends: by that it is told from a commit of somebody's.
pub const KEPT_ALIVE: &str = "removed, kept alive";
pub const VANISHED: &str = "its directory vanished";

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
    pub others: Vec<(String, String)>,
}

impl Repository {
    /// Pins everything that a worktree and its branch name under `rescue_ref`. The worktree's directory is not needed.
    /// Fails with [`Error::MissingObjects`] where something of it is missing.
    pub async fn pin(
        &self,
        lock: &RepositoryLock,
        admin_dir: &Path,
        branch: Option<&BranchName>,
        rescue_ref: &str,
        message: &str,
    ) -> Result<CommitId> {
        let mut earlier = self.load_ref(rescue_ref).await?;
        let named = self.load_all_names(admin_dir, branch, earlier.as_ref()).await?;
        if let Some((name, tip)) = self.load_covering_branch(admin_dir, &named).await? {
            if earlier.as_ref() != Some(&tip) {
                self.set_rescue_ref(lock, rescue_ref, &tip, earlier.as_ref()).await?;
            }
            // Only as long as it is a branch's does its tip need no pack.
            if self.load_ref(&name).await?.as_ref() == Some(&tip) {
                return Ok(tip);
            }
            earlier = Some(tip);
        }
        for _ in 1..ATTEMPTS {
            match self.pin_by_commit(lock, admin_dir, branch, &named, rescue_ref, message, earlier.as_ref()).await {
                // What is named by nothing but a file that is being replaced may be collected while it is looked at.
                Err(Error::MissingObjects { .. }) => {}
                done => return done,
            }
        }
        self.pin_by_commit(lock, admin_dir, branch, &named, rescue_ref, message, earlier.as_ref()).await
    }

    /// Writes a commit of all names and the index, and sets the rescue ref to it. Nobody else sees what is written on the
    /// way, and no gc takes it, until it is in its pack.
    #[expect(clippy::too_many_arguments, reason = "one step of one flow")]
    async fn pin_by_commit(
        &self,
        lock: &RepositoryLock,
        admin_dir: &Path,
        branch: Option<&BranchName>,
        named: &BTreeSet<String>,
        rescue_ref: &str,
        message: &str,
        earlier: Option<&CommitId>,
    ) -> Result<CommitId> {
        let scratch = self.with_scratch_objects()?;
        let commit = match scratch.write_plain_pin(lock, admin_dir, named, message).await? {
            Some(commit) => commit,
            None => scratch.write_full_pin(lock, admin_dir, named.clone(), branch, message).await?,
        };
        self.set_pin(lock, &scratch, rescue_ref, &commit, earlier).await?;
        Ok(commit)
    }

    /// Every name that a pin is made of.
    pub(crate) async fn load_all_names(
        &self,
        admin_dir: &Path,
        branch: Option<&BranchName>,
        earlier: Option<&CommitId>,
    ) -> Result<BTreeSet<String>> {
        let mut named = load_named(admin_dir)?;
        named.extend(self.load_other_names(admin_dir, branch).await?);
        named.extend(earlier.map(ToString::to_string));
        Ok(named)
    }

    /// The branch that HEAD is on, and its tip, where that leads to every name and to the whole index.
    async fn load_covering_branch(
        &self,
        admin_dir: &Path,
        named: &BTreeSet<String>,
    ) -> Result<Option<(String, CommitId)>> {
        let (Some(HeadFile::Ref(name)), Some(tree)) = (head_in_file(admin_dir), load_whole_tree(admin_dir)) else {
            return Ok(None);
        };
        let Some(tip) = self.load_ref(&name).await? else { return Ok(None) };
        if !names_only_commits(admin_dir)? {
            return Ok(None);
        }
        // What is left without all that the tip's parents lead to is the tip alone; its tree is told with it.
        let mut questions = format!("{tip}\n^{tip}^@\n");
        for name in named {
            questions.push_str(&format!("{name}\n"));
        }
        let command = self.command().args(["rev-list", "--no-commit-header", "--format=%H %T", "--stdin"]);
        match command.stdin_bytes(questions.into_bytes()).text().await {
            Ok(rest) if rest == format!("{tip} {tree}") => Ok(Some((name, tip))),
            Err(error @ Error::Timeout { .. }) => Err(error),
            // Something leads elsewhere, is no commit, or is not there.
            _ => Ok(None),
        }
    }

    /// Sets the rescue ref to a new commit among scratch objects, so that nobody ever finds it leading to nothing.
    pub(crate) async fn set_pin(
        &self,
        lock: &RepositoryLock,
        scratch: &Self,
        rescue_ref: &str,
        commit: &CommitId,
        earlier: Option<&CommitId>,
    ) -> Result<()> {
        let pack = self.keep_exclusive(lock, scratch, commit, rescue_ref).await?;
        let release = |pack: Option<KeptPack>| pack.map_or(Ok(()), KeptPack::release);
        let set = self.set_rescue_ref(lock, rescue_ref, commit, earlier).await;
        let whole = match set {
            Ok(()) => self.require_whole(commit, rescue_ref).await,
            Err(error) => {
                release(pack)?;
                return Err(error);
            }
        };
        if whole.is_err() {
            match earlier {
                Some(earlier) => self.set_rescue_ref(lock, rescue_ref, earlier, Some(commit)).await?,
                None => self.delete_ref(lock, rescue_ref, commit).await?,
            }
        }
        release(pack)?;
        whole.map(drop)
    }

    async fn set_rescue_ref(
        &self,
        lock: &RepositoryLock,
        rescue_ref: &str,
        commit: &CommitId,
        old: Option<&CommitId>,
    ) -> Result<()> {
        let name = crate::refs::update::require_ref(rescue_ref)?;
        let none = "0".repeat(commit.as_str().len());
        let old = old.map_or(none.as_str(), CommitId::as_str);
        let command = || durable(self.holding(lock)).args(["update-ref", "--no-deref", name, commit.as_str(), old]);
        self.run_patiently(command).await.map(drop)
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
        branch: Option<&BranchName>,
        message: &str,
    ) -> Result<CommitId> {
        let mut missing = BTreeSet::new();
        let (objects, index) = tokio::join!(self.load_existing(named), self.write_index(lock, admin_dir, &mut missing));
        let (mut objects, index) = (objects?, index?);
        // A log may name what was collected long ago; where HEAD and the branch are, there must be something.
        for tip in self.load_tips(admin_dir, branch).await? {
            if !objects.commits.contains(&tip) {
                missing.insert(tip.to_string());
            }
        }
        if !missing.is_empty() {
            return Err(Error::MissingObjects { objects: missing.into_iter().collect() });
        }
        objects.others.extend(index.map(|tree| ("tree".to_owned(), tree)));
        let tree = self.write_objects_tree(lock, &objects.others).await?;
        self.write_pin(lock, &tree, objects.commits, message).await
    }

    /// The commits that HEAD and the branch are at.
    async fn load_tips(&self, admin_dir: &Path, branch: Option<&BranchName>) -> Result<Vec<CommitId>> {
        let head = match head_in_file(admin_dir) {
            Some(HeadFile::Ref(name)) => self.load_ref(&name).await?,
            Some(HeadFile::Commit) => read_pointer(&admin_dir.join("HEAD")).and_then(|text| text.parse().ok()),
            None => None,
        };
        let branch = match branch {
            Some(branch) => self.load_branch(branch).await?,
            None => None,
        };
        Ok(head.into_iter().chain(branch).collect())
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

    /// Writes a tree that holds objects by their names. Tags can't be in a tree; their commits are named elsewhere.
    pub(crate) async fn write_objects_tree(
        &self,
        lock: &RepositoryLock,
        objects: &[(String, String)],
    ) -> Result<String> {
        let mut lines = Vec::new();
        for (kind, name) in objects.iter().collect::<BTreeSet<_>>() {
            let mode = if kind == "tree" { "040000" } else { "100644" };
            if kind != "tag" {
                lines.extend_from_slice(format!("{mode} {kind} {name}\t{name}\0").as_bytes());
            }
        }
        let command = self.holding(lock).args(["mktree", "-z"]).stdin_bytes(lines);
        command.text().await.map_err(missing_objects)
    }

    /// Writes the commit, gathering its parents in groups where they are many.
    pub(crate) async fn write_pin(
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
        let command = identity(self.holding(lock)).args(["commit-tree", tree]);
        let command = command.args(parents.iter().flat_map(|parent| ["-p", parent.as_str()]));
        let written = command.args(["-m", message]).text().await.map_err(missing_objects)?;
        written.parse().map_err(|_| Error::Unexpected {
            command: "git commit-tree".to_owned(),
            detail: names::for_message(&written),
        })
    }
}

/// Makes what a process writes survive a loss of power.
pub(crate) fn durable(command: Command) -> Command {
    command.config("core.fsync", "all").config("core.fsyncMethod", "batch")
}
