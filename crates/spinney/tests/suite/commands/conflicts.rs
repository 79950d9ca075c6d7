//! Who would conflict with whom: told from real merges, with every tree, index and object left as it was.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::common::{Story, Workspace};
use serde_json::{Value, json};

const LIST: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";

/// A repository with a list that everybody edits, and directories to move.
fn story() -> Story {
    let story = Story::new();
    story.change(|repository| {
        repository.write("list", LIST).write("other", LIST).write("lib/a.rs", "a\n").write("lib/b.rs", "b\n");
        repository.commit("lists");
        repository.push();
        repository.git(&["fetch", "--quiet", "origin"]);
    });
    story
}

/// A workspace for a task, and how its agent works in it.
struct Agent<'a> {
    story: &'a Story,
    workspace: Workspace,
}

impl<'a> Agent<'a> {
    fn new(story: &'a Story, task: &str) -> Self {
        Self { story, workspace: story.make(&["--task", task]) }
    }

    fn path(&self) -> PathBuf {
        self.workspace.path()
    }

    fn git(&self, arguments: &[&str]) -> String {
        self.story.sandbox().git(self.path(), arguments)
    }

    fn write(&self, file: impl AsRef<Path>, content: &str) -> &Self {
        let path = self.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    fn commit(&self) -> &Self {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", "work"]);
        self
    }

    /// Commits the list with one of its lines in capitals and marked.
    fn mark(&self, line: &str, mark: &str) -> &Self {
        self.write("list", &LIST.replace(line, &format!("{line} {mark}"))).commit()
    }
}

/// Everything below a directory, byte by byte.
fn contents(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(contents(&path));
        } else {
            found.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    found
}

/// What `spinney conflicts` answers, while it leaves the repository and every tree as they are.
#[track_caller]
fn conflicts(story: &Story) -> Value {
    let git_dir = story.repository.path().join(".git");
    let places = || {
        let trees = story.sandbox().spinney_home().join("trees");
        let mut all = contents(&git_dir);
        // What our own commands remember of the remotes.
        all.remove(&git_dir.join("spinney/remotes.json"));
        all.extend(if trees.exists() { contents(&trees) } else { BTreeMap::new() });
        all
    };
    let before = places();
    let answer = story.cli.run(&["conflicts", "--json"]).ok().json();
    let after = places();
    let changed: Vec<_> = after.iter().filter(|(path, bytes)| before.get(*path) != Some(bytes)).collect();
    assert!(changed.is_empty(), "changed or new: {:?}", changed.iter().map(|(path, _)| path).collect::<Vec<_>>());
    assert_eq!(before.len(), after.len(), "something is gone");
    answer
}

/// The pairs with their files, without the rest.
#[track_caller]
fn pairs(answer: &Value) -> Vec<(String, String)> {
    assert_eq!(answer["unknown"], json!([]));
    let text = |value: &Value| value.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect();
    let conflict = |conflict: &Value| {
        let (names, files): (Vec<String>, Vec<String>) = (text(&conflict["workspaces"]), text(&conflict["files"]));
        (names.join(" "), files.join(" "))
    };
    answer["conflicts"].as_array().unwrap().iter().map(conflict).collect()
}

#[track_caller]
fn assert_pairs(story: &Story, expected: &[(&str, &str)]) {
    let expected: Vec<_> = expected.iter().map(|(names, files)| ((*names).to_owned(), (*files).to_owned())).collect();
    assert_eq!(pairs(&conflicts(story)), expected);
}

#[test]
fn the_same_line_conflicts_and_other_lines_and_files_do_not() {
    let story = story();
    Agent::new(&story, "a").mark("two", "A");
    Agent::new(&story, "b").mark("two", "B");
    Agent::new(&story, "c").mark("six", "C");
    Agent::new(&story, "d").write("other", "all new\n").commit();
    Agent::new(&story, "unstarted");
    assert_pairs(&story, &[("task-a task-b", "list")]);
    assert_eq!(conflicts(&story)["compared"], 4);

    let told = story.cli.run(&["conflicts"]).ok();
    assert_eq!(told.stdout, "WORKSPACE  WITH    COUNT  FILES\ntask-a     task-b  1      list\n");
    assert!(told.stderr.contains("local/app: 1 conflict among 4 workspaces"), "{}", told.stderr);
}

#[test]
fn base_that_moved_conflicts_until_the_work_is_merged() {
    let story = story();
    let a = Agent::new(&story, "a");
    a.mark("two", "A");
    Agent::new(&story, "b").mark("six", "B");
    a.git(&["push", "--quiet", "origin", "HEAD"]);
    assert_pairs(&story, &[]);
    assert!(story.cli.run(&["conflicts"]).ok().stderr.contains("nothing conflicts among 2 workspaces"));

    story.change(|repository| {
        repository.write("list", LIST.replace("six", "six of base"));
        repository.commit("base moves");
        repository.push();
    });
    assert_pairs(&story, &[("task-b base", "list")]);
    assert_eq!(conflicts(&story)["conflicts"][0]["base"], "main");

    // A's work arrives in base as one commit, and base goes on over it: there is nothing left of A to conflict.
    story.remote().squash_merge("task-a");
    story.change(|repository| {
        repository.git(&["pull", "--quiet", "origin", "main"]);
        repository.write("list", "all new\n");
        repository.commit("base goes on");
        repository.push();
    });
    let answer = conflicts(&story);
    assert_eq!(pairs(&answer), [("task-b base".to_owned(), "list".to_owned())]);
    assert_eq!(answer["compared"], 1);
}

#[test]
fn names_that_differ_can_conflict_all_the_same() {
    let story = story();
    let renamed = Agent::new(&story, "a-renames");
    renamed.git(&["mv", "list", "moved"]);
    renamed.write("moved", &LIST.replace("two", "two A")).commit();
    Agent::new(&story, "b-edits").mark("two", "B");
    let deletes = Agent::new(&story, "c-deletes");
    deletes.git(&["rm", "--quiet", "other"]);
    deletes.commit();
    Agent::new(&story, "d-edits").write("other", &LIST.replace("two", "two D")).commit();
    assert_pairs(&story, &[("task-a-renames task-b-edits", "moved"), ("task-c-deletes task-d-edits", "other")]);
}

#[test]
fn a_file_in_place_of_a_directory_and_a_directory_that_moved_are_found() {
    let story = story();
    Agent::new(&story, "a-file").write("place", "a file\n").commit();
    Agent::new(&story, "b-directory").write("place/below/x", "a directory\n").commit();
    let moves = Agent::new(&story, "c-moves");
    moves.git(&["mv", "lib", "source"]);
    moves.commit();
    // Nothing that C touched is touched here, and yet git asks where the new file belongs.
    Agent::new(&story, "d-adds").write("lib/new.rs", "new\n").commit();
    assert_pairs(&story, &[("task-a-file task-b-directory", "place"), ("task-c-moves task-d-adds", "source/new.rs")]);
}

#[test]
fn what_head_is_on_counts_whatever_became_of_the_branch() {
    let story = story();
    let renamed = Agent::new(&story, "a");
    renamed.git(&["branch", "--move", "task-a", "feature/own-name"]);
    renamed.mark("two", "A");
    let detached = Agent::new(&story, "b");
    detached.git(&["checkout", "--quiet", "--detach"]);
    detached.mark("two", "B");
    assert_pairs(&story, &[("task-a task-b", "list")]);
}

#[test]
fn what_is_not_committed_is_told_and_not_judged() {
    let story = story();
    Agent::new(&story, "a").mark("two", "A");
    let b = Agent::new(&story, "b");
    b.write("list", "changed\n").write("untracked", "new\n").write("STATE.json", "{}");
    let answer = conflicts(&story);
    assert_eq!(pairs(&answer), []);
    assert_eq!(answer["uncommitted"], json!([{ "workspace": "task-b", "files": 2 }]));
    let told = story.cli.run(&["conflicts"]).ok().stderr;
    assert!(told.contains("task-b: 2 files not committed, and so not judged"), "{told}");
}

#[test]
fn what_cannot_be_judged_is_told() {
    let story = story();
    Agent::new(&story, "a").mark("two", "A");
    Agent::new(&story, "b").mark("two", "B");
    let unborn = Agent::new(&story, "unborn");
    unborn.git(&["symbolic-ref", "HEAD", "refs/heads/nothing-yet"]);
    let gone = Agent::new(&story, "gone").path();
    fs::rename(&gone, gone.with_file_name("elsewhere")).unwrap();
    let broken = Agent::new(&story, "broken").path();
    fs::remove_file(broken.join(".git")).unwrap();
    let unrelated = Agent::new(&story, "unrelated");
    unrelated.git(&["switch", "--quiet", "--orphan", "from-nothing"]);
    unrelated.write("list", "mine\n").commit();

    let answer = story.cli.run(&["conflicts", "--json"]).ok().json();
    assert_eq!(answer["conflicts"][0]["workspaces"], json!(["task-a", "task-b"]), "{answer}");
    let unknown = answer["unknown"].as_array().unwrap();
    let why = |name: &str| {
        let told = unknown.iter().filter(|unknown| unknown["workspace"] == name);
        told.map(|unknown| unknown["detail"].as_str().unwrap()).collect::<Vec<_>>().join("; ")
    };
    assert!(why("task-unborn").contains("no commit"), "{answer}");
    assert!(why("task-gone").contains("gone"), "{answer}");
    assert!(!why("task-broken").is_empty(), "{answer}");
    assert!(why("task-unrelated").contains("no history with base"), "{answer}");
    assert_eq!(why("task-a"), "", "{answer}");
    let told = story.cli.run(&["conflicts"]).ok().stderr;
    assert!(told.contains("task-unborn could not be judged: it has no commit"), "{told}");
    fs::rename(gone.with_file_name("elsewhere"), gone).unwrap();
    fs::write(broken.join(".git"), format!("gitdir: {}\n", admin_dir(&story, &broken).display())).unwrap();
}

fn admin_dir(story: &Story, tree: &Path) -> PathBuf {
    story.repository.path().join(".git/worktrees").join(tree.file_name().unwrap())
}

#[test]
fn many_workspaces_are_compared_each_with_each() {
    let story = story();
    let marks: Vec<String> = (b'a'..=b'l').map(|letter| char::from(letter).to_string()).collect();
    // Three lines, four workspaces on each: every four conflict among themselves.
    for (number, mark) in marks.iter().enumerate() {
        Agent::new(&story, mark).mark(["two", "four", "six"][number % 3], mark);
    }
    let mut expected = Vec::new();
    for (first, a) in marks.iter().enumerate() {
        for b in marks.iter().skip(first + 3).step_by(3) {
            expected.push((format!("task-{a} task-{b}"), "list".to_owned()));
        }
    }
    assert_eq!(expected.len(), 18);
    assert_eq!(pairs(&conflicts(&story)), expected);
}

#[test]
fn a_hostile_file_name_steers_no_terminal() {
    let story = story();
    for task in ["a", "b"] {
        let agent = Agent::new(&story, task);
        agent.write("evil\u{1b}[2J\nname", task).commit();
        for number in 0..6 {
            agent.write(format!("z{number}"), task).commit();
        }
    }
    let told = story.cli.run(&["conflicts", "--color", "never"]).ok();
    assert!(!told.stdout.contains('\u{1b}') && told.stdout.lines().count() == 2, "{}", told.stdout);
    assert!(told.stdout.contains(r"evil\u{1b}[2J\nname"), "{}", told.stdout);
    assert!(told.stdout.ends_with(" and 2 more\n"), "{}", told.stdout);
    assert_eq!(conflicts(&story)["conflicts"][0]["files"][0], "evil\u{1b}[2J\nname");
}
