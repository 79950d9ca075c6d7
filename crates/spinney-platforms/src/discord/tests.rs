//! Discord's webhook, gateway and REST API, against a Discord on loopback.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use proptest::prelude::*;
use serde_json::{Value, json};
use spinney_core::{Secret, Timestamp};
use spinney_testkit::{TestDiscord, Trouble};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::dispatch;
use super::{Discord, DiscordOptions, PLATFORM};
use crate::{Adapter, Answer, Event, Inbound, Message, OpenError, Place, Received, Refusal, SendError, Sent};

const LONGEST_WAIT: Duration = Duration::from_secs(30);

fn options(discord: &TestDiscord) -> DiscordOptions {
    DiscordOptions {
        api_url: discord.api_url().parse().unwrap(),
        gateway_url: discord.gateway_url(),
        token: Secret::new(discord.token()),
        public_key: discord.public_key(),
        proxy: None,
    }
}

fn open(discord: &TestDiscord) -> Discord {
    Discord::new(options(discord)).unwrap()
}

fn headers(kind: &str, signed: &[(&'static str, String)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert("content-type", HeaderValue::from_str(kind).unwrap());
    for (name, value) in signed {
        headers.append(HeaderName::from_static(name), HeaderValue::from_str(value).unwrap());
    }
    headers
}

fn sent(discord: &TestDiscord, body: &str) -> Result<Received, Refusal> {
    let signed = headers("application/json", &discord.sign(body.as_bytes()));
    open(discord).receive(&signed, body.as_bytes(), Timestamp::now())
}

fn command(discord: &TestDiscord, name: &str, options: &Value) -> Inbound {
    let received = sent(discord, &discord.command("1200", "42", name, options).to_string()).unwrap();
    assert_eq!(received.answer, Answer::Json(json!({ "type": 5 })));
    received.inbound.into_iter().next().unwrap()
}

fn asked(inbound: &Inbound) -> &str {
    match &inbound.event {
        Event::Asked(request) => &request.text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_ping_is_answered() {
    let received = sent(&TestDiscord::start(), r#"{"type":1,"id":"1","application_id":"2","token":"x","version":1}"#);
    assert_eq!(received.unwrap().answer, Answer::Json(json!({ "type": 1 })));
}

#[test]
fn commands_are_read_as_they_would_be_typed() {
    let discord = TestDiscord::start();
    for (name, options, text) in [
        ("help", json!([]), "/help"),
        ("run", json!([{ "name": "prompt", "type": 3, "value": "fix it" }]), "/run fix it"),
        (
            "worktree",
            json!([{ "name": "remove", "type": 1, "options": [
                { "name": "name", "type": 3, "value": "issue-42" }, { "name": "force", "type": 5, "value": true },
            ] }]),
            "/worktree remove issue-42 --force",
        ),
        (
            "worktree",
            json!([{ "name": "cleanup", "type": 2, "options": [{ "name": "merged", "type": 1 }] }]),
            "/worktree cleanup merged",
        ),
        (
            "repo",
            json!([{ "name": "x", "type": 5, "value": false }, { "name": "n", "type": 4, "value": 7 }]),
            "/repo 7",
        ),
    ] {
        let inbound = command(&discord, name, &options);
        assert_eq!((asked(&inbound), inbound.conversation.as_str()), (text, "1200"));
        assert_eq!((inbound.author.id.as_str(), inbound.author.name.as_str()), ("42", "ann"));
        assert!(inbound.delivery.starts_with("interaction:"));
        assert!(!format!("{:?}", super::Address::of(&inbound.place)).contains("interaction-token"));
    }
}

/// Signed by PyNaCl with the seed `00…1f`.
#[test]
fn signatures_of_others_are_taken() {
    let discord = TestDiscord::start();
    let public_key = "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8".to_owned();
    let adapter = Discord::new(DiscordOptions { public_key, ..options(&discord) }).unwrap();
    let signature = "b565bb1d4fad7e15b04c0d4d2a1c4edb7d47bc58c03e6b89ff52a6a3ce383f1c\
                     d80cddcfcd7c9d81c82de07e34bfa62850fcd8b41497f3f9eb28d1a9cf43ce0a";
    let signed = [("x-signature-timestamp", "1700000000".to_owned()), ("x-signature-ed25519", signature.to_owned())];
    let body = br#"{"type":1,"id":"1","application_id":"2","token":"x","version":1}"#;
    for (seconds, expected) in [
        (1_700_000_000, Ok(())),
        (1_700_000_300, Ok(())),
        (1_699_999_700, Ok(())),
        (1_700_000_301, Err(Refusal::Stale)),
        (1_699_999_699, Err(Refusal::Stale)),
    ] {
        let now = Timestamp::from_millisecond(seconds * 1000);
        assert_eq!(
            adapter.receive(&headers("application/json", &signed), body, now).map(|_| ()),
            expected,
            "{seconds}"
        );
    }
}

#[test]
fn what_is_not_signed_right_is_refused() {
    let discord = TestDiscord::start();
    let adapter = open(&discord);
    let body = discord.command("1200", "42", "help", &json!([])).to_string();
    let right = discord.sign(body.as_bytes());
    let (time, digits) = (right[0].1.clone(), right[1].1.clone());
    let (time_name, name) = ("x-signature-timestamp", "x-signature-ed25519");
    let with = |time: &str, signature: &str| vec![(time_name, time.to_owned()), (name, signature.to_owned())];
    let changed = |at: usize| {
        let mut changed = digits.clone().into_bytes();
        changed[at] = if changed[at] == b'0' { b'1' } else { b'0' };
        String::from_utf8(changed).unwrap()
    };
    let cases = vec![
        vec![],
        vec![(time_name, time.clone())],
        vec![(name, digits.clone())],
        with(&time, ""),
        with(&time, &digits[..126]),
        with(&time, &digits[..127]),
        with(&time, &format!("{digits}00")),
        with(&time, &format!("0x{}", &digits[2..])),
        with(&time, &format!(" {}", &digits[1..])),
        with(&time, &format!("{digits},{digits}")),
        with(&time, &"0".repeat(128)),
        with(&time, &"f".repeat(128)),
        with(&time, &"g".repeat(128)),
        with(&time, &changed(0)),
        with(&time, &changed(63)),
        with(&time, &changed(64)),
        with(&time, &changed(127)),
        with(&time, &[&digits[64..], &digits[..64]].concat()),
        with("", &digits),
        with("0", &digits),
        with(&format!("{time}0"), &digits),
        with(&format!("0{time}"), &digits),
        with(&format!("{time} "), &digits),
        with(&(time.parse::<u64>().unwrap() + 1).to_string(), &digits),
        discord.sign(b""),
        discord.sign(&body.as_bytes()[1..]),
        discord.sign(format!("{body} ").as_bytes()),
        [right.clone(), vec![(name, digits.clone())]].concat(),
        [right.clone(), vec![(time_name, time.clone())]].concat(),
        [vec![(name, changed(5))], right.clone()].concat(),
    ];
    assert!(cases.len() >= 30);
    for case in cases {
        let refused = adapter.receive(&headers("application/json", &case), body.as_bytes(), Timestamp::now());
        assert_eq!(refused, Err(Refusal::Unsigned), "{case:?}");
    }
    // What stands before the body in what is signed can't be moved into it.
    let (first, rest) = body.split_at(1);
    let moved = headers("application/json", &with(&format!("{time}{first}"), &digits));
    assert!(adapter.receive(&moved, rest.as_bytes(), Timestamp::now()).is_err());
    let now: u64 = time.parse().unwrap();
    for old in [0, now - 600, now - 302, now + 400, now + 86_400] {
        let signed = headers("application/json", &discord.sign_at(body.as_bytes(), old));
        assert_eq!(adapter.receive(&signed, body.as_bytes(), Timestamp::now()), Err(Refusal::Stale), "{old}");
    }
    let signed = headers("application/json", &right);
    assert!(adapter.receive(&signed, body.as_bytes(), Timestamp::now()).is_ok());
    let keyless = Discord::new(DiscordOptions { public_key: String::new(), ..options(&discord) }).unwrap();
    assert_eq!(keyless.receive(&signed, body.as_bytes(), Timestamp::now()), Err(Refusal::Unsigned));
}

#[test]
fn what_is_signed_and_wrong_starts_nothing() {
    let discord = TestDiscord::start();
    let with = |field: &str, value: Value| {
        let mut told = discord.command("1200", "42", "help", &json!([]));
        told[field] = value;
        told.to_string()
    };
    let options = |options: Value| with("data", json!({ "name": "x", "type": 1, "options": options }));
    let deep = format!("{}{}", "[".repeat(500_000), "]".repeat(500_000));
    let deep_options = (0..100).fold(json!([]), |inner, _| json!([{ "name": "a", "type": 1, "options": inner }]));
    let refused = vec![
        String::new(),
        "{".to_owned(),
        "null".to_owned(),
        "[]".to_owned(),
        "{}".to_owned(),
        "\"type\"".to_owned(),
        r#"{"type":"1"}"#.to_owned(),
        r#"{"type":-1}"#.to_owned(),
        r#"{"type":1.5}"#.to_owned(),
        r#"{"type":2}"#.to_owned(),
        deep,
        options(deep_options),
        with("id", json!("")),
        with("id", json!(7)),
        with("id", json!("1:2")),
        with("id", json!("1".repeat(30))),
        with("application_id", json!("../x")),
        with("application_id", Value::Null),
        with("token", json!("")),
        with("token", json!("a/../../b")),
        with("token", json!("a b")),
        with("token", json!("ü")),
        with("token", json!("x".repeat(1000))),
        with("channel_id", Value::Null),
        with("channel_id", json!("general")),
        with("channel_id", json!("-1")),
        with("member", json!({ "user": { "id": "ann" } })),
        with("member", json!({ "user": {} })),
        with("member", Value::Null),
        with("data", Value::Null),
        with("data", json!("help")),
        with("data", json!({ "type": 1 })),
        with("data", json!({ "name": "", "type": 1 })),
        with("data", json!({ "name": "a b", "type": 1 })),
        with("data", json!({ "name": "a\n/run", "type": 1 })),
        with("data", json!({ "name": "x".repeat(33), "type": 1 })),
        options(json!("x")),
        options(json!([{ "name": "n", "value": { "a": 1 } }])),
        options(json!([{ "name": "n", "value": ["a"] }])),
        options(json!([{ "name": "a b", "type": 1 }])),
        options(json!([{ "name": "a b", "value": true }])),
        options(json!([{ "value": "x" }])),
    ];
    for body in &refused {
        let shown: String = body.chars().take(200).collect();
        assert_eq!(sent(&discord, body), Err(Refusal::Malformed), "{shown}");
    }
    let ignored = vec![
        with("type", json!(3)),
        with("type", json!(4)),
        with("type", json!(5)),
        with("type", json!(99)),
        with("data", json!({ "name": "Fix this", "type": 2 })),
        with("data", json!({ "name": "Fix this", "type": 3 })),
    ];
    for body in &ignored {
        assert!(sent(&discord, body).unwrap().inbound.is_empty(), "{body}");
    }
    let kinds = ["text/plain", "application/xml", "application/x-www-form-urlencoded", "multipart/form-data", ""];
    for kind in kinds {
        let body = with("x", json!(1));
        let signed = headers(kind, &discord.sign(body.as_bytes()));
        let refused = open(&discord).receive(&signed, body.as_bytes(), Timestamp::now());
        assert_eq!(refused, Err(Refusal::ContentType), "{kind}");
    }
    assert!(refused.len() + ignored.len() + kinds.len() >= 50);
}

#[test]
fn a_secret_or_address_that_is_none_is_refused() {
    let discord = TestDiscord::start();
    let fault = |change: fn(&mut DiscordOptions)| {
        let mut options = options(&discord);
        change(&mut options);
        Discord::new(options).unwrap_err()
    };
    let (bad_secret, bad_url) = (OpenError::BadSecret(PLATFORM), OpenError::BadUrl(PLATFORM));
    assert_eq!(fault(|options| options.public_key = "abc".to_owned()), bad_secret);
    assert_eq!(fault(|options| options.token = Secret::new("a b")), bad_secret);
    assert_eq!(fault(|options| options.gateway_url = "ws://gateway.example".to_owned()), bad_url);
    assert_eq!(fault(|options| options.gateway_url = "ws://127.0.0.1.evil.example".to_owned()), bad_url);
    assert_eq!(fault(|options| options.gateway_url = "https://gateway.example".to_owned()), bad_url);
    assert_eq!(fault(|options| options.gateway_url = "wss://a b".to_owned()), bad_url);
}

/// Somebody who listens.
struct Listener {
    heard: mpsc::Receiver<crate::Heard>,
    task: JoinHandle<()>,
}

impl Listener {
    async fn start(discord: &TestDiscord) -> Self {
        let (sender, heard) = mpsc::channel(10);
        let task = tokio::spawn(open(discord).listen(sender).unwrap());
        let listener = Self { heard, task };
        listener.wait(|| discord.gateway().identified().len() == 1).await;
        listener
    }

    async fn wait(&self, holds: impl Fn() -> bool) {
        tokio::time::timeout(LONGEST_WAIT, async {
            while !holds() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        })
        .await
        .expect("it comes to hold");
    }

    /// What is heard next that asks for something.
    async fn next(&mut self) -> Inbound {
        loop {
            let heard = tokio::time::timeout(LONGEST_WAIT, self.heard.recv()).await.expect("something is heard");
            if let Ok(inbound) = heard.unwrap() {
                return inbound;
            }
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn call(discord: &TestDiscord, text: &str) -> String {
    format!("<@{}> {text}", discord.bot())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mention_opens_a_thread_and_goes_on_there() {
    let discord = TestDiscord::start();
    let adapter = open(&discord);
    let mut listener = Listener::start(&discord).await;
    let channel = discord.add_channel();
    discord.write(&channel, "42", "nobody is meant");
    discord.write(&channel, discord.bot(), &call(&discord, "by a bot"));
    let id = discord.write(&channel, "42", &call(&discord, "fix it"));
    let first = listener.next().await;
    assert_eq!((asked(&first), &first.conversation, &first.author.id), ("fix it", &id, &"42".to_owned()));
    let hello = Message::new().plain("Working on it… @everyone");
    let sent = adapter.post(&first.place, "d1", &hello).await.unwrap();
    assert!(discord.has_thread(&id));
    assert_eq!(adapter.post(&first.place, "d1", &hello).await.unwrap(), sent, "found again by its nonce");
    let said = discord.said();
    let said = said.iter().find(|message| message.channel == id).unwrap();
    assert_eq!(said.body["allowed_mentions"], json!({ "parse": [] }));
    assert_eq!(discord.said().len(), 2, "the bot's own and this one");
    let reply = discord.write(&id, "43", &call(&discord, "and that"));
    let second = listener.next().await;
    assert_eq!((asked(&second), &second.conversation, second.subject.as_ref()), ("and that", &id, Some(&reply)));
    adapter.post(&second.place, "d2", &hello).await.unwrap();
    assert_eq!(discord.said().iter().filter(|message| message.channel == id).count(), 2);
    discord.change(&reply, &call(&discord, "and this"));
    let edit = listener.next().await;
    assert!(matches!(&edit.event, Event::Edited { request: Some(request) } if request.text == "and this"));
    discord.change(&reply, "never mind");
    assert!(matches!(listener.next().await.event, Event::Edited { request: None }));
    discord.delete(&reply);
    let gone = listener.next().await;
    assert_eq!((gone.event, gone.conversation, gone.subject), (Event::Deleted, id, Some(reply)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_breaks_is_taken_up_again_and_nothing_is_lost() {
    let discord = TestDiscord::start();
    let mut listener = Listener::start(&discord).await;
    let channel = discord.add_channel();
    discord.write(&channel, "42", &call(&discord, "one"));
    assert_eq!(asked(&listener.next().await), "one");
    listener.wait(|| discord.gateway().heartbeats() > 1).await;
    discord.gateway().break_off();
    discord.write(&channel, "42", &call(&discord, "two"));
    assert_eq!(asked(&listener.next().await), "two");
    discord.gateway().ask_to_reconnect();
    listener.wait(|| discord.gateway().resumed().len() == 2).await;
    discord.write(&channel, "42", &call(&discord, "three"));
    assert_eq!(asked(&listener.next().await), "three");
    assert_eq!(discord.gateway().identified().len(), 1, "its session goes on");
    assert_eq!(discord.gateway().identified()[0]["intents"], (1 << 9) | (1 << 12), "none that is privileged");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_is_refused_ends_the_listening() {
    let discord = TestDiscord::start();
    let adapter = Discord::new(DiscordOptions { token: Secret::new("wrong"), ..options(&discord) }).unwrap();
    let (sender, _heard) = mpsc::channel(1);
    tokio::time::timeout(LONGEST_WAIT, adapter.listen(sender).unwrap()).await.expect("it ends");
    assert!(discord.gateway().identified().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn where_no_thread_can_be_opened_the_message_is_answered() {
    let discord = TestDiscord::start();
    discord.forbid_threads();
    let mut listener = Listener::start(&discord).await;
    let channel = discord.add_channel();
    discord.write(&channel, "42", &call(&discord, "fix it"));
    let inbound = listener.next().await;
    open(&discord).post(&inbound.place, "d1", &Message::new().plain("hello")).await.unwrap();
    let said = &discord.said()[0];
    assert_eq!(
        (said.channel.as_str(), said.body["message_reference"]["message_id"].as_str()),
        (channel.as_str(), inbound.subject.as_deref())
    );
}

#[tokio::test]
async fn a_command_is_answered_where_it_is_owed_and_in_the_channel_later() {
    let discord = TestDiscord::start();
    let adapter = open(&discord);
    let channel = discord.add_channel();
    let ask = || {
        let received = sent(&discord, &discord.command(&channel, "42", "help", &json!([])).to_string()).unwrap();
        received.inbound.into_iter().next().unwrap().place
    };
    let said = |text: &str| Message::new().plain(text);
    let place = ask();
    let answer = adapter.post(&place, "k", &said("one")).await.unwrap();
    assert_eq!(adapter.post(&place, "k", &said("one")).await.unwrap(), answer, "it is said already");
    let contents = || discord.said().into_iter().map(|message| message.content).collect::<Vec<_>>();
    assert_eq!(contents(), ["one"]);
    let answer = adapter.edit(&place, &answer, &said("two")).await.unwrap();
    adapter.post(&place, "k2", &said("three")).await.unwrap();
    assert_eq!(contents(), ["two", "three"], "another saying is another message");
    discord.expire_commands();
    adapter.edit(&place, &answer, &said("four")).await.unwrap();
    assert_eq!(contents(), ["four", "three"]);
    let late = ask();
    discord.expire_commands();
    adapter.post(&late, "k3", &said("five")).await.unwrap();
    assert_eq!(contents().last().unwrap(), "five");
}

#[tokio::test]
async fn edits_change_grow_and_shrink_what_was_said() {
    let discord = TestDiscord::start();
    let adapter = open(&discord);
    let place = super::Address::channel(&discord.add_channel()).place();
    let said = |text: &str| Message::new().plain(text);
    let sent = adapter.post(&place, "k", &said("one")).await.unwrap();
    let sent = adapter.edit(&place, &sent, &said("two")).await.unwrap();
    assert_eq!((discord.said().len(), discord.said()[0].content.as_str()), (1, "two"));
    let sent = adapter.edit(&place, &sent, &said(&"word ".repeat(700))).await.unwrap();
    assert_eq!(discord.said().len(), 2);
    let sent = adapter.edit(&place, &sent, &said("three")).await.unwrap();
    assert_eq!((discord.said().len(), discord.said()[0].content.as_str()), (1, "three"));
    discord.delete(&discord.said()[0].id.clone());
    adapter.edit(&place, &sent, &said("four")).await.unwrap();
    assert_eq!((discord.said().len(), discord.said()[0].content.as_str()), (1, "four"), "what is gone is said anew");
    let unknown = adapter.edit(&place, &Sent(json!("?")), &said("five")).await;
    assert!(matches!(unknown, Err(SendError::Refused { .. })));
}

#[tokio::test]
async fn refusals_are_told_from_what_passes() {
    let discord = TestDiscord::start();
    let adapter = open(&discord);
    assert_eq!(adapter.test().await.unwrap(), (discord.bot().to_owned(), "spinney".to_owned()));
    let wrong = Discord::new(DiscordOptions { token: Secret::new("wrong"), ..options(&discord) }).unwrap();
    assert!(!wrong.test().await.unwrap_err().is_temporary());
    discord.trouble(Trouble::RetryAfter(429, 3));
    let limited = adapter.test().await.unwrap_err();
    assert!(matches!(limited, SendError::RateLimited { after, .. } if after.as_secs() == 3));
    discord.trouble(Trouble::Status(502));
    assert!(adapter.test().await.unwrap_err().is_temporary());
    let hello = Message::new().plain("x");
    for place in [json!({ "channel": "../users" }), json!({ "channel": "999" }), json!(7)] {
        assert!(!adapter.post(&Place(place), "k", &hello).await.unwrap_err().is_temporary());
    }
    // Its answer is lost; the next try is the same message.
    let place = super::Address::channel(&discord.add_channel()).place();
    discord.trouble(Trouble::AnswerLost);
    assert!(adapter.post(&place, "k", &hello).await.unwrap_err().is_temporary());
    adapter.post(&place, "k", &hello).await.unwrap();
    assert_eq!(discord.said().len(), 1);
}

#[test]
fn what_the_gateway_tells_is_read_or_passed_over() {
    let message = |change: &dyn Fn(&mut Value)| {
        let mut told = json!({
            "id": "7", "channel_id": "8", "guild_id": "9", "content": "<@!1> ask <@2> and <@3>", "type": 0,
            "author": { "id": "42", "username": "an\nn" }, "mentions": [{ "id": "1" }, { "id": "2", "username": "bob" }],
        });
        change(&mut told);
        let payload = json!({ "op": 0, "s": 1, "t": "MESSAGE_CREATE", "d": told });
        match dispatch::read(&payload.to_string(), Some("1")) {
            Some(dispatch::Sent::Message(message)) => message.inbound(true),
            other => {
                assert!(matches!(other, None | Some(dispatch::Sent::Ignored(_))), "{other:?}");
                None
            }
        }
    };
    let plain = message(&|_| {}).unwrap();
    assert_eq!((asked(&plain), plain.author.name.as_str()), ("ask @bob and <@3>", "an n"));
    let direct = message(&|told| (told["guild_id"], told["mentions"]) = (Value::Null, json!([])));
    assert!(direct.is_some());
    let answer = |told: &mut Value| {
        (told["type"], told["mentions"]) = (json!(19), json!([]));
        told["referenced_message"] = json!({ "id": "6", "author": { "id": "1" } });
    };
    assert!(message(&answer).is_some());
    let passed_over: [&dyn Fn(&mut Value); 14] = [
        &|told| told["mentions"] = json!([]),
        &|told| told["mentions"] = json!([{ "id": "2" }]),
        &|told| told["author"]["bot"] = json!(true),
        &|told| told["author"]["id"] = json!("1"),
        &|told| told["author"] = Value::Null,
        &|told| told["webhook_id"] = json!("5"),
        &|told| told["type"] = json!(7),
        &|told| told["content"] = json!("  "),
        &|told| told["content"] = json!(7),
        &|told| told["id"] = json!("../7"),
        &|told| told["channel_id"] = json!("a"),
        &|told| told["author"]["id"] = json!("42; drop"),
        &|told| told["mentions"] = json!("1"),
        &|told| told["id"] = Value::Null,
    ];
    let stranger = json!({ "id": "7", "channel_id": "8", "guild_id": "9", "author": { "id": "42" }, "content": "x" });
    let stranger = json!({ "op": 0, "s": 1, "t": "MESSAGE_CREATE", "d": stranger }).to_string();
    let Some(dispatch::Sent::Ignored(ignored)) = dispatch::read(&stranger, Some("1")) else { panic!("it says why") };
    assert_eq!(ignored.reason, spinney_core::IgnoreReason::NoMention { mention: None });
    for (index, change) in passed_over.into_iter().enumerate() {
        assert_eq!(message(change), None, "{index}");
    }
    for text in ["", "{}", "[]", r#"{"op":0,"t":"MESSAGE_CREATE"}"#, r#"{"op":11}"#, r#"{"op":0,"t":"READY","d":{}}"#] {
        assert_eq!(dispatch::read(text, Some("1")), None, "{text}");
    }
}

proptest! {
    #[test]
    fn no_signature_is_guessed(signature in "[0-9a-f]{126,130}", time in "[0-9]{0,12}", body in ".{0,50}") {
        let verifier = super::verify::Verifier::new(&"5a".repeat(32)).unwrap();
        let signed = headers("application/json", &[("x-signature-timestamp", time), ("x-signature-ed25519", signature)]);
        prop_assert_eq!(verifier.verify(&signed, body.as_bytes(), Timestamp::now()), Err(Refusal::Unsigned));
    }

    #[test]
    fn any_body_is_handled(body in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = super::interaction::read(&body);
        let _ = dispatch::read(&String::from_utf8_lossy(&body), Some("1"));
    }

    #[test]
    fn any_message_is_handled(
        kind in "MESSAGE_(CREATE|UPDATE|DELETE)|READY", content in "(?s)(<@!?1>|<@|>|.){0,30}",
        field in "id|channel_id|guild_id|author|mentions|type|edited_timestamp|referenced_message|user", value in ".{0,20}",
    ) {
        let mut told = json!({
            "id": "7", "channel_id": "8", "content": content, "author": { "id": "42" }, "mentions": [{ "id": "1" }],
        });
        told[field] = json!(value);
        let payload = json!({ "op": 0, "t": kind, "d": told });
        if let Some(dispatch::Sent::Message(message)) = dispatch::read(&payload.to_string(), Some("1"))
            && let Some(inbound) = message.inbound(false)
        {
            prop_assert!(inbound.conversation.bytes().all(|byte| byte.is_ascii_digit()));
        }
    }
}
