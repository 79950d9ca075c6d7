//! What each kind of webhook means.

use serde_json::json;
use spinney_core::{IgnoreReason, Platform, Work};
use spinney_platforms::{Adapter, Event, Where};

use crate::github::story::{
    DELIVERY, SHA, adapter, asked, comment, from, headers, ignored, issue, one, pull, pull_comment, receive, review,
    review_comment, signature, signed, user,
};

#[test]
fn a_mention_in_a_comment_asks_for_work_on_its_issue() {
    let inbound = one("issue_comment", &comment("created", "@Spinney, fix it"));
    assert_eq!(inbound.platform, Platform::on("github"));
    assert_eq!(inbound.delivery, DELIVERY);
    assert_eq!(inbound.conversation, "acme/app#42");
    assert_eq!(inbound.subject.as_deref(), Some("comment:900"));
    assert_eq!((&*inbound.author.id, &*inbound.author.name), ("7", "mona"));
    assert_eq!(inbound.repository, Where::Forge("acme/app".parse().unwrap()));
    let Event::Asked(request) = inbound.event else { panic!("{inbound:?}") };
    assert_eq!(request.text, "fix it");
    assert_eq!(request.work, Work::issue(42));
    assert_eq!(request.title.as_deref(), Some("Login fails"));
    assert_eq!(request.context.as_deref(), Some("It says no."));
    assert_eq!((request.links, request.pull), (vec![], None));
}

#[test]
fn a_comment_on_a_pull_request_knows_its_issues_and_not_yet_its_branch() {
    let request = asked("issue_comment", &pull_comment("created", "@spinney fix it"));
    assert_eq!(request.work, Work::pr(42));
    assert_eq!((request.links, request.pull), (vec![Work::issue(7)], None));
}

#[test]
fn an_issue_and_a_pull_request_ask_by_their_own_text() {
    let request = asked("issues", &issue("opened", "@spinney do it"));
    assert_eq!((&*request.text, request.work, request.context), ("do it", Work::issue(42), None));
    assert_eq!(
        ignored("issues", &issue("opened", "do it")),
        IgnoreReason::NoMention { mention: Some("@spinney".to_owned()) }
    );
    let mut empty = issue("opened", "");
    empty["issue"]["body"] = json!(null);
    ignored("issues", &empty);
    // The pull request is tied to its issues, whoever may ask.
    let told = receive("pull_request", &pull("opened", "@spinney finish it. Fixes #7")).unwrap();
    let [linked, asked] = told.inbound.try_into().unwrap();
    assert!(matches!(linked.event, Event::Linked(_)) && linked.delivery != asked.delivery);
    let Event::Asked(request) = asked.event else { panic!("{asked:?}") };
    assert_eq!((request.work, request.links), (Work::pr(9), vec![Work::issue(7)]));
    assert_eq!(request.pull.unwrap().head.unwrap().as_str(), "fix-it");
}

#[test]
fn reviews_ask_about_the_pull_request_and_bring_it_along() {
    for (event, payload) in [
        ("pull_request_review", review("submitted", "@spinney fix it")),
        ("pull_request_review_comment", review_comment("created", "@spinney fix it")),
    ] {
        let request = asked(event, &payload);
        let pull = request.pull.unwrap();
        assert_eq!((request.work, request.links), (Work::pr(9), vec![Work::issue(7)]), "{event}");
        assert_eq!((pull.number, pull.is_fork, pull.sha.unwrap().as_str()), (9, false, SHA));
    }
    let request = asked("pull_request_review_comment", &review_comment("created", "@spinney fix it"));
    assert_eq!(request.context.unwrap(), "Closes #7\n\nsrc/login.rs:\n@@ -1 +1 @@");
    let mut silent = review("submitted", "");
    silent["review"]["body"] = json!(null);
    ignored("pull_request_review", &silent);
}

#[test]
fn commands_come_as_they_are() {
    for text in ["/worktree list", "@spinney /worktree list"] {
        assert_eq!(asked("issue_comment", &comment("created", text)).text, "/worktree list");
    }
    ignored("issue_comment", &comment("created", "/shrug"));
}

#[test]
fn what_was_asked_can_be_changed_and_taken_back() {
    let edited = |before, now| one("issue_comment", &from(comment("edited", now), before));
    let request = |event| match event {
        Event::Edited { request } => request,
        other => panic!("{other:?}"),
    };
    let changed = edited("@spinney a", "@spinney b");
    assert_eq!(changed.subject.as_deref(), Some("comment:900"));
    assert_eq!(request(changed.event).unwrap().text, "b");
    assert_eq!(request(edited("@spinney a", "never mind").event), None);
    assert_eq!(request(edited("a", "@spinney a").event).unwrap().text, "a");
    ignored("issue_comment", &from(comment("edited", "b"), "a"));
    ignored("issue_comment", &comment("edited", "@spinney a"));
    let mut title = comment("edited", "@spinney a");
    title["changes"] = json!({ "title": { "from": "Old" } });
    assert_eq!(ignored("issue_comment", &title), IgnoreReason::SameText);

    assert_eq!(one("issue_comment", &comment("deleted", "@spinney a")).event, Event::Deleted);
    ignored("issue_comment", &comment("deleted", "a"));
    assert_eq!(one("pull_request_review", &review("dismissed", "@spinney a")).event, Event::Deleted);
    assert_eq!(one("pull_request_review_comment", &review_comment("deleted", "@spinney a")).event, Event::Deleted);
    request(one("issues", &from(issue("edited", "@spinney b"), "a")).event).unwrap();
    request(one("pull_request_review", &from(review("edited", "@spinney b"), "a")).event).unwrap();
}

#[test]
fn nobody_speaks_in_anothers_name() {
    let mut moved = issue("opened", "@spinney do it");
    moved["issue"]["user"] = user("stranger", 8);
    assert_eq!(ignored("issues", &moved), IgnoreReason::OtherAuthor { user: "7".to_owned() });
    moved["issue"]["user"] = json!(null);
    ignored("issues", &moved);
    // A maintainer corrected a stranger's words: they are nobody's request, and what the stranger asked is off.
    let mut corrected = from(comment("edited", "@spinney do it"), "@spinney do ti");
    corrected["comment"]["user"] = user("stranger", 8);
    assert_eq!(one("issue_comment", &corrected).event, Event::Edited { request: None });
    let mut added = from(comment("edited", "@spinney do it"), "do it");
    added["comment"]["user"] = user("stranger", 8);
    ignored("issue_comment", &added);
}

#[test]
fn bots_are_not_listened_to_and_least_of_all_ourselves() {
    for (login, kind) in [("spinney", "User"), ("Spinney[bot]", "Bot"), ("dependabot[bot]", "Bot"), ("ci", "Bot")] {
        let mut bot = user(login, 99);
        bot["type"] = json!(kind);
        for action in ["created", "edited", "deleted"] {
            let mut payload = from(comment(action, "@spinney fix it"), "@spinney a");
            payload["comment"]["user"] = bot.clone();
            payload["sender"] = bot.clone();
            let reason = match login {
                "spinney" | "Spinney[bot]" => IgnoreReason::OwnMessage,
                _ => IgnoreReason::Bot { user: "99".to_owned() },
            };
            assert_eq!(ignored("issue_comment", &payload), reason, "{login} {action}");
        }
        // Their pull requests are pull requests.
        let mut opened = pull("opened", "@spinney: Fixes #7");
        opened["pull_request"]["user"] = bot.clone();
        opened["sender"] = bot.clone();
        assert!(matches!(one("pull_request", &opened).event, Event::Linked(_)));
    }
}

#[test]
fn a_pull_request_is_linked_to_its_issues_whenever_it_changes() {
    for action in ["opened", "synchronize", "reopened", "ready_for_review", "edited"] {
        let Event::Linked(linked) = one("pull_request", &pull(action, "Fixes #7, closes acme/app#8")).event else {
            panic!("{action}")
        };
        assert_eq!(linked.closes, [Work::issue(7), Work::issue(8)]);
        assert_eq!((linked.number, &*linked.title, linked.is_fork), (9, "Fix it", false));
        assert_eq!(linked.head.unwrap().as_str(), "fix-it");
    }
    let changed = receive("pull_request", &from(pull("edited", "@spinney go. Fixes #7"), "@spinney a")).unwrap();
    let events: Vec<_> = changed.inbound.iter().map(|inbound| (&*inbound.delivery, &inbound.event)).collect();
    assert!(
        matches!(events[..], [(DELIVERY, Event::Linked(_)), (second, Event::Edited { request: Some(_) })] if second.ends_with(":1"))
    );
}

#[test]
fn forks_are_told_from_the_repository_itself() {
    let linked = |head| {
        let mut payload = pull("opened", "");
        payload["pull_request"]["head"] = head;
        match one("pull_request", &payload).event {
            Event::Linked(pull) => pull,
            other => panic!("{other:?}"),
        }
    };
    let fork = linked(json!({ "ref": "main", "sha": SHA, "repo": { "id": 2 } }));
    assert!(fork.is_fork && fork.head.is_some() && fork.sha.is_some());
    let gone = linked(json!({ "ref": "main", "sha": SHA, "repo": null }));
    assert!(gone.is_fork && gone.head.is_none() && gone.sha.is_some());
    let odd = linked(json!({ "ref": "--upload-pack=x", "sha": "$(id)", "repo": { "id": 1 } }));
    assert!(!odd.is_fork && odd.head.is_none() && odd.sha.is_none());
}

#[test]
fn what_is_closed_is_over() {
    let closed = |event: &str, payload: &serde_json::Value| match one(event, payload).event {
        Event::Closed { work, merged } => (work, merged.and_then(|pull| pull.sha).is_some()),
        other => panic!("{other:?}"),
    };
    assert_eq!(closed("issues", &issue("closed", "@spinney a")), (Work::issue(42), false));
    assert_eq!(closed("issues", &issue("deleted", "a")), (Work::issue(42), false));
    assert_eq!(closed("issues", &issue("transferred", "a")), (Work::issue(42), false));
    assert_eq!(closed("pull_request", &pull("closed", "@spinney a")), (Work::pr(9), false));
    let mut merged = pull("closed", "");
    merged["pull_request"]["merged_at"] = json!("2026-01-02T03:04:05Z");
    assert_eq!(closed("pull_request", &merged), (Work::pr(9), true));
    // What an older version wrote down is understood.
    let older = json!({ "type": "closed", "work": { "kind": "pr", "key": "9" }, "is_merged": true });
    assert_eq!(serde_json::from_value::<Event>(older).unwrap(), Event::Closed { work: Work::pr(9), merged: None });
    let gone = receive("issues", &issue("deleted", "@spinney a")).unwrap().inbound;
    assert_eq!(gone[0].event, Event::Deleted);
    assert!(matches!(gone[1].event, Event::Closed { .. }) && gone[0].delivery != gone[1].delivery);
}

#[test]
fn what_others_wrote_is_bounded_and_tame() {
    let mut payload = comment("created", &format!("@spinney {}", "x".repeat(200_000)));
    payload["issue"]["title"] = json!(format!("a\u{1b}[2J\n\u{202e}b{}", "x".repeat(1000)));
    payload["issue"]["body"] = json!("y".repeat(200_000));
    let request = asked("issue_comment", &payload);
    assert!(request.text.len() <= 100_000 && request.context.unwrap().len() <= 100_000);
    let title = request.title.unwrap();
    assert!(title.starts_with("a[2Jb") && title.chars().count() == 200, "{title}");
}

#[test]
fn forms_and_two_secrets_are_taken() {
    let json = comment("created", "@spinney a b & c").to_string();
    let encoded: String = json.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let body = format!("payload={encoded}");
    let mut headers = signed("issue_comment", body.as_bytes());
    headers.insert("content-type", "application/x-www-form-urlencoded".parse().unwrap());
    let received = adapter().receive(&headers, body.as_bytes(), spinney_core::Timestamp::now()).unwrap();
    assert!(matches!(&received.inbound[0].event, Event::Asked(request) if request.text == "a b & c"));

    let mut options = crate::github::story::options("", "t0ken");
    options.webhook_secrets = spinney_core::Secret::new("new , old");
    let adapter = spinney_platforms::GithubAdapter::new(&options).unwrap();
    for (secret, taken) in [("new", true), ("old", true), ("new , old", false), ("", false)] {
        let signature = signature(secret, json.as_bytes());
        let headers = self::headers(&[
            ("content-type", "application/json; charset=utf-8"),
            ("x-github-event", "issue_comment"),
            ("x-github-delivery", DELIVERY),
            ("x-hub-signature-256", &signature),
        ]);
        let received = adapter.receive(&headers, json.as_bytes(), spinney_core::Timestamp::now());
        assert_eq!(received.is_ok(), taken, "{secret}");
    }
}
