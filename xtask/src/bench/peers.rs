//! Other tools that make worktrees, measured beside where they are on `PATH`.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::Result;

use super::measure::time;
use super::site::{Site, output};

#[derive(Debug)]
pub struct Peer {
    /// What the table calls it when it makes a worktree, and when it removes one.
    pub creates: &'static str,
    pub removes: &'static str,
    program: &'static str,
    version: &'static [&'static str],
    create: fn(branch: &str, base: &str) -> Vec<String>,
    remove: fn(branch: &str) -> Vec<String>,
}

const KNOWN: [Peer; 2] = [
    Peer {
        creates: "`wt switch --create`",
        removes: "`wt remove`",
        program: "wt",
        version: &["--version"],
        create: |branch, base| words(&["switch", "--create", branch, "--base", base, "--no-cd", "--yes"]),
        remove: |branch| words(&["remove", branch, "--yes"]),
    },
    Peer {
        creates: "`git gtr new`",
        removes: "`git gtr rm`",
        program: "git-gtr",
        version: &["version"],
        create: |branch, base| {
            words(&["new", branch, "--from", base, "--no-fetch", "--no-copy", "--no-hooks", "--yes"])
        },
        remove: |branch| words(&["rm", branch, "--yes"]),
    },
];
/// It opens windows: without a terminal multiplexer's session there is nothing to measure.
const NOT_MEASURED: &str = "workmux";

impl Peer {
    /// How long it takes to make the worktree of a round; none, and said, when it fails.
    pub fn create(&self, site: &Site, round: usize, base: &str) -> Option<f64> {
        soft(self.try_create(site, &round.to_string(), base))
    }

    /// How long it takes to remove the worktree of a round; none, and said, when it fails.
    pub fn remove(&self, site: &Site, round: usize) -> Option<f64> {
        soft(self.try_remove(site, &round.to_string()))
    }

    fn try_create(&self, site: &Site, label: &str, base: &str) -> Result<f64> {
        Ok(time(|| output(site.command(self.program).args((self.create)(&self.branch(label), base))))?.0)
    }

    fn try_remove(&self, site: &Site, label: &str) -> Result<f64> {
        Ok(time(|| output(site.command(self.program).args((self.remove)(&self.branch(label)))))?.0)
    }

    fn branch(&self, label: &str) -> String {
        format!("{}-{label}", self.program)
    }
}

/// A peer that fails is no reason to stop.
fn soft(outcome: Result<f64>) -> Option<f64> {
    outcome.inspect_err(|error| eprintln!("   a peer failed: {error:#}")).ok()
}

/// The peers on `PATH`, and a line about all that are known.
pub fn find() -> (Vec<Peer>, String) {
    let (mut found, mut said) = (Vec::new(), Vec::new());
    for peer in KNOWN {
        let asked = Command::new(peer.program).args(peer.version).stdin(Stdio::null()).output();
        match asked {
            Ok(output) => {
                let text = String::from_utf8_lossy(&output.stdout);
                said.push(text.lines().next().unwrap_or(peer.program).trim().to_owned());
                found.push(peer);
            }
            Err(_) => said.push(format!("no `{}`", peer.program)),
        }
    }
    said.push(match on_path(NOT_MEASURED) {
        Some(_) => format!("`{NOT_MEASURED}` is there and not measured: it needs a tmux session"),
        None => format!("no `{NOT_MEASURED}`"),
    });
    (found, said.join("; "))
}

/// Those that make and remove a worktree here; what goes wrong with the others is said.
pub fn working<'a>(peers: &'a [Peer], site: &Site, base: &str) -> Vec<&'a Peer> {
    let works = |peer: &&Peer| {
        let tried = peer.try_create(site, "warm-up", base).and_then(|_| {
            site.settle()?;
            peer.try_remove(site, "warm-up")
        });
        soft(tried).is_some()
    };
    peers.iter().filter(works).collect()
}

fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(program)).find(|program| program.is_file())
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}
