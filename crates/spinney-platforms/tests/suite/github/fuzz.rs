//! Anything at all, at the adapter's door.

use http::{HeaderMap, HeaderValue};
use proptest::prelude::*;
use serde_json::Value;
use spinney_core::Timestamp;
use spinney_platforms::{Adapter, Refusal};

use crate::github::story::{adapter, comment, issue, pull, review_comment, signed};

const EVENTS: [&str; 5] =
    ["issues", "issue_comment", "pull_request", "pull_request_review", "pull_request_review_comment"];

/// The places in a value, each by the keys that lead there.
fn places(value: &Value, here: &[String], all: &mut Vec<Vec<String>>) {
    for (key, inner) in value.as_object().into_iter().flatten() {
        let place = [here, std::slice::from_ref(key)].concat();
        places(inner, &place, all);
        all.push(place);
    }
}

fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "(?s).{0,20}".prop_map(Value::from),
        Just(serde_json::json!([{}])),
        Just(serde_json::json!({ "id": -1 })),
    ]
}

proptest! {
    #[test]
    fn nothing_unsigned_is_taken(
        signature in "(sha256=)?([0-9a-f]{64}|.{0,70})",
        body in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        let mut headers = signed("issues", b"");
        match HeaderValue::from_str(&signature) {
            Ok(value) => headers.insert("x-hub-signature-256", value),
            Err(_) => headers.remove("x-hub-signature-256"),
        };
        let received = adapter().receive(&headers, &body, Timestamp::now());
        prop_assert_eq!(received, Err(Refusal::Unsigned));
        prop_assert_eq!(adapter().receive(&HeaderMap::new(), &body, Timestamp::now()), Err(Refusal::Unsigned));
    }

    #[test]
    fn one_bit_makes_it_anothers(at in 0usize..1000, bit in 0u8..8) {
        let mut body = comment("created", "@spinney a").to_string().into_bytes();
        let headers = signed("issue_comment", &body);
        let at = at % body.len();
        body[at] ^= 1 << bit;
        prop_assert_eq!(adapter().receive(&headers, &body, Timestamp::now()), Err(Refusal::Unsigned));
    }

    #[test]
    fn any_signed_body_is_taken_or_refused(event in proptest::sample::select(&EVENTS[..]), body in "(?s).{0,200}") {
        let received = adapter().receive(&signed(event, body.as_bytes()), body.as_bytes(), Timestamp::now());
        prop_assert!(matches!(received, Ok(_) | Err(Refusal::Malformed)));
    }

    #[test]
    fn any_change_of_a_payload_is_taken_or_refused(
        event in proptest::sample::select(&EVENTS[..]),
        action in "(opened|created|edited|deleted|closed|submitted|synchronize|x)",
        kind in 0usize..4,
        at in any::<proptest::sample::Index>(),
        value in any_value(),
    ) {
        let mut payload = match kind {
            0 => issue(&action, "@spinney a"),
            1 => comment(&action, "@spinney a"),
            2 => pull(&action, "@spinney a. Fixes #1"),
            _ => review_comment(&action, "@spinney a"),
        };
        let mut all = Vec::new();
        places(&payload, &[], &mut all);
        let place = at.get(&all);
        let target = place.iter().fold(&mut payload, |value, key| &mut value[key.as_str()]);
        *target = value;
        let body = payload.to_string().into_bytes();
        let received = adapter().receive(&signed(event, &body), &body, Timestamp::now());
        prop_assert!(matches!(received, Ok(_) | Err(Refusal::Malformed)));
        for inbound in received.into_iter().flat_map(|received| received.inbound) {
            prop_assert!(!inbound.author.name.contains(char::is_control) && inbound.conversation.len() < 300);
        }
    }
}
