//! A directory with everything a test touches.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tempfile::TempDir;

use crate::programs::process::{self, Ran};
use crate::{Cli, PostgresDatabase, TestRepository, postgres_database};

/// Says, as `postgres`, where the tests have their stores; set by `cargo xtask test`.
const STORE: &str = "SPINNEY_TEST_STORE";

/// The store's name in Spinney's home.
const SQLITE_FILE: &str = "spinney.db";

const GIT_CONFIG: &str = "\
[user]
\tname = Test Person
\temail = person@example.com
[init]
\tdefaultBranch = main
[commit]
\tgpgSign = false
[gc]
\tauto = 0
[maintenance]
\tauto = false
[protocol \"file\"]
\tallow = always
";

/// A temporary directory with its own `HOME`, git configuration, Spinney home and store. Clones share it; it goes with the
/// last.
#[derive(Debug, Clone)]
pub struct Sandbox(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Held for its `Drop`.
    _directory: TempDir,
    path: PathBuf,
    /// Where the store is, if not in Spinney's home.
    database: Option<PostgresDatabase>,
    counter: AtomicUsize,
}

impl Default for Sandbox {
    fn default() -> Self {
        Self::new()
    }
}

impl Sandbox {
    #[must_use]
    pub fn new() -> Self {
        Self::of(temporary(), wanted_database())
    }

    /// With its store on PostgreSQL.
    #[must_use]
    #[track_caller]
    pub fn on_postgres() -> Self {
        Self::of(temporary(), Some(postgres_database()))
    }

    /// In a directory of somebody's choice, as that of another file system.
    #[must_use]
    pub fn inside(directory: &Path) -> Self {
        let builder = &mut tempfile::Builder::new();
        let directory = builder.prefix("spinney-test-").tempdir_in(directory).expect("a directory that can be written");
        Self::of(directory, wanted_database())
    }

    fn of(directory: TempDir, database: Option<PostgresDatabase>) -> Self {
        let path = directory.path().canonicalize().expect("the temporary directory exists");
        for name in ["home", "repositories", "remotes", "clones"] {
            fs::create_dir(path.join(name)).expect("the temporary directory can be written");
        }
        fs::write(path.join("home/.gitconfig"), GIT_CONFIG).expect("the temporary directory can be written");
        Self(Arc::new(Inner { _directory: directory, path, database, counter: AtomicUsize::new(0) }))
    }

    /// The directory that holds all of it, without links in its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// `HOME`.
    #[must_use]
    pub fn home(&self) -> PathBuf {
        self.path().join("home")
    }

    /// `SPINNEY_HOME`; not made ahead.
    #[must_use]
    pub fn spinney_home(&self) -> PathBuf {
        self.path().join("spinney")
    }

    /// The database that holds the store, if one does.
    #[must_use]
    pub fn database(&self) -> Option<&PostgresDatabase> {
        self.0.database.as_ref()
    }

    /// The URL of the store.
    #[must_use]
    pub fn store_url(&self) -> String {
        let file = || format!("sqlite:{}", self.spinney_home().join(SQLITE_FILE).display());
        self.database().map_or_else(file, |database| database.url().to_owned())
    }

    /// Whether a text is somewhere in the store.
    #[must_use]
    pub fn store_holds(&self, text: &str) -> bool {
        let holds = |bytes: &[u8]| bytes.windows(text.len()).any(|window| window == text.as_bytes());
        let file = |suffix: &str| self.spinney_home().join(format!("{SQLITE_FILE}{suffix}"));
        match self.database() {
            Some(database) => holds(database.contents().as_bytes()),
            None => ["", "-wal"].into_iter().any(|suffix| holds(&fs::read(file(suffix)).unwrap_or_default())),
        }
    }

    /// The person's configuration file; not made ahead.
    #[must_use]
    pub fn config_file(&self) -> PathBuf {
        self.home().join(".config/spinney/config.toml")
    }

    /// Writes the person's configuration file.
    pub fn write_config(&self, text: &str) {
        let path = self.config_file();
        fs::create_dir_all(path.parent().expect("it has a parent")).expect("the home can be written");
        fs::write(path, text).expect("the home can be written");
    }

    /// The whole environment of a program in here: `PATH` and nothing else comes from outside.
    #[must_use]
    pub fn environment(&self) -> Vec<(OsString, OsString)> {
        let home = self.home();
        let own = [
            ("HOME", home.clone().into_os_string()),
            ("XDG_CONFIG_HOME", home.join(".config").into()),
            ("XDG_DATA_HOME", home.join(".local/share").into()),
            ("XDG_STATE_HOME", home.join(".local/state").into()),
            ("XDG_CACHE_HOME", home.join(".cache").into()),
            ("SPINNEY_HOME", self.spinney_home().into()),
            ("GIT_CONFIG_NOSYSTEM", "1".into()),
            ("GIT_CONFIG_GLOBAL", home.join(".gitconfig").into()),
            ("GIT_TERMINAL_PROMPT", "0".into()),
            ("LANG", "C.UTF-8".into()),
            ("TERM", "dumb".into()),
            ("PATH", env::var_os("PATH").expect("PATH is set")),
        ];
        let store = self.database().map(|database| ("SPINNEY_DATABASE_URL", database.url().into()));
        own.into_iter().chain(store).map(|(name, value)| (name.into(), value)).collect()
    }

    /// A command with this sandbox's environment.
    #[must_use]
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(self.environment()).current_dir(self.path());
        command
    }

    /// Runs git in a directory; panics with what it said when it fails.
    #[track_caller]
    pub fn git(&self, directory: impl AsRef<Path>, arguments: &[&str]) -> String {
        self.try_git(directory, arguments).ok().stdout.trim_end().to_owned()
    }

    /// Runs git in a directory and tells how it went.
    #[track_caller]
    pub fn try_git(&self, directory: impl AsRef<Path>, arguments: &[&str]) -> Ran {
        process::start(self.command("git").args(arguments).current_dir(directory)).wait()
    }

    /// Makes a repository with a few committed files, on `main`.
    #[must_use]
    pub fn repository(&self, name: &str) -> TestRepository {
        let repository = self.empty_repository(name);
        repository.write("README.md", "# A repository\n");
        repository.write("src/lib.rs", "pub fn answer() -> u32 {\n    42\n}\n");
        repository.write("docs/größe und maß.txt", "a path with spaces and letters beyond ASCII\n");
        repository.write(".gitignore", "/target/\nnode_modules/\n.env\n*.local\n");
        repository.write_executable("run.sh", "#!/bin/sh\necho run\n");
        repository.commit("first");
        repository
    }

    /// Makes a repository without any commit.
    #[must_use]
    pub fn empty_repository(&self, name: &str) -> TestRepository {
        let path = self.path().join("repositories").join(name);
        fs::create_dir_all(&path).expect("the sandbox can be written");
        self.git(&path, &["init", "--quiet", "--initial-branch=main"]);
        TestRepository::at(self.clone(), path)
    }

    /// Where the bare remotes lie, as `acme/app.git`.
    #[must_use]
    pub fn remotes(&self) -> PathBuf {
        self.path().join("remotes")
    }

    /// Runs the program under test in this sandbox.
    #[must_use]
    pub fn cli(&self, binary: impl Into<PathBuf>) -> Cli {
        Cli::new(self.clone(), binary.into())
    }

    /// A path in here that nothing has used yet.
    pub(crate) fn fresh(&self, directory: &str) -> PathBuf {
        let number = self.0.counter.fetch_add(1, Ordering::Relaxed);
        self.path().join(directory).join(number.to_string())
    }
}

fn temporary() -> TempDir {
    tempfile::Builder::new().prefix("spinney-test-").tempdir().expect("a temporary directory")
}

/// One, where the tests run on PostgreSQL.
#[track_caller]
fn wanted_database() -> Option<PostgresDatabase> {
    env::var_os(STORE).map(|store| {
        assert_eq!(store, "postgres", "`{STORE}` names no other store");
        postgres_database()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leaks_in_from_outside() {
        let sandbox = Sandbox::new();
        // Cargo sets this one for every test, so it stands for all variables from outside.
        assert!(env::var_os("CARGO_MANIFEST_DIR").is_some());
        let seen = process::start(&mut sandbox.command("env")).wait().ok().stdout;
        assert!(!seen.contains("CARGO_MANIFEST_DIR"), "{seen}");
        let names: Vec<_> = seen.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
        let foreign =
            ["GIT_", "SPINNEY_"].iter().flat_map(|prefix| names.iter().filter(move |name| name.starts_with(prefix)));
        let expected = ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_TERMINAL_PROMPT", "SPINNEY_HOME"];
        assert!(foreign.clone().all(|name| expected.contains(name)), "{seen}");
        assert_eq!(foreign.count(), expected.len());
    }

    #[test]
    fn git_uses_the_sandboxs_own_configuration() {
        let sandbox = Sandbox::new();
        let listed = sandbox.git(sandbox.path(), &["config", "--list", "--show-origin"]);
        let own = sandbox.home().join(".gitconfig");
        assert!(listed.lines().all(|line| line.starts_with(&format!("file:{}", own.display()))), "{listed}");
    }

    #[test]
    fn it_goes_with_its_last_user() {
        let sandbox = Sandbox::new();
        let (path, repository) = (sandbox.path().to_owned(), sandbox.repository("app"));
        drop(sandbox);
        assert!(repository.path().is_dir());
        drop(repository);
        assert!(!path.exists());
    }
}
