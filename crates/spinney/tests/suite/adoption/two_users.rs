//! Two users on one machine: what one of them may not look at is told as such, with its owner. It is never gone, lost or
//! nobody's, and nobody is told to unlock, prune or repair it.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

use crate::support::common::{BINARY, Refusal, Story, make};
use spinney_testkit::{Cli, Ran};

/// A user who owns nothing on any machine.
const NOBODY: u32 = 65534;

/// What must never be advised about what one can't see.
const DESTRUCTIVE: [&str; 8] =
    ["prune", "unlock", "worktree repair", "is gone", "marked lost", "marked broken", "adopt --all", "--from-home"];

struct Users {
    /// That of the first user, who owns the repository.
    story: Story,
    second: Second,
}

/// The program as another user runs it, with a home of their own.
struct Second(Cli);

impl Users {
    /// None where this user can't become another one.
    fn new() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            println!("SKIPPED: only root can become another user");
            return None;
        }
        let story = Story::new();
        let sandbox = story.sandbox().clone();
        let home = sandbox.path().join("second");
        fs::create_dir_all(home.join(".config")).unwrap();
        let config = fs::read_to_string(sandbox.home().join(".gitconfig")).unwrap();
        fs::write(home.join(".gitconfig"), format!("{config}[safe]\n\tdirectory = *\n")).unwrap();
        for place in [&home, &home.join(".config"), &home.join(".gitconfig")] {
            chown(place, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        fs::set_permissions(sandbox.path(), Permissions::from_mode(0o755)).unwrap();
        // What lies on the way to the program may be for its builder only.
        let program = sandbox.path().join("program");
        fs::hard_link(BINARY, &program).or_else(|_| fs::copy(BINARY, &program).map(drop)).unwrap();
        let second = sandbox
            .cli("setpriv")
            .in_directory(story.repository.path())
            .with_variable("HOME", &home)
            .with_variable("XDG_CONFIG_HOME", home.join(".config"))
            .with_variable("GIT_CONFIG_GLOBAL", home.join(".gitconfig"))
            .with_variable("SPINNEY_HOME", home.join("spinney"));
        Some(Self { story, second: Second(second) })
    }

    /// Lets everybody write to the repository and its remote, as a group of people does that shares them.
    fn share(&self) {
        self.story.change(|repository| {
            for place in [repository.path(), repository.remote().path()] {
                repository.sandbox().cli("/bin/chmod").run(&["-R", "a+rwX", place.to_str().unwrap()]).ok();
            }
        });
    }
}

impl Second {
    fn run(&self, arguments: &[&str]) -> Ran {
        let become_nobody = ["--reuid=65534", "--regid=65534", "--clear-groups"];
        self.0.run(&[&become_nobody[..], &["../../program"], arguments].concat())
    }

    #[track_caller]
    fn refused(&self, status: i32, arguments: &[&str]) -> Refusal {
        Refusal(self.run(&[arguments, &["--json"]].concat()).exits(status))
    }
}

/// Asserts that somebody is told whose it is, and nothing that could do harm.
#[track_caller]
fn is_harmless(ran: &Ran) {
    let told = format!("{}{}", ran.stdout, ran.stderr);
    assert!(told.contains("permission denied") && told.contains("`root`"), "{}", ran.told());
    for word in DESTRUCTIVE {
        assert!(!told.contains(word), "`{word}`: {}", ran.told());
    }
}

#[test]
fn what_another_user_has_is_neither_gone_nor_nobodys() {
    let Some(users) = Users::new() else { return };
    let workspace = users.story.make(&["--issue", "42"]);
    users.share();
    let second = &users.second;
    for arguments in [&["new", "--issue", "42"][..], &["new", "--branch", "issue-42"]] {
        let refusal = second.refused(5, arguments);
        refusal.says(&["`issue-42`", "where you may not look"]).hints(&["ask its owner"]);
        is_harmless(&refusal.0);
    }
    is_harmless(&second.run(&["doctor"]));
    is_harmless(&second.run(&["cleanup", "orphans"]));
    let adopted = second.run(&["adopt", "--all"]);
    assert!(!adopted.stdout.contains(workspace.text("id")), "{}", adopted.told());
    is_harmless(&second.run(&["adopt", workspace.text("path")]).exits(1));
    // The first works with it as before.
    assert_eq!(users.story.make(&["--issue", "42"]).text("method"), "reused");
}

#[test]
fn a_repository_that_one_may_only_read_leaves_nothing_behind() {
    let Some(users) = Users::new() else { return };
    let second = &users.second;
    let refusal = second.refused(1, &["new", "--issue", "5"]);
    refusal.says(&["/repositories/app/.git", "can't be written"]);
    assert_eq!(second.run(&["ls", "--all", "--json"]).ok().json()["workspaces"].as_array().unwrap().len(), 0);
}

#[test]
fn what_became_hidden_stays_what_it_was() {
    let Some(users) = Users::new() else { return };
    users.share();
    let second = &users.second;
    let made = second.run(&["new", "--issue", "7", "--json"]).ok().json();
    let (id, tree) = (made["id"].as_str().unwrap(), Path::new(made["path"].as_str().unwrap()));
    // As what a container of root's leaves behind.
    chown(tree, Some(0), Some(0)).unwrap();
    fs::set_permissions(tree, Permissions::from_mode(0o700)).unwrap();
    for arguments in [&["doctor"][..], &["cleanup", "orphans"], &["show", id], &["why", id]] {
        is_harmless(&second.run(arguments));
    }
    for arguments in [&["new", "--issue", "7"][..], &["rm", id, "--force"]] {
        is_harmless(&second.refused(1, arguments).0);
    }
    let status = |second: &Second| second.run(&["show", id, "--json"]).ok().json()["status"].clone();
    assert_eq!(status(second), "active");
    // Its root, or the home above it, is no other case.
    let root = tree.parent().unwrap();
    chown(root, Some(0), Some(0)).unwrap();
    fs::set_permissions(root, Permissions::from_mode(0o700)).unwrap();
    is_harmless(&second.run(&["doctor"]));
    is_harmless(&second.run(&["cleanup", "orphans"]));
    assert_eq!(status(second), "active");
    for place in [root, tree] {
        chown(place, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    second.run(&["rm", id]).ok();
}

#[test]
fn a_home_that_may_not_be_looked_at_is_not_taken_over() {
    let Some(users) = Users::new() else { return };
    // The trees lie where everybody can read them; the home does not.
    let trees = users.story.sandbox().path().join("trees");
    let first = users.story.cli.with_variable("SPINNEY_WORKSPACE__PATH", format!("{}/{{id}}", trees.display()));
    let workspace = make(&first, &["--issue", "42"]);
    users.share();
    users.story.sandbox().cli("/bin/chmod").run(&["-R", "a+rwX", trees.to_str().unwrap()]).ok();
    let node = fs::read_to_string(users.story.sandbox().spinney_home().join("node")).unwrap();
    let refusal = users.second.refused(5, &["adopt", "--from-home", node.trim()]);
    refusal.says(&[users.story.sandbox().spinney_home().to_str().unwrap()]);
    assert_eq!(make(&first, &["--issue", "42"]).text("id"), workspace.text("id"));
}
