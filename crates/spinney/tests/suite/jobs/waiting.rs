//! Jobs that wait are rows: one process starts them all, it may die at any time, and whoever looks starts another.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use spinney_engine::fail::POINTS;
use spinney_testkit::{Daemon, HttpClient, wait_until};

use crate::support::job::{Job, LONG, Process, Workshop, detach, is_alive, processes, read_pid, runner_of, signal};

const ONE_WORKER: &str = "[limits]\nmax_workers = 1\nmax_workspaces = 100\n";

/// The processes that start what waits in this home.
fn supervisors(workshop: &Workshop) -> Vec<u32> {
    of_home(workshop, |process| process.line.ends_with("\0job-queue\0"))
}

/// The processes of jobs of this home.
fn runners(workshop: &Workshop) -> Vec<u32> {
    of_home(workshop, |process| process.line.contains("\0job-run\0"))
}

fn of_home(workshop: &Workshop, is_meant: impl Fn(&Process) -> bool) -> Vec<u32> {
    let home = workshop.story.sandbox().path().to_str().unwrap().to_owned();
    let found = processes(|process| is_meant(process) && process.line.contains(&home));
    found.into_iter().map(|process| process.id).filter(|id| is_alive(*id)).collect()
}

/// A prompt that writes its name to a list.
fn noted(workshop: &Workshop, name: &str) -> String {
    format!("append {} {name}", workshop.beside_text("order"))
}

fn order(workshop: &Workshop) -> Vec<String> {
    fs::read_to_string(workshop.beside("order")).unwrap_or_default().lines().map(str::to_owned).collect()
}

/// A job that runs, and another one that waits for it.
fn one_behind(workshop: &Workshop, prompt: &str) -> (String, String) {
    let first = workshop.detach(&["--issue", "1"], &workshop.hold("first"));
    workshop.wait_for_agent("first");
    (first, workshop.detach(&["--issue", "2"], prompt))
}

#[test]
fn sixty_waiting_jobs_have_one_process_between_them() {
    let workshop = Workshop::new(ONE_WORKER);
    let first = workshop.detach(&["--issue", "1"], &workshop.hold("first"));
    workshop.wait_for_agent("first");
    let prompts: Vec<_> = (1..=60).map(|number| noted(&workshop, &number.to_string())).collect();
    let arguments = ["run", "--json", "--detach", "--each", "-"];
    let ran = workshop.run_with_input(&arguments, prompts.join("\n").as_bytes()).ok();
    let waiting: Vec<Job> = ran.json()["jobs"].as_array().unwrap().iter().cloned().map(Job).collect();
    assert_eq!(waiting.len(), 60);
    for job in &waiting {
        assert_eq!((job.text("status"), job.text("waits_for")), ("pending", "a worker (1 of 1 busy)"));
    }
    assert_eq!((runners(&workshop).len(), supervisors(&workshop).len()), (1, 1));
    workshop.assert_logged(waiting[59].id(), "a worker (1 of 1 busy)");
    // All but three have never had one.
    let cancelled: Vec<_> = waiting[3..].iter().map(|job| job.id()).collect();
    workshop.cli.run(&[&["cancel"], &cancelled[..]].concat()).ok();
    workshop.let_go("first");
    for id in waiting[..3].iter().map(Job::id).chain([first.as_str()]) {
        let job = workshop.wait_for_end(id);
        assert_eq!((job.text("status"), &job.0["attempt"]), ("completed", &1.into()));
    }
    assert_eq!(order(&workshop), ["1", "2", "3"]);
    let jobs = workshop.jobs();
    assert_eq!(jobs.iter().filter(|job| job.text("status") == "cancelled" && job.0["attempt"] == 0).count(), 57);
    wait_until(|| supervisors(&workshop).is_empty(), LONG);
    let left = workshop.story.sandbox().spinney_home().join("jobs");
    wait_until(|| !left.join("queue.lock").exists() && !left.join("queue.socket").exists(), LONG);
}

#[test]
fn a_death_at_any_step_of_the_queue_starts_a_job_once() {
    for point in POINTS.iter().filter(|point| point.starts_with("queue.")) {
        println!("dies at {point}");
        let workshop = Workshop::new(ONE_WORKER);
        let first = workshop.detach(&["--issue", "1"], &workshop.hold("first"));
        workshop.wait_for_agent("first");
        let prompt = noted(&workshop, "second");
        let arguments = ["run", "--json", "--detach", "--agent", "coder", "--issue", "2", "--", &prompt];
        let asked = workshop.cli.with_variable("SPINNEY_FAIL", *point).run(&arguments);
        assert_eq!(asked.status, if *point == "queue.recorded" { 134 } else { 0 }, "{}", asked.told());
        let second = workshop.jobs().into_iter().find(|job| job.text("prompt") == prompt).unwrap();
        assert_eq!((second.text("status"), second.text("waits_for")), ("pending", "a worker (1 of 1 busy)"));
        workshop.let_go("first");
        workshop.wait_for_end(&first);
        // Asking how it stands is what starts another one.
        let second = workshop.wait_for_end(second.id());
        assert_eq!((second.text("status"), &second.0["attempt"]), ("completed", &1.into()), "{point}");
        assert_eq!(order(&workshop), ["second"], "{point}");
        wait_until(|| supervisors(&workshop).is_empty(), LONG);
    }
}

#[test]
fn who_starts_what_waits_may_be_killed_at_any_time() {
    let workshop = Workshop::new(ONE_WORKER);
    let (first, second) = one_behind(&workshop, &noted(&workshop, "second"));
    for _ in 0..3 {
        let [supervisor] = supervisors(&workshop)[..] else { panic!("there is not one") };
        signal(supervisor, Signal::KILL);
        wait_until(|| !is_alive(supervisor), LONG);
        // A command about something else.
        workshop.cli.run(&["ls"]).ok();
        wait_until(|| supervisors(&workshop).len() == 1, LONG);
    }
    signal(supervisors(&workshop)[0], Signal::KILL);
    wait_until(|| supervisors(&workshop).is_empty(), LONG);
    // Without a further command: the job that ends has another one started.
    workshop.let_go("first");
    wait_until(|| order(&workshop) == ["second"], LONG);
    for id in [first, second] {
        let job = workshop.wait_for_end(&id);
        assert_eq!((job.text("status"), &job.0["attempt"]), ("completed", &1.into()));
    }
}

#[test]
fn who_follows_a_waiting_job_has_it_started_with_its_own_environment() {
    let workshop = Workshop::new(ONE_WORKER);
    let first = workshop.detach(&["--issue", "1"], &workshop.hold("first"));
    workshop.wait_for_agent("first");
    let told = workshop.beside("told");
    let prompt = format!("dump-env {}", told.display());
    let follower = workshop.cli.with_variable("LANG", "xx_follower").spawn(&["run", "--issue", "2", "--", &prompt]);
    wait_until(|| follower.stderr_so_far().contains("a worker (1 of 1 busy)"), LONG);
    wait_until(|| supervisors(&workshop).len() == 1, LONG);
    let killed = supervisors(&workshop)[0];
    signal(killed, Signal::KILL);
    wait_until(|| supervisors(&workshop).iter().any(|other| *other != killed), LONG);
    workshop.let_go("first");
    follower.wait().ok();
    assert!(fs::read_to_string(&told).unwrap().contains("LANG=xx_follower"));
    workshop.wait_for_end(&first);
}

/// Every file below a directory that holds a text.
fn files_with(text: &str, below: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(below).unwrap().flatten() {
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => found.extend(files_with(text, &entry.path())),
            kind if kind.is_file() => {
                let bytes = fs::read(entry.path()).unwrap();
                found.extend(bytes.windows(text.len()).any(|part| part == text.as_bytes()).then(|| entry.path()));
            }
            _ => {}
        }
    }
    found
}

#[test]
fn a_waiting_job_gets_the_environment_of_whoever_asked_and_no_disk_has_it() {
    let workshop = Workshop::new(ONE_WORKER);
    let first = workshop.detach(&["--issue", "1"], &workshop.hold("first"));
    workshop.wait_for_agent("first");
    let ask = |number: u32| {
        let told = workshop.beside(&format!("told-{number}"));
        let cli =
            workshop.cli.with_variable("LANG", format!("xx_{number}")).with_variable("TOKEN", "s3cret-of-a-person");
        detach(&cli, &["--issue", &number.to_string()], &format!("dump-env {}", told.display()))
    };
    let (second, third) = (ask(2), ask(3));
    let home = workshop.story.sandbox().spinney_home();
    assert_eq!(files_with("s3cret-of-a-person", &home), Vec::<PathBuf>::new());
    workshop.let_go("first");
    for (number, id) in [(2, &second), (3, &third)] {
        assert_eq!(workshop.wait_for_end(id).text("status"), "completed");
        let told = fs::read_to_string(workshop.beside(&format!("told-{number}"))).unwrap();
        assert!(told.contains(&format!("LANG=xx_{number}")) && !told.contains("s3cret"), "{told}");
        assert!(!workshop.log(id).iter().any(|event| event.to_string().contains("environment")));
    }
    workshop.wait_for_end(&first);

    // What was kept in memory goes with the process that kept it.
    fs::remove_file(workshop.beside("first.go")).unwrap();
    fs::remove_file(workshop.beside("first.pid")).unwrap();
    let first = workshop.detach(&["--issue", "1"], &workshop.hold("first"));
    workshop.wait_for_agent("first");
    let fourth = ask(4);
    signal(supervisors(&workshop)[0], Signal::KILL);
    wait_until(|| supervisors(&workshop).is_empty(), LONG);
    workshop.cli.with_variable("LANG", "xx_other").run(&["ls"]).ok();
    workshop.let_go("first");
    assert_eq!(workshop.wait_for_end(&fourth).text("status"), "completed");
    let told = fs::read_to_string(workshop.beside("told-4")).unwrap();
    assert!(told.contains("LANG=xx_other"), "{told}");
    workshop.assert_logged(&fourth, "it runs with the environment of the process that took over");
    workshop.wait_for_end(&first);
}

#[test]
fn a_waiting_job_keeps_the_configuration_it_was_asked_for_with_and_one_that_can_not_begin_is_told() {
    let workshop = Workshop::new(ONE_WORKER);
    let first = workshop.detach(&["--issue", "1"], &workshop.hold("first"));
    workshop.wait_for_agent("first");
    let own = workshop.beside("own.toml");
    let known = fs::read_to_string(workshop.story.sandbox().config_file()).unwrap();
    fs::write(&own, known.replace("[agents.coder]", "[agents.other]")).unwrap();
    let ask = |issue: &str| {
        let arguments = ["--config", own.to_str().unwrap(), "run", "--json", "--detach", "--agent", "other"];
        let work = ["--issue", issue, "--", "print done"];
        Job::of(&workshop.cli.run(&[&arguments[..], &work].concat()).ok()).text("id").to_owned()
    };
    let second = ask("2");
    workshop.let_go("first");
    assert_eq!(workshop.wait_for_end(&second).text("status"), "completed");
    workshop.wait_for_end(&first);

    fs::remove_file(workshop.beside("first.go")).unwrap();
    fs::remove_file(workshop.beside("first.pid")).unwrap();
    let first = workshop.detach(&["--issue", "1"], &workshop.hold("first"));
    workshop.wait_for_agent("first");
    let third = ask("3");
    fs::remove_file(&own).unwrap();
    workshop.let_go("first");
    let job = workshop.wait_for_end(&third);
    assert_eq!((job.text("status"), &job.0["attempt"]), ("interrupted", &0.into()), "{:#}", job.0);
    job.says(&["own.toml"]);
    workshop.wait_for_end(&first);
}

#[test]
fn a_waiting_job_is_cancelled_at_once_whatever_the_supervisor_does() {
    let workshop = Workshop::new(ONE_WORKER);
    let (first, second) = one_behind(&workshop, &noted(&workshop, "second"));
    let [supervisor] = supervisors(&workshop)[..] else { panic!("there is not one") };
    signal(supervisor, Signal::STOP);
    let began = Instant::now();
    workshop.cli.run(&["cancel", &second]).ok();
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    let job = workshop.job(&second);
    assert_eq!((job.text("status"), &job.0["attempt"], &job.0["waits_for"]), ("cancelled", &0.into(), &().into()));
    assert_eq!(workshop.log(&second).last().unwrap()["status"], "cancelled");
    workshop.let_go("first");
    workshop.wait_for_end(&first);
    signal(supervisor, Signal::CONT);
    wait_until(|| supervisors(&workshop).is_empty(), LONG);
    assert_eq!(order(&workshop), Vec::<String>::new());
}

#[test]
fn an_interrupt_cancels_a_waiting_job_that_is_followed() {
    let workshop = Workshop::new(ONE_WORKER);
    let first = workshop.detach(&["--issue", "1"], &workshop.hold("first"));
    workshop.wait_for_agent("first");
    let follower = workshop.spawn_in_group(&["run", "--issue", "2", "--", &noted(&workshop, "second")]);
    wait_until(|| follower.stderr_so_far().contains("a worker (1 of 1 busy)"), LONG);
    signal(follower.id(), Signal::INT);
    let told = follower.wait().exits(6);
    assert!(told.stderr.contains("cancelled"), "{}", told.told());
    workshop.let_go("first");
    workshop.wait_for_end(&first);
    assert_eq!(order(&workshop), Vec::<String>::new());
}

#[test]
fn what_waits_goes_on_when_the_daemon_ends_or_dies() {
    for dies in [false, true] {
        let workshop = Workshop::new(ONE_WORKER);
        let daemon = Daemon::start(&workshop.cli);
        let client = HttpClient::unix(workshop.story.sandbox().spinney_home().join("serve.socket"));
        let client = client.with_header("Content-Type", "application/json");
        let ask = |prompt: &str| {
            let asked = serde_json::json!({ "repository": "local/app", "agent": "coder", "prompt": prompt });
            let reply = client.send("POST", "/api/v1/jobs", asked.to_string().as_bytes()).expects(202).json();
            reply["id"].as_str().unwrap().to_owned()
        };
        workshop.cli.run(&["status"]).ok();
        let first = ask(&workshop.hold("first"));
        workshop.wait_for_agent("first");
        let (second, third) = (ask(&noted(&workshop, "second")), workshop.detach(&[], &noted(&workshop, "third")));
        wait_until(|| supervisors(&workshop).len() == 1, LONG);
        assert_eq!(runners(&workshop).len(), 1);
        drop(if dies { daemon.kill() } else { daemon.terminate() });
        workshop.let_go("first");
        // Without a command.
        wait_until(|| order(&workshop) == ["second", "third"], LONG);
        for id in [&first, &second, &third] {
            assert_eq!((workshop.wait_for_end(id).text("status")), "completed");
        }
    }
}

#[test]
fn a_supervisor_that_an_agent_has_started_outlives_that_agents_job() {
    let workshop = Workshop::new(ONE_WORKER);
    let (program, order) = (crate::support::common::BINARY, workshop.beside_text("order"));
    let home = workshop.story.sandbox().spinney_home();
    let asked = format!("{program} --home {} run --detach --issue 9 -- 'append {order} nested'", home.display());
    let first = workshop.detach(&["--issue", "1"], &format!("git version; {asked}\n{}", workshop.hold("first")));
    workshop.wait_for_agent("first");
    let [supervisor] = supervisors(&workshop)[..] else { panic!("there is not one") };
    workshop.let_go("first");
    wait_until(|| runner_of(&first).is_none(), LONG);
    wait_until(|| self::order(&workshop) == ["nested"], LONG);
    wait_until(|| !is_alive(supervisor), LONG);
    for job in workshop.jobs() {
        assert_eq!(workshop.wait_for_end(job.id()).text("status"), "completed");
    }
    let _ = read_pid(&workshop.beside("first.pid"));
}
