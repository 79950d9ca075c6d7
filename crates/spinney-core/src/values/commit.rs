//! Object names of commits.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A full commit id: 40 (SHA-1) or 64 (SHA-256) lowercase hex digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CommitId(String);

/// A text that is not a full commit id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a full commit id", crate::names::for_message(.0))]
pub struct InvalidCommitId(pub String);

impl CommitId {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first seven digits, for people.
    #[must_use]
    pub fn short(&self) -> &str {
        &self.0[..7]
    }
}

impl FromStr for CommitId {
    type Err = InvalidCommitId;

    fn from_str(text: &str) -> Result<Self, InvalidCommitId> {
        let hex = text.bytes().all(|byte| byte.is_ascii_hexdigit() && !byte.is_ascii_uppercase());
        if hex && matches!(text.len(), 40 | 64) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidCommitId(text.to_owned()))
        }
    }
}

impl TryFrom<String> for CommitId {
    type Error = InvalidCommitId;

    fn try_from(text: String) -> Result<Self, InvalidCommitId> {
        text.parse()
    }
}

impl From<CommitId> for String {
    fn from(commit: CommitId) -> Self {
        commit.0
    }
}

impl fmt::Display for CommitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
