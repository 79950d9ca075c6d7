//! `spinney.json` in git's admin dir: what a workspace is, readable without the store.
//!
//! It travels into the trash with the admin dir and survives a lost database.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use spinney_core::account::LOCAL;
use spinney_core::{
    BranchName, CommitId, NodeId, Provider, RepositoryName, Work, Workspace, WorkspaceId, path_text, text_path,
};

use spinney_git::{SETTINGS_BYTES, read_regular};

use crate::home::disk;
use crate::{Error, Result};

pub(crate) const MARKER_FILE: &str = "spinney.json";
pub(crate) const REMOVAL_FILE: &str = "spinney-removal.json";

/// A fraction of what is read of the file.
const MOST_INSIDE_BYTES: usize = 256 << 10;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Marker {
    pub id: WorkspaceId,
    /// The home that it belongs to: another's workspaces are never taken over.
    #[serde(default)]
    pub node: Option<NodeId>,
    /// The account that it belongs to: another's workspaces are never taken over either.
    #[serde(default = "local")]
    pub account: String,
    pub repository: RepositoryName,
    pub work: Work,
    pub branch: BranchName,
    pub base_branch: Option<BranchName>,
    pub base_commit: CommitId,
    pub path: PathBuf,
    /// How it was made on disk.
    #[serde(default = "linked", skip_serializing_if = "is_linked")]
    pub provider: Provider,
    /// Whether it was ever handed out: from then on it holds work, whatever an older database says.
    #[serde(default)]
    pub ready: bool,
}

impl Marker {
    pub fn of(workspace: &Workspace) -> Self {
        Self {
            id: workspace.id.clone(),
            node: Some(workspace.node.clone()),
            account: workspace.account.clone(),
            repository: workspace.repository.clone(),
            work: workspace.work.clone(),
            branch: workspace.branch.clone(),
            base_branch: workspace.base_branch.clone(),
            base_commit: workspace.base_commit.clone(),
            path: workspace.path.clone(),
            provider: workspace.provider,
            ready: true,
        }
    }

    pub fn write(&self, admin_dir: &Path) -> Result<()> {
        write(&admin_dir.join(MARKER_FILE), self)
    }

    /// The same, without waiting for the disk: where the journal says as much, it may be lost in a power cut.
    pub fn note(&self, admin_dir: &Path) -> Result<()> {
        let path = admin_dir.join(MARKER_FILE);
        fs::write(&path, to_text(self)?).map_err(Error::files(&path, "written"))
    }

    /// Reads it as input: whoever works in the repository can write there what they like.
    pub fn load(admin_dir: &Path) -> Option<Self> {
        load(&admin_dir.join(MARKER_FILE)).filter(Self::is_sound)
    }

    /// Whether every field is what we could have written; those with a type of their own are checked by it.
    pub fn is_sound(&self) -> bool {
        let is_plain = |component| matches!(component, Component::RootDir | Component::Normal(_));
        self.work.is_sound() && self.path.is_absolute() && self.path.components().all(is_plain)
    }
}

/// What a removal must remember for the way back; lies beside the marker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Removal {
    /// The branch that HEAD was on, and where it stood.
    pub branch: Option<BranchName>,
    pub tip: Option<CommitId>,
    pub admin_name: String,
    pub works: Vec<Work>,
    /// Whether there was a tree to move; where there was one and it is not found, its disk may not be mounted.
    #[serde(default = "there_was")]
    pub had_tree: bool,
    /// The admin dirs of the worktrees inside, as text: an erasure takes our locks there away.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub inside: BTreeSet<String>,
}

fn linked() -> Provider {
    Provider::Worktree
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it so")]
fn is_linked(provider: &Provider) -> bool {
    *provider == Provider::Worktree
}

fn local() -> String {
    LOCAL.to_owned()
}

fn there_was() -> bool {
    true
}

impl Removal {
    pub fn new(branch: Option<BranchName>, tip: Option<CommitId>, admin_name: String) -> Self {
        Self { branch, tip, admin_name, works: Vec::new(), had_tree: true, inside: BTreeSet::new() }
    }

    /// Adds worktrees that go with the tree; gives whether one is news. What is too much to be read again is left out: those
    /// stay locked.
    pub fn note_inside(&mut self, admin_dirs: &[PathBuf]) -> bool {
        let before = self.inside.len();
        let mut bytes: usize = self.inside.iter().map(String::len).sum();
        for text in admin_dirs.iter().map(|admin_dir| path_text(admin_dir)) {
            bytes += text.len();
            if bytes <= MOST_INSIDE_BYTES {
                self.inside.insert(text);
            }
        }
        self.inside.len() > before
    }

    /// The admin dirs of the worktrees inside.
    pub fn admin_dirs_inside(&self) -> Vec<PathBuf> {
        self.inside.iter().map(|text| text_path(text)).filter(|admin_dir| admin_dir.is_absolute()).collect()
    }

    pub fn write(&self, admin_dir: &Path) -> Result<()> {
        write(&admin_dir.join(REMOVAL_FILE), self)
    }

    pub fn load(admin_dir: &Path) -> Option<Self> {
        let mut removal: Self = load(&admin_dir.join(REMOVAL_FILE))?;
        removal.works.retain(Work::is_sound);
        Some(removal)
    }

    /// Whether the admin dir's name is one: it could lead to any place otherwise.
    pub fn has_plain_admin_name(&self) -> bool {
        let mut components = Path::new(&self.admin_name).components();
        matches!((components.next(), components.next()), (Some(Component::Normal(name)), None) if name == self.admin_name.as_str())
            && !self.admin_name.contains(char::is_control)
    }

    /// Forgets it once the workspace is back.
    pub fn clear(admin_dir: &Path) {
        let _ = fs::remove_file(admin_dir.join(REMOVAL_FILE));
    }
}

fn write(path: &Path, value: &impl Serialize) -> Result<()> {
    disk::write_durably(path, &to_text(value)?).map_err(Error::files(path, "written"))
}

fn to_text(value: &impl Serialize) -> Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(value).map_err(|error| Error::Internal { what: error.to_string() })?;
    text.push(b'\n');
    Ok(text)
}

fn load<T: for<'de> Deserialize<'de>>(path: &Path) -> Option<T> {
    serde_json::from_slice(&read_regular(path, SETTINGS_BYTES).ok()?).ok()
}
