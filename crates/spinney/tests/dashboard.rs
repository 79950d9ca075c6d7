//! The dashboard in a real browser: what a person does with it, and what an agent's words can't do to it.

mod common;
mod job_support;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use common::Story;
use job_support::{LONG, Workshop, agent};
use serde_json::json;
use spinney_testkit::{Browser, ColorScheme, Daemon, Window, wait_until};

/// Names a directory: pictures of every page are taken into it.
const SCREENSHOTS: &str = "SPINNEY_SCREENSHOTS";

/// A daemon, and a browser that is logged in to it.
struct Desk {
    browser: Browser,
    daemon: Daemon,
    workshop: Workshop,
}

impl Desk {
    fn open(workshop: Workshop) -> Self {
        let daemon = Daemon::start(&workshop.cli);
        wait_until(|| daemon.login_link().is_some(), LONG);
        let browser = Browser::start(workshop.story.sandbox(), Window::DESKTOP);
        browser.open(&daemon.url("/jobs"));
        assert!(browser.url().ends_with("/login?next=/jobs"), "{}", browser.url());
        browser.open(&daemon.login_link().expect("it was waited for"));
        browser.click("button");
        browser.wait_for("nav a[aria-current]");
        Self { browser, daemon, workshop }
    }

    #[track_caller]
    fn go(&self, path: &str) {
        self.browser.open(&self.daemon.url(path));
    }

    /// Chooses the only repository.
    #[track_caller]
    fn go_to_repository(&self) {
        self.go("/repositories");
        self.browser.click("td.name a");
        self.browser.wait_for("#new-job");
    }

    /// Starts a job on a piece of work, by the form; the browser shows it then.
    #[track_caller]
    fn start_job(&self, kind: &str, key: &str, prompt: &str) -> String {
        self.go_to_repository();
        self.browser.click("#new-job summary");
        self.browser.choose("#new-job select[name=kind]", kind);
        self.browser.type_into("#new-job input[name=key]", key);
        self.browser.type_into("#new-job textarea", prompt);
        self.browser.click("#new-job button");
        self.browser.wait_for_text(".told", "The job has begun");
        let url = self.browser.url();
        let (_, rest) = url.split_once("/jobs/").expect("the page of the job is shown");
        rest.split('?').next().unwrap_or_default().to_owned()
    }
}

#[test]
fn a_person_works_with_an_agent_in_a_browser() {
    let desk = Desk::open(Workshop::new(""));
    let browser = &desk.browser;
    browser.wait_for_text("main", "Nothing here yet");
    desk.workshop.cli.run(&["repo", "add", "."]).ok();
    desk.go("/");
    browser.wait_for_text("main", "No agent is at work");

    desk.go_to_repository();
    browser.type_into("#new-workspace input[name=key]", "7");
    browser.click("#new-workspace button");
    browser.wait_for_text("h1", "issue-7");
    browser.wait_for_text(".told", "The workspace is ready");
    let workspace = browser.url();
    browser.expect_no_complaints();

    // What an agent prints is text, whether the page had it from the start or it came later.
    let (go, evil) = (desk.workshop.beside("go"), "<img src=x onerror=\"document.title='owned'\">");
    let script = "<script>document.title='owned'</script>";
    let prompt = format!(
        "print {script}\nprint {evil}\nwait-for {}\nprint later {script} {evil}\nwrite notes.txt <b>new</b>\ncommit add notes",
        go.display()
    );
    let job = desk.start_job("issue", "7", &prompt);
    browser.wait_for_text("#log", script);
    browser.wait_for_text("#log", evil);
    browser.wait_for_text("[data-live=head]", "running");
    fs::write(&go, "").unwrap();
    browser.wait_for_text("#log", &format!("later {script}"));
    browser.wait_for_text("[data-live=head]", "completed");
    browser.wait_for_text("[data-live=diff]", "+<b>new</b>");
    browser.wait_for_text("[data-live=steps]", "deliver");
    assert_eq!(browser.count("#log img, #log script, .diff b"), 0);
    browser.reload();
    browser.wait_for_text("#log", &format!("later {script}"));
    assert!(browser.title().starts_with("issue-7, coder"), "{}", browser.title());
    assert_eq!(browser.count("#log img, #log script, .diff b"), 0);
    browser.expect_no_complaints();
    desk.workshop.wait_for_end(&job);

    // Work that is nowhere else is named on the button that removes it; and it comes back.
    let row = desk.workshop.story.show("issue-7");
    fs::write(row.path().join("plan.md"), "keep me").unwrap();
    browser.open(&workspace);
    browser.wait_for_text("#verdict", "would not be removed");
    browser.wait_for_text("#verdict", "plan.md");
    browser.wait_for_text("#remove", "with 1 untracked file");
    browser.click("#remove");
    browser.wait_for_text(".told", "It is in the trash");
    assert!(!row.path().exists());
    desk.go("/trash");
    browser.wait_for_text("td.name", "issue-7");
    browser.click("td form button");
    browser.wait_for_text(".told", "It is back");
    assert_eq!(fs::read_to_string(row.path().join("plan.md")).unwrap(), "keep me");
    browser.expect_no_complaints();

    for (path, text) in [
        ("/fleet", "coder"),
        ("/jobs", "issue-7"),
        ("/audit", "job.ended"),
        ("/conflicts", "Nothing conflicts"),
        ("/schedules", "cleanup"),
        ("/api", "/api/v1/jobs/{id}/log"),
    ] {
        desk.go(path);
        wait_until(
            || browser.run("return document.querySelector('main').textContent", vec![]).to_string().contains(text),
            LONG,
        );
        let wider = browser.run("return document.documentElement.scrollWidth > window.innerWidth", vec![]);
        assert_eq!(wider, json!(false), "{path} is wider than the window");
        browser.expect_no_complaints();
    }

    desk.go("/tokens");
    browser.type_into("input[name=name]", "ci");
    browser.click("main form .first");
    assert!(browser.text("#secret").starts_with("spn_"));
    // It is shown once: the list does not have it.
    browser.click("nav a[href='/tokens']");
    browser.wait_for_text("td.name", "ci");
    assert_eq!(browser.count("#secret"), 0);
    browser.expect_no_complaints();
}

/// What a page shows changes by itself, without a script error and without the page jumping.
#[test]
fn pages_are_alive() {
    let desk = Desk::open(Workshop::new(""));
    let (browser, workshop) = (&desk.browser, &desk.workshop);
    workshop.story.make(&["--issue", "1"]);
    desk.go("/");
    browser.wait_for_text("[data-live=running]", "No agent is at work");
    let go = workshop.beside_text("go");
    let job = workshop.detach(&["--issue", "1"], &format!("print thinking hard\nwait-for {go}"));
    browser.wait_for_text("[data-live=running]", "issue-1");
    fs::write(&go, "").unwrap();
    browser.wait_for_text("[data-live=running]", "No agent is at work");
    workshop.wait_for_end(&job);
    let failing = workshop.detach(&["--issue", "1"], "exit 3");
    browser.wait_for_text("[data-live=needs]", "failed");
    workshop.wait_for_end(&failing);
    browser.resize(Window::PHONE);
    for path in ["/", "/jobs", "/repositories", "/fleet", "/audit", "/tokens", "/trash", &format!("/jobs/{failing}")] {
        desk.go(path);
        let wider = browser.run("return document.documentElement.scrollWidth > window.innerWidth", vec![]);
        assert_eq!(wider, json!(false), "{path} is wider than a phone");
    }
    browser.expect_no_complaints();
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the variable is for tests")]
fn pictures_are_taken_of_every_page() {
    let Some(directory) = env::var_os(SCREENSHOTS).map(PathBuf::from) else {
        println!("left out: `{SCREENSHOTS}` names no directory");
        return;
    };
    let desk = Desk::open(Workshop::of(Story::new(), &agent("reviewer")));
    let workshop = &desk.workshop;
    let go = workshop.beside_text("go");
    fill(workshop, &go);
    let jobs = workshop.jobs();
    let is_meant = |job: &&job_support::Job| job.text("agent") == "coder" && job.0["branch"] == "agent/coder/issue-42";
    let completed = jobs.iter().find(is_meant).expect("one completed");
    tell_a_story(Path::new(completed.text("log")));
    let running = jobs.iter().find(|job| job.text("status") == "running").expect("one runs");
    let workspaces = workshop.cli.run(&["ls", "--json"]).ok().json();
    let dirty = workspaces["workspaces"].as_array().unwrap().iter().find(|one| one["name"] == "task-add-dark-mode");
    let dirty = dirty.expect("it was made")["id"].as_str().unwrap().to_owned();
    desk.go_to_repository();
    let repository = desk.browser.url().split_once("/repositories/").map(|(_, id)| id.to_owned()).unwrap();
    let pages = [
        ("home", "/".to_owned()),
        ("repositories", "/repositories".to_owned()),
        ("repository", format!("/repositories/{repository}")),
        ("workspace", format!("/workspaces/{dirty}")),
        ("jobs", "/jobs".to_owned()),
        ("job", format!("/jobs/{}", completed.id())),
        ("running", format!("/jobs/{}", running.id())),
        ("fleet", "/fleet".to_owned()),
        ("conflicts", "/conflicts".to_owned()),
        ("schedules", "/schedules".to_owned()),
        ("trash", "/trash".to_owned()),
        ("audit", "/audit".to_owned()),
        ("tokens", "/tokens".to_owned()),
        ("api", "/api".to_owned()),
        ("login", "/login".to_owned()),
    ];
    for (name, path) in &pages {
        desk.go(path);
        if desk.browser.count("[data-lazy]") > 0 {
            wait_until(|| desk.browser.count("[data-lazy] br") == desk.browser.count("[data-lazy]"), LONG);
        }
        for (look, window, scheme) in [
            ("light", Window::DESKTOP, ColorScheme::Light),
            ("dark", Window::DESKTOP, ColorScheme::Dark),
            ("narrow", Window::PHONE, ColorScheme::Light),
        ] {
            desk.browser.resize(window);
            desk.browser.prefer(scheme);
            desk.browser.screenshot(&directory.join(format!("{name}-{look}.png")));
        }
        desk.browser.resize(Window::DESKTOP);
        desk.browser.prefer(ColorScheme::Light);
    }
    fs::write(&go, "").unwrap();
    for job in workshop.jobs() {
        workshop.wait_for_end(job.id());
    }
}

/// Something of everything.
fn fill(workshop: &Workshop, go: &str) {
    let login = "# People are logged out after an hour, whatever they chose. Fix that, with a test.\nwrite src/login.rs pub fn expires_in() -> u64 { 3600 }\nwrite src/session.rs pub struct Session { id: u64 }\ncommit fix the session cookie's expiry";
    let theme = "write src/lib.rs pub fn theme() -> &'static str { \"dark\" }\ncommit a dark theme";
    let other = "write src/lib.rs pub fn theme() -> &'static str { \"light\" }\ncommit a light theme";
    workshop.run(0, &["--issue", "42"], login);
    workshop.run(0, &["--task", "Add dark mode"], theme);
    workshop.run(0, &["--task", "Fix the contrast"], other);
    workshop.run(1, &["--issue", "57"], "write src/parser.rs fn parse() {}\ncommit try the other parser\nerror thread 'main' panicked: unexpected end of input\nexit 3");
    workshop.cli.run(&["run", "--agent", "reviewer", "--issue", "42", "--", "print it reads well"]).ok();
    let dark = workshop.story.show("task-add-dark-mode");
    fs::write(dark.path().join("notes.md"), "what is left to do\n").unwrap();
    workshop.git(dark.path(), &["commit", "--allow-empty", "-m", "look at the contrast"]);
    workshop.story.make(&["--issue", "63"]);
    workshop.story.make(&["--issue", "31", "--title", "Rename the settings page"]);
    workshop.cli.run(&["rm", "issue-31"]).ok();
    workshop.cli.run(&["pin", "issue-63"]).ok();
    workshop.cli.run(&["token", "create", "--name", "ci", "--scope", "write"]).ok();
    let hold = format!(
        "print reading src/search.rs\nprint the index is rebuilt on every keystroke; debouncing it\nwait-for {go}"
    );
    let first = workshop.detach(&["--task", "Speed up the search"], &hold);
    workshop.wait_for(&first, "running");
    workshop.detach(&["--task", "Speed up the search", "--wait"], "print then the tests");
}

/// Lets a job's log tell what an agent with tools would have done.
fn tell_a_story(log: &Path) {
    let began: i64 = 1_763_200_000_000;
    let mut lines = String::new();
    for (index, event) in [
        json!({ "type": "phase", "phase": "set_up" }),
        json!({ "type": "phase", "phase": "set_up", "detail": "issue-42 on `issue-42` from `origin/main` 3f2a91c, warm" }),
        json!({ "type": "phase", "phase": "before_run", "detail": "npm ci" }),
        json!({ "type": "output", "stream": "stdout", "text": "added 214 packages in 2s" }),
        json!({ "type": "phase", "phase": "session" }),
        json!({ "type": "text", "text": "I'll look at how the session cookie is made before I change anything. The report says that people are logged out after an hour, whatever they chose." }),
        json!({ "type": "tool_use", "id": "1", "tool": "Grep", "detail": "expires_in src/" }),
        json!({ "type": "tool_result", "id": "1", "is_error": false, "text": "src/login.rs:14: let expiry = expires_in();\nsrc/session.rs:3: pub expires_in: u64," }),
        json!({ "type": "tool_use", "id": "2", "tool": "Read", "detail": "src/login.rs" }),
        json!({ "type": "tool_result", "id": "2", "is_error": false, "text": "pub fn expires_in() -> u64 {\n    60\n}" }),
        json!({ "type": "text", "text": "The lifetime is in minutes here and in seconds where the cookie is written. That is the bug: 60 is read as a minute." }),
        json!({ "type": "tool_use", "id": "3", "tool": "Edit", "detail": "src/login.rs" }),
        json!({ "type": "tool_result", "id": "3", "is_error": false, "text": "ok" }),
        json!({ "type": "tool_use", "id": "4", "tool": "Bash", "detail": "cargo test login" }),
        json!({ "type": "tool_result", "id": "4", "is_error": true, "text": "test login::expires ... FAILED\nassertion failed: left 60, right 3600" }),
        json!({ "type": "text", "text": "The test had the old value written into it. I'll compare with the constant instead." }),
        json!({ "type": "tool_use", "id": "5", "tool": "Bash", "detail": "cargo test login" }),
        json!({ "type": "tool_result", "id": "5", "is_error": false, "text": "test result: ok. 12 passed" }),
        json!({ "type": "warning", "text": "1 file was not committed by the agent; it goes into a commit of its own" }),
        json!({ "type": "phase", "phase": "deliver", "detail": "1 commit, pushed to origin" }),
        json!({ "type": "finished", "status": "completed" }),
    ]
    .into_iter()
    .enumerate()
    {
        let mut event = event;
        event["at_ms"] = json!(began + i64::try_from(index).unwrap() * 4100);
        lines.push_str(&format!("{event}\n"));
    }
    fs::write(log, lines).unwrap();
}
