//! A Telegram for tests, from npm's registry, kept among what cargo builds.

use std::env;
use std::path::{self, PathBuf};

use anyhow::{Context, Result};

use crate::chore;
use crate::needs::is_provided;
use crate::npm;

/// Names the directory to the tests.
const VARIABLE: &str = "SPINNEY_TEST_TELEGRAM";
const VERSION: &str = "4.2.1";

/// Whether it is named, or was installed before.
pub fn is_there() -> bool {
    is_provided(VARIABLE, place())
}

fn place() -> Result<PathBuf> {
    let directory = path::absolute(chore::target_dir().join(format!("telegram-test-api-{VERSION}")));
    directory.context("the target directory is odd")
}

/// The variable that names it to the tests, in `node_modules`; installed where it is missing.
pub fn provide() -> Result<(&'static str, PathBuf)> {
    if let Some(directory) = env::var_os(VARIABLE) {
        return Ok((VARIABLE, directory.into()));
    }
    let directory = place()?;
    if !directory.is_dir() {
        npm::install(&[&format!("telegram-test-api@{VERSION}")], &directory, |_| Ok(()))?;
    }
    Ok((VARIABLE, directory))
}
