//! Only what the agent changed is delivered as the agent's: not what Spinney brought, not what was there before.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use crate::support::common::Story;
use crate::support::job::{Job, Workshop};
use serde_json::json;
use spinney_testkit::wait_until;

const ISSUE: [&str; 2] = ["--issue", "7"];

/// A workshop whose main checkout alone ignores its secrets: the line is in no commit.
fn with_secret(settings: &str) -> Workshop {
    let workshop = Workshop::new(settings);
    workshop.story.change(|repository| {
        repository.write(".gitignore", "/target/\nnode_modules/\n.env\nsecrets.key\ncache/\n.worktreeinclude\n");
        repository.write("secrets.key", "PASSWORD=hunter2\n");
    });
    workshop
}

/// The files that the remote's branch has more than its base, by name.
#[track_caller]
fn delivered(workshop: &Workshop, job: &Job) -> Vec<String> {
    let listed = workshop.story.remote().git(&["diff", "--name-only", "--no-renames", "main", job.text("branch")]);
    listed.lines().map(str::to_owned).collect()
}

/// The paths that a job left out, with the reasons.
#[track_caller]
fn left_out(job: &Job) -> Vec<(String, String)> {
    let told = job.0["left_out"].as_array().unwrap_or_else(|| panic!("no `left_out` in {:#}", job.0));
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    told.iter().map(|one| (text(&one["path"]), text(&one["reason"]))).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(path, reason)| ((*path).to_owned(), (*reason).to_owned())).collect()
}

/// A workspace that a person made, and its directory.
fn made(workshop: &Workshop) -> PathBuf {
    workshop.story.make(&ISSUE).path()
}

#[test]
fn copied_secrets_are_not_committed() {
    let workshop = with_secret("[workspace]\ncopy = [\"secrets.key\"]\n");
    let job = workshop.complete(&ISSUE, "write a.txt a");
    assert!(job.path().join("secrets.key").exists(), "it was copied");
    let files = workshop.story.remote().git(&["ls-tree", "-r", "--name-only", job.text("branch")]);
    assert!(!files.contains("secrets.key") && files.contains("a.txt"), "{files}");
    assert_eq!(left_out(&job), pairs(&[("secrets.key", "copied")]));
    workshop.assert_logged(job.id(), "secrets.key");
    // Changed or not, moved or not.
    let job = workshop.complete(&ISSUE, "append secrets.key TOKEN=1\nwrite b.txt b");
    assert_eq!(left_out(&job), pairs(&[("secrets.key", "copied")]));
    assert_eq!(workshop.git(job.path(), &["log", "--all", "--format=%H", "--", "secrets.key"]), "");
}

#[test]
fn a_copied_secret_that_the_agent_moved_is_not_committed() {
    let workshop = with_secret("[workspace]\ncopy = [\"secrets.key\"]\n");
    let job = workshop.complete(&ISSUE, "git mv -f a b || mv secrets.key config.txt\nwrite a.txt a");
    assert_eq!(workshop.git(job.path(), &["log", "--all", "--format=%H", "--", "config.txt"]), "");
    assert_eq!(left_out(&job), pairs(&[("config.txt", "copied")]));
}

#[test]
fn what_worktreeinclude_names_and_artefacts_are_not_committed() {
    let workshop = with_secret("[workspace]\nartifacts = [\"cache\"]\n");
    workshop.story.change(|repository| {
        repository.write(".worktreeinclude", "secrets.key\n");
        repository.write("cache/deep/object.bin", "cached\n");
    });
    let job = workshop.complete(&ISSUE, "write a.txt a\nwrite cache/new.bin x");
    assert!(job.path().join("cache/deep/object.bin").exists() && job.path().join("secrets.key").exists());
    let out = pairs(&[("cache/deep/object.bin", "copied"), ("cache/new.bin", "copied"), ("secrets.key", "copied")]);
    assert_eq!(delivered(&workshop, &job), ["a.txt"]);
    assert_eq!(left_out(&job), out);
}

#[test]
fn an_old_base_without_the_ignore_line_delivers_no_secret() {
    let story = Story::new();
    story.change(|repository| {
        repository.git(&["branch", "old"]);
        repository.git(&["push", "--quiet", "origin", "old"]);
        repository.write(".gitignore", "/target/\n*.key\n").commit("ignore");
        repository.push();
        repository.write("secrets.key", "PASSWORD=hunter2\n");
    });
    let workshop = Workshop::of(story, "[workspace]\ncopy = [\"*.key\"]\n");
    let job = workshop.complete(&["--issue", "7", "--base", "old"], "write a.txt a");
    let files = workshop.story.remote().git(&["ls-tree", "-r", "--name-only", job.text("branch")]);
    assert!(!files.contains("secrets.key") && files.contains("a.txt"), "{files}");
    assert_eq!(left_out(&job), pairs(&[("secrets.key", "copied")]));
}

#[test]
fn a_pooled_workspace_delivers_no_secret() {
    let workshop = with_secret("[workspace]\ncopy = [\"secrets.key\"]\n[pool]\nsize = 1\n");
    workshop.cli.run(&["pool", "fill"]).ok();
    workshop.story.change(|repository| {
        repository.write("secrets.key", "PASSWORD=new\n");
    });
    let job = workshop.complete(&ISSUE, "write a.txt a");
    assert_eq!(fs::read_to_string(job.path().join("secrets.key")).unwrap(), "PASSWORD=new\n");
    assert_eq!(
        (delivered(&workshop, &job), left_out(&job)),
        (vec!["a.txt".into()], pairs(&[("secrets.key", "copied")]))
    );
    // The pool is filled again meanwhile.
    let operations = workshop.story.sandbox().spinney_home().join("operations");
    let is_filled = || {
        let status = workshop.cli.run(&["pool", "status", "--json"]).ok().json();
        status["pools"][0]["ready"] == 1 && crate::support::common::files_below(&operations, 0).is_empty()
    };
    wait_until(is_filled, Duration::from_secs(60));
}

#[test]
fn a_workspace_of_an_older_version_delivers_no_secret() {
    let workshop = with_secret("");
    // Copied by something that wrote nothing down.
    let tree = made(&workshop);
    fs::copy(workshop.story.repository.path().join("secrets.key"), tree.join("secrets.key")).unwrap();
    workshop.configure("[workspace]\ncopy = [\"secrets.key\"]\n");
    let job = workshop.complete(&ISSUE, "git mv -f a b || mv secrets.key other.txt\nwrite a.txt a");
    assert_eq!((delivered(&workshop, &job), left_out(&job)), (vec!["a.txt".into()], pairs(&[("other.txt", "copied")])));
}

#[test]
fn what_a_person_did_not_commit_is_not_the_agents() {
    let workshop = Workshop::new("");
    let tree = made(&workshop);
    fs::write(tree.join("README.md"), "a person's words\n").unwrap();
    fs::write(tree.join("notes.txt"), "mine\n").unwrap();
    fs::write(tree.join("both.txt"), "mine\n").unwrap();
    fs::write(tree.join("staged.txt"), "staged\n").unwrap();
    fs::remove_file(tree.join("run.sh")).unwrap();
    workshop.git(&tree, &["add", "staged.txt"]);
    let job = workshop.complete(&ISSUE, "write a.txt a\nappend both.txt and the agent's");
    assert_eq!(delivered(&workshop, &job), ["a.txt", "both.txt"]);
    let expected = ["README.md", "notes.txt", "run.sh", "staged.txt"].map(|path| (path, "there_before"));
    assert_eq!(left_out(&job), pairs(&expected));
    assert_eq!(job.0["shared"], json!(["both.txt"]));
    workshop.assert_logged(job.id(), "both.txt");
    // All is as the person left it, in the index too.
    let status = workshop.git(&tree, &["status", "--porcelain"]);
    assert_eq!(
        status.lines().map(str::trim).collect::<Vec<_>>(),
        ["M README.md", "D run.sh", "A  staged.txt", "?? notes.txt"]
    );
    assert_eq!(fs::read_to_string(tree.join("README.md")).unwrap(), "a person's words\n");
    // Nor are they the next job's.
    let next = workshop.complete(&ISSUE, "write b.txt b");
    assert_eq!(
        (left_out(&next), delivered(&workshop, &next)),
        (pairs(&expected), vec!["a.txt".into(), "b.txt".into(), "both.txt".into()])
    );
}

#[test]
fn what_setup_and_before_run_made_is_not_the_agents() {
    let workshop = Workshop::new(
        "[agents.coder.hooks]\nbefore_run = [\"date +%N > hooked.txt\"]\n\
         [workspace]\nsetup = [\"echo made > made.txt; echo more >> README.md; mkdir -p target; echo x > target/x; echo y > .env\"]\n",
    );
    let job = workshop.complete(&ISSUE, "write a.txt a\nwrite .gitignore none");
    assert_eq!(delivered(&workshop, &job), [".gitignore", "a.txt"]);
    let paths: Vec<_> = left_out(&job).into_iter().map(|(path, _)| path).collect();
    assert_eq!(paths, [".env", "README.md", "hooked.txt", "made.txt", "target/x"]);
    // A file that was hidden and that the agent made anew is its own.
    let job = workshop.complete(&ISSUE, "write target/y anew\nwrite made.txt other");
    assert_eq!(delivered(&workshop, &job), [".gitignore", "a.txt", "made.txt", "target/y"]);
    assert_eq!(job.0["shared"], json!(["made.txt"]));
}

#[test]
fn what_a_failed_job_left_is_the_agents() {
    let workshop = Workshop::new("");
    let tree = made(&workshop);
    fs::write(tree.join("notes.txt"), "mine\n").unwrap();
    let failed = workshop.run(1, &ISSUE, "write left.txt left\nwrite other.txt other\nwrite src/new.rs x\nexit 1");
    assert_eq!(failed.text("status"), "failed");
    // A person comes by.
    fs::write(tree.join("later.txt"), "mine too\n").unwrap();
    fs::write(tree.join("other.txt"), "changed by a person\n").unwrap();
    let job = workshop.complete(&ISSUE, "write a.txt a");
    assert_eq!(delivered(&workshop, &job), ["a.txt", "left.txt", "other.txt", "src/new.rs"]);
    assert_eq!(left_out(&job), pairs(&[("later.txt", "there_before"), ("notes.txt", "there_before")]));
    assert_eq!(job.0["shared"], json!(["other.txt"]));
}

#[test]
fn a_retry_goes_by_what_was_there_at_first() {
    let workshop = Workshop::new("");
    let tree = made(&workshop);
    fs::write(tree.join("notes.txt"), "mine\n").unwrap();
    fs::write(tree.join("both.txt"), "mine\n").unwrap();
    let once = workshop.beside_text("once");
    let prompt = format!("write a.txt a\nappend both.txt more\nonce {once} exit 1\nwrite b.txt b");
    let failed = workshop.run(1, &ISSUE, &prompt);
    fs::write(tree.join("later.txt"), "mine too\n").unwrap();
    let job = workshop.retry(0, failed.id());
    assert_eq!(delivered(&workshop, &job), ["a.txt", "b.txt", "both.txt"]);
    assert_eq!(left_out(&job), pairs(&[("later.txt", "there_before"), ("notes.txt", "there_before")]));
    assert_eq!(job.0["shared"], json!(["both.txt"]));
}

#[test]
fn a_death_before_the_commit_forgets_nothing() {
    for point in ["job.session", "job.finished", "job.committed"] {
        let workshop = Workshop::new("");
        let tree = made(&workshop);
        fs::write(tree.join("notes.txt"), "mine\n").unwrap();
        workshop.git(&tree, &["add", "notes.txt"]);
        let prompt = "write a.txt a\nprint done";
        let arguments = [&["run", "--json", "--agent", "coder"], ISSUE.as_slice(), &["--", prompt]].concat();
        workshop.cli.with_variable("SPINNEY_FAIL", point).run(&arguments).exits(6);
        let id = workshop.jobs()[0].id().to_owned();
        let job = workshop.retry(0, &id);
        assert_eq!(delivered(&workshop, &job), ["a.txt"], "{point}");
        assert_eq!(left_out(&job), pairs(&[("notes.txt", "there_before")]), "{point}");
        assert_eq!(workshop.git(&tree, &["status", "--porcelain"]), "A  notes.txt", "{point}");
    }
}

#[test]
fn a_dirty_workspace_may_be_refused() {
    let settings = "[agents.coder.workspace]\non_dirty = \"refuse\"\n[workspace]\nsetup = [\"echo made > made.txt\"]\n";
    let workshop = Workshop::new(settings);
    let tree = made(&workshop);
    // What set-up made is nobody's work.
    workshop.complete(&ISSUE, "write a.txt a");
    fs::write(tree.join("notes.txt"), "mine\n").unwrap();
    let ran = workshop.beside_text("ran");
    let refused = workshop.run(1, &ISSUE, &format!("write-outside {ran} x"));
    refused.says(&["`notes.txt`", "on_dirty"]);
    assert!(!workshop.beside("ran").exists() && refused.0["sessions"].as_array().unwrap().is_empty());
    // What its own agent left is no reason.
    fs::remove_file(tree.join("notes.txt")).unwrap();
    workshop.run(1, &ISSUE, "write left.txt x\nexit 1");
    let job = workshop.complete(&ISSUE, "write b.txt b");
    assert_eq!(delivered(&workshop, &job), ["a.txt", "b.txt", "left.txt"]);
}

#[test]
fn a_dirty_workspace_may_be_committed_but_never_what_was_copied() {
    let workshop =
        with_secret("[agents.coder.workspace]\non_dirty = \"commit\"\n[workspace]\ncopy = [\"secrets.key\"]\n");
    let tree = made(&workshop);
    fs::write(tree.join("notes.txt"), "mine\n").unwrap();
    fs::write(tree.join("README.md"), "changed\n").unwrap();
    let job = workshop.complete(&ISSUE, "write a.txt a");
    assert_eq!(delivered(&workshop, &job), ["README.md", "a.txt", "notes.txt"]);
    assert_eq!(left_out(&job), pairs(&[("secrets.key", "copied")]));
}

#[test]
fn a_persons_file_under_another_name_is_still_theirs() {
    let workshop = Workshop::new("");
    let tree = made(&workshop);
    fs::write(tree.join("notes.md"), "private\n").unwrap();
    let job = workshop.complete(&ISSUE, "git mv -f a b || mv notes.md renamed.md\nwrite a.txt a");
    assert_eq!(delivered(&workshop, &job), ["a.txt"]);
    assert!(left_out(&job).contains(&("renamed.md".to_owned(), "there_before".to_owned())), "{:#}", job.0);
}

#[test]
fn another_mode_makes_nobodys_content_the_agents() {
    let workshop = Workshop::new("");
    let tree = made(&workshop);
    fs::write(tree.join("README.md"), "a person's words\n").unwrap();
    fs::write(tree.join("notes.txt"), "mine\n").unwrap();
    let job = workshop.complete(&ISSUE, "write a.txt a\ngit version && chmod a+x README.md notes.txt");
    assert_eq!(delivered(&workshop, &job), ["a.txt"]);
    assert_eq!(left_out(&job), pairs(&[("README.md", "there_before"), ("notes.txt", "there_before")]));
}

#[test]
fn a_persons_file_that_is_renamed_is_not_deleted_under_its_old_name() {
    let workshop = Workshop::new("");
    let tree = made(&workshop);
    fs::write(tree.join("README.md"), "a person's words\n").unwrap();
    let job = workshop.complete(&ISSUE, "write a.txt a\ngit mv README.md GUIDE.md");
    assert_eq!(delivered(&workshop, &job), ["a.txt"]);
    assert_eq!(left_out(&job), pairs(&[("GUIDE.md", "there_before"), ("README.md", "there_before")]));
    assert_eq!(fs::read_to_string(tree.join("GUIDE.md")).unwrap(), "a person's words\n");
}
