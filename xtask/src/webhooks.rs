//! GitHub's recorded webhooks and its own way of signing them, from npm's registry, kept among what cargo builds.

use std::env;
use std::path::{self, PathBuf};

use anyhow::{Context, Result};

use crate::chore;
use crate::npm;

/// Names the directory to the tests.
pub const VARIABLE: &str = "SPINNEY_TEST_GITHUB_WEBHOOKS";
const EXAMPLES: &str = "7.6.1";
const WEBHOOKS: &str = "14.2.0";

/// Where they are, in `node_modules`; installed where they are missing.
pub fn find_or_install() -> Result<PathBuf> {
    if let Some(directory) = env::var_os(VARIABLE) {
        return Ok(directory.into());
    }
    let directory = chore::target_dir().join("webhooks").join(format!("github-{EXAMPLES}-{WEBHOOKS}"));
    let directory = path::absolute(directory).context("the target directory is odd")?;
    if !directory.is_dir() {
        let examples = format!("@octokit/webhooks-examples@{EXAMPLES}");
        let webhooks = format!("@octokit/webhooks@{WEBHOOKS}");
        npm::install(&[&examples, &webhooks], &directory, |_| Ok(()))?;
    }
    Ok(directory)
}
