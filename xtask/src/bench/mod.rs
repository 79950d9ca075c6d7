//! `cargo xtask bench`: Spinney beside git and its peers, in one run on one tree, as medians and ratios.
//!
//! Whole processes are measured, as a person would wait for them. Machines are noisy: what is compared is measured in
//! turns, each run after everything before it has ended and is on the disk, and the ratio of the medians is what counts.

mod cloning;
mod image;
mod job;
mod machine;
mod making;
mod many;
mod measure;
mod memory;
mod options;
mod peers;
mod pool;
mod process;
mod removing;
mod serve;
mod site;
mod table;
mod tree;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};

use self::measure::Rounds;
use self::options::Options;
use self::peers::Peer;
use self::site::Site;
use self::table::{Row, Table};
use self::tree::Tree;
use crate::chore;

/// What the rows are measured with.
#[derive(Debug)]
struct Bench {
    spinney: PathBuf,
    tree: Tree,
    peers: Vec<Peer>,
    rounds: Rounds,
    images: bool,
    /// Holds everything, and goes last.
    root: tempfile::TempDir,
}

/// Rows that are measured together, by the name that `--rows` knows. Each part has sites of its own.
type Part = (&'static str, fn(&Bench) -> Vec<Row>);

const PARTS: [Part; 16] = [
    ("warm", making::warm),
    ("moved", pool::moved),
    ("api", pool::api),
    ("claims", pool::claims),
    ("cold", making::cold),
    ("reflink", cloning::reflink),
    ("snapshot", cloning::snapshot),
    ("rm", removing::rows),
    ("many", many::rows),
    ("memory", memory::cold),
    ("memory-warm", memory::warm),
    ("job", job::overhead),
    ("job-idle", job::idle),
    ("job-memory", job::memory),
    ("serve", serve::load),
    ("serve-idle", serve::idle),
];

pub fn run(arguments: &[&str]) -> Result<ExitCode> {
    let options = Options::parse(arguments)?;
    let mut build = chore::cargo();
    build.args(["build", "--release", "--package", "spinney"]);
    if options.spinney.is_none()
        && let Some(code) = chore::step("release build", &mut build)?
    {
        return Ok(code);
    }
    let load = machine::load();
    let root = tempfile::Builder::new().prefix("spinney-bench-").tempdir().context("no temporary directory")?;
    site::make_home(root.path())?;
    let tree = match &options.repository {
        Some(repository) => Tree::of(root.path(), repository)?,
        None => Tree::generated(root.path(), tree::LARGE)?,
    };
    let (peers, known) = peers::find();
    let spinney = options.spinney.clone().unwrap_or_else(|| chore::target_dir().join("release").join("spinney"));
    let bench = Bench { spinney, tree, peers, rounds: options.rounds, images: options.images, root };

    let mut table = Table { facts: facts(&bench, &load, &known), rows: Vec::new() };
    let out = options.out.clone().unwrap_or_else(|| chore::target_dir().join("bench"));
    fs::create_dir_all(&out).with_context(|| format!("can't make {}", out.display()))?;
    for (name, rows) in PARTS.iter().filter(|(name, _)| options.wants(name)) {
        eprintln!("== {name}");
        table.rows.extend(rows(&bench));
        // After each part: a long run that is stopped has not been for nothing.
        fs::write(out.join("bench.md"), table.markdown())?;
        fs::write(out.join("bench.json"), format!("{:#}\n", table.json()))?;
    }
    print!("{}", table.markdown());
    Ok(ExitCode::SUCCESS)
}

fn facts(bench: &Bench, load: &str, peers: &str) -> Vec<(String, String)> {
    let Bench { tree, rounds, root, .. } = bench;
    let spinney = machine::said(Command::new(&bench.spinney).arg("--version"));
    let git = machine::said(Command::new("git").arg("version"));
    [
        ("machine", machine::machine()),
        ("load average at the start", load.to_owned()),
        ("file system", machine::file_system(root.path())),
        ("tree", format!("{} files, {:.1} MB", tree.files, tree.bytes as f64 / 1e6)),
        ("versions", format!("{spinney}; {git}; {peers}")),
        ("rounds", format!("{} of what takes seconds, {} of what takes milliseconds", rounds.slow, rounds.fast)),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

impl Bench {
    /// A fresh clone of the tree, with a home of its own.
    fn site(&self) -> Result<Site> {
        Site::new(&self.spinney, &self.tree, self.root.path())
    }
}
