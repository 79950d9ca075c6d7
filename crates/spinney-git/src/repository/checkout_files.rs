//! The files of the main checkout as git sees them.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::Result;
use crate::repository::opened::Repository;

/// A path of the main checkout that is tracked, or neither tracked nor ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckoutFile {
    pub path: PathBuf,
    /// What the index has of it, as mode, object and stage; none where it is untracked.
    pub staged: Option<Vec<u8>>,
}

impl Repository {
    /// Lists the files of the main checkout; a directory among them is another repository. A path in conflict comes once
    /// for each of its sides. Nothing is written, not even what the index remembers of the files.
    pub async fn load_checkout_files(&self) -> Result<Vec<CheckoutFile>> {
        let command = self.command().args(["ls-files", "-z", "--stage", "--others", "--exclude-standard"]);
        Ok(parse_files(&command.run().await?.stdout))
    }
}

/// Reads `<mode> <object> <stage>\t<path>\0` and, of what is untracked, `<path>\0`.
fn parse_files(stdout: &[u8]) -> Vec<CheckoutFile> {
    let file = |entry: &[u8]| {
        let (staged, path) = match entry.iter().position(|byte| *byte == b'\t') {
            Some(tab) if is_stage(&entry[..tab]) => (Some(entry[..tab].to_vec()), &entry[tab + 1..]),
            _ => (None, entry),
        };
        CheckoutFile { path: PathBuf::from(OsStr::from_bytes(path)), staged }
    };
    stdout.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()).map(file).collect()
}

/// Whether a text is a mode, an object and a stage, and not the beginning of a path with a tab in it.
fn is_stage(text: &[u8]) -> bool {
    let words: Vec<&[u8]> = text.split(|byte| *byte == b' ').collect();
    let [mode, object, stage] = words.as_slice() else { return false };
    let is_object = matches!(object.len(), 40 | 64) && object.iter().all(u8::is_ascii_hexdigit);
    mode.len() == 6 && mode.iter().all(u8::is_ascii_digit) && is_object && stage.len() == 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hostile;

    #[test]
    fn tracked_and_untracked_files_are_told_apart() {
        let id = "a".repeat(40);
        let text = format!("100644 {id} 0\tmy file\0a\tb\0nested/\0160000 {id} 0\tsub\0");
        let files = parse_files(text.as_bytes());
        let shown: Vec<_> = files.iter().map(|file| (file.path.to_str().unwrap(), file.staged.is_some())).collect();
        assert_eq!(shown, [("my file", true), ("a\tb", false), ("nested/", false), ("sub", true)]);
    }

    const WORDS: &[&str] = &["100644 ", "160000 ", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa ", "0\t", "path"];

    proptest! {
        #[test]
        fn no_output_makes_it_panic(stdout in hostile::output(WORDS)) {
            let _ = parse_files(&stdout);
        }

        #[test]
        fn what_git_writes_is_read_back(
            files in proptest::collection::vec((hostile::path(), proptest::option::of((hostile::commit(), 0..4u8))), 0..6)
        ) {
            let told = files.into_iter().map(|(path, staged)| CheckoutFile {
                path: PathBuf::from(OsStr::from_bytes(&path)),
                staged: staged.map(|(object, stage)| format!("100644 {object} {stage}").into_bytes()),
            });
            let files: Vec<CheckoutFile> = told.collect();
            let entry = |file: &CheckoutFile| {
                let staged = file.staged.iter().flat_map(|staged| [staged.as_slice(), b"\t"].concat());
                staged.chain(file.path.as_os_str().as_bytes().iter().copied()).chain([0]).collect::<Vec<u8>>()
            };
            prop_assert_eq!(parse_files(&files.iter().flat_map(entry).collect::<Vec<u8>>()), files);
        }
    }

    #[test]
    fn much_is_read_in_time() {
        hostile::assert_fast(WORDS, |stdout| drop(parse_files(stdout)));
    }
}
