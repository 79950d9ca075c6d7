//! Spinney's home on disk: where everything lies, and who this machine is.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use spinney_core::{NodeId, RepositoryId, RepositoryName, WorkspaceId, WorkspaceName};

use crate::home::disk;
use crate::{Error, Result};

/// Stands in every directory that holds workspaces. Where it is missing, the disk may not be mounted, and nothing
/// there is judged lost.
pub const MARKER: &str = ".spinney-trees";

/// Says where a home is: all that lies in it is known by its path.
const PLACE: &str = "place";

#[derive(Debug, Clone)]
pub struct Home {
    root: PathBuf,
    node: NodeId,
}

impl Home {
    /// Opens the home, making what is missing of it; everything in it is for its owner only.
    pub fn open(root: &Path) -> Result<Self> {
        let refused = |source: io::Error| Error::HomeUnusable { path: root.to_owned(), source };
        make_private_directory(root).map_err(refused)?;
        let root = root.canonicalize().map_err(refused)?;
        for name in ["operations", "trash"] {
            let path = root.join(name);
            make_private_directory(&path).map_err(|source| Error::HomeUnusable { path, source })?;
        }
        let node = load_or_make_node(&root.join("node")).map_err(refused)?;
        Ok(Self { root, node })
    }

    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    #[must_use]
    pub fn node(&self) -> &NodeId {
        &self.node
    }

    #[must_use]
    pub fn database(&self) -> PathBuf {
        self.root.join("spinney.db")
    }

    /// Where it stood when it was last used, if that was elsewhere. Notes where it is the first time.
    pub(crate) fn was_at(&self) -> Result<Option<PathBuf>> {
        let place = self.root.join(PLACE);
        let noted = match spinney_git::read_regular(&place, spinney_git::POINTER_BYTES) {
            Ok(bytes) => PathBuf::from(OsString::from_vec(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return self.note_place().map(|()| None),
            Err(error) => return Err(Error::files(&place, "read")(error)),
        };
        if noted == self.root || !noted.is_absolute() {
            return Ok(None);
        }
        let stat = |root: &Path| fs::metadata(root.join("node")).ok().map(|file| (file.dev(), file.ino()));
        let node = noted.join("node");
        let is_there = match read_node(&node) {
            // Whether it was moved or copied, nobody can tell who may not look there.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Err(Error::files(&node, "read")(error));
            }
            found => matches!(found, Ok(Some(node)) if node == self.node),
        };
        match is_there {
            // The same directory under another path is where it was.
            true if stat(&noted) == stat(&self.root) => Ok(None),
            true => Err(Error::HomeCopied { of: noted }),
            false => Ok(Some(noted)),
        }
    }

    /// Notes where it is.
    pub(crate) fn note_place(&self) -> Result<()> {
        let place = self.root.join(PLACE);
        disk::write_among_others(&place, self.root.as_os_str().as_bytes()).map_err(Error::files(&place, "written"))
    }

    /// Where the clones are that Spinney manages, by accounts.
    #[must_use]
    pub fn managed_clones(&self) -> PathBuf {
        self.root.join("repos")
    }

    #[must_use]
    pub fn managed_clone(&self, account: &str, name: &RepositoryName) -> PathBuf {
        self.managed_clones().join(account).join(name.owner()).join(format!("{}.git", name.name()))
    }

    #[must_use]
    pub fn link(&self, account: &str, repository: &RepositoryName, name: &WorkspaceName) -> PathBuf {
        let directory = self.root.join("links").join(account).join(repository.owner()).join(repository.name());
        directory.join(name.as_str())
    }

    /// Remembers which git was found good.
    #[must_use]
    pub fn git(&self) -> PathBuf {
        self.root.join("git.json")
    }

    /// What of its own git configuration a repository may run.
    #[must_use]
    pub fn settings_of(&self, repository: &RepositoryId) -> PathBuf {
        self.root.join("settings").join(format!("{repository}.json"))
    }

    #[must_use]
    pub fn operations(&self) -> PathBuf {
        self.root.join("operations")
    }

    #[must_use]
    pub fn trash(&self, id: &WorkspaceId) -> PathBuf {
        self.root.join("trash").join(id.as_str())
    }
}

/// Makes a directory with its parents, for its owner only; one that exists keeps its mode.
pub(crate) fn make_private_directory(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Makes the directory that will hold a workspace, and marks it as one.
pub(crate) fn make_tree_root(path: &Path) -> io::Result<()> {
    make_private_directory(path)?;
    match fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path.join(MARKER)) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Reads this machine's id, or makes one. Written aside and linked into place, so that of many processes starting at
/// once all read the same whole id.
fn load_or_make_node(path: &Path) -> io::Result<NodeId> {
    if let Some(node) = read_node(path)? {
        return Ok(node);
    }
    let node = NodeId::generate();
    let aside = path.with_extension(node.as_str());
    fs::write(&aside, format!("{node}\n"))?;
    let linked = fs::hard_link(&aside, path);
    fs::remove_file(&aside)?;
    match linked {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => read_node(path)?.ok_or_else(|| io::Error::other("the node id vanished")),
    }
}

pub(crate) fn read_node(path: &Path) -> io::Result<Option<NodeId>> {
    match spinney_git::read_regular_text(path, spinney_git::POINTER_BYTES) {
        Ok(text) => text.trim().parse().map(Some).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
