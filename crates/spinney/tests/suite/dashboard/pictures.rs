//! Pictures of every page, for the README: light, dark and on a phone.

use std::env;
use std::fs;
use std::path::PathBuf;

use spinney_testkit::{Browser, ColorScheme, Daemon, HttpRemote, Window, wait_until};

use crate::dashboard::desk::Desk;
use crate::support::common::Story;
use crate::support::job::{Job, LONG, Workshop};

/// Names a directory: pictures of every page are taken into it.
const SCREENSHOTS: &str = "SPINNEY_SCREENSHOTS";

const AGENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite/dashboard/agent.sh");

const LOGIN: &str = "# How long a session lasts.\nexpires_in() {\n\techo 60\n}\n";
const LOGIN_TEST: &str = ". ./src/login.sh\n\n[ \"$(expires_in)\" = 3600 ] || {\n\techo \"FAILED: a session lasts $(expires_in) seconds, not 3600\"\n\texit 1\n}\necho \"ok: a session lasts an hour\"\n";

#[test]
#[expect(clippy::disallowed_methods, reason = "the variable is for tests")]
fn pictures_are_taken_of_every_page() {
    let Some(directory) = env::var_os(SCREENSHOTS).map(PathBuf::from) else {
        println!("left out: `{SCREENSHOTS}` names no directory");
        return;
    };
    let stage = Stage::new();
    let empty = Desk::open(Workshop::new(""));
    take(&empty.browser, &directory, "empty");
    let desk = Desk::open(stage.workshop);
    let workshop = &desk.workshop;
    fill(workshop);
    let jobs = workshop.jobs();
    let find = |is_meant: &dyn Fn(&&Job) -> bool| jobs.iter().find(is_meant).expect("it was started").id().to_owned();
    let completed = find(&|job| job.text("agent") == "coder" && job.0["branch"] == "agent/coder/issue-42");
    let running = find(&|job| job.text("status") == "running");
    let failed = find(&|job| job.text("status") == "failed");
    let id_of = |name: &str| workshop.story.show(name).text("id").to_owned();
    let removed = workshop.cli.run(&["trash", "ls", "--json"]).ok().json();
    let removed = removed["trash"][0]["id"].as_str().expect("one was removed").to_owned();
    desk.go_to_repository();
    let repository = desk.browser.url().split_once("/repositories/").map(|(_, id)| id.to_owned()).unwrap();
    for (name, path) in [
        ("home", "/".to_owned()),
        ("repositories", "/repositories".to_owned()),
        ("repository", format!("/repositories/{repository}")),
        ("workspace", format!("/workspaces/{}", id_of("task-add-dark-mode"))),
        ("removed", format!("/workspaces/{removed}")),
        ("jobs", "/jobs".to_owned()),
        ("job", format!("/jobs/{completed}")),
        ("running", format!("/jobs/{running}")),
        ("failed", format!("/jobs/{failed}")),
        ("fleet", "/fleet".to_owned()),
        ("conflicts", "/conflicts".to_owned()),
        ("schedules", "/schedules".to_owned()),
        ("trash", "/trash".to_owned()),
        ("audit", "/audit".to_owned()),
        ("tokens", "/tokens".to_owned()),
        ("api", "/api".to_owned()),
        ("login", "/login".to_owned()),
        ("error", format!("/workspaces/{}", "0".repeat(10))),
    ] {
        desk.go(&path);
        if desk.browser.count("[data-lazy]") > 0 {
            wait_until(|| desk.browser.count("[data-lazy] br") == desk.browser.count("[data-lazy]"), LONG);
        }
        if name == "job" {
            desk.browser.run("document.querySelector('.tool.wrong').open = true", vec![]);
        }
        take(&desk.browser, &directory, name);
    }
    fs::write(workshop.beside("go"), "").unwrap();
    for job in workshop.jobs() {
        workshop.wait_for_end(job.id());
    }
}

/// Takes what is seen now, in every look.
fn take(browser: &Browser, directory: &std::path::Path, name: &str) {
    for (look, window, scheme) in [
        ("light", Window::DESKTOP, ColorScheme::Light),
        ("dark", Window::DESKTOP, ColorScheme::Dark),
        ("narrow", Window::PHONE, ColorScheme::Light),
    ] {
        browser.resize(window);
        browser.prefer(scheme);
        // What is wider than the window begins where one wants to look, as when the page was opened in it.
        browser.run(
            "document.querySelectorAll('[data-newest]').forEach((all) => (all.scrollLeft = all.scrollWidth))",
            vec![],
        );
        browser.screenshot(&directory.join(format!("dashboard-{name}-{look}.png")));
    }
    browser.resize(Window::DESKTOP);
    browser.prefer(ColorScheme::Light);
}

/// A small program on a forge of its own, and agents that work on it.
struct Stage {
    workshop: Workshop,
    /// Serves the remote.
    _http: HttpRemote,
}

impl Stage {
    fn new() -> Self {
        let workshop = Workshop::of(Story::new(), "");
        let http = HttpRemote::open(workshop.story.sandbox());
        workshop.story.remote().git(&["config", "http.receivepack", "true"]);
        workshop.story.change(|repository| {
            repository.write("src/login.sh", LOGIN).write("tests/login.sh", LOGIN_TEST);
            repository.write("src/search.sh", "search() {\n\tbuild_index && grep \"$1\" index\n}\n");
            repository.commit("A login and a search");
            repository.push();
            repository.git(&["remote", "set-url", "origin", &http.url("acme/app.git")]);
        });
        let go = workshop.beside_text("go");
        let path = workshop.story.repository.path().to_path_buf();
        let agent = |name: &str, role: &str| {
            format!(
                "[agents.{name}]\nruntime = \"claude\"\ncommand = [\"/bin/sh\", {AGENT:?}]\nenv.GO = {go:?}\nenv.ROLE = \"{role}\"\nworking_directory = {path:?}\n"
            )
        };
        let schedule = "[agents.reviewer.schedules.nightly]\ntype = \"cron\"\ncron = \"0 3 * * 1-5\"\ntimezone = \"Europe/Berlin\"\nprompt = \"Review what was merged yesterday.\"\n";
        workshop.story.sandbox().write_config(&format!(
            "[workspace]\nports = [\"web\"]\n[pool]\nsize = 2\n{}{}{schedule}",
            agent("coder", "coder"),
            agent("reviewer", "reviewer")
        ));
        Self { workshop, _http: http }
    }
}

#[test]
fn what_a_session_takes_is_seen_while_it_runs() {
    let stage = Stage::new();
    let workshop = &stage.workshop;
    let daemon = Daemon::start(&workshop.cli);
    let token = workshop.cli.run(&["token", "create", "--json", "--name", "x", "--scope", "read"]).ok().json();
    let client = daemon.client().with_token(token["token"].as_str().unwrap());
    let job = workshop.detach(&["--task", "Speed up the search"], "Find out why.");
    wait_until(|| client.get("/").expects(200).text().contains("running sh bench/search.sh"), LONG);
    for path in ["/".to_owned(), format!("/jobs/{job}")] {
        let page = client.get(&path).expects(200).text();
        assert!(page.contains("% of the context\""), "{path} shows no bar: {page}");
    }
    fs::write(workshop.beside("go"), "").unwrap();
    workshop.wait_for_end(&job);
    daemon.terminate();
}

/// Something of everything.
fn fill(workshop: &Workshop) {
    workshop.cli.run(&["repo", "add", "."]).ok();
    workshop.cli.run(&["pool", "fill"]).ok();
    let told = "People are logged out after a minute, whatever they chose. Fix that; there is a test for it.";
    workshop.run(0, &["--issue", "42"], told);
    workshop.run(0, &["--task", "Add dark mode"], "Add a dark theme.");
    workshop.run(0, &["--task", "Fix the contrast"], "The light theme has too little contrast.");
    workshop.run(1, &["--issue", "57"], "The parser gives up on an empty line. Try the other one.");
    workshop.cli.run(&["run", "--agent", "reviewer", "--issue", "42", "--", "Review the fix."]).ok();
    let dark = workshop.story.show("task-add-dark-mode");
    fs::write(dark.path().join("notes.md"), "what is left to do\n").unwrap();
    workshop.git(dark.path(), &["commit", "--allow-empty", "-m", "Look at the contrast"]);
    workshop.story.make(&["--issue", "63", "--conversation", "C024BE91L:1763200000.000200", "--platform", "slack"]);
    workshop.story.make(&["--issue", "31", "--title", "Rename the settings page"]);
    workshop.cli.run(&["rm", "issue-31"]).ok();
    workshop.cli.run(&["pin", "issue-63"]).ok();
    workshop.cli.run(&["token", "create", "--name", "ci", "--scope", "write", "--expires", "90d"]).ok();
    workshop.cli.run(&["ls", "--size"]).ok();
    let first =
        workshop.detach(&["--task", "Speed up the search"], "The search is slow in large projects. Find out why.");
    workshop.wait_for(&first, "running");
    wait_until(|| workshop.log(&first).iter().any(|event| event.to_string().contains("bench/search.sh")), LONG);
    workshop.detach(&["--task", "Speed up the search", "--wait"], "Then write down what you found.");
    workshop.cli.run(&["pool", "fill"]).ok();
}
