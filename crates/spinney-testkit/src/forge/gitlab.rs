//! GitLab's REST API.

use serde_json::{Value, json};

use super::server::{Answered, Asked};
use super::state::{Fork, State, TestPullRequest};

const PROJECT: u64 = 1;
const FORKED_PROJECT: u64 = 2;
const CREATED: &str = "2026-01-02T03:04:05.000Z";

pub(super) fn route(asked: &Asked<'_>, state: &mut State) -> Answered {
    let parts: Vec<&str> = asked.path.split('/').filter(|part| !part.is_empty()).collect();
    match (asked.method, parts.as_slice()) {
        ("GET", []) => Answered::One("200 OK", project(asked)),
        ("GET", ["merge_requests"]) => list(asked, state),
        ("POST", ["merge_requests"]) => create(asked, state),
        ("GET", ["merge_requests", number]) => match state.pull_request(number) {
            Some(pull) => Answered::One("200 OK", merge_request(asked, pull)),
            None => missing(),
        },
        ("GET", ["issues", number]) => issue(asked, state, number),
        _ => Answered::One("404 Not Found", json!({ "error": "404 Not Found" })),
    }
}

fn missing() -> Answered {
    Answered::One("404 Not Found", json!({ "message": "404 Not found" }))
}

fn list(asked: &Asked<'_>, state: &State) -> Answered {
    let wanted = asked.query("state").unwrap_or("all");
    let branch = asked.query("source_branch");
    let found = state
        .newest(|pull| (wanted == "all" || word(pull) == wanted) && branch.is_none_or(|branch| branch == pull.head));
    Answered::List(found.into_iter().map(|pull| merge_request(asked, pull)).collect())
}

fn create(asked: &Asked<'_>, state: &mut State) -> Answered {
    let given = (asked.text("source_branch"), asked.text("target_branch"), asked.text("title"));
    let (Some(head), Some(base), Some(title)) = given else {
        return Answered::One(
            "400 Bad Request",
            json!({ "error": "source_branch is missing, target_branch is missing, title is missing" }),
        );
    };
    if state.has_open(head, base) {
        let words = "Another open merge request already exists for this source branch";
        return Answered::One("409 Conflict", json!({ "message": [words] }));
    }
    let pull = state.open(title, asked.text("description").unwrap_or_default(), head, base, None);
    Answered::One("201 Created", merge_request(asked, &pull))
}

fn issue(asked: &Asked<'_>, state: &State, number: &str) -> Answered {
    let Some(issue) = state.issue(number) else { return missing() };
    let body = json!({
        "id": 1000 + issue.number,
        "iid": issue.number,
        "project_id": PROJECT,
        "title": issue.title,
        "description": issue.body,
        "state": if issue.open { "opened" } else { "closed" },
        "created_at": CREATED,
        "updated_at": CREATED,
        "closed_at": null,
        "labels": [],
        "milestone": null,
        "assignees": [],
        "author": author(asked),
        "type": "ISSUE",
        "user_notes_count": 0,
        "confidential": false,
        "web_url": format!("{}/-/issues/{number}", web(asked)),
    });
    Answered::One("200 OK", body)
}

fn word(pull: &TestPullRequest) -> &'static str {
    if pull.state == "open" { "opened" } else { pull.state }
}

fn web(asked: &Asked<'_>) -> String {
    format!("{}/{}/{}", asked.url, asked.owner, asked.name)
}

fn author(asked: &Asked<'_>) -> Value {
    json!({
        "id": 1,
        "username": "someone",
        "name": "Someone",
        "state": "active",
        "avatar_url": null,
        "web_url": format!("{}/someone", asked.url),
    })
}

fn project(asked: &Asked<'_>) -> Value {
    json!({
        "id": PROJECT,
        "name": asked.name,
        "path": asked.name,
        "path_with_namespace": format!("{}/{}", asked.owner, asked.name),
        "default_branch": "main",
        "visibility": "private",
        "web_url": web(asked),
        "permissions": { "project_access": null, "group_access": { "access_level": 40, "notification_level": 3 } },
    })
}

fn merge_request(asked: &Asked<'_>, pull: &TestPullRequest) -> Value {
    let source = match &pull.fork {
        None => json!(PROJECT),
        Some(Fork::At(_)) => json!(FORKED_PROJECT),
        Some(Fork::Gone) => Value::Null,
    };
    json!({
        "id": 1000 + pull.number,
        "iid": pull.number,
        "project_id": PROJECT,
        "title": pull.title,
        "description": pull.body,
        "state": word(pull),
        "created_at": CREATED,
        "updated_at": CREATED,
        "merged_at": (pull.state == "merged").then_some(CREATED),
        "closed_at": (pull.state == "closed").then_some(CREATED),
        "target_branch": pull.base,
        "source_branch": pull.head,
        "source_project_id": source,
        "target_project_id": PROJECT,
        "author": author(asked),
        "assignees": [],
        "reviewers": [],
        "labels": [],
        "draft": false,
        "merge_status": "can_be_merged",
        "detailed_merge_status": "mergeable",
        "sha": pull.head_commit,
        "merge_commit_sha": pull.merge_commit,
        "squash_commit_sha": null,
        "references": { "short": format!("!{}", pull.number) },
        "web_url": format!("{}/-/merge_requests/{}", web(asked), pull.number),
        "squash": false,
    })
}
