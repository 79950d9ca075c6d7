//! Takes requests, keeps the record, and makes the trouble.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, mpsc};
use std::time::Duration;

use serde_json::{Value, json};

use super::state::{Fork, State, TestComment, TestIssue, TestPerson, TestPullRequest};
use super::trouble::Trouble;
use super::{forgejo, github, github_shapes, gitlab};
use crate::http::{HttpServer, Request, Response, unescape};

const TOKEN: &str = "forge-t0ken-that-nobody-may-see";
const PER_PAGE: usize = 30;
const LONGEST_HOLD: Duration = Duration::from_secs(60);

/// The forge; it stops when dropped.
#[derive(Debug)]
pub struct TestForge {
    shared: Arc<Shared>,
    server: HttpServer,
    api_path: &'static str,
}

/// Holds a request back; lets it go when dropped.
#[derive(Debug)]
pub struct Gate {
    _open: mpsc::Sender<()>,
    arrived: mpsc::Receiver<()>,
}

/// A request that is to be held back.
#[derive(Debug)]
struct Held {
    method: &'static str,
    arrived: mpsc::Sender<()>,
    /// Says that it may go on.
    gate: mpsc::Receiver<()>,
}

impl Gate {
    /// Waits until the request is there.
    pub fn wait(&self) {
        self.arrived.recv_timeout(LONGEST_HOLD).expect("a request comes");
    }
}

/// One request, and what was answered.
#[derive(Debug, Clone)]
pub struct Exchange {
    pub method: String,
    /// As it came, with escapes.
    pub path: String,
    pub query: Vec<(String, String)>,
    /// Names in lowercase.
    pub headers: Vec<(String, String)>,
    /// `null` without one.
    pub body: Value,
    /// `0` where no answer was sent.
    pub status: u16,
    /// `null` where it was no JSON.
    pub answer: Value,
}

impl Exchange {
    /// What was asked, and what was answered, where anything was.
    pub(crate) fn of(request: &Request, answered: Option<&Response>) -> Self {
        Self {
            method: request.method.clone(),
            path: request.raw_path().to_owned(),
            query: request.parameters(),
            headers: request.headers.clone(),
            body: serde_json::from_slice(&request.body).unwrap_or_default(),
            status: answered.map_or(0, |response| response.status[..3].parse().expect("a status is a number")),
            answer: answered.and_then(|response| serde_json::from_slice(response.body()).ok()).unwrap_or_default(),
        }
    }
}

/// What a kind of forge makes of a request.
pub(super) type Route = fn(&Asked<'_>, &mut State) -> Answered;

/// A request to the forge's own repository.
pub(super) struct Asked<'a> {
    pub method: &'a str,
    /// Behind the repository's own, without escapes and slashes around it.
    pub path: &'a str,
    pub query: &'a [(String, String)],
    pub body: &'a Value,
    pub owner: &'a str,
    pub name: &'a str,
    /// Of the server, as `http://127.0.0.1:1`.
    pub url: &'a str,
}

impl Asked<'_> {
    pub fn query(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str())
    }

    pub fn text(&self, name: &str) -> Option<&str> {
        self.body[name].as_str().filter(|text| !text.is_empty())
    }
}

pub(super) enum Answered {
    One(&'static str, Value),
    /// All of it; the server cuts it in pages.
    List(Vec<Value>),
    /// Done, and there is nothing to say.
    Nothing,
}

impl Answered {
    pub fn not_found() -> Self {
        Self::One("404 Not Found", json!({ "message": "Not Found", "documentation_url": "https://docs.example" }))
    }
}

#[derive(Debug)]
struct Shared {
    /// Path of the repository in the API, with escapes.
    repository_path: String,
    owner: String,
    name: String,
    authorization: String,
    route: Route,
    /// What the size of a page is called.
    per_page: &'static str,
    state: Mutex<State>,
    troubles: Mutex<VecDeque<(Option<&'static str>, Trouble)>>,
    exchanges: Mutex<Vec<Exchange>>,
    gates: Mutex<VecDeque<Held>>,
    stopping: Mutex<bool>,
    stop: Condvar,
}

impl TestForge {
    /// A GitHub with this repository, as `acme/app`.
    #[must_use]
    pub fn github(repository: &str) -> Self {
        Self::start(repository, "", format!("/repos/{repository}"), "Bearer", github::route, "per_page")
    }

    /// A GitLab with this project, as `group/subgroup/app`.
    #[must_use]
    pub fn gitlab(repository: &str) -> Self {
        let path = format!("/api/v4/projects/{}", repository.replace('/', "%2F"));
        Self::start(repository, "/api/v4", path, "Bearer", gitlab::route, "per_page")
    }

    /// A Forgejo with this repository, as `acme/app`.
    #[must_use]
    pub fn forgejo(repository: &str) -> Self {
        Self::start(repository, "/api/v1", format!("/api/v1/repos/{repository}"), "token", forgejo::route, "limit")
    }

    fn start(
        repository: &str,
        api_path: &'static str,
        repository_path: String,
        scheme: &str,
        route: Route,
        per_page: &'static str,
    ) -> Self {
        let (owner, name) = repository.rsplit_once('/').expect("a repository is `owner/name`");
        let shared = Arc::new(Shared {
            repository_path,
            owner: owner.to_owned(),
            name: name.to_owned(),
            authorization: format!("{scheme} {TOKEN}"),
            route,
            per_page,
            state: Mutex::default(),
            troubles: Mutex::default(),
            exchanges: Mutex::default(),
            gates: Mutex::default(),
            stopping: Mutex::new(false),
            stop: Condvar::new(),
        });
        let server = HttpServer::start({
            let shared = Arc::clone(&shared);
            move |request| shared.answer(request)
        });
        Self { shared, server, api_path }
    }

    /// The address for `forge.*.api_url`.
    #[must_use]
    pub fn api_url(&self) -> String {
        format!("http://{}{}", self.server.address(), self.api_path)
    }

    /// The token that it takes.
    #[must_use]
    pub fn token(&self) -> &'static str {
        TOKEN
    }

    /// Gets into trouble at the next request; called again, at the one after.
    pub fn trouble(&self, trouble: Trouble) {
        lock(&self.shared.troubles).push_back((None, trouble));
    }

    /// Gets into trouble at the next POST.
    pub fn trouble_at_post(&self, trouble: Trouble) {
        lock(&self.shared.troubles).push_back((Some("POST"), trouble));
    }

    /// Forgets the trouble that is still to come.
    pub fn calm(&self) {
        lock(&self.shared.troubles).clear();
    }

    /// Opens a pull request from a branch of the repository, or of a fork; gives its number.
    pub fn open(&self, head: &str, base: &str, fork: Option<Fork>) -> u64 {
        self.state().open(&format!("from {head}"), "", head, base, fork).number
    }

    /// Opens one from a branch of the repository, with this text.
    pub fn open_with(&self, head: &str, base: &str, body: &str) -> u64 {
        self.state().open(&format!("from {head}"), body, head, base, None).number
    }

    /// Tells it that a branch moved.
    pub fn push(&self, branch: &str, commit: &str) {
        self.state().push(branch, commit);
    }

    pub fn merge(&self, number: u64, merge_commit: &str) {
        self.end(number, "merged", Some(merge_commit.to_owned()));
    }

    pub fn close(&self, number: u64) {
        self.end(number, "closed", None);
    }

    fn end(&self, number: u64, ended: &'static str, merge_commit: Option<String>) {
        let mut state = self.state();
        let pull = state.pull_requests.iter_mut().find(|pull| pull.number == number).expect("it has been opened");
        (pull.state, pull.merge_commit) = (ended, merge_commit);
    }

    /// Adds an issue and gives its number.
    pub fn add_issue(&self, title: &str, body: &str) -> u64 {
        let mut state = self.state();
        let number = state.next_number();
        let (title, body) = (title.to_owned(), body.to_owned());
        state.issues.push(TestIssue { number, title, body, open: true, labels: Vec::new() });
        number
    }

    /// Gives an issue these labels, and no others.
    pub fn label_issue(&self, number: u64, labels: &[&str]) {
        let mut state = self.state();
        let issue = state.issue_mut(&number.to_string()).expect("it has been added");
        issue.labels = labels.iter().map(|label| (*label).to_owned()).collect();
    }

    /// The labels of an issue, sorted.
    #[must_use]
    pub fn labels(&self, number: u64) -> Vec<String> {
        let mut labels = self.state().issue(&number.to_string()).expect("it has been added").labels.clone();
        labels.sort();
        labels
    }

    /// Comments on an issue as somebody, with what GitHub calls the association: `MEMBER`, `NONE`.
    pub fn comment(&self, issue: u64, author: &str, association: &'static str, body: &str) -> u64 {
        self.state().comment(issue, author, association, body).id
    }

    /// Deletes a comment, as somebody does on its page.
    pub fn delete_comment(&self, id: u64) {
        self.state().comments.retain(|comment| comment.id != id);
    }

    /// Lets somebody do with the repository what GitHub calls `admin`, `write`, `read` or `none`.
    pub fn person(&self, login: &str, id: u64, permission: &'static str) {
        let mut state = self.state();
        state.people.retain(|person| person.login != login);
        state.people.push(TestPerson { login: login.to_owned(), id, permission });
    }

    /// Installs an app on the repository's account; any signature is taken for its own.
    pub fn install_app(&self) {
        self.state().app_tokens.get_or_insert_default();
    }

    /// Takes back the tokens that the app was given.
    pub fn revoke_app_tokens(&self) {
        let revoked = |token: &mut String| token.insert_str(0, "revoked-");
        self.state().app_tokens.iter_mut().flatten().for_each(revoked);
    }

    /// The comments on an issue, oldest first.
    #[must_use]
    pub fn comments(&self, issue: u64) -> Vec<TestComment> {
        self.state().comments.iter().filter(|comment| comment.issue == issue).cloned().collect()
    }

    /// Lets the next request of this method wait, before it is looked at, until the returned gate is opened or dropped.
    #[must_use]
    pub fn hold(&self, method: &'static str) -> Gate {
        let (open, gate) = mpsc::channel();
        let (here, arrived) = mpsc::channel();
        lock(&self.shared.gates).push_back(Held { method, arrived: here, gate });
        Gate { _open: open, arrived }
    }

    pub fn close_issue(&self, number: u64) {
        let mut state = self.state();
        state.issues.iter_mut().find(|issue| issue.number == number).expect("it has been added").open = false;
    }

    #[must_use]
    pub fn pull_requests(&self) -> Vec<TestPullRequest> {
        self.state().pull_requests.clone()
    }

    /// Everything that was asked so far.
    #[must_use]
    pub fn exchanges(&self) -> Vec<Exchange> {
        lock(&self.shared.exchanges).clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.shared.state)
    }
}

impl Drop for TestForge {
    fn drop(&mut self) {
        *lock(&self.shared.stopping) = true;
        self.shared.stop.notify_all();
    }
}

impl Shared {
    fn answer(&self, request: &Request) -> io::Result<Response> {
        let held = {
            let mut gates = lock(&self.gates);
            let at = gates.iter().position(|held| held.method == request.method);
            at.and_then(|at| gates.remove(at))
        };
        if let Some(held) = held {
            held.arrived.send(()).ok();
            // Ends with the gate; the time is for a test that hangs.
            held.gate.recv_timeout(LONGEST_HOLD).ok();
        }
        let trouble = self.next_trouble(&request.method);
        let answered = self.answer_in(trouble, request);
        lock(&self.exchanges).push(Exchange::of(request, answered.as_ref().ok()));
        answered
    }

    fn next_trouble(&self, method: &str) -> Option<Trouble> {
        let mut troubles = lock(&self.troubles);
        let next = troubles.iter().position(|(only, _)| only.is_none_or(|only| only == method))?;
        troubles.remove(next).map(|(_, trouble)| trouble)
    }

    fn answer_in(&self, trouble: Option<Trouble>, request: &Request) -> io::Result<Response> {
        let lost = || Err(io::Error::other("the connection is dropped"));
        match trouble {
            None => Ok(self.ordinary(request)),
            Some(Trouble::Dropped) => lost(),
            Some(Trouble::AnswerLost) => {
                self.ordinary(request);
                lost()
            }
            Some(Trouble::Stalled) => {
                let stopping = lock(&self.stopping);
                drop(self.stop.wait_while(stopping, |stopping| !*stopping).expect("no thread panicked"));
                lost()
            }
            Some(Trouble::Rival) => {
                self.ordinary(request);
                Ok(self.ordinary(request))
            }
            Some(other) => Ok(other.response().expect("the others are answers")),
        }
    }

    fn ordinary(&self, request: &Request) -> Response {
        let authorization = request.header("authorization").unwrap_or_default();
        let url = format!("http://{}", request.header("host").unwrap_or_default());
        if is_signature(authorization) {
            let mut state = lock(&self.state);
            let path = request.raw_path();
            let answered = github::route_app(&request.method, path, &self.repository_path, &url, &mut state);
            drop(state);
            if let Some(answered) = answered {
                return self.respond(answered, request);
            }
        }
        let is_app = |token: &str| {
            let state = lock(&self.state);
            state.app_tokens.iter().flatten().any(|given| given == token)
        };
        if authorization != self.authorization && !authorization.strip_prefix("Bearer ").is_some_and(is_app) {
            let body = json!({ "message": "Bad credentials", "documentation_url": "https://docs.example" });
            return Response::json("401 Unauthorized", &[], &body);
        }
        if (request.method.as_str(), request.raw_path()) == ("GET", "/user") {
            return self.respond(Answered::One("200 OK", github_shapes::account(&self.owner, &url)), request);
        }
        let rest = request.raw_path().strip_prefix(&self.repository_path);
        let Some(rest) = rest.filter(|rest| rest.is_empty() || rest.starts_with('/')) else {
            return self.respond(Answered::not_found(), request);
        };
        let asked = Asked {
            method: &request.method,
            path: &unescape(rest.trim_matches('/')),
            query: &request.parameters(),
            body: &serde_json::from_slice(&request.body).unwrap_or_default(),
            owner: &self.owner,
            name: &self.name,
            url: &url,
        };
        let answered = (self.route)(&asked, &mut lock(&self.state));
        self.respond(answered, request)
    }

    fn respond(&self, answered: Answered, request: &Request) -> Response {
        let list = match answered {
            Answered::One(status, value) => return Response::json(status, &[], &value),
            Answered::Nothing => return Response::text("204 No Content", &[], String::new()),
            Answered::List(list) => list,
        };
        let parameters = request.parameters();
        let number = |name: &str, otherwise: usize| {
            let given = parameters.iter().find(|(given, _)| given == name);
            given.and_then(|(_, value)| value.parse().ok()).unwrap_or(otherwise)
        };
        let (size, page) = (number(self.per_page, PER_PAGE).clamp(1, 100), number("page", 1).max(1));
        let link = format!("Link: <http://next.example?page={}>; rel=\"next\"", page + 1);
        let headers: &[String] = if list.len() > page * size { &[link] } else { &[] };
        let shown: Vec<Value> = list.into_iter().skip((page - 1) * size).take(size).collect();
        Response::json("200 OK", headers, &Value::Array(shown))
    }
}

/// Whether it looks like a JSON Web Token.
fn is_signature(authorization: &str) -> bool {
    authorization.strip_prefix("Bearer ").is_some_and(|token| token.split('.').count() == 3)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no thread panicked")
}
