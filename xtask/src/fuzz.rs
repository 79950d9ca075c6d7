//! `cargo xtask fuzz`: the property tests of all that reads what others wrote, with many more cases than the tests' own run,
//! again and again until the time is up.
//!
//! They are `proptest`s on the stable toolchain rather than targets of `cargo fuzz`: those need a nightly compiler, and see only
//! what a crate makes public.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::chore;

const MINUTES: u64 = 5;
/// Cases of each property in one round.
const CASES: &str = "20000";
/// Trees of the model of loss in one round: each takes a second or two.
const LOSS_CASES: &str = "1000";
/// The crates that have such tests, beside other tests that are soon over.
const PACKAGES: [&str; 4] = ["spinney-core", "spinney-git", "spinney-forge", "spinney-platforms"];

pub fn run(arguments: &[&str]) -> Result<ExitCode> {
    let minutes = parse(arguments)?;
    let until = Instant::now() + Duration::from_secs(minutes * 60);
    for round in 1.. {
        let mut command = chore::cargo();
        command.args(["test", "--quiet", "--lib"]).args(PACKAGES.map(|name| format!("--package={name}")));
        let heading = format!("round {round}, {CASES} cases of each property");
        if let Some(code) = chore::step(&heading, command.env("PROPTEST_CASES", CASES))? {
            return Ok(code);
        }
        // What a runtime's output may look like; its programs are of others, too.
        let mut command = chore::cargo();
        command.args(["test", "--quiet", "--package=spinney-jobs", "--test=suite", "runtimes::hostile::"]);
        let heading = format!("round {round}, hostile output of agents");
        if let Some(code) = chore::step(&heading, command.env("PROPTEST_CASES", CASES))? {
            return Ok(code);
        }
        // Trees that are removed, interfered with, purged and restored.
        let mut command = chore::cargo();
        command.args(["test", "--quiet", "--package=spinney", "--features=fail-points", "--test=suite"]);
        command.arg("removal::loss_model::");
        let heading = format!("round {round}, {LOSS_CASES} trees that nothing may be lost of");
        if let Some(code) = chore::step(&heading, command.env("SPINNEY_LOSS_CASES", LOSS_CASES))? {
            return Ok(code);
        }
        if Instant::now() >= until {
            break;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn parse(arguments: &[&str]) -> Result<u64> {
    match arguments {
        [] => Ok(MINUTES),
        ["--minutes", number] => number.parse().with_context(|| format!("`{number}` is no number")),
        _ => bail!("only `--minutes N` can be given"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_can_be_given() {
        assert_eq!((parse(&[]).unwrap(), parse(&["--minutes", "30"]).unwrap()), (MINUTES, 30));
        for wrong in [&["--minutes"][..], &["--minutes", "many"], &["--rounds", "1"]] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
