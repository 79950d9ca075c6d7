//! Reading `diff-tree --stdin -r -z -c`: of each commit what it changed, of a merge only what it has from none of its parents.

use crate::jail::answer::Unverifiable;

/// What a commit has at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// As git writes it: `120000` is a link, `160000` a repository; zeros where nothing is there.
    pub(crate) mode: String,
    pub(crate) object: String,
    pub(crate) path: Vec<u8>,
}

/// Reads `:<mode> <mode> <object> <object> <status>\0<path>\0`; of a merge with as many colons, modes and objects as it has
/// parents, besides its own.
pub(crate) fn parse(stdout: &[u8]) -> Result<Vec<Entry>, Unverifiable> {
    let mut entries = Vec::new();
    let mut fields = stdout.split(|byte| *byte == 0);
    while let Some(field) = fields.next().filter(|field| !field.is_empty()) {
        let garbage = || Unverifiable::garbage("an entry of a diff", field);
        let text = std::str::from_utf8(field).map_err(|_| garbage())?;
        let parents = text.bytes().take_while(|byte| *byte == b':').count();
        let words: Vec<&str> = text[parents..].split(' ').collect();
        if parents == 0 || words.len() != 2 * (parents + 1) + 1 {
            return Err(garbage());
        }
        let (mode, object) = (words[parents], words[2 * parents + 1]);
        let is_mode = mode.len() == 6 && mode.bytes().all(|byte| (b'0'..=b'7').contains(&byte));
        let is_object = matches!(object.len(), 40 | 64) && object.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_mode || !is_object {
            return Err(garbage());
        }
        let path = fields.next().filter(|path| !path.is_empty()).ok_or_else(garbage)?;
        entries.push(Entry { mode: mode.to_owned(), object: object.to_owned(), path: path.to_owned() });
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hostile;

    #[test]
    fn changes_and_merges_are_read() {
        let (a, b, c) = ("a".repeat(40), "b".repeat(40), "c".repeat(40));
        let text = format!(
            ":100644 120000 {a} {b} T\0a link\0:100644 000000 {a} {c} D\0gone\0\
             ::100644 100644 100755 {a} {b} {c} MM\0merged\0"
        );
        let entries = parse(text.as_bytes()).unwrap();
        let read: Vec<_> = entries.iter().map(|e| (e.mode.as_str(), e.object.as_str(), e.path.as_slice())).collect();
        assert_eq!(
            read,
            [
                ("120000", b.as_str(), &b"a link"[..]),
                ("000000", c.as_str(), b"gone"),
                ("100755", c.as_str(), b"merged")
            ]
        );
        for text in ["x\0y\0", ":100644\0y\0", ":1 2 3 4 M\0y\0", ":100644 100644 zz zz M\0y\0"] {
            assert!(parse(text.as_bytes()).is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn no_output_makes_it_panic(stdout in hostile::output(&[":", "::", "100644 ", "120000 ", "M", "\0"])) {
            let _ = parse(&stdout);
        }
    }

    #[test]
    fn much_is_read_in_time() {
        hostile::assert_fast(&[":", ":100644 "], |stdout| drop(parse(stdout)));
    }
}
