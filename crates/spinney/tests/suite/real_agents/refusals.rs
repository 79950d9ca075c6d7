//! A turn that ends on a refusal is no success, whichever runtime it is: what was done by then is not delivered as done.

use serde_json::json;
use spinney_testkit::AgentCli;

use crate::real_agents::stage::{Job, Stage};

/// Makes a file, as an agent that has done half of its work.
const HALF: &str = "cat > /dev/null; echo half > half.txt; ";

/// A program that prints these lines.
fn prints(lines: &[&str]) -> String {
    lines.iter().map(|line| format!("echo '{line}'; ")).collect()
}

/// A session of each runtime that reads lines: what it says up to the refusal, what it says after it, and its end.
fn sessions() -> Vec<(&'static str, Vec<&'static str>, &'static str, &'static str)> {
    vec![
        (
            "claude",
            vec![
                r#"{"type":"system","subtype":"init","session_id":"s","model":"m"}"#,
                r#"{"type":"assistant","message":{"id":"1","content":[{"type":"text","text":"I begin."},{"type":"tool_use","id":"t","name":"Bash","input":{"command":"make"}}]}}"#,
                r#"{"type":"system","subtype":"permission_denied","tool_name":"Bash","tool_use_id":"t","message":"no"}"#,
            ],
            r#"{"type":"assistant","message":{"id":"2","content":[{"type":"text","text":"I did it by hand."}]}}"#,
            r#"{"type":"result","subtype":"success","is_error":false,"result":""}"#,
        ),
        (
            "codex",
            vec![
                r#"{"type":"thread.started","thread_id":"t"}"#,
                r#"{"type":"item.completed","item":{"id":"0","type":"agent_message","text":"I begin."}}"#,
                r#"{"type":"item.completed","item":{"id":"1","type":"command_execution","command":"make","aggregated_output":"","status":"declined"}}"#,
            ],
            r#"{"type":"item.completed","item":{"id":"2","type":"agent_message","text":"I did it by hand."}}"#,
            r#"{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":1}}"#,
        ),
        (
            "gemini",
            vec![
                r#"{"type":"init","session_id":"11111111-s","model":"m"}"#,
                r#"{"type":"message","role":"assistant","content":"I begin.","delta":true}"#,
                r#"{"type":"tool_use","tool_name":"run_shell_command","tool_id":"t","parameters":{"command":"make"}}"#,
                r#"{"type":"tool_result","tool_id":"t","status":"error","output":"no","error":{"type":"policy_violation"}}"#,
            ],
            r#"{"type":"message","role":"assistant","content":"I did it by hand.","delta":true}"#,
            r#"{"type":"result","status":"success","stats":{}}"#,
        ),
        (
            "opencode",
            vec![
                r#"{"type":"text","sessionID":"ses_1","part":{"text":"I begin."}}"#,
                r#"{"type":"tool_use","sessionID":"ses_1","part":{"tool":"bash","callID":"c","state":{"status":"error","input":{"command":"make"},"error":"The user rejected permission to use this tool"}}}"#,
            ],
            r#"{"type":"text","sessionID":"ses_1","part":{"text":"I did it by hand."}}"#,
            r#"{"type":"step_finish","sessionID":"ses_1","part":{"reason":"stop","tokens":{}}}"#,
        ),
    ]
}

#[track_caller]
fn assert_not_delivered(stage: &Stage, job: &Job, name: &str) {
    assert_eq!((job.status(), job.session_states()), ("failed", vec![("failed", false)]), "{name}: {:#}", job.0);
    let error = job.text("error");
    assert!(error.contains("refused") && !job.0["denied"].as_array().unwrap().is_empty(), "{name}: {error}");
    assert_eq!((&job.0["push"], &job.0["summary"]), (&json!(null), &json!(null)), "{name}");
    assert_eq!(stage.story.remote().git(&["for-each-ref", "--format=%(refname:short)", "refs/heads"]), "main");
}

#[test]
fn a_turn_that_ends_on_a_refusal_is_not_delivered() {
    for (runtime, begin, _, end) in sessions() {
        let script = format!("{HALF}{}{}", prints(&begin), prints(&[end]));
        let stage = Stage::scripted(runtime, &script);
        let job = stage.run(1, &["--issue", "42", "do it"]);
        assert_not_delivered(&stage, &job, runtime);
        assert_eq!(job.file("half.txt"), "half\n", "its work stays");
    }
}

#[test]
fn one_that_says_something_after_it_is() {
    for (runtime, begin, after, end) in sessions() {
        let script = format!("{HALF}{}{}", prints(&begin), prints(&[after, end]));
        let stage = Stage::scripted(runtime, &script);
        let job = stage.run(0, &["--issue", "42", "do it"]);
        assert_eq!(job.text("push"), "pushed", "{runtime}");
        assert_eq!(job.0["denied"].as_array().unwrap().len(), 1, "{runtime}: {:#}", job.0);
    }
}

/// Denials that Claude Code tells only with its result belong before that.
#[test]
fn a_denial_that_is_told_late_does_not_undo_the_last_word() {
    let result = |said: &str| {
        format!(
            r#"{{"type":"result","subtype":"success","is_error":false,"result":"{said}","permission_denials":[{{"tool_name":"Bash","tool_use_id":"t","tool_input":{{"command":"make"}}}}]}}"#
        )
    };
    let begin = sessions()[0].1[..2].to_vec();
    let stage = Stage::scripted("claude", &format!("{HALF}{}{}", prints(&begin), prints(&[&result("all done")])));
    assert_eq!(stage.run(0, &["--issue", "42", "do it"]).text("push"), "pushed");
    let stage = Stage::scripted("claude", &format!("{HALF}{}{}", prints(&begin), prints(&[&result("")])));
    assert_not_delivered(&stage, &stage.run(1, &["--issue", "42", "do it"]), "claude");
}

/// Answers each request in its turn, and asks once whether it may run a command.
const SPEAKER: &str = r#"
id() { sed 's/.*"id":\("[^"]*"\|[0-9]*\).*/\1/'; }
answer() { read -r line; printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$(printf %s "$line" | id)" "$1"; }
update() { printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":%s}}\n' "$1"; }
answer '{"protocolVersion":1,"agentCapabilities":{}}'
answer '{"sessionId":"s"}'
read -r line; prompt=$(printf %s "$line" | id)
update '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"I begin."}}'
echo half > half.txt
printf '{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"t","title":"make","kind":"execute"},"options":[{"optionId":"y","name":"y","kind":"allow_once"},{"optionId":"n","name":"n","kind":"reject_once"}]}}\n'
read -r line
"#;
const ENDS: &str =
    r#"printf '{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"end_turn"}}\n' "$prompt"; cat > /dev/null"#;

#[test]
fn so_it_is_over_the_agent_client_protocol() {
    let stage = Stage::scripted("acp", &format!("{SPEAKER}{ENDS}"));
    let job = stage.run(1, &["--issue", "42", "do it"]);
    assert_not_delivered(&stage, &job, "acp");
    assert_eq!(job.file("half.txt"), "half\n");
    let said = r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"I did it by hand."}}"#;
    let stage = Stage::scripted("acp", &format!("{SPEAKER}update '{said}'\n{ENDS}"));
    assert_eq!(stage.run(0, &["--issue", "42", "do it"]).text("push"), "pushed");
}

/// Its turn ends where something is refused, as if all were well.
#[test]
fn claude_code_over_its_adapter_does_not_deliver_half_of_it() {
    let Some(agent) = AgentCli::claude_adapter() else { return };
    let stage = Stage::new(&agent, "acp", &[], "");
    let job = stage.run(1, &["--issue", "42", "STUB:WRITE a.txt one\nSTUB:BASH touch b.txt\nSTUB:WRITE c.txt three"]);
    assert_not_delivered(&stage, &job, "claude-code-acp");
    assert_eq!(job.file("a.txt"), "one\n");
}
