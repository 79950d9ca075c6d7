//! A linked worktree inside a workspace, of any repository, with work that nothing but the worktree names.

use std::fs;
use std::path::{Path, PathBuf};

use spinney_testkit::Sandbox;

#[derive(Debug, Clone)]
pub struct Inside {
    sandbox: Sandbox,
    /// The repository that it is of.
    owner: PathBuf,
    pub path: PathBuf,
    pub admin_dir: PathBuf,
    commit: String,
    blob: String,
}

impl Inside {
    /// Adds a worktree of `owner` at a path, with a commit of its own and a staged file.
    #[track_caller]
    pub fn plant(sandbox: &Sandbox, owner: &Path, path: &Path) -> Self {
        sandbox.git(owner, &["worktree", "add", "--quiet", "--detach", path.to_str().unwrap()]);
        let git = |arguments: &[&str]| sandbox.git(path, arguments);
        // What is the same in two repositories would be kept by either.
        fs::write(path.join("committed.txt"), format!("committed in {}", path.display())).unwrap();
        git(&["add", "committed.txt"]);
        git(&["commit", "--quiet", "--message", "inside"]);
        fs::write(path.join("staged.txt"), format!("staged in {}", path.display())).unwrap();
        git(&["add", "staged.txt"]);
        let (commit, blob) = (git(&["rev-parse", "HEAD"]), git(&["rev-parse", ":staged.txt"]));
        let admin_dir = git(&["rev-parse", "--absolute-git-dir"]).into();
        Self { sandbox: sandbox.clone(), owner: owner.to_owned(), path: path.to_owned(), admin_dir, commit, blob }
    }

    /// Its repository is tidied up as thoroughly as git can.
    #[track_caller]
    pub fn tidy(&self) {
        self.sandbox.git(&self.owner, &["worktree", "prune"]);
        self.sandbox.git(&self.owner, &["reflog", "expire", "--expire=now", "--all"]);
        self.sandbox.git(&self.owner, &["gc", "--quiet", "--prune=now"]);
    }

    /// Whether its repository has its work still.
    pub fn is_there(&self) -> bool {
        let has = |object: &str| self.sandbox.try_git(&self.owner, &["cat-file", "-e", object]).status == 0;
        has(&self.commit) && has(&self.blob)
    }

    /// Asserts that no tidying up takes its work.
    #[track_caller]
    pub fn assert_kept(&self) {
        self.tidy();
        assert!(self.is_there(), "the work in `{}` is lost", self.path.display());
    }

    /// Why git keeps it locked.
    pub fn lock(&self) -> Option<String> {
        fs::read_to_string(self.admin_dir.join("locked")).ok()
    }

    /// Asserts that somebody can work in it as if nothing had been.
    #[track_caller]
    pub fn assert_whole(&self) {
        self.assert_kept();
        assert_eq!(self.sandbox.git(&self.path, &["rev-parse", "HEAD"]), self.commit);
        assert_eq!(self.sandbox.git(&self.path, &["status", "--porcelain", "--untracked-files=no"]), "A  staged.txt");
        assert_eq!(self.lock(), None);
    }
}
