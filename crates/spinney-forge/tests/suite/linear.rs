//! Linear, asked over HTTP: a small one on loopback.

use std::time::{Duration, Instant};

use spinney_core::{ForgeError, Secret};
use spinney_forge::{Linear, LinearOptions, Patience};
use spinney_testkit::{LinearTrouble, TestLinear};

const ID: &str = "7d8b9e0a-1c2d-4e3f-8a5b-6c7d8e9f0a1b";

fn server() -> TestLinear {
    TestLinear::new("ENG", &["ready", "agent-working", "bug"])
}

fn client(server: &TestLinear, token: &str) -> Linear {
    let patience = Patience { total: Duration::from_secs(20), answer: Duration::from_secs(10) };
    let options = LinearOptions { api_url: server.api_url(), token: Secret::new(token), patience, proxy: None };
    Linear::open("ENG", &options).unwrap()
}

#[tokio::test]
async fn open_issues_are_found_by_their_label_oldest_first() {
    let server = server();
    let linear = client(&server, server.token());
    for index in 0..120 {
        server.add_issue(
            &format!("issue {index}"),
            "It says `no`.",
            if index % 2 == 0 { &["bug", "Ready"] } else { &[] },
        );
    }
    linear.complete(5).await.unwrap();
    let found = linear.fetch_issues_labelled("ready").await.unwrap();
    let expected: Vec<_> = (1..=120).filter(|number| number % 2 == 1 && *number != 5).collect();
    assert_eq!(found.iter().map(|issue| issue.number).collect::<Vec<_>>(), expected, "every page is read");
    assert_eq!((found[0].title.as_str(), found[0].body.as_str()), ("issue 0", "It says `no`."));
    assert_eq!(found[0].labels().collect::<Vec<_>>(), ["bug", "Ready"]);
    assert!(found[0].is_open && !linear.fetch_issue(5).await.unwrap().unwrap().is_open);
    assert_eq!(linear.fetch_issue(777).await.unwrap(), None);
}

#[tokio::test]
async fn labels_and_states_can_be_set_twice() {
    let server = server();
    let linear = client(&server, server.token());
    let number = server.add_issue("a", "", &["bug"]);
    for _ in 0..2 {
        linear.add_label(number, "Agent-Working").await.unwrap();
        linear.add_label(number, "shared").await.unwrap();
        assert_eq!(server.labels(number), ["agent-working", "bug", "shared"]);
    }
    for _ in 0..2 {
        linear.remove_label(number, "agent-working").await.unwrap();
        assert_eq!(server.labels(number), ["bug", "shared"]);
    }
    for _ in 0..2 {
        linear.complete(number).await.unwrap();
        assert_eq!(server.state(number), "state-done", "the first of those that mean it");
    }
    let error = linear.add_label(number, "unheard of").await.unwrap_err();
    assert!(error.to_string().ends_with("team ENG has no label `unheard of`"), "{error}");
    let error = linear.add_label(77, "bug").await.unwrap_err();
    assert!(matches!(&error, ForgeError::NotFound { what, .. } if what == "ENG-77"), "{error}");
}

#[tokio::test]
async fn comments_come_in_their_order_with_who_wrote_them() {
    let server = server();
    let linear = client(&server, server.token());
    let (number, other) = (server.add_issue("a", "", &[]), server.add_issue("b", "", &[]));
    server.comment(number, "guest", true, "hi");
    let mine = linear.add_comment(number, ID, "one").await.unwrap();
    server.comment(other, "colleague", false, "elsewhere");
    for index in 0..60 {
        server.comment(number, "colleague", false, &format!("more {index}"));
    }
    let comments = linear.fetch_comments(number).await.unwrap();
    assert_eq!(comments.len(), 62, "every page is read");
    let first: Vec<_> =
        comments[..3].iter().map(|one| (one.author.as_str(), one.from_inside, one.body.as_str())).collect();
    assert_eq!(first, [("guest", false, "hi"), ("user-me", true, "one"), ("colleague", true, "more 0")]);
    assert_eq!(mine.id, ID);
    linear.edit_comment(ID, "changed").await.unwrap();
    assert_eq!(server.comments(number)[1], "changed");
    for _ in 0..2 {
        linear.delete_comment(ID).await.unwrap();
    }
    linear.edit_comment(ID, "nobody's").await.unwrap();
    assert_eq!(server.comments(number).len(), 61);
}

#[tokio::test]
async fn a_comment_whose_answer_got_lost_is_not_made_twice() {
    let server = server();
    let linear = client(&server, server.token());
    let number = server.add_issue("a", "", &[]);
    server.trouble(Some("AddComment"), LinearTrouble::AnswerLost);
    assert_eq!(linear.add_comment(number, ID, "one").await.unwrap().id, ID);
    server.trouble(Some("AddComment"), LinearTrouble::Status(502));
    linear.add_comment(number, &ID.replace('7', "8"), "two").await.unwrap();
    assert_eq!(server.comments(number), ["one", "two"]);
}

#[tokio::test]
async fn limits_and_outages_are_waited_out_within_the_patience() {
    let server = server();
    let linear = client(&server, server.token());
    for trouble in [LinearTrouble::Status(503), LinearTrouble::RateLimited(Duration::ZERO)] {
        server.trouble(None, trouble);
        let before = server.asked().len();
        assert_eq!(linear.fetch_issue(1).await.unwrap(), None);
        assert_eq!(server.asked().len() - before, 2);
    }
    server.trouble(None, LinearTrouble::RateLimited(Duration::from_secs(3600)));
    let start = Instant::now();
    let error = linear.fetch_issue(1).await.unwrap_err();
    assert!(matches!(error, ForgeError::RateLimited { .. }) && error.is_temporary(), "{error}");
    assert!(start.elapsed() < Duration::from_secs(10));
}

#[tokio::test]
async fn errors_are_told_in_linears_own_words_and_without_the_token() {
    let server = server();
    let linear = client(&server, server.token());
    server.trouble(None, LinearTrouble::Error(format!("no access with {}", server.token())));
    let error = linear.fetch_issue(1).await.unwrap_err();
    assert!(error.to_string().ends_with("refused (status 200): no access with ***"), "{error}");
    assert!(!error.is_temporary());
    for token in ["lin_api_wrong", "an-apps-token"] {
        let error = client(&server, token).fetch_issue(1).await.unwrap_err();
        assert!(matches!(error, ForgeError::Unauthorised { .. }), "{error}");
    }
    assert!(!format!("{linear:?}").contains(server.token()));
}

#[tokio::test]
async fn a_token_does_not_travel_in_the_clear() {
    let options = LinearOptions {
        api_url: "http://linear.example/graphql".to_owned(),
        token: Secret::new("lin_api_x"),
        patience: Patience::default(),
        proxy: None,
    };
    let error = Linear::open("ENG", &options).unwrap_err();
    assert!(error.to_string().contains("is not encrypted"), "{error}");
}
