//! What the forge remembers.

use std::collections::BTreeMap;

/// Where the branch of a pull request is, when not in the repository itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fork {
    /// As `somebody/app`.
    At(String),
    /// Deleted.
    Gone,
}

/// A pull request as the forge knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestPullRequest {
    pub number: u64,
    pub title: String,
    pub body: String,
    pub head: String,
    pub base: String,
    pub fork: Option<Fork>,
    /// `open`, `closed` or `merged`.
    pub state: &'static str,
    /// The branch's commit when it was last open.
    pub head_commit: String,
    pub merge_commit: Option<String>,
}

#[derive(Debug, Clone)]
pub(super) struct TestIssue {
    pub number: u64,
    pub title: String,
    pub body: String,
    pub open: bool,
    pub labels: Vec<String>,
}

/// A comment on an issue as the forge knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestComment {
    pub id: u64,
    pub issue: u64,
    pub author: String,
    /// As GitHub calls it, as `MEMBER` or `NONE`.
    pub association: &'static str,
    pub body: String,
}

/// Somebody, and what they may do with the repository.
#[derive(Debug, Clone)]
pub(super) struct TestPerson {
    pub login: String,
    pub id: u64,
    /// As GitHub calls it: `admin`, `write`, `read`, `none`.
    pub permission: &'static str,
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub pull_requests: Vec<TestPullRequest>,
    pub issues: Vec<TestIssue>,
    pub comments: Vec<TestComment>,
    pub people: Vec<TestPerson>,
    /// Tokens that were given to the installed app; none where no app is installed.
    pub app_tokens: Option<Vec<String>>,
    comment_ids: u64,
    /// The tips of branches of the repository itself.
    branches: BTreeMap<String, String>,
    numbers: u64,
}

impl State {
    pub fn next_number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// The tip of a branch; one made up, where nobody pushed.
    pub fn tip(&self, branch: &str) -> String {
        let made_up =
            || format!("{:040x}", branch.bytes().fold(7u64, |hash, byte| hash * 31 % 0xffff_ffff + u64::from(byte)));
        self.branches.get(branch).cloned().unwrap_or_else(made_up)
    }

    /// Moves a branch, and the pull requests that are open from it.
    pub fn push(&mut self, branch: &str, commit: &str) {
        self.branches.insert(branch.to_owned(), commit.to_owned());
        for pull in &mut self.pull_requests {
            if pull.head == branch && pull.fork.is_none() && pull.state == "open" {
                pull.head_commit = commit.to_owned();
            }
        }
    }

    pub fn open(&mut self, title: &str, body: &str, head: &str, base: &str, fork: Option<Fork>) -> TestPullRequest {
        let pull = TestPullRequest {
            number: self.next_number(),
            title: title.to_owned(),
            body: body.to_owned(),
            head: head.to_owned(),
            base: base.to_owned(),
            head_commit: self.tip(head),
            fork,
            state: "open",
            merge_commit: None,
        };
        self.pull_requests.push(pull.clone());
        pull
    }

    pub fn has_open(&self, head: &str, base: &str) -> bool {
        let same = |pull: &&TestPullRequest| pull.head == head && pull.base == base && pull.fork.is_none();
        self.pull_requests.iter().filter(same).any(|pull| pull.state == "open")
    }

    pub fn pull_request(&self, number: &str) -> Option<&TestPullRequest> {
        self.pull_requests.iter().find(|pull| pull.number.to_string() == number)
    }

    /// Those of which this holds, newest first.
    pub fn newest(&self, holds: impl Fn(&TestPullRequest) -> bool) -> Vec<&TestPullRequest> {
        self.pull_requests.iter().rev().filter(|pull| holds(pull)).collect()
    }

    pub fn comment(&mut self, issue: u64, author: &str, association: &'static str, body: &str) -> TestComment {
        self.comment_ids += 1;
        let (id, author, body) = (9000 + self.comment_ids, author.to_owned(), body.to_owned());
        let comment = TestComment { id, issue, author, association, body };
        self.comments.push(comment.clone());
        comment
    }

    /// The number of an issue or pull request, where there is one.
    pub fn numbered(&self, number: &str) -> Option<u64> {
        let pull = self.pull_request(number).map(|pull| pull.number);
        self.issue(number).map(|issue| issue.number).or(pull)
    }

    /// Another token for the app.
    pub fn app_token(&mut self) -> Option<String> {
        let tokens = self.app_tokens.as_mut()?;
        tokens.push(format!("app-t0ken-{}-that-nobody-may-see", tokens.len() + 1));
        tokens.last().cloned()
    }

    pub fn issue_mut(&mut self, number: &str) -> Option<&mut TestIssue> {
        self.issues.iter_mut().find(|issue| issue.number.to_string() == number)
    }

    pub fn issue(&self, number: &str) -> Option<&TestIssue> {
        self.issues.iter().find(|issue| issue.number.to_string() == number)
    }
}
