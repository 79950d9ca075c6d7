//! The same story with each of the other agents.

use serde_json::json;
use spinney_testkit::AgentCli;

use crate::real_agents::stage::{Job, Stage, processes};

/// Gemini CLI hides the person's configuration from git.
const COMMIT: &str = "git -c user.name=A -c user.email=a@b.c commit --quiet --message told";

/// Edits, commits, leaves something over, is pushed.
fn edits_and_commits(stage: &Stage) {
    let prompt =
        format!("STUB:WRITE a.txt it's one\nSTUB:BASH git add a.txt\nSTUB:BASH {COMMIT}\nSTUB:WRITE b.txt left over");
    let job = stage.run(0, &["--issue", "42", &prompt]);
    assert_eq!((job.session_states(), &job.0["denied"]), (vec![("finished", false)], &json!([])));
    assert_eq!(stage.pushed("agent/coder/issue-42"), [&format!("agent: {}", job.summary()), "told"]);
    assert_eq!(stage.pushed_file("agent/coder/issue-42", "a.txt"), "it's one");
    assert_eq!(stage.pushed_file("agent/coder/issue-42", "b.txt"), "left over");
    assert!(stage.was_told(&["# Your workspace", job.text("path")]));
    assert_eq!(job.sessions()[0]["usage"], job.0["usage"]);
    let told: u64 = job.sessions()[0]["context_tokens"].as_u64().unwrap_or_default() + tokens(&job);
    assert!(told > 0, "{:#}", job.0);
    assert!(job.summary().starts_with("done ("), "{}", job.summary());
    assert_eq!(processes(job.text("id")), [], "nothing is left running");
}

/// All tokens that a job took.
fn tokens(job: &Job) -> u64 {
    let tokens = job.0["usage"].as_object().unwrap().iter().filter(|(name, _)| name.ends_with("_tokens"));
    tokens.filter_map(|(_, tokens)| tokens.as_u64()).sum()
}

/// The next job goes on with the conversation; it becomes full on the way, and a fresh one does the rest.
fn goes_on_and_hands_off(stage: &Stage, full: u64) -> Job {
    let prompt = format!(
        "STUB:NOTE STUB:WRITE d.txt from the note\nSTUB:USAGE {full}\nSTUB:WRITE c.txt two\n\
         STUB:USAGE {full}\nSTUB:BASH sleep 1\nSTUB:USAGE {full}\nSTUB:BASH sleep 30\nSTUB:BASH sleep 30"
    );
    let job = stage.run(0, &["--issue", "42", &prompt]);
    assert_eq!(job.session_states(), [("handed_off", true), ("finished", false)]);
    assert_eq!(job.events("hand_off")[0]["note"], "STUB-NOTE: STUB:WRITE d.txt from the note");
    assert_eq!((job.file("c.txt").as_str(), job.file("d.txt").as_str()), ("two\n", "from the note\n"));
    assert_eq!(job.text("push"), "pushed");
    job
}

/// An API that fails fails the job, and nothing is left running.
fn fails(stage: &Stage) {
    let job = stage.run(1, &["--issue", "43", "STUB:WRITE a.txt one\nSTUB:FAIL 400"]);
    assert!(job.text("error").contains("the stub fails as told"), "{}", job.text("error"));
    assert_eq!((job.file("a.txt").as_str(), &job.0["push"]), ("one\n", &json!(null)));
    assert_eq!(processes(job.text("id")), []);
}

#[test]
fn codex_does_it_all() {
    let Some(agent) = AgentCli::codex() else { return };
    let stage = Stage::new(&agent, "codex", &[], "");
    edits_and_commits(&stage);
    let job = goes_on_and_hands_off(&stage, 230_000);
    assert!((230_000..3 * 230_000).contains(&tokens(&job)), "what this job took itself: {}", job.0["usage"]);
    fails(&stage);
}

#[test]
fn gemini_does_it_all() {
    let Some(agent) = AgentCli::gemini() else { return };
    let tools = "allowed_tools = [\"run_shell_command(git)\", \"run_shell_command(sleep)\"]";
    let stage = Stage::new(&agent, "gemini", &[], tools);
    edits_and_commits(&stage);
    let job = goes_on_and_hands_off(&stage, 500_000);
    assert!((500_000..3 * 500_000).contains(&tokens(&job)), "what this job took itself: {}", job.0["usage"]);
    fails(&stage);
}

#[test]
fn opencode_does_it_all() {
    let Some(agent) = AgentCli::opencode() else { return };
    let settings = "model = \"stub/stub-model\"\npermission_mode = \"bypassPermissions\"";
    let stage = Stage::new(&agent, "opencode", &[], settings);
    edits_and_commits(&stage);
    let job = goes_on_and_hands_off(&stage, 90_000);
    assert!((90_000..3 * 90_000).contains(&tokens(&job)), "what this job took itself: {}", job.0["usage"]);
    fails(&stage);
}

/// It tells how full its context is when a turn is over, so that it never hands off.
#[test]
fn opencode_goes_on_over_the_agent_client_protocol() {
    let Some(agent) = AgentCli::opencode() else { return };
    let stage = Stage::new(&agent, "acp", &["acp"], "");
    edits_and_commits(&stage);
    let job = stage.run(0, &["--issue", "42", "STUB:USAGE 190000\nSTUB:WRITE c.txt two"]);
    assert_eq!((job.session_states(), job.file("c.txt").as_str()), (vec![("finished", true)], "two\n"));
    assert!(job.seen() > 9, "the history came along: {}", job.summary());
    assert_eq!((&job.sessions()[0]["context_window"], job.text("push")), (&json!(200_000), "pushed"));
    fails(&stage);
}

/// It brings Claude Code, and tells tokens, cost and how full the context is while it works.
#[test]
fn claude_code_over_its_newer_adapter_does_it_all() {
    let Some(agent) = AgentCli::claude_agent_adapter() else { return };
    let stage = Stage::new(&agent, "acp", &[], "permission_mode = \"bypassPermissions\"");
    edits_and_commits(&stage);
    let job = stage.newest();
    assert!(job.0["usage"]["input_tokens"].as_u64().unwrap() > 0, "{:#}", job.0);
    assert!(job.0["usage"]["cost_micros"].as_u64().unwrap() > 0, "{:#}", job.0);
    assert!(job.sessions()[0]["context_window"].as_u64().unwrap() >= 200_000, "{:#}", job.0);
    goes_on_and_hands_off(&stage, 990_000);
    fails(&stage);
}
