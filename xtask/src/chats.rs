//! How others speak with Slack and sign as Discord does, from PyPI.

use std::env;
use std::path::{self, PathBuf};

use anyhow::{Context, Result};

use crate::chore;
use crate::venv;

/// Names the Python that has them to the tests.
pub const VARIABLE: &str = "SPINNEY_TEST_CHATS";
const SLACK_SDK: &str = "3.46.0";
const PYNACL: &str = "1.6.2";

/// A Python with both; installed where it is missing.
pub fn find_or_install() -> Result<PathBuf> {
    if let Some(python) = env::var_os(VARIABLE) {
        return Ok(python.into());
    }
    let directory = chore::target_dir().join("chats").join(format!("slack-{SLACK_SDK}-nacl-{PYNACL}"));
    let directory = path::absolute(directory).context("the target directory is odd")?;
    if !directory.is_dir() {
        let requirements = [format!("slack-sdk=={SLACK_SDK}"), format!("pynacl=={PYNACL}")];
        venv::install(&requirements, &directory, |_| Ok(())).context("can't install `slack-sdk` and `pynacl`")?;
    }
    Ok(directory.join("bin/python"))
}
