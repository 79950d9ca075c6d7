//! What is held for a person before a push: commits with a file that was copied, and a branch that lost commits.

use std::fs;

use crate::support::job::{Job, Workshop};
use serde_json::{Value, json};

const BRANCH: &str = "agent/coder/issue-7";
const ISSUE: [&str; 2] = ["--issue", "7"];

fn with_secret(settings: &str) -> Workshop {
    let workshop = Workshop::new(&format!("{settings}[workspace]\ncopy = [\"*.key\"]\n"));
    workshop.story.change(|repository| {
        repository.write(".gitignore", "/target/\n*.key\n");
        repository.write("secrets.key", "PASSWORD=hunter2\n").write("empty.key", "");
    });
    workshop
}

#[track_caller]
fn assert_held(job: &Job) {
    assert_eq!(
        (job.text("status"), job.text("push"), &job.0["pushed"]),
        ("failed", "held", &false.into()),
        "{:#}",
        job.0
    );
    assert_eq!(job.0["held"]["commit"], job.0["commit"]);
}

fn copied(job: &Job) -> Vec<&str> {
    job.0["held"]["copied"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect()
}

#[test]
fn commits_with_a_copied_file_are_held() {
    let workshop = with_secret("");
    let job = workshop.run(1, &ISSUE, "write a.txt a\ncommit all of it");
    assert_held(&job);
    assert_eq!((copied(&job), workshop.pushed()), (vec!["empty.key", "secrets.key"], vec!["main".to_owned()]));
    job.says(&["`secrets.key`", "--accept-held", "spinney retry"]);
    let log = workshop.cli.run(&["logs", job.id(), "--json"]).ok().stdout;
    assert!(log.contains("--accept-held") && !log.contains("\"advice\""), "{log}");
    // As long as nobody does anything, a retry ends the same.
    assert_held(&workshop.retry(1, job.id()));
    // So does the next job there.
    assert_held(&workshop.run(1, &ISSUE, "write b.txt b"));
    // Taken out of the history, the work is delivered, and the agent is not asked again.
    let tree = job.path();
    workshop.git(&tree, &["reset", "--quiet", "--soft", "origin/main"]);
    workshop.git(&tree, &["reset", "--quiet", "--", "secrets.key", "empty.key"]);
    workshop.git(&tree, &["commit", "--quiet", "--message", "without"]);
    let retried = workshop.retry(0, job.id());
    assert_eq!((&retried.0["held"], retried.text("push")), (&Value::Null, "pushed"));
    assert_eq!(retried.0["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(workshop.story.remote().git(&["diff", "--name-only", "main", BRANCH]), "a.txt\nb.txt");
}

#[test]
fn a_secret_is_found_in_every_commit_and_under_every_name() {
    for (prompt, path) in [
        (
            "commit with\ngit rm --quiet --cached secrets.key empty.key\ngit commit --quiet --message without",
            "secrets.key",
        ),
        ("git mv -f a b || mv secrets.key config/x.txt\ncommit moved", "config/x.txt"),
        (
            "git mv -f a b || cp secrets.key config/x.txt\ngit add config\ngit commit --quiet --message copied",
            "config/x.txt",
        ),
        ("append secrets.key more\ncommit changed", "secrets.key"),
        // What it says that the remote has, the remote need not have.
        ("commit with\ngit update-ref refs/remotes/origin/known HEAD", "secrets.key"),
        ("commit with\ngit update-ref refs/spinney/pull/1 HEAD", "secrets.key"),
        (
            "git checkout --quiet -b side\nwrite s.txt s\ngit add s.txt\ngit commit --quiet --message s\n\
             git checkout --quiet -\nwrite t.txt t\ngit add t.txt\ngit commit --quiet --message t\n\
             git merge --quiet --no-commit side\ngit add -f secrets.key\ngit commit --quiet --message merged",
            "secrets.key",
        ),
    ] {
        let workshop = with_secret("");
        let job = workshop.run(1, &ISSUE, &format!("write config/keep.txt a\n{prompt}"));
        assert_held(&job);
        assert!(copied(&job).contains(&path), "{prompt}: {:#}", job.0);
        assert_eq!(workshop.pushed(), ["main"], "{prompt}");
    }
}

#[test]
fn an_empty_file_and_what_the_base_has_are_no_secrets() {
    let workshop = with_secret("");
    let readme = fs::read(workshop.story.repository.path().join("README.md")).unwrap();
    workshop.story.change(|repository| {
        repository.write("readme.key", &readme);
    });
    let job = workshop.complete(
        &ISSUE,
        "touch nothing.txt\ngit add nothing.txt\ngit mv README.md GUIDE.md\ngit commit --quiet --message fine",
    );
    assert_eq!((&job.0["held"], job.text("push")), (&Value::Null, "pushed"));
}

#[test]
fn a_person_may_accept_what_is_held() {
    let workshop = with_secret("");
    let job = workshop.run(1, &ISSUE, "write a.txt a\ncommit all of it");
    assert_held(&job);
    let accepted = Job::of(&workshop.cli.run(&["retry", "--json", "--accept-held", job.id()]).exits(0));
    assert_eq!((accepted.text("push"), &accepted.0["held"]), ("pushed", &Value::Null));
    assert_eq!(workshop.story.remote().tip(BRANCH), job.text("commit"));
    // A job that is not held has nothing to accept.
    workshop.cli.run(&["retry", "--accept-held", job.id()]).exits(2);
}

#[test]
fn a_workspace_whose_job_is_held_stays() {
    let workshop = with_secret("[agents.coder.workspace]\ncleanup_on_failure = true\n");
    let job = workshop.run(1, &ISSUE, "write a.txt a\ncommit all of it");
    assert_held(&job);
    assert!(job.path().join("a.txt").exists());
}

/// A workspace with a commit of a person that is pushed nowhere.
fn with_commit(workshop: &Workshop) -> (std::path::PathBuf, String) {
    let tree = workshop.story.make(&ISSUE).path();
    fs::write(tree.join("person.txt"), "mine\n").unwrap();
    workshop.git(&tree, &["add", "person.txt"]);
    workshop.git(&tree, &["commit", "--quiet", "--message", "a person's work"]);
    let commit = workshop.git(&tree, &["rev-parse", "HEAD"]);
    (tree, commit)
}

#[test]
fn dropped_commits_are_pinned_named_and_held() {
    for drop in [
        "git reset --quiet --hard HEAD^",
        "git checkout --quiet --no-track -B issue-7 origin/main",
        "git commit --quiet --amend --message mine",
        "git update-ref refs/remotes/origin/known HEAD\ngit reset --quiet --hard HEAD^",
        "git rebase --quiet --root --exec 'git commit --quiet --amend --message other'",
    ] {
        for end in ["write a.txt a\ncommit done", "exit 1"] {
            let workshop = Workshop::new("");
            let (tree, commit) = with_commit(&workshop);
            let gone = "git reflog expire --expire=now --all\ngit gc --quiet --prune=now";
            let job = workshop.run(1, &ISSUE, &format!("{drop}\n{gone}\n{end}"));
            assert_eq!(job.text("status"), "failed");
            let dropped = &job.0["dropped"];
            assert_eq!(dropped["commits"], json!([{"commit": commit, "subject": "a person's work"}]), "{drop} {end}");
            let pin = dropped["refs"][0].as_str().unwrap();
            assert_eq!(workshop.git(&tree, &["rev-parse", pin]), commit);
            job.says(&["git merge", pin]);
            if end != "exit 1" {
                assert_held(&job);
            }
            assert_eq!(workshop.pushed(), ["main"]);
            // Nor does the next job push over them.
            let next = workshop.run(1, &ISSUE, "write b.txt b");
            assert_held(&next);
            assert_eq!(next.0["dropped"]["commits"], dropped["commits"]);
            // Brought back, all of it is delivered.
            if !drop.contains("amend") && !drop.contains("rebase") {
                workshop.git(&tree, &["merge", "--quiet", "--no-edit", pin]);
                let retried = workshop.retry(0, next.id());
                assert_eq!((retried.text("push"), &retried.0["dropped"]), ("pushed", &Value::Null));
            } else {
                Job::of(&workshop.cli.run(&["retry", "--json", "--accept-held", next.id()]).exits(0));
            }
        }
    }
}

#[test]
fn an_agent_may_rewrite_its_own_commits() {
    let workshop = Workshop::new("");
    let (tree, _) = with_commit(&workshop);
    let once = workshop.beside_text("once");
    let prompt = format!(
        "append a.txt a\ncommit first\ngit commit --quiet --amend --message second\nonce {once} exit 1\n\
         git reset --quiet --soft HEAD^\ngit commit --quiet --message third"
    );
    let failed = workshop.run(1, &ISSUE, &prompt);
    assert_eq!(failed.0["dropped"], Value::Null);
    let job = workshop.retry(0, failed.id());
    assert_eq!((job.text("push"), &job.0["dropped"]), ("pushed", &Value::Null));
    assert_eq!(workshop.git(&tree, &["for-each-ref", "refs/spinney"]), "", "nothing is pinned for nothing");
}

#[test]
fn commits_that_were_dropped_before_a_death_are_found() {
    let workshop = Workshop::new("");
    let (tree, commit) = with_commit(&workshop);
    let id = workshop.detach(&ISSUE, &format!("git reset --quiet --hard HEAD^\n{}", workshop.hold("agent")));
    workshop.wait_for_agent("agent");
    crate::support::job::kill_if_alive(crate::support::job::runner_of(&id).unwrap());
    workshop.let_go("agent");
    workshop.wait_for(&id, "interrupted");
    let job = workshop.run(1, &ISSUE, "write b.txt b");
    assert_held(&job);
    assert_eq!(job.0["dropped"]["commits"][0]["commit"], commit.as_str());
    assert_eq!(workshop.git(&tree, &["rev-parse", job.0["dropped"]["refs"][0].as_str().unwrap()]), commit);
}

#[test]
fn a_secret_is_found_whatever_git_makes_of_it() {
    let workshop = with_secret("");
    workshop.story.change(|repository| {
        repository.write("secrets.key", "PASSWORD=hunter2\r\n");
        repository.write(".gitattributes", "* text=auto\n");
        repository.git(&["add", ".gitattributes"]);
        repository.git(&["commit", "--quiet", "--message", "attributes"]);
        repository.push().head()
    });
    let job = workshop.run(1, &ISSUE, "git mv -f a b || cp secrets.key conf.txt\ngit add conf.txt\ngit commit -qm x");
    assert_eq!(job.0["push"], "held", "{:#}", job.0);
}

#[test]
fn another_remote_and_a_replacement_hide_no_secret() {
    for trick in [
        "git init -q --bare BACKUP\ngit remote add backup BACKUP\ngit push -q backup HEAD:refs/heads/x",
        "git rm -q --cached conf.txt\ngit commit -qm without\ngit replace --graft HEAD origin/main",
    ] {
        let workshop = with_secret("");
        let copy = "git mv -f a b || cp secrets.key conf.txt\ngit add conf.txt\ngit commit -qm x";
        let trick = trick.replace("BACKUP", &workshop.beside_text("backup.git"));
        let job = workshop.story.change(|_| workshop.run(1, &ISSUE, &format!("{copy}\n{trick}\nwrite w.txt w")));
        assert_held(&job);
        assert_eq!(workshop.pushed(), ["main"], "{trick}");
    }
}

#[test]
fn a_large_secret_is_found_under_another_name_too() {
    for size in [(1 << 20) + 1, (64 << 20) + 1] {
        for prompt in ["git version", "git add config\ngit commit --quiet --message copied"] {
            let workshop = with_secret("");
            workshop.story.change(|repository| {
                repository.write("secrets.key", "x".repeat(size));
            });
            let prompt = format!("write config/a.txt a\ngit version && cp secrets.key config/x.txt\n{prompt}");
            let job = workshop.run(if size > 64 << 20 || prompt.contains("commit") { 1 } else { 0 }, &ISSUE, &prompt);
            let tree = workshop.story.remote().git(&["log", "--all", "--name-only", "--format="]);
            assert!(!tree.contains("x.txt"), "{tree}: {:#}", job.0);
        }
    }
}
