//! Every webhook that GitHub's own people recorded, signed by GitHub's own library.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use spinney_core::Timestamp;
use spinney_platforms::{Adapter, Event, Received};
use spinney_testkit::{github_recordings, github_signatures};

use crate::github::story::{SECRET, adapter, headers};

/// Sends them all, as JSON or as forms.
fn send(recordings: &[(String, Value)], as_form: bool) -> Vec<Received> {
    let text = |payload: &Value| {
        let json = payload.to_string();
        let encode =
            |byte: u8| if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") };
        if as_form { format!("payload={}", json.bytes().map(encode).collect::<String>()) } else { json }
    };
    let texts: Vec<String> = recordings.iter().map(|(_, payload)| text(payload)).collect();
    let signatures = github_signatures(SECRET, &texts);
    let content_type = if as_form { "application/x-www-form-urlencoded" } else { "application/json" };
    let adapter = adapter();
    let sent = recordings.iter().zip(&texts).zip(&signatures).enumerate();
    let received = sent.map(|(index, (((event, payload), text), signature))| {
        let headers = headers(&[
            ("content-type", content_type),
            ("x-github-event", event),
            ("x-github-delivery", &format!("delivery-{index}")),
            ("x-hub-signature-256", signature),
        ]);
        let received = adapter.receive(&headers, text.as_bytes(), Timestamp::now());
        received.unwrap_or_else(|refusal| panic!("{event} {}: {refusal}", payload["action"]))
    });
    received.collect()
}

#[test]
fn each_is_handled_or_knowingly_ignored() {
    let recordings = github_recordings();
    assert_eq!(recordings.len(), 329);
    for as_form in [false, true] {
        let received = send(&recordings, as_form);
        let (mut handled, mut ignored) = (BTreeMap::new(), 0);
        for ((event, payload), received) in recordings.iter().zip(&received) {
            match received.ignored {
                Some(_) => ignored += 1,
                None => *handled.entry(format!("{event} {}", payload["action"].as_str().unwrap())).or_insert(0) += 1,
            }
            assert_eq!(received.ignored.is_some(), received.inbound.is_empty());
        }
        let expected = [
            ("issues deleted", 1),
            ("issues transferred", 1),
            ("pull_request closed", 2),
            ("pull_request opened", 4),
            ("pull_request ready_for_review", 3),
            ("pull_request reopened", 2),
            ("pull_request synchronize", 1),
        ];
        let handled: Vec<_> = handled.iter().map(|(name, count)| (name.as_str(), *count)).collect();
        assert_eq!(handled, expected);
        assert_eq!(handled.iter().map(|(_, count)| count).sum::<usize>() + ignored, 329);
    }
}

#[test]
fn each_text_asks_once_it_mentions_us() {
    let texts = ["issues", "issue_comment", "pull_request", "pull_request_review", "pull_request_review_comment"];
    let mut recordings = github_recordings();
    recordings.retain(|(event, _)| texts.contains(&&**event));
    for (event, payload) in &mut recordings {
        let part = match &**event {
            "issues" => "issue",
            "pull_request_review" => "review",
            "pull_request" => "pull_request",
            _ => "comment",
        };
        payload[part]["body"] = json!("@spinney fix it");
        payload["sender"] = payload[part]["user"].clone();
        if payload["action"] == "edited" {
            payload["changes"] = json!({ "body": { "from": "fix it" } });
        }
    }
    let mut asked = BTreeMap::new();
    for ((event, payload), received) in recordings.iter().zip(send(&recordings, false)) {
        for inbound in received.inbound {
            let kind = match inbound.event {
                Event::Asked(request) => {
                    assert_eq!(request.text, "fix it");
                    "asked"
                }
                Event::Edited { request: Some(_) } => "edited",
                Event::Deleted => "deleted",
                _ => continue,
            };
            *asked.entry(format!("{event} {} {kind}", payload["action"].as_str().unwrap())).or_insert(0) += 1;
        }
    }
    let asked: Vec<_> = asked.iter().map(|(name, count)| (name.as_str(), *count)).collect();
    assert_eq!(
        asked,
        [
            ("issue_comment created asked", 5),
            ("issue_comment deleted deleted", 2),
            ("issue_comment edited edited", 2),
            ("issues deleted deleted", 1),
            ("issues edited edited", 3),
            ("issues opened asked", 4),
            ("issues transferred deleted", 1),
            ("pull_request opened asked", 4),
            ("pull_request_review dismissed deleted", 1),
            ("pull_request_review submitted asked", 3),
            ("pull_request_review_comment created asked", 3),
            ("pull_request_review_comment deleted deleted", 1),
            ("pull_request_review_comment edited edited", 1),
        ]
    );
}
