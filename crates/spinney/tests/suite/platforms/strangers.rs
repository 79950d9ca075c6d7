//! Those who may not ask, and what is no request.

use serde_json::json;

use crate::platforms::hooks::{EVE, MONA, RITA, comment, issue, payload, signed};
use crate::platforms::office::Office;
use crate::support::job::LONG;
use spinney_testkit::wait_until;

const ASKS: &str = "@spinney please\nscript:\nwrite stolen.txt x";

/// Asserts that nothing was made and nothing said on an issue but the answer to one command.
#[track_caller]
fn assert_silence(office: &Office, number: u64) {
    office.comment(number, "/status");
    office.hears(number, 1, &["workspaces"]);
    assert_eq!((office.jobs().len(), office.live()), (0, Vec::new()));
}

#[test]
fn strangers_hear_nothing() {
    let office = Office::new("");
    let number = office.forge.add_issue("Login fails", "It says no.");
    for stranger in [EVE, RITA] {
        office.comment_by(stranger, number, ASKS);
        office.comment_by(stranger, number, "/worktree remove issue-1 --force");
    }
    assert_silence(&office, number);
}

#[test]
fn strangers_hear_once_that_they_may_not() {
    let office = Office::with_github("strangers = \"refuse\"");
    let number = office.forge.add_issue("Login fails", "It says no.");
    office.comment_by(EVE, number, ASKS);
    office.hears(number, 1, &["I accept requests only from listed users."]);
    office.comment_by(EVE, number, ASKS);
    office.comment_by(EVE, number, "/help");
    // On the list, but GitHub says that she may only read.
    office.comment_by(RITA, number, ASKS);
    office.hears(number, 2, &["I accept requests only from listed users."]);
    office.comment_by(RITA, number, ASKS);
    office.comment(number, "/status");
    office.hears(number, 3, &["workspaces"]);
    assert_eq!((office.jobs().len(), office.live()), (0, Vec::new()));
}

#[test]
fn strangers_of_slack_hear_nothing() {
    let office = Office::new("repository = \"acme/app\"\n");
    let thread = office.say_as("U0EVE", None, "look\nscript:\nwrite stolen.txt x");
    office.say_as("U0EVE", Some(&thread), "/repo acme/app");
    office.say(Some(&thread), "/status");
    office.hears_in_slack(1, &["workspaces"]);
    assert_eq!((office.jobs().len(), office.live()), (0, Vec::new()));
}

#[test]
fn what_github_did_not_sign_is_refused_and_other_repositories_are_none_of_ours() {
    let office = Office::with_github("strangers = \"refuse\"");
    let number = office.forge.add_issue("Login fails", "It says no.");
    let asked = comment("created", number, 900, MONA, ASKS).to_string();
    let client = signed(&office.client(), "issue_comment", "72d3162e-0000", &asked);
    for signature in ["", "sha256=", "sha256=00", &format!("sha256={}", "0".repeat(64)), "sha1=00"] {
        let wrong = client.with_header("X-Hub-Signature-256", signature);
        wrong.send("POST", "/webhooks/github", asked.as_bytes()).expects(401);
    }
    client.without_header("X-Hub-Signature-256").send("POST", "/webhooks/github", asked.as_bytes()).expects(401);
    client.send("POST", "/webhooks/github", asked.replace("stolen", "taken").as_bytes()).expects(401);
    client.send("POST", "/webhooks/gitlab", asked.as_bytes()).expects(404);
    client.send("POST", "/webhooks/discord", asked.as_bytes()).expects(404);
    for name in ["acme/other", "other/app", "acme/app.git", "../app"] {
        let mut other = comment("created", number, 901, MONA, ASKS);
        other["repository"]["full_name"] = json!(name);
        office.tell("issue_comment", &other);
    }
    assert_silence(&office, number);
}

#[test]
fn one_delivery_is_one_job() {
    let office = Office::new("");
    let body = "@spinney please\nscript:\nwrite fix.txt fixed";
    let number = office.forge.add_issue("Login fails", body);
    let opened = issue("opened", number, "Login fails", body);
    for _ in 0..3 {
        office.send("issues", "72d3162e-1111", &opened);
    }
    office.hears(number, 1, &["✓ Done"]);
    office.send("issues", "72d3162e-1111", &opened);
    office.comment(number, "/status");
    office.hears(number, 2, &["workspaces"]);
    assert_eq!(office.jobs().len(), 1);
}

#[test]
fn what_is_changed_or_deleted_before_it_has_begun_is_off() {
    let office = Office::new("[limits]\nmax_workers = 1\n");
    let held = office.workshop.hold("held");
    let first = office.ask("Login fails", &held);
    office.workshop.wait_for_agent("held");
    let number = office.forge.add_issue("Logout fails", "It says no.");
    let (before, after) = ("@spinney one\nscript:\nprint One.", "@spinney two\nscript:\nprint Two.");
    let changed = office.comment(number, before);
    let deleted = office.comment(number, "@spinney three\nscript:\nprint Three.");
    wait_until(|| office.jobs().len() == 3, LONG);
    let mut edited = comment("edited", number, changed, MONA, after);
    edited["changes"] = json!({ "body": { "from": before } });
    office.tell("issue_comment", &edited);
    // Whoever may delete a comment may call off what it asks for.
    let mut gone = comment("deleted", number, deleted, MONA, "@spinney three\nscript:\nprint Three.");
    gone["sender"] = json!({ "login": "moderator", "id": 99, "type": "User" });
    office.tell("issue_comment", &gone);
    let statuses = || {
        let mut statuses: Vec<_> = office.jobs().iter().map(|job| job.text("status").to_owned()).collect();
        statuses.sort();
        statuses
    };
    wait_until(|| statuses() == ["cancelled", "cancelled", "pending", "running"], LONG);
    office.workshop.let_go("held");
    office.hears(first, 1, &["✓ Done"]);
    wait_until(|| office.said_on(number).iter().any(|said| said.contains("Two.")), LONG);
    let said = office.said_on(number).join("\n");
    assert!(!said.contains("One.") && !said.contains("Three."), "{said}");
    // What has begun goes on, and is not asked for again.
    let mut again = comment("edited", number, changed, MONA, before);
    again["changes"] = json!({ "body": { "from": after } });
    let again = office.tell("issue_comment", &again);
    assert_eq!(office.wait_for_delivery(&again), "ignored");
    assert_eq!(office.jobs().len(), 4);
}

#[test]
fn what_asks_for_nothing_is_passed_over() {
    let office = Office::new("");
    let number = office.forge.add_issue("Login fails", "It says no.");
    office.comment(number, "Nobody is asked.");
    office.comment(number, "Write to spinney@example.com, or `@spinney`.");
    office.tell("issues", &issue("labeled", number, "Login fails", ASKS));
    office.tell("star", &payload("created", MONA));
    // Somebody else's words, in somebody's name.
    let mut foreign = comment("created", number, 950, EVE, ASKS);
    foreign["sender"] = json!({ "login": "mona", "id": 7, "type": "User" });
    office.tell("issue_comment", &foreign);
    assert_silence(&office, number);
}
