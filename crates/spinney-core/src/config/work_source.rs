//! Where a schedule's work comes from. Written as a table whose `type` says which kind it is.

use serde::{Deserialize, Serialize};

use crate::names::for_message;

/// GitHub's own limit.
const MAX_LABEL_CHARS: usize = 50;
const MAX_TEAM_BYTES: usize = 20;

/// A place with items of work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum WorkSourceConfig {
    Github(GithubSource),
    Linear(LinearSource),
    File(FileSource),
}

impl std::fmt::Display for WorkSourceConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Github(source) => write!(f, "issues `{}` {}", source.labels.ready, source.repo),
            Self::Linear(source) => write!(f, "Linear issues `{}` {}", source.labels.ready, source.team),
            Self::File(source) => write!(f, "files in {}", source.path),
        }
    }
}

/// Issues that have a label, on the forge that the agent's repository is on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GithubSource {
    /// `owner/name`; empty: the agent's repository.
    pub repo: String,
    pub labels: SourceLabels,
    /// An issue with one of these is left alone.
    pub exclude_labels: Vec<String>,
}

/// Issues of a team on Linear that have a label.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinearSource {
    /// What its issues' names begin with, as `ENG` of `ENG-12`.
    pub team: String,
    #[serde(default)]
    pub labels: SourceLabels,
    /// An issue with one of these is left alone.
    #[serde(default)]
    pub exclude_labels: Vec<String>,
}

/// The labels between which an issue moves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SourceLabels {
    pub ready: String,
    pub in_progress: String,
}

/// A directory of Markdown files, each a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileSource {
    /// Relative to the main checkout, or absolute.
    pub path: String,
}

impl Default for SourceLabels {
    fn default() -> Self {
        Self { ready: "ready".to_owned(), in_progress: "agent-working".to_owned() }
    }
}

impl WorkSourceConfig {
    fn fault(&self) -> Option<String> {
        match self {
            Self::File(file) if file.path.is_empty() || file.path.contains(char::is_control) => {
                Some(format!("`{}` is not the path of a directory", for_message(&file.path)))
            }
            Self::File(_) => None,
            Self::Github(github) => github.fault(),
            Self::Linear(linear) => linear.fault(),
        }
    }

    /// Whether its files may lie outside of the checkout, by the look of the path alone.
    pub(super) fn leads_out(&self) -> bool {
        match self {
            Self::File(FileSource { path }) => path.starts_with(['/', '~']) || path.split('/').any(|part| part == ".."),
            Self::Github(_) | Self::Linear(_) => false,
        }
    }
}

impl GithubSource {
    fn fault(&self) -> Option<String> {
        if !self.repo.is_empty() && self.repo.parse::<crate::RepositoryName>().is_err() {
            return Some(format!("`{}` is not a repository such as `acme/app`", for_message(&self.repo)));
        }
        self.labels.fault(&self.exclude_labels)
    }
}

impl LinearSource {
    fn fault(&self) -> Option<String> {
        let is_key = (1..=MAX_TEAM_BYTES).contains(&self.team.len())
            && self.team.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit());
        if !is_key {
            return Some(format!("`{}` is not the key of a team such as `ENG`", for_message(&self.team)));
        }
        self.labels.fault(&self.exclude_labels)
    }
}

impl SourceLabels {
    fn fault(&self, exclude_labels: &[String]) -> Option<String> {
        let is_label = |label: &String| {
            let length = label.chars().count();
            // The list of a query is separated by commas.
            (1..=MAX_LABEL_CHARS).contains(&length) && !label.contains(|c: char| c.is_control() || c == ',')
        };
        let mut all = [&self.ready, &self.in_progress].into_iter().chain(exclude_labels);
        if let Some(wrong) = all.find(|label| !is_label(label)) {
            return Some(format!("`{}` is not a label: at most 50 characters, and no comma", for_message(wrong)));
        }
        let same = |a: &str, b: &str| a.to_lowercase() == b.to_lowercase();
        if same(&self.ready, &self.in_progress) {
            return Some("`ready` and `in_progress` are the same label".to_owned());
        }
        let excluded = exclude_labels.iter().find(|label| same(label, &self.ready));
        excluded.map(|label| format!("`{}` is `ready` and excluded", for_message(label)))
    }
}

/// A table that may be empty: none then.
pub(super) mod optional {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::WorkSourceConfig;

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<WorkSourceConfig>, D::Error> {
        let table = toml::Table::deserialize(deserializer)?;
        if table.is_empty() {
            return Ok(None);
        }
        let source: WorkSourceConfig =
            table.try_into().map_err(|error: toml::de::Error| D::Error::custom(error.message()))?;
        match source.fault() {
            Some(fault) => Err(D::Error::custom(fault)),
            None => Ok(Some(source)),
        }
    }

    pub fn serialize<S: Serializer>(source: &Option<WorkSourceConfig>, serializer: S) -> Result<S::Ok, S::Error> {
        match source {
            Some(source) => source.serialize(serializer),
            None => toml::Table::new().serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::schema::tests::schedule_fault;
    use super::*;

    fn fault(text: &str) -> Option<String> {
        let table: toml::Table = format!("value = {text}").parse().unwrap();
        schedule_fault("work_source", &table["value"])
    }

    #[test]
    fn every_key_but_the_type_can_be_left_out() {
        for text in [
            "{}",
            "{ type = 'github' }",
            "{ type = 'github', repo = 'acme/app', labels = { ready = 'to do' }, exclude_labels = ['wontfix'] }",
            "{ type = 'linear', team = 'ENG' }",
            "{ type = 'linear', team = 'A1', labels = { ready = 'to do' }, exclude_labels = ['wontfix'] }",
            "{ type = 'file', path = '/srv/tasks' }",
        ] {
            assert_eq!(fault(text), None, "{text}");
        }
        let github: WorkSourceConfig = toml::from_str("type = 'github'").unwrap();
        assert_eq!(github, WorkSourceConfig::Github(GithubSource::default()));
        let WorkSourceConfig::Github(github) = github else { unreachable!() };
        assert_eq!((github.labels.ready.as_str(), github.labels.in_progress.as_str()), ("ready", "agent-working"));
    }

    #[test]
    fn wrong_ones_are_refused_with_a_reason() {
        let label = "is not a label: at most 50 characters, and no comma";
        for (text, message) in [
            ("{ path = 'x' }", "missing field `type`".to_owned()),
            ("{ type = 'jira' }", "unknown variant `jira`, expected one of `github`, `linear`, `file`".to_owned()),
            ("{ type = 'file' }", "missing field `path`".to_owned()),
            ("{ type = 'file', path = '' }", "`` is not the path of a directory".to_owned()),
            ("{ type = 'file', pth = 'x' }", "unknown field `pth`, expected `path`".to_owned()),
            (
                "{ type = 'github', label = 'x' }",
                "unknown field `label`, expected one of `repo`, `labels`, `exclude_labels`".to_owned(),
            ),
            ("{ type = 'github', repo = 'app' }", "`app` is not a repository such as `acme/app`".to_owned()),
            ("{ type = 'github', labels = { ready = '' } }", format!("`` {label}")),
            ("{ type = 'github', exclude_labels = ['a,b'] }", format!("`a,b` {label}")),
            (
                "{ type = 'github', labels = { ready = 'Agent-Working' } }",
                "`ready` and `in_progress` are the same label".to_owned(),
            ),
            ("{ type = 'linear' }", "missing field `team`".to_owned()),
            (
                "{ type = 'linear', team = 'Engineers' }",
                "`Engineers` is not the key of a team such as `ENG`".to_owned(),
            ),
            ("{ type = 'linear', team = 'ENG', labels = { in_progress = 'a,b' } }", format!("`a,b` {label}")),
            ("{ type = 'github', exclude_labels = ['READY'] }", "`READY` is `ready` and excluded".to_owned()),
        ] {
            assert_eq!(fault(text).unwrap(), message);
        }
    }

    #[test]
    fn it_can_be_kept_as_json() {
        for text in ["type = 'github'\nrepo = 'a/b'", "type = 'linear'\nteam = 'ENG'", "type = 'file'\npath = 'x'"] {
            let source: WorkSourceConfig = toml::from_str(text).unwrap();
            let json = serde_json::to_string(&source).unwrap();
            assert_eq!(serde_json::from_str::<WorkSourceConfig>(&json).unwrap(), source);
        }
    }
}
