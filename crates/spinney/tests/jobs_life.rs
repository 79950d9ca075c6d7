//! What a job leaves behind, and what it must not take along: the pool, the trash, jobs that its agent started.

mod common;
mod job_support;

use std::path::PathBuf;

use job_support::{LONG, Workshop, processes, read_pid};
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
