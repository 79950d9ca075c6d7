//! Finding the pull request of a branch, and reading one.

use spinney_core::ForgeError;
use spinney_core::forge::{Access, PullRequestState};
use spinney_forge::FORGES;
use spinney_testkit::Fork;

use crate::forges::story::{PATIENT, Story, branch, client, commit};

#[tokio::test]
async fn a_branch_without_one_has_none() {
    for story in Story::all() {
        story.server.open("other", "main", None);
        assert_eq!(story.of("feature/a").await, None, "{}", story.kind);
    }
}

#[tokio::test]
async fn the_open_one_counts_before_newer_ones_that_are_done() {
    for story in Story::all() {
        let old = story.server.open("a", "main", None);
        story.server.close(old);
        let open = story.server.open("a", "main", None);
        let newer = story.server.open("a", "other", None);
        story.server.merge(newer, &commit('c'));
        let found = story.of("a").await.unwrap();
        assert_eq!((found.number, found.state), (open, PullRequestState::Open), "{}", story.kind);
        assert_eq!(found.base_branch, Some(branch("main")));
        assert_eq!(found.merge_commit, None, "{}", story.kind);
    }
}

#[tokio::test]
async fn of_those_that_are_done_the_newest_counts() {
    for story in Story::all() {
        let merged = story.server.open("a", "main", None);
        story.server.merge(merged, &commit('c'));
        assert_eq!(story.of("a").await.unwrap().state, PullRequestState::Merged, "{}", story.kind);
        let closed = story.server.open("a", "main", None);
        story.server.close(closed);
        let found = story.of("a").await.unwrap();
        assert_eq!((found.number, found.state), (closed, PullRequestState::Closed), "{}", story.kind);
    }
}

#[tokio::test]
async fn a_forks_branch_of_the_same_name_does_not_count() {
    for story in Story::all() {
        let own = story.server.open("a", "main", None);
        for fork in [Fork::At("somebody/app".into()), Fork::At("acme/app-fork".into()), Fork::Gone] {
            let number = story.server.open("a", "main", Some(fork.clone()));
            assert_eq!(story.of("a").await.unwrap().number, own, "{} {fork:?}", story.kind);
            let read = story.forge.fetch_pull_request(number).await.unwrap().unwrap();
            assert!(read.from_fork, "{} {fork:?}", story.kind);
            assert_eq!(read.head_branch, Some(branch("a")), "{} {fork:?}", story.kind);
            story.server.merge(number, &commit('c'));
        }
        story.server.close(own);
        assert_eq!(story.of("a").await.unwrap().number, own, "{}", story.kind);
    }
}

#[tokio::test]
async fn what_was_merged_is_told_although_the_branch_went_on() {
    for story in Story::all() {
        story.server.push("a", &commit('1'));
        let number = story.server.open("a", "main", None);
        story.server.push("a", &commit('2'));
        let open = story.of("a").await.unwrap();
        assert_eq!(open.head_commit.unwrap().as_str(), commit('2'), "{}", story.kind);
        story.server.merge(number, &commit('c'));
        story.server.push("a", &commit('3'));
        let read = story.forge.fetch_pull_request(number).await.unwrap();
        for found in [story.of("a").await, read] {
            let found = found.unwrap();
            assert_eq!(found.merged_head().unwrap().as_str(), commit('2'), "{}", story.kind);
            assert_eq!(found.merge_commit.unwrap().as_str(), commit('c'), "{}", story.kind);
        }
    }
}

#[tokio::test]
async fn one_is_read_by_its_number() {
    for story in Story::all() {
        let number = story.server.open("feature/ü+1", "main", None);
        let read = story.forge.fetch_pull_request(number).await.unwrap().unwrap();
        assert_eq!(read.title, "from feature/ü+1");
        assert_eq!(read.head_branch, Some(branch("feature/ü+1")));
        assert!(!read.from_fork && read.url.starts_with("http://127.0.0.1:"), "{read:?}");
        assert_eq!(story.of("feature/ü+1").await.unwrap(), read, "{}", story.kind);
        assert_eq!(story.forge.fetch_pull_request(77).await.unwrap(), None, "{}", story.kind);
    }
}

#[tokio::test]
async fn every_page_is_looked_through() {
    for story in Story::all() {
        let first = story.server.open("a", "main", None);
        for _ in 0..120 {
            // On a forge that filters by branch, these are in the way too.
            story.server.open("a", "main", Some(Fork::At("acme/app-fork".into())));
            story.server.open("b", "main", None);
        }
        assert_eq!(story.of("a").await.unwrap().number, first, "{}", story.kind);
    }
}

#[tokio::test]
async fn a_token_is_good_or_not() {
    for story in Story::all() {
        assert_eq!(story.forge.fetch_access().await.unwrap(), Access::Write, "{}", story.kind);
        let wrong = client(story.kind, &story.server, PATIENT, Some("wrong"));
        let error = wrong.fetch_access().await.unwrap_err();
        assert!(matches!(error, ForgeError::Unauthorised { with_token: true, .. }), "{error}");
        assert_eq!(error.to_string(), format!("{} does not accept the token", story.forge.name()));
        let none = client(story.kind, &story.server, PATIENT, None);
        let error = none.fetch_pull_request_of(&branch("a")).await.unwrap_err();
        assert!(error.to_string().ends_with(" wants a token"), "{error}");
        assert_eq!(story.count("GET"), 3, "a refusal is not asked again");
    }
}

#[tokio::test]
async fn a_repository_that_is_not_there_is_named() {
    for kind in FORGES {
        let server = match kind.name {
            "github" => spinney_testkit::TestForge::github("acme/other"),
            "gitlab" => spinney_testkit::TestForge::gitlab("acme/app"),
            "forgejo" => spinney_testkit::TestForge::forgejo("acme/other"),
            other => panic!("there is no {other} to try with"),
        };
        let forge = client(kind, &server, PATIENT, Some(server.token()));
        let error = forge.fetch_pull_request_of(&branch("a")).await.unwrap_err();
        assert!(matches!(error, ForgeError::NotFound { .. }), "{error}");
        assert!(error.to_string().contains("/app`, or does not show it to this token"), "{error}");
    }
}
