//! Reading small blobs of a quarantine: `cat-file --batch`.

use std::collections::{BTreeMap, BTreeSet};

use crate::Result;
use crate::import::quarantine::Quarantine;
use crate::jail::answer::{Unverifiable, ask, unverifiable};

const QUESTION: &str = "what files of a box say";

/// Loads blobs by their names. What they are together may not be longer than an answer of the jail.
pub(crate) async fn load(quarantine: &Quarantine, objects: &BTreeSet<&str>) -> Result<BTreeMap<String, Vec<u8>>> {
    if objects.is_empty() {
        return Ok(BTreeMap::new());
    }
    let asked: String = objects.iter().map(|object| format!("{object}\n")).collect();
    let command = quarantine.command()?.args(["cat-file", "--batch"]).stdin_bytes(asked.into_bytes());
    parse(&ask(QUESTION, command).await?.stdout).map_err(|why| unverifiable(QUESTION, why))
}

/// Reads `<object> blob <size>\n<content>\n`.
fn parse(stdout: &[u8]) -> Result<BTreeMap<String, Vec<u8>>, Unverifiable> {
    let mut blobs = BTreeMap::new();
    let mut rest = stdout;
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        let (line, after) = rest.split_at(end);
        let garbage = || Unverifiable::garbage("a blob", line);
        let mut words = std::str::from_utf8(line).map_err(|_| garbage())?.split(' ');
        let (object, kind, size) =
            (words.next(), words.next(), words.next().and_then(|size| size.parse::<usize>().ok()));
        let (Some(object), Some("blob"), Some(size)) = (object, kind, size) else { return Err(garbage()) };
        let content = after.get(1..).and_then(|after| after.get(..size)).ok_or_else(garbage)?;
        blobs.insert(object.to_owned(), content.to_owned());
        rest = after.get(size + 2..).ok_or_else(garbage)?;
    }
    Ok(blobs)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hostile;

    #[test]
    fn contents_are_cut_where_they_end() {
        let blobs = parse(b"aa blob 3\nx\ny\nbb blob 0\n\n").unwrap();
        assert_eq!(blobs["aa"], b"x\ny");
        assert_eq!(blobs["bb"], b"");
        for text in
            ["aa missing\n", "aa tree 0\n\n", "aa blob 9\nx\n", "aa blob x\n\n", "aa blob 18446744073709551615\nx"]
        {
            assert!(parse(text.as_bytes()).is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn no_output_makes_it_panic(stdout in hostile::output(&["aa blob 3\n", "xyz\n", " blob ", "9", "\n"])) {
            let _ = parse(&stdout);
        }
    }
}
