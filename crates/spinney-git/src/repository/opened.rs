//! A repository: its common git dir and, unless it is bare, its main checkout.
//!
//! Every path is canonical. Calls name the git dir explicitly, so that nothing in the current directory can lead git
//! to another one.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::disk::scratch::ScratchObjects;
use crate::git::Git;
use crate::process::command::Command;
use crate::process::threads::expect_patience;
use crate::refs::files::{PackedRefs, RefFiles};
use crate::settings::guard::Guarded;
use crate::worktree::linked::read_pointer;
use crate::{Error, Result};

/// Cheap to clone.
#[derive(Debug, Clone)]
pub struct Repository {
    git: Git,
    place: Arc<Directories>,
    scratch: Option<Arc<ScratchObjects>>,
    known_url: Option<Arc<str>>,
    silence: Option<Duration>,
    guard: Option<Guarded>,
}

#[derive(Debug)]
struct Directories {
    common_dir: PathBuf,
    root: Option<PathBuf>,
    bare: bool,
    state_dir: PathBuf,
    packed_refs: PackedRefs,
}

impl Repository {
    /// Finds the repository that a path is in: its main checkout, a linked worktree, a bare repository or inside of it.
    ///
    /// A submodule is a repository of its own; [`Self::is_submodule`] tells.
    pub async fn discover(git: &Git, path: &Path) -> Result<Self> {
        let directory = std::fs::canonicalize(path).map_err(|source| Error::io("open", path, source))?;
        let directory =
            if directory.is_dir() { directory } else { directory.parent().unwrap_or(&directory).to_owned() };
        // Outside of a work tree the last question fails, after the others were answered.
        let output = git
            .command(&directory)
            .args(["rev-parse", "--path-format=absolute", "--is-bare-repository", "--git-common-dir", "--git-dir"])
            .arg("--show-toplevel")
            .accept(&[0, 128])
            .run()
            .await?;
        let answer = String::from_utf8_lossy(&output.stdout).into_owned();
        let lines: Vec<&str> = answer.lines().collect();
        let (bare, common_dir, git_dir, toplevel) = match (output.status, lines.as_slice()) {
            (0, [bare, common_dir, git_dir, toplevel]) => (*bare, *common_dir, *git_dir, Some(*toplevel)),
            (128, [bare, common_dir, git_dir, ..]) => (*bare, *common_dir, *git_dir, None),
            (0, _) => {
                return Err(Error::Refused { what: "a place for a repository", name: directory.display().to_string() });
            }
            _ => return Err(crate::process::classify::classify("git rev-parse", path, output.status, &output.stderr)),
        };
        let common_dir = canonical(Path::new(common_dir))?;
        let linked = canonical(Path::new(git_dir))? != common_dir;
        let root = match toplevel {
            Some(toplevel) if !linked => Some(canonical(Path::new(toplevel))?),
            _ => main_checkout(&common_dir),
        };
        // A linked worktree of a bare repository says that it is not bare itself.
        let bare = if linked { root.is_none() && is_bare(git, &common_dir).await? } else { bare == "true" };
        Ok(Self::at(git, common_dir, root, bare))
    }

    /// The common git dir of the repository that a directory is plainly in, found by looking at files alone: the
    /// nearest `.git` above is a whole git dir, or the file of a linked worktree. None where only git can tell.
    #[must_use]
    pub fn locate(path: &Path) -> Option<PathBuf> {
        let directory = std::fs::canonicalize(path).ok()?;
        let is_git_dir = |place: &Path| place.join("HEAD").is_file() && place.join("objects").is_dir();
        for ancestor in directory.ancestors() {
            if ancestor.file_name().is_some_and(|name| name == ".git") || is_git_dir(ancestor) {
                return None;
            }
            let place = ancestor.join(".git");
            let Ok(found) = std::fs::symlink_metadata(&place) else { continue };
            if found.is_dir() {
                return (is_git_dir(&place) && !place.join("commondir").exists()).then_some(place);
            }
            let text = read_pointer(&place)?;
            let admin_dir = std::fs::canonicalize(ancestor.join(text.strip_prefix("gitdir: ")?)).ok()?;
            let common_dir = std::fs::canonicalize(admin_dir.join(read_pointer(&admin_dir.join("commondir"))?)).ok()?;
            let is_linked = admin_dir.parent() == Some(&common_dir.join("worktrees"));
            return (is_linked && is_git_dir(&common_dir)).then_some(common_dir);
        }
        None
    }

    /// Opens a bare repository whose place is known, without asking git.
    pub fn open_bare(git: &Git, common_dir: &Path) -> Result<Self> {
        Self::open_known(git, common_dir, None)
    }

    /// Opens a repository whose place was found before, without asking git: its common dir, and its main checkout
    /// unless it is bare.
    pub fn open_known(git: &Git, common_dir: &Path, root: Option<&Path>) -> Result<Self> {
        let not_there = || Error::NotARepository { path: common_dir.to_owned() };
        let refused = |source: std::io::Error| match source.kind() {
            std::io::ErrorKind::PermissionDenied => Error::io("open", common_dir, source),
            _ => not_there(),
        };
        let common_dir = std::fs::canonicalize(common_dir).map_err(refused)?;
        let found = |name: &str| std::fs::metadata(common_dir.join(name)).map_err(refused);
        if !found("HEAD")?.is_file() || !found("objects")?.is_dir() {
            return Err(not_there());
        }
        let root = root.map(canonical).transpose()?;
        let bare = root.is_none();
        Ok(Self::at(git, common_dir, root, bare))
    }

    fn at(git: &Git, common_dir: PathBuf, root: Option<PathBuf>, bare: bool) -> Self {
        expect_patience("a repository is opened");
        let state_dir = common_dir.join("spinney");
        let place = Directories { common_dir, root, bare, state_dir, packed_refs: PackedRefs::default() };
        let silence = git.options().silence;
        Self { git: git.clone(), place: Arc::new(place), scratch: None, known_url: None, silence, guard: None }
    }

    /// A private git dir that borrows this repository's objects.
    #[cfg(feature = "fail-points")]
    pub(crate) fn private(&self, git_dir: &Path, tree: &Path) -> Self {
        let root = tree.is_dir().then(|| tree.to_owned());
        let (common_dir, packed_refs) = (git_dir.to_owned(), PackedRefs::default());
        // What is written on the way is not to be seen in the git dir, which may be looked at and archived meanwhile.
        let place = Directories { common_dir, root, bare: false, state_dir: self.state_dir(), packed_refs };
        Self { place: Arc::new(place), scratch: None, known_url: None, ..self.clone() }
    }

    /// The same repository for questions that make objects on the way: its calls write them into a directory that goes
    /// with the last clone of it.
    pub fn with_scratch_objects(&self) -> Result<Self> {
        if self.scratch.is_some() {
            return Ok(self.clone());
        }
        let objects = ScratchObjects::make(self.common_dir(), &self.require_state_dir()?)?;
        Ok(Self { scratch: Some(Arc::new(objects)), ..self.clone() })
    }

    /// The same repository, whose remote is known to have a URL: secrets go to its origin and nowhere else.
    #[must_use]
    pub fn with_known_url(self, url: Option<&str>) -> Self {
        Self { known_url: url.map(Arc::from), ..self }
    }

    /// The same repository, whose remotes may send nothing for so long while something is fetched; zero: no limit.
    #[must_use]
    pub fn with_silence(self, limit: Duration) -> Self {
        Self { silence: Some(limit).filter(|limit| !limit.is_zero()), ..self }
    }

    pub(crate) fn with_guard(self, guard: Option<Guarded>) -> Self {
        Self { guard, ..self }
    }

    pub(crate) fn guard(&self) -> Option<&Guarded> {
        self.guard.as_ref()
    }

    pub(crate) fn silence(&self) -> Option<Duration> {
        self.silence
    }

    pub(crate) fn known_url(&self) -> Option<&str> {
        self.known_url.as_deref()
    }

    #[must_use]
    pub fn git(&self) -> &Git {
        &self.git
    }

    /// The git dir that all worktrees share; the repository's identity.
    #[must_use]
    pub fn common_dir(&self) -> &Path {
        &self.place.common_dir
    }

    /// The main checkout. None when bare, and when a separate git dir doesn't tell where its checkout is.
    #[must_use]
    pub fn root(&self) -> Option<&Path> {
        self.place.root.as_deref()
    }

    #[must_use]
    pub fn is_bare(&self) -> bool {
        self.place.bare
    }

    /// Whether it is the repository of a submodule: its git dir lies among another's `modules`.
    #[must_use]
    pub fn is_submodule(&self) -> bool {
        self.common_dir().ancestors().skip(1).any(|ancestor| {
            ancestor.file_name().is_some_and(|name| name == "modules")
                && ancestor.parent().is_some_and(|parent| parent.join("HEAD").is_file())
        })
    }

    /// The files that its refs are in; none where they are kept otherwise.
    pub(crate) fn ref_files(&self) -> Option<RefFiles<'_>> {
        RefFiles::open(self.common_dir(), &self.place.packed_refs)
    }

    /// Where Spinney keeps what belongs to the repository itself; it may not exist yet.
    #[must_use]
    pub fn state_dir(&self) -> PathBuf {
        self.place.state_dir.clone()
    }

    pub(crate) fn require_state_dir(&self) -> Result<PathBuf> {
        let directory = self.state_dir();
        if !directory.is_dir() {
            let made = DirBuilder::new().mode(0o700).recursive(true).create(&directory);
            made.map_err(|source| Error::io("make the directory", &directory, source))?;
        }
        Ok(directory)
    }

    /// Starts building a call that concerns the repository as a whole, not any checkout of it. It runs where git would:
    /// a remote's relative path starts at the main checkout.
    pub fn command(&self) -> Command {
        let command = self.git.command(self.root().unwrap_or(self.common_dir())).env("GIT_DIR", self.common_dir());
        let command = command.guarded(self.guard.clone());
        match &self.scratch {
            Some(objects) => objects.used_by(command),
            None => command,
        }
    }
}

fn canonical(path: &Path) -> Result<PathBuf> {
    std::fs::canonicalize(path).map_err(|source| Error::io("open", path, source))
}

/// The checkout that a common dir belongs to, where that can be told from its place.
fn main_checkout(common_dir: &Path) -> Option<PathBuf> {
    let parent = common_dir.parent()?;
    let belongs = common_dir.file_name()? == ".git" && std::fs::canonicalize(parent.join(".git")).ok()? == common_dir;
    belongs.then(|| parent.to_owned())
}

async fn is_bare(git: &Git, common_dir: &Path) -> Result<bool> {
    let command = git.command(common_dir).env("GIT_DIR", common_dir);
    Ok(command.args(["config", "--type=bool", "--get", "core.bare"]).accept(&[0, 1]).text().await? == "true")
}
