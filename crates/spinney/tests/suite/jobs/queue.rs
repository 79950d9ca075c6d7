//! Many jobs at once: how many run, who comes first, and who waits for whom.

use std::fs;
use std::path::PathBuf;

use crate::support::common::{Story, files_below, refused};
use crate::support::job::{Job, LONG, Workshop, agent, read_pid, runner_of, signal};
use rustix::process::Signal;
use spinney_testkit::{postgres_database, wait_until};

/// A prompt that holds a job up until a file is there, and then writes its name to a list.
fn held(workshop: &Workshop, name: &str) -> String {
    let path = |name: &str| workshop.beside_text(name);
    format!("pid {}\nwait-for {}\nappend {} {name}", path(&format!("{name}.pid")), path("go"), path("order"))
}

fn order(workshop: &Workshop) -> Vec<String> {
    let text = fs::read_to_string(workshop.beside("order")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn let_go(workshop: &Workshop) {
    fs::write(workshop.beside("go"), "").unwrap();
}

#[test]
fn over_max_workers_jobs_wait_in_order_and_say_so() {
    let workshop = Workshop::new("[limits]\nmax_workers = 1\n");
    let ids: Vec<_> = (1..=4)
        .map(|number| {
            let name = format!("job-{number}");
            let id = workshop.detach(&["--issue", &number.to_string()], &held(&workshop, &name));
            if number == 1 {
                read_pid(&workshop.beside("job-1.pid"));
            }
            id
        })
        .collect();
    for id in &ids[1..] {
        wait_until(|| workshop.job(id).0["waits_for"] == "a worker (1 of 1 busy)", LONG);
        let job = workshop.job(id);
        assert_eq!((job.text("status"), &job.0["attempt"]), ("pending", &0.into()));
        workshop.assert_logged(id, "a worker (1 of 1 busy)");
    }
    let_go(&workshop);
    for id in &ids {
        let job = workshop.wait_for_end(id);
        assert_eq!((job.text("status"), &job.0["waits_for"]), ("completed", &serde_json::Value::Null));
    }
    assert_eq!(order(&workshop), ["job-1", "job-2", "job-3", "job-4"]);
}

#[test]
fn a_limit_is_told_before_a_job_begins_to_whoever_does_not_wait() {
    let workshop = Workshop::new("[limits]\nmax_workspaces = 1\n");
    workshop.complete(&["--issue", "1"], "write a.txt a");
    for ways in [&[][..], &["--detach"]] {
        let arguments = [&["run", "--agent", "coder", "--issue", "2"], ways, &["--", "write b.txt b"]].concat();
        refused(&workshop.cli, 3, &arguments).says(&["local/app has 1 active", "(limit 1)"]).hints(&["spinney ls"]);
    }
    assert_eq!((workshop.jobs().len(), workshop.story.names()), (1, vec!["issue-1".to_owned()]));
    // What is there needs no room.
    workshop.complete(&["--issue", "1"], "write c.txt c");
    let waits = workshop.detach(&["--issue", "2", "--wait"], "write b.txt b");
    let is_told = || workshop.job(&waits).0["waits_for"].as_str().is_some_and(|text| text.starts_with("room: "));
    wait_until(is_told, LONG);
    workshop.cli.run(&["rm", "issue-1", "--force"]).ok();
    assert_eq!(workshop.wait_for_end(&waits).text("status"), "completed");
}

#[test]
fn an_agents_own_limit_holds_only_its_own_jobs_up() {
    let settings = format!("max_concurrent = 1\n{}", agent("other"));
    let workshop = Workshop::new(&settings);
    let first = workshop.detach(&["--issue", "1"], &held(&workshop, "first"));
    read_pid(&workshop.beside("first.pid"));
    let second = workshop.detach(&["--issue", "2"], &held(&workshop, "second"));
    wait_until(|| workshop.job(&second).0["waits_for"] == "agent `coder` (1 of 1 busy)", LONG);
    let other = workshop.cli.run(&["run", "--json", "--agent", "other", "--issue", "3", "--", "write a.txt a"]).ok();
    assert_eq!(Job::of(&other).0["pushed"], true);
    let_go(&workshop);
    for id in [first, second] {
        assert_eq!(workshop.wait_for_end(&id).text("status"), "completed");
    }
    assert_eq!(order(&workshop), ["first", "second"]);
}

#[test]
fn the_same_work_is_refused_or_waited_for() {
    let workshop = Workshop::new("");
    let first = workshop.detach(&["--issue", "1"], &held(&workshop, "first"));
    read_pid(&workshop.beside("first.pid"));
    let again = ["run", "--agent", "coder", "--issue", "1", "--", "write b.txt b"];
    refused(&workshop.cli, 5, &again)
        .says(&["issue-1 is being worked on by job", &first, "`coder`, running"])
        .hints(&["--wait", &format!("spinney cancel {first}")]);
    assert_eq!(workshop.jobs().len(), 1, "what is refused leaves no job");
    let behind = workshop.detach(&["--issue", "1", "--wait"], &held(&workshop, "behind"));
    wait_until(|| workshop.job(&behind).0["waits_for"].to_string().contains(&first), LONG);
    // One that waits holds the work too.
    let last = workshop.detach(&["--issue", "1", "--wait"], &held(&workshop, "last"));
    let_go(&workshop);
    let jobs: Vec<_> = [&first, &behind, &last].map(|id| workshop.wait_for_end(id)).into();
    assert!(jobs.iter().all(|job| job.text("status") == "completed" && job.path() == jobs[0].path()), "{jobs:#?}");
    assert_eq!(order(&workshop), ["first", "behind", "last"]);
}

#[test]
fn jobs_that_share_a_workspace_run_one_after_the_other() {
    let workshop = Workshop::new("");
    let first = workshop.detach(&["--issue", "1"], &held(&workshop, "first"));
    read_pid(&workshop.beside("first.pid"));
    // That it shares the workspace is found only when it looks for one.
    let second = workshop.detach(&["--issue", "2", "--links", "1"], &held(&workshop, "second"));
    wait_until(|| workshop.job(&second).0["waits_for"].to_string().contains(&first), LONG);
    assert_eq!(workshop.job(&second).text("status"), "pending");
    assert!(!workshop.beside("second.pid").exists());
    let_go(&workshop);
    let jobs = [&first, &second].map(|id| workshop.wait_for_end(id));
    assert!(jobs.iter().all(|job| job.text("status") == "completed"), "{jobs:#?}");
    assert_eq!((jobs[0].path(), &jobs[1].0["attempt"]), (jobs[1].path(), &1.into()));
    assert_eq!(order(&workshop), ["first", "second"]);
    // Now that it is known, the third is not refused either: it is other work.
    fs::remove_file(workshop.beside("go")).unwrap();
    fs::remove_file(workshop.beside("first.pid")).unwrap();
    let third = workshop.detach(&["--issue", "1"], &held(&workshop, "first"));
    read_pid(&workshop.beside("first.pid"));
    let fourth = workshop.detach(&["--issue", "2"], "print short");
    wait_until(|| workshop.job(&fourth).0["waits_for"].to_string().contains(&third), LONG);
    let_go(&workshop);
    for id in [third, fourth] {
        assert_eq!(workshop.wait_for_end(&id).text("status"), "completed");
    }
}

#[test]
fn a_waiting_job_can_be_cancelled() {
    let workshop = Workshop::new("[limits]\nmax_workers = 1\n");
    let first = workshop.detach(&["--issue", "1"], &held(&workshop, "first"));
    read_pid(&workshop.beside("first.pid"));
    let second = workshop.detach(&["--issue", "2"], &held(&workshop, "second"));
    wait_until(|| workshop.job(&second).0["waits_for"].is_string(), LONG);
    workshop.cli.run(&["cancel", &second]).ok();
    let job = workshop.job(&second);
    assert_eq!(
        (job.text("status"), &job.0["attempt"], &job.0["workspace"]),
        ("cancelled", &0.into(), &serde_json::Value::Null)
    );
    let_go(&workshop);
    assert_eq!(workshop.wait_for_end(&first).text("status"), "completed");
    assert_eq!((order(&workshop), workshop.story.names()), (vec!["first".to_owned()], vec!["issue-1".to_owned()]));
    // It can be run all the same, later.
    assert_eq!(workshop.retry(0, &second).text("status"), "completed");
}

#[test]
fn nobody_waits_for_the_dead() {
    let workshop = Workshop::new("[limits]\nmax_workers = 1\n");
    let first = workshop.detach(&["--issue", "1"], &held(&workshop, "first"));
    read_pid(&workshop.beside("first.pid"));
    let second = workshop.detach(&["--issue", "2"], &held(&workshop, "second"));
    wait_until(|| workshop.job(&second).0["waits_for"].is_string(), LONG);
    signal(runner_of(&first).unwrap(), Signal::KILL);
    // Without a further command.
    read_pid(&workshop.beside("second.pid"));
    let_go(&workshop);
    assert_eq!(workshop.wait_for_end(&second).text("status"), "completed");
    assert_eq!(workshop.job(&first).text("status"), "interrupted");
    assert_eq!(order(&workshop), ["second"]);
}

/// So many processes start so many jobs each, all at once.
fn crowd(workshop: &Workshop, processes: usize, jobs_each: usize) {
    let (inside, counts) = (workshop.beside("inside"), workshop.beside_text("counts"));
    fs::create_dir(&inside).unwrap();
    let inside = inside.to_str().unwrap();
    // Nobody leaves before four were inside at the same time.
    let met = workshop.beside_text("met");
    let prompt = format!(
        "git version; cd {inside}; : > $SPINNEY_JOB_ID; until [ -e {met} ] || [ $(ls | wc -l) -ge 4 ]; do sleep 0.02; done; \
         : > {met}; sleep 0.2; ls | wc -l >> {counts}; rm $SPINNEY_JOB_ID; cd - > {met}\n\
         write made.txt a\nprint done"
    );
    let count = jobs_each.to_string();
    let arguments = ["run", "--json", "--agent", "coder", "--count", &count, "--", &prompt];
    let running: Vec<_> = (0..processes).map(|_| workshop.cli.spawn(&arguments)).collect();
    let mut branches = Vec::new();
    for process in running {
        let ran = process.wait().ok();
        for job in ran.json()["jobs"].as_array().unwrap() {
            assert_eq!(
                (&job["status"], &job["pushed"], &job["path"]),
                (&"completed".into(), &true.into(), &().into()),
                "{job:#}"
            );
            branches.push(job["branch"].as_str().unwrap().to_owned());
        }
    }
    let all = processes * jobs_each;
    let counts = fs::read_to_string(counts).unwrap();
    let counts: Vec<usize> = counts.lines().map(|line| line.trim().parse().unwrap()).collect();
    assert_eq!((counts.len(), branches.len()), (all, all));
    assert_eq!(counts.iter().max(), Some(&4), "{counts:?}");

    branches.sort();
    branches.push("main".to_owned());
    assert_eq!(workshop.pushed(), branches);
    let jobs = workshop.jobs();
    assert!(jobs.len() == all && jobs.iter().all(|job| job.text("status") == "completed" && job.0["attempt"] == 1));
    workshop.assert_nothing_runs();
    workshop.story.assert_nothing_left_over();
    let home = workshop.story.sandbox().spinney_home();
    assert_eq!(files_below(&home.join("trees"), 3), Vec::<PathBuf>::new());
    assert_eq!(files_below(&home.join("trash"), 0).len(), all);
    assert_eq!(workshop.story.worktrees(), Vec::<PathBuf>::new());
    let doctor = workshop.cli.run(&["doctor", "--json"]).ok();
    assert_eq!(doctor.json()["healthy"], true, "{}", doctor.told());
}

#[test]
fn thirty_two_jobs_by_four_processes_run_four_at_a_time() {
    crowd(&Workshop::new("[limits]\nmax_workers = 4\n"), 4, 8);
}

#[test]
fn so_they_do_on_postgresql() {
    let database = postgres_database();
    let mut story = Story::new();
    story.cli = story.cli.with_variable("SPINNEY_DATABASE_URL", database.url());
    crowd(&Workshop::of(story, "[limits]\nmax_workers = 4\n"), 3, 4);
    let open = database.query("select count(*) from jobs where status in ('pending', 'running')");
    assert_eq!(
        (open.as_str(), database.query("select count(*) from operations where status = 'open'").as_str()),
        ("0", "0")
    );
}

#[test]
fn a_job_that_waits_heeds_the_limit_that_is_configured_by_now() {
    let workshop = Workshop::new("[limits]\nmax_workers = 1\n");
    let first = workshop.detach(&["--issue", "1"], &workshop.hold("first"));
    workshop.wait_for_agent("first");
    let second = workshop.detach(&["--issue", "2"], "print x");
    wait_until(|| workshop.job(&second).0["waits_for"] == "a worker (1 of 1 busy)", LONG);
    workshop.configure("[limits]\nmax_workers = 2\n");
    workshop.wait_for(&second, "completed");
    workshop.let_go("first");
    workshop.wait_for(&first, "completed");
}
