//! Compares what the store says with what git and the disk say, and mends what can be mended without loss.
//!
//! The matrix is total: every combination that is not named below is kept and reported. Doing it twice changes nothing.
//!
//! | row | admin dir | directory | what happens |
//! | --- | --- | --- | --- |
//! | active | there | there | nothing |
//! | active | any | gone, its root is there | `lost`; its branch is still in git |
//! | active | any | root not there | reported: is its disk mounted? |
//! | active | gone or damaged | there | `broken`, with the reason |
//! | lost, broken | there | there | `active` again |
//! | active, lost | in the trash, or in an archive | the same | `trashed`, `purged`: the store is older than the disk |
//! | trashed, purged | there, under its id | there | `active`: the same |
//! | trashed | in the trash | in the trash | nothing |
//! | purged | in the trash | in the trash | `trashed` again: a restore from the archive died |
//! | trashed | gone, or not | gone, or not | reported; an archive or rescue ref is named |
//! | active, lost | there, at another place | there, at that place | followed |
//! | none | ours by its marker | there | adopted under its old id |
//! | none | ours by its marker | gone, its root is there | its row comes back, `lost` |
//! | none | in the trash, ours by its marker | in the trash | its row comes back, `trashed` |
//! | none | in an archive, ours by its marker | – | its row comes back, `purged` |
//! | none | somebody else's | any | reported |
//! | none | none | in a tree root | reported |
//! | any | `undo-…`, `purge-…` of a closed operation | the same | deleted: it was moved aside to be |

mod checked;
mod rows;
mod strays;
mod vanished;

use std::fs;
use std::path::{Path, PathBuf};

use async_recursion::async_recursion as boxed;
use spinney_core::{Advice, Finding, Workspace};

use crate::home::links;
use crate::repositories::context::{Context, tree_root};
use crate::resolve::lookup::Among;
use crate::{Engine, Error, Result};

/// Collects findings; with a dry run nothing is done about them.
struct Findings {
    list: Vec<Finding>,
    dry_run: bool,
}

impl Findings {
    fn seen(&mut self, what: String) {
        self.list.push(Finding { what, done: None, advice: None });
    }

    fn seen_advised(&mut self, what: String, advice: Advice) {
        self.list.push(Finding { what, done: None, advice: Some(advice) });
    }

    fn done(&mut self, what: String, done: &str) {
        let done = if self.dry_run { format!("would be {done}") } else { done.to_owned() };
        self.list.push(Finding { what, done: Some(done), advice: None });
    }
}

impl Engine {
    /// Reconciles one repository of this node.
    #[boxed]
    pub async fn reconcile(&self, context: &Context, dry_run: bool) -> Result<Vec<Finding>> {
        let mut findings = Findings { list: Vec::new(), dry_run };
        let rows = self.workspaces(Some(&context.repository.id), Among::All).await?;
        for row in &rows {
            self.reconcile_row(context, row, &mut findings).await?;
        }
        if !dry_run {
            let rows = self.workspaces(Some(&context.repository.id), Among::All).await?;
            rows.iter().for_each(|row| links::mend(&self.home, row));
        }
        self.reconcile_worktrees(context, &mut findings).await?;
        self.reconcile_trash(context, &mut findings).await?;
        self.reconcile_archives(context, &mut findings).await?;
        self.reconcile_directories(&rows, &mut findings)?;
        self.sweep_leftovers(context, &rows, &mut findings).await?;
        Ok(findings.list)
    }
}

/// The directories that hold these workspaces.
fn tree_roots(rows: &[Workspace]) -> Vec<&Path> {
    let mut roots: Vec<&Path> = rows.iter().map(|row| tree_root(&row.path)).collect();
    roots.sort();
    roots.dedup();
    roots
}

/// The directories in a directory; none where it is not there.
fn directories(place: &Path) -> Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(place) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Error::files(place, "read")(error)),
    };
    let mut found: Vec<PathBuf> = entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect();
    found.sort();
    Ok(found)
}
