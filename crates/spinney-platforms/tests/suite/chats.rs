//! Slack and Discord as others speak them: `slack-sdk` and `PyNaCl`, from PyPI.

use std::env;
use std::process::{Command, Stdio};

use http::{HeaderMap, HeaderName, HeaderValue};
use spinney_core::{Secret, Timestamp};
use spinney_platforms::{Adapter, Discord, DiscordOptions, Refusal, Slack};
use spinney_testkit::TestSlack;

/// Names a Python that has both.
const PYTHON: &str = "SPINNEY_TEST_CHATS";

/// Signs each body for both, and prints the lines: key, then time, Slack's signature and Discord's.
const SIGNER: &str = r#"
import sys, time
from slack_sdk.signature import SignatureVerifier
from nacl.signing import SigningKey
secret, *bodies = sys.argv[1:]
key = SigningKey(bytes(range(32)))
print(key.verify_key.encode().hex())
for body in bodies:
    now = str(int(time.time()))
    slack = SignatureVerifier(secret).generate_signature(timestamp=now, body=body)
    print(now, slack, key.sign((now + body).encode()).signature.hex())
"#;

/// Talks to a Slack as its own client does.
const CLIENT: &str = r#"
import sys
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
url, token = sys.argv[1:]
client = WebClient(token=token, base_url=url + "/")
assert client.auth_test()["user_id"] == "U0BOT"
first = client.chat_postMessage(channel="C1", text="one")["ts"]
metadata = {"event_type": "spinney_message", "event_payload": {"key": "k", "part": 0}}
reply = client.chat_postMessage(channel="C1", thread_ts=first, text="two & three", metadata=metadata)
assert reply["message"]["thread_ts"] == first
assert client.chat_update(channel="C1", ts=reply["ts"], text="four")["text"] == "four"
found = client.conversations_replies(channel="C1", ts=first, include_all_metadata=True, limit=1)
assert [message["text"] for message in found["messages"]] == ["one"]
texts = [message for page in found for message in page["messages"]]
assert [message["text"] for message in texts] == ["one", "four"], texts
assert texts[1]["metadata"] == metadata
assert [message["text"] for message in client.conversations_history(channel="C1")["messages"]] == ["one"]
client.chat_delete(channel="C1", ts=reply["ts"])
for call, error in [
    (lambda: client.chat_update(channel="C1", ts=reply["ts"], text="x"), "message_not_found"),
    (lambda: client.chat_postMessage(channel="nowhere", text="x"), "channel_not_found"),
    (lambda: WebClient(token="wrong", base_url=url + "/").auth_test(), "invalid_auth"),
]:
    try:
        call()
    except SlackApiError as refused:
        assert refused.response["error"] == error, refused
    else:
        assert False, error
print("ok")
"#;

/// What a script prints; none where there is no such Python.
#[expect(clippy::disallowed_methods, reason = "the variable is for tests, and the program is what others speak with")]
fn python(script: &str, arguments: &[&str]) -> Option<String> {
    let Some(python) = env::var_os(PYTHON) else {
        println!("left out: `{PYTHON}` names no Python; `cargo xtask test` installs it");
        return None;
    };
    let output = Command::new(python).arg("-c").arg(script).args(arguments).stdin(Stdio::null()).output();
    let output = output.expect("Python can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).expect("it prints text"))
}

fn headers(signed: [(&'static str, &str); 2]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert("content-type", HeaderValue::from_static("application/json"));
    for (name, value) in signed {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_str(value).unwrap());
    }
    headers
}

#[test]
fn signatures_of_others_are_taken() {
    let secret = "8f742231b10e8888abcd99yyyzzz85a5";
    let bodies = [r#"{"type":1,"challenge":"x"}"#, r#"{"type":1,"text":"ünï ✓ \u0000"}"#, r#"{ "type" : 1 }"#];
    let Some(printed) = python(SIGNER, &[&[secret], &bodies[..]].concat()) else { return };
    let mut lines = printed.lines();
    let api_url = "https://api.example".parse().unwrap();
    let slack = Slack::new(&api_url, Secret::new("t"), &Secret::new(secret), None).unwrap();
    let public_key = lines.next().expect("a key").to_owned();
    let options =
        DiscordOptions { api_url, gateway_url: String::new(), token: Secret::new("t"), public_key, proxy: None };
    let discord = Discord::new(options).unwrap();
    for body in bodies {
        let line: Vec<_> = lines.next().expect("a line for each body").split(' ').collect();
        let [time, by_slack, by_discord] = line[..] else { panic!("{line:?}") };
        let slacks = headers([("x-slack-request-timestamp", time), ("x-slack-signature", by_slack)]);
        // It is no event of Slack's, but it is signed.
        assert_eq!(slack.receive(&slacks, body.as_bytes(), Timestamp::now()), Err(Refusal::Malformed));
        let discords = headers([("x-signature-timestamp", time), ("x-signature-ed25519", by_discord)]);
        assert!(discord.receive(&discords, body.as_bytes(), Timestamp::now()).is_ok());
        for (adapter, headers) in [(&slack as &dyn Adapter, &slacks), (&discord as &dyn Adapter, &discords)] {
            let changed = format!("{body} ");
            let refused = adapter.receive(headers, changed.as_bytes(), Timestamp::now());
            assert_eq!(refused, Err(Refusal::Unsigned));
        }
    }
}

#[test]
fn slacks_own_client_takes_ours_for_slack() {
    let slack = TestSlack::start();
    if let Some(printed) = python(CLIENT, &[&slack.api_url(), slack.token()]) {
        assert_eq!(printed.trim(), "ok");
        assert_eq!(slack.said().len(), 1);
    }
}
