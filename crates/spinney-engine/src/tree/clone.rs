//! Workspaces with a private git dir each, which borrows the repository's objects: what is committed there is the
//! repository's only once it was brought in. For tests: the second provider shows that nothing but providers knows how a
//! workspace is made.
//!
//! The private git dir is the admin dir. What it names is brought in as `refs/spinney/clones/<workspace>/…`, and the branch of
//! the workspace follows, unless somebody else moved it. A removal pins in the private git dir, and brings the pin in.

use std::path::{Path, PathBuf};

use spinney_core::{BranchName, Workspace, WorkspaceId};
use spinney_git::{RepositoryLock, Start, Worktree};

use super::provider::{Provider, Step};
use crate::Result;
use crate::repositories::context::Context;

pub(super) struct PrivateClones;

/// Where the refs of a private git dir are in the repository.
fn space(id: &WorkspaceId) -> String {
    format!("refs/spinney/clones/{id}")
}

impl Provider for PrivateClones {
    fn admin_root(&self, common_dir: &Path) -> PathBuf {
        common_dir.join("spinney").join("clones")
    }

    fn register<'a>(
        &self,
        context: &'a Context,
        lock: &'a RepositoryLock,
        workspace: &'a Workspace,
        start: Start<'a>,
    ) -> Step<'a, ()> {
        let git_dir = self.admin_root(context.git().common_dir()).join(workspace.id.as_str());
        Box::pin(async move { Ok(context.git().make_private(lock, &git_dir, &workspace.path, start).await?) })
    }

    fn open(&self, context: &Context, path: &Path) -> spinney_git::Result<Worktree> {
        context.git().open_private(&self.admin_root(context.git().common_dir()), path)
    }

    fn moved(&self, context: &Context, path: &Path, admin_dir: &Path) -> Worktree {
        context.git().private_at(path, admin_dir)
    }

    fn bring_in<'a>(
        &self,
        context: &'a Context,
        lock: &'a RepositoryLock,
        workspace: &'a Workspace,
        admin_dir: &'a Path,
    ) -> Step<'a, ()> {
        Box::pin(bring_in(context, lock, workspace, admin_dir))
    }

    fn bring_pin<'a>(
        &self,
        context: &'a Context,
        lock: &'a RepositoryLock,
        workspace: &'a Workspace,
        admin_dir: &'a Path,
        name: &'a str,
    ) -> Step<'a, ()> {
        Box::pin(async move {
            bring_in(context, lock, workspace, admin_dir).await?;
            bring_pin(context, lock, workspace, name).await
        })
    }

    fn lend_branch<'a>(
        &self,
        context: &'a Context,
        lock: &'a RepositoryLock,
        admin_dir: &'a Path,
        branch: &'a BranchName,
    ) -> Step<'a, ()> {
        Box::pin(async move {
            let own = context.git().private_at(admin_dir, admin_dir).repository().clone();
            if let (None, Some(tip)) = (own.load_branch(branch).await?, context.git().load_branch(branch).await?) {
                own.update_ref(lock, &branch.local_ref(), &tip, None).await?;
            }
            Ok(())
        })
    }

    fn is_apart(&self) -> bool {
        true
    }

    fn forget<'a>(&self, context: &'a Context, lock: &'a RepositoryLock, workspace: &'a Workspace) -> Step<'a, ()> {
        Box::pin(async move { Ok(context.git().delete_refs_below(lock, &space(&workspace.id)).await?) })
    }
}

async fn bring_in(context: &Context, lock: &RepositoryLock, workspace: &Workspace, admin_dir: &Path) -> Result<()> {
    let (git, space) = (context.git(), space(&workspace.id));
    let own = workspace.branch.local_ref();
    let mirrored = format!("{space}/heads/{}", workspace.branch);
    let before = git.load_ref(&mirrored).await?;
    git.fetch_private(lock, admin_dir, &space).await?;
    if let Some(tip) = git.load_ref(&mirrored).await? {
        let now = git.load_ref(&own).await?;
        let follows = match &now {
            None => true,
            Some(now) if *now == tip => false,
            Some(now) => before.as_ref() == Some(now) || git.is_ancestor(now, &tip).await?,
        };
        // A branch that somebody checked out in the repository is theirs by now.
        if follows && !git.is_checked_out(&workspace.branch).await? {
            git.update_ref(lock, &own, &tip, now.as_ref()).await?;
        }
    }
    Ok(())
}

async fn bring_pin(context: &Context, lock: &RepositoryLock, workspace: &Workspace, name: &str) -> Result<()> {
    let git = context.git();
    let brought = name.replacen("refs", &space(&workspace.id), 1);
    let Some(pin) = git.load_ref(&brought).await? else { return Ok(()) };
    let now = git.load_ref(name).await?;
    let follows = match &now {
        None => true,
        Some(now) => *now != pin && git.is_ancestor(now, &pin).await?,
    };
    if follows {
        git.update_ref(lock, name, &pin, now.as_ref()).await?;
    }
    Ok(())
}
