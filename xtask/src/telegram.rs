//! A Telegram for tests, from npm's registry, kept among what cargo builds.

use std::env;
use std::path::{self, PathBuf};

use anyhow::{Context, Result};

use crate::chore;
use crate::npm;

/// Names the directory to the tests.
pub const VARIABLE: &str = "SPINNEY_TEST_TELEGRAM";
const VERSION: &str = "4.2.1";

/// Where it is, in `node_modules`; installed where it is missing.
pub fn find_or_install() -> Result<PathBuf> {
    if let Some(directory) = env::var_os(VARIABLE) {
        return Ok(directory.into());
    }
    let directory = path::absolute(chore::target_dir().join(format!("telegram-test-api-{VERSION}")));
    let directory = directory.context("the target directory is odd")?;
    if !directory.is_dir() {
        npm::install(&[&format!("telegram-test-api@{VERSION}")], &directory, |_| Ok(()))?;
    }
    Ok(directory)
}
