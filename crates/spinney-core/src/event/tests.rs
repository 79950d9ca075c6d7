use serde_json::json;

use super::*;
use crate::Work;

fn about_job() -> AboutJob {
    AboutJob { agent: "coder".to_owned(), work: Work::issue(7) }
}

#[test]
fn an_event_is_its_kind_and_its_detail() {
    let event = Event::JobStarted { about: about_job(), attempt: 2 };
    let detail = json!({ "agent": "coder", "work": { "kind": "issue", "key": "7" }, "attempt": 2 });
    assert_eq!(event.parts(), ("job.started".to_owned(), detail.clone()));
    assert_eq!(Event::of_parts("job.started".to_owned(), detail), event);
}

#[test]
fn what_a_job_waits_for_is_told_in_words_and_read_without_them() {
    let on = WaitsFor::Worker { busy: 2, limit: 2 };
    let event = Event::JobWaiting { about: about_job(), waits_for: Some(on.to_string()), on: Some(on.clone()) };
    let (kind, detail) = event.parts();
    assert_eq!(detail["waits_for"], "a worker (2 of 2 busy)");
    let Event::JobWaiting { on: Some(read), .. } = Event::of_parts(kind, detail) else { panic!() };
    assert_eq!(read, on);
}

#[test]
fn what_an_older_version_wrote_is_understood() {
    // It told no `on`, and told an error that is none.
    let detail = json!({ "agent": "coder", "work": { "kind": "issue", "key": "7" }, "waits_for": "a worker" });
    let read = Event::of_parts("job.waiting".to_owned(), detail);
    assert!(matches!(read, Event::JobWaiting { on: None, .. }), "{read:?}");
    let detail = json!({ "name": "task-x", "branch": "b", "work": { "kind": "task", "key": "x" }, "error": null });
    let read = Event::of_parts("workspace.lost".to_owned(), detail);
    assert!(matches!(&read, Event::WorkspaceLost(about) if about.error.is_none()), "{read:?}");
}

#[test]
fn what_another_version_wrote_is_kept_as_it_is() {
    for (kind, detail) in [("box.stopped", json!({ "why": "it was idle" })), ("job.started", json!({ "attempt": "x" }))]
    {
        let read = Event::of_parts(kind.to_owned(), detail.clone());
        assert!(matches!(read, Event::Other { .. }), "{read:?}");
        assert_eq!(read.parts(), (kind.to_owned(), detail));
    }
}

#[test]
fn an_actor_is_told_by_its_kind() {
    let actor = Actor::PlatformUser { platform: Platform::on("slack"), user: "U1".to_owned() };
    let told = json!({ "kind": "platform_user", "platform": "slack", "user": "U1" });
    assert_eq!(serde_json::to_value(&actor).unwrap(), told);
    assert_eq!(serde_json::from_value::<Actor>(told).unwrap(), actor);
    let newer = json!({ "kind": "oracle", "name": "x" });
    assert_eq!(serde_json::from_value::<Actor>(newer).unwrap(), Actor::Unknown);
}
