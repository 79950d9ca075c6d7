//! Branch names: git's own rules, and a few more that keep a name safe on a command line, on disk and on a screen.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A name git accepts may still fail on disk: `.lock` is added to its last component, whose limit is 255 bytes.
const MAX_BYTES: usize = 200;

/// A branch's short name (`feature/auth`), valid in git and never starting with a dash.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BranchName(String);

/// A text that can't be a branch name, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a branch name: {reason}", crate::names::for_message(.name))]
pub struct InvalidBranchName {
    pub name: String,
    pub reason: &'static str,
}

impl BranchName {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The full name of its local ref.
    #[must_use]
    pub fn local_ref(&self) -> String {
        format!("refs/heads/{}", self.0)
    }

    /// The full name of its remote-tracking ref.
    #[must_use]
    pub fn remote_ref(&self, remote: &str) -> String {
        format!("refs/remotes/{remote}/{}", self.0)
    }
}

impl FromStr for BranchName {
    type Err = InvalidBranchName;

    fn from_str(text: &str) -> Result<Self, InvalidBranchName> {
        match fault(text) {
            None => Ok(Self(text.to_owned())),
            Some(reason) => Err(InvalidBranchName { name: text.to_owned(), reason }),
        }
    }
}

impl TryFrom<String> for BranchName {
    type Error = InvalidBranchName;

    fn try_from(text: String) -> Result<Self, InvalidBranchName> {
        text.parse()
    }
}

impl From<BranchName> for String {
    fn from(branch: BranchName) -> Self {
        branch.0
    }
}

impl fmt::Display for BranchName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Says what is wrong with a name, if anything is.
fn fault(text: &str) -> Option<&'static str> {
    if text.is_empty() {
        return Some("it is empty");
    }
    if text.len() > MAX_BYTES {
        return Some("it is longer than 200 bytes");
    }
    if text.starts_with('-') {
        return Some("it starts with a dash");
    }
    if matches!(text, "@" | "HEAD") || text.starts_with("refs/") {
        return Some("git gives it another meaning");
    }
    if text.contains("..") || text.contains("@{") {
        return Some("it contains `..` or `@{`");
    }
    if text.chars().any(|c| c.is_control() || " ~^:?*[\\".contains(c)) {
        return Some("it contains a space, a control character or one of `~^:?*[\\`");
    }
    if text.chars().any(|c| !c.is_ascii() && !c.is_alphanumeric()) {
        return Some("it contains a symbol that is neither a letter nor a digit");
    }
    if text
        .split('/')
        .any(|part| part.is_empty() || part.starts_with('.') || part.ends_with('.') || part.ends_with(".lock"))
    {
        return Some("a part of it is empty, starts or ends with a dot, or ends with `.lock`");
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_people_use_are_valid() {
        for name in ["main", "feature/auth", "agent/coder/issue-42", "fix_1.2", "größe", "user@host", "a+b", "日本"]
        {
            assert!(name.parse::<BranchName>().is_ok(), "{name}");
        }
    }

    #[test]
    fn hostile_names_are_refused_with_a_reason() {
        let long = "x".repeat(10_000);
        let names = [
            "",
            "../..",
            "--upload-pack=touch x",
            "a\nb",
            &long,
            "🎉",
            "x.lock",
            "x.lock/y",
            "@{u}",
            "@",
            "HEAD",
            "refs/heads/x",
            "a//b",
            "/a",
            "a/",
            ".a",
            "a/.b",
            "a.",
            "a b",
            "a~1",
            "a^",
            "a:b",
            "a?",
            "a*",
            "a[",
            "a\\b",
            "\u{202e}a",
        ];
        for name in names {
            assert!(name.parse::<BranchName>().is_err(), "{name}");
        }
    }

    #[test]
    fn the_message_stays_on_one_short_line() {
        let message = format!("a\nb{}", "x".repeat(10_000)).parse::<BranchName>().unwrap_err().to_string();
        assert!(!message.contains('\n') && message.len() < 200, "{message}");
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(?s)(refs/|\\.lock|@\\{|\\.\\.|/|-|.){0,60}") {
            if let Ok(name) = text.parse::<BranchName>() {
                prop_assert_eq!(name.as_str(), text.as_str());
                prop_assert_eq!(name.to_string().parse::<BranchName>(), Ok(name.clone()));
                prop_assert_eq!(name.local_ref(), format!("refs/heads/{text}"));
                prop_assert!(!text.starts_with('-') && !text.contains(char::is_whitespace) && text.len() <= MAX_BYTES);
            }
        }
    }

    #[test]
    fn a_huge_text_is_refused_at_once() {
        for part in ["a", "/", ".", "@{", "é"] {
            assert!(part.repeat(1 << 20).parse::<BranchName>().is_err());
        }
    }
}
