//! A repository is recognised wherever it stands, a copy of it is another one, and a home may be moved.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::common::Story;
use serde_json::Value;
use spinney_testkit::{Cli, Plant, Sandbox, Tokens};

fn copy(from: &Path, to: &Path) {
    #[expect(clippy::disallowed_methods, reason = "a copy as a person makes it")]
    let mut cp = Command::new("cp");
    assert!(cp.arg("-a").arg(from).arg(to).status().unwrap().success());
}

fn status(sandbox: &Sandbox, tree: &Path) -> String {
    sandbox.git(tree, &["status", "--porcelain=v2", "--branch", "--untracked-files=all", "--ignored"])
}

#[track_caller]
fn names(cli: &Cli) -> Vec<String> {
    let listed = cli.run(&["repo", "ls", "--json"]).ok().json();
    let names = listed["repositories"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap().to_owned());
    names.collect()
}

#[track_caller]
fn show(cli: &Cli, name: &str) -> Value {
    cli.run(&["show", name, "--json"]).ok().json()
}

/// A repository with a submodule, a workspace full of work, one in the trash, one in an archive and one in the pool.
struct Place {
    story: Story,
    tree: PathBuf,
    tokens: Tokens,
    status: String,
}

impl Place {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let (library, repository) = (sandbox.repository("library"), sandbox.repository("app").with_remote());
        repository.git(&[
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "add",
            "--quiet",
            library.path().to_str().unwrap(),
            "lib",
        ]);
        repository.git(&["commit", "--quiet", "--message", "library"]);
        repository.git(&["push", "--quiet", "origin", "main"]);
        let mut story = Story::of(repository);
        story.cli = story
            .cli
            .with_variable("GIT_CONFIG_COUNT", "1")
            .with_variable("GIT_CONFIG_KEY_0", "protocol.file.allow")
            .with_variable("GIT_CONFIG_VALUE_0", "always");
        let tree = story.make(&["--issue", "1"]).path();
        let tokens = Tokens::plant(story.sandbox(), &tree, Plant::PLAIN);
        for issue in ["2", "3"] {
            let tree = story.make(&["--issue", issue]).path();
            fs::write(tree.join("kept.txt"), issue).unwrap();
            story.cli.run(&["rm", &format!("issue-{issue}"), "--force"]).ok();
        }
        story.cli.run(&["trash", "purge", "issue-3"]).ok();
        let status = status(story.sandbox(), &tree);
        Self { story, tree, tokens, status }
    }

    /// Everything that was there is found again and can be used, in `tree` and by commands in `checkout`.
    #[track_caller]
    fn assert_found(&self, cli: &Cli, checkout: &Path, tree: &Path) {
        let cli = cli.in_directory(checkout);
        let sandbox = self.story.sandbox();
        let row = show(&cli, "issue-1");
        assert_eq!((row["status"].as_str(), row["path"].as_str()), (Some("active"), tree.to_str()), "{row:#}");
        assert_eq!(status(sandbox, tree), self.status);
        sandbox.git(tree.join("lib"), &["rev-parse", "HEAD"]);
        assert_eq!(sandbox.git(checkout, &["worktree", "list", "--porcelain"]).matches("prunable").count(), 0);
        for issue in ["2", "3"] {
            cli.run(&["restore", &format!("issue-{issue}")]).ok();
            let path = PathBuf::from(show(&cli, &format!("issue-{issue}"))["path"].as_str().unwrap());
            assert_eq!(fs::read_to_string(path.join("kept.txt")).unwrap(), issue);
        }
        cli.run(&["rm", "issue-1", "--force"]).ok();
        cli.run(&["restore", "issue-1"]).ok();
        assert_eq!(status(sandbox, tree), self.status);
        cli.run(&["new", "--issue", "9"]).ok();
        assert_eq!(cli.run(&["new", "--issue", "1", "--json"]).ok().json()["path"].as_str(), tree.to_str());
        assert_eq!(names(&cli), ["local/app"]);
        let doctor = cli.run(&["doctor"]);
        assert!(!doctor.told().contains("issue-"), "{}", doctor.told());
    }
}

#[test]
fn a_checkout_that_was_moved_is_recognised() {
    let place = Place::new();
    let old = place.story.repository.path();
    let new = place.story.sandbox().path().join("deeper").join("elsewhere");
    fs::create_dir_all(new.parent().unwrap()).unwrap();
    fs::rename(old, &new).unwrap();
    // From elsewhere it is told what to do.
    let elsewhere = place.story.cli.in_directory(place.story.sandbox().path());
    for line in [&["--repo", "local/app", "new", "--issue", "1"][..], &["restore", "issue-2"], &["why", "issue-1"]] {
        let ran = elsewhere.run(line);
        assert!(ran.status != 0 && ran.stderr.contains("by its id"), "{line:?}: {}", ran.stderr);
    }
    assert!(elsewhere.run(&["doctor"]).told().contains("by its id"));
    place.assert_found(&place.story.cli, &new, &place.tree);
    fs::rename(&new, old).unwrap();
    place.story.cli.run(&["ls"]).ok();
    place.tokens.assert_safe(&place.story.repository, &[]);
}

#[test]
fn workspaces_inside_of_the_checkout_move_with_it() {
    let story = Story::new();
    story.change(|repository| {
        repository.write(".gitignore", "/target/\n/.trees/\n");
    });
    let cli = story.cli.with_variable("SPINNEY_WORKSPACE__PATH", "{root}/.trees/{id}");
    cli.run(&["new", "--issue", "1"]).ok();
    let old = story.repository.path();
    let tree = PathBuf::from(show(&cli, "issue-1")["path"].as_str().unwrap());
    assert!(tree.starts_with(old));
    fs::write(tree.join("kept.txt"), "kept").unwrap();
    let new = story.sandbox().path().join("elsewhere");
    fs::rename(old, &new).unwrap();
    let there = cli.in_directory(&new);
    let tree = new.join(tree.strip_prefix(old).unwrap());
    assert_eq!(show(&there, "issue-1")["path"].as_str(), tree.to_str());
    assert!(status(story.sandbox(), &tree).contains("kept.txt"));
    there.run(&["rm", "issue-1", "--force"]).ok();
    there.run(&["restore", "issue-1"]).ok();
    assert_eq!(fs::read_to_string(tree.join("kept.txt")).unwrap(), "kept");
    fs::rename(&new, old).unwrap();
    cli.run(&["rm", "issue-1", "--force"]).ok();
    fs::rename(old.join(".trees"), story.sandbox().path().join("aside")).unwrap();
}

#[test]
fn a_copy_is_another_repository() {
    let place = Place::new();
    let (story, sandbox) = (&place.story, place.story.sandbox());
    let copied = sandbox.path().join("copied");
    copy(story.repository.path(), &copied);
    let there = story.cli.in_directory(&copied);
    there.run(&["new", "--issue", "1"]).ok();
    let tree = PathBuf::from(show(&there, "issue-1")["path"].as_str().unwrap());
    assert_ne!(tree, place.tree, "the copy has work of its own");
    assert_eq!(names(&there), ["local/app", "local/copied"]);
    there.run(&["rm", "issue-1", "--force"]).ok();
    // Nothing of the first changed.
    place.assert_found_beside(story.repository.path());
}

impl Place {
    #[track_caller]
    fn assert_found_beside(&self, checkout: &Path) {
        self.assert_found_at(&self.story.cli, checkout, &self.tree);
    }

    #[track_caller]
    fn assert_found_at(&self, cli: &Cli, checkout: &Path, tree: &Path) {
        let cli = cli.in_directory(checkout);
        let row = show(&cli, "issue-1");
        assert_eq!((row["status"].as_str(), row["path"].as_str()), (Some("active"), tree.to_str()), "{row:#}");
        assert_eq!(status(self.story.sandbox(), tree), self.status);
        cli.run(&["restore", "issue-2"]).ok();
    }
}

#[test]
fn what_stands_in_the_place_of_a_moved_one_is_another() {
    let place = Place::new();
    let (story, sandbox) = (&place.story, place.story.sandbox());
    let (old, new) = (story.repository.path(), sandbox.path().join("elsewhere"));
    fs::rename(old, &new).unwrap();
    sandbox.git(sandbox.path(), &["clone", "--quiet", story.remote().path().to_str().unwrap(), old.to_str().unwrap()]);
    let there = story.cli.in_directory(old);
    there.run(&["ls"]).ok();
    assert_eq!(names(&there), ["local/app", "local/app-2"]);
    let by_name = story.cli.run(&["--repo", "local/app", "new", "--issue", "8"]);
    assert_eq!(by_name.status, 4, "{}", by_name.stderr);
    assert!(by_name.stderr.contains("by its id"), "{}", by_name.stderr);
    // Where it stands now it is found.
    let row = show(&story.cli.in_directory(&new), "issue-1");
    assert_eq!(row["path"].as_str(), place.tree.to_str());
    assert_eq!(status(sandbox, &place.tree), place.status);
    assert_eq!(names(&there), ["local/app", "local/app-2"]);
    fs::rename(old, sandbox.path().join("another")).unwrap();
    fs::rename(&new, old).unwrap();
    story.cli.run(&["ls"]).ok();
}

#[test]
fn a_clone_that_was_deleted_and_made_again_is_the_same_repository() {
    let story = Story::new();
    story.cli.run(&["new", "--issue", "1"]).ok();
    story.cli.run(&["rm", "issue-1"]).ok();
    story.cli.run(&["trash", "purge", "issue-1"]).ok();
    let path = story.repository.path();
    let deleted = story.sandbox().path().join("deleted");
    fs::rename(path, &deleted).unwrap();
    let remote = story.remote().path().to_str().unwrap().to_owned();
    story.sandbox().git(story.sandbox().path(), &["clone", "--quiet", &remote, path.to_str().unwrap()]);
    story.cli.run(&["new", "--issue", "2"]).ok();
    assert_eq!(names(&story.cli), ["local/app"]);
    story.cli.run(&["rm", "issue-2"]).ok();
    fs::rename(path, story.sandbox().path().join("again")).unwrap();
    fs::rename(&deleted, path).unwrap();
}

#[test]
fn an_id_that_was_deleted_is_made_again() {
    let place = Place::new();
    let id = place.story.repository.path().join(".git/spinney/id");
    let before = fs::read_to_string(&id).unwrap();
    fs::remove_file(&id).unwrap();
    assert_eq!(names(&place.story.cli), ["local/app"]);
    place.story.cli.run(&["ls"]).ok();
    assert_eq!(names(&place.story.cli), ["local/app"]);
    assert_ne!(fs::read_to_string(&id).unwrap(), before);
    place.assert_found_beside(place.story.repository.path());
}

#[test]
fn a_home_that_was_moved_is_followed() {
    let place = Place::new();
    let (story, sandbox) = (&place.story, place.story.sandbox());
    story
        .cli
        .run(&["repo", "add", &format!("file://{}", story.remote().path().display()), "--name", "acme/clone"])
        .ok();
    story.cli.run(&["--repo", "acme/clone", "new", "--issue", "5"]).ok();
    let old = sandbox.spinney_home();
    let new = sandbox.path().join("moved").join("home");
    fs::create_dir_all(new.parent().unwrap()).unwrap();
    fs::rename(&old, &new).unwrap();
    let cli = story.cli.with_variable("SPINNEY_HOME", &new);
    let tree = new.join(place.tree.strip_prefix(&old).unwrap());
    let there = |arguments: &[&str]| cli.run(&[&["--repo", "acme/clone"], arguments].concat());
    let row = there(&["show", "issue-5", "--json"]).ok().json();
    let managed = PathBuf::from(row["path"].as_str().unwrap());
    assert!(managed.starts_with(&new) && row["status"] == "active", "{row:#}");
    assert!(status(sandbox, &managed).contains("issue-5"));
    there(&["rm", "issue-5"]).ok();
    there(&["repo", "rm", "acme/clone"]);
    there(&["trash", "purge", "issue-5"]).ok();
    cli.run(&["repo", "rm", "acme/clone"]).ok();
    place.assert_found(&cli, story.repository.path(), &tree);
    // A link for people leads to where it is.
    let link = new.join("links/local/local/app/issue-1");
    assert_eq!(fs::read_link(link).unwrap(), tree);
    fs::rename(&new, &old).unwrap();
    story.cli.run(&["ls"]).ok();
}

/// Moves checkout and home before anything is run; both are found again there.
fn both_moved(place: &Place, checkout: &Path, home: &Path, half_done: impl Fn(&Path)) {
    let (story, sandbox) = (&place.story, place.story.sandbox());
    let (old, old_home) = (story.repository.path(), sandbox.spinney_home());
    for (from, to) in [(old, checkout), (&*old_home, home)] {
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::rename(from, to).unwrap();
    }
    let tree = home.join(place.tree.strip_prefix(&old_home).unwrap());
    half_done(&tree);
    let cli = story.cli.with_variable("SPINNEY_HOME", home);
    place.assert_found(&cli, checkout, &tree);
    fs::rename(checkout, old).unwrap();
    fs::rename(home, &old_home).unwrap();
    story.cli.run(&["ls"]).ok();
    assert_eq!(status(sandbox, &place.tree), place.status);
    place.tokens.assert_safe(&story.repository, &[]);
}

#[test]
fn a_home_and_a_checkout_that_were_moved_at_once_are_followed() {
    let place = Place::new();
    let root = place.story.sandbox().path().to_owned();
    both_moved(&place, &root.join("deeper/still/elsewhere"), &root.join("moved/home"), |_| ());
}

#[test]
fn a_death_while_both_are_followed_is_made_good() {
    let place = Place::new();
    let root = place.story.sandbox().path().to_owned();
    let (checkout, home) = (root.join("new/repositories/app"), root.join("new/spinney"));
    both_moved(&place, &checkout, &home, |tree| {
        let admin_dir = checkout.join(".git/worktrees").join(tree.file_name().unwrap());
        assert!(admin_dir.is_dir(), "{}", admin_dir.display());
        fs::write(tree.join(".git"), format!("gitdir: {}\n", admin_dir.display())).unwrap();
    });
}

#[test]
fn relative_pointers_of_what_was_moved_at_once_stay_right() {
    let place = Place::new();
    let root = place.story.sandbox().path().to_owned();
    let admin_dir = PathBuf::from(place.story.sandbox().git(&place.tree, &["rev-parse", "--absolute-git-dir"]));
    let to = |from: &Path, place: &Path| {
        let up = "../".repeat(from.components().count() - root.components().count());
        format!("{up}{}", place.strip_prefix(&root).unwrap().display())
    };
    fs::write(place.tree.join(".git"), format!("gitdir: {}\n", to(&place.tree, &admin_dir))).unwrap();
    fs::write(admin_dir.join("gitdir"), format!("{}\n", to(&admin_dir, &place.tree.join(".git")))).unwrap();
    assert_eq!(status(place.story.sandbox(), &place.tree), place.status);
    both_moved(&place, &root.join("new/repositories/app"), &root.join("new/spinney"), |tree| {
        assert_eq!(status(place.story.sandbox(), tree), place.status, "git alone finds it");
    });
}

#[test]
fn a_copy_is_another_repository_although_the_home_was_moved() {
    let place = Place::new();
    let (story, sandbox) = (&place.story, place.story.sandbox());
    let (old, new) = (sandbox.spinney_home(), sandbox.path().join("moved"));
    let copied = sandbox.path().join("copied");
    copy(story.repository.path(), &copied);
    fs::rename(&old, &new).unwrap();
    let cli = story.cli.with_variable("SPINNEY_HOME", &new);
    let there = cli.in_directory(&copied);
    there.run(&["new", "--issue", "1"]).ok();
    let tree = new.join(place.tree.strip_prefix(&old).unwrap());
    assert_ne!(show(&there, "issue-1")["path"].as_str(), tree.to_str());
    assert_eq!(names(&there), ["local/app", "local/copied"]);
    place.assert_found_at(&cli, story.repository.path(), &tree);
    fs::rename(&new, &old).unwrap();
    story.cli.run(&["ls"]).ok();
}

#[test]
fn a_copy_of_a_home_is_refused_while_the_first_is_there() {
    let story = Story::new();
    story.cli.run(&["new", "--issue", "1"]).ok();
    let (old, new) = (story.sandbox().spinney_home(), story.sandbox().path().join("copied"));
    copy(&old, &new);
    let refused = story.cli.with_variable("SPINNEY_HOME", &new).run(&["ls"]).exits(2);
    assert!(refused.stderr.contains(old.to_str().unwrap()), "{}", refused.stderr);
    // The same home under another path is no copy.
    let link = story.sandbox().path().join("link");
    std::os::unix::fs::symlink(&old, &link).unwrap();
    story.cli.with_variable("SPINNEY_HOME", &link).run(&["ls"]).ok();
    story.cli.run(&["rm", "issue-1"]).ok();
}
