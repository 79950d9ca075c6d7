//! `why`, `rm` and `restore` in the plain cases: what holds a workspace back, what goes with it, what comes back.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::support::common::{Story, Workspace, refused};
use serde_json::Value;
use spinney_store::{Store, StoreUrl};
use spinney_testkit::Sandbox;

/// The codes of the reasons that block a person.
#[track_caller]
fn blockers(story: &Story, name: &str) -> Vec<String> {
    let why = story.cli.run(&["why", name, "--json"]).ok().json();
    let blocking = why["reasons"].as_array().unwrap().iter().filter(|reason| reason["blocks"] == true);
    let codes: Vec<_> = blocking.map(|reason| reason["code"].as_str().unwrap().to_owned()).collect();
    assert_eq!(why["removable"], codes.is_empty(), "{why}");
    codes
}

/// Asserts what holds a workspace back, by `why` and by `rm`, with how much of it.
#[track_caller]
fn held_back(story: &Story, name: &str, reasons: &[(&str, &str)]) {
    let codes: Vec<_> = reasons.iter().map(|(code, _)| *code).collect();
    assert_eq!(blockers(story, name), codes);
    let error = refused(&story.cli, 3, &["rm", name]).0.error_json();
    let told: Vec<_> = error["error"]["reasons"].as_array().unwrap().iter().map(told_reason).collect();
    let expected: Vec<_> = reasons.iter().map(|(code, detail)| ((*code).to_owned(), (*detail).to_owned())).collect();
    assert_eq!(told, expected);
    assert_eq!(story.show(name).text("status"), "active");
}

fn told_reason(reason: &Value) -> (String, String) {
    let text = |key: &str| reason[key].as_str().unwrap().to_owned();
    (text("code"), text("detail"))
}

fn write(workspace: &Workspace, path: &str, content: &str) {
    let path = workspace.path().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

#[track_caller]
fn git(story: &Story, workspace: &Workspace, arguments: &[&str]) -> String {
    story.sandbox().git(workspace.path(), arguments)
}

#[track_caller]
fn commit(story: &Story, workspace: &Workspace, file: &str) -> String {
    write(workspace, file, file);
    git(story, workspace, &["add", file]);
    git(story, workspace, &["commit", "--quiet", "--message", file]);
    git(story, workspace, &["rev-parse", "HEAD"])
}

/// Paths with their mode, and content or a link's target.
type Files = BTreeMap<PathBuf, (u32, Vec<u8>)>;

/// Everything in a directory: mode, and content or a link's target.
fn files(directory: &Path) -> Files {
    let mut found = BTreeMap::new();
    let mut open = vec![directory.to_owned()];
    while let Some(place) = open.pop() {
        for entry in fs::read_dir(place).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs::symlink_metadata(&path).unwrap();
            let content = if metadata.is_symlink() {
                fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
            } else if metadata.is_dir() {
                open.push(path.clone());
                Vec::new()
            } else {
                fs::read(&path).unwrap()
            };
            found.insert(path.strip_prefix(directory).unwrap().to_owned(), (metadata.permissions().mode(), content));
        }
    }
    found
}

/// What must be the same after `rm` and `restore`: the files, the index byte by byte, HEAD, and what git makes of it.
fn state(story: &Story, workspace: &Workspace) -> (Files, Vec<u8>, String, String) {
    let index = git(story, workspace, &["rev-parse", "--absolute-git-dir"]) + "/index";
    // Read before git is asked for a status, which may refresh it.
    let index = fs::read(index).unwrap();
    let head = git(story, workspace, &["symbolic-ref", "HEAD"]) + &git(story, workspace, &["rev-parse", "HEAD"]);
    let status = ["--no-optional-locks", "status", "--porcelain=v2", "--untracked-files=all", "--ignored"];
    (files(&workspace.path()), index, head, git(story, workspace, &status))
}

#[test]
fn untouched_work_may_go_and_come_back() {
    let story = Story::new();
    let workspace = story.make(&["--issue", "42"]);
    let before = state(&story, &workspace);
    assert_eq!(blockers(&story, "issue-42"), Vec::<String>::new());
    story.cli.run(&["rm", "issue-42"]).ok();
    assert!(!workspace.path().exists() && story.worktrees().is_empty());
    assert_eq!(story.branches(), ["main"], "a branch without a commit of its own goes too");
    assert_eq!(fs::read_link(workspace.text("link")).ok(), None);
    let restored = story.cli.run(&["restore", "issue-42"]).ok();
    assert_eq!(restored.stdout.trim_end(), workspace.text("link"));
    assert_eq!(state(&story, &workspace), before);
    assert_eq!(story.branches(), ["issue-42", "main"]);
    assert_eq!(story.make(&["--issue", "42"]).identity(), ("issue-42", "issue-42", "reused"));
}

#[test]
fn changes_hold_it_back_each_by_its_name() {
    let story = Story::new();
    // What a person does not want to see is no less theirs.
    story.change(|repository| repository.git(&["config", "status.showUntrackedFiles", "no"]));
    let workspace = story.make(&["--issue", "42"]);
    write(&workspace, "README.md", "edited");
    held_back(&story, "issue-42", &[("dirty", "1 file")]);
    git(&story, &workspace, &["add", "README.md"]);
    held_back(&story, "issue-42", &[("dirty", "1 file")]);
    git(&story, &workspace, &["reset", "--quiet", "--hard"]);
    git(&story, &workspace, &["rm", "--quiet", "--cached", "run.sh"]);
    held_back(&story, "issue-42", &[("dirty", "1 file"), ("untracked", "1 file")]);
    git(&story, &workspace, &["reset", "--quiet", "--hard"]);
    write(&workspace, "notes/one.md", "");
    write(&workspace, "notes/two.md", "");
    held_back(&story, "issue-42", &[("untracked", "2 files")]);
    story.sandbox().cli("/bin/rm").run(&["-r", workspace.path().join("notes").to_str().unwrap()]).ok();
    // Hidden from git's own status, and still somebody's edit.
    git(&story, &workspace, &["update-index", "--assume-unchanged", "README.md"]);
    write(&workspace, "README.md", "hidden");
    held_back(&story, "issue-42", &[("dirty", "1 file")]);
    git(&story, &workspace, &["update-index", "--no-assume-unchanged", "README.md"]);
    git(&story, &workspace, &["checkout", "--quiet", "--", "README.md"]);
    assert_eq!(blockers(&story, "issue-42"), Vec::<String>::new());
    let commit = commit(&story, &workspace, "new.txt");
    held_back(&story, "issue-42", &[("unpushed", "1 commit")]);
    let error = refused(&story.cli, 3, &["rm", "issue-42"]);
    assert_eq!(error.0.error_json()["error"]["reasons"][0]["items"][0], format!("{} new.txt", &commit[..7]));
    git(&story, &workspace, &["push", "--quiet", "origin", "HEAD"]);
    assert_eq!(blockers(&story, "issue-42"), Vec::<String>::new(), "pushed, so a person may let it go");
    let why = story.cli.run(&["why", "issue-42", "--json"]).ok().json();
    assert_eq!(told_reason(&why["reasons"][0]).0, "unmerged");
    story.cli.run(&["rm", "issue-42"]).ok();
    assert_eq!(story.branches(), ["issue-42", "main"], "an unmerged branch stays");
}

#[test]
fn all_reasons_are_told_at_once() {
    let story = Story::new();
    let workspace = story.make(&["--issue", "42"]);
    commit(&story, &workspace, "a.txt");
    commit(&story, &workspace, "b.txt");
    write(&workspace, "README.md", "edited");
    write(&workspace, "new.txt", "");
    write(&workspace, ".env", "SECRET");
    git(&story, &workspace, &["stash", "push", "--quiet", "--", "README.md"]);
    write(&workspace, "README.md", "again");
    let expected = [
        ("dirty", "1 file"),
        ("untracked", "1 file"),
        ("precious_ignored", "1 file"),
        ("stash", "1 entry"),
        ("unpushed", "2 commits"),
    ];
    held_back(&story, "issue-42", &expected);
    let codes = expected.map(|(code, _)| code).join(",");
    refused(&story.cli, 3, &["rm", "issue-42"]).hints(&[&format!("--allow {codes}")]);
}

#[test]
fn ignored_files_are_precious_unless_caches_or_copies() {
    let story = Story::new();
    story.change(|repository| {
        repository.write(".env", "SECRET=1\n");
        repository.write("spinney.toml", "[workspace]\ncopy = [\".env\"]\n");
    });
    let workspace = story.make(&["--issue", "42"]);
    assert_eq!(fs::read_to_string(workspace.path().join(".env")).unwrap(), "SECRET=1\n");
    write(&workspace, "target/debug/app", "built");
    write(&workspace, "web/node_modules/x/index.js", "installed");
    write(&workspace, "STATE.json", "{}");
    assert_eq!(blockers(&story, "issue-42"), Vec::<String>::new());
    let shown = story.show("issue-42").0;
    assert_eq!(shown["untracked"], 0, "`STATE.json` is not counted anywhere");
    write(&workspace, ".env", "SECRET=2\n");
    held_back(&story, "issue-42", &[("precious_ignored", "1 file")]);
    write(&workspace, ".env", "SECRET=1\n");
    write(&workspace, "data.local", "rows");
    held_back(&story, "issue-42", &[("precious_ignored", "1 file")]);
    // Only at the root is it what Spinney knows.
    fs::remove_file(workspace.path().join("data.local")).unwrap();
    write(&workspace, "src/STATE.json", "{}");
    held_back(&story, "issue-42", &[("untracked", "1 file")]);
}

#[test]
fn a_copy_is_compared_with_what_was_copied() {
    let story = Story::new();
    story.sandbox().write_config("[workspace]\ncopy = [\".env\", \"*.local\"]\n");
    story.change(|repository| {
        repository.write(".env", "SECRET=1\n").write("a.local", "a\n");
        symlink("a.local", repository.path().join("link.local")).unwrap();
    });
    let workspace = story.make(&["--issue", "42"]);
    // The person goes on in the main checkout.
    story.change(|repository| {
        repository.write(".env", "SECRET=2\n");
        fs::remove_file(repository.path().join("a.local")).unwrap();
        fs::remove_file(repository.path().join("link.local")).unwrap();
    });
    assert_eq!(blockers(&story, "issue-42"), Vec::<String>::new());
    // What was made of a copy since is somebody's; what the main checkout has by now is not.
    write(&workspace, ".env", "SECRET=mine\n");
    held_back(&story, "issue-42", &[("precious_ignored", "1 file")]);
    write(&workspace, ".env", "SECRET=2\n");
    assert_eq!(blockers(&story, "issue-42"), Vec::<String>::new());
    fs::remove_file(workspace.path().join("link.local")).unwrap();
    symlink("elsewhere", workspace.path().join("link.local")).unwrap();
    held_back(&story, "issue-42", &[("precious_ignored", "1 file")]);
    fs::remove_file(workspace.path().join("link.local")).unwrap();
    write(&workspace, ".env", "SECRET=1\n");
    story.cli.run(&["rm", "issue-42"]).ok();
    story.cli.run(&["restore", "issue-42"]).ok();
    assert_eq!(blockers(&story, "issue-42"), Vec::<String>::new(), "it is still known after it came back");
}

#[test]
fn a_copy_of_a_workspace_of_an_earlier_version_is_compared_with_the_main_checkout() {
    let story = Story::new();
    story.sandbox().write_config("[workspace]\ncopy = [\".env\"]\n");
    story.change(|repository| repository.write(".env", "SECRET=1\n").fingerprint());
    let workspace = story.make(&["--issue", "42"]);
    forget_digests(&story, workspace.text("id"));
    assert_eq!(blockers(&story, "issue-42"), Vec::<String>::new());
    story.change(|repository| repository.write(".env", "SECRET=2\n").fingerprint());
    held_back(&story, "issue-42", &[("precious_ignored", "1 file")]);
}

/// Makes the store tell of a workspace's copies what an earlier version told.
fn forget_digests(story: &Story, id: &str) {
    let url = StoreUrl::Sqlite(story.sandbox().spinney_home().join("spinney.db"));
    let id = id.parse().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = Store::open(&url).await.unwrap();
        let mut db = store.write().await.unwrap();
        let mut brought = db.brought(&id).await.unwrap().unwrap();
        assert!(!brought.digests.is_empty());
        brought.digests.clear();
        db.put_brought(&id, &brought).await.unwrap();
        db.commit().await.unwrap();
        store.close().await.unwrap();
    });
}

#[test]
fn a_squash_merge_is_seen_and_the_branch_comes_back_with_the_workspace() {
    let story = Story::new();
    let workspace = story.make(&["--issue", "42"]);
    commit(&story, &workspace, "a.txt");
    let tip = commit(&story, &workspace, "b.txt");
    git(&story, &workspace, &["push", "--quiet", "origin", "HEAD"]);
    story.remote().squash_merge("issue-42");
    story.remote().git(&["update-ref", "-d", "refs/heads/issue-42"]);
    let before = story.cli.run(&["why", "issue-42", "--json"]).ok().json();
    assert_eq!(before["evidence"], Value::Array(vec![]), "a removal never fetches");
    story.cli.run(&["repo", "sync"]).ok();
    let after = story.cli.run(&["why", "issue-42", "--json"]).ok().json();
    assert_eq!((&after["removable"], after["evidence"].as_array().unwrap().len()), (&true.into(), 1), "{after}");
    let listed = story.cli.run(&["ls", "-l", "--json"]).ok().json();
    assert_eq!(listed["workspaces"][0]["state"], "merged");
    let files = state(&story, &workspace);
    let removed = story.cli.run(&["rm", "issue-42"]).ok();
    assert!(removed.stderr.contains("was deleted too"), "{}", removed.told());
    assert_eq!(story.branches(), ["main"]);
    story.repository.git(&["reflog", "expire", "--expire=now", "--all"]);
    story.repository.git(&["gc", "--quiet", "--prune=now"]);
    story.cli.run(&["restore", "issue-42"]).ok();
    assert_eq!(story.repository.git(&["rev-parse", "issue-42"]), tip);
    assert_eq!(state(&story, &workspace), files);
}

#[test]
fn consent_is_typed_and_partial_consent_is_not_enough() {
    let story = Story::new();
    let workspace = story.make(&["--issue", "42"]);
    write(&workspace, "README.md", "edited");
    write(&workspace, "new.txt", "");
    for (allowed, left) in [("dirty", "untracked"), ("untracked,unpushed", "dirty"), ("stash", "dirty")] {
        let refusal = refused(&story.cli, 3, &["rm", "issue-42", "--allow", allowed]);
        assert_eq!(told_reason(&refusal.0.error_json()["error"]["reasons"][0]).0, left);
        assert!(!refusal.message().contains(allowed), "{}", refusal.message());
        // What to type next includes what was allowed by now.
        refusal.hints(&[allowed.split(',').next().unwrap(), left]);
    }
    refused(&story.cli, 2, &["rm", "issue-42", "--allow", "dirt"]).says(&["`dirt`"]).hints(&["`dirty`"]);
    refused(&story.cli, 2, &["rm", "issue-42", "--force", "--allow", "dirty"]);
    story.cli.run(&["rm", "issue-42", "--allow", "dirty,untracked"]).ok();
    assert_eq!(story.show("issue-42").text("status"), "trashed");
}

#[test]
fn a_dry_run_changes_nothing() {
    let story = Story::new();
    let workspace = story.make(&["--issue", "42"]);
    write(&workspace, "new.txt", "");
    let before = (state(&story, &workspace), story.branches(), story.repository.git(&["for-each-ref"]));
    let rows = || story.cli.run(&["ls", "--all", "--json"]).ok().stdout;
    let listed = rows();
    refused(&story.cli, 3, &["rm", "issue-42", "--dry-run"]).says(&["untracked"]);
    for consent in ["--force", "--allow=untracked"] {
        let ran = story.cli.run(&["rm", "issue-42", consent, "--dry-run"]).ok();
        assert!(ran.stderr.contains("issue-42 would be moved to the trash"), "{}", ran.told());
    }
    assert_eq!((state(&story, &workspace), story.branches(), story.repository.git(&["for-each-ref"])), before);
    assert_eq!(rows(), listed);
}

#[test]
fn a_process_inside_holds_it_whatever_is_forced() {
    let story = Story::new();
    let workspace = story.make(&["--issue", "42"]);
    let inside = story.sandbox().cli("/bin/sleep").in_directory(workspace.path()).spawn(&["100"]);
    for arguments in [&["rm", "issue-42"][..], &["rm", "issue-42", "--force"]] {
        let refusal = refused(&story.cli, 5, arguments);
        refusal.says(&["in_use (1 process)"]).hints(&["--allow in_use"]);
        let reasons = refusal.0.error_json()["error"]["reasons"].clone();
        assert_eq!(reasons[0]["overridable"], false);
        assert_eq!(reasons[0]["items"][0], format!("sleep (pid {})", inside.id()));
    }
    assert!(workspace.path().is_dir());
    story.cli.run(&["rm", "issue-42", "--allow", "in_use"]).ok();
    assert!(!workspace.path().exists());
    inside.kill();
    story.cli.run(&["restore", "issue-42"]).ok();
    story.cli.run(&["rm", "issue-42"]).ok();
}

#[test]
fn several_go_at_once_and_one_failure_stops_no_other() {
    let story = Story::new();
    let dirty = story.make(&["--issue", "1"]);
    write(&dirty, "new.txt", "");
    story.make(&["--issue", "2"]);
    story.make(&["--issue", "3"]);
    let ran = story.cli.run(&["rm", "issue-1", "issue-2", "nope", "issue-3", "--json"]).exits(4);
    let document = ran.json();
    let names = |key: &str| {
        let list = document[key].as_array().unwrap();
        list.iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names("workspaces"), ["issue-2", "issue-3"]);
    assert_eq!(names("failed"), ["issue-1", "nope"]);
    assert_eq!(document["failed"][0]["error"]["reasons"][0]["code"], "untracked");
    assert!(dirty.path().is_dir());
    let ran = story.cli.run(&["rm", "issue-1", "nope"]).exits(4);
    assert!(ran.stderr.contains("untracked") && ran.stderr.contains("`nope`"), "{}", ran.told());
    story.cli.run(&["restore", "issue-2"]).ok();
    story.cli.run(&["rm", "issue-2", "issue-2"]).exits(4);
    // Without a name it is the workspace that one stands in, and here is none.
    story.cli.run(&["rm"]).exits(4);
}

/// A workspace with every kind of change in it.
fn full_of_work(story: &Story) -> Workspace {
    let workspace = story.make(&["--issue", "42"]);
    commit(story, &workspace, "committed.txt");
    write(&workspace, "staged.txt", "staged only");
    git(story, &workspace, &["add", "staged.txt"]);
    write(&workspace, "README.md", "staged\n");
    git(story, &workspace, &["add", "README.md"]);
    write(&workspace, "README.md", "staged\nand not staged\n");
    fs::remove_file(workspace.path().join("src/lib.rs")).unwrap();
    write(&workspace, "größe/un tracked.txt", "untracked");
    write(&workspace, ".env", "SECRET");
    write(&workspace, "target/debug/app", "built");
    fs::set_permissions(workspace.path().join("target/debug/app"), Permissions::from_mode(0o751)).unwrap();
    fs::set_permissions(workspace.path().join(".env"), Permissions::from_mode(0o600)).unwrap();
    fs::create_dir_all(workspace.path().join("empty/deep")).unwrap();
    symlink("../nowhere", workspace.path().join("dangling")).unwrap();
    symlink("/etc", workspace.path().join("outward")).unwrap();
    workspace
}

#[test]
fn restore_brings_back_everything_even_after_gc_and_prune() {
    let story = Story::new();
    let workspace = full_of_work(&story);
    let before = state(&story, &workspace);
    refused(&story.cli, 3, &["rm", "issue-42"]);
    let removed = story.cli.run(&["rm", "issue-42", "--force"]).ok();
    assert!(removed.stderr.contains("spinney restore issue-42"), "{}", removed.told());
    assert!(!workspace.path().exists() && fs::exists("/etc/passwd").unwrap());
    story.repository.git(&["worktree", "prune"]);
    story.repository.git(&["reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all"]);
    story.repository.git(&["gc", "--quiet", "--prune=now"]);
    story.repository.git(&["branch", "--quiet", "-D", "issue-42"]);
    story.repository.git(&["gc", "--quiet", "--prune=now"]);
    story.cli.run(&["restore", "issue-42"]).ok();
    assert_eq!(state(&story, &workspace), before);
    assert_eq!(git(&story, &workspace, &["show", ":staged.txt"]), "staged only");
    assert_eq!(git(&story, &workspace, &["show", ":README.md"]), "staged");
    git(&story, &workspace, &["fsck", "--strict", "--no-dangling"]);
}

#[test]
fn one_that_comes_back_takes_no_name_from_another() {
    let story = Story::new();
    let workspace = full_of_work(&story);
    let (before, index, ..) = state(&story, &workspace);
    let tip = git(&story, &workspace, &["rev-parse", "HEAD"]);
    let id = workspace.text("id");
    story.cli.run(&["rm", "issue-42", "--force"]).ok();
    let again = story.make(&["--issue", "42"]);
    let back = story.cli.run(&["restore", id, "--json"]).ok().json();
    let told = ["name", "name_before", "branch", "branch_before"].map(|key| back[key].as_str().unwrap());
    assert_eq!(told, ["issue-42-2", "issue-42", "issue-42-2", "issue-42"]);
    let (after, index_after, head, _) = state(&story, &workspace);
    assert_eq!((after, index_after), (before, index));
    assert_eq!(head, format!("refs/heads/issue-42-2{tip}"));
    // Each is found by its name, and has a link of its own.
    assert_eq!(story.show("issue-42").text("id"), again.text("id"));
    assert_eq!(story.show("issue-42-2").text("id"), id);
    for one in [&again, &workspace] {
        let shown = story.show(one.text("id"));
        assert_eq!(fs::read_link(shown.text("link")).unwrap(), one.path());
    }
    assert_eq!(story.make(&["--issue", "42"]).text("id"), again.text("id"));
    // Its name stays its own, and the next one of that name gets the next number.
    story.cli.run(&["rm", "issue-42-2", "--force"]).ok();
    let ran = story.cli.run(&["restore", "issue-42-2"]).ok();
    assert!(ran.stderr.contains("issue-42-2 is back on `issue-42-2`\n"), "{}", ran.told());
    story.cli.run(&["rm", "issue-42", "--force"]).ok();
    let third = story.make(&["--issue", "42"]);
    let ran = story.cli.run(&["restore", again.text("id")]).ok();
    let told = "issue-42-3 is back on `issue-42-3`; another workspace is called issue-42 by now";
    assert!(ran.stderr.contains(told), "{}", ran.told());
    assert_eq!(story.show("issue-42").text("id"), third.text("id"));
}

#[test]
fn new_work_takes_no_name_from_one_that_came_back() {
    let story = Story::new();
    let first = story.make(&["--task", "search"]);
    story.cli.run(&["rm", "task-search"]).ok();
    story.make(&["--task", "search"]);
    story.cli.run(&["restore", first.text("id")]).ok();
    assert_eq!(story.show("task-search-2").text("id"), first.text("id"));
    let other = story.make(&["--branch", "search/2"]);
    assert_eq!((other.text("name"), other.text("branch")), ("task-search-2-2", "search/2"));
}

#[test]
fn a_branch_taken_meanwhile_is_a_choice() {
    let story = Story::new();
    let workspace = full_of_work(&story);
    let (before, index, ..) = state(&story, &workspace);
    let tip = git(&story, &workspace, &["rev-parse", "HEAD"]);
    story.cli.run(&["rm", "issue-42", "--force"]).ok();
    let again = story.make(&["--issue", "42"]);
    assert_ne!(again.text("id"), workspace.text("id"));
    assert_eq!(git(&story, &again, &["rev-parse", "HEAD"]), tip, "the branch that stayed is continued");
    let id = workspace.text("id");
    refused(&story.cli, 5, &["restore", id, "--branch", "main"]).says(&["`main`"]).hints(&["--branch NAME"]);
    refused(&story.cli, 2, &["restore", id, "--branch", "main/x"]).says(&["`main/x`", "`main`"]);
    assert_eq!(story.show(id).text("status"), "trashed");
    let ran = story.cli.run(&["restore", id, "--branch", "issue-42-old"]).ok();
    assert!(ran.stderr.contains("issue 42 has another workspace by now"), "{}", ran.told());
    let (after, index_after, head, _) = state(&story, &workspace);
    assert_eq!((after, index_after), (before, index));
    assert_eq!(head, format!("refs/heads/issue-42-old{tip}"));
    assert_eq!(story.make(&["--issue", "42"]).text("id"), again.text("id"));
    // A branch that moved on is the same choice.
    story.cli.run(&["rm", id, "--force"]).ok();
    story.repository.git(&["branch", "--force", "issue-42-old", "main"]);
    refused(&story.cli, 5, &["restore", id]).says(&["`issue-42-old`", &tip[..7]]).hints(&["--branch NAME"]);
    story.cli.run(&["restore", id, "--branch", "third"]).ok();
    assert_eq!(git(&story, &workspace, &["rev-parse", "HEAD"]), tip);
}

#[test]
fn what_stands_in_the_place_of_the_pointer_is_kept_beside_it() {
    let story = Story::new();
    let workspace = story.make(&["--issue", "42"]);
    let pointer = workspace.path().join(".git");
    let content = fs::read(&pointer).unwrap();
    // Somebody put a directory in the place of the `.git` file.
    fs::remove_file(&pointer).unwrap();
    fs::create_dir(&pointer).unwrap();
    fs::write(pointer.join("theirs"), "theirs").unwrap();
    assert_eq!(blockers(&story, "issue-42"), ["unverifiable"]);
    story.cli.run(&["rm", "issue-42", "--force"]).ok();
    story.cli.run(&["restore", "issue-42"]).ok();
    assert_eq!(fs::read(&pointer).unwrap(), content, "the pointer is written again");
    let found = workspace.path().join(format!(".git.found-{}", workspace.text("id")));
    assert_eq!(fs::read_to_string(found.join("theirs")).unwrap(), "theirs");
    git(&story, &workspace, &["status"]);
}

#[test]
fn a_damaged_index_is_said_and_goes_and_comes_back_as_it_is() {
    let story = Story::new();
    let workspace = story.make(&["--issue", "42"]);
    let tip = commit(&story, &workspace, "kept.txt");
    git(&story, &workspace, &["reset", "--quiet", "--hard", "HEAD~1"]);
    write(&workspace, "new.txt", "not staged");
    let index = PathBuf::from(git(&story, &workspace, &["rev-parse", "--absolute-git-dir"])).join("index");
    let whole = fs::read(&index).unwrap();
    for damaged in [b"garbage\n".as_slice(), &whole[..20], &[0; 64]] {
        fs::write(&index, damaged).unwrap();
        assert_eq!(blockers(&story, "issue-42"), ["unverifiable"]);
        let why = story.cli.run(&["why", "issue-42"]).ok().stdout;
        assert!(why.contains("is damaged") && why.contains("read-tree HEAD"), "{why}");
        refused(&story.cli, 3, &["rm", "issue-42"]).says(&["is damaged"]);
        let doctor = story.cli.run(&["doctor"]).ok().stdout;
        assert!(doctor.contains("is damaged") && doctor.contains("read-tree HEAD"), "{doctor}");
        let before = files(&workspace.path());
        story.cli.run(&["rm", "issue-42", "--force"]).ok();
        assert!(!workspace.path().exists());
        // What only the log of HEAD names is still pinned.
        story.repository.git(&["reflog", "expire", "--expire=now", "--all"]);
        story.repository.git(&["gc", "--quiet", "--prune=now"]);
        story.cli.run(&["restore", "issue-42"]).ok();
        assert_eq!((files(&workspace.path()), fs::read(&index).unwrap()), (before, damaged.to_vec()));
        assert_eq!(git(&story, &workspace, &["cat-file", "-t", &tip]), "commit");
    }
    // From the archive too.
    let before = files(&workspace.path());
    story.cli.run(&["rm", "issue-42", "--allow", "unverifiable"]).ok();
    story.cli.run(&["trash", "purge", "issue-42"]).ok();
    story.cli.run(&["restore", "issue-42"]).ok();
    assert_eq!((files(&workspace.path()), fs::read(&index).unwrap()), (before, vec![0; 64]));
    // Doing what the hint says helps.
    git(&story, &workspace, &["read-tree", "HEAD"]);
    held_back(&story, "issue-42", &[("untracked", "1 file")]);
}

#[test]
fn a_place_taken_meanwhile_is_left_alone() {
    let story = Story::new();
    let workspace = story.make(&["--issue", "42"]);
    story.cli.run(&["rm", "issue-42"]).ok();
    fs::create_dir(workspace.path()).unwrap();
    fs::write(workspace.path().join("mine.txt"), "mine").unwrap();
    refused(&story.cli, 1, &["restore", "issue-42"]).says(&[workspace.text("path"), "exists already"]);
    assert_eq!(fs::read_to_string(workspace.path().join("mine.txt")).unwrap(), "mine");
    fs::rename(workspace.path(), story.sandbox().path().join("mine")).unwrap();
    story.cli.run(&["restore", "issue-42"]).ok();
}

#[test]
fn a_trash_that_cannot_be_written_keeps_the_workspace() {
    let story = Story::new();
    let workspace = story.make(&["--issue", "42"]);
    let before = state(&story, &workspace);
    let trash = story.sandbox().spinney_home().join("trash");
    fs::remove_dir(&trash).unwrap();
    fs::write(&trash, "in the way").unwrap();
    let refusal = refused(&story.cli, 1, &["rm", "issue-42"]);
    refusal.says(&[&format!("`{}`", trash.display())]).hints(&["--home"]);
    fs::remove_file(&trash).unwrap();
    // A file where the tree itself would go: nothing may be taken for moved that was not.
    fs::create_dir(&trash).unwrap();
    fs::write(trash.join(workspace.text("id")), "in the way").unwrap();
    refused(&story.cli, 1, &["rm", "issue-42"]).says(&["can't be moved"]);
    assert_eq!(state(&story, &workspace), before);
    fs::remove_file(trash.join(workspace.text("id"))).unwrap();
    story.cli.run(&["ls"]).ok();
    assert_eq!(fs::exists(workspace.path()).unwrap(), story.show("issue-42").text("status") == "active");
    if story.show("issue-42").text("status") == "trashed" {
        story.cli.run(&["restore", "issue-42"]).ok();
    }
    assert_eq!(state(&story, &workspace), before);
}

/// A small file system of its own; unmounted when the guard goes.
struct Mount {
    sandbox: Sandbox,
    place: PathBuf,
}

impl Mount {
    /// None where this user may not mount.
    fn tmpfs(sandbox: &Sandbox, size: &str) -> Option<Self> {
        let place = sandbox.path().join("mounted");
        fs::create_dir_all(&place).unwrap();
        let shown = place.to_str().unwrap();
        let ran = sandbox.cli("/bin/mount").run(&["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs", shown]);
        (ran.status == 0).then(|| Self { sandbox: sandbox.clone(), place })
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        self.sandbox.cli("/bin/umount").run(&["--lazy", self.place.to_str().unwrap()]);
    }
}

#[test]
fn a_tree_on_another_file_system_has_its_trash_beside_it() {
    let story = Story::new();
    let Some(mount) = Mount::tmpfs(story.sandbox(), "8m") else {
        println!("SKIPPED: this user can't mount a tmpfs");
        return;
    };
    let template = format!("{}/{{id}}", mount.place.display());
    story.sandbox().write_config(&format!("[workspace]\npath = \"{template}\"\n[limits]\nmin_free_disk = \"0\"\n"));
    let workspace = full_of_work(&story);
    assert!(workspace.path().starts_with(&mount.place));
    let before = state(&story, &workspace);
    story.cli.run(&["rm", "issue-42", "--force"]).ok();
    let trashed = mount.place.join(".spinney-trash").join(workspace.text("id"));
    assert!(trashed.is_dir() && !workspace.path().exists());
    story.cli.run(&["restore", "issue-42"]).ok();
    assert_eq!(state(&story, &workspace), before);
    assert!(!trashed.exists());
    story.cli.run(&["rm", "issue-42", "--force"]).ok();
}
