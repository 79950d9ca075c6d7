//! GitHub's recorded webhooks and its own way of signing them, from npm's registry, kept among what cargo builds.

use std::env;
use std::path::{self, PathBuf};

use anyhow::{Context, Result};

use crate::chore;
use crate::needs::is_provided;
use crate::npm;

/// Names the directory to the tests.
const VARIABLE: &str = "SPINNEY_TEST_GITHUB_WEBHOOKS";
const EXAMPLES: &str = "7.6.1";
const WEBHOOKS: &str = "14.2.0";

/// Whether they are named, or were installed before.
pub fn is_there() -> bool {
    is_provided(VARIABLE, place())
}

fn place() -> Result<PathBuf> {
    let directory = chore::target_dir().join("webhooks").join(format!("github-{EXAMPLES}-{WEBHOOKS}"));
    path::absolute(directory).context("the target directory is odd")
}

/// The variable that names them to the tests, in `node_modules`; installed where they are missing.
pub fn provide() -> Result<(&'static str, PathBuf)> {
    if let Some(directory) = env::var_os(VARIABLE) {
        return Ok((VARIABLE, directory.into()));
    }
    let directory = place()?;
    if !directory.is_dir() {
        let examples = format!("@octokit/webhooks-examples@{EXAMPLES}");
        let webhooks = format!("@octokit/webhooks@{WEBHOOKS}");
        npm::install(&[&examples, &webhooks], &directory, |_| Ok(()))?;
    }
    Ok((VARIABLE, directory))
}
