//! How a job's branch is named: a text with placeholders, checked when it is read.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::template::{InvalidTemplate, Piece, Template, placeholders};
use crate::names::{MAX_GENERATED_BYTES, for_message, short_hash, shorten, slug};
use crate::{AgentName, BranchName, InvalidBranchName, Timestamp, Work, WorkKind};

placeholders!(
    /// What a branch pattern can name.
    BranchPlaceholder {
        Agent = "agent",
        /// The workspace's name. Without a work item, the schedule and the date, or `job-` and the job.
        WorkItem = "workItem",
        /// The work's key; without a work item, the job.
        Key = "key",
        JobId = "jobId",
        /// Nothing for a job that no schedule started.
        ScheduleName = "scheduleName",
        Date = "date",
        Time = "time",
        Rand = "rand",
    }
);

/// A valid pattern: known placeholders, and between them only what generated names are made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BranchPattern(Template<BranchPlaceholder>);

/// What a branch is named by.
#[derive(Debug, Clone, Copy)]
pub struct BranchValues<'a> {
    pub agent: &'a AgentName,
    /// None, or work of kind `job`: there is no work item.
    pub work: Option<&'a Work>,
    pub job_id: &'a str,
    pub schedule: Option<&'a str>,
    pub at: Timestamp,
    /// A few random letters and digits.
    pub rand: &'a str,
}

/// A text that is no pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidBranchPattern {
    #[error(transparent)]
    Template(#[from] InvalidTemplate),
    #[error("`{}` has a character that generated names don't have: they use `a-z`, `0-9`, `.`, `_`, `/` and `-`", for_message(.0))]
    Character(String),
    #[error("`{}` gives no branch name: {reason}", for_message(.pattern))]
    Branch { pattern: String, reason: &'static str },
}

impl BranchPattern {
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    #[must_use]
    pub fn uses(&self, placeholder: BranchPlaceholder) -> bool {
        self.0.uses(placeholder)
    }

    /// The branch's name, shortened where it is too long. An error only where the values leave nothing of it, or make of
    /// it what git reserves, as `refs/x`.
    pub fn render(&self, values: &BranchValues<'_>) -> Result<BranchName, InvalidBranchName> {
        let name = self.0.expand(|placeholder| values.of(placeholder));
        shorten(&tidy(&name), MAX_GENERATED_BYTES).parse()
    }
}

impl BranchValues<'_> {
    fn of(&self, placeholder: BranchPlaceholder) -> String {
        let work = self.work.filter(|work| work.kind != WorkKind::Job);
        let (date, time) = date_and_time(self.at);
        match placeholder {
            BranchPlaceholder::Agent => self.agent.to_string(),
            BranchPlaceholder::WorkItem => match (work, self.schedule) {
                (Some(work), _) => work.workspace_name().as_str().to_owned(),
                (None, Some(schedule)) => format!("{}/{date}", part(schedule)),
                (None, None) => format!("job-{}", part(self.job_id)),
            },
            BranchPlaceholder::Key => part(work.map_or(self.job_id, |work| &work.key)),
            BranchPlaceholder::JobId => part(self.job_id),
            BranchPlaceholder::ScheduleName => self.schedule.map(part).unwrap_or_default(),
            BranchPlaceholder::Date => date,
            BranchPlaceholder::Time => time,
            BranchPlaceholder::Rand => part(self.rand),
        }
    }
}

/// Any text as a part of a generated name.
fn part(text: &str) -> String {
    slug(text, MAX_GENERATED_BYTES).unwrap_or_else(|| short_hash(text))
}

/// `2026-11-15` and `15-04-05`.
fn date_and_time(at: Timestamp) -> (String, String) {
    let text = at.to_string();
    let (date, time) = text.split_once('T').unwrap_or((&text, ""));
    (date.to_owned(), time.trim_end_matches('Z').replace(':', "-"))
}

/// Drops what a value that is empty leaves behind: doubled slashes and dots, and what no part may begin or end with.
fn tidy(name: &str) -> String {
    let edges = ['.', '-'];
    let parts = name.split('/').map(|part| {
        let part = part.split('.').filter(|piece| !piece.is_empty()).collect::<Vec<_>>().join(".");
        part.trim_matches(edges).trim_end_matches(".lock").trim_matches(edges).to_owned()
    });
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/")
}

impl FromStr for BranchPattern {
    type Err = InvalidBranchPattern;

    fn from_str(text: &str) -> Result<Self, InvalidBranchPattern> {
        let template: Template<BranchPlaceholder> = text.parse()?;
        let generated = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._/-".contains(c);
        let plain = |piece: &Piece<_>| matches!(piece, Piece::Text(text) if !text.chars().all(generated));
        if template.pieces().iter().any(plain) {
            return Err(InvalidBranchPattern::Character(text.to_owned()));
        }
        let example = template.expand(|_| "x".to_owned());
        match shorten(&example, MAX_GENERATED_BYTES).parse::<BranchName>() {
            Ok(_) => Ok(Self(template)),
            Err(error) => Err(InvalidBranchPattern::Branch { pattern: text.to_owned(), reason: error.reason }),
        }
    }
}

impl TryFrom<String> for BranchPattern {
    type Error = InvalidBranchPattern;

    fn try_from(text: String) -> Result<Self, InvalidBranchPattern> {
        text.parse()
    }
}

impl From<BranchPattern> for String {
    fn from(pattern: BranchPattern) -> Self {
        pattern.0.into()
    }
}

impl fmt::Display for BranchPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The branch of job `7k2` of the agent `coder`.
    fn branch(pattern: &str, work: Option<&Work>, schedule: Option<&str>) -> String {
        let agent = "coder".parse().unwrap();
        let at = Timestamp::from_millisecond(1_700_000_000_123);
        let values = BranchValues { agent: &agent, work, job_id: "7k2", schedule, at, rand: "zq9" };
        pattern.parse::<BranchPattern>().unwrap().render(&values).unwrap().to_string()
    }

    #[test]
    fn each_placeholder_has_its_value() {
        let issue = Work::issue(42);
        let thread = Work::thread("C123:17.5").unwrap();
        for (pattern, work, schedule, name) in [
            ("agent/{agent}/{workItem}", Some(&issue), None, "agent/coder/issue-42"),
            ("agent/{agent}/{workItem}", Some(&issue), Some("nightly"), "agent/coder/issue-42"),
            ("agent/{agent}/{workItem}", None, Some("Nightly run"), "agent/coder/nightly-run/2023-11-14"),
            ("agent/{agent}/{workItem}", None, None, "agent/coder/job-7k2"),
            ("bot.{key}_{jobId}", Some(&issue), None, "bot.42_7k2"),
            ("{key}", Some(&thread), None, "c123-17-5"),
            ("{key}", None, None, "7k2"),
            ("{date}/{time}-{rand}", None, None, "2023-11-14/22-13-20-zq9"),
            ("x/{scheduleName}/{jobId}", None, None, "x/7k2"),
            ("x/{scheduleName}-{jobId}", None, None, "x/7k2"),
            ("{agent}.{scheduleName}.x", None, None, "coder.x"),
            ("{jobId}.lock{scheduleName}/x", None, None, "7k2/x"),
        ] {
            assert_eq!(branch(pattern, work, schedule), name);
        }
        let job = Work { kind: WorkKind::Job, key: "7k2".to_owned() };
        assert_eq!(branch("a/{workItem}", Some(&job), None), "a/job-7k2");
    }

    #[test]
    fn long_names_are_shortened_and_stay_apart() {
        let (one, other) = (format!("{} a", "long ".repeat(60)), format!("{} b", "long ".repeat(60)));
        let branch = |schedule: &str| branch("agent/{agent}/{scheduleName}", None, Some(schedule));
        assert!(branch(&one).len() <= MAX_GENERATED_BYTES);
        assert_ne!(branch(&one), branch(&other));
    }

    #[test]
    fn wrong_patterns_are_refused() {
        let character = "has a character that generated names don't have: they use `a-z`, `0-9`, `.`, `_`, `/` and `-`";
        for (pattern, message) in [
            ("agent/{agnt}", "`{agnt}` is no placeholder: did you mean `{agent}`?".to_owned()),
            ("agent/{workitem}", "`{workitem}` is no placeholder: did you mean `{workItem}`?".to_owned()),
            ("agent/{jobId", "`agent/{jobId` has an unmatched brace".to_owned()),
            ("Agent/{jobId}", format!("`Agent/{{jobId}}` {character}")),
            ("a b/{jobId}", format!("`a b/{{jobId}}` {character}")),
            ("", "`` gives no branch name: it is empty".to_owned()),
            ("-{jobId}", "`-{jobId}` gives no branch name: it starts with a dash".to_owned()),
            ("a..{jobId}", "`a..{jobId}` gives no branch name: it contains `..` or `@{`".to_owned()),
            ("refs/{jobId}", "`refs/{jobId}` gives no branch name: git gives it another meaning".to_owned()),
        ] {
            assert_eq!(pattern.parse::<BranchPattern>().unwrap_err().to_string(), message);
        }
        for pattern in ["/{jobId}", "{jobId}/", "a//{jobId}", "{jobId}.lock", ".{jobId}"] {
            assert!(pattern.parse::<BranchPattern>().is_err(), "{pattern}");
        }
    }

    #[test]
    fn values_that_make_no_branch_of_it_are_an_error() {
        let pattern: BranchPattern = "{scheduleName}/x".parse().unwrap();
        let agent = "coder".parse().unwrap();
        let at = Timestamp::from_millisecond(0);
        let values = BranchValues { agent: &agent, work: None, job_id: "7k2", schedule: Some("refs"), at, rand: "" };
        assert!(pattern.render(&values).is_err());
        let nothing: BranchPattern = "{scheduleName}".parse().unwrap();
        assert!(nothing.render(&BranchValues { schedule: None, ..values }).is_err());
    }

    proptest! {
        #[test]
        fn what_a_pattern_gives_is_a_generated_name(
            pattern in "(agent/)?(\\{(agent|workItem|key|jobId|scheduleName|date|time|rand)\\}[a-z./_-]{0,3}){1,4}[a-z]",
            schedule in proptest::option::of(".{0,200}"),
            text in ".{1,200}",
            rand in ".{0,10}",
        ) {
            let Ok(pattern) = pattern.parse::<BranchPattern>() else { return Ok(()) };
            let work = Work::task(&text).ok();
            let agent = "coder".parse().unwrap();
            let at = Timestamp::from_millisecond(0);
            let (work, schedule) = (work.as_ref(), schedule.as_deref());
            let values = BranchValues { agent: &agent, work, job_id: "7k2", schedule, at, rand: &rand };
            let name = pattern.render(&values).unwrap();
            prop_assert!(name.as_str().len() <= MAX_GENERATED_BYTES);
            let generated = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._/-".contains(c);
            prop_assert!(name.as_str().chars().all(generated), "{name}");
        }
    }
}
