//! Why an import is refused. Nothing of it reaches the repository then.

use std::path::PathBuf;

use crate::pin::sources::object_names;

/// What is wrong with what a box made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    #[error("the box has no branch `{0}` any more")]
    NoBranch(String),
    #[error("it is larger than {limit} bytes")]
    TooLarge { limit: u64 },
    #[error("unpacked it is larger than {limit} bytes")]
    TooLargeUnpacked { limit: u64 },
    /// Git's own name of the fault, such as `hasDotgit`.
    #[error("git finds a fault in it: `{fault}`")]
    Unsound { fault: String, object: Option<String> },
    /// It may be that of another agent: what the remote's branches reach does not have it.
    #[error("an object is missing in it, and in what the remote's branches reach{}", named(.object.as_deref()))]
    Missing { object: Option<String> },
    #[error("the pack is damaged: {detail}")]
    Damaged { detail: String },
    #[error("the branch leads to no commit")]
    NoCommit,
    #[error("`{}` can't be a path", spinney_core::names::for_message(&.0.to_string_lossy()))]
    Path(PathBuf),
}

fn named(object: Option<&str>) -> String {
    object.map(|object| format!(": {object}")).unwrap_or_default()
}

/// What `index-pack` says of a pack that it refuses. It is our own git that speaks, and repeats names of objects; nothing else
/// of its words is read.
pub(crate) fn of_index_pack(stderr: &str, limit: u64) -> Refusal {
    for line in stderr.lines() {
        if line.starts_with("fatal: pack exceeds maximum allowed size") {
            return Refusal::TooLarge { limit };
        }
        if let Some((object, fault)) = line.strip_prefix("error: object ").and_then(|rest| rest.split_once(": ")) {
            let fault = fault.split(':').next().unwrap_or_default();
            let is_name = !fault.is_empty() && fault.len() <= 40 && fault.bytes().all(|b| b.is_ascii_alphanumeric());
            if is_name && let Some(object) = object_names(object.as_bytes()).next() {
                return Refusal::Unsound { fault: fault.to_owned(), object: Some(object) };
            }
        }
    }
    const MISSING: [&str; 4] =
        ["did not receive expected object", "unresolved delta", "missing ", "Failed to traverse parents"];
    let last = crate::error::last_line(stderr);
    if MISSING.iter().any(|mark| last.contains(mark)) {
        return Refusal::Missing { object: object_names(last.as_bytes()).next() };
    }
    Refusal::Damaged { detail: spinney_core::names::cut_for_message(last, 200) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_refusal_is_told_apart() {
        let id = "a".repeat(40);
        let unsound = format!("error: object {id}: hasDotgit: contains '.git'\nfatal: fsck error in packed object\n");
        let (fault, object) = ("hasDotgit".to_owned(), Some(id.clone()));
        assert_eq!(of_index_pack(&unsound, 7), Refusal::Unsound { fault, object: object.clone() });
        let missing = format!("fatal: did not receive expected object {id}\n");
        assert_eq!(of_index_pack(&missing, 7), Refusal::Missing { object });
        let unresolved = of_index_pack("fatal: pack has 1 unresolved delta\n", 7);
        assert_eq!(unresolved, Refusal::Missing { object: None });
        let large = of_index_pack("fatal: pack exceeds maximum allowed size (7 bytes)\n", 7);
        assert_eq!(large, Refusal::TooLarge { limit: 7 });
        assert!(matches!(of_index_pack("fatal: bad\u{1b}[31m\n", 7), Refusal::Damaged { detail } if detail.is_ascii()));
    }

    proptest! {
        #[test]
        fn no_words_make_it_panic(stderr in "(?s)(error: object )?.{0,90}") {
            let _ = of_index_pack(&stderr, 1);
        }
    }
}
