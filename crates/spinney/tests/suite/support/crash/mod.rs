//! A workspace full of work, what can be done to it, and what must hold after a command died in the middle of it.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use spinney_testkit::{Cli, Plant, Ran, Tokens, wait_until};

use crate::support::common::{Story, files_below};
use crate::support::lost::inside::Inside;

/// How a process ends that `abort` ended.
pub const ABORTED: i32 = 134;

const POOL_SIZE: (&str, &str) = ("SPINNEY_POOL__SIZE", "1");

const LONG: Duration = Duration::from_secs(60);

/// Issue 1 is the workspace with work in it; further issues come and go.
pub struct Wood {
    pub story: Story,
    pub tree: PathBuf,
    pub tokens: Tokens,
    /// Directories outside of the home in which work may lie.
    pub beside: Vec<PathBuf>,
    /// A worktree of a repository that is not Spinney's, inside issue 1.
    pub inside: Inside,
    /// The same inside what is to be erased.
    erased: Option<Inside>,
    before: State,
    issue: Cell<u32>,
}

/// What must be the same once the workspace is back.
#[derive(Debug, PartialEq, Eq)]
struct State {
    files: BTreeMap<PathBuf, Vec<u8>>,
    rebase: BTreeMap<PathBuf, Vec<u8>>,
    head: String,
    branch: String,
    index: String,
    status: String,
}

/// Something that a person does, in several steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deed {
    Create,
    /// Of a workspace whose directory vanished.
    CreateAgain,
    Remove,
    /// Of a workspace without work, whose branch goes too.
    RemoveUnstarted,
    Restore,
    RestoreArchived,
    Purge,
    /// Of what lies in the trash.
    Erase,
    /// Of what was purged.
    EraseArchived,
    Adopt,
    /// Of an empty pool.
    Fill,
    /// Of a pool whose base has moved on.
    Refresh,
    Drain,
    /// Of a warm workspace, whose base has moved on.
    Claim,
}

/// The ways to reach a point: a deed, and what must fail before so that the point is passed.
pub fn ways_to(point: &str) -> &'static [(Deed, &'static str)] {
    use Deed::{
        Adopt, Claim, Create, CreateAgain, Drain, Erase, EraseArchived, Fill, Purge, Refresh, Remove, RemoveUnstarted,
        Restore, RestoreArchived,
    };
    match point.split_once('.').unwrap() {
        ("create", "lost-pinned" | "lost-retired") => &[(CreateAgain, "")],
        ("create", _) => &[(Create, ""), (CreateAgain, "")],
        ("undo", _) => &[(Create, "create.filled=denied,"), (CreateAgain, "create.filled=denied,")],
        ("remove", "branch") => &[(RemoveUnstarted, "")],
        ("remove", "undone") => &[(Remove, "remove.recorded=denied,")],
        ("remove", _) => &[(Remove, "")],
        ("restore", "undo-moved" | "undone") => &[(Restore, "restore.branch=denied,")],
        ("restore", _) => &[(Restore, ""), (RestoreArchived, "")],
        ("unarchive", _) => &[(RestoreArchived, "")],
        ("purge", "undone") => &[(Purge, "purge.written=denied,")],
        ("purge", _) => &[(Purge, "")],
        ("erase", "undone") => &[(Erase, "erase.moved=denied,")],
        ("erase", _) => &[(Erase, ""), (EraseArchived, "")],
        ("adopt", _) => &[(Adopt, "")],
        ("warm", "undone") => &[(Fill, "warm.filled=denied,")],
        ("warm", "prepared" | "settled") => &[(Fill, ""), (Refresh, "")],
        ("warm", _) => &[(Fill, "")],
        ("refresh", _) => &[(Refresh, "")],
        ("retire", _) => &[(Drain, "")],
        ("claim", _) => &[(Claim, "")],
        ("unclaim", _) => &[(Claim, "claim.prepared=denied,"), (Claim, "claim.moved=denied,")],
        _ => panic!("no operation is known to pass `{point}`"),
    }
}

impl Wood {
    pub fn new(plants: &[Plant]) -> Self {
        Self::of(Story::new(), plants)
    }

    pub fn of(story: Story, plants: &[Plant]) -> Self {
        let tree = story.make(&["--issue", "1"]).path();
        let tokens = Tokens::plant(story.sandbox(), &tree, plants);
        let other = story.sandbox().repository("other");
        let inside = Inside::plant(story.sandbox(), other.path(), &tree.join("inside"));
        let before = state(&story, &tree);
        Self { story, tree, tokens, beside: Vec::new(), inside, erased: None, before, issue: Cell::new(1) }
    }

    /// Does what the deed needs before it, and gives the command line of it.
    #[track_caller]
    pub fn prepare(&mut self, deed: Deed) -> Vec<String> {
        let line = match deed {
            Deed::Create => format!("new --issue {}", self.next_issue()),
            Deed::CreateAgain => {
                let issue = self.next_issue().to_string();
                let tree = self.story.make(&["--issue", &issue]).path();
                let kept = Tokens::plant(self.story.sandbox(), &tree, &[Plant::Committed, Plant::Staged]);
                self.tokens.extend(kept);
                fs::rename(&tree, self.story.sandbox().path().join(format!("vanished-{issue}"))).unwrap();
                format!("new --issue {issue}")
            }
            Deed::Remove => {
                self.bring("active");
                "rm issue-1 --force".to_owned()
            }
            Deed::RemoveUnstarted => {
                let issue = self.next_issue().to_string();
                self.story.make(&["--issue", &issue]);
                format!("rm issue-{issue}")
            }
            Deed::Restore => {
                self.bring("trashed");
                "restore issue-1".to_owned()
            }
            Deed::RestoreArchived => {
                // A restore that failed may have left it rebuilt in the trash.
                self.bring("active");
                self.bring("purged");
                "restore issue-1".to_owned()
            }
            Deed::Purge => {
                self.bring("trashed");
                "trash purge issue-1".to_owned()
            }
            Deed::Erase | Deed::EraseArchived => {
                let issue = self.next_issue().to_string();
                let tree = self.story.make(&["--issue", &issue]).path();
                // What is erased is meant to be gone: its tokens are nobody's.
                let _ = Tokens::plant(self.story.sandbox(), &tree, &[Plant::Committed, Plant::Staged]);
                fs::write(tree.join("only-here.txt"), &issue).unwrap();
                let other = self.story.sandbox().path().join("repositories/other");
                self.erased = Some(Inside::plant(self.story.sandbox(), &other, &tree.join("inside")));
                self.story.cli.run(&["rm", &format!("issue-{issue}"), "--force"]).ok();
                if deed == Deed::EraseArchived {
                    self.story.cli.run(&["trash", "purge", &format!("issue-{issue}")]).ok();
                }
                format!("trash erase issue-{issue} --yes")
            }
            Deed::Adopt => {
                let name = format!("foreign-{}", self.next_issue());
                let path = self.story.foreign_worktree(&name, &name);
                self.tokens.extend(Tokens::plant(self.story.sandbox(), &path, Plant::PLAIN));
                self.beside.push(path.clone());
                format!("adopt {}", path.display())
            }
            Deed::Fill => {
                self.pool("drain");
                "pool fill".to_owned()
            }
            Deed::Refresh => {
                self.pool("fill");
                self.move_base();
                "pool fill".to_owned()
            }
            Deed::Drain => {
                self.pool("fill");
                "pool drain".to_owned()
            }
            Deed::Claim => {
                self.pool("fill");
                self.move_base();
                format!("new --issue {}", self.next_issue())
            }
        };
        line.split(' ').map(str::to_owned).collect()
    }

    /// Runs a command with these fail points armed.
    #[track_caller]
    pub fn run_armed(&self, points: &str, line: &[String]) -> Ran {
        self.cli_for(line).with_variable("SPINNEY_FAIL", points).run(line)
    }

    /// Only a command about the pool is told that there is one: nothing else then fills it behind the test's back.
    pub fn cli_for(&self, line: &[String]) -> Cli {
        let cli = &self.story.cli;
        if line[0] == "pool" { cli.with_variable(POOL_SIZE.0, POOL_SIZE.1) } else { cli.clone() }
    }

    /// Fills or drains the pool; gives what it says of itself then.
    #[track_caller]
    fn pool(&self, command: &str) -> serde_json::Value {
        let cli = self.story.cli.with_variable(POOL_SIZE.0, POOL_SIZE.1);
        cli.run(&["pool", command]).ok();
        cli.run(&["pool", "status", "--json"]).ok().json()["pools"][0].take()
    }

    /// Moves the base on, and lets Spinney know.
    fn move_base(&self) {
        self.story.remote().advance(&format!("moved-{}.txt", self.next_issue()));
        self.story.cli.run(&["repo", "sync"]).ok();
    }

    /// Shows that a person can go on with what a deed was about: to its end, and back to where it all began.
    #[track_caller]
    pub fn carry_on(&self, deed: Deed) {
        let issue = format!("issue-{}", self.issue.get());
        match deed {
            Deed::Create | Deed::CreateAgain | Deed::RemoveUnstarted => {
                let number = self.issue.get().to_string();
                let made = self.story.make(&["--issue", &number]);
                if deed == Deed::CreateAgain {
                    assert!(made.path().join("committed.txt").exists(), "the branch goes on where it was");
                }
                self.story.cli.run(&["rm", &issue, "--force"]).ok();
            }
            Deed::Erase | Deed::EraseArchived => self.carry_on_erasing(&issue),
            Deed::Adopt => {
                let path = self.beside.last().unwrap().to_str().unwrap();
                self.story.cli.run(&["adopt", path]).ok();
            }
            Deed::Claim => {
                let number = self.issue.get().to_string();
                let made = self.story.make(&["--issue", &number]);
                assert_eq!(self.story.sandbox().git(made.path(), &["status", "--porcelain"]), "");
                self.story.cli.run(&["rm", &issue, "--force"]).ok();
                self.assert_pool_works();
            }
            Deed::Fill | Deed::Refresh | Deed::Drain => self.assert_pool_works(),
            Deed::Remove | Deed::Restore | Deed::RestoreArchived | Deed::Purge => {}
        }
        self.bring("active");
        self.inside.assert_whole();
        let now = state(&self.story, &self.tree);
        assert!(now == self.before, "it came back another: {now:#?}\nit was {:#?}", self.before);
    }

    /// It is gone, or as it was before; asked once more, it is gone.
    #[track_caller]
    fn carry_on_erasing(&self, issue: &str) {
        let shown = self.story.show(issue);
        if shown.0["metadata"].get("erased").is_none() {
            self.story.cli.run(&["restore", issue]).ok();
            let number = issue.strip_prefix("issue-").unwrap();
            assert_eq!(fs::read_to_string(shown.path().join("only-here.txt")).unwrap(), number);
            self.story.cli.run(&["rm", issue, "--force"]).ok();
            self.story.cli.run(&["trash", "erase", issue, "--yes"]).ok();
        }
        let lock = self.erased.as_ref().and_then(Inside::lock);
        assert_eq!(lock, None, "what was inside stays locked");
        let id = shown.text("id").to_owned();
        assert_nothing_of(&self.story, &id);
        self.story.cli.run(&["restore", issue]).exits(4);
    }

    /// Asserts that the pool can be filled and drained, and is empty then.
    #[track_caller]
    fn assert_pool_works(&self) {
        let full = self.pool("fill");
        assert_eq!((&full["ready"], &full["failed"]), (&1.into(), &0.into()), "{full}");
        let empty = self.pool("drain");
        assert_eq!(empty["members"], serde_json::json!([]), "{empty}");
    }

    /// Brings issue 1 into a status, by the commands that lead there.
    #[track_caller]
    pub fn bring(&self, wanted: &str) {
        loop {
            let status = self.status();
            let step: &[&str] = match (status.as_str(), wanted) {
                (now, wanted) if now == wanted => return,
                ("active", _) => &["rm", "issue-1", "--force"],
                ("trashed", "purged") => &["trash", "purge", "issue-1"],
                ("trashed" | "purged", _) => &["restore", "issue-1"],
                (status, _) => panic!("issue-1 is {status}"),
            };
            self.story.cli.run(step).ok();
        }
    }

    /// The status of issue 1.
    #[track_caller]
    fn status(&self) -> String {
        let (_, status) = self.statuses().into_iter().find(|(name, _)| name == "issue-1").expect("issue-1 has a row");
        status
    }

    /// Each workspace's name and status, as the store has them once the next command has looked.
    #[track_caller]
    fn statuses(&self) -> Vec<(String, String)> {
        let ran = self.story.cli.run(&["ls", "--all", "--json"]).ok();
        // Shown when the test fails.
        eprint!("{}", ran.stderr);
        let list = ran.json();
        let text = |row: &serde_json::Value, key: &str| row[key].as_str().unwrap().to_owned();
        list["workspaces"].as_array().unwrap().iter().map(|row| (text(row, "name"), text(row, "status"))).collect()
    }

    /// Asserts all that must hold after the next ordinary command, whatever came before it.
    #[track_caller]
    pub fn assert_healed(&self) {
        self.wait_for_orphans();
        self.assert_settled();
        let doctor = self.story.cli.run(&["doctor", "--json"]).ok();
        assert_eq!(doctor.json()["healthy"], true, "{}", doctor.told());
        // A lock that was too young to be judged at the first look would be a finding of the second.
        self.assert_no_stale_lock();
        self.story.cli.run(&["cleanup", "orphans"]).ok();
        let second = self.story.cli.run(&["cleanup", "orphans", "--json"]).ok();
        assert_eq!(second.json()["findings"], serde_json::json!([]), "a second look finds nothing to do");
        self.story.assert_nothing_left_over();
        let partial = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "partial");
        let home = self.story.sandbox().spinney_home();
        let places = [home.join("trash"), home.join("archives"), self.git_dir().join("spinney")];
        let left: Vec<_> = places.iter().flat_map(|place| files_below(place, 0)).filter(partial).collect();
        assert!(left.is_empty(), "half done and forgotten: {left:?}");
        // Asserts that the main checkout is as it was.
        self.story.change(|_| ());
    }

    /// Asserts that nothing is between two states once the next command has looked, and nothing lost.
    #[track_caller]
    pub fn assert_settled(&self) {
        let ends = ["active", "trashed", "purged", "lost", "warm"];
        let is_settled = || {
            let stuck: Vec<_> =
                self.statuses().into_iter().filter(|(_, status)| !ends.contains(&status.as_str())).collect();
            if !stuck.is_empty() {
                // A child that was about to become git holds its parent's locks until it is.
                println!("not settled yet: {stuck:?}");
            }
            stuck.is_empty()
        };
        wait_until(is_settled, LONG);
        self.assert_tokens();
    }

    #[track_caller]
    pub fn assert_tokens(&self) {
        let beside: Vec<_> = self.beside.iter().map(PathBuf::as_path).collect();
        self.tokens.assert_safe(&self.story.repository, &beside);
        self.inside.assert_kept();
    }

    #[track_caller]
    fn assert_no_stale_lock(&self) {
        let operations = self.story.sandbox().spinney_home().join("operations");
        assert_eq!(files_below(&operations, 0), Vec::<PathBuf>::new(), "operations");
        if !self.git_locks().is_empty() {
            // Whether a lock of git's own is stale can be told only when it is old enough.
            println!("left by a git that was killed: {:?}", self.git_locks());
            let gone = || self.story.cli.run(&["cleanup", "orphans"]).status == 0 && self.git_locks().is_empty();
            wait_until(gone, LONG);
        }
        assert!(!self.is_locked(), "the repository's lock is held");
    }

    fn git_locks(&self) -> Vec<PathBuf> {
        files(&self.git_dir())
            .into_keys()
            .filter(|path| path.extension().is_some_and(|extension| extension == "lock"))
            // Our own stay; who holds one holds a lock on the file.
            .filter(|path| path.parent() != Some(Path::new("spinney")))
            .collect()
    }

    /// Waits until nobody holds the repository's lock: an orphaned git keeps it for as long as it runs.
    fn wait_for_orphans(&self) {
        wait_until(|| !self.is_locked(), LONG);
    }

    /// Whether somebody holds the repository's lock.
    pub fn is_locked(&self) -> bool {
        File::open(self.git_dir().join("spinney/lock")).is_ok_and(|lock| lock.try_lock_shared().is_err())
    }

    fn git_dir(&self) -> PathBuf {
        self.story.repository.path().join(".git")
    }

    fn next_issue(&self) -> u32 {
        self.issue.set(self.issue.get() + 1);
        self.issue.get()
    }
}

/// Asserts that nothing of an erased workspace lies anywhere.
#[track_caller]
pub fn assert_nothing_of(story: &Story, id: &str) {
    let (home, git_dir) = (story.sandbox().spinney_home(), story.repository.path().join(".git"));
    let places = [home.join("trash"), home.join("archives"), git_dir.join("spinney")];
    let found: Vec<_> = places.iter().flat_map(|place| files_below(place, 0)).collect();
    let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
    let left: Vec<_> =
        found.iter().filter(|path| name(path).contains(id) || name(path).starts_with("erase-")).collect();
    assert!(left.is_empty(), "it is not erased: {left:?}");
    let refs = story.repository.git(&["for-each-ref", "--format=%(refname)", "refs/spinney"]);
    assert!(!refs.contains(id), "{refs}");
}

fn state(story: &Story, tree: &Path) -> State {
    let git = |arguments: &[&str]| story.sandbox().git(tree, arguments);
    let admin_dir = PathBuf::from(git(&["rev-parse", "--absolute-git-dir"]));
    State {
        files: files(tree),
        rebase: files(&admin_dir.join("rebase-merge")),
        head: git(&["rev-parse", "HEAD"]),
        branch: story.sandbox().try_git(tree, &["symbolic-ref", "HEAD"]).stdout,
        index: git(&["ls-files", "--stage"]),
        status: git(&["--no-optional-locks", "status", "--porcelain=v2", "--untracked-files=all", "--ignored"]),
    }
}

/// Everything below a directory: files with their content, directories with none.
fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![directory.to_owned()];
    while let Some(place) = open.pop() {
        for entry in fs::read_dir(place).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path.clone());
            }
            found.insert(path.strip_prefix(directory).unwrap().to_owned(), fs::read(&path).unwrap_or_default());
        }
    }
    found
}
