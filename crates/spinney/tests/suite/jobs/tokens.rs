//! Pushing over HTTP where git itself has no credentials: with the token of the forge, and to its origin alone.

use crate::support::job::Workshop;
use spinney_testkit::{HttpRemote, TestForge};

const ISSUE: [&str; 2] = ["--issue", "7"];

/// A workshop whose remote wants the token of the forge that it is on.
fn private(forge: &TestForge) -> (Workshop, HttpRemote) {
    let workshop = Workshop::new(&format!("[forge.github]\napi_url = \"{}\"\n", forge.api_url()));
    let http = HttpRemote::with_token(workshop.story.sandbox(), forge.token());
    let url = http.url("acme/app.git");
    workshop.story.change(|repository| repository.git(&["remote", "set-url", "origin", &url]));
    (workshop, http)
}

fn took_a_push(http: &HttpRemote) -> bool {
    http.requests().iter().any(|line| line.starts_with("200 POST") && line.contains("git-receive-pack"))
}

#[test]
fn a_push_uses_the_forges_token_and_names_it_where_it_is_missing() {
    let forge = TestForge::github("acme/app");
    let (mut workshop, http) = private(&forge);
    let job = workshop.run(1, &ISSUE, "write a.txt a");
    job.says(&["`GITHUB_TOKEN`, for its forge's token, is not set"]);
    let told = workshop.cli.run(&["jobs", "--all", "--json"]).ok().stdout;
    assert!(told.contains("export GITHUB_TOKEN"), "{told}");
    assert!(!took_a_push(&http));
    workshop.cli = workshop.cli.with_variable("GITHUB_TOKEN", forge.token());
    assert_eq!(workshop.retry(0, job.id()).0["pushed"], true);
    assert!(took_a_push(&http));
    let home = workshop.story.sandbox().spinney_home();
    assert_eq!(crate::support::common::files_with(&home, forge.token()), Vec::<std::path::PathBuf>::new());
    let config = std::fs::read_to_string(workshop.story.repository.path().join(".git/config")).unwrap();
    assert!(!config.contains(forge.token()));
}

#[test]
fn the_forges_token_is_not_shown_to_another_remote() {
    let forge = TestForge::github("acme/app");
    let (mut workshop, http) = private(&forge);
    workshop.cli = workshop.cli.with_variable("GITHUB_TOKEN", forge.token());
    workshop.complete(&ISSUE, "write a.txt a");
    assert!(took_a_push(&http));
    let evil = HttpRemote::with_token(workshop.story.sandbox(), forge.token());
    let url = evil.url("acme/app.git");
    for arguments in [&["remote", "set-url", "--push", "origin", &url][..], &["remote", "set-url", "origin", &url]] {
        workshop.story.change(|repository| repository.git(arguments));
        workshop.run(1, &["--issue", "8"], "write a.txt b");
        assert!(!evil.requests().iter().any(|line| line.starts_with("200")), "{:?}", evil.requests());
        assert!(evil.requests().iter().any(|line| line.starts_with("401")), "it was asked");
    }
}
