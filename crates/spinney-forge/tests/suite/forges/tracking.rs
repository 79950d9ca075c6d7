//! Labels and comments, by which work on issues is told.

use spinney_core::ForgeError;
use spinney_forge::{FORGEJO, GITHUB, GITLAB};
use spinney_testkit::Trouble;

use crate::forges::story::{PATIENT, Story};

fn github() -> Story {
    Story::new(&GITHUB, PATIENT)
}

#[tokio::test]
async fn issues_are_found_by_their_label_oldest_first_and_pull_requests_are_none() {
    let story = github();
    let numbers: Vec<_> = (0..130).map(|index| story.server.add_issue(&format!("issue {index}"), "")).collect();
    for number in &numbers[..120] {
        story.server.label_issue(*number, &["bug", "Ready"]);
    }
    story.server.close_issue(numbers[3]);
    story.server.open("a", "main", None);
    let found = story.forge.fetch_issues_labelled("ready").await.unwrap();
    let found_numbers: Vec<_> = found.iter().map(|issue| issue.number).collect();
    let expected: Vec<_> = numbers[..120].iter().copied().filter(|number| *number != numbers[3]).collect();
    assert_eq!(found_numbers, expected, "every page is read");
    assert!(found[0].has_label("READY") && found[0].has_label("bug") && !found[0].has_label("read"));
}

#[tokio::test]
async fn a_label_can_be_set_and_taken_off_twice() {
    let story = github();
    let number = story.server.add_issue("a", "");
    for _ in 0..2 {
        story.forge.add_label(number, "agent working").await.unwrap();
        assert_eq!(story.server.labels(number), ["agent working"]);
    }
    for _ in 0..2 {
        story.forge.remove_label(number, "agent working").await.unwrap();
        assert_eq!(story.server.labels(number), Vec::<String>::new());
    }
    let error = story.forge.add_label(77, "x").await.unwrap_err();
    assert!(matches!(error, ForgeError::NotFound { .. }), "{error}");
}

#[tokio::test]
async fn comments_come_in_their_order_with_who_wrote_them() {
    let story = github();
    let number = story.server.add_issue("a", "");
    story.server.comment(number, "stranger", "NONE", "hi");
    let mine = story.forge.add_comment(number, "one").await.unwrap();
    story.server.comment(number, "colleague", "MEMBER", "two");
    for index in 0..100 {
        story.server.comment(number, "colleague", "CONTRIBUTOR", &format!("more {index}"));
    }
    let comments = story.forge.fetch_comments(number).await.unwrap();
    assert_eq!(comments.len(), 103, "every page is read");
    let first: Vec<_> =
        comments[..4].iter().map(|one| (one.author.as_str(), one.from_inside, one.body.as_str())).collect();
    assert_eq!(
        first,
        [("stranger", false, "hi"), ("acme", true, "one"), ("colleague", true, "two"), ("colleague", false, "more 0")]
    );
    assert!(comments.is_sorted_by_key(|comment| comment.id));

    for _ in 0..2 {
        assert!(story.forge.edit_comment(mine.id, "changed").await.unwrap());
    }
    assert_eq!(story.server.comments(number)[1].body, "changed");
    for _ in 0..2 {
        story.forge.delete_comment(mine.id).await.unwrap();
    }
    assert!(story.server.comments(number).iter().all(|comment| comment.id != mine.id));
    assert!(!story.forge.edit_comment(mine.id, "again").await.unwrap(), "it is gone");
}

#[tokio::test]
async fn a_comment_whose_answer_got_lost_is_not_made_twice() {
    let story = github();
    let number = story.server.add_issue("a", "");
    for trouble in [Trouble::AnswerLost, Trouble::Dropped, Trouble::Status(502)] {
        story.server.trouble_at_post(trouble.clone());
        let body = format!("{trouble:?}");
        let comment = story.forge.add_comment(number, &body).await.unwrap();
        let made: Vec<_> = story.server.comments(number).into_iter().filter(|made| made.body == body).collect();
        assert_eq!(made.iter().map(|made| made.id).collect::<Vec<_>>(), [comment.id], "{body}");
    }
}

#[tokio::test]
async fn other_forges_say_that_they_can_not_do_it_yet() {
    for kind in [&GITLAB, &FORGEJO] {
        let story = Story::new(kind, PATIENT);
        let error = story.forge.fetch_issues_labelled("x").await.unwrap_err();
        assert!(matches!(error, ForgeError::Unsupported { .. }), "{error}");
        assert!(!error.is_temporary());
        assert_eq!(story.count("GET"), 0);
    }
}
