//! `cargo xtask bench`: Spinney beside git, in one run on one tree, as medians and ratios.
//!
//! Whole processes are measured, as a person would wait for them. Machines are noisy: what is compared is measured in
//! turns, and the ratio of the medians is what counts.

mod measure;
mod tree;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use self::measure::{Sample, in_turns, time};
use self::tree::Bench;
use crate::chore;

/// How often each pair is measured.
const ROUNDS: usize = 7;
const LISTED: [usize; 3] = [10, 100, 1000];

pub fn run(arguments: &[&str]) -> Result<ExitCode> {
    let repository = match arguments {
        [] => None,
        ["--repo", path] => {
            Some(PathBuf::from(path).canonicalize().with_context(|| format!("no repository at {path}"))?)
        }
        _ => bail!("usage: cargo xtask bench [--repo PATH]"),
    };
    if let Some(code) =
        chore::step("release build", chore::cargo().args(["build", "--release", "--package", "spinney"]))?
    {
        return Ok(code);
    }
    let spinney = chore::target_dir().join("release").join("spinney");
    let mut table = Table::default();
    trees(&spinney, repository.as_deref(), &mut table)?;
    listings(&spinney, &mut table)?;
    table.print();
    Ok(ExitCode::SUCCESS)
}

/// Making, reusing and removing a workspace of a large tree.
fn trees(spinney: &Path, repository: Option<&Path>, table: &mut Table) -> Result<()> {
    let bench = match repository {
        Some(path) => Bench::of(spinney, path)?,
        None => Bench::generated(spinney, tree::LARGE)?,
    };
    println!("{} files in {}, {}, {}\n", bench.files()?, bench.file_system()?, bench.git_version()?, bench.cores());
    bench.spinney(&["new", "--task", "warm up the caches"])?;
    bench.git(&["worktree", "add", "--quiet", "-b", "warm-up", &bench.place("git-warm-up"), "origin/HEAD"])?;

    let (mut git_add, mut new, mut reuse, mut git_remove, mut rm) =
        (Sample::default(), Sample::default(), Sample::default(), Sample::default(), Sample::default());
    for round in 0..ROUNDS {
        let place = bench.place(&format!("git-{round}"));
        let branch = format!("git-{round}");
        let task = format!("round {round}");
        let name = format!("task-round-{round}");
        in_turns(
            round,
            || {
                git_add.push(time(|| {
                    bench.git(&["worktree", "add", "--quiet", "--no-track", "-b", &branch, &place, "origin/HEAD"])
                })?)
            },
            || new.push(time(|| bench.spinney(&["new", "--task", &task]))?),
        )?;
        reuse.push(time(|| bench.spinney(&["new", "--task", &task]))?)?;
        in_turns(
            round,
            || git_remove.push(time(|| bench.git(&["worktree", "remove", &place]))?),
            || rm.push(time(|| bench.spinney(&["rm", &name]))?),
        )?;
    }
    table.compare("cold `new` against `git worktree add`", &new, &git_add, Some(1.1));
    table.compare("`rm` against `git worktree remove`", &rm, &git_remove, None);
    table.alone("`new` on existing work", &reuse, Some(50));
    Ok(())
}

/// `ls` of more and more workspaces, of a small repository.
fn listings(spinney: &Path, table: &mut Table) -> Result<()> {
    let bench = Bench::generated(spinney, tree::SMALL)?;
    let mut made = 0;
    for count in LISTED {
        bench.make_workspaces(made..count)?;
        made = count;
        let mut sample = Sample::default();
        for _ in 0..ROUNDS {
            sample.push(time(|| bench.spinney(&["ls"]))?)?;
        }
        table.alone(&format!("`ls` of {count} workspaces"), &sample, (count == 1000).then_some(50));
    }
    let mut reuse = Sample::default();
    for _ in 0..ROUNDS {
        reuse.push(time(|| bench.spinney(&["new", "--issue", "1"]))?)?;
    }
    table.alone("`new` on existing work among 1,000", &reuse, Some(50));
    Ok(())
}

/// The results as Markdown.
#[derive(Default)]
struct Table {
    rows: Vec<String>,
}

impl Table {
    /// A row of ours beside git's, as a ratio; more than `most` misses the goal.
    fn compare(&mut self, what: &str, ours: &Sample, theirs: &Sample, most: Option<f64>) {
        let ratio = ours.median().as_secs_f64() / theirs.median().as_secs_f64();
        let goal = most.map_or("–".to_owned(), |most| verdict(ratio <= most, &format!("≤ {most} ×")));
        self.rows.push(format!(
            "| {what} | {} | {} | {} | {ratio:.2} × | {goal} |",
            ours.median_text(),
            ours.p95_text(),
            theirs.median_text()
        ));
    }

    /// A row of ours alone; more than `most_ms` misses the goal.
    fn alone(&mut self, what: &str, ours: &Sample, most_ms: Option<u128>) {
        let goal = most_ms
            .map_or("–".to_owned(), |most| verdict(ours.median().as_millis() <= most, &format!("≤ {most} ms")));
        self.rows.push(format!("| {what} | {} | {} | – | – | {goal} |", ours.median_text(), ours.p95_text()));
    }

    fn print(&self) {
        println!("| | spinney | p95 | git | ratio | goal |");
        println!("| --- | --- | --- | --- | --- | --- |");
        self.rows.iter().for_each(|row| println!("{row}"));
    }
}

fn verdict(reached: bool, goal: &str) -> String {
    format!("{goal} {}", if reached { "✓" } else { "✗" })
}
