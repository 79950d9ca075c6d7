//! Where workspaces go: a path with placeholders, checked when it is read.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::template::{InvalidTemplate, Piece, Template, placeholders};
use crate::names::for_message;

placeholders!(
    /// What a template can name.
    Placeholder {
        /// Spinney's home.
        Home = "home",
        /// The repository's main checkout.
        Root = "root",
        /// The directory that holds the main checkout.
        Parent = "parent",
        Account = "account",
        Owner = "owner",
        Repo = "repo",
        /// The workspace's id; every template has it, so that no two workspaces share a directory.
        Id = "id",
        Name = "name",
        Branch = "branch",
        /// The agent that the workspace is made for; `-` where none asked.
        Agent = "agent",
        Date = "date",
        Time = "time",
    }
);

/// A valid template: absolute once expanded, with `{id}` and known placeholders only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PathTemplate(Template<Placeholder>);

/// A text that is no template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPathTemplate {
    #[error("`{}` does not contain `{{id}}`", for_message(.0))]
    NoId(String),
    #[error(transparent)]
    Template(#[from] InvalidTemplate),
    #[error("`{}` is not absolute: start it with `/`, `{{home}}`, `{{root}}` or `{{parent}}`", for_message(.0))]
    Relative(String),
    #[error("`{}` has a `.` or `..` in it, or a control character", for_message(.0))]
    Unclear(String),
}

impl PathTemplate {
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    #[must_use]
    pub fn uses(&self, placeholder: Placeholder) -> bool {
        self.0.uses(placeholder)
    }

    /// Puts values in the placeholders' places. What a value may contain is its giver's to decide: a branch's slashes
    /// make directories.
    pub fn expand(&self, value: impl FnMut(Placeholder) -> String) -> String {
        self.0.expand(value)
    }
}

impl FromStr for PathTemplate {
    type Err = InvalidPathTemplate;

    fn from_str(text: &str) -> Result<Self, InvalidPathTemplate> {
        let template = Self(text.parse()?);
        if !template.uses(Placeholder::Id) {
            return Err(InvalidPathTemplate::NoId(text.to_owned()));
        }
        let absolute = match &template.0.pieces()[0] {
            Piece::Text(text) => text.starts_with('/'),
            Piece::Placeholder(first) => {
                matches!(first, Placeholder::Home | Placeholder::Root | Placeholder::Parent)
            }
        };
        if !absolute {
            return Err(InvalidPathTemplate::Relative(text.to_owned()));
        }
        if text.split('/').any(|part| part == "." || part == "..") || text.contains(char::is_control) {
            return Err(InvalidPathTemplate::Unclear(text.to_owned()));
        }
        Ok(template)
    }
}

impl TryFrom<String> for PathTemplate {
    type Error = InvalidPathTemplate;

    fn try_from(text: String) -> Result<Self, InvalidPathTemplate> {
        text.parse()
    }
}

impl From<PathTemplate> for String {
    fn from(template: PathTemplate) -> Self {
        template.0.into()
    }
}

impl fmt::Display for PathTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_expanded() {
        let template: PathTemplate = "{parent}/{repo}-{name}-{id}".parse().unwrap();
        assert_eq!(template.expand(|placeholder| placeholder.as_str().to_uppercase()), "PARENT/REPO-NAME-ID");
        assert!(template.uses(Placeholder::Parent) && !template.uses(Placeholder::Root));
    }

    #[test]
    fn a_value_with_braces_is_not_expanded_again() {
        let template: PathTemplate = "/trees/{branch}/{id}".parse().unwrap();
        assert_eq!(template.expand(|_| "{home}".to_owned()), "/trees/{home}/{home}");
    }

    #[test]
    fn every_documented_placeholder_is_known() {
        for placeholder in Placeholder::ALL {
            assert!(format!("/{{id}}/{{{placeholder}}}").parse::<PathTemplate>().is_ok());
        }
    }

    #[test]
    fn wrong_templates_are_refused() {
        for (text, message) in [
            ("{home}/trees/{name}", "`{home}/trees/{name}` does not contain `{id}`"),
            ("", "`` does not contain `{id}`"),
            ("{home}/{nme}/{id}", "`{nme}` is no placeholder: did you mean `{name}`?"),
            ("{home}/{id", "`{home}/{id` has an unmatched brace"),
            ("{home}/id}/{id}", "`{home}/id}/{id}` has an unmatched brace"),
            ("{home}/{{id}}", "`{home}/{{id}}` has an unmatched brace"),
            ("trees/{id}", "`trees/{id}` is not absolute: start it with `/`, `{home}`, `{root}` or `{parent}`"),
            ("{name}/{id}", "`{name}/{id}` is not absolute: start it with `/`, `{home}`, `{root}` or `{parent}`"),
            ("{root}/../{id}", "`{root}/../{id}` has a `.` or `..` in it, or a control character"),
            ("/a\nb/{id}", "`/a\\nb/{id}` has a `.` or `..` in it, or a control character"),
        ] {
            assert_eq!(text.parse::<PathTemplate>().unwrap_err().to_string(), message);
        }
    }
}
