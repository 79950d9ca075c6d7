//! Every route of the table, asked by everybody who may not, and in every way that is not right. The cases are made from
//! the table, so that a new route is covered by itself.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::support::routes::{Answer, Ask};
use crate::support::serve::{LONG, Place};
use serde_json::{Value, json};
use spinney_core::{AccountName, LongOperation, LongOperationStatus, OperationId, Scope, Timestamp};
use spinney_server::routes::{Access, Route, table};
use spinney_store::{Store, StoreUrl};
use spinney_testkit::{HttpClient, wait_until};

/// Is in the name of everything that is the owner's.
const MARK: &str = "owners-";
const SCOPES: [Scope; 3] = [Scope::Read, Scope::Write, Scope::Admin];
const METHODS: [&str; 8] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"];
/// One byte more than is read.
const TOO_LARGE: usize = (2 << 20) + 1;
/// What is nothing's id.
const NO_IDS: [&str; 8] =
    ["..%2f..%2fetc%2fpasswd", "..", "%2e%2e", "%00", "a%2fb", "%ff%fe", "7f3k2a9qxe", "-%20--force"];
/// What every answer tells a browser.
const HEADERS: [(&str, &str); 4] = [
    ("content-security-policy", "default-src 'none'"),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "same-origin"),
    ("x-request-id", ""),
];

#[test]
fn every_route_is_guarded() {
    let place = Place::new();
    let callers = Callers::new(&place);
    let before = inventory(&place);
    let mut faults = Vec::new();
    for route in table() {
        let target = callers.target(&place, &route);
        let mut probe = Probe { place: &place, callers: &callers, route: &route, target, faults: &mut faults };
        probe.strangers();
        probe.scopes();
        probe.other_account();
        probe.other_account_names_things();
        probe.browsers();
        probe.hosts();
        probe.origins();
        probe.bodies();
        probe.methods();
        probe.paths();
        probe.owner_at_the_socket();
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
    assert_eq!(inventory(&place), before, "somebody changed what is the owner's");
    place.daemon.terminate();
}

/// What there is of the owner's: names and states.
#[track_caller]
fn inventory(place: &Place) -> Vec<String> {
    let list = |arguments: &[&str], key: &str| {
        let listed = place.cli().run(arguments).ok().json();
        listed[key].as_array().unwrap().clone()
    };
    let workspaces = list(&["ls", "--all", "--json"], "workspaces");
    let jobs = list(&["jobs", "--all", "--json"], "jobs");
    let tell = |thing: &Value| format!("{} {} {}", thing["id"], thing["name"], thing["status"]);
    let schedules = HttpClient::unix(socket(place)).get("/api/v1/schedules").expects(200).json();
    let tell_schedule = |schedule: &Value| format!("{} {}", schedule["name"], schedule["paused"]);
    let schedules = schedules["schedules"].as_array().unwrap().iter().map(tell_schedule);
    workspaces.iter().chain(&jobs).map(tell).chain(schedules).collect()
}

/// Everybody who asks, and what of the owner's they ask for.
struct Callers {
    /// Of the owner, one a scope.
    tokens: Vec<(Scope, String)>,
    sessions: Vec<(Scope, String)>,
    /// Of another account, with the scope `admin`.
    other: String,
    other_session: String,
    /// What is no token, or none any more, as values of `Authorization`.
    strangers: Vec<String>,
    workspace: String,
    job: String,
    session: String,
    repository: String,
    token_id: String,
    operation: String,
    asset: String,
}

impl Callers {
    fn new(place: &Place) -> Self {
        let tokens: Vec<_> = SCOPES
            .into_iter()
            .map(|scope| (scope, place.token(&format!("{MARK}{scope}"), &scope.to_string(), &[]).1))
            .collect();
        let sessions = tokens.iter().map(|(scope, token)| (*scope, place.session(token))).collect();
        place.cli().run(&["account", "add", "other"]).ok();
        let other = place.token("mine", "admin", &["--account", "other"]).1;
        let (token_id, _) = place.token("owners-kept", "read", &[]);
        let (revoked_id, revoked) = place.token("owners-revoked", "admin", &[]);
        place.cli().run(&["token", "revoke", &revoked_id]).ok();
        let expired = expired_token(place);
        let (_, good) = &tokens[2];
        let strangers = vec![
            format!("Bearer {expired}"),
            format!("Bearer {revoked}"),
            format!("Bearer spn_{}", "0".repeat(64)),
            format!("Basic {good}"),
            format!("Bearer {good}x"),
            format!("Bearer {}", good.to_uppercase()),
            good.clone(),
            "Bearer".to_owned(),
            "Bearer ' or 1=1 --".to_owned(),
            "\u{e9}".to_owned(),
        ];
        let shown = place.cli().run(&["jobs", "--all", "--json"]).ok().json()["jobs"][0].clone();
        let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("{shown}")).to_owned();
        let repositories = place.cli().run(&["repo", "ls", "--json"]).ok().json();
        Self {
            other_session: place.session(&other),
            workspace: text(&shown["workspace_id"]),
            job: text(&shown["id"]),
            session: text(&shown["sessions"][0]["id"]),
            repository: text(&repositories["repositories"][0]["id"]),
            operation: operation(place),
            asset: asset(place),
            tokens,
            sessions,
            other,
            strangers,
            token_id,
        }
    }

    fn good(&self) -> String {
        format!("Bearer {}", self.tokens[2].1)
    }

    /// Where the owner's is asked for: a path with its ids, and its repository where one must be named.
    fn target(&self, place: &Place, route: &Route) -> String {
        let target = self.fill(route.path);
        let headers = vec![("Host", "localhost".to_owned()), ("Authorization", self.good())];
        let ask = Ask { method: "GET", target: &target, headers, body: b"" };
        let must_name = |answer: Answer| answer.body.contains("missing field `repository`");
        if route.method == "GET" && must_name(ask.tcp(place.daemon.address())) {
            return format!("{target}?repository={}", self.repository);
        }
        target
    }

    /// The path with ids of what is the owner's.
    fn fill(&self, path: &str) -> String {
        let segments: Vec<_> = path.split('/').collect();
        let fill = |(number, segment): (usize, &&str)| match segment.strip_prefix('{') {
            None => (*segment).to_owned(),
            Some(name) => self.id_for(segments[number - 1], name.trim_end_matches('}')),
        };
        segments.iter().enumerate().map(fill).collect::<Vec<_>>().join("/")
    }

    fn id_for(&self, parent: &str, name: &str) -> String {
        let id = match (parent, name) {
            ("workspaces", _) => &self.workspace,
            ("jobs", _) => &self.job,
            ("sessions", _) => &self.session,
            ("repositories", _) => &self.repository,
            ("tokens", _) => &self.token_id,
            ("operations", _) => &self.operation,
            ("schedules", "agent") => "coder",
            ("{agent}", _) => "owners-schedule",
            ("agents", _) => "coder",
            ("assets", _) => &self.asset,
            ("webhooks", _) => "github",
            (parent, name) => panic!("what is `{{{name}}}` behind `{parent}`? teach it to this test"),
        };
        id.to_owned()
    }
}

/// The name of the style, which changes with it.
fn asset(place: &Place) -> String {
    let page = place.client().get("/login").expects(200).text();
    let (_, rest) = page.split_once("/assets/").expect("the page has a style");
    rest.split('"').next().unwrap().to_owned()
}

/// One that counts no more, since its time is over.
#[track_caller]
fn expired_token(place: &Place) -> String {
    let (_, secret) = place.token("owners-short", "admin", &["--expires", "1s"]);
    let client = place.client().with_token(&secret);
    wait_until(|| client.get("/api/v1/openapi.json").status == 401, LONG);
    secret
}

/// The row of long work of the owner's, which the program makes only of what takes long.
fn operation(place: &Place) -> String {
    let id = OperationId::generate();
    let url = StoreUrl::parse(&place.workshop.story.sandbox().store_url()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = Store::open(&url).await.unwrap();
        let mut db = store.write().await.unwrap();
        let operation = LongOperation {
            id: id.clone(),
            account: AccountName::local(),
            node: db.nodes().await.unwrap()[0].id.clone(),
            kind: "owners-work".to_owned(),
            status: LongOperationStatus::Done,
            result: Some(json!({ "told": "owners-result" })),
            created_at: Timestamp::now(),
            ended_at: Some(Timestamp::now()),
        };
        db.insert_long_operation(&operation).await.unwrap();
        db.commit().await.unwrap();
    });
    id.to_string()
}

/// One route, asked again and again.
struct Probe<'a> {
    place: &'a Place,
    callers: &'a Callers,
    route: &'a Route,
    target: String,
    faults: &'a mut Vec<String>,
}

type Headers<'h> = Vec<(&'h str, String)>;

impl Probe<'_> {
    fn is_write(&self) -> bool {
        self.route.method != "GET"
    }

    fn has_id(&self) -> bool {
        self.target.contains('?') || self.route.path.contains('{') && !self.route.path.starts_with("/assets/")
    }

    fn needed(&self) -> Option<Scope> {
        match self.route.access {
            Access::Open => None,
            Access::Api(scope) | Access::Page(scope) => Some(scope),
        }
    }

    /// Asks with these headers and, for a write, an empty document.
    fn ask(&mut self, case: &str, headers: &Headers) -> Answer {
        self.ask_as(case, self.route.method.as_str(), &self.target.clone(), headers, b"{}")
    }

    fn ask_as(&mut self, case: &str, method: &str, target: &str, headers: &Headers, body: &[u8]) -> Answer {
        let mut headers = headers.clone();
        for (name, value) in [("Host", "localhost"), ("Content-Type", "application/json")] {
            if !headers.iter().any(|(given, _)| *given == name) {
                headers.push((name, value.to_owned()));
            }
        }
        headers.retain(|(_, value)| !value.is_empty());
        let answer = Ask { method, target, headers, body }.tcp(self.place.daemon.address());
        for (name, value) in HEADERS {
            if !answer.header(name).is_some_and(|given| given.starts_with(value)) {
                self.fault(case, &answer, &format!("an answer with `{name}: {value}`"));
            }
        }
        if answer.header("cache-control").is_none() {
            self.fault(case, &answer, "an answer that says whether it may be kept");
        }
        let is_program = target.starts_with("/api/") && method != "HEAD";
        if is_program && answer.status >= 400 && !answer.body.starts_with("{\"error\":{") {
            self.fault(case, &answer, "the error's envelope");
        }
        if answer.status >= 500 {
            self.fault(case, &answer, "no failure");
        }
        answer
    }

    fn fault(&mut self, case: &str, answer: &Answer, wanted: &str) {
        let Route { method, path, .. } = self.route;
        let cut: String = answer.body.chars().take(200).collect();
        self.faults.push(format!("{method} {path}, {case}: wanted {wanted}, got {} {cut}", answer.status));
    }

    fn expects(&mut self, case: &str, headers: &Headers, statuses: &[u16]) {
        let answer = self.ask(case, headers);
        self.judge(case, &answer, statuses);
    }

    /// A status of these, and nothing about what is the owner's.
    fn judge(&mut self, case: &str, answer: &Answer, statuses: &[u16]) {
        if !statuses.contains(&answer.status) {
            self.fault(case, answer, &format!("{statuses:?}"));
        }
        if answer.body.contains(MARK) && !self.target.contains(MARK) {
            self.fault(case, answer, "nothing of the owner's");
        }
    }

    /// Whoever is nobody is told so, or sent to log in; what is open tells them nothing of the work.
    fn strangers(&mut self) {
        let mut cases = vec![vec![], vec![("Cookie", format!("spinney_session=spn_{}", "0".repeat(64)))]];
        let good = self.callers.good();
        cases.push(vec![("Authorization", good.clone()), ("Authorization", good)]);
        // A token in a cookie is no session, and the other way round.
        cases.push(vec![("Cookie", format!("spinney_session={}", self.callers.tokens[2].1))]);
        let session = self.callers.sessions[2].1.split_once('=').unwrap().1.to_owned();
        cases.push(vec![("Authorization", format!("Bearer {session}"))]);
        cases.extend(self.callers.strangers.iter().map(|value| vec![("Authorization", value.clone())]));
        for headers in cases {
            let case = format!("nobody: {headers:?}");
            let mut methods = vec![self.route.method.as_str().to_owned()];
            if !self.is_write() {
                methods.push("HEAD".to_owned());
            }
            for method in methods {
                let answer = self.ask_as(&case, &method, &self.target.clone(), &headers, b"{}");
                match self.route.access {
                    Access::Open if matches!(answer.status, 401 | 403) && self.route.path != "/login" => {
                        self.fault(&case, &answer, "what is open to all");
                    }
                    Access::Open => self.judge(&case, &answer, &[answer.status]),
                    Access::Page(_) if !self.is_write() => {
                        self.judge(&case, &answer, &[303]);
                        if !answer.header("location").is_some_and(|to| to.starts_with("/login")) {
                            self.fault(&case, &answer, "a way to log in");
                        }
                    }
                    Access::Page(_) => self.judge(&case, &answer, &[401]),
                    Access::Api(_) => {
                        self.judge(&case, &answer, &[401]);
                        if answer.header("www-authenticate") != Some("Bearer") {
                            self.fault(&case, &answer, "`WWW-Authenticate: Bearer`");
                        }
                    }
                }
            }
        }
    }

    /// A scope below the needed one is refused, every other reads.
    fn scopes(&mut self) {
        let Some(needed) = self.needed() else { return };
        for (scope, token) in &self.callers.tokens {
            let (case, headers) = (format!("scope {scope}"), vec![("Authorization", format!("Bearer {token}"))]);
            if *scope < needed {
                self.expects(&case, &headers, &[403]);
            } else if !self.is_write() {
                let answer = self.ask(&case, &headers);
                if answer.status != 200 {
                    self.fault(&case, &answer, "what is the owner's");
                }
            }
        }
        for (scope, cookie) in &self.callers.sessions {
            if *scope < needed {
                self.expects(&format!("a session of scope {scope}"), &vec![("Cookie", cookie.clone())], &[403]);
            }
        }
    }

    /// Another account finds nothing of the owner's.
    fn other_account(&mut self) {
        if self.needed().is_none() {
            return;
        }
        let token = ("Authorization", format!("Bearer {}", self.callers.other));
        let mut cases = vec![("another account", vec![token])];
        if !self.is_write() {
            cases.push(("another's session", vec![("Cookie", self.callers.other_session.clone())]));
        }
        for (case, headers) in cases {
            let answer = self.ask(case, &headers);
            match (self.has_id(), self.is_write()) {
                (true, false) => self.judge(case, &answer, &[404]),
                // What is wrong with the body may be told first.
                (true, true) => self.judge(case, &answer, &[404, 400, 415, 422]),
                (false, _) => self.judge(case, &answer, &[answer.status]),
            }
        }
    }

    /// Nor when it names what is the owner's, in a query or in a body.
    fn other_account_names_things(&mut self) {
        if self.needed().is_none() || self.has_id() {
            return;
        }
        let Callers { other, workspace, job, repository, .. } = self.callers;
        let token = ("Authorization", format!("Bearer {other}"));
        let method = self.route.method.as_str();
        if !self.is_write() {
            for (key, id) in
                [("repository", repository), ("workspace", workspace), ("job", job), ("agent", &"coder".to_owned())]
            {
                let target = format!("{}?{key}={id}", self.target);
                let answer = self.ask_as(&target, method, &target, &vec![token.clone()], b"");
                self.judge(&target, &answer, &[answer.status]);
            }
            return;
        }
        let bodies = [
            json!({ "repository": repository }),
            json!({ "repository": repository, "kind": "task", "key": "x" }),
            json!({ "repository": repository, "agent": "coder", "prompt": "print x" }),
            json!({ "workspace": workspace }),
            json!({ "workspaces": [workspace] }),
            json!({ "ids": [workspace] }),
        ];
        for body in bodies.map(|body| body.to_string()) {
            let answer = self.ask_as(&body, method, &self.target.clone(), &vec![token.clone()], body.as_bytes());
            // A page that takes no body sends on. The MCP server first asks for a client that reads its answers.
            let is_sent_on = matches!(self.route.access, Access::Page(_)) && answer.status == 303;
            self.judge(&body, &answer, if is_sent_on { &[303] } else { &[400, 404, 406, 409, 415, 422] });
        }
        let form = format!(
            "repository={repository}&workspace={workspace}&job={job}&id={workspace}&agent=coder&name=owners-schedule"
        );
        let headers = vec![token, ("Content-Type", "application/x-www-form-urlencoded".to_owned())];
        let answer = self.ask_as(&form, method, &self.target.clone(), &headers, form.as_bytes());
        self.judge(&form, &answer, &[answer.status]);
    }

    /// What a browser sends by itself changes nothing.
    fn browsers(&mut self) {
        let Some(needed) = self.needed() else { return };
        if !self.is_write() {
            return;
        }
        let cookies = self.callers.sessions.iter().filter(|(scope, _)| *scope >= needed).map(|(_, cookie)| cookie);
        for cookie in cookies.cloned().collect::<Vec<_>>() {
            let cookie = ("Cookie", cookie);
            self.expects("no CSRF token", &vec![cookie.clone()], &[403]);
            for shown in ["0", &"0".repeat(64), "%00"] {
                self.expects("a wrong CSRF token", &vec![cookie.clone(), ("X-CSRF-Token", shown.to_owned())], &[403]);
            }
            let form = vec![cookie.clone(), ("Content-Type", "application/x-www-form-urlencoded".to_owned())];
            for body in [&b""[..], b"csrf=", b"csrf=0", b"x=1&csrf=0000&csrf=1", b"\xff\xfe"] {
                let answer = self.ask_as("a form", self.route.method.as_str(), &self.target.clone(), &form, body);
                self.judge("a form without its CSRF token", &answer, &[403]);
            }
        }
    }

    /// A request is for this very server.
    fn hosts(&mut self) {
        let good = ("Authorization", self.callers.good());
        for host in ["evil.example", "localhost.evil.example", "127.0.0.1.nip.io", "localhost@evil.example", "0.0.0.0"]
        {
            self.expects(&format!("Host {host}"), &vec![good.clone(), ("Host", host.to_owned())], &[403]);
        }
        self.expects("no Host", &vec![good.clone(), ("Host", String::new())], &[400]);
        let twice = vec![good, ("Host", "localhost".to_owned()), ("Host", "evil.example".to_owned())];
        self.expects("two Hosts", &twice, &[400]);
    }

    /// A page of somebody else's writes nothing here, whatever it can show.
    fn origins(&mut self) {
        if !self.is_write() {
            return;
        }
        let good = ("Authorization", self.callers.good());
        let foreign = [
            ("Origin", "https://evil.example"),
            ("Origin", "null"),
            ("Origin", "http://localhost.evil.example"),
            ("Sec-Fetch-Site", "cross-site"),
            ("Sec-Fetch-Site", "same-site"),
        ];
        for (name, value) in foreign {
            self.expects(&format!("{name} {value}"), &vec![good.clone(), (name, value.to_owned())], &[403]);
        }
    }

    /// A body that is too large is not read, and whoever may not ask is told that first.
    fn bodies(&mut self) {
        if !self.is_write() {
            return;
        }
        let (method, target, body) = (self.route.method.as_str(), self.target.clone(), vec![b' '; TOO_LARGE]);
        let headers = vec![("Authorization", self.callers.good())];
        let answer = self.ask_as("a large body", method, &target, &headers, &body);
        self.judge("a large body", &answer, &[413]);
    }

    /// What is not in the table is refused, and what is there is told.
    fn methods(&mut self) {
        let of_path = table().into_iter().filter(|route| route.path == self.route.path);
        let mut known: BTreeSet<_> = of_path.map(|route| route.method.as_str().to_owned()).collect();
        if known.contains("GET") {
            known.insert("HEAD".to_owned());
        }
        let headers = vec![("Authorization", self.callers.good())];
        for method in METHODS.into_iter().filter(|method| !known.contains(*method)) {
            let case = format!("method {method}");
            let answer = self.ask_as(&case, method, &self.target.clone(), &headers, b"");
            self.judge(&case, &answer, &[405]);
            let told: BTreeSet<_> = answer.header("allow").unwrap_or_default().split(',').map(str::to_owned).collect();
            if told != known {
                self.fault(&case, &answer, &format!("`Allow` with {known:?}, not {told:?}"));
            }
        }
    }

    /// Nothing else leads to it, and nothing of a path is more than a name.
    fn paths(&mut self) {
        let headers = vec![("Authorization", self.callers.good())];
        let method = self.route.method.as_str();
        for target in [format!("/{}", self.target), format!("{}/", self.target), format!("/.{}", self.target)] {
            let case = format!("path {target}");
            // An empty path is the home page.
            if table().iter().any(|route| route.path == target) {
                continue;
            }
            let answer = self.ask_as(&case, method, &target, &headers, b"{}");
            self.judge(&case, &answer, &[404, 405]);
        }
        if !self.route.path.contains('{') {
            return;
        }
        let long = "a".repeat(5000);
        for id in NO_IDS.into_iter().chain([long.as_str()]) {
            let segments =
                self.route.path.split('/').map(|segment| if segment.starts_with('{') { id } else { segment });
            let target = segments.collect::<Vec<_>>().join("/");
            let case = format!("path {}", &target[..target.len().min(80)]);
            let answer = self.ask_as(&case, method, &target, &headers, b"{}");
            let refusals: &[u16] = if self.is_write() { &[404, 400, 415, 422] } else { &[404] };
            self.judge(&case, &answer, refusals);
        }
    }

    /// The owner of the home needs no token where nobody else gets in; the other rules are the same.
    fn owner_at_the_socket(&mut self) {
        let socket = socket(self.place);
        let ask = |method, host: &str, headers: Headers| {
            let headers = [vec![("Host", host.to_owned())], headers].concat();
            Ask { method, target: &self.target, headers, body: b"" }.unix(&socket)
        };
        let method = self.route.method.as_str();
        let foreign = ask(method, "evil.example", vec![]);
        let read = (!self.is_write()).then(|| ask(method, "localhost", vec![]));
        let expired = ask(method, "localhost", vec![("Authorization", self.callers.strangers[0].clone())]);
        self.judge("Host at the socket", &foreign, &[403]);
        if let Some(read) = read.filter(|read| !matches!(read.status, 200 | 303)) {
            self.fault("the owner at the socket", &read, "an answer");
        }
        if let Access::Api(_) = self.route.access {
            self.judge("an expired token at the socket", &expired, &[401]);
        }
    }
}

fn socket(place: &Place) -> PathBuf {
    place.workshop.story.sandbox().spinney_home().join("serve.socket")
}
