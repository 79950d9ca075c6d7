//! The readable link to a workspace: `links/<account>/<owner>/<name>/<workspace name>`.

use std::fs;
use std::io;

use spinney_core::{Workspace, WorkspaceStatus};

use crate::home::layout::{Home, make_private_directory};

/// Points the link at the workspace, replacing one that points elsewhere. Several processes may do so at once.
pub(crate) fn make(home: &Home, workspace: &Workspace) -> io::Result<()> {
    let link = home.link(&workspace.account, &workspace.repository, &workspace.name);
    if let Some(parent) = link.parent() {
        make_private_directory(parent)?;
    }
    match std::os::unix::fs::symlink(&workspace.path, &link) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => return made,
    }
    if fs::read_link(&link).is_ok_and(|target| target == workspace.path) {
        return Ok(());
    }
    let aside = link.with_file_name(format!(".{}", workspace.id));
    let _ = fs::remove_file(&aside);
    std::os::unix::fs::symlink(&workspace.path, &aside)?;
    fs::rename(aside, link)
}

/// Makes a link that is missing, and drops one that leads to a workspace which is not live. Nothing depends on it.
pub(crate) fn mend(home: &Home, workspace: &Workspace) {
    let link = home.link(&workspace.account, &workspace.repository, &workspace.name);
    if workspace.status != WorkspaceStatus::Active {
        drop(home, workspace);
    } else if fs::symlink_metadata(link).is_err() {
        let _ = make(home, workspace);
    }
}

/// Drops the link, if it is this workspace's.
pub(crate) fn drop(home: &Home, workspace: &Workspace) {
    let link = home.link(&workspace.account, &workspace.repository, &workspace.name);
    if fs::read_link(&link).is_ok_and(|target| target == workspace.path) {
        let _ = fs::remove_file(link);
    }
}
