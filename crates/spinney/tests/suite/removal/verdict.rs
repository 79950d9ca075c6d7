//! The verdict: every reason, seen through whatever hides it, told at once, with what helps; and the evidence of merges.

use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

use crate::support::common::{Story, refused};
use crate::support::lost::Work;
use crate::support::lost::work::{codes, reasons};
use serde_json::Value;
use spinney_testkit::{Cli, GitWrapper, Sandbox, wait_until};

const LONG: Duration = Duration::from_secs(60);

/// The reasons that `why` gives, as code and detail.
#[track_caller]
fn why(story: &Story, name: &str) -> Vec<(String, String)> {
    reasons(&story.cli.run(&["why", name, "--json"]).ok().json()["reasons"])
}

/// Asserts all reasons of a workspace.
#[track_caller]
fn has(story: &Story, work: &Work, expected: &[(&str, &str)]) {
    let found = why(story, &work.name);
    let found: Vec<_> = found.iter().map(|(code, detail)| (code.as_str(), detail.as_str())).collect();
    assert_eq!(found, expected);
}

/// What a merged sweep says of a workspace: its reasons, or that it took it.
#[track_caller]
fn swept(cli: &Cli, what: &str, name: &str) -> Result<(), Vec<String>> {
    let report = cli.run(&["cleanup", what, "--json", "--dry-run"]).ok().json();
    let named = |row: &Value| row["name"] == name || row["workspace"]["name"] == name;
    if report["removed"].as_array().unwrap().iter().any(named) {
        return Ok(());
    }
    let kept = report["kept"].as_array().unwrap().iter().find(|row| named(row));
    Err(kept.map(|kept| codes(&kept["reasons"])).unwrap_or_default())
}

/// A workspace whose branch is merged, so that nothing but what a test adds holds it back.
fn merged(story: &Story, issue: &str) -> Work {
    let work = Work::new(story, issue);
    work.commit(&format!("{issue}.txt"), "merged");
    work.push();
    story.remote().merge(&work.name);
    story.cli.run(&["repo", "sync"]).ok();
    work
}

#[test]
fn files_are_seen_through_every_setting_that_hides_them() {
    let story = Story::new();
    story.change(|repository| {
        repository.git(&["config", "status.showUntrackedFiles", "no"]);
        repository.git(&["config", "core.fileMode", "true"]);
        repository.git(&["config", "diff.ignoreSubmodules", "all"]);
        repository.git(&["config", "core.untrackedCache", "true"])
    });
    let work = Work::new(&story, "1");
    has(&story, &work, &[]);
    work.write("new.txt", "");
    has(&story, &work, &[("untracked", "1 file")]);
    fs::remove_file(work.path.join("new.txt")).unwrap();
    for mark in ["assume-unchanged", "skip-worktree"] {
        work.git(&["update-index", &format!("--{mark}"), "README.md"]);
        has(&story, &work, &[]);
        work.write("README.md", "hidden");
        assert_eq!(work.git(&["status", "--porcelain"]), "", "git itself says nothing");
        has(&story, &work, &[("dirty", "1 file")]);
        work.git(&["update-index", &format!("--no-{mark}"), "README.md"]);
        work.git(&["checkout", "--quiet", "--", "README.md"]);
    }
    work.nested_repository("target/deep/tool", "x");
    has(&story, &work, &[("nested_repository", "1 repository")]);
    work.nested_repository("tools/one", "x");
    let inner = work.path.join("inner");
    work.git(&["worktree", "add", "--quiet", "--detach", inner.to_str().unwrap()]);
    has(&story, &work, &[("nested_repository", "3 repositories")]);
    let document = story.cli.run(&["why", "issue-1", "--json"]).ok().json();
    assert_eq!(document["reasons"][0]["items"], serde_json::json!(["inner", "target/deep/tool", "tools/one"]));
}

#[test]
fn a_repository_that_was_added_as_a_file_is_still_a_repository() {
    let story = Story::new();
    let work = Work::new(&story, "1");
    work.nested_repository("embedded", "only here");
    work.git(&["-c", "advice.addEmbeddedRepo=false", "add", "--all"]);
    work.git(&["commit", "--quiet", "--message", "autosave"]);
    work.push();
    assert_eq!(work.git(&["status", "--porcelain"]), "");
    let found = codes(&story.cli.run(&["why", "issue-1", "--json"]).ok().json()["reasons"]);
    assert_eq!(found, ["nested_repository", "unmerged"]);
}

#[test]
fn files_that_a_sparse_checkout_left_out_are_no_edits() {
    let story = Story::new();
    let work = Work::new(&story, "1");
    // It notes in the shared configuration that worktrees have their own.
    story.change(|_| work.git(&["sparse-checkout", "set", "--no-cone", "/*", "!/docs/"]));
    assert!(!work.path.join("docs").exists());
    has(&story, &work, &[]);
    story.cli.run(&["rm", "issue-1"]).ok();
}

#[test]
fn submodules_count_by_their_own_commits() {
    let sandbox = Sandbox::new();
    let library = sandbox.repository("library").with_remote();
    let repository = sandbox.repository("app");
    repository.git(&["submodule", "--quiet", "add", library.remote().url(), "sub"]);
    repository.commit("with a submodule");
    let story = Story::of(repository.with_remote());
    let work = Work::new(&story, "1");
    has(&story, &work, &[]);
    let sub = work.path.join("sub");
    let git = |arguments: &[&str]| story.sandbox().git(&sub, arguments);
    fs::write(sub.join("README.md"), "edited").unwrap();
    has(&story, &work, &[("dirty", "1 file")]);
    git(&["switch", "--quiet", "-c", "own"]);
    git(&["commit", "--quiet", "--all", "--message", "own"]);
    // Back where the index wants it: only the branch in the submodule has the commit.
    git(&["switch", "--quiet", "--detach", "origin/main"]);
    has(&story, &work, &[("submodule_unpushed", "1 submodule")]);
    git(&["push", "--quiet", "origin", "own"]);
    has(&story, &work, &[]);
}

#[test]
fn stashes_count_for_the_branch_they_were_made_on() {
    let story = Story::new();
    let (one, two) = (Work::new(&story, "1"), Work::new(&story, "2"));
    for text in ["a", "b"] {
        one.write("README.md", text);
        one.git(&["stash", "push", "--quiet", "--message", text]);
    }
    has(&story, &one, &[("stash", "2 entries")]);
    has(&story, &two, &[]);
}

#[test]
fn commits_on_no_branch_hold_it_back() {
    let story = Story::new();
    let work = Work::new(&story, "1");
    work.git(&["switch", "--quiet", "--detach"]);
    has(&story, &work, &[]);
    work.commit("a.txt", "a");
    let commit = work.commit("b.txt", "b");
    let found = why(&story, "issue-1");
    assert_eq!(found[0], ("detached_commits".to_owned(), "2 commits on no branch".to_owned()));
    assert_eq!(codes_of(&found), ["detached_commits", "unpushed", "unmerged"]);
    let document = story.cli.run(&["why", "issue-1", "--json"]).ok().json();
    assert_eq!(document["reasons"][0]["items"][0], commit[..7]);
}

fn codes_of(found: &[(String, String)]) -> Vec<&str> {
    found.iter().map(|(code, _)| code.as_str()).collect()
}

#[test]
fn what_git_is_in_the_middle_of_holds_it_back() {
    let story = Story::new();
    let work = Work::new(&story, "1");
    work.commit("a.txt", "a");
    let (first, second) = (work.head(), work.commit("a.txt", "b"));
    let in_progress = |expected: &str| {
        let found = why(&story, "issue-1");
        let detail = found.iter().find(|(code, _)| code == "operation_in_progress").map(|(_, detail)| detail.as_str());
        assert_eq!(detail, Some(expected), "{found:?}");
    };
    work.git(&["bisect", "start", &second, &format!("{first}~1")]);
    in_progress("bisect");
    work.git(&["bisect", "reset"]);
    work.try_git(&["revert", &first]).exits(1);
    in_progress("revert");
    work.git(&["revert", "--abort"]);
    work.git(&["switch", "--quiet", "--create", "side", &first]);
    let side = work.commit("a.txt", "c");
    work.git(&["switch", "--quiet", "issue-1"]);
    for (operation, abort) in [("cherry-pick", "cherry-pick"), ("merge", "merge"), ("rebase", "rebase")] {
        work.try_git(&[operation, &side]).exits(1);
        in_progress(operation);
        work.git(&[abort, "--abort"]);
    }
    let lock = work.admin_dir().join("index.lock");
    File::create(&lock).unwrap();
    let found = why(&story, "issue-1");
    assert!(found.iter().any(|(code, detail)| code == "operation_in_progress" && detail.contains("index.lock")));
    fs::remove_file(lock).unwrap();
    assert!(!codes_of(&why(&story, "issue-1")).contains(&"operation_in_progress"));
}

#[test]
fn what_is_clean_is_proved_without_git_and_what_was_uncommitted_is_not_clean() {
    let story = Story::new();
    let work = Work::new(&story, "1");
    work.commit("a.txt", "a");
    let blind = GitWrapper::failing("status", 128, "fatal: it is broken");
    let blind = story.cli.with_path_first(blind.directory());
    let proved = || {
        let found = reasons(&blind.run(&["why", "issue-1", "--json"]).ok().json()["reasons"]);
        !codes_of(&found).contains(&"unverifiable")
    };
    // A file that is as young as the index proves nothing.
    wait_until(|| work.try_git(&["update-index", "--force-write-index"]).status == 0 && proved(), LONG);
    work.git(&["reset", "--quiet", "--soft", "HEAD~1"]);
    has(&story, &work, &[("dirty", "1 file")]);
    assert!(!proved(), "the files are those of the index, which is not HEAD");
}

#[test]
fn what_can_not_be_answered_blocks_a_person_and_a_sweep() {
    let story = Story::new();
    let work = merged(&story, "1");
    assert_eq!(swept(&story.cli, "merged", "issue-1"), Ok(()));
    // Not only the files of HEAD: without that, git need not be asked.
    fs::create_dir(work.path.join("empty")).unwrap();
    assert_eq!(swept(&story.cli, "merged", "issue-1"), Ok(()));
    for (argument, question) in [("status", "what changed"), ("var", "what changed"), ("merge-base", "")] {
        let git = GitWrapper::failing(argument, 128, "fatal: it is broken");
        let cli = story.cli.with_path_first(git.directory());
        let sweep = swept(&cli, "merged", "issue-1");
        if question.is_empty() {
            // Not known to be merged, so it is not.
            assert_eq!(sweep, Err(vec!["unmerged".to_owned()]), "{argument}");
            continue;
        }
        assert_eq!(sweep, Err(vec!["unverifiable".to_owned()]), "{argument}");
        let refusal = refused(&cli, 3, &["rm", "issue-1"]);
        refusal.says(&["unverifiable", question, "it is broken"]);
        refusal.hints(&["--allow unverifiable"]);
        assert!(work.path.is_dir());
    }
    // A `.git` that leads nowhere.
    let pointer = work.path.join(".git");
    let text = fs::read_to_string(&pointer).unwrap();
    for damage in ["", "gitdir: /nowhere\n"] {
        fs::write(&pointer, damage).unwrap();
        assert_eq!(codes_of(&why(&story, "issue-1")), ["unverifiable"], "{damage}");
        assert_eq!(swept(&story.cli, "merged", "issue-1"), Err(vec!["unverifiable".to_owned()]), "{damage}");
        refused(&story.cli, 3, &["rm", "issue-1"]).says(&["unverifiable"]);
    }
    fs::write(&pointer, text).unwrap();
    // A person may let go what nobody can look into: it only moves.
    let git = GitWrapper::failing("status", 128, "fatal: it is broken");
    story.cli.with_path_first(git.directory()).run(&["rm", "issue-1", "--allow", "unverifiable"]).ok();
    story.cli.run(&["restore", "issue-1"]).ok();
    has(&story, &work, &[]);
}

#[test]
fn processes_inside_hold_it_by_directory_and_by_file() {
    let story = Story::new();
    let work = merged(&story, "1");
    let shell = story.sandbox().cli("/bin/sh");
    let inside = shell.in_directory(work.path.join("src")).spawn(&["-c", "exec sleep 1000"]);
    let holding = |detail: &str, process: u32| {
        wait_until(|| why(&story, "issue-1") == [("in_use".to_owned(), detail.to_owned())], LONG);
        let document = story.cli.run(&["why", "issue-1", "--json"]).ok().json();
        let items = document["reasons"][0]["items"].to_string();
        assert!(items.contains(&format!("pid {process}")), "{items}");
        assert_eq!(swept(&story.cli, "merged", "issue-1"), Err(vec!["in_use".to_owned()]));
        for arguments in [&["rm", "issue-1"][..], &["rm", "issue-1", "--force"]] {
            refused(&story.cli, 5, arguments).says(&["in_use"]).hints(&["end the process", "--allow in_use"]);
        }
    };
    holding("1 process", inside.id());
    inside.kill();
    let file = work.path.join("run.sh");
    let script = format!("exec sleep 1000 < '{}'", file.display());
    let open = shell.in_directory("/").spawn(&["-c", &script]);
    holding("1 process", open.id());
    open.kill();
    assert_eq!(swept(&story.cli, "merged", "issue-1"), Ok(()));
}

#[test]
fn a_mount_inside_holds_it_whatever_is_allowed() {
    let story = Story::new();
    let work = merged(&story, "1");
    let outside = story.sandbox().path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("kept.txt"), "kept").unwrap();
    let inside = work.path.join("data.local");
    fs::create_dir(&inside).unwrap();
    let Some(_mount) = crate::support::lost::mount::bind(story.sandbox(), &outside, &inside) else { return };
    let found = why(&story, "issue-1");
    assert!(found.contains(&("mount_inside".to_owned(), "1 mount".to_owned())), "{found:?}");
    assert!(swept(&story.cli, "merged", "issue-1").unwrap_err().contains(&"mount_inside".to_owned()));
    for arguments in
        [&["rm", "issue-1"][..], &["rm", "issue-1", "--force"], &["rm", "issue-1", "--allow", "mount_inside"]]
    {
        let refusal = refused(&story.cli, 3, arguments);
        refusal.says(&["mount_inside"]).hints(&["unmount"]);
        assert!(!refusal.0.stderr.contains("--allow mount_inside"), "{}", refusal.0.told());
    }
    assert!(work.path.join("data.local/kept.txt").is_file());
}

#[test]
fn every_reason_is_told_at_once() {
    let story = Story::new();
    let work = Work::new(&story, "1");
    work.write("README.md", "stashed");
    work.git(&["stash", "push", "--quiet"]);
    story.make(&["--pr", "7", "--links", "1"]);
    work.git(&["worktree", "unlock", "."]);
    work.git(&["worktree", "lock", "--reason", "on a portable disk", "."]);
    story.cli.run(&["pin", "issue-1"]).ok();
    work.commit("a.txt", "a");
    work.git(&["switch", "--quiet", "--detach"]);
    work.stop_at_a_merge_conflict();
    work.write("README.md", "dirty");
    work.write("new.txt", "untracked");
    work.write(".env", "precious");
    work.nested_repository("vendor/tool", "nested");
    let inside = story.sandbox().cli("/bin/sleep").in_directory(&work.path).spawn(&["1000"]);
    let document = story.cli.run(&["why", "issue-1", "--json"]).ok().json();
    let expected = [
        "dirty",
        "untracked",
        "precious_ignored",
        "detached_commits",
        "operation_in_progress",
        "nested_repository",
        "unpushed",
        "unmerged",
        "shared",
        "locked",
        "pinned",
        "in_use",
    ];
    assert_eq!(codes(&document["reasons"]), expected);
    assert_eq!(document["removable"], false);
    for reason in document["reasons"].as_array().unwrap() {
        let code = reason["code"].as_str().unwrap();
        assert_eq!(reason["blocks"], !matches!(code, "unmerged" | "pinned"), "{code}");
        assert_eq!(reason["overridable"], !matches!(code, "unmerged" | "in_use"), "{code}");
        assert!(!reason["detail"].as_str().unwrap().is_empty(), "{code}");
    }
    let locked = document["reasons"].as_array().unwrap().iter().find(|reason| reason["code"] == "locked").unwrap();
    assert_eq!(locked["detail"], "on a portable disk");
    // For a person: each reason on its line, and for each what helps.
    let told = story.cli.run(&["rm", "issue-1"]).exits(5).stderr;
    for code in expected.iter().filter(|code| !matches!(**code, "unmerged" | "pinned")) {
        assert!(told.lines().any(|line| line.trim_start().starts_with(code)), "{code} has no line in:\n{told}");
    }
    for help in ["git add", "git stash list", "git push", "git status", "git worktree unlock", "end the process"] {
        // What is left to push is pushed once the merge is over.
        assert_eq!(told.contains(help), !matches!(help, "git stash list" | "git push"), "`{help}` in:\n{told}");
    }
    drop(inside);
    // The one who works there may let all of it go; nobody else.
    let report = story.cli.run(&["cleanup", "all", "--json"]).ok().json();
    assert_eq!(report["removed"], Value::Array(vec![]));
    story.cli.run(&["rm", "issue-1", "--force"]).ok();
}

#[test]
fn which_reason_stops_whom() {
    let story = Story::new();
    story.sandbox().write_config("[cleanup]\nstale_after = \"1ms\"\n");
    let cli = &story.cli;
    // unmerged, but pushed: only the merged sweep leaves it.
    let work = Work::new(&story, "1");
    work.commit("a.txt", "a");
    work.push();
    assert_eq!(swept(cli, "merged", "issue-1"), Err(vec!["unmerged".to_owned()]));
    assert_eq!(swept(cli, "stale", "issue-1"), Ok(()));
    cli.run(&["rm", "issue-1", "--dry-run"]).ok();
    // pinned: sweeps, and no person.
    cli.run(&["pin", "issue-1"]).ok();
    assert_eq!(swept(cli, "stale", "issue-1"), Err(vec!["pinned".to_owned()]));
    cli.run(&["rm", "issue-1", "--dry-run"]).ok();
    cli.run(&["unpin", "issue-1"]).ok();
    assert_eq!(swept(cli, "stale", "issue-1"), Ok(()));
    // shared: both, and a person may force.
    story.make(&["--pr", "9", "--links", "1"]);
    assert_eq!(swept(cli, "stale", "issue-1"), Err(vec!["shared".to_owned()]));
    refused(cli, 3, &["rm", "issue-1"]).says(&["shared (2 pieces of work)"]).hints(&["--allow shared"]);
    cli.run(&["rm", "issue-1", "--force", "--dry-run"]).ok();
    // locked by a person: both.
    let locked = merged(&story, "2");
    locked.git(&["worktree", "unlock", "."]);
    locked.git(&["worktree", "lock", "."]);
    assert_eq!(swept(cli, "merged", "issue-2"), Err(vec!["locked".to_owned()]));
    refused(cli, 3, &["rm", "issue-2"]).says(&["locked"]).hints(&["git worktree unlock", "--allow locked"]);
    cli.run(&["rm", "issue-2", "--allow", "locked"]).ok();
    // persistent: sweeps, and no person.
    let lasting = cli.run(&["new", "--issue", "3", "--platform", "telegram"]).ok();
    assert!(Path::new(lasting.stdout.trim_end()).is_dir());
    cli.run(&["rm", "issue-3", "--dry-run"]).ok();
    assert_eq!(codes_of(&why(&story, "issue-3")), ["persistent"]);
    assert!(swept(cli, "all", "issue-3").is_err());
    // adopted: sweeps, unless the configuration says otherwise; no person.
    let path = story.foreign_worktree("theirs", "feature");
    cli.run(&["adopt", path.to_str().unwrap()]).ok();
    assert_eq!(swept(cli, "stale", "task-feature"), Err(vec!["adopted".to_owned()]));
    let takes = cli.with_variable("SPINNEY_CLEANUP__ADOPTED", "true");
    assert_eq!(swept(&takes, "stale", "task-feature"), Ok(()));
    cli.run(&["rm", "task-feature", "--dry-run"]).ok();
}

#[test]
fn a_refusal_says_for_each_reason_what_helps() {
    let story = Story::new();
    let work = Work::new(&story, "1");
    let told = |help: &[&str], allow: &str| {
        let refusal = refused(&story.cli, 3, &["rm", "issue-1"]);
        refusal.hints(help);
        refusal.hints(&[&format!("--allow {allow}")]);
    };
    work.write("new.txt", "");
    told(&["git add", "git commit"], "untracked");
    fs::remove_file(work.path.join("new.txt")).unwrap();
    work.write(".env", "");
    told(&["copy"], "precious_ignored");
    fs::remove_file(work.path.join(".env")).unwrap();
    let nested = work.nested_repository("vendor/tool", "x");
    told(&["push", "vendor/tool"], "nested_repository");
    fs::rename(nested, story.sandbox().path().join("aside")).unwrap();
    work.write("README.md", "x");
    work.git(&["stash", "push", "--quiet"]);
    told(&["git stash list"], "stash");
    work.git(&["stash", "drop", "--quiet"]);
    work.git(&["switch", "--quiet", "--detach"]);
    work.commit("a.txt", "a");
    told(&["git switch -c"], "detached_commits,unpushed");
    work.git(&["switch", "--quiet", "-c", "kept"]);
    told(&["git push"], "unpushed");
}

#[test]
fn force_asks_git_for_no_status() {
    let story = Story::new();
    let work = Work::new(&story, "1");
    work.write("new.txt", "");
    let git = GitWrapper::recording();
    let cli = story.cli.with_path_first(git.directory());
    cli.run(&["rm", "issue-1", "--force"]).ok();
    // What is asked, without the settings before it.
    let calls = || git.calls().iter().map(|call| call.rsplit("=false ").next().unwrap().to_owned()).collect::<Vec<_>>();
    let (forced, calls) = (calls(), calls);
    assert!(forced.iter().any(|call| call.starts_with("update-ref")), "{forced:?}");
    for slow in ["status", "ls-files -v", "merge-tree", "fetch", "rev-list --count"] {
        assert!(!forced.iter().any(|call| call.starts_with(slow)), "{slow} in {forced:#?}");
    }
    story.cli.run(&["restore", "issue-1"]).ok();
    cli.run(&["rm", "issue-1", "--allow", "untracked"]).ok();
    assert!(calls().iter().any(|call| call.contains("status --porcelain")), "{:#?}", calls());
    assert!(!calls().iter().any(|call| call.starts_with("fetch")), "a removal never fetches");
}

#[test]
fn evidence_of_a_merge_strongest_first() {
    let story = Story::new();
    let evidence = |name: &str| {
        let document = story.cli.run(&["why", name, "--json"]).ok().json();
        let kinds = document["evidence"].as_array().unwrap().iter();
        kinds.map(|evidence| evidence["kind"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let work = |issue: &str, commits: usize| {
        let work = Work::new(&story, issue);
        for number in 0..commits {
            work.commit(&format!("{issue}-{number}.txt"), &format!("{issue} {number}\nmore\n"));
        }
        work.push();
        work
    };
    let (ancestor, squashed, rebased) = (work("1", 2), work("2", 3), work("4", 2));
    let changed = work("3", 2);
    let (fresh, open) = (Work::new(&story, "5"), work("6", 1));
    story.remote().merge(&ancestor.name);
    story.remote().squash_merge(&squashed.name);
    story.remote().squash_merge(&changed.name);
    // Base goes on and changes the same lines.
    for number in 0..2 {
        let file = format!("3-{number}.txt");
        let content = story.remote().git(&["show", &format!("main:{file}")]);
        assert!(content.starts_with('3'));
    }
    let clone = story.sandbox().path().join("other");
    story.sandbox().git(story.sandbox().path(), &["clone", "--quiet", story.remote().url(), clone.to_str().unwrap()]);
    let git = |arguments: &[&str]| story.sandbox().git(&clone, arguments);
    fs::write(clone.join("3-0.txt"), "changed by base\nmore\n").unwrap();
    git(&["commit", "--quiet", "--all", "--message", "base changes the same lines"]);
    // A rebase on the forge: the same patches as other commits, and base changes them after.
    git(&["cherry-pick", &format!("origin/{}~1", rebased.name), &format!("origin/{}", rebased.name)]);
    fs::write(clone.join("4-0.txt"), "changed by base\nmore\n").unwrap();
    git(&["commit", "--quiet", "--all", "--message", "base goes on"]);
    git(&["push", "--quiet", "origin", "main"]);

    for work in [&ancestor, &squashed, &changed, &rebased] {
        assert_eq!(evidence(&work.name), Vec::<String>::new(), "nothing was fetched yet");
    }
    let report = story.cli.run(&["cleanup", "merged", "--dry-run", "--json"]).ok().json();
    let mut removed: Vec<_> =
        report["removed"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    removed.sort_unstable();
    assert_eq!(removed, ["issue-1", "issue-2", "issue-3", "issue-4"], "cleanup fetches first");
    assert_eq!(evidence(&ancestor.name), ["ancestor"]);
    assert_eq!(evidence(&squashed.name), ["adds_nothing"]);
    assert_eq!(evidence(&changed.name), ["patch"]);
    assert_eq!(evidence(&rebased.name), ["patch"]);
    for work in [&fresh, &open] {
        assert_eq!(evidence(&work.name), Vec::<String>::new(), "{}", work.name);
    }
    assert_eq!(why(&story, &fresh.name), [], "unstarted is not merged, and nothing holds it");
    assert_eq!(codes_of(&why(&story, &open.name)), ["unmerged"]);
}

#[test]
fn the_last_branch_that_leads_to_where_it_began_is_unpushed_work() {
    let story = Story::new();
    story.change(|repository| {
        repository.git(&["switch", "--quiet", "--create", "feature"]);
        repository.write("work.txt", "a day of work");
        repository.commit("a day of work");
        repository.git(&["switch", "--quiet", "main"]);
    });
    story.make(&["--task", "on feature", "--base", "feature"]);
    let why = |name: &str| story.cli.run(&["why", name, "--json"]).ok().json();
    assert_eq!(why("task-on-feature")["removable"], true, "`feature` has it");
    story.repository.git(&["branch", "--quiet", "-D", "feature"]);
    let told = why("task-on-feature");
    assert_eq!(told["removable"], false, "{told:#}");
    let reasons = told["reasons"].as_array().unwrap();
    let unpushed = reasons.iter().find(|reason| reason["code"] == "unpushed").unwrap();
    assert!(unpushed.to_string().contains("a day of work"), "{unpushed}");
    refused(&story.cli, 3, &["rm", "task-on-feature"]);
}
