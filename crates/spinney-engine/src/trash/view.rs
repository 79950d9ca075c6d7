//! A look at a removed workspace as it was: its branch may have moved on or gone since, and git would compare with that.
//!
//! The view is an admin dir beside the real one with HEAD at the commit that it was on, and what else `status` reads. It is
//! gone when dropped; one that a dead process left is swept up as any other that was moved aside.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::home::disk;
use crate::tree::marker::Removal;

/// How the name of a view begins, before the id of its workspace.
pub(crate) const VIEW: &str = "view-";

pub(super) struct View {
    admin_dir: PathBuf,
    made: bool,
}

impl View {
    pub fn make(admin_dir: &Path) -> io::Result<Self> {
        let name = admin_dir.file_name().unwrap_or_default().to_string_lossy();
        let Some(tip) =
            Removal::load(admin_dir).filter(|removal| removal.branch.is_some()).and_then(|removal| removal.tip)
        else {
            return Ok(Self { admin_dir: admin_dir.to_owned(), made: false });
        };
        // In the middle of a rebase HEAD is on no branch, and right as it is. A repository of its own has its own branch.
        if !spinney_git::read_regular_text(&admin_dir.join("HEAD"), spinney_git::POINTER_BYTES)?.starts_with("ref:")
            || admin_dir.join("reftable").exists()
            || !admin_dir.join("commondir").exists()
        {
            return Ok(Self { admin_dir: admin_dir.to_owned(), made: false });
        }
        let place = admin_dir.with_file_name(format!("{VIEW}{name}"));
        disk::delete_moved_aside(&place)?;
        fs::create_dir(&place)?;
        let view = Self { admin_dir: place, made: true };
        for entry in fs::read_dir(admin_dir)? {
            let entry = entry?;
            let name = entry.file_name();
            let wanted = |name: &str| {
                matches!(name, "commondir" | "gitdir" | "index" | "config.worktree") || name.starts_with("sharedindex.")
            };
            if name.to_str().is_some_and(wanted) && entry.file_type()?.is_file() {
                spinney_git::copy_with_time(&entry.path(), &view.admin_dir.join(name))?;
            }
        }
        let sparse = admin_dir.join("info").join("sparse-checkout");
        if sparse.is_file() {
            fs::create_dir(view.admin_dir.join("info"))?;
            fs::copy(sparse, view.admin_dir.join("info").join("sparse-checkout"))?;
        }
        fs::write(view.admin_dir.join("HEAD"), format!("{tip}\n"))?;
        Ok(view)
    }

    pub fn admin_dir(&self) -> &Path {
        &self.admin_dir
    }
}

impl Drop for View {
    fn drop(&mut self) {
        if self.made {
            let _ = disk::delete_moved_aside(&self.admin_dir);
        }
    }
}
