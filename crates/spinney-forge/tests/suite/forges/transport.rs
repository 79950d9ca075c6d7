//! What may go where, and how much may come back.

use std::io::Read;
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use spinney_core::{ForgeError, Secret};
use spinney_forge::{GITHUB, Located, OpenError, Patience, open};
use spinney_testkit::Trouble;

use crate::forges::story::{PATIENT, Story, new_pull_request, options};

#[tokio::test]
async fn a_redirect_on_the_same_host_is_followed() {
    for status in [301, 302, 307, 308] {
        for absolute in [true, false] {
            let story = Story::new(&GITHUB, PATIENT);
            let number = story.server.add_issue("x", "");
            let origin = if absolute { story.server.api_url() } else { String::new() };
            story.server.trouble(Trouble::Redirected(status, format!("{origin}/repos/acme/app/issues/{number}")));
            assert_eq!(story.forge.fetch_issue(99).await.unwrap().unwrap().number, number, "{status}");
        }
    }
}

#[tokio::test]
async fn a_post_stays_a_post_or_is_not_sent_again() {
    let story = Story::new(&GITHUB, PATIENT);
    story.server.trouble_at_post(Trouble::Redirected(307, "/repos/acme/app/pulls".into()));
    story.forge.open_pull_request(&new_pull_request("a")).await.unwrap();
    assert_eq!(story.server.pull_requests()[0].title, "Fix it");
    story.server.trouble_at_post(Trouble::Redirected(301, "/repos/acme/app/pulls".into()));
    let error = story.forge.open_pull_request(&new_pull_request("b")).await.unwrap_err();
    assert!(matches!(error, ForgeError::Refused { status: 301, .. }), "{error}");
}

#[tokio::test]
async fn a_redirect_elsewhere_is_not_followed() {
    let elsewhere = Story::new(&GITHUB, PATIENT);
    let place = elsewhere.server.api_url();
    let authority = place.strip_prefix("http://").unwrap();
    for story in Story::all() {
        for address in [
            format!("{place}/repos/acme/app/issues/1"),
            format!("//{authority}/repos/acme/app/issues/1"),
            format!("http://127.0.0.1@{authority}/x"),
        ] {
            story.server.trouble(Trouble::Redirected(302, address.clone()));
            let error = story.forge.fetch_issue(1).await.unwrap_err();
            assert!(matches!(error, ForgeError::Unexpected { .. }), "{} {address}: {error}", story.kind);
        }
    }
    assert!(elsewhere.server.exchanges().is_empty(), "{:?}", elsewhere.server.exchanges());
}

#[tokio::test]
async fn a_circle_of_redirects_ends() {
    let story = Story::new(&GITHUB, PATIENT);
    for _ in 0..20 {
        story.server.trouble(Trouble::Redirected(302, "/again".into()));
    }
    let error = story.forge.fetch_issue(1).await.unwrap_err();
    assert!(matches!(error, ForgeError::Unexpected { .. }), "{error}");
    assert!(story.count("GET") < 10);
}

#[tokio::test]
async fn an_answer_that_can_not_be_used_is_an_error() {
    for story in Story::all() {
        story.server.trouble(Trouble::Garbage);
        let error = story.forge.fetch_issue(1).await.unwrap_err();
        assert!(matches!(error, ForgeError::Unexpected { .. }), "{error}");
        story.server.trouble(Trouble::Huge(9 * 1024 * 1024));
        let error = story.forge.fetch_issue(1).await.unwrap_err();
        assert!(error.to_string().contains("more than 8388608 bytes"), "{error}");
        assert_eq!(story.count("GET"), 2, "it is not asked again");
    }
}

#[test]
fn a_token_goes_encrypted_or_not_at_all() {
    let located = |api_url: &str| Located {
        kind: &GITHUB,
        api_url: api_url.to_owned(),
        owner: "acme".into(),
        name: "app".into(),
    };
    let refused = |api_url: &str, token| {
        open(&located(api_url), &options(&GITHUB, api_url, PATIENT, token)).map(|_| ()).unwrap_err()
    };
    assert_eq!(
        refused("http://ghe.example/api/v3", Some("t")),
        OpenError::Unencrypted("http://ghe.example/api/v3".into())
    );
    assert_eq!(refused("ftp://ghe.example", None), OpenError::BadUrl("ftp://ghe.example".into()));
    assert_eq!(refused("https://ghe.example", Some("a\nb")), OpenError::BadToken("GitHub at ghe.example".into()));
    let mut options = options(&GITHUB, "https://ghe.example", PATIENT, Some("t"));
    assert!(open(&located("https://ghe.example"), &options).is_ok());
    options.proxy = Some(Secret::new("::"));
    assert_eq!(open(&located("https://ghe.example"), &options).map(|_| ()).unwrap_err(), OpenError::BadProxy);
}

/// The forge hangs up in the middle; that it was greeted in TLS shows that there is a provider for it.
#[tokio::test]
async fn https_speaks_tls() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let api_url = format!("https://{}", listener.local_addr().unwrap());
    let greeted = thread::spawn(move || {
        let mut first = [0; 3];
        listener.accept().unwrap().0.read_exact(&mut first).unwrap();
        first
    });
    let patience = Patience { total: Duration::from_secs(1), answer: Duration::from_secs(1) };
    let options = options(&GITHUB, &api_url, patience, Some("t"));
    let located = Located { kind: &GITHUB, api_url, owner: "acme".into(), name: "app".into() };
    let error = open(&located, &options).unwrap().fetch_issue(1).await.unwrap_err();
    assert!(matches!(error, ForgeError::Unreachable { .. }), "{error}");
    // A handshake record, TLS 1.x.
    assert_eq!(greeted.join().unwrap()[..2], [0x16, 3]);
}
