//! GitHub's published description of its API, which `cargo xtask test` fetches.

use std::{env, fs};

/// Names the file; set by `cargo xtask test`.
const VARIABLE: &str = "SPINNEY_TEST_GITHUB_DESCRIPTION";

/// The description, in OpenAPI; panics when it was not fetched.
#[must_use]
#[track_caller]
pub fn github_description() -> serde_json::Value {
    let file = env::var(VARIABLE).unwrap_or_else(|_| panic!("needs GitHub's API description: run `cargo xtask test`"));
    let text = fs::read(&file).unwrap_or_else(|error| panic!("`{file}` can't be read: {error}"));
    serde_json::from_slice(&text).expect("the description is JSON")
}
