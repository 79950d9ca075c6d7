//! Jobs at the limit on workspaces: what is done makes room for the rest of a list, and who can't have any waits for it.

use std::fs;

use crate::support::common::make;
use crate::support::job::{Job, LONG, Workshop};
use serde_json::Value;
use spinney_testkit::wait_until;

const THREE: &str = "[limits]\nmax_workspaces = 3\n";
const ONE: &str = "[limits]\nmax_workspaces = 1\n";

/// Runs a job for every prompt; gives the jobs.
#[track_caller]
fn run_each(workshop: &Workshop, arguments: &[&str], prompts: &[&str]) -> Vec<Job> {
    let file = workshop.beside_text("prompts");
    fs::write(&file, prompts.join("\n")).unwrap();
    let ran = workshop.cli.run(&[&["run", "--json", "--agent", "coder", "--each", &file], arguments].concat()).ok();
    ran.json()["jobs"].as_array().unwrap().iter().cloned().map(Job).collect()
}

fn waits_for_room(workshop: &Workshop, id: &str) -> bool {
    workshop.job(id).0["waits_for"].as_str().is_some_and(|text| text.starts_with("room: "))
}

#[test]
fn a_list_longer_than_the_limit_goes_to_its_end() {
    let workshop = Workshop::new(THREE);
    let prompts = ["write a.txt a", "write b.txt b", "write c.txt c", "write d.txt d", "write e.txt e"];
    let jobs = run_each(&workshop, &[], &prompts);
    for job in &jobs {
        assert_eq!((job.text("status"), &job.0["pushed"]), ("completed", &Value::Bool(true)), "{:#}", job.0);
    }
    assert_eq!(workshop.pushed().len(), prompts.len() + 1, "{:?}", workshop.pushed());
    assert_eq!(workshop.story.worktrees().len(), 3);
}

#[test]
fn only_what_a_list_itself_is_done_with_need_not_be_idle() {
    let workshop = Workshop::new(ONE);
    workshop.complete(&["--issue", "1"], "write a.txt a");
    let jobs = run_each(&workshop, &["--detach"], &["write b.txt b"]);
    wait_until(|| waits_for_room(&workshop, jobs[0].id()), LONG);
    assert_eq!(workshop.job(jobs[0].id()).text("status"), "pending");
    // A single one says so at once, and its exit status is that of a block.
    let refused = workshop.cli.run(&["run", "--issue", "2", "write c.txt c"]).exits(3);
    assert!(refused.stderr.contains("(limit 1)"), "{}", refused.told());
    workshop.cli.run(&["rm", "issue-1"]).ok();
    assert_eq!(workshop.wait_for(jobs[0].id(), "completed").0["pushed"], true);
}

#[test]
fn who_waits_goes_on_when_something_has_been_idle_for_long_enough() {
    let workshop = Workshop::new(&format!("{ONE}[cleanup]\nidle_after = \"5s\"\n"));
    make(&workshop.cli, &["--issue", "1"]);
    let first = workshop.detach(&["--wait", "--issue", "2"], "write a.txt a");
    wait_until(|| waits_for_room(&workshop, &first), LONG);
    assert_eq!(workshop.wait_for(&first, "completed").0["pushed"], true);
    assert_eq!(workshop.story.show("issue-1").text("status"), "trashed");
    // Several tries at one thing wait, too.
    let ran =
        workshop.cli.run(&["run", "--json", "--agent", "coder", "--count", "2", "--task", "try", "write b.txt b"]);
    let ran = ran.ok().json();
    assert!(ran["jobs"].as_array().unwrap().iter().all(|job| job["pushed"] == true), "{ran:#}");
}

#[test]
fn a_list_takes_nothing_in_which_somebody_works() {
    let workshop = Workshop::new(ONE);
    let file = workshop.beside_text("list");
    fs::write(&file, "write a.txt a\nwrite b.txt b\n").unwrap();
    // What a hook leaves beside the commits is as good as a person's note.
    workshop.configure(&format!("{}{ONE}", "[agents.coder.hooks]\nafter_run = [\"echo mine > notes.txt\"]\n"));
    let ran = workshop.cli.run(&["run", "--json", "--agent", "coder", "--each", &file, "--detach"]).ok().json();
    let ids: Vec<_> =
        ran["jobs"].as_array().unwrap().iter().map(|job| job["id"].as_str().unwrap().to_owned()).collect();
    // Both begin at once, and either may get the one workspace that there is room for.
    let is_completed = |id: &String| workshop.job(id).text("status") == "completed";
    wait_until(|| ids.iter().any(is_completed), LONG);
    let (done, waits): (Vec<_>, Vec<_>) = ids.iter().partition(|id| is_completed(id));
    wait_until(|| waits_for_room(&workshop, waits[0]), LONG);
    let first = workshop.job(done[0]);
    assert!(first.path().join("notes.txt").is_file());
    workshop.cli.run(&["rm", "--force", first.text("workspace")]).ok();
    workshop.wait_for(waits[0], "completed");
}
