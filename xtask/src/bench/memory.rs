//! Peak memory, beside git's own for the same thing.
//!
//! It is the kernel's `ru_maxrss` as GNU time reports it: of the process and of every child that it waited for, the
//! biggest one's peak. (Debian's package `time`.)

use std::ffi::OsStr;
use std::fs;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::Bench;
use super::pool;
use super::site::{Site, output};
use super::table::{Goal, MIB, Row, Unit, finish};

const ADD: &str = "`git worktree add`";
const REMOVE: &str = "`git worktree remove`";
const BEYOND: f64 = 64.0 * MIB;

pub fn row(what: &str) -> Row {
    Row::new(format!("peak memory of {what}"), Unit::Bytes).goal(Goal::Beyond(BEYOND))
}

pub fn cold(bench: &Bench) -> Vec<Row> {
    let mut new = row("cold `new`").against(ADD);
    let mut rm = row("`rm`").against(REMOVE);
    finish(measure_cold(bench, &mut new, &mut rm), [new, rm])
}

fn measure_cold(bench: &Bench, new: &mut Row, rm: &mut Row) -> Result<()> {
    let mut site = bench.site()?;
    site.set_if_known("SPINNEY_WORKSPACE__POPULATE", "checkout");
    for round in 0..bench.rounds.slow {
        let task = format!("memory-{round}");
        let path = site.path().join(&task).display().to_string();
        new.push(None, peak(&site, site.spinney_program(), &["new", "--branch", &task])?);
        rm.push(None, peak(&site, site.spinney_program(), &["rm", &task])?);
        new.push(Some(ADD), peak(&site, "git", &["worktree", "add", "--detach", &path, "origin/HEAD"])?);
        rm.push(Some(REMOVE), peak(&site, "git", &["worktree", "remove", &path])?);
        site.spinney(&["trash", "purge", "--all"])?;
    }
    Ok(())
}

pub fn warm(bench: &Bench) -> Vec<Row> {
    let mut new = row("warm `new`").against(ADD);
    let mut fill = row("`pool fill`").against(ADD);
    finish(measure_warm(bench, &mut new, &mut fill), [new, fill])
}

fn measure_warm(bench: &Bench, new: &mut Row, fill: &mut Row) -> Result<()> {
    let mut site = bench.site()?;
    site.set(pool::SIZE, "1");
    for round in 0..bench.rounds.slow {
        fill.push(None, peak(&site, site.spinney_program(), &["pool", "fill"])?);
        site.fill()?;
        site.settle()?;
        let arguments = ["new", "--branch", &format!("memory-{round}"), "--json"];
        let (peak_of_new, said) = peak_and_output(&site, site.spinney_program(), &arguments)?;
        if serde_json::from_slice::<Value>(&said)?["warm"] != true {
            bail!("the pool was filled, and `new` still made a cold workspace");
        }
        new.push(None, peak_of_new);
        let path = site.path().join(format!("git-{round}"));
        let sample = peak(&site, "git", &["worktree", "add", "--detach", &path.display().to_string(), "origin/HEAD"])?;
        new.push(Some(ADD), sample);
        fill.push(Some(ADD), sample);
        site.git_remove(&path)?;
        site.spinney(&["pool", "drain"])?;
        site.settle()?;
        site.clear()?;
    }
    Ok(())
}

/// The peak of a program's memory in bytes.
pub fn peak(site: &Site, program: impl AsRef<OsStr>, arguments: &[&str]) -> Result<f64> {
    Ok(peak_and_output(site, program, arguments)?.0)
}

fn peak_and_output(site: &Site, program: impl AsRef<OsStr>, arguments: &[&str]) -> Result<(f64, Vec<u8>)> {
    let file = site.path().join("peak");
    let mut command = site.command("time");
    command.args(["--format=%M", "--output"]).arg(&file).arg(program.as_ref()).args(arguments);
    let said = output(&mut command)?.stdout;
    let text = fs::read_to_string(&file)?;
    let kib: f64 = text.trim().parse().with_context(|| format!("`time` said {text}"))?;
    Ok((kib * 1024.0, said))
}
