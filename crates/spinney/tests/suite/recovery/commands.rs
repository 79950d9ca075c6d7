//! `doctor`, and what the next command makes of a mess: a mark, a fact, and what to type.

use std::fs;
use std::time::{Duration, SystemTime};

use crate::support::common::{Story, refused};
use serde_json::Value;

/// The checks that are not good: mark, name, fact, fix.
#[track_caller]
fn findings(story: &Story, status: i32) -> Vec<(String, String, String, String)> {
    let document = story.cli.run(&["doctor", "--json"]).exits(status).json();
    assert_eq!(document["healthy"], status == 0, "{document}");
    let text = |check: &Value, key: &str| check[key].as_str().unwrap_or_default().to_owned();
    let checks = document["checks"].as_array().unwrap().iter().filter(|check| check["mark"] != "good");
    checks.map(|check| (text(check, "mark"), text(check, "name"), text(check, "fact"), text(check, "fix"))).collect()
}

#[test]
fn a_healthy_installation_has_no_findings() {
    let story = Story::new();
    story.make(&["--issue", "1"]);
    assert_eq!(findings(&story, 0), []);
    let told = story.cli.run(&["doctor"]).ok();
    assert_eq!(told.stderr, "");
    assert!(told.stdout.lines().all(|line| line.starts_with('✓')), "{}", told.told());
    for name in ["git", "home", "store", "disk", "operations", "workspaces"] {
        assert!(told.stdout.lines().any(|line| line.contains(&format!("✓  {name} "))), "{name}: {}", told.told());
    }
}

#[test]
fn an_orphan_is_adopted_by_the_command_that_is_named() {
    let story = Story::new();
    story.cli.run(&["ls"]).ok();
    story.foreign_worktree("one", "feature/one");
    story.foreign_worktree("two", "feature/two");
    let found = findings(&story, 0);
    let [(mark, name, fact, fix)] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((mark.as_str(), name.as_str()), ("notice", "orphans"));
    assert!(fact.contains("2 worktrees of local/app"), "{fact}");
    let words: Vec<_> = fix.strip_prefix("spinney ").unwrap().split(' ').collect();
    story.cli.run(&words).ok();
    assert_eq!(findings(&story, 0), []);
    assert_eq!(story.names(), ["task-feature-one", "task-feature-two"]);
}

#[test]
fn a_row_without_its_directory_is_told_and_can_go_either_way() {
    let story = Story::new();
    let (one, two) = (story.make(&["--issue", "1"]), story.make(&["--issue", "2"]));
    let away = story.sandbox().path().join("away");
    fs::create_dir(&away).unwrap();
    for workspace in [&one, &two] {
        fs::rename(workspace.path(), away.join(workspace.text("id"))).unwrap();
    }
    let found = findings(&story, 0);
    assert_eq!(found.len(), 2, "{found:?}");
    for ((mark, name, fact, fix), workspace) in found.iter().zip([&two, &one]) {
        assert_eq!((mark.as_str(), name.as_str()), ("notice", "workspace"));
        assert!(fact.contains("its directory is gone") && fact.contains(workspace.text("name")), "{fact}");
        assert!(fix.contains(&format!("spinney rm {}", workspace.text("id"))), "{fix}");
    }
    let listed = story.cli.run(&["ls", "-l"]).ok().stdout;
    assert_eq!(listed.lines().filter(|line| line.contains(" lost ")).count(), 2, "{listed}");
    refused(&story.cli, 1, &["path", "issue-1"]).says(&["the files of issue-1 are not there"]).hints(&["spinney show"]);
    story.cli.run(&["rm", one.text("id")]).ok();
    assert_eq!(story.make(&["--issue", "2"]).text("id"), two.text("id"));
    assert_eq!(findings(&story, 0), []);
}

#[test]
fn a_stale_lock_is_swept_up_and_a_held_one_is_not() {
    let story = Story::new();
    story.cli.run(&["ls"]).ok();
    let operations = story.sandbox().spinney_home().join("operations");
    let stale = operations.join("abcdefgh12");
    fs::write(&stale, "").unwrap();
    let held = operations.join("abcdefgh34");
    fs::write(&held, "").unwrap();
    let holder = story.sandbox().cli("/usr/bin/flock").spawn(&["-F", held.to_str().unwrap(), "sleep", "100"]);
    let is_held = || story.sandbox().cli("/usr/bin/flock").run(&["-n", held.to_str().unwrap(), "true"]).status == 1;
    spinney_testkit::wait_until(is_held, Duration::from_secs(20));
    let told = story.cli.run(&["doctor"]).ok().stdout;
    assert!(told.contains("1 stale lock swept up"), "{told}");
    assert!(!stale.exists() && held.exists());
    assert!(!story.cli.run(&["doctor"]).ok().stdout.contains("swept"));
    holder.kill();
    fs::remove_file(held).unwrap();
}

#[test]
fn a_stale_lock_in_the_trash_is_swept_up_and_no_young_one() {
    let story = Story::new();
    let workspace = story.make(&["--issue", "1"]);
    fs::write(workspace.path().join("new.txt"), "work").unwrap();
    story.cli.run(&["rm", "issue-1", "--force"]).ok();
    let trashed = story.repository.path().join(".git/spinney").join(workspace.text("id"));
    let leave = |name: &str, age_secs: u64| {
        let path = trashed.join(name);
        let file = fs::File::create(&path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(age_secs)).unwrap();
        path
    };
    let old = ["AUTO_MERGE.lock", "HEAD.lock", "packed-refs.lock"].map(|name| leave(name, 60));
    // As of a clock that is ahead: nobody can say that its git has ended.
    let young = trashed.join("ORIG_HEAD.lock");
    fs::File::create(&young).unwrap().set_modified(SystemTime::now() + Duration::from_secs(3600)).unwrap();
    story.cli.run(&["cleanup", "orphans"]).ok();
    assert!(!old.iter().any(|lock| lock.exists()) && young.exists());
    fs::remove_file(young).unwrap();
    story.cli.run(&["restore", "issue-1"]).ok();
    assert_eq!(fs::read_to_string(workspace.path().join("new.txt")).unwrap(), "work");
    story.sandbox().git(workspace.path(), &["switch", "--quiet", "--no-track", "-c", "other"]);
}

#[test]
fn a_repository_that_moved_is_told() {
    let story = Story::new();
    story.cli.run(&["ls"]).ok();
    let gone = story.sandbox().repository("gone");
    story.cli.in_directory(gone.path()).run(&["ls"]).ok();
    fs::rename(gone.path(), story.sandbox().path().join("elsewhere")).unwrap();
    let found = findings(&story, 1);
    let [(mark, name, fact, fix)] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((mark.as_str(), name.as_str()), ("bad", "repository"));
    assert!(fact.contains("local/gone") && fact.contains(gone.path().to_str().unwrap()), "{fact}");
    assert!(fix.ends_with("spinney repo rm local/gone"), "{fix}");
    // What it names works, although there is nothing to open any more.
    story.cli.run(&["repo", "rm", "local/gone"]).ok();
    assert_eq!(findings(&story, 0), []);
}

#[test]
fn too_little_disk_is_bad() {
    let story = Story::new();
    story.sandbox().write_config("[limits]\nmin_free_disk = \"9000000GiB\"\n");
    let found = findings(&story, 1);
    let [(mark, name, fact, fix)] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((mark.as_str(), name.as_str()), ("bad", "disk"));
    assert!(fact.contains("must stay free") && fix.contains("spinney"), "{fact} {fix}");
    let told = story.cli.run(&["doctor"]).exits(1).stdout;
    assert!(told.lines().any(|line| line.starts_with("✗  disk")), "{told}");
}

#[test]
fn what_keeps_spinney_from_starting_is_a_line_too() {
    let story = Story::new();
    let file = story.sandbox().path().join("file");
    fs::write(&file, "").unwrap();
    let ran = story.cli.run(&["--home", file.to_str().unwrap(), "doctor"]).exits(1);
    assert!(ran.stdout.starts_with("✗  ") && ran.stdout.contains("--home DIR"), "{}", ran.told());
    let wrong = story.cli.with_variable("SPINNEY_X__Y", "1").run(&["doctor", "--json"]).exits(1).json();
    assert_eq!((&wrong["healthy"], &wrong["checks"][0]["mark"]), (&false.into(), &"bad".into()));
}

#[test]
fn an_agent_whose_program_is_missing_is_told_with_its_key() {
    let story = Story::new();
    story.make(&["--issue", "1"]);
    let agent = |name: &str, program: &str| {
        format!("[agents.{name}]\nruntime = \"command\"\ncommand = [\"{program}\", \"-c\", \"true\"]\n")
    };
    story.sandbox().write_config(&agent("here", "sh"));
    assert_eq!(findings(&story, 0), []);
    story
        .sandbox()
        .write_config(&(agent("here", "sh") + &agent("gone", "no-such-program") + &agent("far", "/no/such")));
    let found = findings(&story, 1);
    let told: Vec<_> = found.iter().map(|(mark, name, _, fix)| (mark.as_str(), name.as_str(), fix.as_str())).collect();
    let fix = |name: &str| format!("install it, or set `agents.{name}.command`");
    assert_eq!(told, [("bad", "agent", &*fix("far")), ("bad", "agent", &*fix("gone"))]);
}

#[test]
fn an_interrupted_job_is_named_until_somebody_goes_on() {
    let story = Story::new();
    let agent = spinney_testkit::scripted_agent();
    story.sandbox().write_config(&format!("[agents.coder]\nruntime = \"command\"\ncommand = [{agent:?}]\n"));
    let pid = story.sandbox().path().join("pid");
    let prompt = format!("once {0} pid {0}\nwrite a.txt x", pid.display());
    let prompt = format!("{prompt}\nonce {}.slept sleep 100", pid.display());
    let job = story.cli.run(&["run", "--detach", "--issue", "1", &prompt]).ok().stdout.trim().to_owned();
    let is_up = || fs::read_to_string(&pid).is_ok_and(|pid| !pid.trim().is_empty());
    spinney_testkit::wait_until(is_up, Duration::from_secs(60));
    let parent = |pid: &str| {
        let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap();
        stat[stat.rfind(')').unwrap() + 1..].split_whitespace().nth(1).unwrap().parse::<i32>().unwrap()
    };
    let runner = rustix::process::Pid::from_raw(parent(&fs::read_to_string(&pid).unwrap())).unwrap();
    rustix::process::kill_process(runner, rustix::process::Signal::KILL).unwrap();
    spinney_testkit::wait_until(
        || story.cli.run(&["jobs", "--json"]).stdout.contains("interrupted"),
        Duration::from_secs(60),
    );
    let found = findings(&story, 0);
    let expected = ("notice".into(), "jobs".into(), "1 interrupted".into(), format!("spinney retry {job}"));
    assert_eq!(found, [expected]);
    story.cli.run(&["retry", &job]).ok();
    assert_eq!(findings(&story, 0), []);
}
