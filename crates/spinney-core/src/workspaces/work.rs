//! What a workspace is for: a kind and a key within a repository.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::names::{MAX_GENERATED_BYTES, earlier_slug, for_message, short_hash, slug};
use crate::{BranchName, WorkspaceName};

/// Room that a kind's prefix takes of a generated name.
const PREFIX_BYTES: usize = 8;
const MAX_KEY_BYTES: usize = 1024;
const MAX_TASK_BYTES: usize = 64 * MAX_KEY_BYTES;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkKind {
    Issue,
    Pr,
    Review,
    Thread,
    Task,
    Job,
}

impl WorkKind {
    pub const ALL: [Self; 6] = [Self::Issue, Self::Pr, Self::Review, Self::Thread, Self::Task, Self::Job];

    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Issue => "issue",
            Self::Pr => "pr",
            Self::Review => "review",
            Self::Thread => "thread",
            Self::Task => "task",
            Self::Job => "job",
        }
    }
}

impl fmt::Display for WorkKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for WorkKind {
    type Err = InvalidWork;

    fn from_str(text: &str) -> Result<Self, InvalidWork> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or_else(|| InvalidWork::Kind(text.to_owned()))
    }
}

/// A piece of work within one repository.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Work {
    pub kind: WorkKind,
    pub key: String,
}

/// A text that names no work, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidWork {
    #[error("`{}` is not a kind of work", for_message(.0))]
    Kind(String),
    #[error("`{}` is not the number of an issue or pull request", for_message(.0))]
    Number(String),
    #[error("the task `{}` has no letter or digit to name it by", for_message(.0))]
    Task(String),
    #[error("the text of a task has at most {} bytes: put a long one into the prompt", MAX_TASK_BYTES)]
    LongTask,
    #[error("`{}` can't identify a thread: it is empty, too long or has control characters", for_message(.0))]
    Thread(String),
    #[error("`{}` can't identify a conversation: it is empty, too long or has control characters", for_message(.0))]
    Conversation(String),
    #[error("`{}` is not a link of the form `42`, `issue:42` or `pr:9`", for_message(.0))]
    Link(String),
}

impl Work {
    #[must_use]
    pub fn issue(number: u64) -> Self {
        Self { kind: WorkKind::Issue, key: number.to_string() }
    }

    #[must_use]
    pub fn pr(number: u64) -> Self {
        Self { kind: WorkKind::Pr, key: number.to_string() }
    }

    #[must_use]
    pub fn review(number: u64) -> Self {
        Self { kind: WorkKind::Review, key: number.to_string() }
    }

    /// A conversation's work; the key is the id whole, so that long ids with a shared beginning stay distinct.
    pub fn thread(id: &str) -> Result<Self, InvalidWork> {
        let id = id.trim();
        if id.is_empty() || id.len() > MAX_KEY_BYTES || id.chars().any(char::is_control) {
            return Err(InvalidWork::Thread(id.to_owned()));
        }
        Ok(Self { kind: WorkKind::Thread, key: id.to_owned() })
    }

    /// A task described in words; its key is the slug, so that the same words are the same work.
    pub fn task(text: &str) -> Result<Self, InvalidWork> {
        match slug(text, MAX_GENERATED_BYTES - PREFIX_BYTES) {
            Some(_) if text.len() > MAX_TASK_BYTES => Err(InvalidWork::LongTask),
            Some(key) => Ok(Self { kind: WorkKind::Task, key }),
            None => Err(InvalidWork::Task(text.to_owned())),
        }
    }

    /// The work that a branch named by a person stands for.
    #[must_use]
    pub fn branch(branch: &BranchName) -> Self {
        let key =
            slug(branch.as_str(), MAX_GENERATED_BYTES - PREFIX_BYTES).unwrap_or_else(|| short_hash(branch.as_str()));
        Self { kind: WorkKind::Task, key }
    }

    /// The same task, or task of a branch, as earlier versions named it; none where the name is the same.
    #[must_use]
    pub fn named_earlier(&self, text: &str) -> Option<Self> {
        let is_of_text = self.kind == WorkKind::Task && slug(text, MAX_GENERATED_BYTES - PREFIX_BYTES)? == self.key;
        let key = earlier_slug(text, MAX_GENERATED_BYTES - PREFIX_BYTES)?;
        (is_of_text && key != self.key).then_some(Self { kind: WorkKind::Task, key })
    }

    /// Parses a link to other work of the same repository: `42`, `issue:42`, `pr:9`.
    pub fn link(text: &str) -> Result<Self, InvalidWork> {
        let (kind, number) = text.split_once(':').unwrap_or(("issue", text));
        let number = parse_number(number).map_err(|_| InvalidWork::Link(text.to_owned()))?;
        match kind {
            "issue" => Ok(Self::issue(number)),
            "pr" => Ok(Self::pr(number)),
            _ => Err(InvalidWork::Link(text.to_owned())),
        }
    }

    /// The workspace's readable name.
    #[must_use]
    pub fn workspace_name(&self) -> WorkspaceName {
        let key = &self.key;
        WorkspaceName::new(match self.kind {
            WorkKind::Issue => format!("issue-{key}"),
            WorkKind::Pr => format!("pr-{key}"),
            WorkKind::Review => format!("pr-{key}-review"),
            WorkKind::Thread => format!("thread-{}", short_hash(key)),
            WorkKind::Task => format!("task-{key}"),
            WorkKind::Job => format!("job-{key}"),
        })
    }

    /// Whether it is one that a request could have made: its name is a name, and leads to no other directory.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let name = self.workspace_name();
        let is_text = !self.key.is_empty() && self.key.len() <= MAX_KEY_BYTES && !self.key.contains(char::is_control);
        is_text && !name.as_str().contains('/') && name.as_str().parse::<BranchName>().is_ok()
    }

    /// The branch that the work gets when nobody names one. A pull request's own branch is not known here: this is the
    /// branch for one from a fork.
    #[must_use]
    pub fn default_branch(&self) -> BranchName {
        let name = match self.kind {
            WorkKind::Pr => format!("pr-{}-review", self.key),
            _ => self.workspace_name().as_str().to_owned(),
        };
        name.parse().expect("a generated name is a valid branch")
    }
}

/// Checks a platform's name for a conversation, which is kept as it is.
pub fn parse_conversation(text: &str) -> Result<String, InvalidWork> {
    if text.trim().is_empty() || text.len() > MAX_KEY_BYTES || text.chars().any(char::is_control) {
        return Err(InvalidWork::Conversation(text.to_owned()));
    }
    Ok(text.to_owned())
}

/// Parses the number of an issue or pull request; zero is none.
pub fn parse_number(text: &str) -> Result<u64, InvalidWork> {
    match text.parse::<u64>() {
        Ok(number) if number > 0 && text.bytes().all(|byte| byte.is_ascii_digit()) => Ok(number),
        _ => Err(InvalidWork::Number(text.to_owned())),
    }
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_its_documented_name_and_branch() {
        let table = [
            (Work::issue(42), "issue-42", "issue-42"),
            (Work::pr(99), "pr-99", "pr-99-review"),
            (Work::review(99), "pr-99-review", "pr-99-review"),
            (Work::task("Add dark mode").unwrap(), "task-add-dark-mode", "task-add-dark-mode"),
            (Work::branch(&"feature/Auth".parse().unwrap()), "task-feature-auth", "task-feature-auth"),
        ];
        for (work, name, branch) in table {
            assert_eq!(work.workspace_name().as_str(), name);
            assert_eq!(work.default_branch().as_str(), branch);
        }
    }

    #[test]
    fn a_thread_is_named_by_the_hash_of_its_whole_id() {
        let name = |id: &str| Work::thread(id).unwrap().workspace_name();
        assert_eq!(name("C123:17.5"), name("C123:17.5"));
        assert_ne!(name(&format!("{}1", "9".repeat(500))), name(&format!("{}2", "9".repeat(500))));
        assert_eq!(name("C123:17.5").as_str().len(), "thread-".len() + 8);
    }

    #[test]
    fn a_task_knows_its_earlier_name() {
        let work = Work::task("Le café").unwrap();
        assert_eq!(work.key, "le-cafe");
        let earlier = work.named_earlier("Le café").unwrap();
        assert!(earlier.key.starts_with("le-caf-"), "{earlier}");
        assert_eq!(work.named_earlier("another title"), None);
        assert_eq!(Work::task("plain").unwrap().named_earlier("plain"), None);
        assert_eq!(Work::issue(4).named_earlier("4"), None);
    }

    #[test]
    fn links_and_numbers_are_strict() {
        assert_eq!(Work::link("42").unwrap(), Work::issue(42));
        assert_eq!(Work::link("pr:9").unwrap(), Work::pr(9));
        for text in ["", "0", "-1", "+4", "4 2", "pr:", "task:1", "42:pr"] {
            assert!(Work::link(text).is_err(), "{text}");
        }
        assert!(Work::task("🎉").is_err());
        assert!(Work::thread("a\nb").is_err());
    }
}
