//! Reading `status --porcelain=v2 -z --branch`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::worktree::status::{Change, Entry, Status, SubmoduleChange};

/// Reads the entries; of one that is not understood, the path still counts as changed.
pub(crate) fn parse_status(stdout: &[u8]) -> Status {
    let mut status = Status::default();
    let mut entries = stdout.split(|byte| *byte == 0);
    while let Some(entry) = entries.next() {
        let Some((kind, rest)) = split_word(entry) else {
            if !entry.is_empty() {
                status.changes.push(change(entry, 0, false));
            }
            continue;
        };
        match kind {
            b"#" => header(rest, &mut status),
            b"?" => status.untracked.push(path_entry(rest)),
            b"!" => status.ignored.push(path_entry(rest)),
            // <XY> <sub> <mH> <mI> <mW> <hH> <hI> <path>
            b"1" => status.changes.push(change(rest, 7, false)),
            // ... <score> <path>, and the old path as an entry of its own
            b"2" => {
                status.changes.push(change(rest, 8, false));
                entries.next();
            }
            // <XY> <sub> <m1> <m2> <m3> <mW> <h1> <h2> <h3> <path>
            b"u" => status.changes.push(change(rest, 9, true)),
            _ => status.changes.push(change(rest, 0, false)),
        }
    }
    status
}

fn header(rest: &[u8], status: &mut Status) {
    let text = String::from_utf8_lossy(rest);
    match text.split_once(' ') {
        Some(("branch.oid", id)) => status.head = id.parse().ok(),
        Some(("branch.head", name)) if name != "(detached)" => status.branch = Some(name.to_owned()),
        _ => {}
    }
}

fn change(rest: &[u8], fields: usize, conflicted: bool) -> Change {
    let mut remaining = rest;
    let (mut states, mut submodule): (&[u8], &[u8]) = (b"??", b"N...");
    for field in 0..fields {
        let Some((word, after)) = split_word(remaining) else { break };
        match field {
            0 => states = word,
            1 => submodule = word,
            _ => {}
        }
        remaining = after;
    }
    let differs = |index: usize| states.get(index).is_some_and(|state| *state != b'.');
    let flag = |index: usize| submodule.get(index).is_some_and(|state| *state != b'.');
    Change {
        path: path(remaining),
        staged: differs(0),
        unstaged: differs(1),
        conflicted,
        submodule: submodule.starts_with(b"S").then(|| SubmoduleChange {
            commit: flag(1),
            modified: flag(2),
            untracked: flag(3),
        }),
    }
}

fn path_entry(rest: &[u8]) -> Entry {
    let directory = rest.ends_with(b"/");
    Entry { path: path(rest.strip_suffix(b"/").unwrap_or(rest)), directory }
}

fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

fn split_word(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let space = bytes.iter().position(|byte| *byte == b' ')?;
    Some((&bytes[..space], &bytes[space + 1..]))
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
             1 A. SC.U 160000 160000 160000 {id} {id} sub\0\
             2 R. N... 100644 100644 100644 {id} {id} R100 new name\0old name\0\
             u UU N... 100644 100644 100644 100644 {id} {id} {id} both\0\
             ? größe.txt\0? nested/\0! target/\0"
        );
        let status = parse_status(text.as_bytes());
        assert_eq!(status.head.as_ref().unwrap().as_str(), id);
        assert_eq!(status.branch.as_deref(), Some("feature/x"));
        let paths: Vec<&Path> = status.changes.iter().map(|change| change.path.as_path()).collect();
        assert_eq!(paths, ["my file", "sub", "new name", "both"].map(Path::new));
        assert!(!status.changes[0].staged && status.changes[0].unstaged);
        let submodule = status.changes[1].submodule.unwrap();
        assert!(submodule.commit && !submodule.modified && submodule.untracked);
        assert!(status.changes[3].conflicted);
        assert_eq!(status.untracked[0], Entry { path: "größe.txt".into(), directory: false });
        assert!(status.untracked[1].directory);
        assert_eq!(status.ignored, [Entry { path: "target".into(), directory: true }]);
    }

    #[test]
    fn what_is_not_understood_is_not_clean() {
        assert!(!parse_status(b"9 surprise\0").is_clean());
        assert_eq!(parse_status(b"# branch.oid (initial)\0").head, None);
    }

    const WORDS: &[&str] = &["1 ", "2 ", "u ", "? ", "! ", "# branch.oid ", ".M", "N...", "SCMU", "100644 "];

    fn entry() -> impl Strategy<Value = Entry> {
        (hostile::path(), any::<bool>()).prop_map(|(bytes, directory)| Entry { path: path(&bytes), directory })
    }

    fn change_of_any_kind() -> impl Strategy<Value = Change> {
        let submodule = any::<Option<(bool, bool, bool)>>().prop_map(|flags| {
            flags.map(|(commit, modified, untracked)| SubmoduleChange { commit, modified, untracked })
        });
        (hostile::path(), any::<[bool; 3]>(), submodule).prop_map(
            |(bytes, [staged, unstaged, conflicted], submodule)| Change {
                path: path(&bytes),
                staged,
                unstaged,
                conflicted,
                submodule,
            },
        )
    }

    /// As git writes it.
    fn written(status: &Status) -> Vec<u8> {
        let mut text = Vec::new();
        let mut write = |parts: &[&[u8]]| text.extend(parts.concat().into_iter().chain([0]));
        let head = status.head.as_ref().map_or("(initial)", |commit| commit.as_str());
        write(&[b"# branch.oid ", head.as_bytes()]);
        write(&[b"# branch.head ", status.branch.as_deref().unwrap_or("(detached)").as_bytes()]);
        for change in &status.changes {
            let flag = |is_set: bool, flag: char| if is_set { flag } else { '.' };
            let states = format!("{}{}", flag(change.staged, 'M'), flag(change.unstaged, 'M'));
            let submodule = change.submodule.map_or("N...".to_owned(), |sub| {
                let flags = [flag(sub.commit, 'C'), flag(sub.modified, 'M'), flag(sub.untracked, 'U')];
                format!("S{}", flags.iter().collect::<String>())
            });
            let (kind, more) = if change.conflicted { ("u", "m1 m2 m3 mW h1 h2 h3") } else { ("1", "mH mI mW hH hI") };
            let fields = format!("{kind} {states} {submodule} {more} ");
            write(&[fields.as_bytes(), change.path.as_os_str().as_bytes()]);
        }
        for (kind, entries) in [(b"? ", &status.untracked), (b"! ", &status.ignored)] {
            for entry in entries {
                write(&[kind, entry.path.as_os_str().as_bytes(), if entry.directory { b"/" } else { b"" }]);
            }
        }
        text
    }

    proptest! {
        #[test]
        fn no_output_makes_it_panic(stdout in hostile::output(WORDS)) {
            let _ = parse_status(&stdout);
        }

        #[test]
        fn what_git_writes_is_read_back(
            head in proptest::option::of(hostile::commit()),
            branch in proptest::option::of("[a-z/]{1,20}"),
            changes in proptest::collection::vec(change_of_any_kind(), 0..6),
            untracked in proptest::collection::vec(entry(), 0..6),
            ignored in proptest::collection::vec(entry(), 0..6),
        ) {
            let status = Status { head, branch, changes, untracked, ignored, opaque: Vec::new() };
            prop_assert_eq!(parse_status(&written(&status)), status);
        }

        #[test]
        fn nothing_but_headers_and_ignored_files_is_clean(stdout in hostile::output(WORDS)) {
            let mut entries = stdout.split(|byte| *byte == 0).filter(|entry| !entry.is_empty());
            let is_clean = entries.all(|entry| entry.starts_with(b"# ") || entry.starts_with(b"! "));
            prop_assert_eq!(parse_status(&stdout).is_clean(), is_clean);
        }
    }

    #[test]
    fn much_is_read_in_time() {
        hostile::assert_fast(WORDS, |stdout| drop(parse_status(stdout)));
    }
}
