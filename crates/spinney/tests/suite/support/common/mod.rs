//! What the stories share: a repository that a person works in, and Spinney beside it.
//!
//! When a story ends, the main checkout must be as the story itself left it, and nothing half done may lie around.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;
use spinney_testkit::{Cli, Fingerprint, Ran, Remote, Sandbox, TestRepository};

pub const BINARY: &str = env!("CARGO_BIN_EXE_spinney");
/// More than a purge or a filling beside a command takes.
const CHORE: Duration = Duration::from_secs(30);

/// One repository with its main checkout, and the program run in it.
pub struct Story {
    pub repository: TestRepository,
    pub cli: Cli,
    before: RefCell<Fingerprint>,
}

impl Story {
    /// A repository `app` with a remote.
    pub fn new() -> Self {
        Self::of(Sandbox::new().repository("app").with_remote())
    }

    pub fn of(repository: TestRepository) -> Self {
        let cli = repository.sandbox().cli(BINARY).in_directory(repository.path());
        let before = RefCell::new(repository.fingerprint());
        Self { repository, cli, before }
    }

    /// The same, whose new workspaces are made by a provider.
    pub fn by(mut self, provider: &str) -> Self {
        self.cli = self.cli.with_variable("SPINNEY_PROVIDER", provider);
        self
    }

    pub fn sandbox(&self) -> &Sandbox {
        self.repository.sandbox()
    }

    pub fn remote(&self) -> &Remote {
        self.repository.remote()
    }

    /// The person changes their own checkout.
    pub fn change<T>(&self, change: impl FnOnce(&TestRepository) -> T) -> T {
        self.repository.assert_checkout_unchanged(&self.before.borrow());
        let changed = change(&self.repository);
        *self.before.borrow_mut() = self.repository.fingerprint();
        changed
    }

    /// `spinney new` with these arguments: the workspace.
    #[track_caller]
    pub fn make(&self, arguments: &[&str]) -> Workspace {
        make(&self.cli, arguments)
    }

    /// `spinney new` with these arguments, which must fail so; gives the error.
    #[track_caller]
    pub fn refused(&self, status: i32, arguments: &[&str]) -> Refusal {
        refused(&self.cli, status, &[&["new"], arguments].concat())
    }

    /// `spinney show NAME`.
    #[track_caller]
    pub fn show(&self, name: &str) -> Workspace {
        Workspace(self.cli.run(&["show", name, "--json"]).ok().json())
    }

    /// The names that `spinney ls --all` gives, sorted.
    #[track_caller]
    pub fn names(&self) -> Vec<String> {
        names(&self.cli)
    }

    /// The branches of the repository, sorted.
    #[track_caller]
    pub fn branches(&self) -> Vec<String> {
        self.repository
            .git(&["for-each-ref", "--format=%(refname:short)", "refs/heads"])
            .lines()
            .map(str::to_owned)
            .collect()
    }

    /// Git's linked worktrees, the main checkout aside.
    #[track_caller]
    pub fn worktrees(&self) -> Vec<PathBuf> {
        let listed = self.repository.git(&["worktree", "list", "--porcelain"]);
        listed.lines().filter_map(|line| line.strip_prefix("worktree ")).skip(1).map(PathBuf::from).collect()
    }

    /// A linked worktree that another tool made, beside the repository.
    #[track_caller]
    pub fn foreign_worktree(&self, directory: &str, branch: &str) -> PathBuf {
        let path = self.sandbox().path().join(directory);
        let shown = path.to_str().unwrap();
        self.repository.git(&["worktree", "add", "--quiet", "--no-track", "-b", branch, shown]);
        path
    }

    /// Asserts that the branches and worktrees are those of the beginning, and the store knows no workspace.
    #[track_caller]
    pub fn assert_nothing_made(&self) {
        assert_eq!(self.names(), Vec::<String>::new());
        assert_eq!(self.branches(), ["main"]);
        assert_eq!(self.worktrees(), Vec::<PathBuf>::new());
        self.assert_nothing_left_over();
    }

    /// Asserts that nothing half done lies around: locks, trees and admin dirs moved aside, links that lead nowhere.
    #[track_caller]
    pub fn assert_nothing_left_over(&self) {
        let home = self.sandbox().spinney_home();
        let trees = files_below(&home.join("trees"), 3).into_iter().filter(|path| path.is_dir());
        let unknown: Vec<_> = trees.filter(|tree| !has_admin_dir(tree)).collect();
        assert!(unknown.is_empty(), "trees that git does not know: {unknown:?}");
        let dangling: Vec<_> = files_below(&home.join("links"), 3).into_iter().filter(|link| !link.exists()).collect();
        assert!(dangling.is_empty(), "links that lead nowhere: {dangling:?}");
        // A chore that a command started beside itself may be at work still; what is forgotten stays.
        let operations = || files_below(&home.join("operations"), 0);
        let deadline = Instant::now() + CHORE;
        while !operations().is_empty() {
            assert!(Instant::now() < deadline, "operations: {:?}", operations());
            std::thread::sleep(Duration::from_millis(10));
        }
        let aside = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with("undo-");
        let common_dir = self.repository.path().join(self.repository.git(&["rev-parse", "--git-common-dir"]));
        for place in [home.join("trash"), common_dir.join("spinney")] {
            let left: Vec<_> = files_below(&place, 0).into_iter().filter(aside).collect();
            assert!(left.is_empty(), "moved aside and forgotten: {left:?}");
        }
    }
}

impl Drop for Story {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.repository.assert_checkout_unchanged(&self.before.borrow());
            if self.sandbox().spinney_home().join("operations").exists() {
                self.assert_nothing_left_over();
            }
        }
    }
}

/// Whether a tree's `.git` file leads somewhere.
fn has_admin_dir(tree: &Path) -> bool {
    let pointer = fs::read_to_string(tree.join(".git")).unwrap_or_default();
    pointer.trim_end().strip_prefix("gitdir: ").is_some_and(|admin_dir| Path::new(admin_dir).is_dir())
}

/// What lies `depth` directories below one, without hidden files.
pub fn files_below(directory: &Path, depth: usize) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| !path.file_name().unwrap().to_string_lossy().starts_with('.'));
    paths.sort();
    if depth == 0 { paths } else { paths.iter().flat_map(|path| files_below(path, depth - 1)).collect() }
}

/// Everything in Spinney's home and the repository's git dir that holds a text, as `grep -r` finds it.
pub fn files_with(directory: &Path, text: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let metadata = fs::symlink_metadata(&path).unwrap();
        if metadata.is_dir() {
            found.extend(files_with(&path, text));
        } else if metadata.is_file() {
            let bytes = fs::read(&path).unwrap();
            if bytes.windows(text.len()).any(|window| window == text.as_bytes()) {
                found.push(path);
            }
        }
    }
    found
}

#[track_caller]
pub fn make(cli: &Cli, arguments: &[&str]) -> Workspace {
    let ran = cli.run(&[&["new", "--json"], arguments].concat()).ok();
    let mut document = ran.json();
    document["stderr"] = ran.stderr.into();
    Workspace(document)
}

#[track_caller]
pub fn refused(cli: &Cli, status: i32, arguments: &[&str]) -> Refusal {
    Refusal(cli.run(&[&["--json"], arguments].concat()).exits(status))
}

#[track_caller]
pub fn names(cli: &Cli) -> Vec<String> {
    let list = cli.run(&["ls", "--all", "--json"]).ok().json();
    let mut names: Vec<_> =
        list["workspaces"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

/// A workspace as `--json` tells it.
#[derive(Debug)]
pub struct Workspace(pub Value);

impl Workspace {
    #[track_caller]
    pub fn text(&self, key: &str) -> &str {
        self.0[key].as_str().unwrap_or_else(|| panic!("no text `{key}` in {}", self.0))
    }

    #[track_caller]
    pub fn path(&self) -> PathBuf {
        PathBuf::from(self.text("path"))
    }

    /// Name, branch and method: what a request decides.
    #[track_caller]
    pub fn identity(&self) -> (&str, &str, &str) {
        (self.text("name"), self.text("branch"), self.text("method"))
    }

    /// What `new` said beside it.
    #[track_caller]
    pub fn said(&self) -> &str {
        self.text("stderr")
    }
}

/// A failure as `--json` tells it.
#[derive(Debug)]
pub struct Refusal(pub Ran);

impl Refusal {
    #[track_caller]
    pub fn message(&self) -> String {
        self.0.error_json()["error"]["message"].as_str().unwrap().to_owned()
    }

    /// Asserts what the message tells.
    #[track_caller]
    pub fn says(&self, texts: &[&str]) -> &Self {
        let message = self.message();
        for text in texts {
            assert!(message.contains(text), "`{text}` is not in: {message}");
        }
        self
    }

    /// Asserts what the hints tell.
    #[track_caller]
    pub fn hints(&self, texts: &[&str]) -> &Self {
        let hints = self.0.error_json()["error"]["hints"].to_string();
        for text in texts {
            assert!(hints.contains(text), "`{text}` is not in: {hints}");
        }
        self
    }
}
