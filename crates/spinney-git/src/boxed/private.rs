//! Writing a private git dir for a box: what an agent needs to work on its branch, and nothing of anybody else.
//!
//! It is written beside its place and renamed into it, so that it is whole or not there. From then on it is the agent's, and
//! the host opens it in the jail only.

use std::fs;
use std::io;
use std::path::Path;

use spinney_core::{BranchName, CommitId};

use crate::boxed::mirror::BaseMirror;
use crate::boxed::places::BoxPlaces;
use crate::disk::scratch::quoted;
use crate::worktree::linked::Worktree;
use crate::{Error, ObjectFormat, Result};

impl BoxPlaces {
    /// What `workdir/.git` says in a box.
    pub fn write_pointer(&self, path: &Path) -> Result<()> {
        let text = format!("gitdir: {}\n", self.git_dir.display());
        fs::write(path, text).map_err(|source| Error::io("write", path, source))
    }
}

impl Worktree {
    /// Writes a fresh private git dir for a box that works on this worktree's branch, which is at a commit.
    ///
    /// It has the remote's branches by way of the mirror, the branch itself, the objects that only the branch has, and a copy
    /// of the index.
    pub async fn write_private_git_dir(
        &self,
        git_dir: &Path,
        mirror: &BaseMirror,
        places: &BoxPlaces,
        branch: &BranchName,
        tip: &CommitId,
    ) -> Result<()> {
        if fs::symlink_metadata(git_dir).is_ok() {
            return Err(Error::PathExists { path: git_dir.to_owned() });
        }
        let failed = |source| Error::io("make the git dir", git_dir, source);
        let parent = git_dir.parent().unwrap_or(git_dir);
        fs::create_dir_all(parent).map_err(failed)?;
        let draft = tempfile::Builder::new().prefix("git-").tempdir_in(parent).map_err(failed)?;
        let tips = mirror.load_tips().await?;
        let branches = mirror.load_branches().await?;
        let mut packed_refs = format!("{tip} {}\n", branch.local_ref());
        packed_refs.extend(branches.iter().map(|(name, commit)| format!("{commit} refs/remotes/origin/{name}\n")));
        write(draft.path(), places, branch, tip, &packed_refs).map_err(failed)?;
        copy_index(self.admin_dir(), draft.path()).map_err(failed)?;
        if !tips.contains(tip) {
            let mut wanted = format!("{tip}\n");
            wanted.extend(tips.iter().map(|commit| format!("^{commit}\n")));
            let pack = self.repository().command().args(["pack-objects", "--quiet", "--revs", "--thin", "--stdout"]);
            let pack = pack.arg("--delta-base-offset").network().stdin_bytes(wanted.into_bytes());
            let base = mirror.path().join("objects");
            let index = self.repository().git().command(draft.path()).env("GIT_DIR", draft.path()).network();
            let index = index.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", quoted(base.as_os_str()));
            let (packed, indexed) = pack.run_into(index.args(["index-pack", "--stdin", "--fix-thin"])).await?;
            packed.and(indexed)?;
        }
        let alternates = format!("{}\n", places.base.join("objects").display());
        fs::write(draft.path().join("objects/info/alternates"), alternates).map_err(failed)?;
        fs::rename(draft.keep(), git_dir).map_err(failed)
    }
}

fn write(git_dir: &Path, places: &BoxPlaces, branch: &BranchName, tip: &CommitId, packed_refs: &str) -> io::Result<()> {
    for directory in ["info", "objects/info", "objects/pack", "refs/heads", "refs/tags"] {
        fs::create_dir_all(git_dir.join(directory))?;
    }
    let format = match ObjectFormat::of(tip) {
        ObjectFormat::Sha1 => "\trepositoryformatversion = 0\n",
        ObjectFormat::Sha256 => "\trepositoryformatversion = 1\n[extensions]\n\tobjectFormat = sha256\n",
    };
    // The files belong to other users in a box, and are the same ones: only time and size say whether one was changed.
    let config = format!(
        "[core]\n\tbare = false\n\tlogAllRefUpdates = true\n\tcheckStat = minimal\n\ttrustctime = false\n{format}\
         [remote \"origin\"]\n\turl = {}\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n",
        places.base.display()
    );
    fs::write(git_dir.join("config"), config)?;
    fs::write(git_dir.join("packed-refs"), packed_refs)?;
    fs::write(git_dir.join("HEAD"), format!("ref: {}\n", branch.local_ref()))
}

/// Copies an index, with the part of it that is a file of its own.
fn copy_index(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let name = entry?.file_name();
        if name == "index" || name.to_string_lossy().starts_with("sharedindex.") {
            fs::copy(from.join(&name), to.join(&name))?;
        }
    }
    Ok(())
}
