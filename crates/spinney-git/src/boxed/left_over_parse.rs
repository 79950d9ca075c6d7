//! Reading what a boxed tree has left over, from `status --porcelain=v2 -z --branch`: an entry that is not understood is no
//! answer.

use std::path::PathBuf;

use spinney_core::{BranchName, CommitId, STATE_FILE};

use crate::jail::answer::{Unverifiable, require_path};

/// What stands for the branch where there is none.
const DETACHED: &str = "(detached)";

/// What differs from the commit that a box is at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BoxedLeftOver {
    /// The commit; none where the branch has none.
    pub head: Option<CommitId>,
    /// The branch that HEAD is on, if it has a usable name.
    pub branch: Option<BranchName>,
    /// Changed and untracked files.
    pub changed: Vec<PathBuf>,
    /// Tracked files that are not there any more.
    pub gone: Vec<PathBuf>,
    /// Untracked repositories that lie in the tree: they are no part of any commit.
    pub repositories: Vec<PathBuf>,
    /// Files with conflicts.
    pub conflicted: Vec<PathBuf>,
}

impl BoxedLeftOver {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.gone.is_empty() && self.conflicted.is_empty()
    }
}

pub(crate) fn parse(stdout: &[u8]) -> Result<BoxedLeftOver, Unverifiable> {
    let mut found = BoxedLeftOver::default();
    for entry in stdout.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()) {
        let garbage = || Unverifiable::garbage("an entry of a status", entry);
        let (kind, rest) = split(entry).ok_or_else(garbage)?;
        match kind {
            b"#" => header(rest, &mut found),
            b"?" => match rest.strip_suffix(b"/") {
                Some(path) => found.repositories.push(require_path(path)?),
                // It is nobody's.
                None if rest == STATE_FILE.as_bytes() => {}
                None => found.changed.push(require_path(rest)?),
            },
            // <XY> <sub> <mH> <mI> <mW> <hH> <hI> <path>
            b"1" => {
                let path = require_path(after(rest, 7).ok_or_else(garbage)?)?;
                let is_gone = *rest.get(1).ok_or_else(garbage)? == b'D' || rest.starts_with(b"D.");
                if is_gone { &mut found.gone } else { &mut found.changed }.push(path);
            }
            // <XY> <sub> <m1> <m2> <m3> <mW> <h1> <h2> <h3> <path>
            b"u" => found.conflicted.push(require_path(after(rest, 9).ok_or_else(garbage)?)?),
            _ => return Err(garbage()),
        }
    }
    Ok(found)
}

fn header(rest: &[u8], found: &mut BoxedLeftOver) {
    let text = String::from_utf8_lossy(rest);
    match text.split_once(' ') {
        Some(("branch.oid", id)) => found.head = id.parse().ok(),
        Some(("branch.head", name)) if name != DETACHED => found.branch = name.parse().ok(),
        _ => {}
    }
}

fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let space = bytes.iter().position(|byte| *byte == b' ')?;
    Some((&bytes[..space], &bytes[space + 1..]))
}

/// What comes after so many words.
fn after(bytes: &[u8], words: usize) -> Option<&[u8]> {
    (0..words).try_fold(bytes, |rest, _| split(rest).map(|(_, rest)| rest))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;
    use crate::hostile;

    #[test]
    fn every_kind_of_entry_is_read() {
        let id = "a".repeat(40);
        let text = format!(
            "# branch.oid {id}\0# branch.head feature/x\0\
             1 .M N... 100644 100644 100644 {id} {id} my file\0\
             1 .D N... 100644 100644 000000 {id} {id} gone\0\
             1 D. N... 100644 000000 000000 {id} {id} staged away\0\
             u UU N... 100644 100644 100644 100644 {id} {id} {id} both\0\
             ? new\0? nested/\0? STATE.json\0"
        );
        let found = parse(text.as_bytes()).unwrap();
        assert_eq!(found.head.as_ref().unwrap().as_str(), id);
        assert_eq!(found.branch.as_ref().unwrap().as_str(), "feature/x");
        assert_eq!(found.changed, ["my file", "new"].map(Path::new));
        assert_eq!(found.gone, ["gone", "staged away"].map(Path::new));
        assert_eq!((found.repositories, found.conflicted), (vec!["nested".into()], vec!["both".into()]));
    }

    #[test]
    fn what_is_not_understood_is_no_answer() {
        for text in ["9 x\0", "1 .M N... x\0", "? ../x\0", "? /etc/passwd\0", "? .git/config\0", "nonsense\0", "1 \0"] {
            assert!(parse(text.as_bytes()).is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn no_output_makes_it_panic(stdout in hostile::output(&["1 ", "u ", "? ", "# branch.oid ", ".M ", "N... "])) {
            let _ = parse(&stdout);
        }
    }

    #[test]
    fn much_is_read_in_time() {
        hostile::assert_fast(&["1 .M N... ", "? x\0"], |stdout| drop(parse(stdout)));
    }
}
