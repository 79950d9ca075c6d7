//! Short random ids: ten characters of lowercase base 32 without the letters that look like digits.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Digits and letters without `i`, `l`, `o`, `u`, so that an id can be read aloud and typed.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const LENGTH: usize = 10;

fn generate() -> String {
    let mut bytes = [0u8; LENGTH];
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    bytes.iter().map(|byte| char::from(ALPHABET[usize::from(byte % 32)])).collect()
}

fn is_id(text: &str) -> bool {
    text.len() == LENGTH && text.bytes().all(|byte| ALPHABET.contains(&byte))
}

/// A text that is not an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not an id", crate::names::for_message(.0))]
pub struct InvalidId(pub String);

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Makes a new random id.
            #[must_use]
            pub fn generate() -> Self {
                Self(generate())
            }

            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                if is_id(text) { Ok(Self(text.to_owned())) } else { Err(InvalidId(text.to_owned())) }
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidId;

            fn try_from(text: String) -> Result<Self, InvalidId> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id!(
    /// Identifies a workspace; also the name of its directory, so it never changes.
    WorkspaceId
);
id!(
    /// Identifies a repository in the store.
    RepositoryId
);
id!(
    /// Identifies one clone of a repository, wherever it stands; it lies in the clone's common git dir.
    CloneId
);
id!(
    /// Identifies a journaled operation; also the name of its lock file.
    OperationId
);
id!(
    /// Identifies one machine (one home) that works on a store.
    NodeId
);
id!(
    /// Identifies a job; also the name of its log and its lock.
    JobId
);
id!(
    /// Identifies one conversation of a runtime inside a job.
    SessionId
);
id!(
    /// Identifies a token; it is no secret.
    TokenId
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generated_id_parses_back_and_is_safe_as_a_file_name() {
        let id = WorkspaceId::generate();
        assert_eq!(id.as_str().parse::<WorkspaceId>().unwrap(), id);
        assert!(id.as_str().bytes().all(|byte| byte.is_ascii_alphanumeric()));
        assert_ne!(id, WorkspaceId::generate());
    }

    #[test]
    fn what_could_leave_a_directory_is_not_an_id() {
        for text in ["", "../../etc/", "k3v9q2m7t", "K3V9Q2M7TA", "k3v9q2m7tal"] {
            assert!(text.parse::<WorkspaceId>().is_err(), "{text}");
        }
    }
}
