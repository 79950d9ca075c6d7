//! What a job leaves behind, and what it must not take along: the pool, the trash, jobs that its agent started.

mod common;
mod job_support;

use std::path::PathBuf;

use job_support::{Job, LONG, Workshop, is_alive, processes, read_pid, runner_of, signal};
use rustix::process::Signal;
use serde_json::Value;
use spinney_testkit::wait_until;

const POOL: &str = "[pool]\nsize = 1\n";

/// The members of the pool that are ready.
fn ready(workshop: &Workshop) -> Vec<PathBuf> {
    let status: Value = workshop.cli.run(&["pool", "status", "--json"]).ok().json();
    let members = status["pools"][0]["members"].as_array().unwrap().clone();
    let ready = members.iter().filter(|member| member["state"] == "ready");
    ready.map(|member| member["path"].as_str().unwrap().into()).collect()
}

/// Waits until nothing goes on in the background any more.
fn wait_for_background(workshop: &Workshop) {
    let home = workshop.story.sandbox().spinney_home();
    let is_meant = |line: &str| line.contains(home.to_str().unwrap()) && line.contains("--background");
    wait_until(|| processes(|process| is_meant(&process.line)).is_empty(), LONG);
}

#[test]
fn a_pool_is_full_again_while_the_job_that_took_from_it_goes_on() {
    let workshop = Workshop::new(POOL);
    workshop.cli.run(&["pool", "fill"]).ok();
    let warm = ready(&workshop);
    let (pid, go) = (workshop.beside_text("pid"), workshop.beside_text("go"));
    let id = workshop.detach(&["--issue", "1"], &format!("pid {pid}\nwait-for {go}\nwrite a.txt a"));
    read_pid(&workshop.beside("pid"));
    wait_until(|| ready(&workshop).len() == 1, LONG);
    assert_ne!(ready(&workshop), warm, "another one");
    std::fs::write(workshop.beside("go"), "").unwrap();
    assert_eq!(workshop.wait_for_end(&id).path(), warm[0]);
    wait_for_background(&workshop);
}

#[test]
fn a_pool_is_filled_although_the_job_ends_first() {
    let setup = "[workspace]\nsetup = [\"sleep 1\"]\n";
    let workshop = Workshop::new(&format!("{setup}{POOL}"));
    let job = workshop.complete(&["--issue", "1"], "write a.txt a");
    assert_eq!(ready(&workshop), Vec::<PathBuf>::new(), "its set-up takes longer than the job's end");
    wait_for_background(&workshop);
    assert_eq!(ready(&workshop).len(), 1);
    workshop.assert_logged(job.id(), "from main");
}

#[test]
fn a_teardown_looks_after_the_trash() {
    let workshop = Workshop::new("[cleanup]\ntrash_for = \"1ms\"\n");
    let first = workshop.complete(&[], "write a.txt a");
    let status = |name: &str| {
        let listed = workshop.cli.run(&["ls", "--all", "--json"]).ok().json();
        let rows = listed["workspaces"].as_array().unwrap().clone();
        rows.iter().find(|row| row["name"] == name).map(|row| row["status"].as_str().unwrap().to_owned())
    };
    wait_until(|| status(first.text("workspace")).as_deref() == Some("purged"), LONG);
    wait_for_background(&workshop);
}

/// A workshop with an agent whose prompt is a shell script, beside `coder`.
fn with_shell() -> Workshop {
    Workshop::new("[agents.shell]\nruntime = \"command\"\ncommand = [\"sh\"]\n")
}

/// The line of a script that starts a job, which tells its process id and waits for `go`; its own id goes to a file.
fn start_another(workshop: &Workshop) -> String {
    let home = workshop.story.sandbox().spinney_home();
    let prompt = format!("pid {}\nwait-for {}\nwrite b.txt b", workshop.beside_text("pid"), workshop.beside_text("go"));
    format!(
        "{} --home {} run --detach --agent coder --issue 2 -- '{prompt}' > {}",
        common::BINARY,
        home.display(),
        workshop.beside_text("other")
    )
}

fn other(workshop: &Workshop) -> String {
    std::fs::read_to_string(workshop.beside("other")).unwrap().trim().to_owned()
}

#[test]
fn a_job_that_an_agent_started_outlives_it() {
    let workshop = with_shell();
    let script = format!("{}\ntouch a.txt", start_another(&workshop));
    let first = workshop.cli.run(&["run", "--json", "--agent", "shell", "--issue", "1", "--", &script]).ok().json();
    assert_eq!(first["status"], "completed", "{first:#}");
    let other = other(&workshop);
    let agent = read_pid(&workshop.beside("pid"));
    assert!(is_alive(agent) && runner_of(&other).is_some());
    std::fs::write(workshop.beside("go"), "").unwrap();
    let job = workshop.wait_for_end(&other);
    assert_eq!((job.text("status"), &job.0["attempt"], &job.0["pushed"]), ("completed", &1.into(), &true.into()));
}

#[test]
fn a_job_that_an_agent_started_outlives_the_death_of_its_process() {
    let workshop = with_shell();
    let ended = workshop.beside_text("ended");
    let script = format!("sleep 100 &\necho $! > {ended}.pid\n{}\nwait", start_another(&workshop));
    let first = Job::of(&workshop.cli.run(&["run", "--json", "--detach", "--agent", "shell", "--", &script]).ok());
    let agent = read_pid(&workshop.beside("pid"));
    let child = read_pid(&workshop.beside("ended.pid"));
    signal(runner_of(first.id()).unwrap(), Signal::KILL);
    wait_until(|| workshop.job(first.id()).text("status") == "interrupted", LONG);
    assert!(!is_alive(child), "what the agent started itself has ended");
    let other = other(&workshop);
    assert!(is_alive(agent) && runner_of(&other).is_some());
    std::fs::write(workshop.beside("go"), "").unwrap();
    assert_eq!(workshop.wait_for_end(&other).text("status"), "completed");
}
