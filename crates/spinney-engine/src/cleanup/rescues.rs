//! Refs that keep commits of purged workspaces: each goes by itself once everything it leads to can be had elsewhere.
//!
//! Elsewhere is a branch, a tag, or the base branch of the remote as a fetch after the removal saw it. The workspace's own
//! branch is none: `restore` brings that back, also after somebody deleted it. Whatever is in doubt stays.

use std::collections::{BTreeMap, BTreeSet};

use spinney_core::{BranchName, CommitId, Finding, Workspace, WorkspaceId, WorkspaceStatus};
use spinney_git::{NamedRef, Wanted};

use crate::repositories::context::Context;
use crate::resolve::lookup::Among;
use crate::tree;
use crate::{Engine, Result};

impl Engine {
    /// Drops the refs of purged workspaces that keep nothing alive any more.
    pub(super) async fn sweep_rescues(&self, context: &Context, dry_run: bool) -> Result<Vec<Finding>> {
        let refs = context.load_refs_below(&tree::KEPT_REFS).await?;
        if refs.is_empty() {
            return Ok(Vec::new());
        }
        let removed = self.workspaces(Some(&context.repository.id), Among::Removed).await?;
        let purged: BTreeMap<&WorkspaceId, &Workspace> =
            removed.iter().filter(|row| row.status == WorkspaceStatus::Purged).map(|row| (&row.id, row)).collect();
        let (mut seen, mut unseen) = (Vec::new(), Vec::new());
        let bases = self.load_fetched_bases(context, purged.values().copied()).await?;
        for one in refs {
            let Some(row) = tree::kept_by(&one.name).and_then(|id| purged.get(&id).copied()) else { continue };
            let fetched = row.base_branch.as_ref().and_then(|base| bases.get(base));
            match fetched.zip(row.removed_at) {
                Some(((at, _), removed_at)) if *at >= removed_at => seen.push(one),
                _ => unseen.push(one),
            }
        }
        let own: BTreeSet<String> = removed.iter().map(|row| row.branch.local_ref()).collect();
        let branches = context.load_refs_below(&["refs/heads/"]).await?;
        let branches = branches.into_iter().filter(|one| !own.contains(&one.name)).map(|one| one.commit);
        let mut elsewhere: Vec<CommitId> = branches.chain(context.load_tagged().await?).collect();
        let mut needless = context.load_needless(&unseen, &elsewhere).await?;
        elsewhere.extend(bases.values().map(|(_, tip)| tip.clone()));
        needless.extend(context.load_needless(&seen, &elsewhere).await?);
        let mut findings = Vec::new();
        for one in needless {
            if !dry_run {
                let lock = context.lock("cleanup").await?;
                context.delete_kept_ref(&lock, one).await?;
            }
            findings.push(told(one, &purged, dry_run));
        }
        Ok(findings)
    }

    /// The base branches of some workspaces at the remote: when they were fetched last, and where they were.
    async fn load_fetched_bases<'a>(
        &self,
        context: &Context,
        rows: impl Iterator<Item = &'a Workspace>,
    ) -> Result<BTreeMap<BranchName, (spinney_core::Timestamp, CommitId)>> {
        let mut bases = BTreeMap::new();
        let Some(remote) = self.remote(context).await.ok().flatten() else { return Ok(bases) };
        let branches: BTreeSet<&BranchName> = rows.filter_map(|row| row.base_branch.as_ref()).collect();
        for branch in branches {
            let wanted = Wanted { default_branch: false, branches: vec![branch.clone()], pulls: Vec::new() };
            let Some(known) = context.load_known(&remote.name, &wanted) else { continue };
            if let Some(tip) = context.load_remote_branch(&remote.name, branch).await? {
                bases.insert(branch.clone(), (known.at, tip));
            }
        }
        Ok(bases)
    }
}

fn told(one: &NamedRef, purged: &BTreeMap<&WorkspaceId, &Workspace>, dry_run: bool) -> Finding {
    let row = tree::kept_by(&one.name).and_then(|id| purged.get(&id).copied());
    let name = row.map_or_else(|| one.name.clone(), |row| row.name.to_string());
    let done = if dry_run { "would be deleted" } else { "deleted" };
    Finding {
        what: format!("{name} was purged, and other branches have all commits of `{}`", one.name),
        done: Some(done.to_owned()),
        advice: None,
    }
}
