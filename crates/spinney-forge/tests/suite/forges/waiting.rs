//! Rate limits and outages: waited out, but not for ever.

use std::error::Error;
use std::time::{Duration, Instant};

use spinney_core::{ForgeError, Timestamp};
use spinney_forge::Patience;
use spinney_forge::{FORGES, GITHUB};
use spinney_testkit::{TestForge, Trouble};

use crate::forges::story::{PATIENT, Story, branch, client};

const HASTY: Patience = Patience { total: Duration::from_secs(2), answer: Duration::from_secs(1) };

#[tokio::test]
async fn what_passes_by_itself_is_waited_out() {
    let troubles = [
        Trouble::Status(500),
        Trouble::Status(502),
        Trouble::Status(503),
        Trouble::Dropped,
        Trouble::RetryAfter(503, 0),
        Trouble::RetryAfter(403, 1),
        Trouble::LimitReached(Duration::ZERO),
    ];
    let stories = Story::all().into_iter().map(|story| {
        let troubles = troubles.clone();
        tokio::spawn(async move {
            let number = story.server.open("a", "main", None);
            for trouble in troubles {
                let before = story.count("GET");
                story.server.trouble(trouble.clone());
                assert_eq!(story.of("a").await.unwrap().number, number, "{} {trouble:?}", story.kind);
                assert_eq!(story.count("GET") - before, 2, "{} {trouble:?}", story.kind);
            }
        })
    });
    for story in stories.collect::<Vec<_>>() {
        story.await.unwrap();
    }
}

#[tokio::test]
async fn the_time_that_was_named_is_kept() {
    let story = Story::new(&GITHUB, PATIENT);
    story.server.trouble(Trouble::RetryAfter(429, 1));
    let start = Instant::now();
    story.of("a").await;
    assert!(start.elapsed() >= Duration::from_secs(1), "{:?}", start.elapsed());
}

#[tokio::test]
async fn an_answer_that_does_not_come_is_asked_for_again() {
    for kind in FORGES {
        let story = Story::new(kind, Patience { answer: Duration::from_millis(300), ..PATIENT });
        let number = story.server.open("a", "main", None);
        story.server.trouble(Trouble::Stalled);
        let start = Instant::now();
        assert_eq!(story.of("a").await.unwrap().number, number, "{kind}");
        assert!(start.elapsed() < Duration::from_secs(5), "{kind}: {:?}", start.elapsed());
    }
}

#[tokio::test]
async fn a_limit_longer_than_the_patience_is_told_with_its_end() {
    for kind in FORGES {
        for (trouble, seconds) in [
            (Trouble::LimitReached(Duration::from_secs(3600)), 3600),
            (Trouble::RetryAfter(429, 600), 600),
            (Trouble::RetryAfter(403, 600), 600),
            (Trouble::SecondaryLimit, 60),
        ] {
            let story = Story::new(kind, HASTY);
            story.server.trouble(trouble.clone());
            let error = story.forge.fetch_pull_request_of(&branch("a")).await.unwrap_err();
            let ForgeError::RateLimited { until, .. } = &error else { panic!("{kind} {trouble:?}: {error}") };
            let ahead = (until.as_millisecond() - Timestamp::now().as_millisecond()) / 1000;
            assert!((seconds - 3..=seconds + 1).contains(&ahead), "{kind} {trouble:?}: {ahead} s");
            assert_eq!(story.count("GET"), 1, "nothing is waited for in vain");
        }
    }
}

#[tokio::test]
async fn an_outage_is_given_up_at_last() {
    for kind in FORGES {
        let story = Story::new(kind, HASTY);
        for _ in 0..100 {
            story.server.trouble(Trouble::Status(503));
        }
        let start = Instant::now();
        let error = story.forge.fetch_issue(1).await.unwrap_err();
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
        let ForgeError::Unreachable { tries, .. } = &error else { panic!("{error}") };
        assert!((3..=12).contains(tries), "{tries}");
        assert_eq!(story.count("GET"), *tries as usize);
        assert_eq!(error.source().unwrap().to_string(), "status 503");
    }
}

#[tokio::test]
async fn nobody_there_is_an_outage() {
    let server = TestForge::github("acme/app");
    let forge = client(&GITHUB, &server, HASTY, Some(server.token()));
    drop(server);
    let error = forge.fetch_issue(1).await.unwrap_err();
    assert!(matches!(error, ForgeError::Unreachable { .. }), "{error}");
    assert!(error.to_string().starts_with("GitHub at 127.0.0.1:"), "{error}");
}

#[tokio::test]
async fn what_is_forbidden_stays_so() {
    for story in Story::all() {
        story.server.trouble(Trouble::Forbidden("Resource not accessible by personal access token".into()));
        let error = story.forge.fetch_issue(1).await.unwrap_err();
        let told =
            format!("{} refused (status 403): Resource not accessible by personal access token", story.forge.name());
        assert_eq!(error.to_string(), told);
        assert_eq!(story.count("GET"), 1, "a refusal is not asked again");
    }
}

#[tokio::test]
async fn who_goes_away_is_not_waited_for() {
    let story = Story::new(&GITHUB, PATIENT);
    story.server.trouble(Trouble::Stalled);
    let start = Instant::now();
    let asked = tokio::time::timeout(Duration::from_millis(100), story.forge.fetch_issue(1)).await;
    assert!(asked.is_err() && start.elapsed() < Duration::from_secs(10));
}
