//! What platforms sent and nothing was done about: why, and what becomes of it when it is sent again.

use std::fs;

use serde_json::{Value, json};
use spinney_testkit::{HttpClient, wait_until};

use crate::platforms::hooks::{EVE, MONA, comment, delivery, payload, signed};
use crate::platforms::office::Office;
use crate::support::job::LONG;

const ASKS: &str = "@spinney please\nscript:\nwrite fix.txt fixed";

/// What `spinney platform inbox` lists.
#[track_caller]
fn inbox(office: &Office, arguments: &[&str]) -> Vec<Value> {
    let listed = office.workshop.cli.run(&[&["platform", "inbox", "--json"], arguments].concat()).ok().json();
    listed["messages"].as_array().unwrap().clone()
}

/// Waits until it is listed why nothing was done about a message.
#[track_caller]
fn ignored(office: &Office, id: &str) -> Value {
    let find = || inbox(office, &["--ignored"]).into_iter().find(|message| message["id"] == id);
    wait_until(|| find().is_some(), LONG);
    find().unwrap()
}

fn owner(office: &Office) -> HttpClient {
    HttpClient::unix(office.workshop.story.sandbox().spinney_home().join("serve.socket"))
}

#[test]
fn the_field_or_the_rule_that_decided_is_told_everywhere() {
    let office = Office::new("");
    let number = office.forge.add_issue("Login fails", "It says no.");
    let silent = office.tell("issue_comment", &comment("created", number, 900, MONA, "Nobody is asked."));
    let star = office.tell("star", &payload("created", MONA));
    let stranger = office.tell("issue_comment", &comment("created", number, 901, EVE, ASKS));
    let mut other = comment("created", number, 902, MONA, ASKS);
    other["repository"]["full_name"] = json!("acme/other");
    let other = office.tell("issue_comment", &other);
    let mut broken = comment("created", number, 903, MONA, ASKS);
    broken["issue"].as_object_mut().unwrap().remove("id");
    let (broken, body) = (delivery(999), broken.to_string());
    let client = signed(&office.client(), "issue_comment", &broken, &body);
    client.send("POST", "/webhooks/github", body.as_bytes()).expects(400);
    // What nobody signed is not looked at, whatever is wrong with it.
    let client = client.with_header("X-GitHub-Delivery", &delivery(1000));
    let client = client.with_header("X-Hub-Signature-256", &format!("sha256={}", "0".repeat(64)));
    client.send("POST", "/webhooks/github", body.as_bytes()).expects(401);

    let page = || owner(&office).get("/inbox").expects(200).text();
    let log = || office.daemon.borrow().as_ref().unwrap().said();
    for (id, reason, decided_by, why) in [
        (&silent, "no_mention", json!(null), "the text does not mention `@spinney`"),
        (&star, "event_kind", json!(null), "`star` events ask for nothing"),
        (&stranger, "not_listed", json!("platforms.github.allowed_users"), "user 9 is not listed in"),
        (&other, "unknown_repository", json!("repository.full_name"), "`acme/other` is not known here"),
        (&broken, "malformed", json!("issue.id"), "`issue.id` is missing in the `issue_comment` payload"),
    ] {
        let told = ignored(&office, id);
        assert_eq!((&told["reason"], &told["decided_by"]), (&json!(reason), &decided_by), "{told:#}");
        assert!(told["why"].as_str().unwrap().starts_with(why), "{told:#}");
        assert!(log().contains(why), "{}", log());
        let shown = why.split('`').next_back().unwrap();
        assert!(page().contains(shown), "{shown} in {}", page());
    }
    let client = owner(&office);
    let listed = client.get("/api/v1/inbox?ignored=true&limit=2").expects(200).json();
    assert_eq!(listed["messages"].as_array().unwrap().len(), 2);
    let next = format!("/api/v1/inbox?ignored=true&limit=200&cursor={}", listed["next"].as_str().unwrap());
    let rest = client.get(&next).expects(200).json();
    assert_eq!(rest["messages"].as_array().unwrap().len(), 3, "{rest:#}");
    client.get("/api/v1/inbox?limit=0").expects(400);
    // Another account finds nothing of it.
    office.workshop.cli.run(&["account", "add", "acme"]).ok();
    let made = ["token", "create", "--json", "--account", "acme", "--name", "ci", "--scope", "admin"];
    let token = office.workshop.cli.run(&made).ok().json()["token"].as_str().unwrap().to_owned();
    let others = office.client().with_token(&token).get("/api/v1/inbox").expects(200).json();
    assert_eq!(others["messages"], json!([]));
    let told = office.workshop.cli.run(&["platform", "inbox", "--ignored", "-n", "1"]).ok().stdout;
    assert!(told.contains("issue.id") && !told.contains("star"), "{told}");
}

#[test]
fn what_was_ignored_is_tried_again_when_it_is_sent_again() {
    let office = Office::with_github("strangers = \"refuse\"");
    let number = office.forge.add_issue("Login fails", "It says no.");
    let (id, asked) = (delivery(77), comment("created", number, 900, EVE, ASKS));
    for _ in 0..2 {
        office.send("issue_comment", &id, &asked);
        office.hears(number, 1, &["I accept requests only from listed users."]);
        wait_until(|| ignored(&office, &id)["status"] == "refused", LONG);
    }
    let config = office.workshop.story.sandbox().config_file();
    let before = fs::read_to_string(&config).unwrap();
    fs::write(&config, before.replace("allowed_users = [7, 8]", "allowed_users = [7, 8, 9]")).unwrap();
    let said = || office.daemon.borrow().as_ref().unwrap().said();
    wait_until(|| said().contains("configuration reloaded"), LONG);
    office.send("issue_comment", &id, &asked);
    office.hears(number, 1, &["✓ Done"]);
    assert_eq!(office.wait_for_delivery(&id), "done");
    assert!(inbox(&office, &["--ignored"]).is_empty());
    // What was acted upon counts once.
    office.send("issue_comment", &id, &asked);
    office.comment(number, "/status");
    office.hears(number, 2, &["workspaces"]);
    assert_eq!(office.jobs().len(), 1);
}
