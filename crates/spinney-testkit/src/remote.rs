//! A bare repository that others push to: what a forge is for git.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Sandbox;

/// A bare repository on disk.
#[derive(Debug, Clone)]
pub struct Remote {
    sandbox: Sandbox,
    path: PathBuf,
}

impl Remote {
    /// Makes an empty one with `main` as its HEAD; `name` is a path below [`Sandbox::remotes`].
    #[must_use]
    #[track_caller]
    pub fn make(sandbox: &Sandbox, name: &str) -> Self {
        let path = sandbox.remotes().join(name);
        fs::create_dir_all(&path).expect("the sandbox can be written");
        sandbox.git(&path, &["init", "--quiet", "--bare", "--initial-branch=main"]);
        Self { sandbox: sandbox.clone(), path }
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its address for git: the path.
    #[must_use]
    pub fn url(&self) -> &str {
        self.path.to_str().expect("the sandbox's paths are UTF-8")
    }

    /// Runs git in it; panics with what it said when it fails.
    #[track_caller]
    pub fn git(&self, arguments: &[&str]) -> String {
        self.sandbox.git(&self.path, arguments)
    }

    /// The commit of its HEAD.
    #[must_use]
    #[track_caller]
    pub fn head(&self) -> String {
        self.git(&["rev-parse", "HEAD"])
    }

    /// The commit of a branch.
    #[must_use]
    #[track_caller]
    pub fn tip(&self, branch: &str) -> String {
        self.git(&["rev-parse", &format!("refs/heads/{branch}")])
    }

    /// Someone else commits a change of `file` to the default branch and pushes it; gives the commit.
    #[track_caller]
    pub fn advance(&self, file: &str) -> String {
        let branch = self.default_branch();
        self.advance_branch(&branch, file)
    }

    /// As [`Remote::advance`], on a branch that is made from the default branch when it is new.
    #[track_caller]
    pub fn advance_branch(&self, branch: &str, file: &str) -> String {
        let clone = self.clone_elsewhere();
        clone.git(&["switch", "--quiet", "--no-track", "-C", branch, &self.start_of(branch)]);
        let commit = clone.change(file);
        clone.git(&["push", "--quiet", "origin", &format!("HEAD:refs/heads/{branch}")]);
        commit
    }

    /// Merges a branch into the default branch as one new commit, as a forge's squash button does; gives the commit.
    #[track_caller]
    pub fn squash_merge(&self, branch: &str) -> String {
        self.merge_with(branch, &["merge", "--quiet", "--squash"])
    }

    /// Merges a branch into the default branch with a merge commit; gives the commit.
    #[track_caller]
    pub fn merge(&self, branch: &str) -> String {
        self.merge_with(branch, &["merge", "--quiet", "--no-ff", "--no-commit"])
    }

    fn merge_with(&self, branch: &str, merge: &[&str]) -> String {
        let clone = self.clone_elsewhere();
        clone.git(&[merge, &[&format!("origin/{branch}")]].concat());
        clone.git(&["commit", "--quiet", "--message", &format!("Merge {branch}")]);
        clone.git(&["push", "--quiet", "origin", "HEAD"]);
        clone.git(&["rev-parse", "HEAD"])
    }

    /// Opens pull request `number` from a branch of this same repository; gives its head commit.
    #[track_caller]
    pub fn pull_request(&self, number: u64, branch: &str) -> String {
        let tip = self.tip(branch);
        self.git(&["update-ref", &format!("refs/pull/{number}/head"), &tip]);
        tip
    }

    /// Opens pull request `number` from a fork, changing `file`: its commit is on no branch here. Gives that commit;
    /// called again, it adds a commit to the pull request.
    #[track_caller]
    pub fn fork_pull_request(&self, number: u64, file: &str) -> String {
        let reference = format!("refs/pull/{number}/head");
        let clone = self.clone_elsewhere();
        if clone.try_git(&["fetch", "--quiet", "origin", &reference]).status == 0 {
            clone.git(&["switch", "--quiet", "--detach", "FETCH_HEAD"]);
        }
        let commit = clone.change(file);
        clone.git(&["push", "--quiet", "origin", &format!("HEAD:{reference}")]);
        commit
    }

    fn default_branch(&self) -> String {
        self.git(&["symbolic-ref", "--short", "HEAD"])
    }

    /// Where a new commit on a branch starts, in a clone.
    fn start_of(&self, branch: &str) -> String {
        let exists = self.sandbox.try_git(&self.path, &["rev-parse", "--verify", &format!("refs/heads/{branch}")]);
        if exists.status == 0 { format!("origin/{branch}") } else { format!("origin/{}", self.default_branch()) }
    }

    /// Another person's clone.
    fn clone_elsewhere(&self) -> Clone {
        let path = self.sandbox.fresh("clones");
        let shown = path.to_str().expect("the sandbox's paths are UTF-8");
        self.sandbox.git(self.sandbox.path(), &["clone", "--quiet", self.url(), shown]);
        Clone { sandbox: self.sandbox.clone(), path }
    }
}

struct Clone {
    sandbox: Sandbox,
    path: PathBuf,
}

impl Clone {
    #[track_caller]
    fn git(&self, arguments: &[&str]) -> String {
        self.sandbox.git(&self.path, arguments)
    }

    fn try_git(&self, arguments: &[&str]) -> crate::Ran {
        self.sandbox.try_git(&self.path, arguments)
    }

    /// Commits one more line in a file.
    #[track_caller]
    fn change(&self, file: &str) -> String {
        let path = self.path.join(file);
        fs::create_dir_all(path.parent().expect("it has a parent")).expect("the clone can be written");
        let mut content = fs::read(&path).unwrap_or_default();
        content.extend_from_slice(format!("a line after {}\n", self.git(&["rev-parse", "HEAD"])).as_bytes());
        fs::write(&path, content).expect("the clone can be written");
        self.git(&["add", "--all", "--force"]);
        self.git(&["commit", "--quiet", "--message", &format!("change {file}")]);
        self.git(&["rev-parse", "HEAD"])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_push_to_it() {
        let repository = Sandbox::new().repository("app").with_remote();
        let (remote, first) = (repository.remote(), repository.head());
        let second = remote.advance("src/lib.rs");
        assert_eq!(remote.head(), second);
        assert_eq!(remote.git(&["rev-parse", &format!("{second}^")]), first);
        let side = remote.advance_branch("feature/x", "x.txt");
        assert_eq!((remote.head(), remote.tip("feature/x")), (second, side));
        let third = remote.advance_branch("feature/x", "x.txt");
        assert_eq!(remote.git(&["rev-list", "--count", &format!("main..{third}")]), "2");
    }

    #[test]
    fn a_squash_merge_is_one_commit_with_one_parent() {
        let repository = Sandbox::new().repository("app").with_remote();
        let remote = repository.remote();
        remote.advance_branch("feature", "a.txt");
        let tip = remote.advance_branch("feature", "b.txt");
        let squashed = remote.squash_merge("feature");
        assert_eq!(remote.head(), squashed);
        assert_eq!(
            remote.git(&["rev-parse", &format!("{squashed}^{{tree}}")]),
            remote.git(&["rev-parse", &format!("{tip}^{{tree}}")])
        );
        assert_eq!(remote.git(&["rev-list", "--count", "main"]), "2");
        let merged = remote.merge("feature");
        assert_eq!(remote.git(&["rev-list", "--count", "--merges", &merged]), "1");
    }

    #[test]
    fn pull_requests_have_their_refs() {
        let repository = Sandbox::new().repository("app").with_remote();
        let remote = repository.remote();
        let own = remote.advance_branch("feature", "a.txt");
        assert_eq!(remote.pull_request(9, "feature"), own);
        let forked = remote.fork_pull_request(10, "b.txt");
        assert_eq!(remote.git(&["rev-parse", "refs/pull/9/head", "refs/pull/10/head"]), format!("{own}\n{forked}"));
        assert_eq!(remote.git(&["branch", "--contains", &forked]), "");
        let again = remote.fork_pull_request(10, "b.txt");
        assert_eq!(remote.git(&["rev-parse", &format!("{again}^")]), forked);
    }
}
