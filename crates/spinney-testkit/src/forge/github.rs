//! GitHub's REST API.

use serde_json::json;

use super::github_shapes::Shapes;
use super::server::{Answered, Asked};
use super::state::{Fork, State};

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
        _ => Answered::not_found(),
    }
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
