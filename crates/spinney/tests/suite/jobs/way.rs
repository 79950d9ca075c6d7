//! The way of a job: set up once, hooks around its sessions, what is left over committed, its end on record.

use std::fs;

use crate::support::common::Story;
use crate::support::job::{Job, Workshop};
use serde_json::Value;
use spinney_testkit::Sandbox;

#[test]
fn set_up_happens_once_and_teardown_once() {
    let workshop = Workshop::new("[workspace]\nsetup = [\"echo set up >> \\\"$HOME/set-up\\\"\"]\n");
    let job = workshop.complete(&[], "write made.txt by the agent\nprint all done");
    assert_eq!((job.text("status"), job.text("summary")), ("completed", "all done"));
    assert_eq!(job.0["attempt"], 1);
    let set_up = fs::read_to_string(workshop.story.sandbox().home().join("set-up")).unwrap();
    assert_eq!(set_up, "set up\n");
    // Its work is delivered: the workspace of a job without a work item goes.
    let branch = format!("agent/coder/job-{}", job.id());
    assert_eq!((job.text("branch"), &job.0["pushed"], &job.0["path"]), (branch.as_str(), &true.into(), &Value::Null));
    assert_eq!(workshop.story.remote().git(&["show", &format!("{branch}:made.txt")]), "by the agent");
    let torn_down = workshop.log(job.id()).iter().filter(|event| event.to_string().contains("in the trash")).count();
    assert_eq!(torn_down, 1);
}

#[test]
fn a_work_item_keeps_its_workspace_for_the_next_job() {
    let workshop = Workshop::new("");
    let first = workshop.complete(&["--issue", "42", "--title", "Login"], "write one.txt 1");
    assert_eq!(first.text("branch"), "agent/coder/issue-42");
    let second = workshop.complete(&["--issue", "42"], "write two.txt 2\ncommit mine");
    assert_eq!(first.path(), second.path());
    assert_eq!((&first.0["commits"], &second.0["commits"]), (&1.into(), &2.into()));
    let branch = "agent/coder/issue-42";
    assert_eq!(
        workshop.story.remote().git(&["log", "--format=%s", &format!("main..{branch}")]),
        "mine\nagent: write one.txt 1"
    );
    assert_eq!(workshop.story.remote().tip(branch), second.text("commit"));
}

#[test]
fn what_is_left_over_is_committed_without_the_repositorys_hooks() {
    let workshop =
        Workshop::new("[agents.coder.workspace]\ncommit_message = \"{workItem} {jobId}: {summary}\\n\\nmore\"\n");
    let hook = workshop.story.repository.path().join(".git/hooks/pre-commit");
    workshop.story.change(|repository| {
        for name in
            ["pre-commit", "commit-msg", "prepare-commit-msg", "post-commit", "reference-transaction", "pre-push"]
        {
            repository.write_executable(format!(".git/hooks/{name}"), "#!/bin/sh\ntouch \"$HOME/hook-ran\"\nexit 1\n");
        }
    });
    let before = fs::read(&hook).unwrap();
    let job =
        workshop.complete(&["--issue", "7"], "write a.txt a\nappend README.md more\nwrite STATE.json {}\nprint did it");
    let log = workshop.git(job.path(), &["log", "-1", "--format=%an <%ae>%n%B"]);
    let expected = format!("Test Person <person@example.com>\nissue-7 {}: did it\n\nmore", job.id());
    assert_eq!(log, expected);
    assert_eq!(workshop.git(job.path(), &["show", "--format=", "--name-only", "HEAD"]), "README.md\na.txt");
    assert!(job.path().join("STATE.json").exists());
    assert!(!workshop.story.sandbox().home().join("hook-ran").exists(), "a hook of the repository ran");
    assert_eq!(fs::read(&hook).unwrap(), before);
}

#[test]
fn a_tracked_state_file_is_committed_like_any_other() {
    let story = Story::new();
    story.change(|repository| {
        repository.write("STATE.json", "{}").commit("state");
        repository.push();
    });
    let workshop = Workshop::of(story, "");
    let job = workshop.complete(&["--issue", "7"], "write STATE.json {\"a\": 1}");
    assert_eq!(workshop.git(job.path(), &["show", "--format=", "--name-only", "HEAD"]), "STATE.json");
}

#[test]
fn without_an_identity_spinney_commits() {
    let workshop = Workshop::new("");
    let config = workshop.story.sandbox().home().join(".gitconfig");
    let text = fs::read_to_string(&config).unwrap();
    let nameless = text.replace("name = Test Person", "").replace("email = person@example.com", "");
    fs::write(&config, nameless).unwrap();
    let job = workshop.complete(&["--issue", "7"], "write a.txt a");
    assert_eq!(
        workshop.git(job.path(), &["log", "-1", "--format=%an <%ae> %cn"]),
        "Spinney <spinney@localhost> Spinney"
    );
}

#[test]
fn nothing_changed_means_nothing_pushed() {
    let workshop = Workshop::new("");
    let job = workshop.complete(&["--issue", "7"], "print looked around");
    assert_eq!((&job.0["push"], &job.0["commits"]), (&"nothing".into(), &0.into()));
    assert_eq!(workshop.pushed(), ["main"]);
    let job = workshop.complete(&[], "write STATE.json {}");
    assert_eq!((&job.0["push"], &job.0["path"]), (&"nothing".into(), &Value::Null));
    assert_eq!(workshop.pushed(), ["main"]);
}

#[test]
fn without_a_remote_the_push_is_skipped_and_said() {
    let workshop = Workshop::of(Story::of(Sandbox::new().repository("app")), "");
    let job = workshop.complete(&["--base", "main"], "write a.txt a");
    assert_eq!((&job.0["push"], &job.0["pushed"], &job.0["commits"]), (&"no_remote".into(), &false.into(), &1.into()));
    workshop.assert_logged(job.id(), "there is no remote: nothing pushed");
    // Its commit is nowhere else: the workspace stays, although a job's own would go.
    assert!(job.path().join("a.txt").exists());
    workshop.assert_logged(job.id(), "stays: unpushed");
}

#[test]
fn a_failed_sessions_work_stays_as_it_is() {
    let workshop = Workshop::new("");
    let job = workshop.run(1, &["--issue", "7"], "write a.txt a\nprint trying\nerror no luck\nexit 3");
    job.says(&["exit status 3", "no luck"]);
    assert_eq!((job.text("status"), &job.0["push"], &job.0["commits"]), ("failed", &Value::Null, &0.into()));
    assert_eq!(workshop.git(job.path(), &["status", "--porcelain"]), "?? a.txt");
    assert_eq!(workshop.pushed(), ["main"]);
    let crashed = workshop.run(1, &["--issue", "7"], "crash");
    crashed.says(&["signal 9"]);
    assert_eq!(workshop.git(job.path(), &["status", "--porcelain"]), "?? a.txt");
    // A committed piece of a failed session is not pushed either.
    workshop.run(1, &["--issue", "7"], "commit half\nexit 1");
    assert_eq!(workshop.pushed(), ["main"]);
    assert_eq!(workshop.job(job.id()).0["sessions"][0]["status"], "failed");
}

#[test]
fn an_opening_hook_that_fails_fails_the_job() {
    let workshop = Workshop::new(
        "[agents.coder.hooks]\nbefore_run = [\"echo $SPINNEY_JOB_ID > hooked\", \"echo no database >&2; exit 4\", \"touch third\"]\n\
         on_error = [\"cat > \\\"$HOME/result\\\"\"]\n",
    );
    let job = workshop.run(1, &["--issue", "7"], "write a.txt a");
    job.says(&["before_run `echo no database >&2; exit 4` failed with status 4: no database"]);
    let read = |name: &str| fs::read_to_string(job.path().join(name)).ok();
    assert_eq!(read("hooked").unwrap().trim_end(), job.id());
    assert_eq!((read("third"), read("a.txt")), (None, None));
    assert_eq!(job.0["sessions"], serde_json::json!([]));
    assert_eq!(workshop.pushed(), ["main"]);
    let result = fs::read_to_string(workshop.story.sandbox().home().join("result")).unwrap();
    let result: Value = serde_json::from_str(&result).unwrap();
    assert_eq!((&result["status"], &result["error"]), (&"failed".into(), &job.0["error"]));
}

/// Hooks that keep what they were given.
const CLOSING_HOOKS: &str = "[agents.coder.hooks]\n\
    after_run = [\"cat > after.json\", \"printf '%s' \\\"$SPINNEY_JOB_RESULT\\\" > env.json; echo $SPINNEY_JOB_STATUS > status; pwd > pwd\"]\n\
    on_error = [\"cat > error.json; echo $SPINNEY_JOB_STATUS > status\"]\n";

#[test]
fn closing_hooks_get_the_result() {
    let workshop = Workshop::new(CLOSING_HOOKS);
    let job = workshop.complete(&["--issue", "7"], "write a.txt a\nprint done");
    let read = |name: &str| fs::read_to_string(job.path().join(name)).unwrap();
    assert_eq!(read("after.json"), read("env.json"));
    assert_eq!((read("status").trim(), read("pwd").trim()), ("completed", job.text("path")));
    let result: Value = serde_json::from_str(&read("after.json")).unwrap();
    for key in ["id", "agent", "status", "branch", "commit", "commits", "summary", "push"] {
        assert_eq!(result[key], job.0[key], "{key}");
    }
    assert_eq!((&result["workspace"], &result["work_item"]), (&job.0["path"], &"issue-7".into()));
    assert!(!job.path().join("error.json").exists());

    let failed = workshop.run(1, &["--issue", "8"], "exit 2");
    let result: Value = serde_json::from_slice(&fs::read(failed.path().join("error.json")).unwrap()).unwrap();
    assert_eq!((&result["status"], &result["error"]), (&"failed".into(), &failed.0["error"]));
    assert!(!failed.path().join("after.json").exists());
}

#[test]
fn a_closing_hook_that_fails_is_told_and_changes_nothing() {
    let workshop =
        Workshop::new("[agents.coder.hooks]\nafter_run = [\"echo oh >&2; exit 9\", \"touch \\\"$HOME/second\\\"\"]\n");
    let job = workshop.complete(&["--issue", "7"], "write a.txt a");
    workshop.assert_logged(job.id(), "after_run `echo oh >&2; exit 9` failed with status 9: oh");
    assert!(workshop.story.sandbox().home().join("second").exists());
}

#[test]
fn a_huge_result_still_reaches_the_hooks() {
    let workshop = Workshop::new(CLOSING_HOOKS);
    let outside = workshop.story.repository.path().join("x".repeat(200));
    let script = format!("git version; for n in $(seq 900); do echo > {}$n; done", outside.display());
    let job = workshop.story.change(|repository| {
        let job = workshop.complete(&["--issue", "7"], &script);
        assert_eq!(job.0["escaped"].as_array().unwrap().len(), 900);
        repository.git(&["clean", "--quiet", "-fd"]);
        job
    });
    let result: Value = serde_json::from_slice(&fs::read(job.path().join("after.json")).unwrap()).unwrap();
    assert_eq!(result["escaped"], job.0["escaped"]);
    assert_eq!(fs::read_to_string(job.path().join("status")).unwrap().trim(), "completed");
}

#[test]
fn the_jobs_record_tells_all_of_it() {
    let workshop = Workshop::new("");
    let job = workshop.complete(&["--issue", "7", "--title", "A title"], "write a.txt a\nprint done");
    let listed = workshop.job(job.id());
    for key in ["kind", "key", "title", "prompt", "trigger", "agent", "status", "summary", "commit", "duration_ms"] {
        assert_eq!(listed.0[key], job.0[key], "{key}");
        assert_ne!(listed.0[key], Value::Null, "{key}");
    }
    assert_eq!((listed.text("trigger"), listed.text("prompt")), ("cli", "write a.txt a\nprint done"));
    let sessions = listed.0["sessions"].as_array().unwrap();
    assert_eq!((sessions.len(), &sessions[0]["status"]), (1, &"finished".into()));
    let phases: Vec<_> = workshop.log(job.id()).into_iter().filter(|event| event["type"] == "phase").collect();
    let names: Vec<_> = phases.iter().map(|event| event["phase"].as_str().unwrap()).collect();
    assert_eq!(names, ["set_up", "set_up", "session", "deliver", "deliver"]);
    assert!(!format!("{:?}", workshop.log(job.id())).contains("warning"));
    let finished: Vec<Job> =
        workshop.log(job.id()).into_iter().filter(|event| event["type"] == "finished").map(Job).collect();
    assert_eq!((finished.len(), finished[0].text("status")), (1, "completed"));
}
