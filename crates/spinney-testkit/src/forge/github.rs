//! GitHub's REST API.

use serde_json::json;

use super::github_shapes::{self, Shapes};
use super::server::{Answered, Asked};
use super::state::{Fork, State};

const LONGEST_COMMENT: usize = 65_536;
const INSTALLATION: u64 = 77;

pub(super) fn route(asked: &Asked<'_>, state: &mut State) -> Answered {
    let shapes = Shapes::new(asked);
    let parts: Vec<&str> = asked.path.split('/').filter(|part| !part.is_empty()).collect();
    match (asked.method, parts.as_slice()) {
        ("GET", []) => Answered::One("200 OK", shapes.full_repository()),
        ("GET", ["pulls"]) => list(asked, &shapes, state),
        ("POST", ["pulls"]) => create(asked, &shapes, state),
        ("GET", ["pulls", number]) => match state.pull_request(number) {
            Some(pull) => Answered::One("200 OK", shapes.full_pull_request(pull, state)),
            None => Answered::not_found(),
        },
        ("GET", ["issues", number]) => match (state.issue(number), state.pull_request(number)) {
            (Some(issue), _) => Answered::One("200 OK", shapes.issue(issue)),
            // A pull request is an issue too.
            (None, Some(pull)) => Answered::One("200 OK", shapes.issue_of(pull)),
            (None, None) => Answered::not_found(),
        },
        ("GET", ["issues"]) => issues(asked, &shapes, state),
        ("POST", ["issues", number, "labels"]) => add_labels(asked, &shapes, state, number),
        ("DELETE", ["issues", number, "labels", label]) => remove_label(&shapes, state, number, label),
        ("GET", ["issues", number, "comments"]) => {
            let on_it = state.comments.iter().filter(|comment| comment.issue.to_string() == *number);
            Answered::List(on_it.map(|comment| shapes.comment(comment)).collect())
        }
        ("POST", ["issues", number, "comments"]) => match (state.numbered(number), asked.text("body")) {
            (Some(_), Some(body)) if body.chars().count() > LONGEST_COMMENT => too_long(),
            (Some(issue), Some(body)) => {
                let comment = state.comment(issue, asked.owner, "OWNER", body);
                Answered::One("201 Created", shapes.comment(&comment))
            }
            _ => Answered::not_found(),
        },
        ("PATCH", ["issues", "comments", id]) => {
            match state.comments.iter_mut().find(|one| one.id.to_string() == *id) {
                Some(_) if asked.text("body").is_some_and(|body| body.chars().count() > LONGEST_COMMENT) => too_long(),
                Some(comment) => {
                    comment.body = asked.text("body").unwrap_or_default().to_owned();
                    Answered::One("200 OK", shapes.comment(comment))
                }
                None => Answered::not_found(),
            }
        }
        ("DELETE", ["issues", "comments", id]) => {
            let before = state.comments.len();
            state.comments.retain(|comment| comment.id.to_string() != *id);
            if state.comments.len() < before { Answered::Nothing } else { Answered::not_found() }
        }
        ("GET", ["collaborators", login, "permission"]) => {
            match state.people.iter().find(|person| person.login.eq_ignore_ascii_case(login)) {
                Some(person) => Answered::One("200 OK", shapes.permission(person)),
                None => Answered::not_found(),
            }
        }
        _ => Answered::not_found(),
    }
}

/// What only an app asks, by its own signature; none where it is no such question.
pub(super) fn route_app(method: &str, path: &str, repository: &str, url: &str, state: &mut State) -> Option<Answered> {
    if (method, path) == ("GET", "/app") && state.app_tokens.is_some() {
        let owner = repository.split('/').nth(2).unwrap_or_default();
        return Some(Answered::One("200 OK", github_shapes::app(owner, url)));
    }
    let is_lookup = method == "GET" && path.strip_prefix(repository) == Some("/installation");
    let is_token = method == "POST" && path == format!("/app/installations/{INSTALLATION}/access_tokens");
    match (is_lookup, is_token) {
        (true, _) if state.app_tokens.is_some() => {
            Some(Answered::One("200 OK", github_shapes::installation(INSTALLATION, repository, url)))
        }
        (true, _) => Some(Answered::not_found()),
        (_, true) => Some(match state.app_token() {
            Some(token) => Answered::One("201 Created", github_shapes::access_token(&token)),
            None => Answered::not_found(),
        }),
        _ => None,
    }
}

fn too_long() -> Answered {
    let error = json!({ "resource": "IssueComment", "code": "unprocessable", "field": "data", "message": "Body is too long (maximum is 65536 characters)" });
    let body =
        json!({ "message": "Validation Failed", "errors": [error], "documentation_url": "https://docs.example" });
    Answered::One("422 Unprocessable Entity", body)
}

/// Oldest first. A pull request is an issue too, and here it has every label.
fn issues(asked: &Asked<'_>, shapes: &Shapes<'_>, state: &State) -> Answered {
    let wanted = asked.query("labels").unwrap_or_default();
    let open = state.issues.iter().filter(|issue| issue.open);
    let labelled = open.filter(|issue| issue.labels.iter().any(|label| label.eq_ignore_ascii_case(wanted)));
    let mut listed: Vec<_> = labelled.map(|issue| (issue.number, shapes.issue(issue))).collect();
    let pulls = state.pull_requests.iter().filter(|pull| pull.state == "open");
    listed.extend(pulls.map(|pull| (pull.number, shapes.issue_of(pull))));
    listed.sort_by_key(|(number, _)| *number);
    Answered::List(listed.into_iter().map(|(_, issue)| issue).collect())
}

fn add_labels(asked: &Asked<'_>, shapes: &Shapes<'_>, state: &mut State, number: &str) -> Answered {
    let Some(issue) = state.issue_mut(number) else { return Answered::not_found() };
    let given = asked.body["labels"].as_array().into_iter().flatten().filter_map(|label| label.as_str());
    for label in given {
        if !issue.labels.iter().any(|known| known.eq_ignore_ascii_case(label)) {
            issue.labels.push(label.to_owned());
        }
    }
    Answered::One("200 OK", shapes.labels(&issue.labels))
}

fn remove_label(shapes: &Shapes<'_>, state: &mut State, number: &str, label: &str) -> Answered {
    let Some(issue) = state.issue_mut(number) else { return Answered::not_found() };
    let before = issue.labels.len();
    issue.labels.retain(|known| !known.eq_ignore_ascii_case(label));
    if issue.labels.len() == before {
        return Answered::not_found();
    }
    Answered::One("200 OK", shapes.labels(&issue.labels))
}

fn list(asked: &Asked<'_>, shapes: &Shapes<'_>, state: &State) -> Answered {
    let wanted = asked.query("state").unwrap_or("open");
    // Without an owner the filter is ignored, as on the real one.
    let head = asked.query("head").and_then(|head| head.split_once(':'));
    let found = state.newest(|pull| {
        let owner = match &pull.fork {
            None => Some(asked.owner),
            Some(Fork::At(name)) => name.split('/').next(),
            Some(Fork::Gone) => None,
        };
        let right_state = wanted == "all" || (pull.state == "open") == (wanted == "open");
        right_state && head.is_none_or(|(of, branch)| owner == Some(of) && pull.head == branch)
    });
    Answered::List(found.into_iter().map(|pull| shapes.pull_request(pull, state)).collect())
}

fn create(asked: &Asked<'_>, shapes: &Shapes<'_>, state: &mut State) -> Answered {
    let invalid = |error| {
        let documentation = "https://docs.example";
        let body = json!({ "message": "Validation Failed", "errors": [error], "documentation_url": documentation });
        Answered::One("422 Unprocessable Entity", body)
    };
    let (Some(head), Some(base), Some(title)) = (asked.text("head"), asked.text("base"), asked.text("title")) else {
        return invalid(json!({ "resource": "PullRequest", "code": "missing_field", "field": "title" }));
    };
    if state.has_open(head, base) {
        let words = format!("A pull request already exists for {}:{head}.", asked.owner);
        return invalid(json!({ "resource": "PullRequest", "code": "custom", "message": words }));
    }
    let pull = state.open(title, asked.text("body").unwrap_or_default(), head, base, None);
    Answered::One("201 Created", shapes.full_pull_request(&pull, state))
}
