//! `cargo xtask crash`: the crash tests, with the random kills for as many rounds as asked.

use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use crate::chore;

const ROUNDS: u64 = 300;

pub fn run(arguments: &[&str]) -> Result<ExitCode> {
    let Options { rounds, seed } = parse(arguments)?;
    let mut command = chore::cargo();
    command.args(["test", "--package", "spinney", "--features", "fail-points", "--test", "crash"]);
    command.args(["--", "--nocapture"]).env("SPINNEY_CRASH_ROUNDS", rounds.to_string());
    if let Some(seed) = seed {
        command.env("SPINNEY_CRASH_SEED", seed.to_string());
    }
    let heading = format!("a death at every step, and {rounds} at random");
    Ok(chore::step(&heading, &mut command)?.unwrap_or(ExitCode::SUCCESS))
}

#[derive(Debug, PartialEq, Eq)]
struct Options {
    rounds: u64,
    /// The same kills again; drawn anew, and told, where none is given.
    seed: Option<u64>,
}

fn parse(arguments: &[&str]) -> Result<Options> {
    let mut options = Options { rounds: ROUNDS, seed: None };
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
        assert_eq!(parse(&[]).unwrap(), Options { rounds: 300, seed: None });
        assert_eq!(parse(&["--seed", "7", "--rounds", "9"]).unwrap(), Options { rounds: 9, seed: Some(7) });
        for wrong in [&["--rounds"][..], &["--rounds", "many"], &["--fast", "1"]] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
