//! `cargo xtask soak`: a year of a daemon that is left alone, with as many jobs as asked; prints what is left of it, and why.

use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};

use crate::chore;

const JOBS: u32 = 1000;

pub fn run(arguments: &[&str]) -> Result<ExitCode> {
    let jobs = parse(arguments)?;
    let mut command = chore::cargo();
    command.args(["test", "--package", "spinney", "--features", "fail-points", "--test", "suite"]);
    command
        .args(["measured::soak::", "--", "--nocapture", "--test-threads=1"])
        .env("SPINNEY_SOAK_JOBS", jobs.to_string());
    let heading = format!("a year with {jobs} jobs");
    Ok(chore::step(&heading, &mut command)?.unwrap_or(ExitCode::SUCCESS))
}

fn parse(arguments: &[&str]) -> Result<u32> {
    let jobs = match arguments {
        [] => JOBS,
        ["--jobs", number] => number.parse().with_context(|| format!("`{number}` is no number"))?,
        _ => bail!("only `--jobs N` can be given"),
    };
    ensure!(jobs > 0, "a year without a job leaves nothing");
    Ok(jobs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_jobs_can_be_given() {
        assert_eq!((parse(&[]).unwrap(), parse(&["--jobs", "30"]).unwrap()), (JOBS, 30));
        for wrong in [&["--jobs"][..], &["--jobs", "many"], &["--jobs", "0"], &["--rounds", "1"]] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
