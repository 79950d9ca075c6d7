//! Making a workspace, beside git's own worktree and the peers', and the first `git status` in it.

use std::path::PathBuf;

use anyhow::{Result, bail};

use super::measure::in_turns;
use super::peers::{self, Peer};
use super::site::{GITS, New, Site};
use super::table::{Goal, NO_SLOWER, Row, Unit, finish};
use super::{Bench, pool};

/// How the workspaces of a row come to be; it is an error when they come in another way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    Checkout,
    Warm,
    Reflink,
    Snapshot,
}

#[derive(Debug)]
enum Maker<'a> {
    Spinney,
    Git(&'static str, &'static [&'static str]),
    Peer(&'a Peer),
}

pub fn cold(bench: &Bench) -> Vec<Row> {
    let (mut new, mut status) = rows("cold `new`, checkout", "cold");
    new = new.goal(Goal::Within(NO_SLOWER));
    let outcome = bench.site().and_then(|mut site| {
        site.set_if_known("SPINNEY_WORKSPACE__POPULATE", "checkout");
        measure(bench, &site, How::Checkout, &mut new, &mut status)
    });
    finish(outcome, [new, status])
}

pub fn warm(bench: &Bench) -> Vec<Row> {
    let (mut new, mut status) = rows("warm `new`", "warm");
    new = new.goal(Goal::Faster(100.0)).goal(Goal::Under(25.0));
    let outcome = bench.site().and_then(|mut site| {
        site.set(pool::SIZE, "2");
        measure(bench, &site, How::Warm, &mut new, &mut status)
    });
    finish(outcome, [new, status])
}

/// A row for the making, and one for the first status.
pub fn rows(what: &str, kind: &str) -> (Row, Row) {
    let new = GITS.into_iter().fold(Row::new(what, Unit::Millis), |row, (name, _)| row.against(name));
    let status = Row::new(format!("first `git status`, {kind} workspace"), Unit::Millis);
    (new, status.against(GIT_STATUS).goal(Goal::Within(1.5)))
}

const GIT_STATUS: &str = "the same in git's own";

/// Measures both; what takes seconds is left out of most rounds where ours takes milliseconds.
pub fn measure(bench: &Bench, site: &Site, how: How, new: &mut Row, status: &mut Row) -> Result<()> {
    // Once each before it counts.
    if how == How::Warm {
        site.fill()?;
    }
    make(site, how, "warm up")?;
    site.clear()?;
    site.git_remove(&site.git_add(&[], "git-warm-up")?.1)?;
    let peers = peers::working(&bench.peers, site, &bench.tree.branch);
    let all: Vec<Maker<'_>> = [Maker::Spinney]
        .into_iter()
        .chain(GITS.into_iter().map(|(name, options)| Maker::Git(name, options)))
        .chain(peers.into_iter().map(Maker::Peer))
        .collect();
    let fast = matches!(how, How::Warm | How::Snapshot);
    for round in 0..if fast { bench.rounds.fast } else { bench.rounds.slow } {
        let makers = if !fast || bench.rounds.is_slow(round) { all.as_slice() } else { &all[..1] };
        let (mut ours, mut gits): (Option<PathBuf>, Vec<PathBuf>) = (None, Vec::new());
        if how == How::Warm {
            site.fill()?;
        }
        for maker in in_turns(round, makers) {
            site.settle()?;
            match maker {
                Maker::Spinney => {
                    let (took, workspace) = make(site, how, &format!("round {round}"))?;
                    new.push(None, took);
                    ours = Some(workspace.path);
                }
                Maker::Git(name, options) => {
                    let (took, path) = site.git_add(options, &format!("git-{round}-{}", gits.len()))?;
                    new.push(Some(name), took);
                    gits.push(path);
                }
                Maker::Peer(peer) => {
                    if let Some(took) = peer.create(site, round, &bench.tree.branch) {
                        new.push(Some(peer.creates), took);
                    }
                }
            }
        }
        let firsts = [ours.map(|path| (None, path)), gits.first().map(|path| (Some(GIT_STATUS), path.clone()))];
        let firsts: Vec<_> = firsts.into_iter().flatten().collect();
        for (whose, path) in in_turns(round, &firsts) {
            site.settle()?;
            status.push(*whose, site.git_status(path)?);
        }
        for maker in makers {
            if let Maker::Peer(peer) = maker {
                peer.remove(site, round);
            }
        }
        gits.iter().try_for_each(|path| site.git_remove(path))?;
        site.clear()?;
    }
    Ok(())
}

/// A workspace that came in the way asked for.
pub fn make(site: &Site, how: How, task: &str) -> Result<(f64, New)> {
    let (took, new) = site.new_workspace(task)?;
    let populate = match how {
        How::Warm if !new.warm => bail!("the pool was filled, and `new` still made a cold workspace"),
        How::Checkout if new.warm => bail!("`new` took a warm workspace without a pool"),
        How::Warm | How::Checkout => return Ok((took, new)),
        How::Reflink => "reflink",
        How::Snapshot => "snapshot",
    };
    if new.populate != populate {
        bail!("`new` populated it by `{}`, not by `{populate}`", new.populate);
    }
    Ok((took, new))
}
