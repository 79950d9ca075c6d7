//! Reading issues.

use spinney_core::forge::IssueState;

use crate::forges::story::Story;

#[tokio::test]
async fn an_issue_is_read_by_its_number() {
    for story in Story::all() {
        let number = story.server.add_issue("Login fails", "It says `no`.\n");
        let issue = story.forge.fetch_issue(number).await.unwrap().unwrap();
        assert_eq!(
            (issue.number, issue.title.as_str(), issue.body.as_str()),
            (number, "Login fails", "It says `no`.\n")
        );
        assert_eq!(issue.state, IssueState::Open, "{}", story.kind);
        assert!(issue.url.ends_with(&format!("/issues/{number}")), "{}", issue.url);
        story.server.close_issue(number);
        assert_eq!(story.forge.fetch_issue(number).await.unwrap().unwrap().state, IssueState::Closed);
    }
}

#[tokio::test]
async fn what_is_no_issue_is_none() {
    for story in Story::all() {
        let pull_request = story.server.open("a", "main", None);
        assert_eq!(story.forge.fetch_issue(pull_request).await.unwrap(), None, "{}", story.kind);
        assert_eq!(story.forge.fetch_issue(77).await.unwrap(), None, "{}", story.kind);
    }
}
