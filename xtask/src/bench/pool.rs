//! The warm pool's other sides: a base that moved, the engine's own part, and many claims at once.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::Bench;
use super::making::{How, make};
use super::measure::{in_turns, time};
use super::site::{Site, output};
use super::table::{Goal, NO_SLOWER, Row, Unit, finish};
use super::tree::{MEDIUM, Tree};
use crate::chore;

/// The variable that sets the pool's size.
pub const SIZE: &str = "SPINNEY_POOL__SIZE";
/// How far base moves.
const MOVED: usize = 100;
/// Warm workspaces at a time for the engine's row.
const BATCH: usize = 5;
const CLAIMS: usize = 100;
const PROCESSES: usize = 16;

const GIT_STATUS: &str = "`git status` in that tree";
const ONE_BY_ONE: &str = "one after the other";

/// A claim when base has moved since the pool was filled.
pub fn moved(bench: &Bench) -> Vec<Row> {
    let row = Row::new(format!("warm `new`, base moved by {MOVED} files"), Unit::Millis);
    let mut row = row.against(GIT_STATUS).goal(Goal::Within(1.5));
    finish(measure_moved(bench, &mut row), [row])
}

fn measure_moved(bench: &Bench, row: &mut Row) -> Result<()> {
    let mut site = bench.site()?;
    site.set(SIZE, "2");
    for round in 0..=bench.rounds.fast {
        site.fill()?;
        bench.tree.advance(MOVED, &format!("move {round}"))?;
        site.git(&["fetch", "--quiet"])?;
        site.settle()?;
        let (took, workspace) = make(&site, How::Warm, &format!("moved {round}"))?;
        let head = |directory: PathBuf, name: &str| -> Result<Vec<u8>> {
            Ok(output(site.command("git").current_dir(directory).args(["rev-parse", name]))?.stdout)
        };
        if head(workspace.path.clone(), "HEAD")? != head(site.checkout(), "origin/HEAD")? {
            bail!("the claimed workspace is not at the base that moved");
        }
        // The first one settles the index of what was just written.
        site.settle()?;
        site.git_status(&workspace.path)?;
        let status = site.git_status(&workspace.path)?;
        // The first round only warms up.
        if round > 0 {
            row.push(None, took);
            row.push(Some(GIT_STATUS), status);
        }
        site.clear()?;
    }
    Ok(())
}

/// A claim through the engine's API, without the start of a process.
pub fn api(bench: &Bench) -> Vec<Row> {
    let mut row = Row::new("warm claim through the engine's API", Unit::Millis).goal(Goal::Under(10.0));
    finish(measure_api(bench, &mut row), [row])
}

fn measure_api(bench: &Bench, row: &mut Row) -> Result<()> {
    let mut site = bench.site()?;
    site.set(SIZE, &BATCH.to_string());
    site.fill()?;
    output(chore::cargo().args(["build", "--release", "--package", "spinney-engine", "--example", "claim_bench"]))?;
    let example = chore::target_dir().join("release/examples/claim_bench");
    let mut batch = 0;
    while row.ours.runs().len() < bench.rounds.fast {
        site.fill()?;
        site.settle()?;
        let mut command = site.command(&example);
        command.arg(site.home()).arg(site.checkout()).arg(BATCH.to_string()).arg(format!("batch {batch}"));
        let said: Value = serde_json::from_slice(&output(&mut command)?.stdout)?;
        for claim in said.as_array().context("the example gave no list")? {
            if claim["warm"] != true {
                bail!("the pool was filled, and the engine still made a cold workspace");
            }
            let micros = claim["micros"].as_f64().context("the example gave no time")?;
            // The first batch only warms up.
            if batch > 0 {
                row.push(None, micros / 1000.0);
            }
        }
        site.settle()?;
        site.clear()?;
        batch += 1;
    }
    Ok(())
}

/// Many claims by several processes at once.
pub fn claims(bench: &Bench) -> Vec<Row> {
    let row = Row::new(format!("{CLAIMS} warm claims by {PROCESSES} processes"), Unit::Millis);
    let mut row = row.against(ONE_BY_ONE).goal(Goal::Within(NO_SLOWER));
    finish(measure_claims(bench, &mut row), [row])
}

fn measure_claims(bench: &Bench, row: &mut Row) -> Result<()> {
    let tree = Tree::generated(bench.root.path(), MEDIUM)?;
    let mut site = Site::new(&bench.spinney, &tree, bench.root.path())?;
    let ways = [(None, PROCESSES), (Some(ONE_BY_ONE), 1)];
    for round in 0..bench.rounds.slow {
        for (whose, processes) in in_turns(round, &ways) {
            site.set(SIZE, &CLAIMS.to_string());
            site.fill()?;
            site.settle()?;
            // Members are claimed from a pool of no size too, and no refill runs beside.
            site.set(SIZE, "0");
            let (took, paths) = time(|| claim_all(&site, *processes, round))?;
            if paths.len() != CLAIMS {
                bail!("{CLAIMS} claims gave {} different workspaces", paths.len());
            }
            row.push(*whose, took);
            site.settle()?;
            site.clear()?;
        }
    }
    Ok(())
}

/// Claims by so many processes at a time; an error when any of them fails or is cold.
fn claim_all(site: &Site, processes: usize, round: usize) -> Result<BTreeSet<PathBuf>> {
    let next = AtomicUsize::new(0);
    let worker = || -> Result<Vec<PathBuf>> {
        let mut paths = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= CLAIMS {
                return Ok(paths);
            }
            paths.push(make(site, How::Warm, &format!("claim {round} {processes} {number}"))?.1.path);
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..processes).map(|_| scope.spawn(worker)).collect();
        let mut paths = BTreeSet::new();
        for worker in workers {
            paths.extend(worker.join().expect("a worker panicked")?);
        }
        Ok(paths)
    })
}
