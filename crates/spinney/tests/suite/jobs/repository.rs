//! A job that is asked for on a repository by name is for that repository, or there is none.

use crate::support::common::Story;
use crate::support::job::{Workshop, agent};
use serde_json::{Value, json};
use spinney_testkit::{Daemon, HttpClient, Sandbox, TestRepository, wait_until};

/// A repository `app`, another one, an agent `coder` of every repository, and `chatty`, which works on the other one.
struct Two {
    workshop: Workshop,
    other: TestRepository,
}

impl Two {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let other = sandbox.repository("other").with_remote();
        let workshop = Workshop::of(Story::of(sandbox.repository("app").with_remote()), "");
        let two = Self { workshop, other };
        let path = two.other.path().display().to_string();
        two.configure(&format!("working_directory = {path:?}\n"));
        let other = two.workshop.cli.in_directory(two.other.path());
        for cli in [&two.workshop.cli, &other] {
            cli.run(&["status"]).ok();
        }
        two
    }

    /// Configures `chatty` anew.
    fn configure(&self, chatty: &str) {
        self.workshop.configure(&format!("{}{chatty}", agent("chatty")));
    }

    #[track_caller]
    fn assert_nothing_happened(&self) {
        assert!(self.workshop.jobs().is_empty());
        assert_eq!(self.workshop.pushed(), ["main"]);
        let branches = self.other.remote().git(&["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
        assert_eq!(branches, "main");
    }
}

fn ask(client: &HttpClient, repository: &str) -> spinney_testkit::Reply {
    let asked = json!({ "repository": repository, "agent": "chatty", "prompt": "write a.txt a" });
    client.post("/api/v1/jobs", &asked)
}

#[test]
fn the_api_refuses_a_repository_that_the_agent_does_not_work_on() {
    let two = Two::new();
    let client = HttpClient::unix(two.workshop.story.sandbox().spinney_home().join("serve.socket"));
    let _daemon = Daemon::start(&two.workshop.cli);
    let error = ask(&client, "local/app").expects(400).json()["error"].clone();
    assert_eq!(error["kind"], "usage");
    let message = error["message"].as_str().unwrap();
    assert!(message.starts_with("agent `chatty` works on `") && message.ends_with("not on `local/app`"), "{message}");
    assert!(error["hints"].to_string().contains("GET /api/v1/repositories"), "{error}");
    two.assert_nothing_happened();
    let agents = client.get("/api/v1/agents?repository=local%2Fapp").expects(200).json();
    let problem = |name: &str| {
        agents["agents"].as_array().unwrap().iter().find(|one| one["name"] == name).unwrap()["problem"].clone()
    };
    assert_eq!(problem("coder"), Value::Null);
    assert!(problem("chatty").as_str().unwrap().contains("not on `local/app`"), "{agents:#}");

    // On its own repository it does what it is asked for.
    let job = ask(&client, "local/other").expects(202).json();
    let target = format!("/api/v1/jobs/{}", job["id"].as_str().unwrap());
    wait_until(|| client.get(&target).json()["status"] == "completed", crate::support::job::LONG);
    let job = client.get(&target).json();
    assert_eq!((&job["repository"], &job["push"]), (&json!("local/other"), &json!("pushed")));
    assert_eq!(two.workshop.pushed(), ["main"]);
}

#[test]
fn so_does_the_command_line_where_a_repository_is_named() {
    let two = Two::new();
    let run = ["run", "--agent", "chatty", "--repo", "local/app", "--", "write a.txt a"];
    for cli in [two.workshop.cli.clone(), two.workshop.cli.in_directory(two.other.path())] {
        crate::support::common::refused(&cli, 2, &run)
            .says(&["`chatty` works on", "not on `local/app`"])
            .hints(&["working_directory"]);
    }
    two.assert_nothing_happened();
    // Where somebody only stands in a repository, the agent leads to its own.
    let ran = two.workshop.cli.run(&["run", "--json", "--agent", "chatty", "--", "write a.txt a"]).ok();
    assert_eq!(ran.json()["repository"], "local/other");
}

#[test]
fn a_clone_and_a_directory_as_it_is_count_like_any_other_repository() {
    let two = Two::new();
    let path = two.other.path().display().to_string();
    let run = ["run", "--agent", "chatty", "--repo", "local/app", "--", "write a.txt a"];
    for settings in [
        format!("working_directory = {path:?}\n[agents.chatty.workspace]\nstrategy = \"static\"\n"),
        format!("working_directory = {{ url = \"file://{}\", auto_clone = true }}\n", two.other.remote().url()),
    ] {
        two.configure(&settings);
        crate::support::common::refused(&two.workshop.cli, 2, &run).says(&["`chatty` works on", "not on `local/app`"]);
    }
    two.assert_nothing_happened();
    // A part of the repository, a worktree of it, and a directory of no repository are not elsewhere.
    let linked = two.workshop.beside("linked");
    two.workshop.git(two.workshop.story.repository.path(), &["worktree", "add", "-q", linked.to_str().unwrap()]);
    let plain = two.workshop.beside("plain");
    std::fs::create_dir(&plain).unwrap();
    for settings in [
        "working_directory = \"src\"\n".to_owned(),
        format!("working_directory = {linked:?}\n"),
        format!("working_directory = {plain:?}\n[agents.chatty.workspace]\nstrategy = \"static\"\n"),
    ] {
        two.configure(&settings);
        let ran = two.workshop.cli.run(&["run", "--json", "--agent", "chatty", "--repo", "local/app", "--", "print x"]);
        assert_eq!(ran.ok().json()["repository"], "local/app", "{settings}");
    }
}

#[test]
fn the_form_offers_only_agents_that_can() {
    let two = Two::new();
    let made = two.workshop.cli.run(&["token", "create", "--name", "t", "--scope", "write", "--json"]).ok().json();
    let token = made["token"].as_str().unwrap().to_owned();
    let daemon = Daemon::start(&two.workshop.cli);
    let browser = daemon.client();
    let session = browser.with_cookies_of(&browser.post_form("/login", &[("key", &token)]).expects(303));
    let owner = daemon.client().with_token(&token);
    let listed = owner.get("/api/v1/repositories").expects(200).json();
    let page_of = |name: &str| {
        let all = listed["repositories"].as_array().unwrap();
        let id = all.iter().find(|one| one["name"] == name).unwrap()["id"].as_str().unwrap();
        format!("/repositories/{id}")
    };
    let (app, other) = (page_of("local/app"), page_of("local/other"));
    let offers = |page: &str| {
        let page = session.get(page).expects(200).text();
        ["coder", "chatty"].map(|agent| page.contains(&format!("value=\"{agent}\"")))
    };
    assert_eq!((offers(&app), offers(&other)), ([true, false], [true, true]));
    let text = session.get(&app).expects(200).text();
    let csrf = text.split_once("name=\"csrf\" value=\"").unwrap().1.split('"').next().unwrap().to_owned();
    let form = [("csrf", csrf.as_str()), ("agent", "chatty"), ("prompt", "write a.txt a")];
    let reply = session.post_form(&format!("{app}/jobs"), &form);
    assert_eq!(reply.status, 400, "{}", reply.told());
    assert!(reply.text().contains("local/app"), "{}", reply.told());
    two.assert_nothing_happened();
}
