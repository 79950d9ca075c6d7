//! A small Linear on loopback: the issues of one team, over as much of its GraphQL API as taking work from it needs.
//!
//! It looks at an operation's name and variables, and answers with all fields that it has; whether the documents fit
//! Linear's schema is not judged here. As the real one, it keeps no comments of HTML, and sorts by nothing that was asked.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::http::{HttpServer, Request, Response};

const TOKEN: &str = "lin_api_t0ken-that-nobody-may-see";
const PER_PAGE: usize = 50;
/// Who the token is of.
const ME: &str = "user-me";

/// What happens to a request instead of an ordinary answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinearTrouble {
    /// Too many requests; they are counted anew after this time.
    RateLimited(Duration),
    Status(u16),
    /// Refused in these words, with status 200.
    Error(String),
    /// All is done, and the connection closes without the answer.
    AnswerLost,
}

/// The server; it stops when dropped.
#[derive(Debug)]
pub struct TestLinear {
    shared: Arc<Shared>,
    server: HttpServer,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// At an operation, or the next one.
    troubles: Mutex<VecDeque<(Option<&'static str>, LinearTrouble)>>,
    asked: Mutex<Vec<String>>,
}

#[derive(Debug, Default)]
struct State {
    team: String,
    issues: Vec<Value>,
    labels: Vec<Value>,
    comments: Vec<Value>,
    clock: u32,
}

impl TestLinear {
    /// A team with two states that mean that an issue is done, and these labels.
    #[must_use]
    pub fn new(team: &str, labels: &[&str]) -> Self {
        let shared = Arc::new(Shared::default());
        {
            let mut state = lock(&shared.state);
            team.clone_into(&mut state.team);
            let label = |name: &&str| json!({ "id": format!("label-{name}"), "name": name, "isGroup": false, "team": { "key": team } });
            state.labels = labels.iter().map(label).collect();
            // Another team's, and one of the whole workspace.
            state.labels.insert(
                0,
                json!({ "id": "label-foreign", "name": "agent-working", "isGroup": false, "team": { "key": "OPS" } }),
            );
            state.labels.insert(0, json!({ "id": "label-shared", "name": "shared", "isGroup": false, "team": null }));
        }
        let server = HttpServer::start({
            let shared = Arc::clone(&shared);
            move |request| shared.answer(request)
        });
        Self { shared, server }
    }

    /// The address for `forge.linear.api_url`.
    #[must_use]
    pub fn api_url(&self) -> String {
        format!("http://{}/graphql", self.server.address())
    }

    #[must_use]
    pub fn token(&self) -> &'static str {
        TOKEN
    }

    /// Gets into trouble at the next operation of this name, or at the very next one.
    pub fn trouble(&self, at: Option<&'static str>, trouble: LinearTrouble) {
        lock(&self.shared.troubles).push_back((at, trouble));
    }

    /// Adds an issue and gives its number.
    pub fn add_issue(&self, title: &str, body: &str, labels: &[&str]) -> u64 {
        let mut state = lock(&self.shared.state);
        let number = state.issues.len() as u64 + 1;
        let issue = json!({
            "id": format!("issue-{number}"),
            // Linear's numbers are floats.
            "number": f64::from(u32::try_from(number).expect("there are few")),
            "title": title,
            "description": body,
            "state": { "id": "state-todo", "type": "unstarted" },
            "team": { "key": state.team },
            "labels": { "nodes": [] },
        });
        // The newest come first there.
        state.issues.insert(0, issue);
        drop(state);
        self.label_issue(number, labels);
        number
    }

    /// Gives an issue these labels, and no others.
    pub fn label_issue(&self, number: u64, labels: &[&str]) {
        let label = |name: &&str| json!({ "id": format!("label-{}", name.to_lowercase()), "name": name });
        let nodes: Vec<_> = labels.iter().map(label).collect();
        lock(&self.shared.state).issue_mut(&format!("issue-{number}"))["labels"]["nodes"] = nodes.into();
    }

    /// The labels of an issue, sorted.
    #[must_use]
    pub fn labels(&self, number: u64) -> Vec<String> {
        let mut state = lock(&self.shared.state);
        let issue = state.issue_mut(&format!("issue-{number}"));
        let nodes = issue["labels"]["nodes"].as_array().into_iter().flatten();
        let mut names: Vec<_> = nodes.filter_map(|label| label["name"].as_str().map(ToOwned::to_owned)).collect();
        names.sort();
        names
    }

    /// The state that an issue is in, by its id: `state-todo`, `state-done`.
    #[must_use]
    pub fn state(&self, number: u64) -> String {
        lock(&self.shared.state).issue_mut(&format!("issue-{number}"))["state"]["id"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    /// Comments on an issue as a member, or as a guest.
    pub fn comment(&self, issue: u64, user: &str, is_guest: bool, body: &str) {
        let mut state = lock(&self.shared.state);
        let id = format!("comment-{}", state.comments.len());
        state.add_comment(&id, &format!("issue-{issue}"), &json!({ "id": user, "guest": is_guest }), body);
    }

    /// The texts of the comments on an issue, oldest first.
    #[must_use]
    pub fn comments(&self, issue: u64) -> Vec<String> {
        let state = lock(&self.shared.state);
        let id = format!("issue-{issue}");
        let mut on_it: Vec<_> = state.comments.iter().filter(|comment| comment["issue"]["id"] == *id).collect();
        on_it.sort_by_key(|comment| comment["createdAt"].to_string());
        on_it.into_iter().filter_map(|comment| comment["body"].as_str().map(ToOwned::to_owned)).collect()
    }

    /// The names of the operations that were asked for so far.
    #[must_use]
    pub fn asked(&self) -> Vec<String> {
        lock(&self.shared.asked).clone()
    }
}

impl Shared {
    fn answer(&self, request: &Request) -> io::Result<Response> {
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let document = body["query"].as_str().unwrap_or_default();
        let name = document.split([' ', '(']).nth(1).unwrap_or_default();
        lock(&self.asked).push(name.to_owned());
        let trouble = {
            let mut troubles = lock(&self.troubles);
            let at = troubles.iter().position(|(at, _)| at.is_none_or(|at| at == name));
            at.and_then(|at| troubles.remove(at)).map(|(_, trouble)| trouble)
        };
        let ordinary = || {
            if request.header("authorization") != Some(TOKEN) {
                return refusal(
                    "401 Unauthorized",
                    &[],
                    "AUTHENTICATION_ERROR",
                    "Authentication required, not authenticated",
                );
            }
            match lock(&self.state).operate(name, &body["variables"]) {
                Ok(data) => Response::json("200 OK", &[], &json!({ "data": data })),
                Err(words) => refusal("200 OK", &[], "INPUT_ERROR", &words),
            }
        };
        match trouble {
            None => Ok(ordinary()),
            Some(LinearTrouble::AnswerLost) => {
                ordinary();
                Err(io::Error::other("the connection is dropped"))
            }
            Some(LinearTrouble::Status(status)) => Ok(Response::text(&format!("{status} Trouble"), &[], String::new())),
            Some(LinearTrouble::Error(words)) => Ok(refusal("200 OK", &[], "FORBIDDEN", &words)),
            Some(LinearTrouble::RateLimited(ahead)) => {
                let reset = (SystemTime::now() + ahead).duration_since(SystemTime::UNIX_EPOCH);
                let reset = reset.expect("the clock is set").as_millis();
                let headers =
                    ["X-RateLimit-Requests-Remaining: 0".to_owned(), format!("X-RateLimit-Requests-Reset: {reset}")];
                Ok(refusal("400 Bad Request", &headers, "RATELIMITED", "Rate limit exceeded"))
            }
        }
    }
}

impl State {
    fn issue_mut(&mut self, id: &str) -> &mut Value {
        self.issues.iter_mut().find(|issue| issue["id"] == *id).expect("it has been added")
    }

    /// The data of an operation, or what is wrong.
    fn operate(&mut self, name: &str, variables: &Value) -> Result<Value, String> {
        let text = |name: &str| variables[name].as_str().unwrap_or_default().to_owned();
        let (id, done) = (text("id"), json!({ "success": true }));
        let not_found = || "Entity not found".to_owned();
        match name {
            "Issues" => Ok(json!({ "issues": page(&self.issues, variables) })),
            "Labels" => Ok(json!({ "issueLabels": page(&self.labels, variables) })),
            "Comments" => Ok(json!({ "comments": page(&self.comments, variables) })),
            "States" => {
                let team = json!({ "key": self.team });
                let states = [
                    json!({ "id": "state-released", "position": 7.5, "type": "completed", "team": team }),
                    json!({ "id": "state-done", "position": 3.0, "type": "completed", "team": team }),
                    json!({ "id": "state-todo", "position": 1.0, "type": "unstarted", "team": team }),
                ];
                Ok(json!({ "workflowStates": page(&states, variables) }))
            }
            "AddLabel" | "RemoveLabel" => {
                let label = self.labels.iter().find(|label| label["id"] == *text("labelId")).cloned();
                let label = label.ok_or_else(not_found)?;
                let issue = self.issues.iter_mut().find(|issue| issue["id"] == *id).ok_or_else(not_found)?;
                let nodes = issue["labels"]["nodes"].as_array_mut().expect("it has a list");
                nodes.retain(|node| node["id"] != label["id"]);
                if name == "AddLabel" {
                    nodes.push(label);
                }
                Ok(json!({ "issueAddLabel": done, "issueRemoveLabel": done }))
            }
            "Move" => {
                let issue = self.issues.iter_mut().find(|issue| issue["id"] == *id).ok_or_else(not_found)?;
                issue["state"] = json!({ "id": text("stateId"), "type": "completed" });
                Ok(json!({ "issueUpdate": done }))
            }
            "AddComment" => {
                if self.comments.iter().any(|comment| comment["id"] == *id) {
                    return Err("an entity with this id exists".to_owned());
                }
                let comment =
                    self.add_comment(&id, &text("issueId"), &json!({ "id": ME, "guest": false }), &text("body"));
                Ok(json!({ "commentCreate": { "success": true, "comment": comment } }))
            }
            "EditComment" => {
                let comment = self.comments.iter_mut().find(|comment| comment["id"] == *id).ok_or_else(not_found)?;
                comment["body"] = kept(&text("body")).into();
                Ok(json!({ "commentUpdate": done }))
            }
            "DeleteComment" => {
                let at = self.comments.iter().position(|comment| comment["id"] == *id).ok_or_else(not_found)?;
                self.comments.remove(at);
                Ok(json!({ "commentDelete": done }))
            }
            other => Err(format!("no operation is called {other}")),
        }
    }

    fn add_comment(&mut self, id: &str, issue: &str, user: &Value, body: &str) -> Value {
        self.clock += 1;
        let issue = self.issues.iter().find(|known| known["id"] == *issue).cloned().unwrap_or_default();
        let comment = json!({
            "id": id,
            "body": kept(body),
            "createdAt": format!("2026-03-01T10:{:02}:{:02}.000Z", self.clock / 60, self.clock % 60),
            "issue": { "id": issue["id"], "number": issue["number"], "team": issue["team"] },
            "user": user,
            "botActor": null,
            "externalUser": null,
        });
        self.comments.insert(0, comment.clone());
        comment
    }
}

/// What is kept of a text.
fn kept(body: &str) -> String {
    let lines = body.lines().filter(|line| !line.trim_start().starts_with("<!--"));
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// A page of what a filter holds of.
fn page(all: &[Value], variables: &Value) -> Value {
    let found: Vec<_> = all.iter().filter(|node| matches(node, &variables["filter"])).cloned().collect();
    let start: usize = variables["after"].as_str().map_or(0, |after| after.parse().expect("a cursor of ours"));
    let end = (start + PER_PAGE).min(found.len());
    json!({
        "nodes": found[start..end],
        "pageInfo": { "hasNextPage": end < found.len(), "endCursor": end.to_string() },
    })
}

/// Whether a filter holds of a value: comparators at its leaves, fields above.
fn matches(value: &Value, filter: &Value) -> bool {
    let lower = |value: &Value| value.as_str().map(str::to_lowercase);
    let holds = |(key, wanted): (&String, &Value)| match key.as_str() {
        "eq" => value == wanted || (wanted.is_number() && value.as_f64() == wanted.as_f64()),
        "eqIgnoreCase" => lower(value).is_some() && lower(value) == lower(wanted),
        "nin" => wanted.as_array().is_some_and(|wanted| !wanted.contains(value)),
        "null" => value.is_null() == (*wanted == true),
        "or" => wanted.as_array().is_some_and(|any| any.iter().any(|one| matches(value, one))),
        "some" => value["nodes"].as_array().is_some_and(|nodes| nodes.iter().any(|node| matches(node, wanted))),
        field => matches(&value[field], wanted),
    };
    filter.as_object().is_some_and(|filter| filter.iter().all(holds))
}

fn refusal(status: &str, headers: &[String], code: &str, words: &str) -> Response {
    let error = json!({ "message": words, "extensions": { "code": code, "userPresentableMessage": words } });
    Response::json(status, headers, &json!({ "errors": [error], "data": null }))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no thread panicked")
}
