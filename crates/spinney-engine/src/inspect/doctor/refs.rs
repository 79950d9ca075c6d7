//! Refs of ours: those that lead to what is missing, and repositories in which a fetch takes them away.

use async_recursion::async_recursion as boxed;
use spinney_core::WorkspaceId;
use spinney_git::BrokenRef;

use super::Check;
use crate::repositories::context::Context;
use crate::tree;
use crate::tree::marker::Removal;
use crate::tree::rescue::{self, Rescue};
use crate::verdict::plural;
use crate::{Engine, Result};

impl Engine {
    pub(super) async fn check_refs(&self, context: &Context) -> Result<Vec<Check>> {
        let mut checks = Vec::new();
        for broken in context.load_broken_refs().await? {
            let fact = format!(
                "{} of {}: {}; `git fetch`, `git gc` and `git log --all` fail there",
                self.shown(&broken).await?,
                context.repository.name,
                missing(&broken)
            );
            checks.push(Check::bad("refs", fact, "spinney doctor --fix"));
        }
        if let Some(warning) = mirror_warning(context).await? {
            let name = context.load_mirrored_remote().await?.unwrap_or_default();
            let fix = format!("git config remote.{name}.fetch '+refs/heads/*:refs/remotes/{name}/*'");
            checks.push(Check::notice("mirror", warning, fix));
        }
        Ok(checks)
    }

    /// Sets the broken refs of ours aside in every repository, so that git works there again; tells what it did.
    #[boxed]
    pub async fn fix_broken_refs(&self) -> Result<Vec<String>> {
        let mut done = Vec::new();
        for repository in self.repositories().await? {
            // One that is not there is told by the checks.
            let Ok(context) = self.known_repository(repository).await else { continue };
            for broken in context.load_broken_refs().await? {
                let left = if self.set_broken_ref_aside(&context, &broken).await? {
                    "the rest of it is kept"
                } else {
                    "none of its objects could be kept"
                };
                let shown = self.shown(&broken).await?;
                done.push(format!("{shown} of {}: {}; set aside, {left}", context.repository.name, missing(&broken)));
            }
        }
        Ok(done)
    }

    /// Takes a ref away, and pins anew what there is to pin: what it led to, and what the trash still names.
    async fn set_broken_ref_aside(&self, context: &Context, broken: &BrokenRef) -> Result<bool> {
        let lock = context.lock("doctor").await?;
        let kept = context.set_ref_aside(&lock, broken).await?;
        let Some(id) = id_of(broken) else { return Ok(kept) };
        let admin_dir = tree::trashed_admin_dir(context, &id);
        let row = self.store.read().await?.workspace(&id).await?;
        if let (Some(workspace), Some(mut removal)) = (row, Removal::load(&admin_dir)) {
            rescue::restore_ref(context, &lock, &admin_dir, &broken.name).await?;
            Rescue::resumed(context, &workspace, &lock).finish(&mut removal).await?;
            return Ok(true);
        }
        Ok(kept)
    }

    /// A ref with the name of the workspace that it is for.
    async fn shown(&self, broken: &BrokenRef) -> Result<String> {
        let workspace = match id_of(broken) {
            Some(id) => self.store.read().await?.workspace(&id).await?,
            None => None,
        };
        let of = workspace.map(|workspace| format!(" ({})", workspace.name)).unwrap_or_default();
        Ok(format!("`{}`{of}", broken.name))
    }
}

/// What to tell of a repository whose refs are a remote's; none where a fetch leaves ours alone.
pub(crate) async fn mirror_warning(context: &Context) -> Result<Option<String>> {
    let remote = context.load_mirrored_remote().await?;
    Ok(remote.map(|remote| {
        format!(
            "{} mirrors all refs of `{remote}`: `git fetch --prune` there deletes branches and rescue refs of workspaces",
            context.repository.name
        )
    }))
}

fn id_of(broken: &BrokenRef) -> Option<WorkspaceId> {
    broken.name.strip_prefix("refs/spinney/rescue/")?.parse().ok()
}

fn missing(broken: &BrokenRef) -> String {
    match broken.missing.as_slice() {
        [] => "it can't be read".to_owned(),
        [one] => format!("`{one}` is missing"),
        [first, ..] => format!("{} are missing, `{first}` first", plural(broken.missing.len(), "object")),
    }
}
