//! The calls that cross the network: what a remote has, and bringing it here.

use std::collections::BTreeMap;
use std::time::Duration;

use spinney_core::{BranchName, CommitId};

use crate::Result;
use crate::process::command::Command;
use crate::settings::executing::Runs;

/// What a remote answered.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Listing {
    pub(crate) default_branch: Option<BranchName>,
    /// By full name.
    pub(crate) refs: BTreeMap<String, CommitId>,
}

/// Asks a remote for its default branch and some refs. `command` is one of the repository, or of none yet.
pub(crate) async fn list(command: Command, remote: &str, patterns: &[String]) -> Result<Listing> {
    let command =
        command.running(Runs::REMOTES).network().args(["ls-remote", "--symref", "--", remote, "HEAD"]).args(patterns);
    Ok(parse_listing(&command.text().await?))
}

/// How long a remote may be silent in a fetch. Where it can't be seen what a process gets, only the question before it,
/// which is short, has a limit.
pub(crate) fn silence_of_fetch(limit: Option<Duration>) -> Option<Duration> {
    limit.filter(|_| cfg!(target_os = "linux"))
}

/// A fetch that changes only the refs it is told to: no `FETCH_HEAD`, no tags, no configuration, no submodules.
pub(crate) fn fetch(command: Command, remote: &str) -> Command {
    command
        .running(Runs::REMOTES)
        .network()
        .config(format!("remote.{remote}.followRemoteHEAD"), "never")
        .args(["fetch", "--quiet", "--no-write-fetch-head", "--no-auto-maintenance", "--refmap="])
        .args(["--no-recurse-submodules", "--no-show-forced-updates"])
}

/// Reads `ref: <target>\tHEAD` and `<id>\t<name>`.
fn parse_listing(text: &str) -> Listing {
    let mut listing = Listing::default();
    let mut head = None;
    for line in text.lines() {
        let Some((value, name)) = line.split_once('\t') else { continue };
        match (value.strip_prefix("ref: "), name) {
            (Some(target), "HEAD") => {
                listing.default_branch = target.strip_prefix("refs/heads/").and_then(|name| name.parse().ok());
            }
            (Some(_), _) => {}
            (None, "HEAD") => head = value.parse().ok(),
            // Patterns match the ends of names too; whoever asked looks up the full one.
            (None, name) => {
                if let Ok(commit) = value.parse() {
                    listing.refs.insert(name.to_owned(), commit);
                }
            }
        }
    }
    if let (Some(branch), Some(commit)) = (&listing.default_branch, head) {
        listing.refs.insert(branch.local_ref(), commit);
    }
    listing
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hostile;

    #[test]
    fn the_default_branch_is_known_with_its_commit() {
        let (a, b) = ("a".repeat(40), "b".repeat(40));
        let listing = parse_listing(&format!(
            "ref: refs/heads/main\tHEAD\n{a}\tHEAD\nref: refs/heads/x\trefs/remotes/origin/HEAD\n{b}\trefs/heads/größe\n"
        ));
        assert_eq!(listing.default_branch.unwrap().as_str(), "main");
        assert_eq!(listing.refs["refs/heads/main"].as_str(), a);
        assert_eq!(listing.refs["refs/heads/größe"].as_str(), b);
    }

    #[test]
    fn a_detached_remote_head_names_no_branch() {
        let listing = parse_listing(&format!("{}\tHEAD\n", "a".repeat(40)));
        assert_eq!(listing, Listing::default());
    }

    proptest! {
        #[test]
        fn no_output_makes_it_panic(text in "(?s)(ref: |\t|\n|HEAD|.){0,60}") {
            let _ = parse_listing(&text);
        }
    }

    #[test]
    fn much_is_read_in_time() {
        hostile::assert_fast(&["ref: ", "HEAD\t"], |stdout| drop(parse_listing(&String::from_utf8_lossy(stdout))));
    }
}
