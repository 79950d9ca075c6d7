//! Whether a fetch by hand could take away refs that only this repository has.
//!
//! In a mirror clone every ref is the remote's: `git fetch --prune` there deletes rescue refs, and branches that were never
//! pushed.

use std::fs;

use crate::Result;
use crate::repository::opened::Repository;

/// A ref as ours are called.
const OURS: &str = "refs/spinney/rescue/x";

impl Repository {
    /// The remote that every ref belongs to; none where a fetch leaves ours alone.
    pub async fn load_mirrored_remote(&self) -> Result<Option<String>> {
        // Most repositories are none, and their own file says so without a process.
        let text = fs::read_to_string(self.common_dir().join("config")).unwrap_or_default().to_ascii_lowercase();
        if ![":refs/*", ":refs/spinney", "include"].iter().any(|mark| text.contains(mark)) {
            return Ok(None);
        }
        let command = self.command().args(["config", "--null", "--get-regexp", r"^remote\..*\.fetch$"]);
        Ok(parse_mirrored(&command.accept(&[0, 1]).run().await?.stdout))
    }
}

/// Reads `<key>\n<value>\0`.
fn parse_mirrored(stdout: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(stdout);
    text.split('\0').find_map(|entry| {
        let (key, value) = entry.split_once('\n')?;
        let (remote, setting) = key.strip_prefix("remote.")?.rsplit_once('.')?;
        // `remote.<name>.mirror` alone is about pushing; a mirror clone has this refspec beside it.
        let takes_ours = setting == "fetch" && value.split_once(':').is_some_and(|(_, to)| covers(to, OURS));
        takes_ours.then(|| remote.to_owned())
    })
}

/// Whether a pattern with at most one `*` fits a ref.
fn covers(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        Some((start, end)) => name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end),
        None => pattern == name,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_a_remote_that_all_refs_belong_to_takes_ours() {
        let of = |text: &str| parse_mirrored(text.as_bytes());
        assert_eq!(of("remote.origin.fetch\n+refs/heads/*:refs/remotes/origin/*\0"), None);
        assert_eq!(of("remote.origin.fetch\n+refs/*:refs/*\0remote.origin.mirror\ntrue\0"), Some("origin".to_owned()));
        assert_eq!(of("remote.a.b.fetch\n+refs/*:refs/*\0"), Some("a.b".to_owned()));
        assert_eq!(of("remote.to.mirror\ntrue\0"), None, "a mirror to push to takes nothing");
        assert_eq!(of(""), None);
    }

    proptest! {
        #[test]
        fn no_output_makes_it_panic(stdout in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse_mirrored(&stdout);
        }
    }
}
