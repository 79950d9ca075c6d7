//! Clients of the MCP server that others wrote, from npm and PyPI.

use std::env;
use std::path::{self, PathBuf};

use anyhow::{Context, Result};

use crate::needs::is_provided;
use crate::{chore, npm, venv};

/// Names the directory of npm's clients to the tests.
const NPM: &str = "SPINNEY_TEST_MCP_NPM";
/// Names the Python that has the client of PyPI.
const PYTHON: &str = "SPINNEY_TEST_MCP_PYTHON";

/// The Inspector, the TypeScript SDK, the conformance suite, and the Node that this one needs.
const PACKAGES: [&str; 4] = [
    "@modelcontextprotocol/inspector@0.15.0",
    "@modelcontextprotocol/sdk@1.32.2",
    "@modelcontextprotocol/conformance@0.1.16",
    "node@22",
];
const SDK: &str = "2.3.0";
const NPM_PLACE: &str = "npm-1";

/// Whether npm's are named, or were installed before.
pub fn is_npm_there() -> bool {
    is_provided(NPM, place(NPM_PLACE))
}

/// Whether PyPI's is named, or was installed before.
pub fn is_python_there() -> bool {
    is_provided(PYTHON, place(&python_place()))
}

/// The variable that names npm's to the tests; what is missing is installed.
pub fn provide_npm() -> Result<(&'static str, PathBuf)> {
    Ok((NPM, npm_clients()?))
}

/// The variable that names PyPI's to the tests; what is missing is installed.
pub fn provide_python() -> Result<(&'static str, PathBuf)> {
    Ok((PYTHON, python_client()?))
}

fn npm_clients() -> Result<PathBuf> {
    if let Some(directory) = env::var_os(NPM) {
        return Ok(directory.into());
    }
    let directory = place(NPM_PLACE)?;
    if !directory.is_dir() {
        npm::install(&PACKAGES, &directory, |_| Ok(())).context("can't install npm's clients of MCP")?;
    }
    Ok(directory)
}

fn python_client() -> Result<PathBuf> {
    if let Some(python) = env::var_os(PYTHON) {
        return Ok(python.into());
    }
    let directory = place(&python_place())?;
    if !directory.is_dir() {
        venv::install(&[format!("mcp=={SDK}")], &directory, |_| Ok(())).context("can't install PyPI's `mcp`")?;
    }
    Ok(directory.join("bin/python"))
}

fn python_place() -> String {
    format!("python-{SDK}")
}

fn place(name: &str) -> Result<PathBuf> {
    path::absolute(chore::target_dir().join("mcp").join(name)).context("the target directory is odd")
}
