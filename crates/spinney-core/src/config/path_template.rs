//! Where workspaces go: a path with placeholders, checked when it is read.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::names::for_message;
use crate::workspace::words;

words!(
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
        Date = "date",
        Time = "time",
    }
);

/// A valid template: absolute once expanded, with `{id}` and known placeholders only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PathTemplate {
    text: String,
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Placeholder(Placeholder),
}

/// A text that is no template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPathTemplate {
    #[error("`{}` does not contain `{{id}}`", for_message(.0))]
    NoId(String),
    #[error("`{}` has a brace that opens or closes nothing", for_message(.0))]
    Brace(String),
    #[error("`{{{}}}` is no placeholder", for_message(.0))]
    Unknown(String),
    #[error("`{}` is not absolute: start it with `/`, `{{home}}`, `{{root}}` or `{{parent}}`", for_message(.0))]
    Relative(String),
    #[error("`{}` has a `.` or `..` in it, or a control character", for_message(.0))]
    Unclear(String),
}

impl PathTemplate {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    #[must_use]
    pub fn uses(&self, placeholder: Placeholder) -> bool {
        self.pieces.contains(&Piece::Placeholder(placeholder))
    }

    /// Puts values in the placeholders' places. What a value may contain is its giver's to decide: a branch's slashes
    /// make directories.
    pub fn expand(&self, mut value: impl FnMut(Placeholder) -> String) -> String {
        let pieces = self.pieces.iter().map(|piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Placeholder(placeholder) => value(*placeholder),
        });
        pieces.collect()
    }
}

fn pieces(template: &str) -> Result<Vec<Piece>, InvalidPathTemplate> {
    let brace = || InvalidPathTemplate::Brace(template.to_owned());
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
        let placeholder = name.parse().map_err(|_| InvalidPathTemplate::Unknown(name.to_owned()))?;
        pieces.push(Piece::Placeholder(placeholder));
        rest = tail;
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest.to_owned()));
    }
    Ok(pieces)
}

impl FromStr for PathTemplate {
    type Err = InvalidPathTemplate;

    fn from_str(text: &str) -> Result<Self, InvalidPathTemplate> {
        let template = Self { text: text.to_owned(), pieces: pieces(text)? };
        if !template.uses(Placeholder::Id) {
            return Err(InvalidPathTemplate::NoId(text.to_owned()));
        }
        let absolute = match &template.pieces[0] {
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
        template.text
    }
}

impl fmt::Display for PathTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
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
            ("{home}/{agent}/{id}", "`{agent}` is no placeholder"),
            ("{home}/{id", "`{home}/{id` has a brace that opens or closes nothing"),
            ("{home}/id}/{id}", "`{home}/id}/{id}` has a brace that opens or closes nothing"),
            ("{home}/{{id}}", "`{home}/{{id}}` has a brace that opens or closes nothing"),
            ("trees/{id}", "`trees/{id}` is not absolute: start it with `/`, `{home}`, `{root}` or `{parent}`"),
            ("{name}/{id}", "`{name}/{id}` is not absolute: start it with `/`, `{home}`, `{root}` or `{parent}`"),
            ("{root}/../{id}", "`{root}/../{id}` has a `.` or `..` in it, or a control character"),
            ("/a\nb/{id}", "`/a\\nb/{id}` has a `.` or `..` in it, or a control character"),
        ] {
            assert_eq!(text.parse::<PathTemplate>().unwrap_err().to_string(), message);
        }
    }
}
