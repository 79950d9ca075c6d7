//! One import, in the order that [`super`] says.

use std::path::Path;

use spinney_core::{BranchName, CommitId};

use crate::boxed::left_over::BoxedCommit;
use crate::boxed::tree::BoxedTree;
use crate::import::check::{New, bring, require_whole, require_whole_in};
use crate::import::finding::{Finding, ImportLimits, Imported};
use crate::import::policy::judge;
use crate::import::quarantine::Quarantine;
use crate::import::tip;
use crate::refs::head::Head;
use crate::worktree::linked::Worktree;
use crate::{Command, Error, Result};

/// What is imported.
#[derive(Debug, Clone, Copy)]
pub struct Import<'a> {
    pub tree: &'a BoxedTree,
    /// The workspace's own branch, which is the only one that moves.
    pub branch: &'a BranchName,
    /// A commit of what was left over in the tree, on top of the branch.
    pub left_over: Option<&'a BoxedCommit>,
    /// Patterns of paths whose changes are held for a person.
    pub protected: &'a [String],
    pub limits: ImportLimits,
}

impl Worktree {
    /// Brings what a box made of this worktree's branch into the repository. The box must not run.
    ///
    /// The worktree is the host's own record: of its files nothing is read.
    pub async fn import(&self, import: &Import<'_>) -> Result<Imported> {
        let Import { tree, branch, .. } = import;
        let on_branch = matches!(self.load_head().await?, Head::Branch { name, .. } if name == **branch);
        if !on_branch {
            return Err(Error::Refused { what: "the branch of this worktree", name: branch.to_string() });
        }
        let missing = || Error::MissingRef { name: branch.local_ref() };
        let from = self.repository().load_branch(branch).await?.ok_or_else(missing)?;

        let known = tree.mirror().load_tips().await?;
        let (tip, mut findings) = tip::load(tree, branch, &known).await?;
        let to = import.left_over.map_or(tip, |left_over| left_over.commit.clone());

        let quarantine = Quarantine::make(self.repository(), tree.jail(), tree.mirror(), tree.places())?;
        let pack = bring(tree, import.left_over, &to, &known, &quarantine, &import.limits).await?;
        let new = require_whole(&quarantine, &to, pack, &import.limits).await?;
        let packs = quarantine.require_only(&new.pack)?;
        let ((), judged) = tokio::try_join!(
            require_whole_in(self.repository(), &quarantine, &to),
            judge(&quarantine, &new.commits, import.protected),
        )?;
        findings.extend(judged.findings);
        if !self.has_ancestor(&quarantine, &from, &to).await? {
            findings.push(Finding::Rewritten(from.clone()));
        }
        let commits = new.commits.len() as u64;
        self.take_in(&quarantine, &packs, branch, (&from, &to), &new).await?;
        Ok(Imported { from, to, commits, findings, held: judged.held.into_iter().collect() })
    }

    async fn has_ancestor(&self, quarantine: &Quarantine, ancestor: &CommitId, tip: &CommitId) -> Result<bool> {
        if ancestor == tip {
            return Ok(true);
        }
        let command = quarantine.seen_by(self.repository()).args(["merge-base", "--is-ancestor"]);
        Ok(command.args([ancestor.as_str(), tip.as_str()]).accept(&[0, 1]).run().await?.status == 0)
    }

    /// Moves the pack into the repository and the branch to its new commit, and makes the host's index follow.
    async fn take_in(
        &self,
        quarantine: &Quarantine,
        packs: &Path,
        branch: &BranchName,
        (from, to): (&CommitId, &CommitId),
        new: &New,
    ) -> Result<()> {
        let lock = self.repository().lock("import what a box made").await?;
        let admin = || self.admin_command(quarantine).holding(&lock);
        if from != to {
            self.repository().drop_stale_keeps()?;
            let kept = match new.objects {
                0 => None,
                _ => Some(self.repository().take_in(packs, &new.pack)?),
            };
            // The reflog keeps what a rewritten branch leaves behind.
            let update = ["update-ref", "--create-reflog", "-m", "import: what a box made"];
            let command = || admin().args(update).args([&branch.local_ref(), to.as_str(), from.as_str()]);
            self.repository().run_patiently(command).await?;
            if let Some(kept) = kept {
                kept.release()?;
            }
        }
        self.repository().run_patiently(|| admin().args(["read-tree", "-i", "-m", to.as_str()])).await.map(drop)
    }

    /// A call about the host's records of this worktree, whose files are the box's: git is shown an empty directory instead.
    fn admin_command(&self, quarantine: &Quarantine) -> Command {
        let command = self.repository().git().command(self.repository().common_dir());
        let command = command.env("GIT_DIR", self.admin_dir()).env("GIT_WORK_TREE", quarantine.empty());
        let command = command.env("GIT_COMMON_DIR", self.repository().common_dir());
        command.guarded(self.repository().guard().cloned())
    }
}
