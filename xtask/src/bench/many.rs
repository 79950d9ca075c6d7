//! Commands among more and more workspaces of one repository.

use std::ops::Range;

use anyhow::{Result, bail};

use super::Bench;
use super::measure::{in_turns, time};
use super::memory::{self, peak};
use super::site::Site;
use super::table::{Goal, Row, Unit, finish};
use super::tree::{SMALL, Tree};

/// How many there are, and what the table calls it; the last is the row itself.
const LEVELS: [(usize, Option<&str>); 3] = [(10, Some("among 10")), (100, Some("among 100")), (1000, None)];
/// A hundred times as many may take a hundred times as long, and no more.
const LINEAR: f64 = 100.0;
/// How many workspaces are made at once while setting up.
const AT_ONCE: usize = 8;
const GIT_LIST: &str = "`git worktree list`";

/// The commands, with `{}` for the name of a workspace.
const COMMANDS: [(&str, &[&str]); 6] = [
    ("`ls`", &["ls"]),
    ("`new` on existing work", &["new", "--issue", "1"]),
    ("`status`", &["status"]),
    ("`show`", &["show", "{}"]),
    ("`path`", &["path", "{}"]),
    ("`rm`", &["rm", "{}"]),
];

pub fn rows(bench: &Bench) -> Vec<Row> {
    let mut rows = COMMANDS.map(|(name, _)| {
        let row = Row::new(format!("{name} among 1,000 workspaces"), Unit::Millis);
        row.against("among 10").beside("among 100").goal(Goal::Within(LINEAR))
    });
    rows[0] = rows[0].clone().beside(GIT_LIST).goal(Goal::Under(50.0));
    let mut memory = memory::row("`ls` of 1,000").against(GIT_LIST);
    let outcome = measure(bench, &mut rows, &mut memory);
    let [ls, new, status, show, path, rm] = rows;
    finish(outcome, [ls, new, status, show, path, rm, memory])
}

fn measure(bench: &Bench, rows: &mut [Row], memory: &mut Row) -> Result<()> {
    let tree = Tree::generated(bench.root.path(), SMALL)?;
    let site = Site::new(&bench.spinney, &tree, bench.root.path())?;
    let mut made = 0;
    for (count, whose) in LEVELS {
        make_workspaces(&site, made..count)?;
        made = count;
        let numbers: Vec<usize> = (0..COMMANDS.len()).collect();
        for round in 0..=bench.rounds.fast {
            site.settle()?;
            for number in in_turns(round, &numbers) {
                let arguments =
                    COMMANDS[*number].1.iter().map(|word| word.replace("{}", "issue-1")).collect::<Vec<_>>();
                let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
                let (took, _) = time(|| site.spinney(&arguments))?;
                if arguments[0] == "rm" {
                    site.spinney(&["restore", "issue-1"])?;
                }
                // The first round only warms up.
                if round > 0 {
                    rows[*number].push(whose, took);
                }
            }
        }
    }
    for _ in 0..bench.rounds.fast {
        let (took, _) = time(|| site.git(&["worktree", "list"]))?;
        rows[0].push(Some(GIT_LIST), took);
    }
    for _ in 0..bench.rounds.slow {
        memory.push(None, peak(&site, site.spinney_program(), &["ls"])?);
        memory.push(Some(GIT_LIST), peak(&site, "git", &["worktree", "list"])?);
    }
    Ok(())
}

/// Makes workspaces for issues of these numbers (from one on), several processes at a time.
pub fn make_workspaces(site: &Site, numbers: Range<usize>) -> Result<()> {
    for chunk in numbers.collect::<Vec<_>>().chunks(AT_ONCE) {
        let mut running = Vec::new();
        for number in chunk {
            let issue = (number + 1).to_string();
            let mut command = site.command(site.spinney_program());
            running.push(
                command
                    .args(["new", "--quiet", "--json", "--issue", &issue])
                    .stdout(std::process::Stdio::null())
                    .spawn()?,
            );
        }
        for mut child in running {
            if !child.wait()?.success() {
                bail!("a workspace could not be made");
            }
        }
    }
    Ok(())
}
