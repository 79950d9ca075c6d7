//! GitHub's published description of its API, and its recorded webhooks, which `cargo xtask test` fetches.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::{env, fs};

use serde_json::Value;

use crate::programs::needs::left_out_without;

/// Names the file; set by `cargo xtask test`.
const VARIABLE: &str = "SPINNEY_TEST_GITHUB_DESCRIPTION";

/// The description, in OpenAPI; panics when it was not fetched.
#[must_use]
#[track_caller]
pub fn github_description() -> Value {
    let file = env::var(VARIABLE).unwrap_or_else(|_| left_out_without("GitHub's API description"));
    let text = fs::read(&file).unwrap_or_else(|error| panic!("`{file}` can't be read: {error}"));
    serde_json::from_slice(&text).expect("the description is JSON")
}

/// Names the directory of the webhooks; set by `cargo xtask test`.
const WEBHOOKS: &str = "SPINNEY_TEST_GITHUB_WEBHOOKS";
/// Signs each text of a list with GitHub's own library.
const SIGN: &str = r#"
import { Webhooks } from "@octokit/webhooks";
import { readFileSync } from "node:fs";
const { secret, texts } = JSON.parse(readFileSync(0, "utf8"));
const webhooks = new Webhooks({ secret });
console.log(JSON.stringify(await Promise.all(texts.map((text) => webhooks.sign(text)))));
"#;

#[track_caller]
fn webhooks() -> PathBuf {
    let directory = env::var_os(WEBHOOKS).unwrap_or_else(|| left_out_without("GitHub's webhooks"));
    directory.into()
}

/// Every webhook that GitHub's own people recorded on github.com: the name of the event, and what was sent.
#[must_use]
#[track_caller]
pub fn github_recordings() -> Vec<(String, Value)> {
    let file = webhooks().join("node_modules/@octokit/webhooks-examples/api.github.com/index.json");
    let text = fs::read(&file).unwrap_or_else(|error| panic!("`{}` can't be read: {error}", file.display()));
    let events: Value = serde_json::from_slice(&text).expect("the recordings are JSON");
    let examples = |event: &Value| -> Vec<(String, Value)> {
        let name = event["name"].as_str().expect("an event has a name");
        let examples = event["examples"].as_array().expect("an event has examples");
        examples.iter().map(|example| (name.to_owned(), example.clone())).collect()
    };
    events.as_array().expect("the recordings are a list").iter().flat_map(examples).collect()
}

/// The signatures that GitHub's own library makes for these texts.
#[must_use]
#[track_caller]
pub fn github_signatures(secret: &str, texts: &[String]) -> Vec<String> {
    let mut node = Command::new("node");
    node.args(["--input-type=module", "-e", SIGN]).current_dir(webhooks());
    let mut node = node.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("node can be started");
    let input = serde_json::json!({ "secret": secret, "texts": texts }).to_string();
    node.stdin.take().expect("it was asked for").write_all(input.as_bytes()).expect("node reads");
    let output = node.wait_with_output().expect("node ends");
    assert!(output.status.success(), "node can't sign");
    serde_json::from_slice(&output.stdout).expect("node prints a list")
}
