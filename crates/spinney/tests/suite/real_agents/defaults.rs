//! An agent that says nothing of its permissions has those that the configuration tells as the default.

use spinney_testkit::AgentCli;

use crate::real_agents::stage::{Job, Stage};

/// What came of an edit, of a command, and what the job says that it was denied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Done {
    edited: bool,
    ran: bool,
    denied: usize,
}

fn done(agent: &AgentCli, runtime: &str, settings: &str) -> Done {
    let stage = Stage::new(agent, runtime, &[], settings);
    let prompt = "STUB:WRITE a.txt one\nSTUB:BASH sh -c 'echo x > ran.txt'";
    let ran = stage.cli.run(&["--json", "run", "--issue", "42", prompt]);
    let job = Job(ran.json());
    let exists = |name: &str| job.path().join(name).exists();
    Done { edited: exists("a.txt"), ran: exists("ran.txt"), denied: job.0["denied"].as_array().unwrap().len() }
}

/// The default as `config show` tells it.
fn shown(agent: &AgentCli, runtime: &str, settings: &str) -> String {
    let stage = Stage::new(agent, runtime, &[], settings);
    let told = stage.cli.run(&["config", "show"]).ok().stdout;
    let line = told.lines().find(|line| line.contains("permission_mode")).unwrap_or_else(|| panic!("{told}"));
    line.split('"').nth(1).unwrap_or_else(|| panic!("{line}")).to_owned()
}

#[track_caller]
fn assert_default(agent: Option<AgentCli>, runtime: &str, settings: &str, expected: Done) {
    let Some(agent) = agent else { return };
    let mode = shown(&agent, runtime, settings);
    assert_eq!(mode, "acceptEdits");
    assert_eq!(done(&agent, runtime, settings), expected, "{runtime} with nothing said");
    let written = format!("{settings}\npermission_mode = \"{mode}\"");
    assert_eq!(done(&agent, runtime, &written), expected, "{runtime} with the default written out");
}

const EDITS: Done = Done { edited: true, ran: false, denied: 1 };

#[test]
fn claude_code_edits_and_runs_nothing() {
    assert_default(AgentCli::claude(), "claude", "", EDITS);
}

/// It runs commands in its own sandbox.
#[test]
fn codex_edits_and_runs_what_its_sandbox_lets_it() {
    assert_default(AgentCli::codex(), "codex", "", Done { edited: true, ran: true, denied: 0 });
}

#[test]
fn gemini_edits_and_runs_nothing() {
    assert_default(AgentCli::gemini(), "gemini", "", EDITS);
}

#[test]
fn opencode_edits_and_runs_nothing() {
    assert_default(AgentCli::opencode(), "opencode", "model = \"stub/stub-model\"", EDITS);
}

#[test]
fn claude_code_over_its_adapter_edits_and_runs_nothing() {
    assert_default(AgentCli::claude_adapter(), "acp", "", EDITS);
}
