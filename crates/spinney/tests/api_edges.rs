//! The API at its edges: what is broken beside, what is asked again, what is changed under way.

mod api_support;
mod common;
mod job_support;

use std::fs;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use api_support::{Served, names, refused, text};
use job_support::LONG;
use serde_json::json;
use spinney_testkit::wait_until;

#[test]
fn a_repository_that_can_not_be_opened_hides_no_other() {
    let served = Served::new("");
    let (broken, row) = served.another("broken");
    fs::write(broken.join("spinney.toml"), "[workspace\n").unwrap();
    let pools = served.get("/api/v1/pool");
    assert_eq!(
        (&pools["pools"][0]["repository"], pools["pools"].as_array().unwrap().len()),
        (&json!(served.repository()), 1)
    );
    assert_eq!(names(&pools, "failed"), [text(&row, "name")]);
    assert!(text(&pools["failed"][0]["error"], "message").contains("spinney.toml"), "{pools}");
    let elsewhere = served.workshop.cli.in_directory(served.workshop.story.sandbox().path());
    assert_eq!(elsewhere.run(&["pool", "status", "--json"]).ok().json(), pools);

    // One that was moved away is the place's fault, not the server's.
    let moved = broken.with_file_name("moved");
    fs::rename(&broken, &moved).unwrap();
    assert_eq!(names(&served.get("/api/v1/pool"), "failed"), [text(&row, "name")]);
    let work = json!({ "repository": row["name"], "kind": "issue", "key": "1" });
    refused(&served.client.post("/api/v1/workspaces", &work), 409, "failed");
    refused(
        &served.client.send("POST", &format!("/api/v1/repositories/{}/sync", text(&row, "id")), b""),
        409,
        "failed",
    );
}

#[test]
fn what_is_asked_again_is_answered_again_with_where_to_go_on() {
    let served = Served::new("");
    let body = json!({ "repository": served.repository(), "agent": "coder", "prompt": "print x" });
    let keyed = served.client.with_header("Idempotency-Key", "one");
    let first = keyed.post("/api/v1/jobs", &body).expects(202);
    let place = format!("/api/v1/jobs/{}", text(&first.json(), "id"));
    assert_eq!(first.header("location"), Some(place.as_str()));
    let again = keyed.post("/api/v1/jobs", &body).expects(202);
    assert_eq!((again.header("idempotency-replayed"), again.header("location")), (Some("true"), Some(place.as_str())));
    served.wait_for(&text(&first.json(), "id"), "completed");

    // Another query asks for something else.
    let own = format!("/api/v1/workspaces/{}", text(&served.issue(1), "id"));
    let keyed = served.client.with_header("Idempotency-Key", "two");
    keyed.delete(&format!("{own}?force=false")).expects(200);
    refused(&keyed.delete(&format!("{own}?force=true")), 422, "usage");
    assert_eq!(keyed.delete(&format!("{own}?force=false")).expects(200).header("idempotency-replayed"), Some("true"));
}

#[test]
fn a_clone_that_takes_long_is_made_by_the_job_and_not_by_the_request() {
    // Takes connections, and never says anything.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/acme/library.git", silent.local_addr().unwrap());
    let served = Served::new(&format!(
        "working_directory = {{ url = \"{url}\", auto_clone = true }}\n\
         [agents.coder.schedules.late]\ntype = \"cron\"\ncron = \"0 0 29 2 *\"\nprompt = \"print x\"\n"
    ));
    let began = Instant::now();
    let job = served.job("1", "print x");
    // Nor does who only looks wait for it.
    let schedules = served.get("/api/v1/schedules");
    assert!(text(&schedules["problems"][0], "message").contains("not cloned yet"), "{schedules}");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert_eq!((&job["status"], &job["repository"]), (&json!("pending"), &json!(served.repository())));
    let id = text(&job, "id");
    let log = format!("/api/v1/jobs/{id}/log");
    wait_until(|| served.client.get(&log).expects(200).text().contains("clones `http"), LONG);
    served.client.send("POST", &format!("/api/v1/jobs/{id}/cancel"), b"").expects(202);
    served.wait_for(&id, "cancelled");
}
