//! Real repositories in a directory of their own, with a home and a configuration of their own.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use spinney_core::{BranchName, CommitId};
use spinney_git::{AddWorktree, Git, GitOptions, Repository, Start, Worktree};
use spinney_testkit::write_program;

pub struct Sandbox {
    directory: tempfile::TempDir,
    pub git: Git,
}

#[expect(clippy::disallowed_methods, reason = "tests choose the git they run with")]
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

pub fn program() -> PathBuf {
    variable("SPINNEY_TEST_GIT").map_or_else(|| PathBuf::from("git"), PathBuf::from)
}

pub fn environment(home: &Path) -> Vec<(OsString, OsString)> {
    vec![
        ("HOME".into(), home.into()),
        ("PATH".into(), variable("PATH").unwrap_or_default()),
        ("GIT_CONFIG_NOSYSTEM".into(), "1".into()),
    ]
}

pub fn options(home: &Path) -> GitOptions {
    GitOptions { program: program(), ..GitOptions::new(environment(home)) }
}

impl Sandbox {
    pub async fn new() -> Self {
        let directory = tempfile::Builder::new().prefix("spinney git ü").tempdir().unwrap();
        let home = directory.path().join("home");
        std::fs::create_dir(&home).unwrap();
        let config = "[user]\n\tname = A Person\n\temail = person@example.invalid\n[init]\n\tdefaultBranch = main\n";
        std::fs::write(home.join(".gitconfig"), config).unwrap();
        let git = Git::open(options(&home)).await.unwrap();
        Self { directory, git }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        std::fs::canonicalize(self.directory.path()).unwrap().join(name)
    }

    pub fn home(&self) -> PathBuf {
        self.path("home")
    }

    /// Runs plain git as a person would, and gives its stdout.
    pub fn run(&self, directory: &Path, arguments: &[&str]) -> String {
        let (status, stdout, stderr) = self.try_run(directory, arguments);
        assert!(status, "git {arguments:?}: {stderr}");
        stdout
    }

    pub fn try_run(&self, directory: &Path, arguments: &[&str]) -> (bool, String, String) {
        #[expect(clippy::disallowed_methods, reason = "a person's own git, beside ours")]
        let mut command = std::process::Command::new(program());
        command.args(arguments).current_dir(directory).env_clear().envs(environment(&self.home()));
        let output = command.stdin(Stdio::null()).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
        (output.status.success(), text(&output.stdout), text(&output.stderr))
    }

    /// Makes a repository with one commit.
    pub fn init(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        self.run(&self.path(""), &["init", "-q", path.to_str().unwrap()]);
        self.commit(&path, "README.md", "hello\n");
        path
    }

    /// Makes a repository with one commit, cloned from a bare `<name>.git`.
    pub fn init_cloned(&self, name: &str) -> PathBuf {
        let seed = self.init(&format!("{name} seed"));
        let remote = self.path(&format!("{name}.git"));
        self.run(&self.path(""), &["clone", "-q", "--bare", seed.to_str().unwrap(), remote.to_str().unwrap()]);
        let clone = self.path(name);
        self.run(&self.path(""), &["clone", "-q", remote.to_str().unwrap(), clone.to_str().unwrap()]);
        clone
    }

    /// Writes and commits a file; gives the commit.
    pub fn commit(&self, directory: &Path, file: &str, content: &str) -> CommitId {
        let path = directory.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
        self.run(directory, &["add", "--", file]);
        self.run(directory, &["commit", "-q", "-m", &format!("change {file}")]);
        self.head(directory)
    }

    pub fn head(&self, directory: &Path) -> CommitId {
        self.run(directory, &["rev-parse", "HEAD"]).parse().unwrap()
    }

    pub async fn open(&self, path: &Path) -> Repository {
        Repository::discover(&self.git, path).await.unwrap()
    }

    /// Adds a worktree on a new branch at HEAD and fills it.
    pub async fn add(&self, repository: &Repository, branch: &str) -> Worktree {
        let commit = repository.load_commit("HEAD").await.unwrap().unwrap();
        let name: BranchName = branch.parse().unwrap();
        let path = self.path("trees").join(branch.replace('/', "-"));
        let lock = repository.lock("a test").await.unwrap();
        let start = Start::NewBranch { name: &name, commit: &commit };
        let add = AddWorktree { path: &path, start, lock_reason: "spinney:test" };
        repository.add_worktree(&lock, &add).await.unwrap();
        drop(lock);
        let worktree = Worktree::open(repository, &path).unwrap();
        worktree.checkout(false).await.unwrap();
        worktree
    }

    /// A git that logs its arguments, one call a line, before it does its work.
    pub async fn logging_git(&self) -> (Git, PathBuf) {
        let log = self.path("calls.log");
        let script = self.script(
            "logging-git",
            &format!(
                "for a in \"$@\"; do printf '%s ' \"$a\"; done >> '{log}'\necho >> '{log}'\nexec '{program}' \"$@\"\n",
                log = log.display(),
                program = real_program().display(),
            ),
        );
        (Git::open(GitOptions { program: script, ..options(&self.home()) }).await.unwrap(), log)
    }

    pub fn script(&self, name: &str, body: &str) -> PathBuf {
        let path = self.path(name);
        write_program(&path, format!("#!/bin/sh\n{body}"));
        path
    }
}

/// The git program as an absolute path.
pub fn real_program() -> PathBuf {
    let program = program();
    let path = variable("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|directory| directory.join(&program)).find(|path| path.is_file());
    found.unwrap_or(program)
}

/// Waits until a condition holds; fails after a time that no machine needs.
pub async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < Duration::from_secs(30), "waited in vain for: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

pub fn branch(name: &str) -> BranchName {
    name.parse().unwrap()
}

/// Sets a file's or link's own time.
pub fn set_modified(path: &Path, seconds: i64, nanoseconds: i64) {
    let time = rustix::fs::Timespec { tv_sec: seconds, tv_nsec: nanoseconds };
    let times = rustix::fs::Timestamps { last_access: time, last_modification: time };
    rustix::fs::utimensat(rustix::fs::CWD, path, &times, rustix::fs::AtFlags::SYMLINK_NOFOLLOW).unwrap();
}

/// Makes an index younger than anything that was written before, as it is a moment later.
pub async fn let_settle(index: &Path) {
    let before = std::time::SystemTime::now();
    let clock = index.with_extension("clock");
    // The file system's clock goes in steps.
    until("the clock has gone on", || {
        std::fs::write(&clock, "x").unwrap();
        std::fs::metadata(&clock).unwrap().modified().unwrap() > before
    })
    .await;
    let now = std::fs::metadata(&clock).unwrap().modified().unwrap();
    std::fs::remove_file(&clock).unwrap();
    std::fs::File::options().write(true).open(index).unwrap().set_modified(now).unwrap();
}
