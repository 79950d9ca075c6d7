//! Opening a pull request: never two of one branch.

use spinney_core::ForgeError;
use spinney_core::forge::NewPullRequest;
use spinney_testkit::Trouble;

use crate::forges::story::{Story, branch, commit, new_pull_request};

#[tokio::test]
async fn one_is_opened_once() {
    for story in Story::all() {
        let new = new_pull_request("agent/coder/issue-1");
        let first = story.forge.open_pull_request(&new).await.unwrap();
        let second = story.forge.open_pull_request(&new).await.unwrap();
        assert_eq!(first, second, "{}", story.kind);
        assert_eq!(story.count("POST"), 1, "{}", story.kind);
        let known = story.server.pull_requests();
        assert_eq!(known.len(), 1);
        assert_eq!((known[0].title.as_str(), known[0].body.as_str()), ("Fix it", "Fixes #1"));
        assert_eq!((known[0].head.as_str(), known[0].base.as_str()), ("agent/coder/issue-1", "main"));
        assert_eq!(first.head_branch, Some(branch("agent/coder/issue-1")));
    }
}

#[tokio::test]
async fn a_draft_is_told_as_each_forge_takes_it() {
    for story in Story::all() {
        let new = NewPullRequest { draft: true, ..new_pull_request("agent/coder/issue-1") };
        story.forge.open_pull_request(&new).await.unwrap();
        let posted = story.server.exchanges().into_iter().find(|exchange| exchange.method == "POST").unwrap();
        let (title, is_draft) = (posted.body["title"].clone(), posted.body["draft"] == true);
        let told = [("github", "Fix it", true), ("gitlab", "Draft: Fix it", false), ("forgejo", "WIP: Fix it", false)];
        let (_, expected, by_field) = told.into_iter().find(|(kind, ..)| *kind == story.kind.name).unwrap();
        assert_eq!((title.as_str(), is_draft), (Some(expected), by_field), "{}", story.kind);
    }
}

#[tokio::test]
async fn one_that_a_person_opened_is_taken_whatever_its_base() {
    for story in Story::all() {
        let number = story.server.open("a", "release", None);
        assert_eq!(story.forge.open_pull_request(&new_pull_request("a")).await.unwrap().number, number);
        assert_eq!(story.count("POST"), 0, "{}", story.kind);
    }
}

#[tokio::test]
async fn after_one_that_is_done_a_new_one_is_opened() {
    for story in Story::all() {
        let merged = story.server.open("a", "main", None);
        story.server.merge(merged, &commit('c'));
        let number = story.forge.open_pull_request(&new_pull_request("a")).await.unwrap().number;
        assert_ne!(number, merged, "{}", story.kind);
    }
}

#[tokio::test]
async fn a_lost_answer_makes_no_second_one() {
    for story in Story::all() {
        story.server.trouble_at_post(Trouble::AnswerLost);
        let opened = story.forge.open_pull_request(&new_pull_request("a")).await.unwrap();
        assert_eq!(story.server.pull_requests().len(), 1, "{}", story.kind);
        assert_eq!(story.server.pull_requests()[0].number, opened.number);
        assert_eq!(story.count("POST"), 1, "it was looked for before it was sent again ({})", story.kind);
    }
}

#[tokio::test]
async fn one_that_did_not_arrive_is_sent_again() {
    for trouble in [Trouble::Status(502), Trouble::Dropped, Trouble::RetryAfter(429, 0)] {
        for story in Story::all() {
            story.server.trouble_at_post(trouble.clone());
            story.forge.open_pull_request(&new_pull_request("a")).await.unwrap();
            assert_eq!(story.server.pull_requests().len(), 1, "{} {trouble:?}", story.kind);
            assert_eq!(story.count("POST"), 2, "{} {trouble:?}", story.kind);
        }
    }
}

#[tokio::test]
async fn somebody_elses_that_came_in_between_is_taken() {
    for story in Story::all() {
        story.server.trouble_at_post(Trouble::Rival);
        let opened = story.forge.open_pull_request(&new_pull_request("a")).await.unwrap();
        let known = story.server.pull_requests();
        assert_eq!((known.len(), known[0].number), (1, opened.number), "{}", story.kind);
    }
}

#[tokio::test]
async fn a_refusal_is_told_in_the_forges_words() {
    for story in Story::all() {
        let mut new = new_pull_request("a");
        new.title = String::new();
        let error = story.forge.open_pull_request(&new).await.unwrap_err();
        let words: &[&str] = match story.kind.name {
            "github" => &["Validation Failed", "code missing_field", "field title"],
            "gitlab" => &["title is missing"],
            "forgejo" => &["[Title]: Required"],
            other => panic!("there is no {other} to try with"),
        };
        let told = error.to_string();
        assert!(matches!(error, ForgeError::Refused { .. }) && words.iter().all(|word| told.contains(word)), "{told}");
        assert_eq!(story.count("POST"), 1, "a refusal is not asked again");
    }
}
