//! Texts with placeholders in braces: `agent: {summary}`. No shell, no escapes, nothing nested.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::nearest::Suggestion;
use crate::names::for_message;
use crate::workspace::UnknownWord;

/// What a template of one kind can name.
pub trait Placeholders: FromStr<Err = UnknownWord> + Copy + PartialEq + 'static {
    /// The names of all of them.
    fn names() -> Vec<&'static str>;
}

/// A text whose placeholders are all known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[serde(bound(deserialize = "P: Placeholders", serialize = "P: Clone"))]
pub struct Template<P> {
    text: String,
    pieces: Vec<Piece<P>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece<P> {
    Text(String),
    Placeholder(P),
}

/// A text that is no template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTemplate {
    #[error("`{}` has an unmatched brace", for_message(.0))]
    Brace(String),
    #[error("`{{{}}}` is no placeholder: {suggestion}", for_message(.name))]
    Unknown { name: String, suggestion: Suggestion },
}

impl<P> Template<P> {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub(super) fn pieces(&self) -> &[Piece<P>] {
        &self.pieces
    }
}

impl<P: Placeholders> Template<P> {
    #[must_use]
    pub fn uses(&self, placeholder: P) -> bool {
        self.pieces.contains(&Piece::Placeholder(placeholder))
    }

    /// Puts values in the placeholders' places, as they are: braces in a value name nothing.
    pub fn expand(&self, mut value: impl FnMut(P) -> String) -> String {
        let pieces = self.pieces.iter().map(|piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Placeholder(placeholder) => value(*placeholder),
        });
        pieces.collect()
    }
}

fn pieces<P: Placeholders>(template: &str) -> Result<Vec<Piece<P>>, InvalidTemplate> {
    let brace = || InvalidTemplate::Brace(template.to_owned());
    let mut pieces = Vec::new();
    let mut rest = template;
    while let Some(start) = rest.find(['{', '}']) {
        let (text, tail) = rest.split_at(start);
        if !text.is_empty() {
            pieces.push(Piece::Text(text.to_owned()));
        }
        let (name, tail) = tail.strip_prefix('{').and_then(|tail| tail.split_once('}')).ok_or_else(brace)?;
        if name.contains('{') {
            return Err(brace());
        }
        pieces.push(Piece::Placeholder(name.parse().map_err(|_| unknown::<P>(name))?));
        rest = tail;
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest.to_owned()));
    }
    Ok(pieces)
}

fn unknown<P: Placeholders>(name: &str) -> InvalidTemplate {
    let in_braces = |name: String| format!("{{{name}}}");
    let suggestion = match Suggestion::new(name, P::names().into_iter()) {
        Suggestion::Nearest(name) => Suggestion::Nearest(in_braces(name)),
        Suggestion::Known(names) => Suggestion::Known(names.into_iter().map(in_braces).collect()),
    };
    InvalidTemplate::Unknown { name: name.to_owned(), suggestion }
}

impl<P: Placeholders> FromStr for Template<P> {
    type Err = InvalidTemplate;

    fn from_str(text: &str) -> Result<Self, InvalidTemplate> {
        Ok(Self { text: text.to_owned(), pieces: pieces(text)? })
    }
}

impl<P: Placeholders> TryFrom<String> for Template<P> {
    type Error = InvalidTemplate;

    fn try_from(text: String) -> Result<Self, InvalidTemplate> {
        text.parse()
    }
}

impl<P> From<Template<P>> for String {
    fn from(template: Template<P>) -> Self {
        template.text
    }
}

impl<P> fmt::Display for Template<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Makes the words of a kind of template, with the names that its users write.
macro_rules! placeholders {
    ($(#[$doc:meta])* $name:ident $words:tt) => {
        $crate::workspace::words!($(#[$doc])* $name $words);

        impl $crate::config::template::Placeholders for $name {
            fn names() -> Vec<&'static str> {
                Self::ALL.iter().map(|placeholder| placeholder.as_str()).collect()
            }
        }
    };
}
pub(super) use placeholders;

placeholders!(
    /// What a commit's message can name.
    CommitPlaceholder {
        /// What the agent said it did.
        Summary = "summary",
        JobId = "jobId",
        /// The workspace's name.
        WorkItem = "workItem",
    }
);

placeholders!(
    /// What a pull request's title and text can name.
    PullRequestPlaceholder {
        /// The work's title.
        Title = "title",
        /// What the agent said it did.
        Summary = "summary",
        /// `Fixes #42` for an issue, else nothing.
        Closes = "closes",
        /// The workspace's name.
        WorkItem = "workItem",
        JobId = "jobId",
        Agent = "agent",
        Branch = "branch",
    }
);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Commit = Template<CommitPlaceholder>;

    #[test]
    fn values_are_put_in_once_and_verbatim() {
        let template: Commit = "agent: {summary} ({workItem})\n".parse().unwrap();
        let hostile = "{jobId} $(touch x) {";
        let text = template.expand(|placeholder| match placeholder {
            CommitPlaceholder::Summary => hostile.to_owned(),
            other => other.to_string().to_uppercase(),
        });
        assert_eq!(text, "agent: {jobId} $(touch x) { (WORKITEM)\n");
        assert!(template.uses(CommitPlaceholder::WorkItem) && !template.uses(CommitPlaceholder::JobId));
    }

    #[test]
    fn every_documented_placeholder_is_known() {
        for text in ["{summary} {jobId} {workItem}", "", "plain"] {
            assert_eq!(text.parse::<Commit>().unwrap().as_str(), text);
        }
        let all = "{title} {summary} {closes} {workItem} {jobId} {agent} {branch}";
        assert_eq!(all.parse::<Template<PullRequestPlaceholder>>().unwrap().to_string(), all);
    }

    #[test]
    fn wrong_templates_name_the_nearest_placeholder() {
        for (text, message) in [
            ("{sumary}", "`{sumary}` is no placeholder: did you mean `{summary}`?"),
            ("{workitem}", "`{workitem}` is no placeholder: did you mean `{workItem}`?"),
            ("{job_id}", "`{job_id}` is no placeholder: did you mean `{jobId}`?"),
            ("{title}", "`{title}` is no placeholder: use one of `{summary}`, `{jobId}`, `{workItem}`"),
            ("{}", "`{}` is no placeholder: use one of `{summary}`, `{jobId}`, `{workItem}`"),
            ("a } b", "`a } b` has an unmatched brace"),
            ("a { b", "`a { b` has an unmatched brace"),
            ("{{summary}}", "`{{summary}}` has an unmatched brace"),
        ] {
            assert_eq!(text.parse::<Commit>().unwrap_err().to_string(), message);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_template_that_says_itself_or_a_one_line_error(text in "(?s)[a-zA-Z{}\n. ]{0,40}") {
            match text.parse::<Commit>() {
                Ok(template) => prop_assert_eq!(template.expand(|name| format!("{{{name}}}")), text),
                Err(error) => prop_assert!(!error.to_string().contains(char::is_control), "{}", error),
            }
        }
    }
}
