//! Forgets the rows of purged workspaces of which nothing is left: no archive, and no ref that keeps their commits.

use std::collections::{BTreeMap, BTreeSet};

use async_recursion::async_recursion as boxed;
use spinney_core::{RepositoryId, Timestamp, Workspace, WorkspaceId};

use super::archives::archive_files;
use crate::tree;
use crate::{Engine, Result};

/// How many rows are looked at, and forgotten in one transaction.
const AT_ONCE: u32 = 500;

impl Engine {
    /// Forgets this node's workspaces that were removed before a time and of which nothing is left. One that has a job on
    /// record stays as long as that; one whose repository can't be looked at stays, too. Tells how many went.
    #[boxed]
    pub async fn forget_purged_before(&self, before: Timestamp) -> Result<u64> {
        let mut kept_refs: BTreeMap<RepositoryId, Option<BTreeSet<WorkspaceId>>> = BTreeMap::new();
        let mut after: Option<WorkspaceId> = None;
        let mut forgotten = 0;
        loop {
            let rows = {
                let mut db = self.store.read().await?;
                db.forgettable_workspaces(self.home.node(), before, after.as_ref(), AT_ONCE).await?
            };
            let Some(last) = rows.last() else { return Ok(forgotten) };
            after = Some(last.id.clone());
            let mut gone = Vec::new();
            for row in rows {
                if !kept_refs.contains_key(&row.repository_id) {
                    let kept = self.load_kept_refs(&row).await;
                    kept_refs.insert(row.repository_id.clone(), kept);
                }
                let is_kept = match &kept_refs[&row.repository_id] {
                    Some(kept) => kept.contains(&row.id),
                    None => true,
                };
                if !is_kept && archive_files(&self.home, &row.id).is_empty() {
                    gone.push(row);
                }
            }
            if gone.is_empty() {
                continue;
            }
            let mut db = self.store.write().await?;
            for row in gone {
                db.unbind_conversations(&row.id).await?;
                forgotten += u64::from(db.delete_workspace(&row.id).await?);
            }
            db.commit().await?;
        }
    }

    /// The workspaces of a repository whose commits a ref keeps; none where nobody can tell.
    async fn load_kept_refs(&self, row: &Workspace) -> Option<BTreeSet<WorkspaceId>> {
        let account = row.account.parse().ok()?;
        let context = self.for_account(&account).context_of(row).await.ok()?;
        let refs = context.load_refs_below(&tree::KEPT_REFS).await.ok()?;
        Some(refs.iter().filter_map(|one| tree::kept_by(&one.name)).collect())
    }
}
