//! How others speak with Slack and sign as Discord does, from PyPI.

use std::env;
use std::path::{self, PathBuf};

use anyhow::{Context, Result};

use crate::chore;
use crate::needs::is_provided;
use crate::venv;

/// Names the Python that has them to the tests.
const VARIABLE: &str = "SPINNEY_TEST_CHATS";
const SLACK_SDK: &str = "3.46.0";
const PYNACL: &str = "1.6.2";

/// Whether it is named, or was installed before.
pub fn is_there() -> bool {
    is_provided(VARIABLE, place())
}

fn place() -> Result<PathBuf> {
    let directory = chore::target_dir().join("chats").join(format!("slack-{SLACK_SDK}-nacl-{PYNACL}"));
    path::absolute(directory).context("the target directory is odd")
}

/// The variable that names a Python with both to the tests; installed where it is missing.
pub fn provide() -> Result<(&'static str, PathBuf)> {
    if let Some(python) = env::var_os(VARIABLE) {
        return Ok((VARIABLE, python.into()));
    }
    let directory = place()?;
    if !directory.is_dir() {
        let requirements = [format!("slack-sdk=={SLACK_SDK}"), format!("pynacl=={PYNACL}")];
        venv::install(&requirements, &directory, |_| Ok(())).context("can't install `slack-sdk` and `pynacl`")?;
    }
    Ok((VARIABLE, directory.join("bin/python")))
}
