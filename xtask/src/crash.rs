//! `cargo xtask crash`: the crash tests, with the kills for as many rounds as asked.

use std::env;
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};

use crate::chore;
use crate::postgres::{Cluster, Programs};

const ROUNDS: u64 = 300;
/// How often the daemon is killed.
const SERVE_ROUNDS: u64 = 20;

pub fn run(arguments: &[&str]) -> Result<ExitCode> {
    if let ["--serve", rest @ ..] = arguments {
        return run_serve(rest);
    }
    let Options { rounds, seed } = parse(arguments, ROUNDS)?;
    let mut command = chore::cargo();
    command.args(["test", "--package", "spinney", "--features", "fail-points", "--test", "suite"]);
    command.args(["recovery::crash::", "--", "--nocapture"]).env("SPINNEY_CRASH_ROUNDS", rounds.to_string());
    if let Some(seed) = seed {
        command.env("SPINNEY_CRASH_SEED", seed.to_string());
    }
    let heading = format!("a death at every step, and {rounds} at random");
    Ok(chore::step(&heading, &mut command)?.unwrap_or(ExitCode::SUCCESS))
}

/// The daemon under load, as it is released, on both databases.
fn run_serve(arguments: &[&str]) -> Result<ExitCode> {
    let Options { rounds, seed } = parse(arguments, SERVE_ROUNDS)?;
    ensure!(seed.is_none(), "the daemon's deaths have no seed");
    let programs = Programs::find_or_install()?;
    let cluster = Cluster::start(&programs)?;
    let path = env::var_os("PATH").context("`PATH` is not set")?;
    // PostgreSQL's programs come last, so that they hide nothing.
    let paths = env::split_paths(&path).chain([programs.directory]);
    let mut command = chore::cargo();
    command.args(["test", "--release", "--package", "spinney", "--test", "suite"]);
    command
        .args(["measured::daemon_death::", "--", "--nocapture", "--test-threads=1"])
        .env("SPINNEY_SERVE_CRASH_ROUNDS", rounds.to_string());
    command.env("PATH", env::join_paths(paths)?).env("SPINNEY_TEST_POSTGRES_URL", cluster.url());
    let heading = format!("the daemon killed {rounds} times under load");
    Ok(chore::step(&heading, &mut command)?.unwrap_or(ExitCode::SUCCESS))
}

#[derive(Debug, PartialEq, Eq)]
struct Options {
    rounds: u64,
    /// The same kills again; drawn anew, and told, where none is given.
    seed: Option<u64>,
}

fn parse(arguments: &[&str], rounds: u64) -> Result<Options> {
    let mut options = Options { rounds, seed: None };
    let mut rest = arguments.iter();
    while let Some(flag) = rest.next() {
        let value = rest.next().with_context(|| format!("`{flag}` needs a number"))?;
        let number = value.parse().with_context(|| format!("`{value}` is no number"))?;
        match *flag {
            "--rounds" => options.rounds = number,
            "--seed" => options.seed = Some(number),
            _ => bail!("there is no `{flag}`: only `--rounds N` and `--seed N`"),
        }
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_and_seed_can_be_given() {
        assert_eq!(parse(&[], 300).unwrap(), Options { rounds: 300, seed: None });
        assert_eq!(parse(&["--seed", "7", "--rounds", "9"], 300).unwrap(), Options { rounds: 9, seed: Some(7) });
        for wrong in [&["--rounds"][..], &["--rounds", "many"], &["--fast", "1"]] {
            assert!(parse(wrong, 300).is_err(), "{wrong:?}");
        }
    }
}
