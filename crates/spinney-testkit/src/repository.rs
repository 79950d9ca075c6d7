//! A repository with a main checkout, as a person has it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::programs::process::Ran;
use crate::programs::written::write_program;
use crate::{Fingerprint, Remote, Sandbox};

/// A repository in a [`Sandbox`].
#[derive(Debug, Clone)]
pub struct TestRepository {
    sandbox: Sandbox,
    path: PathBuf,
    remote: Option<Remote>,
}

impl TestRepository {
    pub(crate) fn at(sandbox: Sandbox, path: PathBuf) -> Self {
        Self { sandbox, path, remote: None }
    }

    /// Gives it an `origin`: a bare repository `acme/<name>.git` on disk, pushed to, with `origin/HEAD` known.
    #[must_use]
    #[track_caller]
    pub fn with_remote(mut self) -> Self {
        let name = self.path.file_name().expect("it has a name").to_string_lossy().into_owned();
        let remote = Remote::make(&self.sandbox, &format!("acme/{name}.git"));
        self.git(&["remote", "add", "origin", remote.url()]);
        self.git(&["push", "--quiet", "origin", "main"]);
        self.git(&["fetch", "--quiet", "origin"]);
        self.git(&["remote", "set-head", "origin", "main"]);
        self.remote = Some(remote);
        self
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its remote; panics when it has none.
    #[must_use]
    #[track_caller]
    pub fn remote(&self) -> &Remote {
        self.remote.as_ref().expect("the repository was made with a remote")
    }

    #[must_use]
    pub fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// Runs git in the main checkout; panics with what it said when it fails.
    #[track_caller]
    pub fn git(&self, arguments: &[&str]) -> String {
        self.sandbox.git(&self.path, arguments)
    }

    /// Runs git in the main checkout and tells how it went.
    #[track_caller]
    pub fn try_git(&self, arguments: &[&str]) -> Ran {
        self.sandbox.try_git(&self.path, arguments)
    }

    /// Writes a file, with the directories it needs.
    #[track_caller]
    pub fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> &Self {
        let path = self.path.join(path);
        fs::create_dir_all(path.parent().expect("it has a parent")).expect("the checkout can be written");
        fs::write(path, content).expect("the checkout can be written");
        self
    }

    /// Writes a file that can be executed.
    #[track_caller]
    pub fn write_executable(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> &Self {
        self.write(&path, "");
        write_program(self.path.join(path), content);
        self
    }

    /// Commits everything there is and gives the commit.
    #[track_caller]
    pub fn commit(&self, message: &str) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", message]);
        self.head()
    }

    /// Pushes the current branch.
    #[track_caller]
    pub fn push(&self) -> &Self {
        self.git(&["push", "--quiet", "origin", "HEAD"]);
        self
    }

    /// The commit of HEAD.
    #[must_use]
    #[track_caller]
    pub fn head(&self) -> String {
        self.git(&["rev-parse", "HEAD"])
    }

    /// Adds another repository as a submodule and commits that.
    #[track_caller]
    pub fn add_submodule(&self, path: &str, other: &Self) -> String {
        let url = other.path().to_str().expect("the sandbox's paths are UTF-8");
        self.git(&["submodule", "--quiet", "add", url, path]);
        self.commit(&format!("add {path}"))
    }

    /// What must stay the same while Spinney works.
    #[must_use]
    #[track_caller]
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(self)
    }

    /// Asserts that the main checkout is as it was; branches may have come and gone.
    #[track_caller]
    pub fn assert_checkout_unchanged(&self, before: &Fingerprint) {
        let differences = before.without_branches().differences(&self.fingerprint().without_branches());
        assert!(differences.is_empty(), "the main checkout changed: {}", differences.join(", "));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_is_clean_and_committed() {
        let repository = Sandbox::new().repository("app");
        assert_eq!(repository.git(&["status", "--porcelain"]), "");
        assert_eq!(repository.git(&["branch", "--show-current"]), "main");
        assert!(repository.git(&["ls-tree", "HEAD", "run.sh"]).starts_with("100755 "));
    }

    #[test]
    fn with_a_remote_it_knows_the_remotes_head() {
        let repository = Sandbox::new().repository("app").with_remote();
        assert_eq!(repository.git(&["symbolic-ref", "refs/remotes/origin/HEAD"]), "refs/remotes/origin/main");
        assert_eq!(repository.remote().head(), repository.head());
        let commit = repository.write("new.txt", "new").commit("second");
        assert_ne!(repository.remote().head(), commit);
        repository.push();
        assert_eq!(repository.remote().head(), commit);
    }

    #[test]
    fn a_submodule_is_part_of_a_clone() {
        let sandbox = Sandbox::new();
        let (library, repository) = (sandbox.repository("library"), sandbox.repository("app").with_remote());
        repository.add_submodule("libs/one", &library);
        repository.push();
        let clone = sandbox.path().join("clone");
        sandbox.git(sandbox.path(), &["clone", "--quiet", "--recursive", repository.remote().url(), "clone"]);
        assert!(clone.join("libs/one/src/lib.rs").is_file());
    }

    #[test]
    #[should_panic(expected = "not a git command")]
    fn a_failing_git_shows_its_message() {
        Sandbox::new().repository("app").git(&["frobnicate"]);
    }
}
