//! What a job leaves behind, and what it must not take along: the pool, the trash, jobs that its agent started.

use std::path::PathBuf;

use crate::support::job::{Job, LONG, Offered, Workshop, is_alive, processes, read_pid, runner_of, signal};
use rustix::process::Signal;
use serde_json::Value;
use spinney_testkit::{postgres_database, wait_until};

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
        crate::support::common::BINARY,
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

/// A hook that tells its process id and waits until somebody ends it.
fn waiting_hook(workshop: &Workshop, name: &str) -> String {
    let pid = workshop.beside_text(name);
    let line = format!("echo $$ > {pid}.partial && mv {pid}.partial {pid} && exec sleep 100");
    format!("hooks = {{ after_run = [{}] }}\n", serde_json::to_string(&line).unwrap())
}

/// A job whose process dies when all is done but its teardown.
fn die_before_teardown(workshop: &Workshop, work: &[&str]) -> Job {
    let pid = workshop.beside("hook");
    let _ = std::fs::remove_file(&pid);
    let id = workshop.detach(work, "write a.txt a");
    read_pid(&pid);
    signal(runner_of(&id).unwrap(), Signal::KILL);
    workshop.wait_for(&id, "interrupted")
}

fn sweep(workshop: &Workshop, arguments: &[&str]) -> Value {
    workshop.cli.run(&[&["cleanup", "orphans", "--json"], arguments].concat()).ok().json()
}

fn names(rows: &Value) -> Vec<String> {
    rows.as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_workspace_that_its_job_did_not_let_go_is_an_orphan() {
    let workshop = Workshop::new("");
    workshop.configure(&waiting_hook(&workshop, "hook"));
    let own = die_before_teardown(&workshop, &[]);
    let issue = die_before_teardown(&workshop, &["--issue", "1"]);
    let (own, issue) = (own.text("workspace").to_owned(), issue.text("workspace").to_owned());
    assert_eq!(names(&sweep(&workshop, &["--dry-run"])["removed"]), [own.as_str()]);
    assert_eq!(workshop.story.show(&own).0["status"], "active", "it was only asked");
    let swept = sweep(&workshop, &[]);
    assert_eq!(names(&swept["removed"]), [own.as_str()], "{swept:#}");
    assert_eq!(workshop.story.show(&issue).0["status"], "active", "an issue is kept until it closes");
    // Who brings it back wants it.
    workshop.cli.run(&["restore", &own]).ok();
    assert_eq!(names(&sweep(&workshop, &[])["removed"]), Vec::<String>::new());
}

#[test]
fn what_is_not_delivered_or_still_to_be_done_is_no_orphan() {
    let workshop = Workshop::new("");
    let pid = workshop.beside_text("pid");
    let died = workshop.detach(&[], &format!("write a.txt a\ncommit one\npid {pid}\nsleep 100"));
    read_pid(&workshop.beside("pid"));
    assert_eq!(names(&sweep(&workshop, &[])["removed"]), Vec::<String>::new(), "it runs");
    signal(runner_of(&died).unwrap(), Signal::KILL);
    workshop.wait_for(&died, "interrupted");
    assert_eq!(names(&sweep(&workshop, &[])["removed"]), Vec::<String>::new(), "its work is not delivered");

    workshop.configure(&waiting_hook(&workshop, "hook"));
    let delivered = die_before_teardown(&workshop, &[]);
    workshop.story.sandbox().write_config(&crate::support::job::agent("other"));
    assert_eq!(names(&sweep(&workshop, &[])["removed"]), Vec::<String>::new(), "its agent is gone");
    workshop.configure("");
    assert_eq!(names(&sweep(&workshop, &[])["removed"]), [delivered.text("workspace")]);
}

#[test]
fn another_machines_job_is_cancelled_and_waited_for() {
    let database = postgres_database();
    let mut workshop = Workshop::new("");
    workshop.cli = workshop.cli.with_variable("SPINNEY_DATABASE_URL", database.url());
    let pid = workshop.beside_text("pid");
    let id = workshop.detach(&["--issue", "1"], &format!("pid {pid}\nsleep 100"));
    let agent = read_pid(&workshop.beside("pid"));
    let elsewhere = workshop.cli.with_variable("SPINNEY_HOME", workshop.beside_text("elsewhere"));
    let cancelled = Job::of(&elsewhere.run(&["cancel", "--json", &id]).ok());
    assert_eq!(cancelled.text("status"), "cancelled");
    assert!(!is_alive(agent));
    workshop.wait_for_end(&id);
}

#[test]
fn an_open_pull_request_keeps_a_workspace_from_all_but_its_own_job() {
    let offered = Offered::new("");
    let Offered { workshop, .. } = &offered;
    let kept = workshop.complete(&["--issue", "1"], "write a.txt a");
    assert_eq!(kept.0["pull_request"].as_str().map(|url| url.is_empty()), Some(false), "{:#}", kept.0);
    let input = workshop.beside("input");
    let event = serde_json::json!({ "hook_event_name": "WorktreeRemove", "worktree_path": kept.path() });
    std::fs::write(&input, event.to_string()).unwrap();
    let shell = workshop.story.sandbox().cli("/bin/sh").in_directory(workshop.story.repository.path());
    let line = format!("exec {} --json hook worktree-remove < {}", crate::support::common::BINARY, input.display());
    let refused = shell.run(&["-c", &line]).exits(3);
    assert!(refused.stderr.contains("open_pull_request"), "{}", refused.told());
    let gone = workshop.complete(&[], "write b.txt b");
    assert!(gone.0["pull_request"].is_string(), "{:#}", gone.0);
    assert_eq!(workshop.story.show(gone.text("workspace")).0["status"], "trashed");
}

#[test]
fn what_a_set_up_leaves_running_holds_no_workspace() {
    let workshop = Workshop::new("");
    let left = workshop.beside_text("left");
    let line = serde_json::to_string(&format!("sleep 100 & echo $! > {left}")).unwrap();
    workshop.configure(&format!("[workspace]\nsetup = [{line}]\n"));
    let cold = workshop.complete(&[], "write a.txt a");
    assert!(!is_alive(read_pid(&workshop.beside("left"))), "a job ends all that it started");
    assert_eq!(workshop.story.show(cold.text("workspace")).0["status"], "trashed");

    std::fs::remove_file(workshop.beside("left")).unwrap();
    workshop.cli.with_variable("SPINNEY_POOL__SIZE", "1").run(&["pool", "fill"]).ok();
    assert!(!is_alive(read_pid(&workshop.beside("left"))), "nobody has the workspace yet");
    let warm = workshop.complete(&[], "write a.txt a");
    workshop.assert_logged(warm.id(), ", warm");
    assert_eq!(workshop.story.show(warm.text("workspace")).0["status"], "trashed");
}

#[test]
fn a_group_that_somebody_else_leads_outlives_the_job() {
    let workshop = Workshop::new("");
    let (pid, go) = (workshop.beside_text("pid"), workshop.beside_text("go"));
    let id = workshop.detach(&["--issue", "1"], &format!("pid {pid}\nwait-for {go}"));
    read_pid(&workshop.beside("pid"));
    // A person's shell, of which one command has the job's variable.
    let (shell, tagged) = (workshop.beside_text("shell"), workshop.beside_text("tagged"));
    let line = format!(
        "echo $$ > {shell}.new; mv {shell}.new {shell}; SPINNEY_JOB_ID={id} sleep 60 & echo $! > {tagged}; wait; exec sleep 60"
    );
    let person = workshop.story.sandbox().cli("setsid").spawn(&["/bin/sh", "-c", &line]);
    let (shell, tagged) = (read_pid(&workshop.beside("shell")), read_pid(&workshop.beside("tagged")));
    workshop.cli.run(&["cancel", &id, "--now"]).ok();
    workshop.wait_for_end(&id);
    wait_until(|| !is_alive(tagged), LONG);
    assert!(is_alive(shell), "the person's shell was ended with the job");
    signal(shell, Signal::KILL);
    person.kill();
}

#[test]
fn a_job_runs_inside_a_container_that_was_entered_from_outside() {
    let workshop = Workshop::new("");
    // Whoever started it is not to be seen in there: its session and its group are none.
    let inside = ["--pid", "--fork", "--mount-proc"];
    let unshare = workshop.story.sandbox().cli("unshare").in_directory(workshop.story.repository.path());
    if unshare.run(&[&inside[..], &["true"]].concat()).status != 0 {
        println!("skipped: this machine lets nobody make a namespace of processes");
        return;
    }
    let run = [crate::support::common::BINARY, "--json", "run", "--issue", "1", "write a.txt a"];
    let job = unshare.run(&[&inside[..], &run].concat()).ok().json();
    assert_eq!(job["status"], "completed", "{job}");
    assert_eq!(job["commits"], 1);
}
