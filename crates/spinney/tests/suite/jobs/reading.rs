//! Jobs of an agent that needs no isolation: they share a checkout of base in which nothing can be written, leave nothing
//! behind, and lose nothing of what they change in spite of it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::support::common::refused;
use crate::support::job::{Job, LONG, Offered, Workshop, agent, read_pid, runner_of, signal};
use rustix::process::Signal;
use serde_json::{Value, json};
use spinney_testkit::{postgres_database, wait_until, write_program};

const READS: &str = "requires_isolation = false\n";

/// Moves base on.
fn advance(workshop: &Workshop, file: &str) -> String {
    let newest = workshop.story.remote().advance(file);
    workshop.cli.run(&["repo", "sync"]).ok();
    newest
}

/// The files and directories of a tree that somebody may write.
fn writable(path: &Path, found: &mut Vec<PathBuf>) {
    let metadata = fs::symlink_metadata(path).unwrap();
    if !metadata.is_symlink() && metadata.permissions().mode() & 0o222 != 0 {
        found.push(path.to_owned());
    }
    if metadata.is_dir() {
        fs::read_dir(path).unwrap().for_each(|entry| writable(&entry.unwrap().path(), found));
    }
}

#[track_caller]
fn assert_sealed(tree: &Path) {
    let mut found = Vec::new();
    writable(tree, &mut found);
    assert!(found.is_empty(), "{found:?}");
}

/// The names of what is somebody's.
fn names(workshop: &Workshop) -> Vec<String> {
    let listed = workshop.cli.run(&["ls", "--json"]).ok().json();
    listed["workspaces"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect()
}

/// The names of what is in the trash.
fn trashed(workshop: &Workshop) -> Vec<String> {
    let listed = workshop.cli.run(&["trash", "ls", "--json"]).ok().json();
    listed["trash"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn readers_share_a_checkout_of_base() {
    let workshop = Workshop::new(&format!("{READS}[limits]\nmax_workspaces = 1\n"));
    workshop.story.make(&["--issue", "7"]);
    let gate = workshop.beside("gate");
    fs::create_dir(&gate).unwrap();
    let prompt = format!("gate {}\ngit rev-parse HEAD", gate.display());
    let ids = [["--issue", "7"], ["--issue", "8"], ["--task", "read"]].map(|work| workshop.detach(&work, &prompt));
    wait_until(|| fs::read_dir(&gate).unwrap().count() == 3, LONG);
    let jobs = ids.each_ref().map(|id| workshop.job(id));
    assert!(jobs.iter().all(|job| job.text("status") == "running"), "all at once, whoever has issue-7");
    let tree = jobs[0].path();
    assert!(jobs.iter().all(|job| job.path() == tree));
    assert_sealed(&tree);
    fs::write(gate.join("go"), "").unwrap();
    let tip = workshop.story.remote().tip("main");
    for id in &ids {
        let job = workshop.wait_for_end(id);
        assert_eq!((job.text("status"), job.text("summary")), ("completed", tip.as_str()));
        for key in ["workspace", "workspace_id", "branch", "push", "commit"] {
            assert_eq!(job.0[key], Value::Null, "{key}");
        }
        assert_eq!((job.text("base_commit"), &job.0["escaped"], job.path()), (tip.as_str(), &json!([]), tree.clone()));
    }
    assert_eq!(names(&workshop), ["issue-7"]);
    assert_eq!(
        (workshop.story.branches(), workshop.pushed()),
        (vec!["issue-7".into(), "main".into()], vec!["main".into()])
    );
    let status = workshop.cli.run(&["status", "--json"]).ok().json();
    let counts = &status["repositories"][0]["workspaces"];
    assert_eq!((&counts["reading"], &counts["active"]), (&1.into(), &1.into()), "{status:#}");
    refused(&workshop.cli, 4, &["rm", tree.file_name().unwrap().to_str().unwrap()]);
    workshop.cli.run(&["doctor"]).ok();
    // Nobody has to read the files to know that they are as they were.
    let listed = workshop.git(&tree, &["diff-files", "--name-only"]);
    assert_eq!(listed, "");
}

#[test]
fn a_reader_is_told_where_it_is() {
    let workshop = Workshop::new(READS);
    let dump = workshop.beside_text("dump");
    let job = workshop.complete(&["--issue", "7", "--title", "Why so slow?"], &format!("dump-env {dump}"));
    let text = fs::read_to_string(dump).unwrap();
    let variable = |name: &str| text.lines().find_map(|line| line.strip_prefix(&format!("{name}="))).map(str::to_owned);
    let tree = job.path().to_str().unwrap().to_owned();
    assert_eq!((variable("SPINNEY_WORKTREE_PATH"), variable("PWD")), (Some(tree.clone()), Some(tree)));
    assert_eq!(variable("SPINNEY_WORKTREE_BRANCH").as_deref(), Some(""));
    assert_eq!(variable("SPINNEY_WORKTREE_BASE_BRANCH").as_deref(), Some("main"));
    assert_eq!(variable("SPINNEY_WORK_ITEM_ID").as_deref(), Some("7"));
    assert_eq!(variable("SPINNEY_WORK_ITEM_TITLE").as_deref(), Some("Why so slow?"));
    assert_eq!(variable("SPINNEY_WORKSPACE_STRATEGY").as_deref(), Some("reading"));
    workshop.assert_logged(job.id(), "reads main ");
    let told = workshop.cli.run(&["run", "--agent", "coder", "print hello"]).ok();
    assert!(!told.stderr.contains("its work is in") && !told.stderr.contains("spinney path"), "{}", told.told());
}

#[test]
fn readers_of_one_conversation_wait_for_each_other() {
    let workshop = Workshop::new(&format!("{READS}{}{READS}", agent("other")));
    let first = workshop.detach(&["--issue", "7"], &workshop.hold("first"));
    workshop.wait_for_agent("first");
    refused(&workshop.cli, 5, &["run", "--agent", "coder", "--issue", "7", "print second"]);
    let second = workshop.detach(&["--wait", "--issue", "7"], "print second");
    wait_until(|| workshop.job(&second).0["waits_for"].to_string().contains(&first), LONG);
    let other = workshop.cli.run(&["run", "--json", "--agent", "other", "--issue", "7", "print other"]).ok();
    assert_eq!(Job::of(&other).text("status"), "completed");
    workshop.let_go("first");
    assert_eq!(workshop.wait_for_end(&second).text("status"), "completed");
}

#[test]
fn a_checkout_stays_where_it_is_while_somebody_reads() {
    let workshop = Workshop::new(READS);
    let first = workshop.detach(&[], &format!("{}\ngit rev-parse HEAD", workshop.hold("first")));
    workshop.wait_for_agent("first");
    let tree = workshop.job(&first).path();
    let old = workshop.story.remote().tip("main");
    let newest = advance(&workshop, "new.txt");
    let second = workshop.complete(&[], "git rev-parse HEAD");
    assert_eq!(second.text("summary"), newest);
    assert_ne!(second.path(), tree);
    // No sweep takes it either.
    workshop.cli.run(&["cleanup", "all"]).ok();
    assert!(tree.is_dir());
    workshop.let_go("first");
    assert_eq!(workshop.wait_for_end(&first).text("summary"), old);
    assert_eq!(workshop.story.worktrees(), [second.path()], "the last reader took the old one along");
    assert_eq!(trashed(&workshop), Vec::<String>::new());
    // Nobody comes any more: a sweep takes what is behind.
    advance(&workshop, "newer.txt");
    let swept = workshop.cli.run(&["cleanup", "orphans", "--dry-run", "--json"]).ok().stdout;
    assert!(swept.contains("its base has moved on") && second.path().is_dir(), "{swept}");
    workshop.cli.run(&["cleanup", "orphans"]).ok();
    workshop.story.assert_nothing_made();
}

#[test]
fn a_base_that_was_written_anew_is_followed() {
    let workshop = Workshop::new(READS);
    workshop.complete(&[], "print one");
    advance(&workshop, "new.txt");
    workshop.complete(&[], "print two");
    workshop.story.remote().git(&["update-ref", "refs/heads/main", "main~1"]);
    let back = workshop.story.remote().tip("main");
    workshop.cli.run(&["repo", "sync"]).ok();
    assert_eq!(workshop.complete(&[], "git rev-parse HEAD").text("summary"), back);
    let newest = advance(&workshop, "other.txt");
    assert_eq!(workshop.complete(&[], "git rev-parse HEAD").text("summary"), newest);
    assert_eq!(workshop.story.worktrees().len(), 1);
}

#[test]
fn each_base_has_its_own_checkout() {
    let workshop = Workshop::new(READS);
    workshop.story.remote().git(&["branch", "release", "main"]);
    let newest = advance(&workshop, "new.txt");
    let main = workshop.complete(&[], "git rev-parse HEAD");
    let release = workshop.complete(&["--base", "release"], "git rev-parse HEAD");
    assert_eq!(main.text("summary"), newest);
    assert_ne!(release.text("summary"), newest);
    assert_eq!(workshop.complete(&[], "print again").path(), main.path());
    assert_eq!(workshop.complete(&["--base", "release"], "print again").path(), release.path());
}

/// What a reader does that it should not, and what is told of it.
const CHANGES: [(&str, &str); 5] = [
    ("write new.txt mine", "/new.txt (new)"),
    ("append README.md mine", "/README.md (changed)"),
    ("git rm --quiet README.md", "/README.md (deleted)"),
    ("git commit --quiet --allow-empty --message mine", " HEAD ("),
    ("git switch --quiet -c mine", " → mine)"),
];

#[test]
fn what_a_reader_changes_is_told_and_kept() {
    let workshop = Workshop::new(READS);
    for (change, told) in CHANGES {
        let clean = workshop.complete(&[], "print clean").path();
        // Permissions do not hold root back; who is not root takes them off.
        let job = workshop.complete(&[], &format!("git version; chmod -R u+w .\n{change}\nprint done"));
        assert_eq!(job.0["path"], Value::Null, "{change}");
        let escaped = job.0["escaped"].to_string();
        assert!(escaped.contains(told) && escaped.contains(clean.to_str().unwrap()), "{change}: {escaped}");
        workshop.assert_logged(job.id(), "it goes to the trash as reading-");
        let name = job.text("workspace").to_owned();
        assert_eq!(trashed(&workshop), [name.as_str()], "{change}");
        let next = workshop.complete(&[], "git status --porcelain; git rev-parse --abbrev-ref HEAD");
        assert_ne!(next.path(), clean);
        assert_eq!((next.text("summary"), &next.0["escaped"]), ("HEAD", &json!([])));
        assert_sealed(&next.path());

        workshop.cli.run(&["restore", &name]).ok();
        assert_eq!(workshop.story.show(&name).path(), clean);
        fs::write(clean.join("can be written"), "").unwrap();
        if change.starts_with("write") {
            assert_eq!(fs::read_to_string(clean.join("new.txt")).unwrap(), "mine\n");
        }
        workshop.cli.run(&["rm", &name, "--force"]).ok();
        workshop.cli.run(&["trash", "purge", "--all"]).ok();
    }
    let told = workshop.cli.run(&["run", "--agent", "coder", "write again.txt x"]).ok().stderr;
    assert!(told.contains("! the checkout that it may only read changed meanwhile: 1 file: "), "{told}");
    assert!(told.contains("what was changed is in the trash: spinney restore reading-"), "{told}");
}

#[test]
fn what_one_reader_changes_no_other_one_comes_to() {
    let workshop = Workshop::new(READS);
    let first = workshop.detach(&[], &workshop.hold("first"));
    workshop.wait_for_agent("first");
    let tree = workshop.job(&first).path();
    workshop.complete(&[], "write new.txt mine");
    assert!(tree.join("new.txt").exists(), "somebody reads there");
    let next = workshop.complete(&[], "print next");
    assert_ne!(next.path(), tree);
    workshop.let_go("first");
    let first = workshop.wait_for_end(&first);
    assert!(first.0["escaped"].to_string().contains("new.txt (new)"), "{:#}", first.0);
    assert_eq!(trashed(&workshop), [first.text("workspace")]);
    assert_eq!(workshop.story.worktrees(), [next.path()]);
}

#[test]
fn who_is_not_root_can_not_write() {
    let workshop = Workshop::new(READS);
    let program = workshop.beside("unprivileged");
    let script = "#!/bin/sh\nexec setpriv --bounding-set=-all --inh-caps=-all sh -c \
                  'echo x > new.txt; echo x >> README.md; rm -f README.md; mkdir made; git status --porcelain' 2>/dev/null\n";
    write_program(&program, script);
    let config = format!("[agents.coder]\nruntime = \"command\"\ncommand = [\"{}\"]\n{READS}", program.display());
    workshop.story.sandbox().write_config(&config);
    let job = workshop.complete(&[], "write");
    assert_eq!((&job.0["escaped"], &job.0["summary"]), (&json!([]), &Value::Null));
    assert!(job.path().join("README.md").exists());
}

#[test]
fn without_roots_rights_checkouts_are_taken_out_all_the_same() {
    let workshop = Workshop::new(READS);
    let setpriv = workshop.story.sandbox().cli("setpriv").in_directory(workshop.story.repository.path());
    let run = |prompt: &str| {
        let line = [
            "--bounding-set=-all",
            "--inh-caps=-all",
            crate::support::common::BINARY,
            "--json",
            "run",
            "--agent",
            "coder",
            "--",
        ];
        Job::of(&setpriv.run(&[&line[..], &[prompt]].concat()).ok())
    };
    let first = run("print one").path();
    assert_sealed(&first);
    advance(&workshop, "new.txt");
    let second = run("print two").path();
    assert_eq!(workshop.story.worktrees(), std::slice::from_ref(&second), "the first one is deleted");
    let job = run("git version; chmod -R u+w .\nwrite src/mine.txt mine");
    assert_eq!(trashed(&workshop), [job.text("workspace")]);
    workshop.cli.run(&["restore", job.text("workspace")]).ok();
    assert_eq!(fs::read_to_string(second.join("src/mine.txt")).unwrap(), "mine\n");
}

#[test]
fn a_reader_opens_no_pull_request() {
    let Offered { workshop, forge, .. } = &Offered::new("");
    workshop.configure(&format!("{READS}[agents.coder.workspace]\ncreate_pr = true\n"));
    workshop.complete(&["--issue", "7"], "write new.txt x");
    assert!(forge.pull_requests().is_empty());
    assert_eq!(workshop.pushed(), ["main"]);
}

#[test]
fn a_program_is_told_to_read_only_unless_a_person_says_otherwise() {
    let workshop = Workshop::new("");
    let program = workshop.beside("claude");
    let script = "#!/bin/sh\nfor word; do case $word in --permission-mode=*) said=$word;; esac; done\n\
                  echo '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"'$said'\"}'\n";
    write_program(&program, script);
    let said = |settings: &str| {
        let config = format!("[agents.coder]\nruntime = \"claude\"\ncommand = [\"{}\"]\n{settings}", program.display());
        workshop.story.sandbox().write_config(&config);
        workshop.complete(&[], "anything").text("summary").to_owned()
    };
    assert_eq!(said(READS), "--permission-mode=plan");
    assert_eq!(said(&format!("{READS}permission_mode = \"dontAsk\"\n")), "--permission-mode=dontAsk");
    assert_eq!(said(""), "--permission-mode=acceptEdits");
}

#[test]
fn a_repository_goes_with_what_is_there_to_read_in() {
    let workshop = Workshop::new(READS);
    let job = workshop.complete(&[], "print one");
    workshop.cli.run(&["repo", "rm", job.text("repository")]).ok();
    assert!(!job.path().exists());
    assert_eq!(workshop.story.worktrees(), Vec::<PathBuf>::new());
}

#[test]
fn a_lost_database_does_not_lose_track_of_them() {
    let workshop = Workshop::new(READS);
    let tree = workshop.complete(&[], "print one").path();
    let home = workshop.story.sandbox().spinney_home();
    for file in ["spinney.db", "spinney.db-wal", "spinney.db-shm"] {
        let _ = fs::remove_file(home.join(file));
    }
    workshop.cli.run(&["ls"]).ok();
    workshop.cli.run(&["cleanup", "orphans"]).ok();
    assert_eq!(names(&workshop), Vec::<String>::new());
    let next = workshop.complete(&[], "print two");
    assert_ne!(next.path(), tree);
    assert_eq!(workshop.story.worktrees(), [next.path()]);
}

#[test]
fn a_reader_that_died_leaves_nothing_that_is_lost() {
    let workshop = Workshop::new(READS);
    let id = workshop.detach(&[], &format!("write new.txt mine\n{}", workshop.hold("agent")));
    workshop.wait_for_agent("agent");
    let tree = workshop.job(&id).path();
    signal(runner_of(&id).unwrap(), Signal::KILL);
    workshop.wait_for(&id, "interrupted");
    let next = workshop.complete(&[], "print next");
    assert_ne!(next.path(), tree);
    assert_eq!(trashed(&workshop).len(), 1);
    workshop.let_go("agent");
    assert_eq!(workshop.retry(0, &id).text("status"), "completed");

    // A sweep finds it, too.
    fs::remove_file(workshop.beside("agent.pid")).unwrap();
    fs::remove_file(workshop.beside("agent.go")).unwrap();
    let id = workshop.detach(&[], &format!("write newer.txt mine\n{}", workshop.hold("agent")));
    read_pid(&workshop.beside("agent.pid"));
    signal(runner_of(&id).unwrap(), Signal::KILL);
    workshop.wait_for(&id, "interrupted");
    workshop.cli.run(&["cleanup", "orphans"]).ok();
    assert_eq!(trashed(&workshop).len(), 3);
    assert_eq!(workshop.story.worktrees(), Vec::<PathBuf>::new());
}

/// Readers die at these points, one after the other; the next one finds a checkout that is as it should be, and no other is
/// left.
#[track_caller]
fn die_at_each(points: &[&str], prompt: &str) -> Workshop {
    let workshop = Workshop::new(READS);
    for (step, point) in points.iter().enumerate() {
        println!("dies at {point}");
        let tip = advance(&workshop, &format!("{step}.txt"));
        let armed = workshop.cli.with_variable("SPINNEY_FAIL", *point);
        let died = armed.run(&["run", "--json", "--agent", "coder", "--", prompt]).exits(6);
        workshop.cli.run(&["ls"]).ok();
        let next = workshop.complete(&[], "git status --porcelain; git rev-parse HEAD");
        let seen = (next.text("summary"), &next.0["escaped"]);
        assert_eq!(seen, (tip.as_str(), &json!([])), "{point}: {}", died.told());
        assert_sealed(&next.path());
        assert_eq!(workshop.story.worktrees(), [next.path()], "{point}");
    }
    workshop.cli.run(&["doctor"]).ok();
    workshop.story.assert_nothing_left_over();
    let found = workshop.cli.run(&["cleanup", "orphans", "--json"]).ok().json();
    assert_eq!(found["findings"], json!([]));
    workshop
}

#[test]
fn a_death_at_any_step_of_making_and_taking_out_is_healed() {
    let workshop = die_at_each(
        &[
            "warm.recorded",
            "create.registered",
            "warm.added",
            "warm.filled",
            "reading.filled",
            "reading.sealed",
            "warm.prepared",
            "warm.settled",
            "reading.chosen",
            "retire.recorded",
            "undo.moved",
            "retire.moved",
            "retire.forgotten",
            "reading.stopped",
        ],
        "print done",
    );
    assert_eq!(trashed(&workshop), Vec::<String>::new());
}

#[test]
fn a_death_at_any_step_loses_nothing_that_was_changed() {
    let points = [
        "reading.noted",
        "reading.stopped",
        "remove.recorded",
        "remove.pinned",
        "remove.marked",
        "remove.tree-moved",
        "remove.moved",
        "remove.settled",
    ];
    let workshop = die_at_each(&points, "write new.txt mine");
    let kept = trashed(&workshop);
    assert_eq!(kept.len(), points.len(), "{kept:?}");
    for name in kept {
        workshop.cli.run(&["restore", &name]).ok();
        assert_eq!(fs::read_to_string(workshop.story.show(&name).path().join("new.txt")).unwrap(), "mine\n");
    }
}

#[test]
fn readers_share_on_postgresql_too() {
    let database = postgres_database();
    let mut workshop = Workshop::new(READS);
    workshop.cli = workshop.cli.with_variable("SPINNEY_DATABASE_URL", database.url());
    let first = workshop.detach(&[], &workshop.hold("first"));
    workshop.wait_for_agent("first");
    let second = workshop.complete(&[], "write new.txt mine");
    workshop.let_go("first");
    assert!(workshop.wait_for_end(&first).text("workspace").starts_with("reading-"));
    assert!(second.0["escaped"].to_string().contains("new.txt (new)"), "{:#}", second.0);
    assert_eq!(trashed(&workshop).len(), 1);
    assert_eq!(workshop.complete(&[], "print next").0["escaped"], json!([]));
}
