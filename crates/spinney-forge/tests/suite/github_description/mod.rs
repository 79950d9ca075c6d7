//! What we ask GitHub, and what the test kit's forge answers in its place, against GitHub's own published description.

mod description;
mod schema;

use std::collections::BTreeSet;
use std::sync::Arc;

use spinney_core::forge::NewPullRequest;
use spinney_core::{Secret, Timestamp};
use spinney_forge::{App, ForgeOptions, GITHUB, KindOptions, Located, open};
use spinney_testkit::{Exchange, Fork, TestForge, Trouble};

use description::Description;

/// Everything that we ever ask, answered in every way that is described.
async fn exchanges() -> Vec<Exchange> {
    let server = TestForge::github("acme/app");
    let github = KindOptions { api_url: server.api_url(), token: Some(Secret::new(server.token())), app: None };
    let options = ForgeOptions::default().with(&GITHUB, github);
    let located =
        Located { kind: &GITHUB, api_url: server.api_url(), owner: "acme".to_owned(), name: "app".to_owned() };
    let forge = open(&located, &options).unwrap();
    let new = |title: &str| NewPullRequest {
        head: "agent/coder/issue-1".parse().unwrap(),
        base: "main".parse().unwrap(),
        title: title.to_owned(),
        body: "Fixes #1".to_owned(),
        draft: title == "Fix it",
    };
    forge.fetch_access().await.unwrap();
    let issue = server.add_issue("Login fails", "It says no.");
    forge.fetch_issue(issue).await.unwrap();
    server.close_issue(issue);
    forge.fetch_issue(issue).await.unwrap();
    forge.fetch_issue(77).await.unwrap();

    forge.open_pull_request(&new("")).await.unwrap_err();
    server.trouble_at_post(Trouble::Rival);
    let number = forge.open_pull_request(&new("Fix it")).await.unwrap().number;
    forge.fetch_issue(number).await.unwrap();
    forge.fetch_pull_request(number).await.unwrap();
    server.merge(number, &"c".repeat(40));
    forge.fetch_pull_request(number).await.unwrap();
    forge.open_pull_request(&new("Fix it again")).await.unwrap();
    forge.fetch_pull_request(77).await.unwrap();
    server.open("other", "main", Some(Fork::At("somebody/app".to_owned())));
    for branch in ["agent/coder/issue-1", "other"] {
        forge.fetch_pull_request_of(&branch.parse().unwrap()).await.unwrap();
    }
    let issue = server.add_issue("Logout fails", "");
    server.label_issue(issue, &["ready"]);
    forge.fetch_issues_labelled("ready").await.unwrap();
    forge.add_label(issue, "agent-working").await.unwrap();
    for _ in 0..2 {
        forge.remove_label(issue, "ready").await.unwrap();
    }
    let comment = forge.add_comment(issue, "taken").await.unwrap();
    forge.fetch_comments(issue).await.unwrap();
    forge.edit_comment(comment.id, "done").await.unwrap();
    forge.fetch_comments_since(issue, Timestamp::now()).await.unwrap();
    forge.edit_comment(comment.id, &"x".repeat(65_537)).await.unwrap_err();
    forge.delete_comment(comment.id).await.unwrap();
    server.person("mona", 7, "write");
    for login in ["mona", "nobody"] {
        forge.fetch_person(login).await.unwrap();
    }
    let app = Arc::new(App::new("12345", &Secret::new(include_str!("../../keys/pkcs1.pem"))).unwrap());
    let mut options = options;
    options.of_mut(&GITHUB).app = Some(app);
    let as_app = open(&located, &options).unwrap();
    as_app.fetch_issue(issue).await.unwrap_err();
    server.install_app();
    as_app.fetch_issue(issue).await.unwrap();
    server.exchanges()
}

#[tokio::test]
async fn what_we_ask_and_what_the_kit_answers_is_as_described() {
    let description = Description::load();
    let mut faults = Vec::new();
    let mut seen = BTreeSet::new();
    for exchange in exchanges().await {
        let Some(operation) = description.operation(&exchange.method, &exchange.path) else {
            faults.push(format!("`{} {}` is not described", exchange.method, exchange.path));
            continue;
        };
        seen.insert(format!("{} {} {}", exchange.method, operation.path, exchange.status));
        let found = [
            operation.check_path(&exchange.path),
            operation.check_query(&exchange.query),
            operation.check_body(&exchange.body),
            operation.check_answer(exchange.status, &exchange.answer),
        ];
        let place = format!("{} {} → {}", exchange.method, exchange.path, exchange.status);
        faults.extend(found.into_iter().flatten().map(|fault| format!("{place}: {fault}")));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let seen: Vec<_> = seen.iter().map(String::as_str).collect();
    assert_eq!(
        seen,
        [
            "DELETE /repos/{owner}/{repo}/issues/comments/{comment_id} 204",
            "DELETE /repos/{owner}/{repo}/issues/{issue_number}/labels/{name} 200",
            "DELETE /repos/{owner}/{repo}/issues/{issue_number}/labels/{name} 404",
            "GET /repos/{owner}/{repo} 200",
            "GET /repos/{owner}/{repo}/collaborators/{username}/permission 200",
            "GET /repos/{owner}/{repo}/collaborators/{username}/permission 404",
            "GET /repos/{owner}/{repo}/installation 200",
            "GET /repos/{owner}/{repo}/installation 404",
            "GET /repos/{owner}/{repo}/issues 200",
            "GET /repos/{owner}/{repo}/issues/{issue_number} 200",
            "GET /repos/{owner}/{repo}/issues/{issue_number} 404",
            "GET /repos/{owner}/{repo}/issues/{issue_number}/comments 200",
            "GET /repos/{owner}/{repo}/pulls 200",
            "GET /repos/{owner}/{repo}/pulls/{pull_number} 200",
            "GET /repos/{owner}/{repo}/pulls/{pull_number} 404",
            "PATCH /repos/{owner}/{repo}/issues/comments/{comment_id} 200",
            "PATCH /repos/{owner}/{repo}/issues/comments/{comment_id} 422",
            "POST /app/installations/{installation_id}/access_tokens 201",
            "POST /repos/{owner}/{repo}/issues/{issue_number}/comments 201",
            "POST /repos/{owner}/{repo}/issues/{issue_number}/labels 200",
            "POST /repos/{owner}/{repo}/pulls 201",
            "POST /repos/{owner}/{repo}/pulls 422",
        ]
    );
}
