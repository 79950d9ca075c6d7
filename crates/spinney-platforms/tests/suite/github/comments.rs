//! What is said on GitHub, and what is asked of it.

use std::time::Duration;

use spinney_core::{Secret, Work};
use spinney_platforms::{Adapter, Author, Event, GithubAdapter, GithubApp, Inbound, Message, Place, SendError, Sent};
use spinney_testkit::{Fork, TestForge, Trouble};

use crate::github::story::{adapter_at, comment, ignored, one, options, pull_comment};

const LONGEST: usize = 65_536;

struct Story {
    server: TestForge,
    adapter: GithubAdapter,
    issue: u64,
    place: Place,
}

impl Story {
    fn new() -> Self {
        let server = TestForge::github("acme/app");
        let issue = server.add_issue("Login fails", "It says no.");
        let place = at(one("issue_comment", &comment("created", "@spinney go")), issue);
        Self { adapter: adapter_at(&server), server, issue, place }
    }

    async fn post(&self, key: &str, message: &Message) -> Sent {
        self.adapter.post(&self.place, key, message).await.unwrap()
    }

    async fn edit(&self, sent: &Sent, message: &Message) -> Sent {
        self.adapter.edit(&self.place, sent, message).await.unwrap()
    }

    /// What people see: each comment without its mark.
    fn shown(&self) -> Vec<String> {
        let comments = self.server.comments(self.issue);
        comments.iter().map(|comment| comment.body.split("\n\n<!-- spinney:").next().unwrap().to_owned()).collect()
    }

    fn ids(&self) -> Vec<u64> {
        self.server.comments(self.issue).iter().map(|comment| comment.id).collect()
    }
}

/// The place of a webhook, at another issue.
fn at(inbound: Inbound, number: u64) -> Place {
    let mut place = inbound.place;
    place.0["number"] = number.into();
    place
}

fn plain(text: &str) -> Message {
    Message::new().plain(text)
}

#[tokio::test]
async fn a_comment_is_made_once_and_changed_from_then_on() {
    let story = Story::new();
    let sent = story.post("a", &plain("Working on it…")).await;
    let ids = story.ids();
    let sent = story.edit(&sent, &plain("Still at it…")).await;
    story.edit(&sent, &plain("Done.")).await;
    assert_eq!(story.shown(), ["Done."]);
    assert_eq!(story.ids(), ids);
    story.post("b", &plain("Done.")).await;
    assert_eq!(story.shown(), ["Done.", "Done."], "another saying");
}

#[tokio::test]
async fn a_comment_whose_answer_got_lost_is_found_again() {
    let story = Story::new();
    story.server.trouble_at_post(Trouble::AnswerLost);
    story.post("a", &plain("one")).await;
    assert_eq!(story.shown(), ["one"]);
    // The daemon died before it knew.
    let sent = story.post("a", &plain("one, again")).await;
    assert_eq!(story.shown(), ["one, again"]);
    // It died after a part was added.
    let long = Message::new().block("x\n".repeat(LONGEST / 2));
    for _ in 0..2 {
        story.edit(&sent, &long).await;
        assert_eq!(story.ids().len(), 2);
    }
}

#[tokio::test]
async fn a_comment_that_is_gone_is_made_anew() {
    let story = Story::new();
    let sent = story.post("a", &plain("one")).await;
    story.server.delete_comment(story.ids()[0]);
    let sent = story.edit(&sent, &plain("two")).await;
    assert_eq!(story.shown(), ["two"]);
    story.edit(&sent, &plain("three")).await;
    assert_eq!(story.shown(), ["three"]);
}

#[tokio::test]
async fn a_strangers_comment_with_our_mark_stays_theirs() {
    let story = Story::new();
    let sent = story.post("a", &plain("one")).await;
    let mine = story.server.comments(story.issue).remove(0);
    story.server.comment(story.issue, "stranger", "NONE", &mine.body.replace("one", "mine"));
    story.post("a", &plain("two")).await;
    assert_eq!(story.shown(), ["two", "mine"]);
    story.server.delete_comment(mine.id);
    story.edit(&sent, &plain("three")).await;
    assert_eq!(story.shown(), ["mine", "three"]);
}

#[tokio::test]
async fn our_own_words_ask_for_nothing() {
    let story = Story::new();
    let place = one("issue_comment", &comment("created", "@spinney go")).place;
    while story.server.add_issue("x", "") < 42 {}
    story.adapter.post(&place, "a", &Message::new().prose("/worktree remove --force")).await.unwrap();
    let body = story.server.comments(42).remove(0).body;
    assert!(body.starts_with("/worktree"), "{body}");
    // By an account that is not called as we are.
    assert_eq!(ignored("issue_comment", &comment("created", &body)), spinney_core::IgnoreReason::OwnMessage);
    // Elsewhere the mark is a stranger's.
    let mut elsewhere = comment("created", &body);
    elsewhere["issue"]["number"] = 43.into();
    one("issue_comment", &elsewhere);
}

#[tokio::test]
async fn long_messages_are_split_and_shrink_again() {
    let story = Story::new();
    let lines: Vec<String> = (0..20_000).map(|line| format!("line {line}")).collect();
    let sent = story.post("a", &Message::new().plain("Look:").block(lines.join("\n"))).await;
    let comments = story.server.comments(story.issue);
    assert!(comments.len() > 2 && comments.iter().all(|comment| comment.body.chars().count() <= LONGEST));
    let mut seen = Vec::new();
    for (index, shown) in story.shown().iter().enumerate() {
        let block = shown.strip_prefix("Look:").unwrap_or(shown).trim();
        let inside = block.strip_prefix("```\n").and_then(|block| block.strip_suffix("```"));
        seen.extend(inside.unwrap_or_else(|| panic!("part {index}")).lines().map(ToOwned::to_owned));
    }
    assert_eq!(seen, lines, "nothing is lost, and every part is a block of its own");
    let first = story.ids()[0];
    let sent = story.edit(&sent, &plain("short")).await;
    assert_eq!((story.shown(), story.ids()), (vec!["short".to_owned()], vec![first]));
    story.edit(&sent, &Message::new().block(lines.join("\n"))).await;
    assert_eq!(story.ids().len(), comments.len());
}

#[tokio::test]
async fn limits_and_refusals_are_told_apart() {
    let story = Story::new();
    for trouble in [Trouble::RetryAfter(403, 60), Trouble::SecondaryLimit, Trouble::RetryAfter(429, 60)] {
        story.server.calm();
        story.server.trouble(trouble.clone());
        let error = story.adapter.post(&story.place, "a", &plain("x")).await.unwrap_err();
        let SendError::RateLimited { after, .. } = error else { panic!("{trouble:?}: {error}") };
        assert!((55..=61).contains(&after.as_secs()), "{after:?}");
    }
    story.server.trouble_at_post(Trouble::Forbidden("Resource not accessible".to_owned()));
    let error = story.adapter.post(&story.place, "a", &plain("x")).await.unwrap_err();
    assert!(matches!(&error, SendError::Refused { detail, .. } if detail.contains("not accessible")), "{error}");
    let nowhere = Place(serde_json::json!({ "repository": "acme/app", "number": 777, "since": 0 }));
    let error = story.adapter.post(&nowhere, "a", &plain("x")).await.unwrap_err();
    assert!(!error.is_temporary(), "{error}");
    let error = story.adapter.post(&Place(serde_json::json!({})), "a", &plain("x")).await.unwrap_err();
    assert!(!error.is_temporary(), "{error}");
    assert!(story.adapter.limits().edit_every >= Duration::from_secs(10));
}

#[tokio::test]
async fn who_may_write_to_the_repository_may_change_it() {
    let story = Story::new();
    let may = async |id: &str, name: &str| {
        let author = Author { id: id.to_owned(), name: name.to_owned() };
        story.adapter.may_change(&story.place, &author).await.unwrap()
    };
    for (permission, expected) in
        [("admin", true), ("maintain", true), ("write", true), ("read", false), ("none", false)]
    {
        story.server.person("mona", 7, permission);
        assert_eq!(may("7", "mona").await, expected, "{permission}");
    }
    story.server.person("mona", 7, "admin");
    assert!(!may("8", "mona").await, "the login is another's now");
    for name in ["nobody", "", "../../../user", "mona/permission?", "mona[bot]"] {
        assert!(!may("7", name).await, "{name}");
    }
}

#[tokio::test]
async fn a_comments_pull_request_is_asked_for() {
    let story = Story::new();
    let own = story.server.open("fix-it", "main", None);
    let fork = story.server.open("theirs", "main", Some(Fork::At("stranger/app".to_owned())));
    for (number, is_fork, head) in [(own, false, "fix-it"), (fork, true, "theirs")] {
        let mut inbound = one("issue_comment", &pull_comment("created", "@spinney go"));
        inbound.place.0["number"] = number.into();
        story.adapter.complete(&mut inbound).await.unwrap();
        let Event::Asked(request) = inbound.event else { panic!("{inbound:?}") };
        let pull = request.pull.unwrap();
        assert_eq!((pull.number, pull.is_fork, pull.head.unwrap().as_str()), (number, is_fork, head));
        assert!(pull.sha.is_some());
    }
    let asked = story.server.exchanges().len();
    for payload in [comment("created", "@spinney go"), comment("deleted", "@spinney go")] {
        let mut inbound = one("issue_comment", &payload);
        let before = inbound.clone();
        story.adapter.complete(&mut inbound).await.unwrap();
        assert_eq!(inbound, before);
    }
    assert_eq!(story.server.exchanges().len(), asked, "what is known is not asked for");
}

#[tokio::test]
async fn the_issues_that_a_pull_request_closes_are_read_from_its_text_of_now() {
    let forge = TestForge::github("acme/app");
    let adapter = adapter_at(&forge);
    let number = forge.open_with("fix-it", "main", "Closes #3, fixes other/app#4");
    let mut inbound = one("issue_comment", &pull_comment("created", "@spinney go"));
    inbound.place.0["number"] = number.into();
    adapter.complete(&mut inbound).await.unwrap();
    let Event::Asked(request) = inbound.event else { panic!("{inbound:?}") };
    assert_eq!((&*request.links, &*request.pull.unwrap().closes), (&[Work::issue(3)][..], &[Work::issue(3)][..]));
}

#[tokio::test]
async fn an_app_speaks_as_itself() {
    let story = Story::new();
    story.server.install_app();
    let mut options = options(&story.server.api_url(), "not used");
    let private_key = Secret::new(include_str!("../../../../spinney-forge/tests/keys/pkcs1.pem"));
    options.app = Some(GithubApp { id: "12345".to_owned(), private_key });
    let adapter = GithubAdapter::new(&options).unwrap();
    let sent = adapter.post(&story.place, "a", &plain("one")).await.unwrap();
    story.server.revoke_app_tokens();
    adapter.edit(&story.place, &sent, &plain("two")).await.unwrap();
    assert_eq!(story.shown(), ["two"]);
}

#[tokio::test]
async fn every_kind_of_text_is_written_in_githubs_markdown() {
    let story = Story::new();
    let message = Message::new()
        .strong("issue-42")
        .plain(" is ready: branch ")
        .code("agent/coder/issue-42")
        .plain(", shared with #99. <b>@mona</b> *x*")
        .line()
        .link("the [job]", "https://spinney.example/jobs/1?a=<b>")
        .link(" bad", "javascript:alert(1)")
        .block("a\n```\nb @mona")
        .prose("Fixed **it**, @mona. <!-- hidden -->\n\n```rust\n@x");
    story.post("a", &message).await;
    let expected =
        "**issue-42** is ready: branch `agent/coder/issue-42`, shared with #99. \\<b\\>@\u{200b}mona\\</b\\> \\*x\\*
[the \\[job\\]](<https://spinney.example/jobs/1?a=%3Cb%3E>) bad

````
a
```
b @mona
````

Fixed **it**, @\u{200b}mona.

```rust
@x
```";
    let shown = story.shown()[0].lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
    assert_eq!(shown, expected);
}
