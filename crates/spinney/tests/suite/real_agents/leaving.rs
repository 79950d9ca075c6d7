//! Agents that are talked with, when the talk is over: how they leave, and what is told of one that left too early.

use spinney_testkit::AgentCli;

use crate::real_agents::stage::{Job, Stage, processes};

/// Answers each request in its turn, up to the prompt.
const SPEAKER: &str = r#"
id() { sed 's/.*"id":\("[^"]*"\|[0-9]*\).*/\1/'; }
answer() { read -r line; printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$(printf %s "$line" | id)" "$1"; }
answer '{"protocolVersion":1,"agentCapabilities":{}}'
answer '{"sessionId":"s"}'
"#;

#[test]
fn one_that_does_not_notice_is_asked_to_end() {
    let script = format!(
        "trap 'echo asked > \"$HOME/asked\"; exit' TERM\n{SPEAKER}answer '{{\"stopReason\":\"end_turn\"}}'\n\
         while :; do sleep 0.05; done"
    );
    let stage = Stage::scripted("acp", &script);
    let job = stage.run(0, &["--issue", "42", "do it"]);
    assert_eq!(job.session_states(), [("finished", false)]);
    assert_eq!(std::fs::read_to_string(stage.home("asked")).unwrap(), "asked\n", "it was not ended without a word");
    assert_eq!(processes(job.text("id")), []);
}

#[test]
fn one_that_leaves_by_itself_is_left_alone() {
    let script = format!(
        "trap 'echo asked > \"$HOME/asked\"; exit' TERM\n{SPEAKER}answer '{{\"stopReason\":\"end_turn\"}}'\n\
         cat > /dev/null; echo left > \"$HOME/left\""
    );
    let stage = Stage::scripted("acp", &script);
    stage.run(0, &["--issue", "42", "do it"]);
    assert!(stage.home("left").exists() && !stage.home("asked").exists());
}

#[test]
fn what_it_said_just_before_it_ended_counts() {
    // Its answer may still lie in the pipe when its end is noticed.
    let stage = Stage::scripted("acp", &format!("{SPEAKER}answer '{{\"stopReason\":\"end_turn\"}}'"));
    for issue in ["1", "2", "3", "4", "5"] {
        assert_eq!(stage.run(0, &["--issue", issue, "do it"]).session_states(), [("finished", false)]);
    }
}

#[test]
fn one_that_ends_too_early_is_told_with_its_cause() {
    let script =
        format!("{SPEAKER}read -r line\necho 'Error: no API key' >&2\necho '    at main (a.js:1)' >&2\nexit 1");
    let stage = Stage::scripted("acp", &script);
    for issue in ["1", "2", "3"] {
        let job = stage.run(1, &["--issue", issue, "do it"]);
        let expected = "its program ended with status 1 in the middle of the turn: Error: no API key";
        assert_eq!(job.text("error"), expected);
    }
}

#[test]
fn claude_code_does_not_keep_its_job_waiting_over_its_adapter() {
    let Some(agent) = AgentCli::claude_adapter() else { return };
    let stage = Stage::new(&agent, "acp", &[], "");
    let job = stage.run(0, &["--issue", "42", "STUB:WRITE a.txt one"]);
    assert_eq!(stage.pushed_file("agent/coder/issue-42", "a.txt"), "one");
    let waited_ms = at_ms(&job, "session_finished") - at_ms(&job, "text");
    // It would go on for ever, and was left five seconds for that.
    assert!(waited_ms < 4000, "it took {waited_ms} ms to leave");
    assert_eq!(processes(job.text("id")), []);
}

/// When the last event of a kind was.
#[track_caller]
fn at_ms(job: &Job, kind: &str) -> i64 {
    let last = job.events(kind).pop().unwrap_or_else(|| panic!("no `{kind}` in {:#}", job.0));
    last["at_ms"].as_i64().unwrap()
}
