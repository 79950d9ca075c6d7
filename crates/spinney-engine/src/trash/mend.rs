//! Makes git's directory of a trashed workspace anew, where somebody deleted it: HEAD is on the recorded branch, and the
//! index is as that branch has it. What was staged went with the old one; every file is still in the trash.

use std::fs;
use std::path::Path;

use spinney_core::{Workspace, WorkspaceStatus};

use crate::home::{disk, layout};
use crate::repositories::context::Context;
use crate::tree::marker::{Marker, Removal};
use crate::tree::{self, lock_reason, move_if_there};
use crate::{Engine, Error, Result};

impl Engine {
    /// Mends a workspace in the trash that has its files and lacks git's part.
    pub(crate) async fn mend_admin_dir(
        &self,
        context: &Context,
        workspace: &Workspace,
        tree: &Path,
        admin_dir: &Path,
    ) -> Result<bool> {
        // A repository of its own can't be made anew; its commits are pinned.
        let is_apart = tree::is_apart(workspace);
        if workspace.status != WorkspaceStatus::Trashed || admin_dir.exists() || !tree.exists() || is_apart {
            return Ok(false);
        }
        let tip = context.load_branch(&workspace.branch).await?;
        let aside = admin_dir.with_extension("partial");
        disk::delete_moved_aside(&aside).map_err(Error::files(&aside, "deleted"))?;
        layout::make_private_directory(&aside).map_err(Error::files(&aside, "made"))?;
        let files = [
            ("HEAD", format!("ref: {}\n", workspace.branch.local_ref())),
            ("commondir", "../..\n".to_owned()),
            ("gitdir", format!("{}\n", workspace.path.join(".git").display())),
            ("locked", format!("{}\n", lock_reason(&workspace.id))),
        ];
        for (name, text) in files {
            let path = aside.join(name);
            fs::write(&path, text).map_err(Error::files(&path, "written"))?;
        }
        Marker::of(workspace).write(&aside)?;
        let (branch, admin_name) = (Some(workspace.branch.clone()), workspace.id.to_string());
        let has_commit = tip.is_some();
        Removal::new(branch, tip, admin_name).write(&aside)?;
        if has_commit {
            tree::moved(context, workspace, tree, &aside).read_head_into_index().await?;
        }
        move_if_there(&aside, admin_dir)?;
        Ok(true)
    }
}
