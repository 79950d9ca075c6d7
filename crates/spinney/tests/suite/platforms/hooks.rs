//! Webhooks as GitHub and Slack send them.

use serde_json::{Value, json};
use spinney_testkit::{HttpClient, github_signature};

use crate::platforms::office::{Office, SECRET};

/// Somebody on GitHub.
#[derive(Clone, Copy)]
pub struct Person(pub &'static str, pub u64);

/// On the list, and may write to the repository.
pub const MONA: Person = Person("mona", 7);
/// On the list, and may only read.
pub const RITA: Person = Person("rita", 8);
/// Not on the list.
pub const EVE: Person = Person("eve", 9);
pub const CHANNEL: &str = "C0001";

impl Person {
    fn user(self) -> Value {
        json!({ "login": self.0, "id": self.1, "type": "User", "site_admin": false })
    }
}

/// What is the same in all payloads.
pub fn payload(action: &str, by: Person) -> Value {
    json!({
        "action": action,
        "repository": { "id": 1, "full_name": "acme/app", "html_url": "https://github.com/acme/app", "private": true },
        "sender": by.user(),
    })
}

/// What happened to an issue of Mona's.
pub fn issue(action: &str, number: u64, title: &str, body: &str) -> Value {
    let mut payload = payload(action, MONA);
    payload["issue"] =
        json!({ "id": 1000 + number, "number": number, "title": title, "body": body, "user": MONA.user() });
    payload
}

/// A comment on an issue.
pub fn comment(action: &str, number: u64, id: u64, by: Person, text: &str) -> Value {
    let mut payload = issue(action, number, "Login fails", "It says no.");
    payload["comment"] = json!({ "id": id, "body": text, "user": by.user() });
    payload["sender"] = by.user();
    payload
}

/// The headers of GitHub's webhook.
pub fn signed(client: &HttpClient, event: &str, delivery: &str, body: &str) -> HttpClient {
    client
        .with_header("Content-Type", "application/json")
        .with_header("X-GitHub-Event", event)
        .with_header("X-GitHub-Delivery", delivery)
        .with_header("X-Hub-Signature-256", &github_signature(SECRET, body.as_bytes()))
}

/// The id of a webhook by its number.
pub fn delivery(number: u64) -> String {
    format!("72d3162e-cc78-11e3-81ab-{number:012}")
}

impl Office {
    fn next(&self) -> u64 {
        self.sent.set(self.sent.get() + 1);
        self.sent.get()
    }

    /// Sends a webhook of GitHub's under this id, which is taken.
    #[track_caller]
    pub fn send(&self, event: &str, delivery: &str, payload: &Value) {
        let body = payload.to_string();
        self.post("github", &signed(&self.client(), event, delivery, &body), &body);
    }

    /// Sends a body that is taken, though a daemon that dies may not come to say so.
    #[track_caller]
    fn post(&self, platform: &str, client: &HttpClient, body: &str) {
        match client.try_send("POST", &format!("/webhooks/{platform}"), body.as_bytes()) {
            Ok(reply) => assert_eq!(reply.status, 200, "{}", reply.told()),
            Err(error) => assert!(self.is_dying.get(), "no answer: {error}"),
        }
    }

    /// The same under an id of its own, which it gives.
    #[track_caller]
    pub fn tell(&self, event: &str, payload: &Value) -> String {
        let delivery = delivery(self.next());
        self.send(event, &delivery, payload);
        delivery
    }

    /// Opens an issue that asks for something; gives its number.
    #[track_caller]
    pub fn ask(&self, title: &str, script: &str) -> u64 {
        let body = format!("@spinney please\nscript:\n{script}");
        let number = self.forge.add_issue(title, &body);
        self.tell("issues", &issue("opened", number, title, &body));
        number
    }

    /// Comments as Mona; gives the comment's id.
    #[track_caller]
    pub fn comment(&self, number: u64, text: &str) -> u64 {
        self.comment_by(MONA, number, text)
    }

    #[track_caller]
    pub fn comment_by(&self, by: Person, number: u64, text: &str) -> u64 {
        let id = self.forge.comment(number, by.0, "MEMBER", text);
        let mut payload = comment("created", number, id, by, text);
        if let Some(pull) = self.forge.pull_requests().into_iter().find(|pull| pull.number == number) {
            payload["issue"]["pull_request"] = json!({ "url": "https://api.github.com/repos/acme/app/pulls/1" });
            payload["issue"]["body"] = json!(pull.body);
        }
        self.tell("issue_comment", &payload);
        id
    }

    /// Tells what happened to a pull request that is there.
    #[track_caller]
    pub fn pull(&self, action: &str, number: u64) -> String {
        let pull = self.forge.pull_requests().into_iter().find(|pull| pull.number == number).expect("it is there");
        let mut payload = payload(action, Person("acme", 1));
        let merged_at = (pull.state == "merged").then_some("2026-01-02T03:04:05Z");
        payload["pull_request"] = json!({
            "id": 2000 + number, "number": number, "title": pull.title, "body": pull.body, "merged_at": merged_at,
            "user": Person("acme", 1).user(),
            "head": { "ref": pull.head, "sha": pull.head_commit, "repo": { "id": 1 } },
            "base": { "ref": pull.base, "sha": pull.head_commit, "repo": { "id": 1 } },
        });
        self.tell("pull_request", &payload)
    }

    /// Tells that an issue was closed.
    #[track_caller]
    pub fn close(&self, number: u64) -> String {
        self.forge.close_issue(number);
        self.tell("issues", &issue("closed", number, "Login fails", "It says no."))
    }

    /// Sends an event of Slack's, which is taken.
    #[track_caller]
    pub fn send_slack(&self, payload: &Value) {
        let body = payload.to_string();
        let mut client = self.client().with_header("Content-Type", "application/json");
        for (name, value) in self.slack.sign(body.as_bytes()) {
            client = client.with_header(name, &value);
        }
        self.post("slack", &client, &body);
    }

    /// Types a slash command of Slack's in the channel, as Mona.
    #[track_caller]
    pub fn type_in_channel(&self, command: &str, text: &str) {
        let team = self.slack.team();
        let body = format!(
            "team_id={team}&channel_id={CHANNEL}&user_id=U0MONA&user_name=mona&command=%2F{command}&text={text}&trigger_id=1.2.{}",
            self.next()
        );
        let mut client = self.client().with_header("Content-Type", "application/x-www-form-urlencoded");
        for (name, value) in self.slack.sign(body.as_bytes()) {
            client = client.with_header(name, &value);
        }
        self.post("slack", &client, &body);
    }

    /// Mentions the bot in a thread as Mona, or opens one; gives the message's time.
    #[track_caller]
    pub fn say(&self, thread: Option<&str>, text: &str) -> String {
        self.say_as("U0MONA", thread, text)
    }

    #[track_caller]
    pub fn say_as(&self, user: &str, thread: Option<&str>, text: &str) -> String {
        let ts = self.slack.write(CHANNEL, thread, user, &format!("<@{}> {text}", self.slack.bot()));
        self.send_slack(&self.slack.app_mention(&ts));
        ts
    }
}
