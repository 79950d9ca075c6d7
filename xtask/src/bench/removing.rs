//! Removing a workspace, beside git and the peers.

use anyhow::Result;

use super::Bench;
use super::measure::{in_turns, time};
use super::peers::{self, Peer};
use super::site::{New, Site, output};
use super::table::{Goal, Row, Unit, finish};

/// git's own ways: with `--force` it looks at nothing.
const GITS: [(&str, &[&str]); 2] = [("`git worktree remove`", &[]), ("`git worktree remove --force`", &["--force"])];

#[derive(Debug)]
enum Remover<'a> {
    Plain,
    Force,
    Git(&'static str, &'static [&'static str]),
    Peer(&'a Peer),
}

pub fn rows(bench: &Bench) -> Vec<Row> {
    let row = |what: &str| GITS.into_iter().fold(Row::new(what, Unit::Millis), |row, (name, _)| row.against(name));
    let mut plain = row("`rm` of a clean tree").goal(Goal::Faster(10.0));
    let mut force = row("`rm --force`").goal(Goal::Faster(50.0));
    finish(measure(bench, &mut plain, &mut force), [plain, force])
}

fn measure(bench: &Bench, plain: &mut Row, force: &mut Row) -> Result<()> {
    let mut site = bench.site()?;
    site.set_if_known("SPINNEY_WORKSPACE__POPULATE", "checkout");
    // Two trees serve all rounds: what was removed is brought back, as it was.
    let (_, clean) = site.new_workspace("a clean one")?;
    let (_, forced) = site.new_workspace("a forced one")?;
    remove(&site, &clean, &[])?;
    remove(&site, &forced, &["--force"])?;
    let peers = peers::working(&bench.peers, &site, &bench.tree.branch);
    let all: Vec<Remover<'_>> = [Remover::Plain, Remover::Force]
        .into_iter()
        .chain(GITS.into_iter().map(|(name, options)| Remover::Git(name, options)))
        .chain(peers.into_iter().map(Remover::Peer))
        .collect();
    for round in 0..bench.rounds.fast {
        let removers = if bench.rounds.is_slow(round) { all.as_slice() } else { &all[..2] };
        for remover in in_turns(round, removers) {
            match remover {
                Remover::Plain => plain.push(None, remove(&site, &clean, &[])?),
                Remover::Force => force.push(None, remove(&site, &forced, &["--force"])?),
                Remover::Git(name, options) => {
                    let (_, path) = site.git_add(&[], &format!("git-{round}-{}", options.len()))?;
                    site.git_status(&path)?;
                    site.settle()?;
                    let mut command = site.command("git");
                    command.args(["worktree", "remove"]).args(*options).arg(&path);
                    let (took, _) = time(|| output(&mut command))?;
                    plain.push(Some(name), took);
                    force.push(Some(name), took);
                }
                Remover::Peer(peer) => {
                    peer.create(&site, round, &bench.tree.branch);
                    site.settle()?;
                    if let Some(took) = peer.remove(&site, round) {
                        plain.push(Some(peer.removes), took);
                    }
                }
            }
        }
    }
    Ok(())
}

/// How long a removal takes; it is undone afterwards.
fn remove(site: &Site, workspace: &New, options: &[&str]) -> Result<f64> {
    site.git_status(&workspace.path)?;
    site.settle()?;
    let (took, _) = time(|| site.spinney(&[&["rm", workspace.name.as_str()], options].concat()))?;
    site.settle()?;
    site.spinney(&["restore", &workspace.name])?;
    Ok(took)
}
