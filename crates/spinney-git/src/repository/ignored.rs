//! Ignored files of the main checkout that a new workspace may want, such as `.env`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::repository::opened::Repository;
use crate::{Error, Result};

impl Repository {
    /// Lists the files of the main checkout that match the patterns (in the syntax of `.gitignore`), are not tracked,
    /// and are ignored by the repository. Nothing of a nested repository is among them. Paths are relative.
    pub async fn load_ignored(&self, patterns: &[String]) -> Result<Vec<PathBuf>> {
        let Some(root) = self.root() else { return Ok(Vec::new()) };
        if patterns.is_empty() {
            return Ok(Vec::new());
        }
        if let Some(pattern) = patterns.iter().find(|pattern| pattern.contains(['\0', '\n'])) {
            return Err(Error::Refused { what: "a pattern", name: pattern.clone() });
        }
        let checkout = || self.command_in_root(root);
        let list = checkout().args(["ls-files", "-z", "--others", "--ignored"]);
        let list = list.args(patterns.iter().map(|pattern| format!("--exclude={pattern}")));
        let listed = list.run().await?.stdout;
        // A path that ends in a slash is a nested repository. The prefix keeps a name from being read as a pattern.
        let paths = listed.split(|byte| *byte == 0).filter(|path| !path.is_empty() && !path.ends_with(b"/"));
        let matching: Vec<u8> = paths.flat_map(|path| [b"./", path, b"\0"].concat()).collect();
        if matching.is_empty() {
            return Ok(Vec::new());
        }
        let check = checkout().env("GIT_LITERAL_PATHSPECS", "0").args(["check-ignore", "-z", "--stdin"]);
        let ignored = check.stdin_bytes(matching).accept(&[0, 1]).run().await?;
        Ok(parse_paths(&ignored.stdout))
    }

    fn command_in_root(&self, root: &std::path::Path) -> crate::Command {
        self.git().command(root).env("GIT_DIR", self.common_dir()).env("GIT_WORK_TREE", root)
    }
}

/// Reads `./<path>\0`.
fn parse_paths(stdout: &[u8]) -> Vec<PathBuf> {
    let paths = stdout.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    paths.map(|path| PathBuf::from(OsStr::from_bytes(path.strip_prefix(b"./").unwrap_or(path)))).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hostile;

    proptest! {
        #[test]
        fn what_git_writes_is_read_back(paths in proptest::collection::vec(hostile::path(), 0..6)) {
            let text: Vec<u8> = paths.iter().flat_map(|path| [b"./", path.as_slice(), b"\0"].concat()).collect();
            let expected: Vec<_> = paths.iter().map(|path| PathBuf::from(OsStr::from_bytes(path))).collect();
            prop_assert_eq!(parse_paths(&text), expected);
        }

        #[test]
        fn no_output_makes_it_panic(stdout in hostile::output(&["./", "a"])) {
            let _ = parse_paths(&stdout);
        }
    }
}
