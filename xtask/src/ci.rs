//! `cargo xtask ci`: format, spelling, lints, tests.

use std::process::ExitCode;

use anyhow::Result;

use crate::{chore, test};

pub fn run() -> Result<ExitCode> {
    let checks: [(&str, &[&str]); 3] = [
        ("format", &["fmt", "--all", "--check"]),
        ("spelling", &["xtask", "spell"]),
        (
            "lints",
            &[
                "clippy",
                "--workspace",
                "--all-targets",
                "--features",
                "spinney/fail-points",
                "--",
                "--deny",
                "warnings",
            ],
        ),
    ];
    for (heading, arguments) in checks {
        if let Some(code) = chore::step(heading, chore::cargo().args(arguments))? {
            return Ok(code);
        }
    }
    test::run(false, &[])
}
