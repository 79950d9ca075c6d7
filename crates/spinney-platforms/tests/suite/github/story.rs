//! Webhooks as GitHub sends them, and an adapter that takes them.

use http::{HeaderMap, HeaderName, HeaderValue};
use ring::hmac;
use serde_json::{Value, json};
use spinney_core::{IgnoreReason, Secret, Timestamp};
use spinney_platforms::{Adapter, Event, GithubAdapter, GithubOptions, Inbound, Received, Refusal};
use spinney_testkit::TestForge;

pub const SECRET: &str = "it's a secret";
pub const DELIVERY: &str = "72d3162e-cc78-11e3-81ab-4c9367dc0958";
pub const SHA: &str = "ec26c3e57ca3a959ca5aad62de7213c562f8c821";

pub fn options(api_url: &str, token: &str) -> GithubOptions {
    GithubOptions {
        webhook_secrets: Secret::new(SECRET),
        mention: "@spinney".to_owned(),
        api_url: api_url.to_owned(),
        token: Some(Secret::new(token)),
        app: None,
        proxy: None,
    }
}

pub fn adapter() -> GithubAdapter {
    GithubAdapter::new(&options("", "t0ken")).unwrap()
}

/// One that speaks to a small GitHub.
pub fn adapter_at(server: &TestForge) -> GithubAdapter {
    GithubAdapter::new(&options(&server.api_url(), server.token())).unwrap()
}

pub fn signature(secret: &str, body: &[u8]) -> String {
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()), body);
    let digits: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256={digits}")
}

pub fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
    let header =
        |(name, value): &(&str, &str)| (name.parse::<HeaderName>().unwrap(), HeaderValue::from_str(value).unwrap());
    pairs.iter().map(header).collect()
}

/// The headers of a webhook.
pub fn signed(event: &str, body: &[u8]) -> HeaderMap {
    headers(&[
        ("content-type", "application/json"),
        ("x-github-event", event),
        ("x-github-delivery", DELIVERY),
        ("x-hub-signature-256", &signature(SECRET, body)),
    ])
}

pub fn receive(event: &str, payload: &Value) -> Result<Received, Refusal> {
    let body = payload.to_string().into_bytes();
    adapter().receive(&signed(event, &body), &body, Timestamp::from_millisecond(1_700_000_000_000))
}

/// The only thing that a webhook means.
#[track_caller]
pub fn one(event: &str, payload: &Value) -> Inbound {
    let mut received = receive(event, payload).unwrap();
    assert_eq!((received.inbound.len(), &received.ignored), (1, &None), "{received:?}");
    received.inbound.remove(0)
}

/// Why a webhook means nothing.
#[track_caller]
pub fn ignored(event: &str, payload: &Value) -> IgnoreReason {
    let received = receive(event, payload).unwrap();
    assert_eq!(received.inbound, [], "{received:?}");
    let ignored = received.ignored.unwrap();
    assert_eq!(ignored.delivery, DELIVERY);
    ignored.reason
}

/// The text of a request that a webhook is.
#[track_caller]
pub fn asked(event: &str, payload: &Value) -> spinney_platforms::Request {
    match one(event, payload).event {
        Event::Asked(request) => request,
        other => panic!("{other:?}"),
    }
}

pub fn user(login: &str, id: u64) -> Value {
    json!({ "login": login, "id": id, "type": "User", "site_admin": false })
}

fn payload(action: &str) -> Value {
    json!({
        "action": action,
        "repository": { "id": 1, "full_name": "acme/app", "html_url": "https://github.com/acme/app", "private": true },
        "sender": user("mona", 7),
    })
}

pub fn issue(action: &str, body: &str) -> Value {
    let mut payload = payload(action);
    payload["issue"] =
        json!({ "id": 100, "number": 42, "title": "Login fails", "body": body, "user": user("mona", 7) });
    payload
}

pub fn comment(action: &str, body: &str) -> Value {
    let mut payload = issue(action, "It says no.");
    payload["comment"] = json!({ "id": 900, "body": body, "user": user("mona", 7) });
    payload
}

/// A comment on a pull request, which does not tell its branch.
pub fn pull_comment(action: &str, body: &str) -> Value {
    let mut payload = comment(action, body);
    payload["issue"]["pull_request"] = json!({ "url": "https://api.github.com/repos/acme/app/pulls/42" });
    payload["issue"]["body"] = json!("Fixes #7");
    payload
}

pub fn pull(action: &str, body: &str) -> Value {
    let mut payload = payload(action);
    payload["pull_request"] = json!({
        "id": 200, "number": 9, "title": "Fix it", "body": body, "user": user("mona", 7), "merged_at": null,
        "head": { "ref": "fix-it", "sha": SHA, "repo": { "id": 1 } },
        "base": { "ref": "main", "sha": SHA, "repo": { "id": 1 } },
    });
    payload
}

pub fn review(action: &str, body: &str) -> Value {
    let mut payload = pull(action, "Closes #7");
    payload["review"] = json!({ "id": 300, "body": body, "user": user("mona", 7), "state": "commented" });
    payload
}

pub fn review_comment(action: &str, body: &str) -> Value {
    let mut payload = pull(action, "Closes #7");
    let text =
        json!({ "id": 400, "body": body, "user": user("mona", 7), "path": "src/login.rs", "diff_hunk": "@@ -1 +1 @@" });
    payload["comment"] = text;
    payload
}

/// The same payload, changed from this text.
pub fn from(mut payload: Value, before: &str) -> Value {
    payload["changes"] = json!({ "body": { "from": before } });
    payload
}
