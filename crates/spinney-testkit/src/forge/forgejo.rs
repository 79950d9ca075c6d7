//! Forgejo's REST API: no filter by branch, and a head that follows the branch even after the merge.

use serde_json::{Value, json};

use super::server::{Answered, Asked};
use super::state::{Fork, State, TestPullRequest};

const REPOSITORY: i64 = 1;
const FORK: i64 = 2;
const GONE: i64 = -1;
const CREATED: &str = "2026-01-02T03:04:05Z";

pub(super) fn route(asked: &Asked<'_>, state: &mut State) -> Answered {
    let parts: Vec<&str> = asked.path.split('/').filter(|part| !part.is_empty()).collect();
    match (asked.method, parts.as_slice()) {
        ("GET", []) => Answered::One("200 OK", repository(asked, REPOSITORY, asked.owner)),
        ("GET", ["pulls"]) => list(asked, state),
        ("POST", ["pulls"]) => create(asked, state),
        ("GET", ["pulls", number]) => match state.pull_request(number) {
            Some(found) => Answered::One("200 OK", pull(asked, state, found)),
            None => missing(),
        },
        ("GET", ["git", "refs", "pull", number, "head"]) => references(state, number),
        ("GET", ["issues", number]) => issue(asked, state, number),
        _ => missing(),
    }
}

fn missing() -> Answered {
    let words = "The target couldn't be found.";
    Answered::One("404 Not Found", json!({ "errors": [], "message": words, "url": "https://docs.example" }))
}

fn list(asked: &Asked<'_>, state: &State) -> Answered {
    let wanted = asked.query("state").unwrap_or("open");
    let found = state.newest(|pull| wanted == "all" || (pull.state == "open") == (wanted == "open"));
    Answered::List(found.into_iter().map(|found| pull(asked, state, found)).collect())
}

fn create(asked: &Asked<'_>, state: &mut State) -> Answered {
    let (Some(head), Some(base), Some(title)) = (asked.text("head"), asked.text("base"), asked.text("title")) else {
        return Answered::One(
            "422 Unprocessable Entity",
            json!({ "message": "[Title]: Required", "url": "https://docs.example" }),
        );
    };
    if state.has_open(head, base) {
        let words = format!("pull request already exists for these targets [head_branch: {head}, base_branch: {base}]");
        return Answered::One("409 Conflict", json!({ "message": words, "url": "https://docs.example" }));
    }
    let opened = state.open(title, asked.text("body").unwrap_or_default(), head, base, None);
    Answered::One("201 Created", pull(asked, state, &opened))
}

/// Every ref that begins so.
fn references(state: &State, number: &str) -> Answered {
    let Some(found) = state.pull_request(number) else { return missing() };
    let object = json!({ "type": "commit", "sha": found.head_commit, "url": "https://example" });
    let name = format!("refs/pull/{number}/head");
    let longer = json!({ "ref": format!("{name}er"), "url": "https://example", "object": { "type": "commit", "sha": "0".repeat(40), "url": "https://example" } });
    Answered::One("200 OK", json!([longer, { "ref": name, "url": "https://example", "object": object }]))
}

fn issue(asked: &Asked<'_>, state: &State, number: &str) -> Answered {
    // A pull request is an issue too.
    let (title, body, open, pull_request) = match (state.issue(number), state.pull_request(number)) {
        (Some(issue), _) => (&issue.title, &issue.body, issue.open, Value::Null),
        (None, Some(pull)) => (
            &pull.title,
            &pull.body,
            pull.state == "open",
            json!({ "merged": pull.state == "merged", "merged_at": null }),
        ),
        (None, None) => return missing(),
    };
    let body = json!({
        "id": 1000,
        "url": format!("{}/api/v1/repos/{}/{}/issues/{number}", asked.url, asked.owner, asked.name),
        "html_url": format!("{}/issues/{number}", web(asked)),
        "number": number.parse::<u64>().unwrap_or_default(),
        "user": user(asked),
        "title": title,
        "body": body,
        "labels": [],
        "milestone": null,
        "assignees": null,
        "state": if open { "open" } else { "closed" },
        "is_locked": false,
        "comments": 0,
        "created_at": CREATED,
        "updated_at": CREATED,
        "closed_at": null,
        "pull_request": pull_request,
        "repository": { "id": REPOSITORY, "name": asked.name, "owner": asked.owner, "full_name": format!("{}/{}", asked.owner, asked.name) },
    });
    Answered::One("200 OK", body)
}

fn web(asked: &Asked<'_>) -> String {
    format!("{}/{}/{}", asked.url, asked.owner, asked.name)
}

fn user(asked: &Asked<'_>) -> Value {
    json!({ "id": 1, "login": "someone", "full_name": "", "avatar_url": format!("{}/avatars/1", asked.url), "active": false, "is_admin": false })
}

fn repository(asked: &Asked<'_>, id: i64, owner: &str) -> Value {
    json!({
        "id": id,
        "owner": user(asked),
        "name": asked.name,
        "full_name": format!("{owner}/{}", asked.name),
        "fork": id != REPOSITORY,
        "private": true,
        "html_url": format!("{}/{owner}/{}", asked.url, asked.name),
        "default_branch": "main",
        "permissions": { "admin": false, "push": true, "pull": true },
    })
}

fn pull(asked: &Asked<'_>, state: &State, pull: &TestPullRequest) -> Value {
    let (id, head_repository) = match &pull.fork {
        None => (REPOSITORY, repository(asked, REPOSITORY, asked.owner)),
        Some(Fork::At(name)) => (FORK, repository(asked, FORK, name.split('/').next().unwrap_or_default())),
        Some(Fork::Gone) => (GONE, Value::Null),
    };
    let page = format!("{}/pulls/{}", web(asked), pull.number);
    // Of a branch in this repository it is the tip of today, merged or not.
    let tip = if pull.fork.is_none() { state.tip(&pull.head) } else { pull.head_commit.clone() };
    let reference = if id == GONE { format!("refs/pull/{}/head", pull.number) } else { pull.head.clone() };
    json!({
        "id": 1000 + pull.number,
        "url": page,
        "number": pull.number,
        "user": user(asked),
        "title": pull.title,
        "body": pull.body,
        "labels": [],
        "milestone": null,
        "assignee": null,
        "assignees": null,
        "state": if pull.state == "open" { "open" } else { "closed" },
        "draft": false,
        "is_locked": false,
        "comments": 0,
        "html_url": page,
        "diff_url": format!("{page}.diff"),
        "patch_url": format!("{page}.patch"),
        "mergeable": pull.state == "open",
        "merged": pull.state == "merged",
        "merged_at": (pull.state == "merged").then_some(CREATED),
        "merge_commit_sha": pull.merge_commit,
        "merged_by": null,
        "base": { "label": pull.base, "ref": pull.base, "sha": state.tip(&pull.base), "repo_id": REPOSITORY, "repo": repository(asked, REPOSITORY, asked.owner) },
        "head": { "label": pull.head, "ref": reference, "sha": tip, "repo_id": id, "repo": head_repository },
        "merge_base": "0".repeat(40),
        "created_at": CREATED,
        "updated_at": CREATED,
        "closed_at": (pull.state != "open").then_some(CREATED),
    })
}
