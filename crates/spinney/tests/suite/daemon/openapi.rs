//! The daemon against its own description of its API: schemathesis makes up requests, allowed and not, and checks each answer.

use std::env;

use spinney_testkit::{Daemon, Sandbox};

/// Names the program; set by `cargo xtask test --api`.
const PROGRAM: &str = "SPINNEY_TEST_SCHEMATHESIS";
/// How many requests it makes up for each operation.
const EXAMPLES: &str = "SPINNEY_TEST_API_EXAMPLES";

#[test]
#[expect(clippy::disallowed_methods, reason = "the variables are for tests")]
fn every_answer_is_as_described() {
    let Some(program) = env::var_os(PROGRAM) else {
        println!("left out: `{PROGRAM}` names no program; `cargo xtask test --api` installs it");
        return;
    };
    let examples = env::var(EXAMPLES).unwrap_or_else(|_| "5".to_owned());
    let sandbox = Sandbox::new();
    let repository = sandbox.repository("app").with_remote();
    let cli = sandbox.cli(env!("CARGO_BIN_EXE_spinney")).in_directory(repository.path());
    cli.run(&["new", "--task", "first", "--json"]).ok();
    let created = cli.run(&["token", "create", "--name", "t", "--scope", "admin", "--json"]).ok().json();
    let token = created["token"].as_str().expect("the token is shown once");

    let daemon = Daemon::start(&cli);
    let url = daemon.url("/api/v1/openapi.json");
    let authorization = format!("Authorization: Bearer {token}");
    let mut command = sandbox.cli(program).command(&["--no-color", "run", &url]);
    command.args(["--checks", "all", "--continue-on-failure", "--max-examples", &examples, "--header", &authorization]);
    // What depends on what is there, as a name that is taken, no schema can tell; nor is the token revoked that it asks with.
    command.args(["--exclude-checks", "positive_data_acceptance", "--exclude-operation-id", "delete_tokens_id"]);
    // A stream has no end to wait for; its own tests read it.
    command.args(["--exclude-tag", "stream", "--request-timeout", "20", "--generation-database", ":memory:"]);
    let status = command.status().expect("schemathesis can be started");
    assert!(status.success(), "an answer is not as described: {status}\n{}", daemon.said());
    daemon.terminate();
}
