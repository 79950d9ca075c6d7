//! The adapter for Telegram, against a Bot API on loopback.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderValue};
use serde_json::{Value, json};
use spinney_core::{Secret, Timestamp};
use spinney_platforms::{
    Adapter, Event, Heard, Inbound, Message, Place, Refusal, SendError, Telegram, TelegramOptions,
};
use spinney_testkit::{TestTelegram, Trouble, WebhookCall, wait_until};
use tokio::sync::mpsc;

const SECRET: &str = "s3cret_that-nobody-knows";
const DEADLINE: Duration = Duration::from_secs(20);
const ANN: i64 = 7;

fn open(server: &TestTelegram, secret: Option<&str>) -> Telegram {
    open_with(server, server.token(), secret)
}

fn open_with(server: &TestTelegram, token: &str, secret: Option<&str>) -> Telegram {
    let api_url = server.api_url().parse().unwrap();
    let (token, webhook_secret) = (Secret::new(token), secret.map(Secret::new));
    Telegram::new(TelegramOptions { api_url, token, webhook_secret, proxy: None }).unwrap()
}

fn chat() -> Place {
    Place(json!({ "chat": ANN, "topic": null }))
}

fn texts(server: &TestTelegram) -> Vec<String> {
    server.said().into_iter().map(|message| message.text).collect()
}

/// How often a method was asked for.
fn asked(server: &TestTelegram, method: &str) -> Vec<Value> {
    let exchanges = server.exchanges().into_iter().filter(|exchange| exchange.path.ends_with(&format!("/{method}")));
    exchanges.map(|exchange| exchange.body).collect()
}

fn text(inbound: &Inbound) -> &str {
    match &inbound.event {
        Event::Asked(request) => &request.text,
        other => panic!("{other:?}"),
    }
}

/// What is heard next that asks for something.
async fn next(heard: &mut mpsc::Receiver<Heard>) -> Inbound {
    loop {
        let one = tokio::time::timeout(DEADLINE, heard.recv()).await.expect("it comes").expect("somebody listens");
        if let Ok(inbound) = one {
            return inbound;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_said_is_changed_in_its_place() {
    let server = TestTelegram::start();
    let telegram = open(&server, None);
    let first = Message::new().strong("thread-7").plain(" is ready: <b> & ").code("agent/coder/x");
    let sent = telegram.post(&chat(), "key", &first).await.unwrap();
    assert_eq!(texts(&server), ["<b>thread-7</b> is ready: &lt;b&gt; &amp; <code>agent/coder/x</code>"]);
    let body = &asked(&server, "sendMessage")[0];
    assert_eq!((&body["parse_mode"], &body["link_preview_options"]["is_disabled"]), (&json!("HTML"), &json!(true)));
    assert_eq!(telegram.edit(&chat(), &sent, &Message::new().plain("Done.")).await.unwrap(), sent);
    assert_eq!(texts(&server), ["Done."]);
    // The same once more is no mistake.
    assert_eq!(telegram.edit(&chat(), &sent, &Message::new().plain("Done.")).await.unwrap(), sent);
    let long = Message::new().block("line\n".repeat(2000));
    let longer = telegram.edit(&chat(), &sent, &long).await.unwrap();
    assert_eq!(server.said().len(), 3);
    let shorter = telegram.edit(&chat(), &longer, &Message::new().plain("Short.")).await.unwrap();
    assert_eq!(texts(&server), ["Short."]);
    assert_eq!(shorter, sent);
    let topic = Place(json!({ "chat": -100_123, "topic": 44 }));
    telegram.post(&topic, "topic", &Message::new().plain("x")).await.unwrap();
    assert_eq!(asked(&server, "sendMessage").last().unwrap()["message_thread_id"], 44);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_gone_is_said_anew() {
    let server = TestTelegram::start();
    let telegram = open(&server, None);
    let sent = telegram.post(&chat(), "key", &Message::new().plain("one")).await.unwrap();
    for why in ["Bad Request: message to edit not found", "Bad Request: message can't be edited"] {
        server.refuse("editMessageText", 400, why, &Value::Null);
        let anew = telegram.edit(&chat(), &sent, &Message::new().plain("two")).await.unwrap();
        assert_ne!(anew, sent, "{why}");
    }
    assert_eq!(texts(&server), ["one", "two", "two"]);
    server.refuse("editMessageText", 403, "Forbidden: bot was blocked by the user", &Value::Null);
    let refused = telegram.edit(&chat(), &sent, &Message::new().plain("three")).await.unwrap_err();
    assert!(refused.to_string().contains("bot was blocked by the user") && !refused.is_temporary(), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_that_grew_is_followed() {
    let server = TestTelegram::start();
    let telegram = open(&server, None);
    let group = Place(json!({ "chat": -5, "topic": null }));
    let sent = telegram.post(&group, "key", &Message::new().plain("one")).await.unwrap();
    let moved = || json!({ "migrate_to_chat_id": -1005 });
    let why = "Bad Request: group chat was upgraded to a supergroup chat";
    server.refuse("editMessageText", 400, why, &moved());
    server.refuse("sendMessage", 400, why, &moved());
    let anew = telegram.edit(&group, &sent, &Message::new().plain("two")).await.unwrap();
    let said = server.said();
    assert_eq!((said[1].chat, said[1].text.as_str()), (-1005, "two"));
    telegram.edit(&group, &anew, &Message::new().plain("three")).await.unwrap();
    assert_eq!(texts(&server), ["one", "three"], "where it is now");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_broke_off_goes_on() {
    let server = TestTelegram::start();
    let telegram = open(&server, None);
    let long = Message::new().block("line\n".repeat(2000));
    let sent = telegram.post(&chat(), "first", &Message::new().plain("x")).await.unwrap();
    let limit = || {
        server.allow("sendMessage");
        server.refuse("sendMessage", 429, "Too Many Requests: retry after 5", &json!({ "retry_after": 5 }));
    };
    limit();
    let limited = telegram.edit(&chat(), &sent, &long).await.unwrap_err();
    assert!(matches!(limited, SendError::RateLimited { after, .. } if after.as_secs() == 5), "{limited}");
    telegram.edit(&chat(), &sent, &long).await.unwrap();
    assert_eq!(server.said().len(), 3);
    limit();
    telegram.post(&chat(), "second", &long).await.unwrap_err();
    server.trouble(Trouble::Status(502));
    let down = telegram.post(&chat(), "second", &long).await.unwrap_err();
    assert!(matches!(down, SendError::Unreachable { .. }), "{down}");
    telegram.post(&chat(), "second", &long).await.unwrap();
    assert_eq!(server.said().len(), 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_tell_no_token() {
    let server = TestTelegram::start();
    assert_eq!(open(&server, None).test().await.unwrap(), (server.bot_id().to_string(), server.bot().to_owned()));
    let wrong = open_with(&server, "666:not-the-t0ken", None);
    let refused = wrong.test().await.unwrap_err();
    assert!(refused.to_string().contains("Unauthorized") && !refused.is_temporary(), "{refused}");
    server.refuse("getMe", 400, &format!("what is {}", server.token()), &Value::Null);
    let refused = open(&server, None).test().await.unwrap_err();
    assert!(!format!("{refused} {refused:?}").contains(server.token()), "{refused}");
    server.trouble(Trouble::Garbage);
    assert!(open(&server, None).test().await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn who_asks_hears_what_happened_once_it_is_written_down() {
    let server = TestTelegram::start();
    open(&server, Some(SECRET)).set_webhook("https://spinney.example/webhooks/telegram").unwrap().await.unwrap();
    let telegram = Arc::new(open(&server, None));
    let (sender, mut heard) = mpsc::channel(16);
    let listening = tokio::spawn(telegram.listen(sender).unwrap());
    wait_until(|| server.webhook().is_none(), DEADLINE);
    server.write(ANN, "fix it");
    let first = next(&mut heard).await;
    assert_eq!((text(&first), first.conversation.as_str()), ("fix it", "7"));
    let group = json!({ "id": -5, "type": "group" });
    server.write_in(&group, ANN, "not for the bot");
    server.write_in(&group, ANN, &format!("@{} and that", server.bot().to_lowercase()));
    // Until the first is written down, nothing more is asked: Telegram would forget it.
    assert!(heard.try_recv().is_err());
    assert!(asked(&server, "getUpdates").iter().all(|body| body.get("offset").is_none()));
    telegram.written(&first);
    let second = next(&mut heard).await;
    assert_eq!((text(&second), second.conversation.as_str()), ("and that", "-5"));
    listening.abort();
    let _ = listening.await;
    // The next one hears again what nobody wrote down.
    let (sender, mut heard) = mpsc::channel(16);
    let again = Arc::new(open(&server, None));
    let listening = tokio::spawn(again.listen(sender).unwrap());
    let told_again = next(&mut heard).await;
    assert_eq!(told_again.delivery, second.delivery);
    again.written(&told_again);
    server.refuse("getUpdates", 409, "Conflict: terminated by other getUpdates request", &Value::Null);
    server.write(ANN, "and more");
    assert_eq!(text(&next(&mut heard).await), "and more", "also after a refusal");
    drop(heard);
    tokio::time::timeout(DEADLINE, listening).await.expect("nobody listens any more").unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_is_called_with_its_secret() {
    let server = TestTelegram::start();
    let telegram = Arc::new(open(&server, Some(SECRET)));
    let (sender, heard) = mpsc::channel(16);
    // It ends when the name is known.
    tokio::time::timeout(DEADLINE, telegram.listen(sender).unwrap()).await.expect("its name is known soon");
    drop(heard);
    let url = "https://spinney.example/webhooks/telegram";
    telegram.set_webhook(url).unwrap().await.unwrap();
    assert_eq!(server.webhook(), Some((url.to_owned(), SECRET.to_owned())));
    let receive = |call: &WebhookCall| {
        let mut headers = HeaderMap::new();
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        headers.insert("x-telegram-bot-api-secret-token", HeaderValue::from_str(&call.secret).unwrap());
        telegram.receive(&headers, &call.body, Timestamp::now()).map(|received| received.inbound)
    };
    server.write(ANN, "fix it");
    server.write_in(&json!({ "id": -5, "type": "group" }), ANN, &format!("/status@{}", server.bot()));
    wait_until(|| server.webhook_calls().len() == 2, DEADLINE);
    let received: Vec<_> = server.webhook_calls().iter().flat_map(|call| receive(call).unwrap()).collect();
    let mut said: Vec<_> = received.iter().map(text).collect();
    said.sort_unstable();
    assert_eq!(said, ["/status", "fix it"]);
    let other = open(&server, Some("another"));
    other.set_webhook(url).unwrap().await.unwrap();
    server.write(ANN, "with another secret");
    wait_until(|| server.webhook_calls().len() == 3, DEADLINE);
    assert_eq!(receive(&server.webhook_calls()[2]), Err(Refusal::Unsigned));
}
