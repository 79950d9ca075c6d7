//! Threads in Slack, and how long their workspaces live.

use serde_json::Value;
use spinney_core::Timestamp;
use spinney_store::{Store, StoreUrl};

use crate::platforms::hooks::CHANNEL;
use crate::platforms::office::Office;

const BOUND: &str = "repository = \"acme/app\"\n";

const DAY_MS: i64 = 86_400_000;

/// Makes these workspaces, by their ids, look as if somebody had asked for them so many days ago.
fn age(office: &Office, ids: &[String], days: i64) {
    let then = Timestamp::from_millisecond(Timestamp::now().as_millisecond() - days * DAY_MS);
    let ids = ids.iter().map(|id| id.parse().unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let url = StoreUrl::parse(&office.workshop.story.sandbox().store_url()).unwrap();
        let store = Store::open(&url).await.unwrap();
        let mut db = store.write().await.unwrap();
        for id in ids {
            let mut row = db.workspace(&id).await.unwrap().unwrap();
            row.last_activity_at = then;
            assert!(db.update_workspace(&row, &[row.status]).await.unwrap());
        }
        db.commit().await.unwrap();
        store.close().await.unwrap();
    });
}

#[test]
fn a_thread_has_a_workspace_until_nobody_talks_there_any_more() {
    let office = Office::new(BOUND);
    let workshop = &office.workshop;
    let thread = office.say(None, "look at this\nscript:\nprint It is fine.");
    office.hears_in_slack(1, &["✓ Done", "It is fine."]);
    let answer = office.slack.said().remove(0);
    assert_eq!((answer.channel.as_str(), answer.thread_ts.as_ref()), (CHANNEL, Some(&thread)));
    office.say(Some(&thread), "and at that\nscript:\nprint That too.");
    office.hears_in_slack(2, &["goes on", "That too."]);
    assert_eq!(office.slack.said()[1].thread_ts.as_ref(), Some(&thread));
    let jobs = office.jobs();
    assert_eq!(jobs[0].text("workspace_id"), jobs[1].text("workspace_id"));
    // Another thread, and a chat of Telegram's.
    let other = office.say(None, "something else\nscript:\nprint Yes.");
    office.hears_in_slack(3, &["is ready", "Yes."]);
    workshop.cli.run(&["new", "--platform", "telegram", "--thread", "4711"]).ok();
    assert_eq!(office.live().len(), 3);

    let ids: Vec<_> = rows(&office).iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect();
    age(&office, &ids, 15);
    workshop.cli.run(&["cleanup", "stale"]).ok();
    assert_eq!(office.live().len(), 3, "their files are of today");
    // A message about one is activity in it.
    office.say(Some(&other), "/status");
    office.hears_in_slack(4, &["workspaces"]);
    let yesterday = Timestamp::from_millisecond(Timestamp::now().as_millisecond() - DAY_MS).to_string();
    let talked: Vec<_> = rows(&office)
        .iter()
        .filter(|row| row["last_activity_at"].as_str().unwrap() > yesterday.as_str())
        .map(|row| row["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(talked, [office.jobs()[0].text("workspace_id")]);
    // Files can't be made older than they are, so everything is stale at once that nobody talks about in a time to come.
    age(&office, &talked, -1);
    workshop.cli.with_variable("SPINNEY_CLEANUP__STALE_AFTER", "1ms").run(&["cleanup", "stale"]).ok();
    let mut left: Vec<_> = rows(&office).iter().map(|row| row["platform"].clone()).collect();
    left.sort_by_key(ToString::to_string);
    assert_eq!(left, ["slack", "telegram"]);
    // The first thread begins anew.
    office.say(Some(&thread), "again\nscript:\nprint Here again.");
    office.hears_in_slack(5, &["✓ Done", "Here again."]);
    assert_eq!(office.live().len(), 3);
}

fn rows(office: &Office) -> Vec<Value> {
    let mut listed = office.workshop.cli.run(&["ls", "--json"]).ok().json();
    serde_json::from_value(listed["workspaces"].take()).unwrap()
}

#[test]
fn a_chat_without_a_repository_is_asked_and_remembers() {
    let office = Office::new("");
    let thread = office.say(None, "look at this\nscript:\nprint It is fine.");
    let asked = office.hears_in_slack(1, &["Which repository is this about?", "/repo NAME", "acme/app"]);
    assert!(!asked.contains("✓"), "{asked}");
    office.say(Some(&thread), "/repo acme/nothing");
    office.hears_in_slack(2, &["I don't know `acme/nothing`"]);
    office.say(Some(&thread), "/repo acme/app");
    office.hears_in_slack(3, &["This is about `acme/app` from now on."]);
    office.say(Some(&thread), "look at this\nscript:\nprint It is fine.");
    office.hears_in_slack(4, &["✓ Done", "It is fine."]);
    assert_eq!(office.jobs().len(), 1);
}

#[test]
fn what_a_channel_is_about_its_threads_are_about() {
    let office = Office::new("");
    office.type_in_channel("repo", "acme%2Fapp");
    office.hears_in_slack(1, &["This is about `acme/app` from now on."]);
    office.say(None, "look at this\nscript:\nprint It is fine.");
    office.hears_in_slack(2, &["✓ Done", "It is fine."]);
}

#[test]
fn a_message_counts_once_however_often_slack_tells_it() {
    let office = Office::new(BOUND);
    let ts = office.say(None, "look at this\nscript:\nprint It is fine.");
    office.send_slack(&office.slack.app_mention(&ts));
    // As Slack tells a mention to those who read all messages, too.
    let mut message = office.slack.app_mention(&ts);
    message["event"]["type"] = "message".into();
    message["event"]["channel_type"] = "channel".into();
    office.send_slack(&message);
    office.hears_in_slack(1, &["✓ Done"]);
    office.say(Some(&ts), "/status");
    office.hears_in_slack(2, &["workspaces"]);
    assert_eq!(office.jobs().len(), 1);
}
