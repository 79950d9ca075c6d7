//! A job's process dies at every step of its way, or is told to end: nothing is lost, nothing runs on, nothing is done
//! twice, and the job can be gone on with.

use std::fs;
use std::time::{Duration, Instant};

use crate::support::job::{LONG, Offered, Workshop, is_alive, read_pid, runner_of, signal};
use crate::support::kill::{Random, Victim, kill};
use rustix::process::Signal;
use spinney_engine::fail::POINTS;
use spinney_testkit::{Daemon, HttpClient, wait_until, write_program};

/// How a process ends that `abort` ended.
const ABORTED: i32 = 134;

#[test]
fn a_death_at_any_step_makes_nothing_twice() {
    let Offered { workshop, forge, http: _http } = &Offered::new("");
    let points: Vec<_> = POINTS.iter().filter(|point| point.starts_with("job.")).collect();
    for (step, point) in points.iter().enumerate() {
        println!("dies at {point}");
        let issue = (step + 1).to_string();
        let branch = format!("agent/coder/issue-{issue}");
        let ran = workshop.beside(&format!("ran-{issue}"));
        let prompt = format!("append {} x\nwrite a.txt {issue}\nprint done", ran.display());
        let arguments = ["run", "--json", "--agent", "coder", "--issue", &issue, "--", &prompt];
        let died = workshop.cli.with_variable("SPINNEY_FAIL", **point).run(&arguments);
        let expected = match **point {
            // Before there is a process of the job's own.
            "job.recorded" => (ABORTED, "interrupted"),
            // Its row told the end already.
            "job.settled" => (0, "completed"),
            _ => (6, "interrupted"),
        };
        let job = workshop.jobs().into_iter().find(|job| job.text("prompt") == prompt).unwrap();
        assert_eq!((died.status, job.text("status")), expected, "{}", died.told());
        let retried = workshop.retry(0, job.id());
        assert_eq!((retried.text("status"), &retried.0["pushed"]), ("completed", &true.into()), "{point}");
        let url = retried.text("pull_request").to_owned();

        let runs = fs::read_to_string(&ran).unwrap().lines().count();
        // A job that has completed is done once more; what was finished is only delivered.
        assert_eq!(runs, if died.status == 0 { 2 } else { 1 }, "{point}");
        let commits = workshop.story.remote().git(&["rev-list", "--count", &format!("main..{branch}")]);
        assert_eq!(commits, "1", "{point}");
        let opened: Vec<_> = forge.pull_requests().into_iter().filter(|pull| pull.head == branch).collect();
        assert_eq!(opened.len(), 1, "{point}: {opened:?}");
        assert!(url.ends_with(&format!("/{}", opened[0].number)), "{url}");
        workshop.assert_nothing_runs();
        workshop.story.assert_nothing_left_over();
    }
}

#[test]
fn a_job_that_a_daemon_recorded_and_did_not_start_is_started_by_the_next() {
    let workshop = Workshop::new("");
    workshop.cli.run(&["status"]).ok();
    let dying = Daemon::start(&workshop.cli.with_variable("SPINNEY_FAIL", "job.recorded"));
    let client = HttpClient::unix(workshop.story.sandbox().spinney_home().join("serve.socket"));
    let client = client.with_header("Idempotency-Key", "one").with_header("Content-Type", "application/json");
    let asked = serde_json::json!({ "repository": "local/app", "agent": "coder", "prompt": "write a.txt a" });
    let asked = asked.to_string();
    assert!(client.try_send("POST", "/api/v1/jobs", asked.as_bytes()).is_err(), "it died");
    drop(dying);
    let _daemon = Daemon::start(&workshop.cli);
    let reply = client.send("POST", "/api/v1/jobs", asked.as_bytes()).expects(202).json();
    let job = workshop.wait_for(reply["id"].as_str().unwrap(), "completed");
    assert_eq!((&job.0["attempt"], workshop.jobs().len()), (&1.into(), 1));
}

#[test]
fn a_killed_runners_family_is_ended_and_its_work_kept() {
    let workshop = Workshop::new("");
    let path = |name: &str| workshop.beside_text(name);
    let (agent, child, daemon, nameless, go) =
        (path("agent"), path("child"), path("daemon"), path("nameless"), path("go"));
    let prompt = format!(
        "pid {agent}\nchild {child}\ndaemon {daemon}\n\
         git version; env -i /bin/sh -c 'echo $$ > {nameless}.new; mv {nameless}.new {nameless}; exec sleep 120' &\n\
         write a.txt a\nwait-for {go}\nprint done"
    );
    let id = workshop.detach(&["--issue", "7"], &prompt);
    let pids = [&agent, &child, &daemon, &nameless].map(|path| read_pid(path.as_ref()));
    let tree = workshop.job(&id).path();
    wait_until(|| tree.join("a.txt").exists(), LONG);
    signal(runner_of(&id).unwrap(), Signal::KILL);
    wait_until(|| runner_of(&id).is_none(), LONG);
    assert!(pids.into_iter().all(is_alive), "they outlive it");

    // Whoever looks first settles it, and says so: a command that still runs in the background may be faster than this one.
    let interrupted = format!("job {id} (coder on issue-7) was interrupted");
    wait_until(
        || {
            let is_told = workshop.cli.run(&["ls"]).ok().stderr.contains(&interrupted);
            is_told || workshop.job(&id).text("status") == "interrupted"
        },
        LONG,
    );
    let left: Vec<_> = pids.into_iter().filter(|pid| is_alive(*pid)).collect();
    assert!(left.is_empty(), "{left:?} of {pids:?}");
    let job = workshop.job(&id);
    assert_eq!((job.text("status"), job.text("workspace")), ("interrupted", "issue-7"));
    assert_eq!(job.0["sessions"][0]["status"], "ended");
    assert_eq!(workshop.git(&tree, &["status", "--porcelain"]), "?? a.txt");
    workshop.assert_nothing_runs();

    fs::write(&go, "").unwrap();
    let retried = workshop.retry(0, &id);
    assert_eq!((retried.path(), &retried.0["attempt"], &retried.0["pushed"]), (tree, &2.into(), &true.into()));
    // What the second attempt left behind went with it.
    let pids = [&agent, &child, &daemon].map(|path| read_pid(path.as_ref()));
    assert!(!pids.into_iter().any(is_alive));
}

#[test]
fn jobs_beside_a_killed_one_go_on() {
    let workshop = Workshop::new("");
    let gate = workshop.beside("gate");
    fs::create_dir(&gate).unwrap();
    let prompt = format!("gate {}\nwrite a.txt a", gate.display());
    let running = workshop.cli.spawn(&["run", "--json", "--count", "3", "--", &prompt]);
    wait_until(|| fs::read_dir(&gate).unwrap().count() == 3, LONG);
    let locks = workshop.story.sandbox().spinney_home().join("jobs");
    let names: Vec<_> = workshop.jobs().iter().map(|job| job.id().to_owned()).collect();
    signal(runner_of(&names[0]).unwrap(), Signal::KILL);
    // Whoever follows them settles it.
    wait_until(|| !locks.join(&names[0]).exists(), LONG);
    assert!(runner_of(&names[1]).is_some() && runner_of(&names[2]).is_some(), "the others were ended with it");
    fs::write(gate.join("go"), "").unwrap();
    let ran = running.wait().exits(6);
    let statuses: Vec<_> = ran.json()["jobs"].as_array().unwrap().iter().map(|job| job["status"].clone()).collect();
    assert_eq!(statuses.iter().filter(|status| **status == "completed").count(), 2, "{statuses:?}");
    assert_eq!(statuses.iter().filter(|status| **status == "interrupted").count(), 1, "{statuses:?}");
}

#[test]
fn a_retry_goes_on_in_the_same_session() {
    let workshop = Workshop::new("");
    let home = workshop.story.sandbox().home();
    let program = home.join("claude");
    let script = "#!/bin/sh\n\
        for word; do case \"$word\" in --session-id=*|--resume=*) echo \"$word\" >> \"$HOME/told\"; name=${word#*=};; esac; done\n\
        cat >> \"$HOME/prompts\"; echo >> \"$HOME/prompts\"\n\
        echo '{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"'$name'\",\"model\":\"m\"}'\n\
        until [ -e \"$HOME/go\" ]; do echo $$ > \"$HOME/claude.new\"; mv \"$HOME/claude.new\" \"$HOME/claude.pid\"; sleep 0.05; done\n\
        echo '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"all done\",\"session_id\":\"'$name'\"}'\n";
    write_program(&program, script);
    let config = format!("[agents.coder]\nruntime = \"claude\"\ncommand = [\"{}\"]\n", program.display());
    workshop.story.sandbox().write_config(&config);
    let id = workshop.detach(&["--issue", "7"], "fix it");
    read_pid(&home.join("claude.pid"));
    signal(runner_of(&id).unwrap(), Signal::KILL);
    workshop.wait_for(&id, "interrupted");
    fs::write(home.join("go"), "").unwrap();
    let job = workshop.retry(0, &id);
    let told = fs::read_to_string(home.join("told")).unwrap();
    let names: Vec<_> = told.lines().map(|line| line.split_once('=').unwrap()).collect();
    assert_eq!((names[0].0, names[1].0), ("--session-id", "--resume"));
    assert_eq!(names[0].1, names[1].1);
    let prompts = fs::read_to_string(home.join("prompts")).unwrap();
    assert!(prompts.contains("You were interrupted.") && prompts.contains("fix it"), "{prompts}");
    let sessions = job.0["sessions"].as_array().unwrap();
    let told: Vec<_> = sessions.iter().map(|row| (row["status"].as_str().unwrap(), row["resumed"].clone())).collect();
    assert_eq!(told, [("ended", false.into()), ("finished", true.into())]);
    assert!(sessions.iter().all(|row| row["conversation"] == names[0].1), "{sessions:?}");
}

#[test]
fn the_death_of_who_follows_changes_nothing() {
    let workshop = Workshop::new("");
    let go = workshop.beside_text("go");
    for kind in [Signal::KILL, Signal::HUP] {
        let prompt = format!("write a.txt {kind:?}\nwait-for {go}");
        let running = workshop.cli.spawn(&["run", "--agent", "coder", "--issue", "7", "--", &prompt]);
        wait_until(|| workshop.jobs().iter().any(|job| job.0["prompt"] == prompt.as_str()), LONG);
        let id = workshop.jobs()[0].id().to_owned();
        workshop.wait_for(&id, "running");
        signal(running.id(), kind);
        let _ = running.wait();
        assert_eq!(workshop.job(&id).text("status"), "running");
        fs::write(&go, "").unwrap();
        let job = workshop.wait_for_end(&id);
        assert_eq!((job.text("status"), &job.0["pushed"]), ("completed", &true.into()));
        fs::remove_file(&go).unwrap();
    }
}

#[test]
fn who_ignores_being_asked_is_ended_after_the_grace() {
    let hooks = "[agents.coder.hooks]\non_error = [\"sleep 0.5; echo $SPINNEY_JOB_STATUS > \\\"$HOME/status\\\"\"]\n";
    let workshop = Workshop::new(hooks);
    let agent = workshop.beside("agent");
    // It prints without a pause all the while.
    let prompt = format!("ignore-term\nwrite a.txt a\npid {}\nflood 1000000000000", agent.display());
    let id = workshop.detach(&["--issue", "7"], &prompt);
    let pid = read_pid(&agent);
    let asked = Instant::now();
    let job = crate::support::job::Job::of(&workshop.cli.run(&["cancel", "--json", &id]).ok());
    let took = asked.elapsed();
    assert!(took > Duration::from_secs(9) && took < Duration::from_secs(25), "{took:?}");
    assert!(!is_alive(pid));
    assert_eq!((job.text("status"), job.text("error"), &job.0["pushed"]), ("cancelled", "cancelled", &false.into()));
    assert_eq!(workshop.git(job.path(), &["status", "--porcelain"]), "?? a.txt");
    // The hook has its say, although the job was cancelled.
    let status = fs::read_to_string(workshop.story.sandbox().home().join("status")).unwrap();
    assert_eq!(status.trim(), "cancelled");
    workshop.cli.run(&["cancel", &id]).exits(3);
}

#[test]
fn a_cancel_at_once_does_not_ask() {
    let workshop = Workshop::new("");
    let agent = workshop.beside("agent");
    let prompt = format!("ignore-term\npid {}\nsleep 100", agent.display());
    let id = workshop.detach(&["--issue", "7"], &prompt);
    let pid = read_pid(&agent);
    let asked = Instant::now();
    workshop.cli.run(&["cancel", "--now", &id]).ok();
    assert!(asked.elapsed() < Duration::from_secs(8), "{:?}", asked.elapsed());
    assert!(!is_alive(pid));
    assert_eq!(workshop.job(&id).text("status"), "cancelled");
}

#[test]
fn who_is_asked_and_leaves_is_cancelled_at_once() {
    let workshop = Workshop::new("");
    let agent = workshop.beside("agent");
    let id = workshop.detach(&["--issue", "7"], &format!("pid {}\nsleep 100", agent.display()));
    read_pid(&agent);
    let asked = Instant::now();
    workshop.cli.run(&["cancel", &id]).ok();
    assert!(asked.elapsed() < Duration::from_secs(8), "{:?}", asked.elapsed());
    let job = workshop.job(&id);
    assert_eq!((job.text("status"), &job.0["sessions"][0]["status"]), ("cancelled", &"ended".into()));
}

#[test]
fn a_job_has_its_time() {
    let hooks = "timeout = \"1s\"\n[agents.coder.hooks]\n\
                 on_error = [\"sleep 0.5; echo $SPINNEY_JOB_STATUS > \\\"$HOME/status\\\"\"]\n";
    let workshop = Workshop::new(hooks);
    let job = workshop.run(6, &["--issue", "7"], "write a.txt a\nsleep 100");
    assert_eq!((job.text("status"), job.text("error")), ("timed_out", "it reached its timeout"));
    assert!(job.path().join("a.txt").exists());
    assert_eq!(workshop.pushed(), ["main"]);
    let status = fs::read_to_string(workshop.story.sandbox().home().join("status")).unwrap();
    assert_eq!(status.trim(), "timed_out");
}

#[test]
fn a_runner_that_is_told_to_end_leaves_an_interrupted_job() {
    let workshop = Workshop::new("");
    let (agent, go) = (workshop.beside("agent"), workshop.beside("go"));
    let prompt = format!("write a.txt a\npid {}\nwait-for {}", agent.display(), go.display());
    let id = workshop.detach(&["--issue", "7"], &prompt);
    let pid = read_pid(&agent);
    signal(runner_of(&id).unwrap(), Signal::TERM);
    let job = workshop.wait_for_end(&id);
    assert_eq!((job.text("status"), job.text("error")), ("interrupted", "its process was told to end"));
    assert!(!is_alive(pid) && job.path().join("a.txt").exists());
    fs::write(&go, "").unwrap();
    assert_eq!(workshop.retry(0, &id).0["pushed"], true);
}

#[test]
fn what_an_agent_leaves_running_ends_with_its_job() {
    let workshop = Workshop::new("");
    let path = |name: &str| workshop.beside_text(name);
    let (child, daemon) = (path("child"), path("daemon"));
    let began = Instant::now();
    workshop.complete(&["--issue", "7"], &format!("child {child}\ndaemon {daemon}\nwrite a.txt a"));
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    let pids = [child, daemon].map(|path| read_pid(path.as_ref()));
    assert!(!pids.into_iter().any(is_alive));
}

#[test]
fn what_a_dead_job_delivered_goes_by_the_same_policy() {
    let workshop = Workshop::new("");
    let die = |point: &str, work: &[&str], prompt: &str| {
        let cli = workshop.cli.with_variable("SPINNEY_FAIL", point);
        cli.run(&[&["run", "--agent", "coder"], work, &["--", prompt]].concat()).exits(6);
        workshop.jobs()[0].clone()
    };
    let swept = || workshop.cli.run(&["cleanup", "orphans", "--json"]).ok().json()["removed"].clone();
    let delivered = die("job.closed", &[], "write a.txt a");
    let undelivered = die("job.finished", &[], "write a.txt a");
    let issue = die("job.closed", &["--issue", "7"], "write a.txt a");
    let removed = swept();
    assert_eq!(
        (removed.as_array().unwrap().len(), &removed[0]["id"]),
        (1, &delivered.0["workspace_id"]),
        "{removed:#}"
    );
    assert!(!delivered.path().exists() && undelivered.path().exists() && issue.path().exists());
    assert_eq!(swept(), serde_json::json!([]));
    // Retried, the others come to their end as if nothing had happened.
    assert_eq!(workshop.retry(0, undelivered.id()).0["path"], serde_json::Value::Null);
    assert!(workshop.retry(0, issue.id()).path().exists());
    workshop.configure("[agents.coder.workspace]\nkeep = \"until_closed\"\n");
    let kept = die("job.closed", &[], "write a.txt a");
    assert_eq!(swept(), serde_json::json!([]));
    assert!(kept.path().exists());
}

/// How often a job is killed, and after at most how long.
const KILLS: u64 = 12;
const MOST_MS: u64 = 700;

#[test]
fn a_job_that_is_killed_at_random_can_be_gone_on_with() {
    let workshop = Workshop::new("");
    let mut random = Random::new(7);
    for number in 1..=KILLS {
        let victim = random.choose(&[Victim::Spinney, Victim::All, Victim::Git]);
        let after = Duration::from_millis(random.below(MOST_MS));
        println!("job {number}: {victim:?} killed after {after:?}");
        let id = workshop.detach(&["--issue", &number.to_string()], "write a.txt a\nsleep 0.1\nprint done");
        if let Some(runner) = runner_of(&id) {
            // The moment is what the test is about.
            std::thread::sleep(after);
            kill(runner, victim, &mut || runner_of(&id).is_some());
        }
        let job = workshop.wait_for_end(&id);
        let ends: &[&str] =
            if victim == Victim::Git { &["completed", "failed"] } else { &["completed", "interrupted"] };
        assert!(ends.contains(&job.text("status")), "{:#}", job.0);
        let retried = workshop.retry(0, &id);
        assert_eq!((retried.text("status"), &retried.0["pushed"]), ("completed", &true.into()));
        let branch = format!("main..{}", retried.text("branch"));
        assert_eq!(workshop.story.remote().git(&["rev-list", "--count", &branch]), "1");
        workshop.assert_nothing_runs();
    }
    // It sweeps up locks that nobody holds: of who was killed with an operation all but begun, or all but ended.
    let doctor = workshop.cli.run(&["doctor", "--json"]).ok();
    assert_eq!(doctor.json()["healthy"], true, "{}", doctor.told());
    workshop.story.assert_nothing_left_over();
}
